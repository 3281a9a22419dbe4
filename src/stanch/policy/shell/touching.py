"""From a word and what is done to it to effects: which paths it names, and how surely.

Settles what a word means as a path or an address, with what is not known about it. Does not settle which words a
command reads or writes (`policy.shell.operands`), nor which names wildcards find (`policy.shell.naming`).
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping, Sequence
from urllib.parse import urlsplit

from stanch.policy.shell.naming import texts
from stanch.policy.shell.outcome import Draft
from stanch.policy.shell.pieces import Word, known
from stanch.policy.shell.reading import Found
from stanch.policy.shell.state import State
from stanch.policy.shell.walk import Walk
from stanch.values.call import EffectClass
from stanch.values.command import Weight

READ, WRITE, NETWORK = EffectClass.READ, EffectClass.WRITE, EffectClass.NETWORK
# Devices that hold nothing of anybody.
NOTHING = re.compile(
    r"/dev/(?:null|zero|full|u?random|tty|stdin|stdout|stderr|fd/\d+)|/proc/self/fd/\d+|/dev/pts/\d+|-"
)
_MOST_LINKS = 8
_LONGEST_NAME = 256
_LONGEST_WORD = 1_000
_MARK = re.compile(r"[=@:]")
_SOCKET = re.compile(r"/dev/(?:tcp|udp)/([^/]*)/.*")
_ADDRESS = re.compile(r"(?!file:)[A-Za-z][\w+.-]*://.*", re.DOTALL)
_REMOTE = re.compile(r"(?:[\w.~-]+@)?[\w.\[\]-]+:(?!//).*", re.DOTALL)

# What is done to an operand of each kind: class, what of that which lies below is touched, and how surely.
TOUCHES: Mapping[str, tuple[tuple[EffectClass, str, Weight], ...]] = {
    "read": ((READ, "", Weight.SURE),),
    "script": ((READ, "", Weight.SURE),),
    "below": ((READ, "inside", Weight.SURE),),
    "reach": ((READ, "links", Weight.SURE),),
    "write": ((WRITE, "", Weight.SURE),),
    "wipe": ((WRITE, "whole", Weight.SURE),),
    "unpack": ((WRITE, "spread", Weight.SURE),),
    "both": ((READ, "inside", Weight.SURE), (WRITE, "inside", Weight.SURE)),
    "move": ((READ, "inside", Weight.SURE), (WRITE, "whole", Weight.SURE)),
    "maybe": ((READ, "", Weight.POSSIBLE),),
    "mount": ((READ, "inside", Weight.POSSIBLE), (WRITE, "inside", Weight.POSSIBLE)),
    "any": ((READ, "", Weight.POSSIBLE), (WRITE, "", Weight.POSSIBLE)),
}


def touch(run: Walk, kind: str, word: Word, state: State, draft: Draft) -> None:
    """Takes down what is done to one word."""
    if kind == "url" and _is_local(word):
        kind = "read"
    if kind in ("url", "host"):
        _reach(word, state, draft)
        return
    if kind == "opaque":
        draft.say_unread("the code that the program is given")
        return
    touches = TOUCHES.get(kind)
    if touches is None:
        return
    if kind == "read" and word.text is not None and re.match(r"https?://", word.text, re.IGNORECASE):
        _reach(word, state, draft)
        return
    if kind == "any" and word.text is not None and (part := _part_of(run, word.text, state)):
        touch(run, kind, known(part), state, draft)
    if kind in ("maybe", "any") and not _may_be_path(run, word, state):
        named = word.plain and not any("/" in text for text, _ in word.parts)
        if word.text is None and not word.under and word.why and not named:
            draft.say_unread(f"a word that may be a path: {word.why}")
        return
    for cls, deep, weight in touches:
        effects, why = targets(run, word, state, (cls,), deep=deep, weight=weight)
        draft.found.extend(effects)
        if why:
            draft.say_unread(why)


def targets(
    run: Walk,
    word: Word,
    state: State,
    classes: Sequence[EffectClass],
    *,
    deep: str = "",
    weight: Weight = Weight.SURE,
) -> tuple[list[Found], str]:
    """The effects on a word as a path, and why not all of them can be known."""
    if word.text is None:
        return _unknown(run, word, state, classes, deep=deep, weight=weight)
    found: list[Found] = []
    why = ""
    names = texts(run, word, state) if word.wild else [word.text]
    for name in names:
        socket = _SOCKET.fullmatch(name)
        if socket:
            found.append(Found(NETWORK, None, subject=socket[1]))
        elif not NOTHING.fullmatch(name):
            found.extend(Found(cls, name, state.cwds, deep, weight) for cls in classes)
            for path in _copied_from(run, name, state.cwds, deep):
                reached = [cls for cls in classes if cls is READ or (not deep and _is_behind_link(run, path))]
                found.extend(Found(cls, path, ("/",), deep, weight) for cls in reached)
            for path in through_links(run, name, state.cwds):
                if path:
                    found.extend(Found(cls, path, ("/",), deep, weight) for cls in classes)
                else:
                    why = "a path through a link that the command makes"
    if state.lost and any(not name.startswith("/") for name in names):
        why = why or "the directory that a path starts from is not known"
    return found, why


def _unknown(
    run: Walk, word: Word, state: State, classes: Sequence[EffectClass], *, deep: str, weight: Weight
) -> tuple[list[Found], str]:
    found: list[Found] = []
    for spot in word.under:
        for cls in classes:
            reach = "spread" if cls is WRITE else "links"
            if spot.files:
                reach = "files" if cls is WRITE else "inside"
            reach = deep if deep == "whole" else reach
            found.append(Found(cls, spot.path, spot.bases, reach, weight, only=spot.only, splits=spot.splits))
            if cls is READ or not spot.files:
                copied = _copied_from(run, spot.path, spot.bases, reach)
                found += [
                    Found(cls, path, ("/",), reach, weight, only=spot.only, splits=spot.splits) for path in copied
                ]
    if word.under:
        return found, ""
    tail = "".join(text for text, _ in word.parts)[len(word.head) :]
    folder, name = posixpath.split(word.head)
    if word.plain and word.parts and "/" not in tail and not state.lost and (folder or name):
        # A name of which a part is one plain word, as in `build/f$i.txt`: what is touched lies in the folder.
        only = "" if set(name) & set("*?[]{}\\") else f"{name}*"
        for cls in classes:
            reach = "spread" if cls is WRITE else "links"
            found.append(Found(cls, folder or ".", state.cwds, reach, weight, only=only))
        return found, ""
    if folder or word.head.startswith("/"):
        found.extend(Found(cls, folder or "/", state.cwds, "", Weight.POSSIBLE) for cls in classes)
    return found, f"a path that is not known: {word.why}"


def through_links(run: Walk, name: str, bases: Sequence[str]) -> list[str]:
    """Where the path leads through links that the command itself has made; "" stands for where nobody knows."""
    found: list[str] = []
    for base in bases if run.disk.links else ():
        path = posixpath.normpath(posixpath.join(base, name))
        for _ in range(_MOST_LINKS):
            link = next((one for one in run.disk.links if path == one or path.startswith(one + "/")), None)
            if link is None:
                break
            target = run.disk.links[link]
            if target is None:
                found.append("")
                break
            path = posixpath.normpath(target + path[len(link) :])
            found.append(path)
        else:
            found.append("")
    return found


def _copied_from(run: Walk, name: str, bases: Sequence[str], deep: str = "") -> list[str]:
    """Where what is read stood before the command moved or copied it, with the links in it."""
    paths = [posixpath.normpath(posixpath.join(base, name)) for base in bases if run.disk.copies]
    copies = run.disk.copies.items()
    found = [source + path[len(to) :] for path in paths for to, source in copies if (path + "/").startswith(to + "/")]
    if deep:
        found += [source for path in paths for to, source in copies if to.startswith(path.rstrip("/") + "/")]
    return found


def _may_be_path(run: Walk, word: Word, state: State) -> bool:
    if word.text is None:
        return bool(word.under) or "/" in word.head
    text = word.text
    if _ADDRESS.fullmatch(text):
        return False
    if "/" in text or text.startswith(("~", ".")):
        return True
    return is_there(run, text, state)


def _is_behind_link(run: Walk, path: str) -> bool:
    """True where the path leads elsewhere than its names say."""
    return run.world.real(path) != posixpath.normpath(path)


def _part_of(run: Walk, text: str, state: State) -> str:
    """What stands behind the first mark of a word such as `from=PATH`, where the whole word names nothing."""
    found = _MARK.search(text)
    if found is None or "://" in text or len(text) > _LONGEST_WORD or is_there(run, text, state):
        return ""
    return text[found.end() :]


def is_there(run: Walk, text: str, state: State) -> bool:
    """True where the text names a file or a directory that is there."""
    if not text or len(text) >= _LONGEST_NAME:
        return False
    return any(run.world.is_file(text, cwd) or run.world.is_dir(text, cwd) for cwd in state.cwds)


def _is_local(word: Word) -> bool:
    """True for an address that is none: it has neither a scheme nor a host, and looks like a path."""
    text = word.text
    if text is None or text.lower().startswith("file:") or _ADDRESS.fullmatch(text):
        return False
    if text.startswith(("/", ".", "~")):
        return not text.startswith("//")
    return "/" in text and not _REMOTE.fullmatch(text) and "." not in text.partition("/")[0] and ":" not in text


def _reach(word: Word, state: State, draft: Draft) -> None:
    if word.text is None:
        draft.found.append(Found(NETWORK, None))
        draft.say_unread(f"an address that is not known: {word.why}")
        return
    if word.text.lower().startswith("file:"):
        draft.found.append(Found(READ, word.text[5:].removeprefix("//").removeprefix("localhost"), state.cwds))
        return
    try:
        host = urlsplit(word.text if "//" in word.text else "//" + word.text).hostname or ""
    except ValueError:
        host = ""
    draft.found.append(Found(NETWORK, None, subject=host))


def moved(run: Walk, word: Word, state: State) -> State | None:
    """The state with its directory changed to the word's; None where nobody knows which that is."""
    if word.text is None or word.wild or not word.text:
        return None
    return state.at(tuple(run.world.real(posixpath.join(cwd, word.text)) for cwd in state.cwds), lost=state.lost)
