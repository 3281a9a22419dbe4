"""Migration 0008: what is kept of knowledge.

Settles the schema as it was at this migration. Does not settle what it is now (`storage.content_knowledge_schema`).
"""

from __future__ import annotations

from alembic import op
from sqlalchemy import BigInteger, Column, ForeignKey, Integer, Text

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None

# WHY no parser of the database's: both have to find the same words, and these were told apart before.
_SQLITE = (
    """CREATE VIRTUAL TABLE knowledge_words USING fts5(
        words, content='knowledge_chunks', content_rowid='id', detail=none, columnsize=0,
        tokenize="ascii tokenchars '_'")""",
    """CREATE TRIGGER knowledge_words_added AFTER INSERT ON knowledge_chunks BEGIN
        INSERT INTO knowledge_words(rowid, words) VALUES (NEW.id, NEW.words);
    END""",
    """CREATE TRIGGER knowledge_words_removed AFTER DELETE ON knowledge_chunks BEGIN
        INSERT INTO knowledge_words(knowledge_words, rowid, words) VALUES ('delete', OLD.id, OLD.words);
    END""",
    """CREATE TRIGGER knowledge_words_changed AFTER UPDATE ON knowledge_chunks BEGIN
        INSERT INTO knowledge_words(knowledge_words, rowid, words) VALUES ('delete', OLD.id, OLD.words);
        INSERT INTO knowledge_words(rowid, words) VALUES (NEW.id, NEW.words);
    END""",
)
_POSTGRESQL = (
    "CREATE TABLE knowledge_words (id bigint PRIMARY KEY, words tsvector NOT NULL)",
    "CREATE INDEX knowledge_words_in ON knowledge_words USING gin (words)",
    """CREATE FUNCTION knowledge_words_kept() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        IF TG_OP <> 'INSERT' THEN
            DELETE FROM knowledge_words WHERE id = OLD.id;
        END IF;
        IF TG_OP <> 'DELETE' THEN
            INSERT INTO knowledge_words
            VALUES (NEW.id, array_to_tsvector(array_remove(string_to_array(NEW.words, ' '), '')));
        END IF;
        RETURN NULL;
    END $$""",
    """CREATE TRIGGER knowledge_words_kept AFTER INSERT OR UPDATE OR DELETE ON knowledge_chunks
        FOR EACH ROW EXECUTE FUNCTION knowledge_words_kept()""",
)


def upgrade() -> None:
    """Makes the tables, and what keeps the words that are looked up in step with the chunks."""
    key = Text().with_variant(Text(collation="C"), "postgresql")
    count = BigInteger().with_variant(Integer, "sqlite")
    op.create_table(
        "knowledge_documents",
        Column("id", key, primary_key=True),
        Column("owner", key),
        Column("title", Text, nullable=False),
        Column("media_type", Text, nullable=False),
        Column("path", Text),
        Column("original", Text, nullable=False),
        Column("size", count, nullable=False),
        Column("text", Text, nullable=False),
        Column("length", count, nullable=False),
        Column("chunks", count, nullable=False),
        Column("created_at", key, nullable=False),
        Column("changed_at", key, nullable=False),
        Column("provenance", Text),
        Column("title_provenance", Text),
        Column("tags_provenance", Text),
    )
    op.create_index("knowledge_documents_by_age", "knowledge_documents", ["created_at", "id"])
    op.create_index("knowledge_documents_of_owner", "knowledge_documents", ["owner"])
    op.create_table(
        "knowledge_tags",
        Column("document_id", key, ForeignKey("knowledge_documents.id"), primary_key=True),
        Column("tag", key, primary_key=True),
    )
    op.create_index("knowledge_tags_by_tag", "knowledge_tags", ["tag", "document_id"])
    op.create_table(
        "knowledge_chunks",
        Column("id", count, primary_key=True),
        Column("document_id", key, ForeignKey("knowledge_documents.id"), nullable=False),
        Column("number", Integer, nullable=False),
        Column("start", count, nullable=False),
        Column("stop", count, nullable=False),
        Column("page", Integer),
        Column("sheet", Text),
        Column("text", Text, nullable=False),
        Column("words", Text, nullable=False),
        Column("count", Integer, nullable=False),
        Column("provenance", Text),
        sqlite_autoincrement=True,
    )
    op.create_index("knowledge_chunks_in_order", "knowledge_chunks", ["document_id", "number"], unique=True)
    for statement in _SQLITE if op.get_bind().dialect.name == "sqlite" else _POSTGRESQL:
        op.get_bind().exec_driver_sql(statement)
