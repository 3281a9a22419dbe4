"""A template that is filled in: which text it becomes, and which files it names as it goes.

Settles what a template may do, and that it never has the content of another file in its hands: `include` and the like
give a mark, in whose place the content is put afterwards. Does not settle who reads the file (`compile_alone`).
WHY marks: nothing that is written in a template can cut, compare or spell out what it has never seen.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from jinja2 import StrictUndefined, TemplateSyntaxError, UndefinedError
from jinja2.exceptions import SecurityError
from jinja2.sandbox import ImmutableSandboxedEnvironment

MOST_CHARACTERS = 8_000_000
MOST_MARKS = 1_000
_FILE = "<template>"
_GONE = ("lipsum", "cycler", "joiner")
_GONE_FILTERS = ("random", "pprint", "attr")


class Problem(StrEnum):
    """Why nothing was made of a document."""

    SYNTAX = "syntax"
    UNDEFINED = "undefined"
    FORBIDDEN = "forbidden"
    FAILED = "failed"
    TOO_LARGE = "too_large"
    TOO_DEEP = "too_deep"
    TOO_LONG = "too_long"
    NO_PICTURE = "no_picture"
    CANCELLED = "cancelled"
    DAMAGED = "damaged"


class Uncompiled(Exception):
    """Nothing was made of a document. `line` is that of the template, 0 where nobody knows; no content is in it."""

    def __init__(self, problem: Problem, path: str = "", line: int = 0) -> None:
        self.problem, self.path, self.line = problem, path, line
        super().__init__(problem.value)


@dataclass(frozen=True, slots=True)
class Mark:
    """A file that a template names: how it is to be put in, and its path as it was written there."""

    kind: str
    path: str


@dataclass(slots=True)
class Marks:
    """The marks of one document, and of whatever it includes. Nobody can guess how one is written."""

    nonce: str = field(default_factory=lambda: secrets.token_hex(16))
    all: list[Mark] = field(default_factory=list)

    @property
    def pattern(self) -> re.Pattern[str]:
        """What a mark looks like; its group is the number of the mark."""
        return re.compile(rf"Q{self.nonce}m(\d{{1,6}})Z")

    def put(self, kind: str, path: Any) -> str:
        """A new mark, as it stands in the text. Raises `Uncompiled`."""
        if not isinstance(path, str) or len(self.all) >= MOST_MARKS:
            raise Uncompiled(Problem.FAILED if len(self.all) < MOST_MARKS else Problem.TOO_LARGE)
        self.all.append(Mark(kind, path))
        return f"Q{self.nonce}m{len(self.all) - 1}Z"


def filled(source: str, values: Mapping[str, Any], marks: Marks) -> str:
    """The text that a template becomes, with marks in it. Raises `Uncompiled`."""
    environment = ImmutableSandboxedEnvironment(undefined=StrictUndefined, keep_trailing_newline=True)
    for name in _GONE:
        del environment.globals[name]
    for name in _GONE_FILTERS:
        del environment.filters[name]
    functions = {
        name: (lambda path, kind=name: marks.put(kind, path)) for name in ("include", "text", "table", "image")
    }
    made: list[str] = []
    left = MOST_CHARACTERS
    try:
        code = environment.compile(source, filename=_FILE)
        template = environment.template_class.from_code(environment, code, environment.make_globals(functions))
        for piece in template.generate(**values):
            left -= len(piece)
            if left < 0:
                break
            made.append(piece)
    except Uncompiled as why:
        raise Uncompiled(why.problem, line=_line(why)) from None
    except TemplateSyntaxError as why:
        raise Uncompiled(Problem.SYNTAX, line=why.lineno) from None
    except SecurityError as why:
        raise Uncompiled(Problem.FORBIDDEN, line=_line(why)) from None
    except UndefinedError as why:
        raise Uncompiled(Problem.UNDEFINED, line=_line(why)) from None
    except (MemoryError, RecursionError):
        raise Uncompiled(Problem.TOO_LARGE) from None
    except Exception as why:  # whatever a template makes of what it was given
        raise Uncompiled(Problem.FAILED, line=_line(why)) from None
    if left < 0:
        raise Uncompiled(Problem.TOO_LARGE)
    return "".join(made)


def _line(why: BaseException) -> int:
    """The line of the template in which something went wrong, 0 where nobody knows."""
    line, trace = 0, why.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == _FILE:
            line = trace.tb_lineno
        trace = trace.tb_next
    return line
