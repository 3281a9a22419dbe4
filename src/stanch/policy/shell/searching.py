"""`find` and `xargs`: what they run, and what stands for the names that are found or handed over.

Settles their own languages of words. Does not settle what a name found means as a path (`policy.shell.touching`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from stanch.policy.shell.outcome import Opened
from stanch.policy.shell.pieces import SPLIT, Hole, Lit, Spot, Under, Value, Word, known, split_at, words_of
from stanch.policy.shell.state import State
from stanch.policy.shell.walk import Call

_GLOBAL = re.compile(r"-[HLP]+|-O\d?|-D")
_ACTIONS = frozenset({"-exec", "-execdir", "-ok", "-okdir"})
_WRITES = frozenset({"-fprint", "-fprint0", "-fls", "-fprintf"})
_READS = frozenset({"-newer", "-anewer", "-cnewer", "-samefile"})
_TESTS = frozenset(
    {
        *("-name", "-iname", "-path", "-ipath", "-wholename", "-iwholename", "-regex", "-iregex", "-type", "-xtype"),
        *("-size", "-mtime", "-mmin", "-ctime", "-cmin", "-atime", "-amin", "-user", "-group", "-perm", "-maxdepth"),
        *("-mindepth", "-printf", "-lname", "-ilname", "-links", "-inum", "-fstype", "-uid", "-gid", "-used"),
        *("-newer", "-anewer", "-cnewer", "-samefile", "-regextype", "-context"),
    }
)


def find(call: Call) -> None:
    """`find`: it reads its roots, and `{}` stands for what lies below them."""
    use, draft, state = call.use, call.draft, call.state
    use.acts, use.code, use.inner, use.unread = [], [], None, ""
    rest = list(call.words)
    follows = False
    while rest and _GLOBAL.fullmatch(rest[0].text or ""):
        option = rest.pop(0).text or ""
        follows = follows or "L" in option
        if option == "-D" and rest:
            rest.pop(0)
    roots: list[Word] = []
    while rest and (rest[0].text is None or rest[0].text[:1] not in ("-", "(", "!") or rest[0].text in ("-",)):
        if rest[0].text is None and not rest[0].head and not rest[0].under:
            draft.say_unread(f"a word that may be an option: {rest[0].why}")
        roots.append(rest.pop(0))
    roots = roots or [known(".")]
    follows = follows or any(word.text == "-follow" for word in rest)
    use.acts.extend(("read", root) for root in roots)
    only, files = _only(rest), not follows and _no_links(rest)
    below = Word(None, under=tuple(spot._replace(only=only, files=files) for spot in _spots(roots, state)))
    use.printed = below.under
    place = 0
    while place < len(rest):
        text = rest[place].text
        place += 1
        if text is None:
            if not _is_value(rest, place - 1):
                draft.say_unread(f"a word that may be an option: {rest[place - 1].why}")
        elif text == "-delete":
            use.acts.append(("wipe" if not any(spot.only for spot in below.under) else "write", below))
        elif text in _WRITES:
            use.acts.append(("write", rest[place] if place < len(rest) else known("")))
            place += 1
        elif text == "-files0-from":
            draft.say_unread("roots that stand in a file")
        elif text in _TESTS:
            place += 1
        elif text in _ACTIONS:
            end = next((at for at in range(place, len(rest)) if _ends(rest, at)), len(rest))
            if follows:
                draft.say_unread("files behind links")
            several = end < len(rest) and rest[end].text == "+"
            inner = [_below(word, below._replace(many=several)) for word in rest[place:end]]
            place = end + 1
            if inner:
                _run(call, inner)


def _ends(words: Sequence[Word], at: int) -> bool:
    return words[at].text == ";" or (words[at].text == "+" and words[at - 1].text == "{}")


def _only(tests: Sequence[Word]) -> str:
    """The glob that the name of whatever is found must fit: of a single `-name` that nothing takes back."""
    texts = [word.text for word in tests]
    names = [at for at, text in enumerate(texts) if text in ("-name", "-iname")]
    if len(names) != 1 or {"-o", "-or", "!", "-not", ","} & set(texts) or texts[names[0]] == "-iname":
        return ""
    name = texts[names[0] + 1] if names[0] + 1 < len(texts) else None
    actions = [at for at, text in enumerate(texts) if text in _ACTIONS | _WRITES | {"-delete"}]
    if name is None or any(at < names[0] for at in actions) or (names[0] and texts[names[0] - 1] in _TESTS):
        return ""
    return name if not set(name) & set("[]\\") else ""


def _no_links(tests: Sequence[Word]) -> bool:
    """True where only plain files, or only directories, are found: one `-type` before all else that is done."""
    texts = [word.text for word in tests]
    types = [at for at, text in enumerate(texts) if text == "-type"]
    if len(types) != 1 or {"-o", "-or", "!", "-not", ",", None} & set(texts):
        return False
    at = types[0]
    acts = [place for place, text in enumerate(texts) if text in _ACTIONS | _WRITES | {"-delete", "-print", "-print0"}]
    return (
        texts[at + 1 : at + 2] in (["f"], ["d"])
        and not any(place < at for place in acts)
        and (not at or texts[at - 1] not in _TESTS)
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
        return Word(None, word.text.partition("{}")[0], why="a name made of a name that is found")
    return word


def _spots(roots: Sequence[Word], state: State) -> tuple[Spot, ...]:
    found: list[Spot] = []
    for root in roots:
        if root.text is not None:
            found.append(Spot(root.text, state.cwds))
        found.extend(root.under)
    return tuple(found)


def _run(call: Call, inner: Sequence[Word], stdin: Value | None = None) -> None:
    call.run.simple(list(inner), (), call.state.for_program(), Opened(stdin=stdin))


_MOST_LINES = 8
_XARGS_TAKES = frozenset("IEdLnPsa")
_XARGS_FLAGS = frozenset("0rtpxo")
_XARGS_LONG_TAKES = re.compile(r"--(?:delimiter|max-args|max-procs|max-chars|process-slot-var|arg-file)")
_XARGS_LONG = re.compile(
    r"--(?:null|no-run-if-empty|verbose|interactive|exit|open-tty|show-limits|eof|max-lines|replace)"
)


def xargs(call: Call) -> None:
    """`xargs`: what it runs gets further words from its standard input."""
    use, draft = call.use, call.draft
    use.acts, use.code, use.inner, use.unread = [], [], None, ""
    rest = list(call.words)
    given: dict[str, str | None] = {}
    while rest and (rest[0].text is None or (rest[0].text.startswith("-") and len(rest[0].text) > 1)):
        text = rest.pop(0).text
        if text is None:
            draft.say_unread("an option that is not known")
        elif text == "--":
            break
        elif text.startswith("--"):
            name, mark, value = text.partition("=")
            if _XARGS_LONG_TAKES.fullmatch(name):
                given[name] = value if mark else (rest.pop(0).text if rest else "")
            elif _XARGS_LONG.fullmatch(name):
                given[name] = value
            else:
                draft.say_unread(f"what the option {name} does")
        elif why := _xargs_short(text[1:], rest, given):
            draft.say_unread(why)
    stdin: Value | None = call.opened.stdin
    for name in ("-a", "--arg-file"):
        if name in given:
            path = given[name]
            use.acts.append(("read", known(path) if path is not None else Word(None, why="a file that is not known")))
            stdin = (Hole("what a file holds"),)
    exact = not given.keys().isdisjoint(("-0", "--null", "-d", "--delimiter"))
    if not given.keys().isdisjoint(("-d", "--delimiter", "-E", "--eof")) and stdin and isinstance(stdin[0], Lit):
        stdin = (Hole("what stands on its standard input"),)
    mark_for = next((given[name] or "{}" for name in ("-I", "-i", "--replace") if name in given), None)
    inner = rest or [known("echo")]
    more = _given(stdin, exact, lines=mark_for is not None)
    if mark_for is None:
        _run(call, [*inner, *more])
        return
    for one in more if len(more) <= _MOST_LINES else [Word(None, why="too many lines on its standard input")]:
        _run(call, [_replaced(word, mark_for, one) for word in inner])


def _xargs_short(letters: str, rest: list[Word], given: dict[str, str | None]) -> str:
    """Takes a bundle of short options; says what is not known about it."""
    for at, letter in enumerate(letters):
        behind = letters[at + 1 :]
        if letter in _XARGS_TAKES:
            given["-" + letter] = behind or (rest.pop(0).text if rest else "")
            return "an option that is not known" if given["-" + letter] is None and letter == "I" else ""
        if letter in "iel":
            given["-" + letter] = behind
            return ""
        if letter not in _XARGS_FLAGS:
            return f"what the option -{letter} does"
        given["-" + letter] = ""
    return ""


def _given(stdin: Value | None, exact: bool, *, lines: bool) -> list[Word]:
    """The words that stand on the standard input. `lines`: each line is one."""
    unknown = Word(None, why="what stands on its standard input", many=True)
    if not stdin:
        return [unknown]
    spots = [spot for piece in stdin if isinstance(piece, Under) for spot in piece.spots]
    if spots and all(isinstance(piece, Under) for piece in stdin):
        under = split_at(Under(tuple(spots)), "" if exact else "'\"\\" if lines else " \t'\"\\")
        return [Word(None, under=under.spots, many=not lines)]
    if not all(isinstance(piece, Lit) for piece in stdin):
        return [unknown]
    text = "".join(piece.text for piece in stdin if isinstance(piece, Lit))
    if exact:
        return [known(one) for one in text.removesuffix("\0").split("\0")]
    if set(text) & set("'\"\\\0"):
        return [unknown]
    if lines:
        return [known(line.lstrip(" \t")) for line in text.split("\n") if line.strip(" \t")]
    return [known(word.text or "") for word in words_of((Lit(text, SPLIT),))]


def _replaced(word: Word, mark: str, one: Word) -> Word:
    if word.text is None or mark not in word.text:
        return word
    if one.text is not None:
        return known(word.text.replace(mark, one.text))
    if word.text == mark:
        return one._replace(many=False)
    tail = word.text.removeprefix(mark)
    if one.under and word.text.startswith(mark) and "/" not in tail and mark not in tail:
        return one._replace(many=False)
    return Word(None, word.text.partition(mark)[0], why="what stands on its standard input")
