"""The languages of sed and awk, as far as it matters whether a script touches files or runs programs.

Settles which scripts only look at text. A script that cannot be followed is unread.
"""

from __future__ import annotations

import re

from stanch.policy.shell.pieces import known
from stanch.policy.shell.walk import Call


def sed(call: Call) -> None:
    """sed: `w` and `r` name files, `e` runs programs; all else only looks at text."""
    use, draft = call.use, call.draft
    scripts = list(use.patterns)
    operands = list(use.operands)
    given = "pattern" in use.flags
    if "patterns" in use.flags:
        draft.say_unread("a script that stands in a file")
    files = operands if given else operands[1:]
    if not given:
        scripts = operands[:1]
    touched = {id(word) for word in operands}
    use.acts = [(kind, word) for kind, word in use.acts if id(word) not in touched]
    use.acts.extend(("both" if "edit" in use.flags else "read", word) for word in files)
    for script in scripts:
        if script.text is None:
            draft.say_unread(f"a script that is not known: {script.why}")
            continue
        try:
            use.acts.extend((kind, known(path)) for kind, path in sed_files(script.text))
        except ValueError as why:
            draft.say_unread(str(why))


_BRACKETS = re.compile(r"\[\^?\]?(?:\[[:.=][^\]]*[:.=]\]|[^\]\n\[]|\[(?![:.=]))*\]")
_ADDRESS = re.compile(r"\d+(?:~\d+)?|\$|[+~]\d+")


def sed_files(script: str) -> list[tuple[str, str]]:
    """The files that a sed script reads and writes: `("read", path)`. Raises `ValueError` where it runs programs or
    cannot be followed.
    """
    found: list[tuple[str, str]] = []
    at, size = 0, len(script)
    while at < size:
        char = script[at]
        if char in " \t\n;{}!":
            at += 1
        elif char == "#":
            at = _line_end(script, at)
        elif char == ",":
            at += 1
        elif match := _ADDRESS.match(script, at):
            at = match.end()
        elif char in "/\\":
            start = at + (2 if char == "\\" else 1)
            at = _closing(script, start, script[start - 1])
            while at < size and script[at] in "IM":
                at += 1
        elif char in "=dDgGhHnNpPxzF":
            at += 1
        elif char in "qQlL":
            at += 1
            while at < size and (script[at].isdigit() or script[at] == " "):
                at += 1
        elif char == "s":
            at = _substitution(script, at, found)
        elif char == "y":
            mark = script[at + 1 : at + 2]
            at = _closing(script, _closing(script, at + 2, mark, pattern=False), mark, pattern=False)
        elif char in "aic":
            at = _text_end(script, at + 1)
        elif char in ":btT":
            at = _label_end(script, at + 1)
        elif char in "rRwW":
            end = _line_end(script, at)
            found.append(("read" if char in "rR" else "write", script[at + 1 : end].strip()))
            at = end
        elif char == "v":
            at = _label_end(script, at + 1)
        else:
            raise ValueError(
                "a sed script that runs programs" if char == "e" else "a sed script that cannot be followed"
            )
    return [(kind, path) for kind, path in found if path not in ("/dev/stdout", "/dev/stderr", "/dev/stdin")]


def _line_end(script: str, at: int) -> int:
    end = script.find("\n", at)
    return len(script) if end < 0 else end


def _label_end(script: str, at: int) -> int:
    while at < len(script) and script[at] not in "\n;}":
        at += 1
    return at


def _text_end(script: str, at: int) -> int:
    """The end of the text of `a`, `i` and `c`: the line's, unless a backslash stands before it."""
    while True:
        end = _line_end(script, at)
        if end >= len(script) or script[end - 1 : end] != "\\":
            return end
        at = end + 1


def _closing(script: str, at: int, mark: str, *, pattern: bool = True) -> int:
    """The place behind the next mark that no backslash stands before; in a pattern, outside brackets."""
    if not mark or mark in "\n\\[":
        raise ValueError("a sed script that cannot be followed")
    while at < len(script):
        if script[at] == "\\":
            at += 2
        elif pattern and script[at] == "[":
            found = _BRACKETS.match(script, at)
            if found is None:
                raise ValueError("a sed script that cannot be followed")
            at = found.end()
        elif script[at] == mark:
            return at + 1
        else:
            at += 1
    raise ValueError("a sed script that cannot be followed")


def _substitution(script: str, at: int, found: list[tuple[str, str]]) -> int:
    mark = script[at + 1 : at + 2]
    at = _closing(script, _closing(script, at + 2, mark), mark, pattern=False)
    while at < len(script) and script[at] not in " \t\n;}#":
        flag = script[at]
        at += 1
        if flag == "w":
            end = _line_end(script, at)
            found.append(("write", script[at:end].strip()))
            return end
        if flag == "e":
            raise ValueError("a sed script that runs programs")
        if flag not in "gpiImM0123456789":
            raise ValueError("a sed script that cannot be followed")
    return at


def awk(call: Call) -> None:
    """awk: a script that only prints to its output looks at text; any other is unread."""
    use, draft = call.use, call.draft
    operands = list(use.operands)
    touched = {id(word) for word in operands}
    use.acts = [(kind, word) for kind, word in use.acts if id(word) not in touched]
    from_file = "patterns" in use.flags
    files = operands if from_file else operands[1:]
    use.acts.extend(("read", word) for word in files if not _ASSIGN.match(word.text or ""))
    if from_file:
        draft.say_unread("a script that stands in a file")
        return
    if not operands:
        return
    script = operands[0]
    if script.text is None:
        draft.say_unread(f"a script that is not known: {script.why}")
    elif why := awk_does(script.text):
        draft.say_unread(why)


_ASSIGN = re.compile(r"[A-Za-z_]\w*=")
_RUNS = re.compile(r"\b(?:system|getline|ARGV|ARGC|PROCINFO|close|ENVIRON)\b|@|\|&")
_PRINT = re.compile(r"\bprintf?\b([^;}\n]*)")


def awk_does(script: str) -> str:
    """What an awk script does besides looking at its input; "" for one that only prints."""
    code = _without_texts(script)
    if code is None:
        return "an awk script that cannot be followed"
    match = _RUNS.search(code)
    if match is not None:
        return "an awk script that runs programs or opens files"
    if re.search(r"(?<!\|)\|(?!\|)", code):
        return "an awk script that runs programs or opens files"
    for found in _PRINT.finditer(code):
        if ">" in _outside_brackets(found[1]):
            return "an awk script that writes files"
    return ""


def _outside_brackets(text: str) -> str:
    depth, kept = 0, []
    for char in text:
        depth += (char == "(") - (char == ")")
        if depth <= 0 and char not in "()":
            kept.append(char)
    return "".join(kept)


def _without_texts(script: str) -> str | None:
    """The script with its strings, regular expressions and comments taken out; None where one does not end."""
    kept: list[str] = []
    at, size, last = 0, len(script), ""
    while at < size:
        char = script[at]
        if char == "#":
            at = _line_end(script, at)
            continue
        if char == '"' or (char == "/" and (not last or last in "(,!~&|{};\n:?")):
            end = at + 1
            while end < size and script[end] != char:
                if script[end] == "\n":
                    return None
                end += 2 if script[end] == "\\" else 1
            if end >= size:
                return None
            kept.append(" S ")
            last = "S"
            at = end + 1
            continue
        kept.append(char)
        if not char.isspace() or char == "\n":
            last = char
        at += 1
    return "".join(kept)
