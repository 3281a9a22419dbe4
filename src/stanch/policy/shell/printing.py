"""What a command prints, as far as that can be known: text that is known, or names of files below some directories.

Settles the output of a few commands that others take words from. Whatever is not listed prints what nobody knows.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from stanch.policy.shell.outcome import UNKNOWN_OUTPUT as UNKNOWN
from stanch.policy.shell.pieces import QUOTED, Hole, Lit, Piece, Spot, Under, Value, Word
from stanch.policy.shell.state import State
from stanch.policy.shell.use import Use
from stanch.policy.shell.values import value_of
from stanch.policy.shell.walk import Call

PLAIN: Value = (Hole("one word of output", plain=True),)
_ONE_WORD = frozenset({"nproc", "whoami", "arch"})
_COUNTING = frozenset({"-c", "--count"})
_HASHES = frozenset({"merge-base", "rev-parse"})
_UNCHANGED = frozenset({"cat", "tee"})
_HARMLESS_TO_TEXT = frozenset({"-a", "-u", "-i", "--append"})
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
    if not rest and "%" not in form and "\\" not in form:
        return _joined(words[:1], "", "")
    if form in ("%s", "%s\n", "%s\\n") and len(rest) == 1 and rest[0].text is None:
        return value_of(rest[0])
    return _formatted(form, rest)


_PIECE = re.compile(r"%(?P<kind>[sdi%])|\\(?P<escape>[nt0\\])|(?P<text>[^%\\]+)")
_ESCAPES = {"n": "\n", "t": "\t", "0": "\0", "\\": "\\"}


def _formatted(form: str, words: Sequence[Word]) -> Value:
    """What `printf` makes of words that are known, by a form of plain text, `%s` and `%d`, used until none is left."""
    pieces = list(_PIECE.finditer(form))
    texts = [word.text for word in words if word.text is not None and not word.wild]
    takes = sum(match["kind"] in ("s", "d", "i") for match in pieces)
    if "".join(match[0] for match in pieces) != form or len(texts) != len(words) or (words and not takes):
        return UNKNOWN
    out: list[str] = []
    while True:
        for match in pieces:
            if match["kind"] in ("s", "d", "i"):
                text = texts.pop(0) if texts else ("" if match["kind"] == "s" else "0")
                if match["kind"] != "s" and not re.fullmatch(r"-?(?:0|[1-9]\d{0,15})", text):
                    return UNKNOWN
                out.append(text)
            else:
                out.append(match["text"] or _ESCAPES.get(match["escape"] or "", "%"))
        if not texts:
            return (Lit("".join(out), QUOTED),)


def _joined(words: Sequence[Word], between: str, behind: str) -> Value:
    found: list[Piece] = []
    for number, word in enumerate(words):
        if number and between:
            found.append(Lit(between, QUOTED))
        if word.wild:
            return UNKNOWN
        found.extend(value_of(word))
    if all(isinstance(piece, Lit) for piece in found):
        return (Lit("".join(piece.text for piece in found if isinstance(piece, Lit)) + behind, QUOTED),)
    if len(words) == 1:
        return tuple(found)
    return UNKNOWN


def output_of(call: Call) -> Value:
    """What a program prints that has these words."""
    program, use, state, stdin = call.program, call.use, call.state, call.opened.stdin
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
    if program in ("grep", "egrep", "fgrep") and use.flags & _COUNTING and len(use.operands) < 3:
        return PLAIN
    sub = (call.words[0].text if call.words else "") if program == "git" else ""
    if sub in _HASHES and not any((word.text or "-").startswith("-") for word in call.words):
        return PLAIN if sub == "merge-base" or _is_commit(call.words[1:]) else UNKNOWN
    if sub == "rev-list" and "--count" in use.flags:
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
    if given and stdin is not None and program in _UNCHANGED and not use.flags - _HARMLESS_TO_TEXT:
        return stdin
    if given and stdin is not None and use.verb.prints == "lines":
        names = all(isinstance(piece, Under) for piece in stdin)
        return stdin if names or program in _UNCHANGED else UNKNOWN
    return UNKNOWN


def _is_commit(operands: Sequence[Word]) -> bool:
    return all(word.text is not None and re.fullmatch(r"[\w.~^@{}/-]+", word.text) for word in operands)


def _spots(paths: Sequence[Word], state: State) -> tuple[Spot, ...]:
    found: list[Spot] = []
    for word in paths:
        if word.text is not None:
            bare = "-" if word.text == "." else ""
            found.append(Spot(word.text, state.cwds, splits=bare))
        elif word.under:
            found.extend(word.under)
        else:
            return ()
    return () if state.lost else tuple(found) or (Spot(".", state.cwds, splits="-"),)


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
