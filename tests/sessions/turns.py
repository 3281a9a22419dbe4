"""What a recording is made of: a session, and the parts of its scripted model's answers."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

Json = dict[str, Any]
ROOT = "/repo/app"


@dataclass(frozen=True)
class Thought:
    """Reasoning that the model shows before it acts."""

    text: str


@dataclass(frozen=True)
class Text:
    """What the model says."""

    text: str


@dataclass(frozen=True)
class Call:
    """A tool call; a compiled pattern among the arguments stands for the number it last matched in the conversation."""

    tool: str
    arguments: Mapping[str, Any]


@dataclass(frozen=True)
class FreeformCall:
    """A call of a tool that takes one text instead of arguments (OpenAI responses only)."""

    tool: str
    text: str


Block = Thought | Text | Call | FreeformCall
Turn = tuple[Block, ...]
Script = Mapping[str, list[Turn]]


@dataclass(frozen=True)
class Session:
    """One recording: the agent and which of its binaries, its command lines in order, and its model's script."""

    name: str
    agent: str
    binary: str
    commands: list[list[str]]
    script: Script
    messages: str = ""
    """A name under which to keep the messages of the last request; for an agent without session files, all there is."""
