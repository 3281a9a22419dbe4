"""Programs whose words are a language of their own: dd, git's revisions, ssh, make, jq; and where the others are read.

Settles what the words of each come to. Does not settle the languages of sed and awk (`policy.shell.scripts`), of find
and xargs (`policy.shell.searching`), nor of tar (`policy.shell.archives`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from stanch.policy.shell import archives, scripts, searching
from stanch.policy.shell.pieces import Word, known
from stanch.policy.shell.variables import in_make
from stanch.policy.shell.walk import Call

Reader = Callable[[Call], None]


def dd(call: Call) -> None:
    """`dd`: `if=` is read and `of=` written."""
    use, words, draft = call.use, call.words, call.draft
    use.acts, use.unread = [], ""
    for word in words:
        text = word.text if word.text is not None else word.head
        name, mark, value = text.partition("=")
        kind = {"if": "read", "of": "write"}.get(name)
        if kind and mark:
            use.acts.append((kind, known(value) if word.text is not None else Word(None, value, why=word.why)))
        elif word.text is None and not mark:
            draft.say_unread(f"a word that may be a path: {word.why}")


_REVISION = re.compile(r"(?!\w+://)[^:]*:(?!/)(.+)", re.DOTALL)


def revisions(call: Call) -> None:
    """git: in `REV:path` the path is read, and what stands behind `--` are paths."""
    use = call.use
    texts = [word.text for word in use.rest]
    behind = {id(word) for word in use.rest[texts.index("--") + 1 :]} if "--" in texts else set()
    writes = bool({"checkout", "restore", "reset", "clean"} & set(use.verb.names))
    acts: list[tuple[str, Word]] = []
    for kind, word in use.acts:
        if id(word) in behind:
            acts.append(("write" if writes else "below", word))
            continue
        found = _REVISION.fullmatch(word.text) if kind in ("maybe", "text", "below", "read") and word.text else None
        if found is not None:
            place = known(re.sub(r"^[0-3]:", "", found[1]))
            acts.append(("below" if kind == "below" else "read", place))
            if kind in ("below", "read"):
                continue
        acts.append((kind, word))
    use.acts = acts


_HARMLESS_SSH = re.compile(
    r"(?:StrictHostKeyChecking|UserKnownHostsFile|GlobalKnownHostsFile|ConnectTimeout|ConnectionAttempts|BatchMode"
    r"|LogLevel|Port|User|Compression|ServerAlive\w+|IdentitiesOnly|PreferredAuthentications|PasswordAuthentication"
    r"|AddressFamily|Ciphers|MACs|HostKeyAlgorithms|TCPKeepAlive|RequestTTY|ForwardAgent|ControlMaster|ControlPersist"
    r"|ControlPath|IdentityFile)[ =].*",
    re.IGNORECASE,
)


def ssh(call: Call) -> None:
    """ssh and scp: an option of `-o` may run a program here."""
    words, draft = call.words, call.draft
    for number, word in enumerate(words):
        text = word.text or ""
        value = text[2:] if text.startswith("-o") and len(text) > 2 else None
        if text == "-o" and number + 1 < len(words):
            value = words[number + 1].text or ""
        if value is not None and not _HARMLESS_SSH.fullmatch(value):
            draft.say_unread("what an option of -o runs")


def make(call: Call) -> None:
    """make: `NAME=value` sets a variable of the makefile, which may be what it runs."""
    for word in call.use.operands:
        name, mark, value = (word.text if word.text is not None else word.head).partition("=")
        if mark and in_make(name.rstrip(":?+!"), value if word.text is not None else None):
            call.draft.say_unread(f"a change of {name}, which changes what runs")


_JQ_READS = re.compile(
    r"(?<![.\w$@-])(?:import|include|load|load_str|strload|load_\w+|input_file|getpath_file|system|exec)\b(?!\"?\s*:)"
)


def jq(call: Call) -> None:
    """jq and yq: a program that takes in other files is unread."""
    use, draft = call.use, call.draft
    if "patterns" in use.flags:
        draft.say_unread("a program that stands in a file")
        return
    for word in (*use.patterns, *use.operands[: 0 if use.patterns else 1]):
        if word.text is None:
            draft.say_unread(f"a program that is not known: {word.why}")
        elif _JQ_READS.search(word.text):
            draft.say_unread("a program that reads other files")


READERS: Mapping[str, Reader] = {
    "find": searching.find,
    "xargs": searching.xargs,
    "tar": archives.tar,
    "dd": dd,
    "git-rev": revisions,
    "ssh": ssh,
    "make": make,
    "jq": jq,
    "sed": scripts.sed,
    "awk": scripts.awk,
}
