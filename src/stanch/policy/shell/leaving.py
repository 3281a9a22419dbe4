"""What a command leaves on the disk for those behind it, and the scripts that are run from there.

Settles what a file may hold that the command itself or this session wrote, and what follows when it is run. Does not
settle which files a command writes (`policy.shell.operands`).
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Sequence

from stanch.policy.shell.naming import texts
from stanch.policy.shell.outcome import Opened
from stanch.policy.shell.pieces import Value, Word
from stanch.policy.shell.reading import Part
from stanch.policy.shell.touching import NOTHING, READ, targets, through_links
from stanch.policy.shell.values import text_of
from stanch.policy.shell.verbs import SHELLS
from stanch.policy.shell.walk import Call, Walk
from stanch.values.command import Command

_WRITTEN = frozenset({"write", "both", "wipe", "move"})
_LINKS = frozenset({"ln", "gln", "link"})
_LINKING = frozenset({"cp", "mv", "rsync", "install", "gcp", "gmv"})
_STREAM = re.compile(r"/dev/(?:stdin|fd/\d+)|/proc/self/fd/\d+|-")
_SHEBANG = re.compile(r"#!\s*(?:\S*/env\s+(?:-S\s+)?)?(?:\S*/)?([\w.-]+)(?:\s|$)")
_WHOLE = frozenset({"mv", "gmv", "rsync"})
_KEEPING = frozenset({"chmod", "chown", "chgrp", "touch", "setfacl", "chattr", "rm", "rmdir", "unlink", "mkdir"})
_ADDING = frozenset({"-a", "--append", "-ia", "-ai"})
WRITTEN = "a script that was written in this session"


def run_script(call: Call, word: Word) -> None:
    """Takes down a file that is run; where this session or command wrote it, it is gone through as code of its own."""
    run, state, draft = call.run, call.state, call.draft
    if word.text is not None and _STREAM.fullmatch(word.text):
        if word.text not in ("-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"):
            draft.say_unread("code that another command prints")
        return
    effects, why = targets(run, word, state, (READ,))
    draft.found.extend(effects)
    draft.scripts.extend(effects)
    if why:
        draft.say_unread(why)
    for text in texts(run, word, state) if word.text is not None else ():
        for cwd in state.cwds:
            _run_written(call, text, cwd)


def _run_written(call: Call, text: str, cwd: str) -> None:
    run, state, opened = call.run, call.state, call.opened
    path = posixpath.normpath(posixpath.join(cwd, text))
    done = run.disk.ran.setdefault(path, (state, opened.stdin, set()))[2]
    codes = list(run.disk.written.get(path, ()))
    written = run.world.written(text, cwd)
    if written is not None and (not codes or run.world.is_file(text, cwd)):
        codes.append(written.text)
    elif not codes and any(path.startswith(folder.rstrip("/") + "/") for folder in run.disk.below):
        codes.append(None)
    for code in codes:
        done.add(code)
        if code is None or not is_shell_code(path, code):
            call.draft.say_unread(WRITTEN)
        else:
            run.script(code, state.for_program(), opened.stdin)


def run_late(run: Walk) -> None:
    """Goes through what was written to a script after it was seen to be run: a loop or a job may still run it."""
    for path, (state, stdin, done) in list(run.disk.ran.items()):
        for code in list(run.disk.written.get(path, ())):
            if code in done:
                continue
            done.add(code)
            if code is None or not is_shell_code(path, code):
                run.parts.append(Part(Command(path, unread=WRITTEN)))
            else:
                run.script(code, state.for_program(), stdin)


def is_shell_code(path: str, code: str) -> bool:
    """True where a file's text is run by a shell, by its first line or, without one, by its name."""
    first = _SHEBANG.match(code)
    if first is not None or code.startswith("#!"):
        return first is not None and first[1] in SHELLS
    return not posixpath.splitext(path)[1] or path.endswith((".sh", ".bash"))


def leave(call: Call, printed: Value) -> None:
    """Takes down what the command leaves on the disk for the commands behind it."""
    run, program, use, state = call.run, call.program, call.use, call.state
    content = text_of(printed)
    leave_targets(run, call.opened, content)
    adds = program == "tee" and not use.flags.isdisjoint(_ADDING)
    for kind, word in use.acts:
        if kind == "unpack" or (kind in _WRITTEN and word.under):
            run.disk.below.update(_paths([spot.path for spot in word.under] or [word.text or "."], state.cwds))
        linked = program in _LINKS and kind == "move"
        if kind not in _WRITTEN or linked or word.text is None or word.text in (".", "/"):
            continue
        for path in _paths([word.text], state.cwds):
            if program == "mkdir":
                run.disk.folders.add(path)
            if program in _KEEPING:
                continue
            _write(run, path, content if program == "tee" else None, adds=adds)
            if kind in ("wipe", "move"):
                run.disk.below.add(path)
            copied = program in _LINKING and (program in _WHOLE or "deep" in use.flags) and kind != "move"
            source = _copied(call, path) if copied else None
            if source is not None:
                run.disk.copies[path] = source
            if source is not None and program == "rsync":
                name = posixpath.basename(source)
                around = posixpath.dirname(path) if posixpath.basename(path) == name else posixpath.join(path, name)
                run.disk.copies[around] = source
            if program in _LINKS or (program in _LINKING and run.disk.links):
                run.disk.links[path] = _target(call, path)


def _copied(call: Call, path: str) -> str | None:
    """What stands at a path now where something was moved or copied with the links in it; None where nobody knows."""
    into = "into" in call.use.flags
    operands = call.use.operands if into else call.use.operands[:-1]
    sources = [word.text.rstrip("/") for word in operands if word.text]
    alone = len(sources) == 1 and not into
    fitting = [one for one in sources if alone or posixpath.basename(one) == posixpath.basename(path)]
    if len(fitting) != 1 or len(call.state.cwds) != 1:
        return None
    source = posixpath.normpath(posixpath.join(call.state.cwds[0], fitting[0]))
    return None if source == path or path.startswith(source + "/") or source in call.run.disk.links else source


def _target(call: Call, link: str) -> str | None:
    """Where a symbolic link leads that was made with one target; None where that is not known."""
    texts_ = [word.text for word in call.use.operands]
    symbolic = any(("s" in flag and not flag.startswith("--")) or flag == "--symbolic" for flag in call.use.flags)
    if call.program not in _LINKS or len(texts_) != 2 or not texts_[0] or link in call.run.disk.links:
        return None
    if not symbolic and len(call.state.cwds) == 1 and not call.state.lost:
        return posixpath.normpath(posixpath.join(call.state.cwds[0], texts_[0]))
    if not symbolic:
        return None
    return posixpath.normpath(posixpath.join(posixpath.dirname(link), texts_[0]))


def leave_targets(run: Walk, opened: Opened, content: str | None) -> None:
    """Takes down what redirections wrote."""
    for found, adds in opened.targets:
        for path in _paths([found.path or ""], found.bases):
            _write(run, path, content, adds=adds)


def _write(run: Walk, path: str, content: str | None, *, adds: bool) -> None:
    """Adds what a file may hold. WHY never less: a way not taken, or a job, may leave what it held before."""
    held = run.disk.written.setdefault(path, [])
    added = [None if content is None or old is None else old + content for old in held] or [None]
    held.extend(one for one in (added if adds else [content]) if one not in held)


def _paths(texts_: Iterable[str], bases: Sequence[str]) -> list[str]:
    return [posixpath.normpath(posixpath.join(base, text)) for text in texts_ for base in bases]


def mark_linked(run: Walk) -> None:
    """Adds to every command what its paths are behind links that any of them makes."""
    for number, part in enumerate(run.parts):
        if part.command.program in _LINKS:
            continue
        found, unread = list(part.found), part.command.unread
        for one in part.found:
            if one.path is None or NOTHING.fullmatch(one.path):
                continue
            for path in through_links(run, one.path, one.bases):
                if path:
                    found.append(one._replace(path=path, bases=("/",)))
                else:
                    unread = unread or "a path through a link that the command makes"
        command = part.command._replace(unread=unread)
        run.parts[number] = part._replace(command=command, found=tuple(dict.fromkeys(found)))
