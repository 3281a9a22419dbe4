"""What a tool shows of many files: their lines, each marked with the file it came from, and notes of what is missing.

Settles how the text is put together and where the spans lie. Does not settle what is shown.
INVARIANT: a note holds numbers only. A file that is withheld has no name here.
"""

from __future__ import annotations

from stanch.runtime.cutting import cut_tagged
from stanch.runtime.tool import Output
from stanch.values.message import SourceTag

MOST_CHARACTERS = 256 * 1024
SECRETS = "secrets"


class Page:
    """A text that grows line by line."""

    def __init__(self) -> None:
        self._text: list[str] = []
        self._length = 0
        self._tags: list[SourceTag] = []
        self.lines = 0

    @property
    def full(self) -> bool:
        """True once more was added than is ever shown."""
        return self._length > 2 * MOST_CHARACTERS

    def add(self, path: str, lines: list[str]) -> None:
        """Adds lines that came from the file or directory of this canonical path."""
        if not lines:
            return
        piece = "\n".join(lines)
        self._tags.append(SourceTag(path, span=(self._length, self._length + len(piece))))
        self._text.append(piece)
        self._length += len(piece) + 1
        self.lines += len(lines)

    def output(self, notes: list[str], withheld: int, *, nothing: str, root: str) -> Output:
        """The whole as a tool gives it back; `nothing` is said of the canonical path `root` where no line was added."""
        if not self._text:
            self.add(root, [nothing])
        body = "\n".join(self._text)
        body, tags = cut_tagged(body, tuple(self._tags), MOST_CHARACTERS)
        return Output("\n".join([body, *notes]), tags, withheld=withheld)


def withheld_note(files: int, closed: int) -> list[str]:
    """How many files were withheld, and directories named `secrets` among them; nothing where there were none."""
    if not files + closed:
        return []
    note = number(files + closed, "file") + " withheld"
    if closed:
        which = "it is a directory" if files + closed == 1 else f"{number(closed, 'directory')} among them"
        note += f" ({which} named {SECRETS}, never entered)"
    return [note]


def number(how_many: int, what: str) -> str:
    """`1 file`, `2 files`, `2 directories`."""
    if how_many == 1:
        return f"1 {what}"
    return f"{how_many:,} {what[:-1]}ies" if what.endswith("y") else f"{how_many:,} {what}s"
