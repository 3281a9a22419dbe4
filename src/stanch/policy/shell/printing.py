"""What a command prints, as far as that can be known: text that is known, or names of files below some directories.

Settles the output of a few commands that others take words from. Whatever is not listed prints what nobody knows.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from stanch.policy.shell import expanding
from stanch.policy.shell.operands import Use
from stanch.policy.shell.pieces import QUOTED, Hole, Lit, Piece, Spot, Under, Value, Word
from stanch.policy.shell.state import State

if TYPE_CHECKING:
    from stanch.policy.shell.running import Run

UNKNOWN: Value = (Hole("the output of a command"),)
PLAIN: Value = (Hole("one word of output", plain=True),)
_ONE_WORD = frozenset({"nproc", "whoami", "arch"})
_UNCHANGED = frozenset({"cat", "tee"})
_LONGEST = 200


def printed(program: str, words: Sequence[Word]) -> Value:
    """What `echo` or `printf` prints."""
    words = list(words)
    if program == "echo":
        while words and re.fullmatch(r"-[neE]+", words[0].text or ""):
            words.pop(0)
        if any("\\" in (word.text or word.head) for word in words):
            return UNKNOWN
        return _joined(words, " ", "\n")
    if words and words[0].text == "--":
        words.pop(0)
    form = words[0].text if words else None
    if form is None or (words[0].text or "").startswith("-"):
        return UNKNOWN
    rest = words[1:]
    if "%" not in form and "\\" not in form.removesuffix("\\n"):
        return _joined(words[:1], "", "") if not form.endswith("\\n") else (Lit(form[:-2] + "\n", QUOTED),)
    if form in ("%s", "%s\\n", "%s ", "%s\n") and not any("\\" in (w.text or w.head) and form == "%b" for w in rest):
        return _joined(rest, {"%s": ""}.get(form, "\n" if "n" in form or "\n" in form else " "), "\n")
    return UNKNOWN


def _joined(words: Sequence[Word], between: str, behind: str) -> Value:
    found: list[Piece] = []
    for number, word in enumerate(words):
        if number and between:
            found.append(Lit(between, QUOTED))
        if word.wild:
            return UNKNOWN
        found.extend(expanding.value_of(word))
    if all(isinstance(piece, Lit) for piece in found):
        return (Lit("".join(piece.text for piece in found if isinstance(piece, Lit)) + behind, QUOTED),)
    if len(words) == 1:
        return tuple(found)
    return UNKNOWN


def output_of(program: str, use: Use, state: State, stdin: Value | None, run: Run) -> Value:
    """What a program prints that has these words."""
    if use.quiet:
        return UNKNOWN
    if program == "pwd":
        known = len(state.cwds) == 1 and not state.lost
        return (Lit(state.cwds[0], QUOTED),) if known else UNKNOWN
    if program == "seq":
        return _numbers(use)
    if program == "mktemp":
        return _temporary(use)
    if program in _ONE_WORD or (program == "id" and {"-u", "-g", "-un", "-gn"} & use.flags):
        return PLAIN
    if program in ("wc", "uname", "date"):
        return _one_number(program, use, stdin)
    if program == "git" and "rev-parse" in use.verb.names and {"--short"} >= use.flags - {"-q", "--verify"}:
        texts = [word.text for word in use.operands]
        return PLAIN if texts in (["HEAD"], []) and texts else UNKNOWN
    paths = [word for kind, word in use.acts if kind in ("read", "below", "both")]
    if use.verb.prints == "names" or "lists" in use.flags:
        spots = use.printed or _spots(paths, state)
        return (Under(spots),) if spots else UNKNOWN
    given = stdin is not None and not paths
    if given and stdin is not None and use.verb.prints == "lines":
        names = all(isinstance(piece, Under) for piece in stdin)
        return stdin if names or program in _UNCHANGED else UNKNOWN
    return UNKNOWN


def _spots(paths: Sequence[Word], state: State) -> tuple[Spot, ...]:
    found: list[Spot] = []
    for word in paths:
        if word.text is not None:
            found.append(Spot(word.text, state.cwds))
        elif word.under:
            found.extend(word.under)
        else:
            return ()
    return () if state.lost else tuple(found) or (Spot(".", state.cwds),)


def _numbers(use: Use) -> Value:
    texts = [word.text for word in use.operands]
    if not 1 <= len(texts) <= 2 or use.flags or not all(text and re.fullmatch(r"\d{1,6}", text) for text in texts):
        return PLAIN if not use.flags else UNKNOWN
    numbers = [int(text or 0) for text in texts]
    first, last = (1, numbers[0]) if len(numbers) == 1 else (numbers[0], numbers[1])
    if last - first >= _LONGEST:
        return PLAIN
    return (Lit("\n".join(str(n) for n in range(first, last + 1)), QUOTED),)


def _temporary(use: Use) -> Value:
    """A name below `/tmp` that nothing had before."""
    named = [word for word in use.operands if word.text is not None]
    if len(named) != len(use.operands) or {"-p", "--tmpdir", "-t"} & use.flags:
        return UNKNOWN
    return (Lit(named[0].text or "" if named else "/tmp/tmp.XXXXXXXXXX", QUOTED),)  # noqa: S108 - a name in a command


def _one_number(program: str, use: Use, stdin: Value | None) -> Value:
    if program == "wc":
        return PLAIN if stdin is not None and not use.operands and len(use.flags) == 1 else UNKNOWN
    if program == "uname":
        return PLAIN if len(use.flags) == 1 and use.flags <= {"-m", "-s", "-r", "-p"} else UNKNOWN
    texts = [word.text or "/" for word in use.operands]
    safe = len(texts) == 1 and re.fullmatch(r"\+(?:%[YmdHMSsFjyNuw]|[\w:.+]|-(?!\+))+", texts[0]) is not None
    return PLAIN if safe and not use.flags - {"-u"} else UNKNOWN
