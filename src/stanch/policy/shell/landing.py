"""Where copies, moved files and links come to stand: in the target itself or, where that is a directory, below it.

Settles which path is written. Does not settle which operand is the target (`policy.shell.operands`).
"""

from __future__ import annotations

import posixpath
from urllib.parse import unquote, urlsplit

from stanch.policy.shell.pieces import Word, known
from stanch.policy.shell.walk import Call

_LANDING = frozenset({"cp", "gcp", "mv", "gmv", "install", "ginstall", "ln", "gln", "rsync", "scp"})
_LINKS = frozenset({"ln", "gln"})
_WRITES = frozenset({"write", "both", "wipe"})


def land(here: Call) -> None:
    """Puts in for a target that is a directory the names that its sources get there."""
    if here.use.quiet:
        return
    if here.program in _LANDING:
        _land(here)
    if "here" in here.use.flags or (here.use.verb.saves and not _writes_elsewhere(here)):
        _save(here)
    here.use.acts.extend((kind, known(path)) for kind, path in here.use.verb.also)


def _writes_elsewhere(here: Call) -> bool:
    operands = {id(word) for word in here.use.operands}
    return any(kind in _WRITES and id(word) not in operands for kind, word in here.use.acts)


def _land(here: Call) -> None:
    use = here.use
    operands = use.operands
    if here.program in _LINKS and len(operands) == 1 and "into" not in use.flags:
        use.acts.append(("both", known(_name(operands[0]) or ".")))
        return
    into = "into" in use.flags
    if not operands or (not into and len(operands) < 2):
        return
    acts = []
    for kind, word in use.acts:
        is_target = (into and all(word is not one for one in operands)) or word is operands[-1]
        if kind not in _WRITES or word.text is None or (into and word is operands[-1]) or not is_target:
            acts.append((kind, word))
            continue
        sources = operands if into else operands[:-1]
        sure, possible = _is_folder(here, word.text)
        if not sure:
            acts.append((kind, word))
        if sure or possible or into or len(sources) > 1:
            acts.extend(_below(kind, word.text, source) for source in sources)
    use.acts = acts


def _below(kind: str, target: str, source: Word) -> tuple[str, Word]:
    name = _name(source)
    if name is None:
        return "unpack", known(target)
    return kind, known(posixpath.join(target, name) if name else target)


def _name(source: Word) -> str | None:
    """The name that a copy gets; "" where it is what lies in the source, None where nobody knows."""
    if source.text is None:
        return None
    name = posixpath.basename(source.text.rstrip("/"))
    return "" if name in (".", "..") else name


def _is_folder(here: Call, target: str) -> tuple[bool, bool]:
    """Whether the target is a directory for sure, and whether it may be one."""
    if target.endswith("/") or posixpath.basename(target) in (".", ".."):
        return True, True
    cwds = here.state.cwds
    made = any(posixpath.normpath(posixpath.join(cwd, target)) in here.run.disk.folders for cwd in cwds)
    there = [here.run.world.is_dir(target, cwd) for cwd in cwds]
    return bool(there) and all(there) and not here.state.lost, made or any(there)


def _save(here: Call) -> None:
    """Takes down the files that a program saves by the names at the end of addresses."""
    addresses = [word for kind, word in here.use.acts if kind == "url"]
    for word in addresses:
        name = ""
        if word.text is not None:
            try:
                name = posixpath.basename(unquote(urlsplit(word.text if "//" in word.text else "//" + word.text).path))
            except ValueError:
                name = ""
        here.use.acts.append(("write", known(name or ("index.html" if word.text is not None else "."))))
    if not addresses:
        here.use.acts.append(("write", known(".")))
