"""Documents made of stored files: a Markdown or HTML file with whatever it names, as one HTML page or one PDF.

Settles what may be compiled, and what of the result is told. Does not settle which files are read (`compile_reading`),
nor what is made of them (`compile_alone`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any

from pydantic import Field

from stanch.content.access import Access
from stanch.content.compile_process import Made, made
from stanch.content.compile_reading import Reading
from stanch.content.compile_template import Uncompiled
from stanch.content.file_items import PathText
from stanch.content.streams import Stream
from stanch.delivery.operation import Asked, ContentDelivery, Given, operation
from stanch.values.fault import BadFields

FORMS = {"md": "markdown", "markdown": "markdown", "html": "html", "htm": "html"}
TEMPLATE = ".j2"
Name = Annotated[str, Field(pattern=r"[A-Za-z_][A-Za-z0-9_]{0,63}", max_length=64)]
Value = Annotated[str, Field(max_length=4_096)] | bool | int | float | None
_HELP = "What a template (a file whose name ends in .j2) may use, by name."


class CompileFile(Asked):
    """Which document."""

    path: PathText
    values: dict[Name, Value] = Field(default={}, max_length=50, description=_HELP)


class CompiledGiven(Given):
    """A document as one page. `files` were read for it; `removed` counts what was taken out of it.

    Removed are `pictures` that would be fetched or are none, and `styles`: sheets that would be fetched, and rules that
    are not kept.
    """

    path: str
    version: int
    title: str
    html: str = Field(repr=False)
    files: tuple[str, ...]
    removed: dict[str, int]


@operation("files_compile", CompileFile, tool="files_compile", content_delivery=ContentDelivery.SOURCED)
def compile_file(access: Access, asked: CompileFile) -> CompiledGiven:
    """Make one HTML page of a stored Markdown or HTML file, with the pictures and style sheets that it names.

    A file whose name ends in .j2 is a template (Jinja): include(path), text(path), table(path) and image(path) put
    other stored files in. Paths are those beside the document, or from the top. Nothing is fetched from elsewhere.
    """
    reading = Reading(access, opaque=False)
    number, found = _compiled(access, reading, asked, "html")
    return CompiledGiven(
        path=asked.path.strip("/"),
        version=number,
        title=str(found.told["title"]),
        html=found.data.decode(),
        files=tuple(reading.files),
        removed=dict(found.told["removed"]),
    )


@operation(
    "files_compile_pdf", CompileFile, tool="files_compile", content_delivery=ContentDelivery.SOURCED, in_chat=False
)
def compile_pdf(access: Access, asked: CompileFile) -> Stream:
    """Make a PDF of a stored Markdown or HTML file, with the pictures that it names."""
    reading = Reading(access, opaque=True)
    _, found = _compiled(access, reading, asked, "pdf")
    name = asked.path.rpartition("/")[2].removesuffix(TEMPLATE).rpartition(".")[0]
    return stream_of(found, f"{name}.pdf")


def stream_of(found: Made, name: str) -> Stream:
    """What was made, as it is sent."""

    def chunks() -> Iterator[bytes]:
        yield found.data

    return Stream(chunks(), name, str(found.told["type"]), len(found.data))


def form_of(path: str) -> tuple[str, bool]:
    """What a file's name says that it is, empty for nothing that is known, and whether it is a template."""
    name = path.rpartition("/")[2].lower()
    template = name.endswith(TEMPLATE)
    return FORMS.get(name.removesuffix(TEMPLATE).rpartition(".")[2], ""), template


def _compiled(access: Access, reading: Reading, asked: CompileFile, shape: str) -> tuple[int, Made]:
    """The number of the version that was compiled, and what it became."""
    form, template = form_of(asked.path)
    if not form:
        raise BadFields(("path", "'path' must name a Markdown or HTML file: .md, .html, or a template of one, .md.j2"))
    file, version = reading.document(asked.path)
    try:
        text, held = reading.template(version) if template else (reading.text(version), dict[str, str]())
        job: Mapping[str, Any] = {
            "shape": shape,
            "form": form,
            "path": file.path,
            "text": text,
            "template": template,
            "held": held,
            "values": dict(asked.values),
            "made_at": version.created_at.isoformat(),
        }
        return version.number, made(job, reading.answer, access.cancelled)
    except Uncompiled as why:
        raise reading.refused(why) from None
