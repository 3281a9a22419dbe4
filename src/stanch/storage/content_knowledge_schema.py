"""The tables of knowledge, as the newest migration leaves them.

Settles columns, keys and indexes, as `schema` does for all other tables. ABSENT: `knowledge_words`, in which words are
looked up. It is another kind of table in each database, and triggers keep it in step with `knowledge_chunks.words`.
"""

from __future__ import annotations

from sqlalchemy import Column, ForeignKey, Index, Integer, Table, Text

from stanch.storage.schema import COUNT, KEY, METADATA, NAMES_BYTES

WORDS = "knowledge_words"

# WHY three columns of provenance: a part of a document is replaced without anybody having to know of the others.
# `original` and `text` are digests of bytes that `blobs` keeps: the document as it came, and all text of it in UTF-8.
KNOWLEDGE_DOCUMENTS = Table(
    "knowledge_documents",
    METADATA,
    Column("id", KEY, primary_key=True),
    Column("owner", KEY),
    Column("title", Text, nullable=False),
    Column("media_type", Text, nullable=False),
    Column("path", Text),
    Column("original", Text, nullable=False, info=NAMES_BYTES),
    Column("size", COUNT, nullable=False),
    Column("text", Text, nullable=False, info=NAMES_BYTES),
    Column("length", COUNT, nullable=False),
    Column("chunks", COUNT, nullable=False),
    Column("created_at", KEY, nullable=False),
    Column("changed_at", KEY, nullable=False),
    Column("provenance", Text),
    Column("title_provenance", Text),
    Column("tags_provenance", Text),
    Index("knowledge_documents_by_age", "created_at", "id"),
    Index("knowledge_documents_of_owner", "owner"),
)

KNOWLEDGE_TAGS = Table(
    "knowledge_tags",
    METADATA,
    Column("document_id", KEY, ForeignKey("knowledge_documents.id"), primary_key=True),
    Column("tag", KEY, primary_key=True),
    Index("knowledge_tags_by_tag", "tag", "document_id"),
)

# `start` and `stop` count characters of the document's text. `words` are those of the chunk in the order in which they
# stand, each with a blank before it and one behind it.
KNOWLEDGE_CHUNKS = Table(
    "knowledge_chunks",
    METADATA,
    Column("id", COUNT, primary_key=True),
    Column("document_id", KEY, ForeignKey("knowledge_documents.id"), nullable=False),
    Column("number", Integer, nullable=False),
    Column("start", COUNT, nullable=False),
    Column("stop", COUNT, nullable=False),
    Column("page", Integer),
    Column("sheet", Text),
    Column("text", Text, nullable=False),
    Column("words", Text, nullable=False),
    Column("count", Integer, nullable=False),
    Column("provenance", Text),
    Index("knowledge_chunks_in_order", "document_id", "number", unique=True),
    sqlite_autoincrement=True,
)
