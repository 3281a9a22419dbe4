"""`/api/knowledge`: documents, their chunks and tags, search, and all of it as one archive.

Settles the routes. Does not settle what any of them gives (`content.knowledge`, `content.knowledge_chunks`,
`content.knowledge_writing`, `content.knowledge_export`).
"""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Query, Request
from pydantic import Field, ValidationError
from starlette.concurrency import run_in_threadpool
from starlette.responses import JSONResponse, StreamingResponse

from stanch.content.file_writing import measured
from stanch.content.knowledge import (
    DocumentsPage,
    DocumentText,
    ListDocuments,
    ListTags,
    ReadDocument,
    TagsPage,
    list_documents,
    list_tags,
    read_document,
)
from stanch.content.knowledge_chunks import (
    ChunksPage,
    FoundPage,
    ListChunks,
    SearchKnowledge,
    list_chunks,
    search_knowledge,
)
from stanch.content.knowledge_export import ExportKnowledge, export_knowledge
from stanch.content.knowledge_pieces import MOST_ORIGINAL
from stanch.content.knowledge_shown import LONGEST_TAG, LONGEST_TITLE, MOST_TAGS, DocumentId, DocumentShown
from stanch.content.knowledge_writing import (
    AddDocument,
    ChangeDocument,
    Deleted,
    DeleteDocument,
    ImportDocument,
    NewTags,
    Title,
    UploadDocument,
    add_document,
    change_document,
    delete_document,
    import_document,
    upload_document,
)
from stanch.delivery.operation import Asked
from stanch.surfaces.http.content_route import Asks, ContentRoute, as_json, serves, streamed
from stanch.surfaces.http.content_uploads import UploadRoute, received
from stanch.surfaces.http.documented import problems
from stanch.surfaces.http.fields import problems_of
from stanch.surfaces.http.paging import Cursor, Limit
from stanch.surfaces.http.problems import unprocessable
from stanch.surfaces.http.routers import BODY, guarded

ROUTER = guarded("/api/knowledge", "knowledge", ContentRoute)
UPLOADING = guarded("/api/knowledge", "knowledge", UploadRoute)
DOCUMENT = "/documents/{document_id}"
Tag = Annotated[
    list[Annotated[str, Field(min_length=1, max_length=LONGEST_TAG)]],
    Query(max_length=MOST_TAGS, default_factory=list, description="Only documents that have this tag; repeatable."),
]
Documents = Annotated[
    list[DocumentId], Query(max_length=500, default_factory=list, description="Only this one; repeatable.")
]


class ChangeBody(Asked):
    """What of a document becomes another. What is left out stays."""

    title: Title | None = None
    tags: NewTags | None = None
    text: str | None = None


@ROUTER.get("/documents", response_model=DocumentsPage)
@serves(list_documents)
def documents(asks: Asks, tag: Tag, limit: Limit = 50, cursor: Cursor = None) -> Any:
    """List the documents, newest first, without their text."""
    return as_json(asks(list_documents, made(ListDocuments, tags=tuple(tag), limit=limit, cursor=cursor)))


@ROUTER.post("/documents", status_code=201, response_model=DocumentShown, responses=problems(*BODY))
@serves(add_document)
def add(body: AddDocument, asks: Asks) -> Any:
    """Add a document from its text."""
    return _created(asks(add_document, body))


@UPLOADING.post(
    "/uploads",
    status_code=201,
    response_model=DocumentShown,
    responses=problems(*BODY),
    openapi_extra={"requestBody": {"required": True, "content": {"application/octet-stream": {}}}},
)
@serves(upload_document)
async def upload(  # noqa: PLR0917 - FastAPI calls it by name
    request: Request,
    asks: Asks,
    title: Annotated[str, Query(min_length=1, max_length=LONGEST_TITLE)],
    tag: Tag,
    media_type: Annotated[str, Query(max_length=200)] = "application/octet-stream",
    personal: bool = False,
) -> Any:
    """Add a document from a file, which is the body: a text, or a PDF, XLSX or DOCX document."""
    with await received(request, MOST_ORIGINAL) as file:
        sent = await run_in_threadpool(measured, file)
        asked = made(
            UploadDocument,
            title=title,
            media_type=media_type,
            tags=tuple(tag),
            personal=personal,
            digest=sent.digest,
            size=sent.size,
            file=file,
        )
        return _created(await run_in_threadpool(asks, upload_document, asked))


@ROUTER.post("/imports", status_code=201, response_model=DocumentShown, responses=problems(404, *BODY))
@serves(import_document)
def imported(body: ImportDocument, asks: Asks) -> Any:
    """Add a document from a file of the workspace."""
    return _created(asks(import_document, body))


@ROUTER.get(DOCUMENT, response_model=DocumentText, responses=problems(404))
@serves(read_document)
def about(document_id: str, asks: Asks) -> Any:
    """What a document is, without its text."""
    return as_json(asks(read_document, made(ReadDocument, id=document_id, text=False)))


@ROUTER.get(f"{DOCUMENT}/text", response_model=DocumentText, responses=problems(404))
@serves(read_document)
def text(
    document_id: str,
    asks: Asks,
    start: Annotated[int, Query(ge=0)] = 0,
    end: Annotated[int | None, Query(ge=0)] = None,
) -> Any:
    """Read the text of a document, or a part of it."""
    return as_json(asks(read_document, made(ReadDocument, id=document_id, start=start, end=end)))


@ROUTER.get(f"{DOCUMENT}/chunks", response_model=ChunksPage, responses=problems(404))
@serves(list_chunks)
def chunks(document_id: str, asks: Asks, limit: Limit = 50, cursor: Cursor = None) -> Any:
    """List the chunks of a document, in their order."""
    return as_json(asks(list_chunks, made(ListChunks, id=document_id, limit=limit, cursor=cursor)))


@ROUTER.patch(DOCUMENT, response_model=DocumentShown, responses=problems(404, 409, *BODY))
@serves(change_document)
def change(document_id: str, body: ChangeBody, asks: Asks) -> Any:
    """Change the title, the tags or the text of a document."""
    return as_json(asks(change_document, made(ChangeDocument, id=document_id, **body.model_dump(exclude_unset=True))))


@ROUTER.delete(DOCUMENT, response_model=Deleted, responses=problems(404))
@serves(delete_document)
def delete(document_id: str, asks: Asks) -> Any:
    """Delete a document with its chunks."""
    return as_json(asks(delete_document, made(DeleteDocument, id=document_id)))


@ROUTER.post("/search", response_model=FoundPage, responses=problems(*BODY))
@serves(search_knowledge)
def search(body: SearchKnowledge, asks: Asks) -> Any:
    """Search the documents for words, all of which have to stand in a chunk."""
    return as_json(asks(search_knowledge, body))


@ROUTER.get("/tags", response_model=TagsPage)
@serves(list_tags)
def tags(asks: Asks, limit: Limit = 50, cursor: Cursor = None) -> Any:
    """List the tags, with how many documents have each."""
    return as_json(asks(list_tags, made(ListTags, limit=limit, cursor=cursor)))


@ROUTER.get("/export", response_class=StreamingResponse, responses=problems(404))
@serves(export_knowledge)
def export(
    asks: Asks,
    document: Documents,
    tag: Tag,
) -> Any:
    """Get documents with their chunks as one archive. It has no end where one of them cannot be given."""
    wanted = tuple(document) or None
    return streamed(asks(export_knowledge, made(ExportKnowledge, documents=wanted, tags=tuple(tag))))


def made(model: type[Asked], **fields: Any) -> Asked:
    """The arguments of an operation. Raises `Problem` 422 where they are none."""
    try:
        return model(**fields)
    except ValidationError as why:
        raise unprocessable(problems_of(why.errors(include_url=False), model)) from None


def _created(given: Any) -> JSONResponse:
    answer = as_json(given)
    answer.status_code = 201
    return answer
