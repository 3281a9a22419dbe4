"""The recorded sessions, and broken or hostile variants made from them in code. No session is written by hand."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from stanch.surfaces.replay.asking import Asking, replay, transcripts_of
from stanch.surfaces.replay.detect import read, recognise
from stanch.surfaces.replay.policies import Policies
from stanch.surfaces.replay.records import ReplayCall, Seen, Warned
from stanch.surfaces.replay.report import Report

DATA = Path(__file__).parents[1] / "data" / "sessions"
SAMPLE = Path(__file__).parents[2] / "src" / "stanch" / "surfaces" / "replay" / "sample"

CLAUDE_BASIC = [
    *("Read", "Read", "Read", "Grep", "Glob", "TodoWrite", "Edit", "Write"),
    *("Bash", "Bash", "Bash", "Bash", "Bash", "Read", "Read", "Read", "WebFetch"),
]
CODEX_BASIC = [
    *("exec_command", "exec_command", "exec_command", "apply_patch", "exec_command"),
    *("exec_command", "view_image", "exec_command", "write_stdin"),
]

# What each recorded agent was made to call, in order.
TOOLS = {
    "claude-code-basic.jsonl": CLAUDE_BASIC,
    "claude-code-resumed.jsonl": ["Read", "Read", "Write", "Read"],
    "claude-code-subagent.jsonl": ["Agent", "Agent", "Read", "Read", "Read", "Bash", "Grep", "Read"],
    "claude-code-v1.jsonl": ["Read", "Grep", "Glob", "Task", "Read", "Read", "MultiEdit", "TodoWrite", "Bash", "Write"],
    "codex-basic.jsonl": CODEX_BASIC,
    "codex-code-mode.jsonl": ["exec", "exec_command", "exec_command", "exec", "apply_patch"],
    "codex-resumed.jsonl": ["exec_command"] * 3,
    "codex-v50.jsonl": ["shell", "shell", "update_plan", "apply_patch", "view_image", "shell"],
    "codex-v79.jsonl": ["shell_command", "shell_command", "update_plan", "apply_patch", "view_image", "shell_command"],
    "anthropic-messages.json": CLAUDE_BASIC,
    "openai-chat.json": ["read", "read", "grep", "glob", "bash", "edit", "write", "todowrite", "bash"],
    "openai-responses.json": CODEX_BASIC,
}


def found(path: Path) -> tuple[list[ReplayCall], list[Warned]]:
    """The calls and the warnings of a file."""
    everything = list(read(recognise(path), Seen()))
    calls = [one for one in everything if isinstance(one, ReplayCall)]
    return calls, [one for one in everything if isinstance(one, Warned)]


def tools(path: Path) -> list[str]:
    """The tools of a file's calls, in order."""
    return [call.tool for call in found(path)[0]]


def report_of(*paths: Path, policy: Path | None = None, asking: Asking | None = None) -> Report:
    """The report of some files."""
    transcripts, _ = transcripts_of(paths)
    return replay(transcripts, Policies(policy), asking or Asking())


def lines(name: str) -> list[str]:
    """The lines of a recorded file."""
    return (DATA / name).read_text("utf-8").splitlines()


def records(name: str) -> list[dict[str, Any]]:
    """The records of a recorded file."""
    return [json.loads(line) for line in lines(name)]


def write(path: Path, values: list[Any]) -> Path:
    """A file with one record to a line; a string is written as it is."""
    text = "\n".join(value if isinstance(value, str) else json.dumps(value) for value in values)
    path.write_text(text + "\n", "utf-8")
    return path


def call_blocks(value: Any) -> Iterator[dict[str, Any]]:
    """Every block in a record that stands for a call, to be changed in place."""
    if isinstance(value, dict):
        if value.get("type") in ("tool_use", "function_call", "custom_tool_call"):
            yield value
        for below in value.values():
            yield from call_blocks(below)
    elif isinstance(value, list):
        for below in value:
            yield from call_blocks(below)


def changed(name: str, change: Callable[[dict[str, Any]], None]) -> list[dict[str, Any]]:
    """The records of a recorded file with every call block changed."""
    whole = records(name)
    for record in whole:
        for block in call_blocks(record):
            change(block)
    return whole
