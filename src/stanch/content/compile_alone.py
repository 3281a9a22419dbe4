"""The program that makes one document: a job on standard input, the document on standard output.

Settles the order in which a document is filled in, laid out and written, how it asks for the files that it names, and
what the process may do. Does not settle who starts it and answers (`compile_process`). WHY a process: templates,
documents and pictures are anybody's, and have to be ended where they come to no end.
INVARIANT: it opens no file of its own but those of the program, no address, and no other program; whatever goes wrong
is said by a word and a line.
"""

from __future__ import annotations

import base64
import json
import os
import resource
import sys
from collections.abc import Mapping
from datetime import datetime
from typing import Any, BinaryIO

from stanch.content.compile_page import Laying, Page
from stanch.content.compile_pictures import picture, type_of
from stanch.content.compile_template import MOST_CHARACTERS, Mark, Marks, Problem, Uncompiled, filled

DEEPEST = 8
_MEMORY, _CPU = 2 << 30, 40
_SUFFIX = ".j2"


class Asking:
    """Asks whoever has started this process for files."""

    def __init__(self, said: BinaryIO, out: BinaryIO, values: Mapping[str, Any]) -> None:
        self._said, self._out, self._values = said, out, values
        self.marks = Marks()
        self._within: list[str] = []
        self._left = MOST_CHARACTERS

    def text(self, kind: str, path: str) -> str | None:
        """The text of a file, filled in where it is a template that is included."""
        told = self._asked(kind, path)
        if "text" not in told:
            return None
        text, name = str(told["text"]), str(told["path"])
        if kind != "include" or not name.endswith(_SUFFIX):
            return self._counted(text)
        if name in self._within or len(self._within) >= DEEPEST:
            raise Uncompiled(Problem.TOO_DEEP, name)
        self._within.append(name)
        text = self.filled_in(text, name, told.get("held", {}))
        self._within.pop()
        return text

    def data(self, path: str) -> bytes | None:
        """The bytes of a file."""
        told = self._asked("image", path)
        return base64.b64decode(told["data"]) if "data" in told else None

    def filled_in(self, text: str, name: str, held: Mapping[str, str]) -> str:
        """A template's text, with the texts that it includes. `held` are words that stand for others until then."""
        before = len(self.marks.all)
        try:
            text = filled(text, self._values, self.marks)
        except Uncompiled as why:
            raise Uncompiled(why.problem, name, why.line) from None
        for sign, words in held.items():
            text = text.replace(sign, words)
            self.marks.all[before:] = [
                Mark(mark.kind, mark.path.replace(sign, words)) for mark in self.marks.all[before:]
            ]
        return self._included(self._counted(text))

    def _included(self, text: str) -> str:
        made: list[str] = []
        place = 0
        for found in self.marks.pattern.finditer(text):
            number = int(found[1])
            if number < len(self.marks.all) and self.marks.all[number].kind == "include":
                made += [text[place : found.start()], self.text("include", self.marks.all[number].path) or ""]
                place = found.end()
        return "".join((*made, text[place:]))

    def _counted(self, text: str) -> str:
        """The text, if all texts together are not too long. WHY: what is included twice twice over grows fast."""
        self._left -= len(text)
        if self._left < 0:
            raise Uncompiled(Problem.TOO_LARGE)
        return text

    def _asked(self, kind: str, path: str) -> Mapping[str, Any]:
        line = json.dumps({"kind": kind, "path": path})
        self._out.write(line.encode() + b"\n")
        self._out.flush()
        return dict(json.loads(self._said.readline()))

    def first(self, name: str) -> None:
        """Says which document is made."""
        self._within.append(name)


def made(job: Mapping[str, Any], said: BinaryIO, out: BinaryIO) -> tuple[Mapping[str, Any], bytes]:
    """What is said of the document, and its bytes. Raises `Uncompiled`, and whatever the libraries raise."""
    if job["shape"] == "picture":
        data = base64.b64decode(job["data"])
        width = job.get("width")
        kind, data = (type_of(data), b"") if width is None else picture(data, int(width))
        return {"type": kind}, data
    asking = Asking(said, out, job["values"])
    asking.first(str(job["path"]))
    page = _page(job, asking)
    told = {"title": page.title, "removed": {name: count for name, count in page.removed.items() if count}}
    if job["shape"] == "pdf":
        from stanch.content.compile_pdf import pdf_of

        return {**told, "type": "application/pdf"}, pdf_of(page, datetime.fromisoformat(job["made_at"]))
    return {**told, "type": "text/html; charset=utf-8"}, page.html().encode("utf-8", "replace")


def _page(job: Mapping[str, Any], asking: Asking) -> Page:
    laying, name = Laying(asking, asking.marks, lenient=bool(job.get("lenient"))), str(job["path"]).rpartition("/")[2]
    match job["form"]:
        case "picture":
            return laying.picture(base64.b64decode(job["data"]), name)
        case "parts":
            return laying.parts([(one[0], one[1], one[2]) for one in job["parts"]], name)
        case form:
            text = str(job["text"])
            if job["template"]:
                text = asking.filled_in(text, str(job["path"]), job["held"])
            return laying.page(form, text, name)


def _limited() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (_CPU, _CPU))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    places = (sys.prefix, sys.base_prefix, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    own = tuple({form(place) + os.sep for place in places for form in (os.path.abspath, os.path.realpath)})

    def watch(event: str, arguments: tuple[Any, ...]) -> None:
        if event.startswith(("socket.", "subprocess.", "os.exec", "os.fork", "os.posix_spawn", "os.system", "ctypes.")):
            raise PermissionError(event)
        if event == "open":
            path, mode = arguments[0], arguments[1]
            if isinstance(path, int):
                return  # what is open already
            reads = mode is None or not set(str(mode)) & set("wax+")
            # WHY as it is written, too: an installer may have put links there that lead to a place of its own.
            if not reads or not os.path.abspath(os.fsdecode(path)).startswith(own):
                raise PermissionError(event)

    sys.addaudithook(watch)


def main() -> int:
    """Makes the one document; returns the exit code."""
    _limited()
    with os.fdopen(0, "rb", closefd=False) as said, os.fdopen(1, "wb", closefd=False) as out:
        data = b""
        try:
            told, data = made(json.loads(said.readline()), said, out)
            told = {"made": len(data), **told}
        except Uncompiled as why:
            told = {"problem": why.problem.value, "path": why.path, "line": why.line}
        except (MemoryError, RecursionError):
            told = {"problem": Problem.TOO_LARGE.value, "path": "", "line": 0}
        except Exception:  # whatever a library makes of what it cannot read
            told = {"problem": Problem.DAMAGED.value, "path": "", "line": 0}
        out.write(json.dumps(told).encode() + b"\n" + data)
        out.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
