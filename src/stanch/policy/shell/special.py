"""Programs whose words are a language of their own: find, xargs, tar, dd, git's revisions, ssh.

Settles what the words of each come to. Does not settle the languages of sed and awk (`policy.shell.scripts`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from stanch.policy.shell import scripts
from stanch.policy.shell.operands import Use
from stanch.policy.shell.pieces import Hole, Spot, Under, Word, known, words_of
from stanch.policy.shell.state import State

if TYPE_CHECKING:
    from stanch.policy.shell.commands import Commands, Draft
    from stanch.policy.shell.redirects import Opened

Reader = Callable[["Commands", Use, Sequence[Word], State, "Draft", "Opened"], None]
_GLOBAL = re.compile(r"-[HLP]+|-O\d?")
_ACTIONS = frozenset({"-exec", "-execdir", "-ok", "-okdir"})
_WRITES = frozenset({"-fprint", "-fprint0", "-fls", "-fprintf"})


def find(commands: Commands, use: Use, words: Sequence[Word], state: State, draft: Draft, opened: Opened) -> None:
    """`find`: it reads its roots, and `{}` stands for what lies below them."""
    use.acts, use.code, use.inner, use.unread = [], [], None, ""
    rest = list(words)
    follows = False
    while rest and _GLOBAL.fullmatch(rest[0].text or ""):
        follows = follows or "L" in (rest.pop(0).text or "")
    roots: list[Word] = []
    while rest and (rest[0].text is None or rest[0].text[:1] not in ("-", "(", "!") or rest[0].text in ("-",)):
        if rest[0].text is None and not rest[0].head and not rest[0].under:
            draft.say_unread(f"a word that may be an option: {rest[0].why}")
        roots.append(rest.pop(0))
    roots = roots or [known(".")]
    use.acts.extend(("read", root) for root in roots)
    below = Word(None, under=tuple(spot._replace(only=_only(rest)) for spot in _spots(roots, state)))
    use.printed = below.under
    place = 0
    while place < len(rest):
        text = rest[place].text
        place += 1
        if text is None:
            if not _is_value(rest, place - 1):
                draft.say_unread(f"a word that may be an option: {rest[place - 1].why}")
        elif text == "-delete":
            use.acts.append(("write", below))
        elif text in _WRITES:
            use.acts.append(("write", rest[place] if place < len(rest) else known("")))
        elif text == "-files0-from":
            draft.say_unread("roots out of a file")
        elif text in _ACTIONS:
            end = next((at for at in range(place, len(rest)) if _ends(rest, at)), len(rest))
            if follows:
                draft.say_unread("files behind links")
            inner = [_below(word, below) for word in rest[place:end]]
            place = end + 1
            if inner:
                _run(commands, inner, state, opened)


def _ends(words: Sequence[Word], at: int) -> bool:
    return words[at].text == ";" or (words[at].text == "+" and words[at - 1].text == "{}")


def _only(tests: Sequence[Word]) -> str:
    """The glob that the name of whatever is found must fit: of a single `-name` that nothing takes back."""
    texts = [word.text for word in tests]
    names = [at for at, text in enumerate(texts) if text in ("-name", "-iname")]
    if len(names) != 1 or {"-o", "-or", "!", "-not", ","} & set(texts) or texts[names[0]] == "-iname":
        return ""
    name = texts[names[0] + 1] if names[0] + 1 < len(texts) else None
    return name if name is not None and not set(name) & set("[]\\") else ""


_TESTS = frozenset(
    "-name -iname -path -ipath -wholename -regex -iregex -type -xtype -size -mtime -mmin -ctime -cmin -atime -amin "
    "-newer -user -group -perm -maxdepth -mindepth -printf -lname -links -inum -samefile".split()  # noqa: SIM905
)


def _is_value(words: Sequence[Word], at: int) -> bool:
    return at > 0 and words[at - 1].text in _TESTS


def _below(word: Word, below: Word) -> Word:
    if word.text == "{}":
        return below
    if word.text is not None and "{}" in word.text:
        tail = word.text.removeprefix("{}")
        if "{}" not in tail and "/" not in tail and word.text.startswith("{}"):
            return below
        return Word(None, word.text.partition("{}")[0], why="a name made from what is found")
    return word


def _spots(roots: Sequence[Word], state: State) -> tuple[Spot, ...]:
    found: list[Spot] = []
    for root in roots:
        if root.text is not None:
            found.append(Spot(root.text, state.cwds))
        found.extend(root.under)
    return tuple(found)


def _run(commands: Commands, inner: Sequence[Word], state: State, opened: Opened) -> None:
    commands.simple(list(inner), (), state, opened._replace(found=(), unread="", targets=(), stdin=None))


_XARGS_VALUE = re.compile(r"-[IEdLnPs]|--(?:replace|eof|delimiter|max-lines|max-args|max-procs|max-chars|process-slot-var)")
_XARGS_FLAG = re.compile(r"-[0rtpxo]+|--(?:null|no-run-if-empty|verbose|interactive|exit|open-tty|show-limits)")


def xargs(commands: Commands, use: Use, words: Sequence[Word], state: State, draft: Draft, opened: Opened) -> None:
    """`xargs`: what it runs gets further words from its standard input."""
    use.acts, use.code, use.inner, use.unread = [], [], None, ""
    rest = list(words)
    replaced, exact = "", False
    stdin = opened.stdin
    while rest and (rest[0].text is None or rest[0].text.startswith("-")):
        text = rest.pop(0).text
        if text is None:
            draft.say_unread("an option that is not known")
        elif text == "--":
            break
        elif text in ("-i", "--replace"):
            replaced = "{}"
        elif text.startswith("-i"):
            replaced = text[2:]
        elif text in ("-a", "--arg-file") or text.startswith(("-a", "--arg-file=")):
            name = text.partition("=")[2] if "=" in text else text[2:]
            if text in ("-a", "--arg-file"):
                name = (rest.pop(0).text or "") if rest else ""
            use.acts.append(("read", known(name)))
            stdin = (Hole("what a file holds"),)
        elif _XARGS_VALUE.fullmatch(text):
            value = (rest.pop(0).text or "") if rest else ""
            replaced = value if text in ("-I", "--replace") else replaced
            exact = exact or text in ("-d", "--delimiter")
        elif text.startswith("-I"):
            replaced = text[2:]
        elif _XARGS_FLAG.fullmatch(text):
            exact = exact or "0" in text or text == "--null"
        elif not re.fullmatch(r"-[EdLnPs].+|-l\d*|-e.*|--[a-z-]+=.*", text):
            draft.say_unread(f"what the option {text.partition('=')[0]} does")
    inner = rest or [known("echo")]
    more = _given(stdin, exact)
    if replaced:
        inner = [_replaced(word, replaced, more) for word in inner]
    else:
        inner = [*inner, *more]
    _run(commands, inner, state, opened)


def _given(stdin: object, exact: bool) -> list[Word]:
    """The words that stand on the standard input."""
    if not isinstance(stdin, tuple) or not stdin:
        return [Word(None, why="what stands on its standard input", many=True)]
    if all(isinstance(piece, Under) for piece in stdin):
        spots = tuple(spot for piece in stdin for spot in piece.spots)
        return [Word(None, under=spots, many=not exact)]
    if any(not hasattr(piece, "kind") for piece in stdin):
        return [Word(None, why="what stands on its standard input", many=True)]
    text = "".join(piece.text for piece in stdin)
    if set(text) & set("'\"\\"):
        return [Word(None, why="what stands on its standard input", many=True)]
    from stanch.policy.shell.pieces import SPLIT, Lit

    return [known(word.text or "") for word in words_of((Lit(text, SPLIT),))]


def _replaced(word: Word, mark: str, more: Sequence[Word]) -> Word:
    if word.text is None or mark not in word.text:
        return word
    if len(more) == 1:
        one = more[0]
        if one.text is not None:
            return known(word.text.replace(mark, one.text))
        if word.text == mark:
            return one._replace(many=False)
        tail = word.text.removeprefix(mark)
        if one.under and word.text.startswith(mark) and "/" not in tail and mark not in tail:
            return one._replace(many=False)
    return Word(None, word.text.partition(mark)[0], why="what stands on its standard input")


def tar(commands: Commands, use: Use, words: Sequence[Word], state: State, draft: Draft, opened: Opened) -> None:
    """`tar`: which way it goes decides what its operands are."""
    base = list(use.base)
    use.acts, use.code, use.inner, use.unread, use.base = [], [], None, "", []
    rest = list(words)
    if rest and rest[0].text and not rest[0].text.startswith("-"):
        rest[0] = known("-" + rest[0].text)
    modes: set[str] = set()
    archive: Word | None = None
    operands: list[Word] = []
    here = state
    while rest:
        word = rest.pop(0)
        text = word.text
        if text is None or not text.startswith("-") or text == "-":
            if text is None and not word.under and not word.head:
                draft.say_unread(f"a word that may be an option: {word.why}")
            operands.append(word)
            continue
        name, mark, attached = text.partition("=")
        if text.startswith("--"):
            name = _tar_name(name)
            mode = _TAR_LONG.get(name)
            if mode:
                modes.add(mode)
            elif name in ("--file", "--directory", "--files-from", "--exclude-from"):
                value = known(attached) if mark else (rest.pop(0) if rest else known(""))
                archive, here = _tar_value(name, value, use, archive, here, commands, draft)
            elif name in _TAR_DANGEROUS:
                draft.say_unread(f"what the option {name} runs")
            elif name == "--remove-files":
                modes.add("remove")
            continue
        letters = text[1:]
        for at, letter in enumerate(letters):
            if letter in "cxtrudA":
                modes.add(letter)
            elif letter in "fCTX":
                value = known(letters[at + 1 :]) if text[0] == "-" and letters[at + 1 :] and not _bundled(letters) else (
                    rest.pop(0) if rest else known("")
                )
                archive, here = _tar_value(letter, value, use, archive, here, commands, draft)
                if not _bundled(letters):
                    break
            elif letter in "IF":
                draft.say_unread(f"what the option -{letter} runs")
                break
            elif letter in "bgHKNVL":
                value = known(letters[at + 1 :]) if letters[at + 1 :] else (rest.pop(0) if rest else known(""))
                if letter == "g":
                    use.acts.append(("write", value))
                break
    _tar_acts(use, modes, archive, operands, base, here, state, draft, commands)


_TAR_LONG = {
    "--create": "c", "--extract": "x", "--get": "x", "--list": "t", "--append": "r", "--update": "u", "--diff": "d",
    "--compare": "d", "--catenate": "A", "--concatenate": "A", "--delete": "r",
}  # fmt: skip
_TAR_DANGEROUS = frozenset(
    "--to-command --checkpoint-action --use-compress-program --info-script --new-volume-script --rsh-command "
    "--rmt-command".split()  # noqa: SIM905
)


_TAR_NAMES = (*_TAR_LONG, *_TAR_DANGEROUS, "--file", "--directory", "--files-from", "--exclude-from", "--remove-files")


def _tar_name(name: str) -> str:
    """The long option that a beginning of it stands for; of several, one that runs something."""
    fitting = [full for full in _TAR_NAMES if full.startswith(name)]
    risky = [full for full in fitting if full in _TAR_DANGEROUS]
    return name if name in _TAR_NAMES or not fitting or len(name) < 4 else (risky or fitting)[0]


def _bundled(letters: str) -> bool:
    return bool(re.fullmatch(r"[cxtrudAvzjJapfkOwSZhlmPBsWiC]+", letters))


def _tar_value(
    name: str, value: Word, use: Use, archive: Word | None, here: State, commands: Commands, draft: Draft
) -> tuple[Word | None, State]:
    if name in ("f", "--file"):
        return value, here
    if name in ("C", "--directory"):
        moved = commands.moved(value, here)
        if moved is None:
            draft.say_unread(f"a directory that is not known: {value.why}")
        commands.touch("maybe", value, here, draft)
        return archive, moved or here
    use.acts.append(("read", value))
    if name in ("T", "--files-from"):
        draft.say_unread("names out of a file")
    return archive, here


def _tar_acts(
    use: Use,
    modes: set[str],
    archive: Word | None,
    operands: list[Word],
    base: list[Word],
    here: State,
    state: State,
    draft: Draft,
    commands: Commands,
) -> None:
    writes = modes & {"c", "r", "u", "A"}
    if archive is not None:
        if archive.text is not None and re.match(r"[^/]+:", archive.text):
            use.acts.append(("host", archive))
        else:
            use.acts.append(("write" if writes else "read", archive))
    if "x" in modes:
        commands.touch("unpack", known("."), here, draft)
    elif modes & {"c", "r", "u", "d"}:
        for word in operands:
            commands.touch("move" if "remove" in modes else "below", word, here, draft)


def dd(commands: Commands, use: Use, words: Sequence[Word], state: State, draft: Draft, opened: Opened) -> None:
    """`dd`: `if=` is read and `of=` written."""
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


def revisions(
    commands: Commands, use: Use, words: Sequence[Word], state: State, draft: Draft, opened: Opened
) -> None:
    """git: in `REV:path` the path is read, and what stands behind `--` are paths."""
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
    r"(?:StrictHostKeyChecking|UserKnownHostsFile|GlobalKnownHostsFile|ConnectTimeout|ConnectionAttempts|BatchMode|LogLevel|Port|User|Compression"
    r"|ServerAlive\w+|IdentitiesOnly|PreferredAuthentications|PasswordAuthentication|AddressFamily|Ciphers|MACs"
    r"|HostKeyAlgorithms|TCPKeepAlive|RequestTTY|ForwardAgent|ControlMaster|ControlPersist|ControlPath|IdentityFile)[ =].*",
    re.IGNORECASE,
)


def ssh(commands: Commands, use: Use, words: Sequence[Word], state: State, draft: Draft, opened: Opened) -> None:
    """ssh and scp: an option of `-o` may run a program here."""
    for number, word in enumerate(words):
        text = word.text or ""
        value = text[2:] if text.startswith("-o") and len(text) > 2 else None
        if text == "-o" and number + 1 < len(words):
            value = words[number + 1].text or ""
        if value is not None and not _HARMLESS_SSH.fullmatch(value):
            draft.say_unread("what an option of -o runs")


READERS: Mapping[str, Reader] = {
    "find": find,
    "xargs": xargs,
    "tar": tar,
    "dd": dd,
    "git-rev": revisions,
    "ssh": ssh,
    "sed": scripts.sed,
    "awk": scripts.awk,
}
