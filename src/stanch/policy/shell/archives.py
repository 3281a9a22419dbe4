"""`tar`: which way it goes decides what its operands are.

Settles the options of tar and what the archive, the members and the directories are. Nothing else is read here.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from stanch.policy.shell.pieces import Word, known
from stanch.policy.shell.state import State
from stanch.policy.shell.touching import moved, touch
from stanch.policy.shell.walk import Call

_MODES = {
    "--create": "c", "--extract": "x", "--get": "x", "--list": "t", "--append": "r", "--update": "u", "--diff": "d",
    "--compare": "d", "--catenate": "A", "--concatenate": "A", "--delete": "r", "--remove-files": "remove",
}  # fmt: skip
_RUNS = frozenset(
    {
        *("--to-command", "--checkpoint-action", "--use-compress-program", "--info-script", "--new-volume-script"),
        *("--rsh-command", "--rmt-command"),
    }
)
_VALUES = {
    "--file": "archive", "--directory": "directory", "--files-from": "names", "--exclude-from": "read",
    "--index-file": "write", "--volno-file": "write", "--listed-incremental": "both", "--add-file": "member",
    "--exclude": "", "--exclude-tag": "", "--exclude-tag-all": "", "--exclude-tag-under": "", "--exclude-ignore": "",
    "--exclude-ignore-recursive": "", "--transform": "", "--xform": "", "--owner": "", "--group": "", "--mode": "",
    "--mtime": "", "--newer": "", "--after-date": "", "--newer-mtime": "", "--format": "", "--label": "", "--level": "",
    "--strip-components": "", "--blocking-factor": "", "--record-size": "", "--tape-length": "", "--starting-file": "",
    "--suffix": "", "--sort": "", "--pax-option": "", "--quoting-style": "", "--hole-detection": "",
    "--owner-map": "read", "--group-map": "read", "--warning": "", "--no-quote-chars": "", "--quote-chars": "",
    "--sparse-version": "", "--xattrs-include": "",
    "--xattrs-exclude": "", "--set-mtime-command": "runs",
}  # fmt: skip
_SHORT = {
    "f": "archive", "C": "directory", "T": "names", "X": "read", "g": "both", "I": "runs", "F": "runs", "b": "",
    "H": "", "K": "", "N": "", "V": "", "L": "",
}  # fmt: skip
_NAMES = (*_MODES, *_RUNS, *_VALUES)


@dataclass(slots=True)
class _Tar:
    call: Call
    here: State
    modes: set[str] = field(default_factory=set)
    archives: list[Word] = field(default_factory=list)
    members: list[tuple[Word, State]] = field(default_factory=list)


def tar(call: Call) -> None:
    """Reads the words of tar: effects on members stand against the directory that `-C` has named by then."""
    use = call.use
    use.acts, use.code, use.inner, use.unread, use.base = [], [], None, "", []
    tar_ = _Tar(call, call.state)
    rest = list(call.words)
    if rest and rest[0].text and not rest[0].text.startswith("-"):
        _old_style(tar_, rest.pop(0).text or "", rest)
    ended = False
    while rest:
        word = rest.pop(0)
        text = word.text
        if ended or text is None or not text.startswith("-") or text == "-":
            if text is None and not ended and not word.under and not word.head:
                call.draft.say_unread(f"a word that may be an option: {word.why}")
            tar_.members.append((word, tar_.here))
        elif text == "--":
            ended = True
        elif text.startswith("--"):
            _long(tar_, text, rest)
        else:
            _short(tar_, text[1:], rest)
    _acts(tar_)


def _old_style(tar_: _Tar, letters: str, rest: list[Word]) -> None:
    """A first word without a dash: the values of its letters are the words behind it, in their order."""
    for letter in letters:
        if letter in _SHORT:
            _value(tar_, _SHORT[letter], "-" + letter, rest.pop(0) if rest else known(""))
        else:
            _mode(tar_, letter)


def _short(tar_: _Tar, letters: str, rest: list[Word]) -> None:
    for at, letter in enumerate(letters):
        if letter in _SHORT:
            behind = letters[at + 1 :]
            _value(
                tar_, _SHORT[letter], "-" + letter, known(behind) if behind else (rest.pop(0) if rest else known(""))
            )
            return
        _mode(tar_, letter)


def _mode(tar_: _Tar, letter: str) -> None:
    if letter in "cxtrudA":
        tar_.modes.add(letter)


def _long(tar_: _Tar, text: str, rest: list[Word]) -> None:
    name, mark, attached = text.partition("=")
    fitting = [full for full in _NAMES if full.startswith(name)]
    full = name if name in _NAMES or not fitting else next((one for one in fitting if one in _RUNS), fitting[0])
    if full in _RUNS:
        tar_.call.draft.say_unread(f"what the option {full} runs")
    elif full in _MODES:
        tar_.modes.add(_MODES[full])
    elif full in _VALUES:
        _value(tar_, _VALUES[full], full, known(attached) if mark else (rest.pop(0) if rest else known("")))


def _value(tar_: _Tar, kind: str, name: str, value: Word) -> None:
    call = tar_.call
    if kind == "archive":
        tar_.archives.append(value)
    elif kind == "directory":
        there = moved(call.run, value, tar_.here)
        if there is None:
            call.draft.say_unread(f"a directory that is not known: {value.why}")
        touch(call.run, "maybe", value, tar_.here, call.draft)
        tar_.here = there or tar_.here
    elif kind == "member":
        tar_.members.append((value, tar_.here))
    elif kind == "names":
        call.use.acts.append(("read", value))
        call.draft.say_unread("names that stand in a file")
    elif kind == "runs":
        call.draft.say_unread(f"what the option {name} runs")
    elif kind:
        call.use.acts.append((kind, value))


def _acts(tar_: _Tar) -> None:
    call, modes = tar_.call, tar_.modes
    writes = modes & {"c", "r", "u", "A"}
    for archive in tar_.archives:
        if archive.text is not None and re.match(r"[^/]+:", archive.text):
            call.use.acts.append(("host", archive))
        else:
            call.use.acts.append(("write" if writes else "read", archive))
    if "x" in modes:
        touch(call.run, "unpack", known("."), tar_.here, call.draft)
        call.run.disk.below.update(tar_.here.cwds)
    elif modes & {"c", "r", "u", "d"}:
        for word, here in tar_.members:
            touch(call.run, "move" if "remove" in modes else "below", word, here, call.draft)
    elif "A" in modes:
        for word, here in tar_.members:
            touch(call.run, "read", word, here, call.draft)
