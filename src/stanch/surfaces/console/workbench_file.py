"""`/console/sessions/{session_id}/workbench/file`: one file of a workbench, and one output that was withheld.

Settles that a file is shown as a model would get it, until the person asks for it as it is, and that no browser opens
its bytes as a page. Does not settle what is withheld (`app.workbench_running`).
"""

from __future__ import annotations

import codecs
from contextlib import suppress
from typing import NamedTuple

from starlette.responses import Response

from stanch.app.projecting import UNOPENED, WITHHELD
from stanch.app.workbench_memory import Forgotten
from stanch.content.streams import Stream
from stanch.content.workbench import entry_path
from stanch.content.workbench_disk import chunks_of
from stanch.explain import visible
from stanch.secrets.budget import Withheld
from stanch.surfaces.attachment import attachment
from stanch.surfaces.console.content_reach import RAW
from stanch.surfaces.console.content_text import SOME_LINES, Sides, got, stored
from stanch.surfaces.console.cutting import whole
from stanch.surfaces.console.guard import HEADERS, Asked
from stanch.surfaces.console.workbench_reach import Bench
from stanch.values.fault import Fault

MOST_BYTES = 1 << 20
NO_TEXT = "It is no text; the download has it as it is."


class Read(NamedTuple):
    """The beginning of a file as a text, None where it is none; and whether there is more of it."""

    text: str | None
    is_cut: bool


def page(asked: Asked) -> Response:
    """The file."""
    bench = Bench(asked)
    path = entry_path(bench.get("path"))
    read = _read(bench, path)
    # INVARIANT: only now: code at work may have been given what stands in the file since it was known what came near.
    bench.open()
    raw, everything = asked.get(RAW) == "1", asked.get("all") == "1"
    most = None if everything else SOME_LINES
    sides = _sides(bench, path, read, most, raw=raw)
    return asked.page(
        "workbench_file.html.j2",
        at="sessions",
        wide=True,
        session=bench.session,
        name=bench.name(path),
        badge=bench.badge(path),
        secrets=sorted({entry.name for entry in bench.registry.entries}),
        is_text=read.text is not None,
        sides=sides,
        is_cut=read.is_cut or (everything and sides.is_cut),
        bench=bench.address(),
        here={
            "redacted": bench.address("/file", path=path),
            "raw": bench.address("/file", path=path, raw=1),
            "all": bench.address("/file", path=path, raw=1 if raw else "", all=1),
            "download": bench.address("/download", path=path),
        },
    )


def download(asked: Asked) -> Response:
    """The bytes of a file, to be saved."""
    bench = Bench(asked)
    bench.open()
    path = entry_path(bench.get("path"))
    file = asked.service.workbenches.directory(bench.id).open(path)
    # WHY written out: code chose the name, and one that is turned around may look like one of another kind.
    name = visible(bench.name(path.rpartition("/")[2]))
    # WHY no other type: whatever the bytes are, no browser opens them as a page of this server.
    return attachment(Stream(chunks_of(file), name), name, "application/octet-stream", HEADERS)


def output(asked: Asked) -> Response:
    """What a run printed that was withheld from the model; it counts as read once it is shown."""
    bench = Bench(asked)
    with suppress(Forgotten):  # WHY: when it was kept, the whole history was taken out of it already
        bench.open()
    call = asked.get("call")
    outputs = asked.service.workbenches.outputs(bench.id)
    said = bench.say(outputs.text(call))
    answer = asked.page(
        "workbench_output.html.j2",
        at="sessions",
        wide=True,
        session=bench.session,
        call=call,
        shown=whole(said.removesuffix("\n")),
        bench=bench.address(),
    )
    # WHY only now: what nobody could be shown has been read by nobody, and keeps its workbench.
    if said not in (WITHHELD, UNOPENED):
        outputs.was_read(call)
    return answer


def _read(bench: Bench, path: str) -> Read:
    with bench.asked.service.workbenches.directory(bench.id).open(path) as file:
        data = file.read(MOST_BYTES + 1)
    is_cut = len(data) > MOST_BYTES
    try:
        text = codecs.getincrementaldecoder("utf-8")().decode(data[:MOST_BYTES], final=not is_cut)
    except UnicodeDecodeError:
        return Read(None, is_cut)
    return Read(None if "\0" in text else text, is_cut)


def _sides(bench: Bench, path: str, read: Read, most: int | None, *, raw: bool) -> Sides:
    if read.text is None:
        return Sides(None, NO_TEXT)
    as_it_is = stored(read.text, most) if raw else None
    if bench.memory.is_tainted:
        why = bench.taint(path)
        said = f"nothing: {why}" if why else "nothing, while something tainted lies in this workbench"
        return Sides(None, said, as_it_is)
    try:
        projector = bench.asked.service.content.secrets.projector(bench.registry.entries)
        told = projector.excerpt(read.text) if read.is_cut else projector.text(read.text)
    except Withheld as why:
        return Sides(None, f"nothing: it could not be looked through ({why})", as_it_is)
    except Fault as why:
        return Sides(None, bench.asked.failing.sentence(why), as_it_is)
    return Sides(got(told, most), "", as_it_is)
