"""Jobs for the file tools, as the gate makes them: stamps of a judged call, and a reader that asks a real engine."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import stanch
from stanch.runtime.builtin.tools import FILE_TOOLS
from stanch.runtime.tool import Job, Output, Reader
from stanch.values.call import Stamp
from stanch.values.decision import Effect

POLICY = """version = 1
workspace = "../repo"
[[groups]]
id = "default"
[[groups.rules]]
tool = "@read"
path = "/**/secrets"
action = "deny"
mandatory = true
[[groups.rules]]
tool = "@read"
path = "**/*.key"
action = "deny"
[[groups.rules]]
tool = "@read"
path = "private/open"
action = "allow"
[[groups.rules]]
tool = "@read"
path = "private"
action = "deny"
[[groups.rules]]
tool = "*"
path = "."
action = "allow"
"""
RUN = {tool.name: tool.run for tool in FILE_TOOLS}


class Repository:
    """A workspace under a policy, and the built-in tools at work in it."""

    def __init__(self, root: Path) -> None:
        self.path = Path(os.path.realpath(root)) / "repo"
        self.path.mkdir()
        conf = root / "conf"
        conf.mkdir()
        (conf / "stanch.toml").write_text(POLICY, "utf-8")
        self.session = stanch.open(conf / "stanch.toml").session()
        self.cancelled = threading.Event()
        self.asked: list[str] = []

    def write(self, name: str, content: str | bytes = "x\n") -> Path:
        """A file, with the directories it lies in."""
        file = self.path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content.encode() if isinstance(content, str) else content)
        return file

    def reader(self, path: str) -> Stamp | None:
        """As the engine answers for reading the path."""
        self.asked.append(path)
        decision = self.session.check("read_file", {"path": path})
        stamp = decision.call.effects[0].stamp
        return stamp if decision.effect is Effect.ALLOW else None

    def job(self, tool: str, /, *readers: Reader, **arguments: Any) -> Job:
        """The job of a call that the gate lets through, with the reader of this repository or another one."""
        decision = self.session.check(tool, arguments)
        assert decision.effect is Effect.ALLOW, decision.reason
        stamps = {effect.argument: effect.stamp for effect in decision.call.effects if effect.stamp is not None}
        return Job(tool, arguments, stamps, str(self.path), readers[0] if readers else self.reader, self.cancelled)

    def run(self, tool: str, /, *readers: Reader, **arguments: Any) -> Output:
        """What the tool gives back; every span lies in the text."""
        return checked(RUN[tool](self.job(tool, *readers, **arguments)))


def checked(output: Output) -> Output:
    """The output, once its tags were looked at: each has a span inside of the text, and none overlaps another."""
    at = 0
    for tag in output.tags:
        assert tag.span is not None
        assert at <= tag.span[0] < tag.span[1] <= len(output.text)
        at = tag.span[1]
    return output


def pieces(output: Output) -> list[tuple[str, str]]:
    """Each tag's path with the text of its span."""
    return [(tag.name, output.text[slice(*(tag.span or (0, 0)))]) for tag in output.tags]


def after(reader: Reader, then: Callable[[], None], when: str) -> Reader:
    """The same reader, which does something once it has answered for a path that ends so, as a racing process may."""

    def asked(path: str, /) -> Stamp | None:
        stamp = reader(path)
        if path.endswith(when):
            then()
        return stamp

    return asked
