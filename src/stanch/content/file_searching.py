"""Finding files by what is in them: lines that match an expression, and files that hold some words.

Settles which files are looked through and how far, what is counted of those that were not, and that a match in a file
whose content may not be given is told of by its place alone, if at all. Does not settle how an expression is searched
for (`expressions`), nor how words are (`file_words`).
"""

from __future__ import annotations

import fnmatch
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, NamedTuple

from pydantic import Field

from stanch.content.access import Access
from stanch.content.expressions import Hit, hits, searching
from stanch.content.extraction import Unextractable
from stanch.content.extraction_alone import Cause
from stanch.content.file_items import Below, below_path, files_below, source_of
from stanch.content.file_texts import FileText, projected, text_of
from stanch.content.file_words import in_name, place_of_words, words_of
from stanch.delivery.admit import ContentRefused, Window, admit_content, redact_before_cutting
from stanch.delivery.operation import Asked, ContentDelivery, Given, operation
from stanch.delivery.source import EXCERPT
from stanch.values.fault import BrokenRow
from stanch.values.files import FileRecord
from stanch.values.reason import Reason

SECONDS = 20.0
LONGEST_LINE = 500
_BEFORE = 60
_PREVIEW = 200


class GrepFiles(Asked):
    """What is searched for, and where."""

    pattern: Annotated[
        str,
        Field(
            min_length=1,
            max_length=4_096,
            description="A regular expression in RE2 syntax; begin with (?i) to ignore case.",
        ),
    ]
    path: Below = ""
    glob: Annotated[
        str | None, Field(max_length=512, description="Only files whose name or path fits, such as *.md.")
    ] = None
    limit: Annotated[int, Field(ge=1, le=1_000, description="How many lines at most.")] = 200


class LineFound(Given):
    """A line that matches, cut where it is long."""

    path: str
    version: int
    line: int
    text: str = Field(repr=False)


class NotSearched(Given):
    """How many files were not looked through: no text, too large, or not to be read."""

    binary: int
    large: int
    unreadable: int


class GrepGiven(Given):
    """The lines that match. `withheld` counts the files that were left out, by the code of the reason.

    `more`: there is more than is given, or than could be looked through in time.
    """

    items: tuple[LineFound, ...]
    files: int
    withheld: Mapping[str, int]
    skipped: NotSearched
    more: bool


class SearchFiles(Asked):
    """Words that a file has in its name or in its text, all of them."""

    query: Annotated[str, Field(min_length=1, max_length=1_000, description="Whole words, in any case.")]
    path: Below = ""
    limit: Annotated[int, Field(ge=1, le=200, description="How many files at most.")] = 50


class FileFound(Given):
    """A file that has the words. `line` is the first with one of them, null where they are in the name alone.

    `preview` is null where there is none, or where it is withheld for the reason of that code.
    """

    path: str
    version: int
    line: int | None
    preview: str | None = Field(repr=False)
    withheld: str | None


class SearchGiven(Given):
    """The files that have the words, by path. `total` counts them all, as far as was looked.

    `withheld` counts the files that a rule or a tier closes, by the code of the reason: they are not looked through.
    """

    items: tuple[FileFound, ...]
    total: int
    withheld: Mapping[str, int]
    skipped: NotSearched
    more: bool


class _Spot(NamedTuple):
    """Where in a text a match is: the number of its line, and which part of the text is a preview."""

    line: int
    begin: int
    end: int


class _Looking:
    """One search: how long it may take, and what was not looked through."""

    def __init__(self, access: Access) -> None:
        self.access, self._end = access, time.monotonic() + SECONDS
        self.skipped: Counter[str] = Counter()

    def goes_on(self) -> bool:
        return time.monotonic() < self._end and not self.access.cancelled.is_set()

    def text(self, file: FileRecord) -> FileText | None:
        """The file's text; None, and counted, where there is none."""
        try:
            return text_of(self.access, file.digest)
        except Unextractable as why:
            self.skipped["large" if why.cause is Cause.TOO_MUCH else "binary"] += 1
        except BrokenRow:
            self.skipped["unreadable"] += 1
        return None

    def not_searched(self) -> NotSearched:
        return NotSearched(
            binary=self.skipped["binary"], large=self.skipped["large"], unreadable=self.skipped["unreadable"]
        )


@operation("files_grep", GrepFiles, tool="files_grep", content_delivery=ContentDelivery.SOURCED)
def grep_files(access: Access, asked: GrepFiles) -> GrepGiven:
    """Search the texts of stored files for a regular expression, line by line."""
    admit_content(access.delivery, ())
    search, below = searching(asked.pattern), below_path(asked.path)
    looking = _Looking(access)
    items: list[LineFound] = []
    withheld: Counter[str] = Counter()
    refused: Reason | None = None
    files = 0
    more = False
    for file in files_below(access, below):
        if asked.glob is not None and not _fits(file.path, asked.glob):
            continue
        if len(items) >= asked.limit or not looking.goes_on():
            more = True
            break
        (admission,) = admit_content(access.delivery, (source_of(access, file),))
        if admission.refusal is not None:
            refused = admission.refusal if file.path == below else None
            withheld[admission.refusal.code.value] += 1
            continue
        found = looking.text(file)
        if found is None:
            continue
        files += 1
        # INVARIANT: what is searched is what the caller may see: whether a line matches says nothing of a secret.
        lines = projected(access, found.text).split("\n")
        for hit in hits(search, lines, looking.goes_on):
            if len(items) >= asked.limit:
                more = True
                break
            items.append(LineFound(path=file.path, version=file.version, line=hit.line, text=_excerpt(hit)))
    if refused is not None:
        # A single file was asked for, and that is the one.
        raise ContentRefused(refused)
    return GrepGiven(
        items=tuple(items),
        files=files,
        withheld=dict(withheld),
        skipped=looking.not_searched(),
        more=more or not looking.goes_on(),
    )


@operation("files_search", SearchFiles, tool="files_search", content_delivery=ContentDelivery.SOURCED)
def search_files(access: Access, asked: SearchFiles) -> SearchGiven:
    """Find stored files by words in their name or text. Gives where they are, and a preview where that may be given."""
    # Nothing but places comes of the first look at the texts; a preview is another one, at what was admitted.
    admit_content(access.delivery, ())
    words, looking = words_of(asked.query), _Looking(access)
    found: list[tuple[FileRecord, _Spot | None]] = []
    withheld: Counter[str] = Counter()
    total, more = 0, False
    for file in files_below(access, below_path(asked.path)):
        if not looking.goes_on():
            more = True
            break
        closed = _closed(access, file)
        if closed is not None:
            withheld[closed.code.value] += 1
            continue
        text = looking.text(file)
        place = None if text is None else place_of_words(text.text, words)
        if place is None and not in_name(file.path, words):
            continue
        total += 1
        if len(found) < asked.limit:
            found.append((file, None if text is None or place is None else _spot(text.text, place)))
    return SearchGiven(
        items=tuple(_previewed(access, found)),
        total=total,
        withheld=dict(withheld),
        skipped=looking.not_searched(),
        more=more or total > len(found),
    )


def _closed(access: Access, file: FileRecord) -> Reason | None:
    """Why a file is closed whatever it carries: whether its text has a word is then not told, either."""
    delivery = access.delivery
    if not delivery.classified or delivery.may_read is None:
        return None
    return delivery.may_read(access.place(file.path))


def _previewed(access: Access, found: Sequence[tuple[FileRecord, _Spot | None]]) -> Iterator[FileFound]:
    for file, spot in found:
        preview, withheld = None, None
        if spot is not None:
            (admission,) = admit_content(access.delivery, (source_of(access, file, view=EXCERPT),))
            withheld = None if admission.refusal is None else admission.refusal.code.value
            if withheld is None:
                window = Window(spot.begin, spot.end)
                preview = redact_before_cutting(access.delivery, text_of(access, file.digest).text, window)
        line = None if spot is None else spot.line
        yield FileFound(path=file.path, version=file.version, line=line, preview=preview, withheld=withheld)


def _spot(text: str, place: int) -> _Spot:
    begin = max(text.rfind("\n", 0, place) + 1, place - _BEFORE)
    end = text.find("\n", place)
    return _Spot(text.count("\n", 0, place) + 1, begin, min(len(text) if end < 0 else end, begin + _PREVIEW))


def _fits(path: str, glob: str) -> bool:
    return fnmatch.fnmatchcase(path, glob) or fnmatch.fnmatchcase(path.rpartition("/")[2], glob)


def _excerpt(hit: Hit) -> str:
    """The line, of a long one what is around the match."""
    if len(hit.text) <= LONGEST_LINE:
        return hit.text
    begin = max(0, min(hit.start - LONGEST_LINE // 4, len(hit.text) - LONGEST_LINE))
    end = begin + LONGEST_LINE
    return ("…" if begin else "") + hit.text[begin:end] + ("…" if end < len(hit.text) else "")
