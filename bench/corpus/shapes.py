"""The shape of a shell command: what is left of it when every operand is a placeholder.

The benign corpus promises that no two of its commands differ only in an operand. This module settles what that
means. In a shape:

- program names, subcommands, option names, operators, keywords and the names of assigned variables stay;
- file names, patterns, messages, numbers, URLs, values of options and redirection targets become ``_``;
- a run of operands is one ``_``, so a command is not a new one because it names one more file;
- ``--opt=value`` is ``--opt=``, ``-20`` is ``-N`` and ``-n20`` is ``-nN``;
- a quoted word is an operand like any other, but a ``$(...)`` inside it is structure and stays;
- a program given by a path stays by its last part when it is a known program, else it is ``./_`` and its extension;
- the text of a here-document is an operand.

A word without a leading ``-`` is a subcommand only when :data:`SUBCOMMANDS` lists it for its program.
"""

import re
import shlex
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

__all__ = ["GLUED", "MANY_TARGETS", "NAMED_PROGRAMS", "SUBCOMMANDS", "duplicates", "shape"]


def _table(text: str) -> dict[str, frozenset[str]]:
    found: dict[str, frozenset[str]] = {}
    for line in text.strip().replace("\n  ", " ").splitlines():
        if line.startswith("#"):
            continue
        name, _, words = line.partition(": ")
        groups = [found[word] if word.startswith("%") else frozenset({word}) for word in words.split()]
        found[name] = frozenset[str]().union(*groups)
    return found


_WORDS: Final = _table((Path(__file__).parent / "words.txt").read_text(encoding="utf-8"))
SUBCOMMANDS: Final = {name: words for name, words in _WORDS.items() if not name.startswith("%")}
# Programs whose every operand may be a target, so that a subcommand may follow another.
MANY_TARGETS: Final = _WORDS["%many"]
# Programs without subcommands that are known by their last part when a path or ``python -m`` names them.
NAMED_PROGRAMS: Final = _WORDS["%named"]
# Program -> options whose value is written on to them without a space.
_COMPILER: Final = ("-D", "-I", "-L", "-l", "-U", "-MF")
GLUED: Final[dict[str, tuple[str, ...]]] = {
    "awk": ("-F", "-v"),
    "c++": _COMPILER,
    "cc": _COMPILER,
    "clang": _COMPILER,
    "clang++": _COMPILER,
    "cmake": ("-D", "-U", "-S", "-B", "-G"),
    "cut": ("-d", "-f", "-c", "-b"),
    "g++": _COMPILER,
    "gcc": _COMPILER,
    "git": ("-L", "-S", "-G", "-X"),
    "gradle": ("-P", "-D"),
    "gradlew": ("-P", "-D"),
    "java": ("-D", "-X"),
    "javac": ("-A", "-J", "-X"),
    "ld": ("-L", "-l"),
    "m4": ("-D", "-I"),
    "mvn": ("-D", "-P"),
    "mvnw": ("-D", "-P"),
    "php": ("-d",),
    "perl": ("-I",),
    "protoc": ("-I",),
    "ruby": ("-I", "-r"),
    "sort": ("-k", "-t", "-S"),
    "xargs": ("-I", "-d"),
    "xxd": ("-s", "-l"),
}

OPERAND: Final = "_"
_SUBST: Final = "\x01"
_QUOTED: Final = "\x02"
_ENCODE: Final = {">": "\x03", "<": "\x04", "&": "\x05", "|": "\x06"}
_DECODE: Final = {code: char for char, code in _ENCODE.items()}
_REDIRECT: Final = re.compile(r"(?:(?<![\w./-])(\d)|(&))?(>>|>\||>|<<<|<<-?|<>|<)(&(?:\d+|-)?)?")
_HEREDOC: Final = re.compile(r"(?<!<)<<(-?)[ \t]*(['\"\\]?)([A-Za-z_]\w*)['\"]?")
_ASSIGN: Final = re.compile(r"([A-Za-z_]\w*)\+?=")
_OPERATOR: Final = re.compile(r"\|\||&&|;;|\|&|[();|&\n]")
_OPENERS: Final = frozenset({"if", "then", "elif", "else", "while", "until", "do", "!", "{", "time"})
_CLOSERS: Final = frozenset({"fi", "done", "}", "esac"})
# Program -> (options that take the next word, operands that stand before the program it starts).
_WRAPPERS: Final[dict[str, tuple[frozenset[str], int]]] = {
    "command": (frozenset(), 0),
    "env": (frozenset({"-u", "-C", "--unset", "--chdir"}), 0),
    "exec": (frozenset(), 0),
    "ionice": (frozenset({"-c", "-n"}), 0),
    "nice": (frozenset({"-n"}), 0),
    "nohup": (frozenset(), 0),
    "parallel": (frozenset({"-j", "-P"}), 0),
    "setsid": (frozenset(), 0),
    "stdbuf": (frozenset({"-o", "-e", "-i"}), 0),
    "sudo": (frozenset({"-u", "-g"}), 0),
    "timeout": (frozenset({"-s", "-k"}), 1),
    "xargs": (frozenset({"-n", "-I", "-P", "-L", "-d", "-a", "-s", "-E"}), 0),
}
# Program -> options whose next word is a program.
_STARTERS: Final = {
    "fd": frozenset({"-x", "-X", "--exec", "--exec-batch"}),
    "fdfind": frozenset({"-x", "-X", "--exec", "--exec-batch"}),
    "find": frozenset({"-exec", "-execdir", "-ok", "-okdir"}),
}
_MODULE_RUNNERS: Final = frozenset({"python", "python3", "python3.11", "python3.12", "python3.13"})


@dataclass(slots=True)
class _State:
    """Where in a simple command the next word stands."""

    program: str = ""
    chain: str = ""
    at_program: bool = True
    module_next: bool = False
    wrapped: tuple[frozenset[str], int] | None = None
    skip: int = 0
    target_next: bool = False
    closer: str = ""


@dataclass(slots=True)
class _Shaper:
    """Collects the parts of one shape."""

    parts: list[str] = field(default_factory=list)
    stack: list[_State] = field(default_factory=list)
    state: _State = field(default_factory=_State)

    def operand(self) -> None:
        if not self.parts or self.parts[-1] != OPERAND:
            self.parts.append(OPERAND)

    def keep(self, part: str) -> None:
        self.parts.append(part)


def duplicates(commands: Iterable[str]) -> list[tuple[str, str]]:
    """Each command whose shape an earlier one has, as (earlier, later)."""
    seen: dict[str, str] = {}
    found: list[tuple[str, str]] = []
    for command in commands:
        key = shape(command)
        if key in seen:
            found.append((seen[key], command))
        else:
            seen[key] = command
    return found


def shape(command: str) -> str:
    """The command with every operand replaced by ``_``."""
    shaper = _Shaper()
    for token in _tokens(command):
        if _OPERATOR.fullmatch(token):
            _operator(shaper, token)
        elif token == _SUBST:
            shaper.keep("$(")
            shaper.state.at_program = shaper.state.at_program and shaper.state.skip == 0
            shaper.stack.append(shaper.state)
            shaper.state = _State(closer=")")
        elif token[0] in _DECODE or (token[0].isdigit() and token[1:2] in _DECODE):
            shaper.keep("".join(_DECODE.get(char, char) for char in token))
            shaper.state.target_next = not re.fullmatch(r".*&(\d+|-)", shaper.parts[-1])
        else:
            _word(shaper, token)
    return " ".join(shaper.parts)


def _operator(shaper: _Shaper, token: str) -> None:
    if token == "(":
        shaper.keep("(")
        shaper.stack.append(shaper.state)
        shaper.state = _State(closer=")")
        return
    if token == ")" and shaper.stack:
        shaper.keep(")")
        shaper.state = shaper.stack.pop()
        shaper.state.at_program = False
        shaper.state.target_next = False
        return
    part = ";" if token == "\n" else token
    if part == ";" and (not shaper.parts or shaper.parts[-1] in {";", "&&", "||", "|", "do", "then", "else"}):
        return
    shaper.keep(part)
    shaper.state = _State(closer=shaper.state.closer)


def _word(shaper: _Shaper, token: str) -> None:
    state = shaper.state
    if state.target_next:
        state.target_next = False
        shaper.operand()
    elif state.skip and not token.startswith("-"):
        state.skip -= 1
        shaper.operand()
    elif state.at_program:
        _at_program(shaper, token)
    elif state.module_next:
        state.module_next = False
        state.program = state.chain = token
        if token in NAMED_PROGRAMS or token in SUBCOMMANDS:
            shaper.keep(token)
        else:
            shaper.operand()
    elif token.startswith("-"):
        shaper.keep(_option(state.program, token))
        state.at_program = token in _STARTERS.get(state.program, frozenset())
        state.module_next = token == "-m" and state.program in _MODULE_RUNNERS
    elif state.program == "for" and token == "in":
        shaper.keep("in")
    elif token in SUBCOMMANDS.get(state.chain, frozenset()):
        shaper.keep(token)
        if state.program not in MANY_TARGETS:
            state.chain = f"{state.chain} {token}"
    elif token == "]]":
        shaper.keep(token)
    else:
        shaper.operand()


def _at_program(shaper: _Shaper, token: str) -> None:
    state = shaper.state
    assigned = _ASSIGN.match(token)
    if assigned:
        shaper.keep(f"{assigned[1]}=")
        return
    if state.wrapped is not None and token.startswith("-"):
        shaper.keep(_option(state.program, token))
        state.skip = state.skip + 1 if token in state.wrapped[0] else state.skip
        return
    if token in _OPENERS:
        shaper.keep(token)
        return
    state.at_program = token in _WRAPPERS
    state.program = _program(token)
    state.chain = state.program.rpartition("/")[2]
    shaper.keep(state.program)
    if token in _CLOSERS or token not in _WRAPPERS:
        state.wrapped = None
        return
    state.wrapped = _WRAPPERS[token]
    state.skip = state.wrapped[1]


def _program(token: str) -> str:
    if "$" in token or _QUOTED in token:
        return OPERAND
    if "/" not in token:
        return token
    name = token.rpartition("/")[2]
    if name in SUBCOMMANDS or name in NAMED_PROGRAMS:
        return f"./{name}"
    extension = re.search(r"\.[a-z]+$", name)
    return f"./_{extension[0] if extension else ''}"


def _option(program: str, token: str) -> str:
    name = program.rpartition("/")[2]
    for prefix in GLUED.get(name, ()):
        if token.startswith(prefix) and not token.startswith("--"):
            return prefix if token == prefix else f"{prefix}{OPERAND}"
    if _QUOTED in token and "=" not in token:
        return token.split(_QUOTED, 1)[0] + OPERAND
    option, equals, _ = token.partition("=")
    if not option.startswith("--"):
        option = re.sub(r"\d+", "N", option)
    return option + equals


def _tokens(command: str) -> list[str]:
    plain = _plain(_without_heredocs(command))
    lexer = shlex.shlex(_REDIRECT.sub(_encoded, plain), posix=True, punctuation_chars="();|&\n")
    lexer.whitespace = " \t"
    lexer.whitespace_split = True
    lexer.commenters = lexer.quotes = lexer.escape = ""
    tokens: list[str] = []
    for token in lexer:
        tokens.extend(_OPERATOR.findall(token) if _OPERATOR.match(token) else [token])
    while tokens and tokens[-1] == "\n":
        tokens.pop()
    return tokens


def _encoded(match: re.Match[str]) -> str:
    return " " + "".join(_ENCODE.get(char, char) for char in match[0]) + " "


def _without_heredocs(command: str) -> str:
    kept: list[str] = []
    waiting: list[tuple[str, bool]] = []
    for line in command.split("\n"):
        if waiting:
            word, tabs = waiting[0]
            if (line.lstrip("\t") if tabs else line) == word:
                waiting.pop(0)
            continue
        waiting = [(found[3], found[1] == "-") for found in _HEREDOC.finditer(line)]
        kept.append(line)
    return "\n".join(kept)


def _plain(text: str) -> str:
    """The text with quotes and escapes replaced by a mark and each ``$(`` by one of its own."""
    out: list[str] = []
    opened: list[str] = []
    at = 0
    while at < len(text):
        char = text[at]
        quoted = bool(opened) and opened[-1] == '"'
        if char == "\\" and text[at + 1 : at + 2] == "\n":
            out.append(" ")
            at += 2
        elif char == "\\":
            out.append(_QUOTED)
            at += 2
        elif char == "'" and not quoted:
            end = text.find("'", at + 1)
            out.append(_QUOTED)
            at = len(text) if end < 0 else end + 1
        elif char == '"':
            if quoted:
                opened.pop()
            else:
                opened.append('"')
            out.append(_QUOTED)
            at += 1
        elif text.startswith("$((", at):
            end = text.find("))", at)
            out.append(_QUOTED)
            at = len(text) if end < 0 else end + 2
        elif text.startswith("$(", at):
            opened.append(")")
            out.append(f" {_SUBST} ")
            at += 2
        elif char == "`":
            end = text.find("`", at + 1)
            out.append(_QUOTED)
            at = len(text) if end < 0 else end + 1
        elif quoted:
            out.append(_QUOTED)
            at += 1
        else:
            if char == "(":
                opened.append("(")
            elif char == ")" and opened:
                opened.pop()
            out.append(f" {char} " if char == ")" else char)
            at += 1
    return "".join(out)
