"""Files that go to a model though it has not called for them: judged together, and opened as they were judged.

Settles that nothing but the judged file is read, how much of it, and why one is left. Does not settle which files are
meant, nor what becomes of their text (`app.context_files`, `app.mentions`).
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from typing import NamedTuple

from stanch.app.judging import Judge
from stanch.explain.verdicts import verdict_words
from stanch.judge.notices import Consumer, goes_on
from stanch.runtime.builtin.asked import CannotDo, opened_file, refused, trouble
from stanch.runtime.builtin.content import decoded, is_binary, read_whole
from stanch.runtime.cutting import cut
from stanch.values.call import Stamp
from stanch.values.reason import Code

MOST_BYTES = 1024 * 1024
_SIZE = f"{MOST_BYTES // 1024} KB"


class Taken(NamedTuple):
    """A file that may go to the model: its canonical path, and its text, which may have lost its middle."""

    stamp: Stamp
    text: str


class Left(NamedTuple):
    """A file that may not, or cannot, and why: a sentence that holds names alone."""

    stamp: Stamp
    why: str


def taken(
    judge: Judge, consumer: Consumer, stamps: Sequence[Stamp], *, most: int, seconds: float | None = None
) -> list[Taken | Left]:
    """Each of the files, or why it is left, in order. They are judged at the same time, in so many seconds at most.

    Left out, these are as many as the judge has for any judgment.

    `most` is how many characters of each are taken.
    """
    asked = [stamp for stamp in stamps if stamp.refusal is None]
    deadline = None if seconds is None else (time.time() + seconds) * 1000
    verdicts = judge.batch((consumer.probe(one.path) for one in asked), deadline_at=deadline)
    found = dict(zip((one.path for one in asked), verdicts, strict=True))
    made: list[Taken | Left] = []
    for stamp in stamps:
        verdict = found.get(stamp.path)
        if stamp.refusal is not None or verdict is None:
            made.append(Left(stamp, refused(stamp, stamp.refusal or Code.PATH_UNREADABLE)))
        elif not goes_on(consumer, verdict):
            made.append(Left(stamp, verdict_words(verdict)))
        elif verdict.judged != stamp.path:
            made.append(Left(stamp, refused(stamp, Code.TARGET_CHANGED)))
        else:
            made.append(_read(stamp, most))
    return made


def _read(stamp: Stamp, most: int) -> Taken | Left:
    try:
        with opened_file(stamp, os.O_RDONLY) as descriptor:
            data = read_whole(descriptor, MOST_BYTES)
    except CannotDo as why:
        return Left(stamp, str(why))
    except OSError as error:
        return Left(stamp, trouble(stamp, error))
    if data is None:
        return Left(stamp, f"it has more than {_SIZE}")
    if is_binary(data):
        return Left(stamp, "it is a binary file")
    return Taken(stamp, cut(decoded(data).text, most))
