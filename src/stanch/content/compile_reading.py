"""The stored files that go into one document: found, admitted, and only then read.

Settles which file a path in a document means, that each file which is really read was admitted in the version that is
read, and that its text is without secrets before anything is made of it. Does not settle what is made of it
(`compile_alone`).
WHY before: what is made of a text may part a secret that stands in it, which nobody would then recognise.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from stanch.content.access import Access
from stanch.content.compile_pictures import MOST_BYTES
from stanch.content.compile_template import MOST_CHARACTERS, Marks, Problem, Uncompiled
from stanch.content.file_items import file_at, source_of, version_at
from stanch.content.file_texts import projected, text_of
from stanch.delivery.admit import ContentRefused, Window, hidden_in, redact_before_cutting, require_admitted_content
from stanch.delivery.source import COMPLETE, OPAQUE
from stanch.values.fault import BadFields, BadInput, BrokenRow, NotFound
from stanch.values.files import FileRecord, VersionRecord
from stanch.values.reason import Code, LayerId, Reason

MOST_FILES = 200
MOST_DATA = 64 << 20
_SAID = {
    Problem.SYNTAX: "it cannot be read as a template",
    Problem.UNDEFINED: "it uses a name that nobody has given a value",
    Problem.FORBIDDEN: "it does what no template may do",
    Problem.FAILED: "it failed as a template",
    Problem.TOO_LARGE: "what it makes is too large",
    Problem.TOO_DEEP: "it includes too deep, or itself",
    Problem.TOO_LONG: "making it took too long or too much memory",
    Problem.NO_PICTURE: "it is no picture: PNG, JPEG, GIF and WEBP are",
    Problem.CANCELLED: "nobody waits for it any more",
    Problem.DAMAGED: "it is damaged, or cannot be read as what it is",
}


class Reading:
    """Reads the files of one document, for one caller.

    `opaque`: nothing can be taken out of what is made. `lenient`: what is not there is left out of a document.
    """

    def __init__(self, access: Access, *, opaque: bool, lenient: bool = False) -> None:
        self._access, self._opaque, self._lenient = access, opaque, lenient
        self._folder = ""
        self._answered: dict[tuple[str, str], Mapping[str, Any]] = {}
        self._data_left = MOST_DATA
        self.files: list[str] = []

    def document(self, path: str, number: int | None = None) -> tuple[FileRecord, VersionRecord]:
        """The document itself, admitted. Raises `ContentRefused`, `NotFound` and `BadFields`."""
        file, version = version_at(self._access, path, number)
        self._admit(file, version)
        self._folder = file.path.rpartition("/")[0]
        return file, version

    def text(self, version: VersionRecord) -> str:
        """The text of an admitted version, as this caller may have it. Raises `Unextractable` and `BrokenRow`."""
        return projected(self._access, self._text(version))

    def template(self, version: VersionRecord) -> tuple[str, Mapping[str, str]]:
        """The same of a template, where signs stand for labels: a label would be read as a part of the template."""
        text, held = self._text(version), dict[str, str]()
        pieces: list[str] = []
        place, nonce = 0, Marks().nonce
        for start, end in hidden_in(self._access.delivery, text):
            sign = f"H{nonce}h{len(held)}Z"
            held[sign] = redact_before_cutting(self._access.delivery, text, Window(start, end))
            pieces += [text[place:start], sign]
            place = end
        return "".join((*pieces, text[place:])), held

    def data(self, version: VersionRecord) -> bytes:
        """The bytes of an admitted version. Raises `Uncompiled`, and `BrokenRow`."""
        self._data_left -= version.size
        if version.size > MOST_BYTES or self._data_left < 0:
            raise Uncompiled(Problem.TOO_LARGE, version.path)
        if not self._access.blobs.has(version.digest, version.size):
            raise BrokenRow("file_versions", version.id, "its bytes are gone, or not all there")
        return self._access.blobs.whole(version.digest, MOST_BYTES)

    def answer(self, kind: str, path: str) -> Mapping[str, Any]:
        """What is told of a file that a document names. Raises `ContentRefused`, `Unnamed` and `Uncompiled`."""
        key = (kind, path)
        if key not in self._answered:
            if len(self._answered) >= MOST_FILES:
                raise Uncompiled(Problem.TOO_LARGE)
            self._answered[key] = self._told(kind, path)
        return self._answered[key]

    def refused(self, why: Uncompiled) -> BadInput:
        """Why nothing was made, in words that this caller may have: a word of ours, a name and a line."""
        where = f"'{why.path}': " if why.path else ""
        line = f" (line {why.line:,})" if why.line else ""
        return BadInput(projected(self._access, f"{where}{_SAID[why.problem]}{line}"))

    def _told(self, kind: str, path: str) -> Mapping[str, Any]:
        file = self._found(path)
        if file is None:
            if self._lenient:
                return {}
            raise BadInput(projected(self._access, f"the document names a file that is not there: '{path}'"))
        # INVARIANT: the version that is admitted is the one that is read, whatever is written meanwhile.
        version = self._access.stores.file_version(file.id, file.version)
        self._admit(file, version, picture=kind == "image")
        if kind == "image":
            return {"path": file.path, "data": base64.b64encode(self.data(version)).decode()}
        if kind == "include" and file.path.endswith(".j2"):
            text, held = self.template(version)
            return {"path": file.path, "text": text, "held": held}
        return {"path": file.path, "text": self.text(version)}

    def _found(self, path: str) -> FileRecord | None:
        """The file that a path in the document means: in its own folder first, then from the top.

        None where there is none. An absolute path, and one with `..`, means none.
        """
        if path.startswith("/"):
            return None
        beside = f"{self._folder}/{path}" if self._folder else path
        for one in dict.fromkeys((beside, path)):
            with suppress(NotFound, BadFields):
                return file_at(self._access, one)
        return None

    def _admit(self, file: FileRecord, version: VersionRecord, *, picture: bool = False) -> None:
        view = OPAQUE if self._opaque or picture else COMPLETE
        require_admitted_content(self._access.delivery, source_of(self._access, file, version.number, view=view))
        # WHY the names too: a document says them, and nothing is taken out of one whose bytes nobody can read.
        if view is OPAQUE and projected(self._access, file.path) != file.path:
            raise ContentRefused(Reason(Code.CONTENT_OPAQUE, LayerId.DELIVERY, detail="its name holds a secret"))
        if file.path not in self.files:
            self.files.append(file.path)

    def _text(self, version: VersionRecord) -> str:
        text = text_of(self._access, version.digest).text
        if len(text) > MOST_CHARACTERS:
            raise Uncompiled(Problem.TOO_LARGE, version.path)
        return text
