"""Files that a person mentions in what they say to an agent, as `@notes.txt`: their text goes along.

Settles which words mention a file, and that nothing is said where one of the files may not go. Does not settle how a
file is judged and opened (`app.judged_files`).
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator

from stanch.app.asking import Asking
from stanch.app.judged_files import Left, Taken, taken
from stanch.app.judges import Judges
from stanch.app.session import Session
from stanch.explain.sentences import visible
from stanch.judge.notices import Consumer
from stanch.paths.canonical import expand_home
from stanch.runtime.builtin.page import MOST_CHARACTERS
from stanch.values.call import Stamp
from stanch.values.fault import BadFields
from stanch.values.message import SourceTag, Text

MOST_FILES = 20
MOST_WORDS = 1_000
LONGEST_WORD = 4_096
MOST_ENDS = 4
_MOST_NAMED = 5
_WORD = re.compile(r'(?<!\S)@(?:"([^"\n]+)"|([^\s"]\S*))')
_ENDS = ".,;:!?)]}'\""


class Mentions:
    """Finds them, and takes their text."""

    def __init__(self, asking: Asking) -> None:
        self._asking, self._judges = asking, Judges(asking)

    def of(self, session_id: str, words: str) -> tuple[Text, ...]:
        """The files that the words mention, each as a text with its source tag, in the order of their first mention.

        A word with `@` in front, or several in double quotes behind it, mentions the file of that name; relative names
        start where the session works. What names no regular file is a word like any other. Raises `BadFields` where one
        of them may not go to the session's model, with its name and why; and what `Asking.lineage` raises.
        """
        written = list(dict.fromkeys(_words(words)))
        if len(written) > MOST_WORDS:
            raise _refused(f"more than {MOST_WORDS:,} words begin with '@'; say it without mentions")
        if not written:
            return ()
        session = self._asking.lineage(session_id)[0].session
        found: dict[str, tuple[str, Stamp]] = {}
        for word in written:
            named = _named(session, word)
            if named is not None:
                found.setdefault(named[1].path or word, named)
        if len(found) > MOST_FILES:
            raise _refused(f"{len(found)} files are mentioned, and at most {MOST_FILES} may be at once")
        made: list[Taken | Left] = []
        if found:
            inside = {path: one for path, one in found.items() if _may_be_named(session, one[1])}
            made = taken(
                self._judges.of(session_id),
                Consumer.ATTACHMENT,
                [stamp for _, stamp in inside.values()],
                most=MOST_CHARACTERS,
            )
            made += [
                Left(stamp, "it lies outside of what the session works on")
                for path, (_, stamp) in found.items()
                if path not in inside
            ]
        left = [one for one in made if isinstance(one, Left)]
        if left:
            names = {stamp: word for word, stamp in found.values()}
            told = [f"@{visible(names[one.stamp])}: {one.why}" for one in left[:_MOST_NAMED]]
            more = f"; and {len(left) - _MOST_NAMED} more" if len(left) > _MOST_NAMED else ""
            raise _refused("; ".join(told) + more)
        return tuple(_text(one) for one in made if isinstance(one, Taken))


def _words(text: str) -> Iterator[str]:
    for found in _WORD.finditer(text):
        yield found[1] or found[2]


def _named(session: Session, word: str) -> tuple[str, Stamp] | None:
    """The file that a word names, or that it names without the marks that a sentence puts behind it; None for none."""
    for _ in range(1 + MOST_ENDS):
        if not word or len(word) > LONGEST_WORD:
            return None
        stamp = session.engine.canonicaliser.stamp(expand_home(word), session.context.effective_working_dir())
        if _is_file(stamp):
            return word, stamp
        if word[-1] not in _ENDS:
            return None
        word = word[:-1]
    return None


def _is_file(stamp: Stamp) -> bool:
    """True for an existing regular file. WHY not for a device or a pipe: nothing of these is ever read."""
    if not stamp.path:
        return False
    try:
        return stat.S_ISREG(os.lstat(stamp.path).st_mode)
    except (OSError, ValueError):
        return False


def _may_be_named(session: Session, stamp: Stamp) -> bool:
    """True below the workspace, and wherever the session's context lets it read."""
    root = session.engine.policy.workspace.rstrip("/") + "/"
    return stamp.path.startswith(root) or session.context.is_read_allowed(stamp)


def _text(one: Taken) -> Text:
    path = one.stamp.path
    return Text(f"The file {visible(path)}:\n{one.text}", (SourceTag(path),))


def _refused(why: str) -> BadFields:
    return BadFields(("text", f"nothing was said: {why}"))
