"""The cheapest exact test for each pattern of the workload, worked out once so that every rival is treated alike.

A rival is given a path with a slash added at its end (and "" where a call has none). A literal directory then is one
prefix test that also covers the directory itself, an exact file one equality, `/**/name` one substring test, and
`/**/name.ext` one suffix test. That files have dots in their names and directories have none makes these exact.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from bench.workload import BenchCall


@dataclass(frozen=True, slots=True)
class Form:
    """A test of one string: `start` and `end` are what it begins and ends with, or `start` is what it holds or is.

    `ends` with `flat` set also wants no slash between the two, but for a last one that `end` holds.
    """

    kind: Literal["any", "equal", "prefix", "suffix", "contains", "ends"]
    start: str = ""
    end: str = ""
    flat: bool = False

    def expression(self) -> str:
        """The same test as a regular expression, to be matched at the start of the string."""
        start, end = re.escape(self.start), re.escape(self.end)
        return {
            "any": "",
            "equal": f"{start}$",
            "prefix": start,
            "suffix": f".*{end}$",
            "contains": f".*{start}",
            "ends": f"{start}{'[^/]*' if self.flat else '.*'}{end}$",
        }[self.kind]

    def test(self) -> Callable[[str], bool]:
        """The same test as a Python callable."""
        start, end = self.start, self.end
        if self.kind == "any":
            return lambda _: True
        if self.kind == "equal":
            return start.__eq__
        if self.kind == "prefix":
            return lambda text: text.startswith(start)
        if self.kind == "suffix":
            return lambda text: text.endswith(end)
        if self.kind == "contains":
            return lambda text: start in text
        if self.flat:
            size, tail = len(start), -len(end)
            return lambda text: text.startswith(start) and text.endswith(end) and "/" not in text[size:tail]
        return lambda text: text.startswith(start) and text.endswith(end)


def tool_form(pattern: str) -> Form:
    """A tool pattern: a name, or a glob with one `*`. No tool is so short that the parts before and after overlap."""
    if "*" not in pattern:
        return Form("equal", pattern)
    start, _, end = pattern.partition("*")
    if start and end:
        return Form("ends", start, end)
    if end:
        return Form("suffix", end=end)
    return Form("prefix", start) if start else Form("any")


def path_form(pattern: str) -> Form:
    """A path pattern of the workload, to be held against `slashed(call)`."""
    head, _, last = pattern.rpartition("/")
    if head == "/**":
        return Form("suffix", end=f"/{last}/") if "." in last else Form("contains", f"/{last}/")
    if "*" not in pattern:
        return Form("equal" if "." in last else "prefix", f"{pattern}/")
    start, _, end = last.partition("*")
    if "**" in pattern or "*" in head or "*" in end or "?" in pattern or (start and end):
        raise ValueError(f"not a pattern of the workload: {pattern}")
    return Form("ends", f"{head}/", f"{end}/", flat=True) if end else Form("prefix", f"{head}/{start}")


def slashed(call: BenchCall) -> str:
    """The call's path with a slash at its end, "" if it has none."""
    return "" if call[4] is None else call[4] + "/"
