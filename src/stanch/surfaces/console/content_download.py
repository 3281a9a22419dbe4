"""`/console/content/download`: an item as it is, for the person who asks for it.

Settles that what is sent is saved and never shown by the browser in this origin. Does not settle what an operation
gives (`content`).
"""

from __future__ import annotations

from starlette.responses import Response

from stanch.content.compile_files import CompileFile, compile_pdf
from stanch.content.files import GetFile, get_file
from stanch.content.knowledge_export import ExportKnowledge, export_knowledge
from stanch.content.run_files import get_run_file
from stanch.content.streams import Stream
from stanch.content.table_export import ExportTable, export_table
from stanch.surfaces.attachment import attachment
from stanch.surfaces.console.content_reach import Reach, made
from stanch.surfaces.console.content_run import asked_file
from stanch.surfaces.console.failing import Refused
from stanch.surfaces.console.guard import HEADERS, Asked


def page(asked: Asked) -> Response:
    """A file, a version of one, one made a PDF, a file of a run, a document as an archive, or a table as CSV."""
    reach = Reach(asked)
    stream = _stream(reach)
    name = reach.say(stream.name).replace("\n", " ").replace("\r", " ")
    # WHY no other type: whatever the bytes are, no browser opens them as a page of this server.
    return attachment(stream, name, "application/octet-stream", HEADERS)


def _stream(reach: Reach) -> Stream:
    match reach.asked.get("kind"):
        case "file":
            return reach.asks(get_file, made(GetFile, path=reach.get("path"), version=reach.number("version")))
        case "pdf":
            return reach.asks(compile_pdf, made(CompileFile, path=reach.get("path")))
        case "run_file":
            return reach.asks(get_run_file, asked_file(reach))
        case "document":
            return reach.asks(export_knowledge, made(ExportKnowledge, documents=(reach.get("id"),)))
        case "table":
            return reach.asks(export_table, made(ExportTable, table=reach.get("id")))
        case _:
            raise Refused(404, "There is nothing at this address.")
