"""Cuts the agents' own prompts out of what they wrote, leaving every record and its structure in place.

A prompt is cut by where it stands, never by a guess at its words: the listed places hold the agent's instructions,
tool descriptions and reminders. Inside such a place only texts of several words go; names, ids and paths stay. The name
of the machine's kernel goes too.
"""

import json
import re
from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Any

CUT = "[cut]"
WORDS = 6
REMINDERS = {
    "system-reminder": re.compile(r"(?<=<system-reminder>).*?(?=</system-reminder>)", re.DOTALL),
    "INSTRUCTIONS": re.compile(r"(?<=<INSTRUCTIONS>).*?(?=</INSTRUCTIONS>)", re.DOTALL),
}
CARRIES_A_FILE = re.compile(r"\s*(Called|Result of calling) the \w+ tool")

CLAUDE_ATTACHMENTS = {
    "agent_listing_delta",
    "auto_mode",
    "deferred_tools_delta",
    "environment",
    "model",
    "prompt_snapshot",
    "remote_session_change",
    "skill_listing",
}
MACHINE = {"osVersion"}
CODEX_PLACES = {
    "additional_tools",
    "base_instructions",
    "instructions",
    "tool_search_output",
    "turn_context",
    "world_state",
}


class Cutter:
    """Cuts prompts and counts what it cut, by place."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()

    def jsonl(self, text: str) -> str:
        """Cut a JSONL file; a line that holds no prompt stays byte for byte what it was."""
        lines = []
        for line in text.splitlines():
            before = json.loads(line)
            after = self.value(before, str(before.get("type")))
            lines.append(line if after == before else json.dumps(after, ensure_ascii=False, separators=(",", ":")))
        return "\n".join(lines) + ("\n" if text.endswith("\n") else "")

    def value(self, value: Any, place: str) -> Any:
        """Cut the prompts in one JSON value; `place` names it in the account of what was cut."""
        match value:
            case dict() if _is_prompt(value):
                return self._empty(value, f"{place}/{_kind(value)}")
            case dict():
                return {key: self._member(key, item, place) for key, item in value.items()}
            case list():
                return [self.value(item, place) for item in value]
            case str():
                return self._reminders(value, place)
        return value

    def _member(self, key: str, value: Any, place: str) -> Any:
        if key in CODEX_PLACES:
            return self._empty(value, f"{place}/{key}")
        return self.value(value, place)

    def _empty(self, value: Any, place: str) -> Any:
        """Replace every text of several words below `value`."""
        emptied = _each_text(value, lambda text: self._drop(text, place))
        return _each_member(emptied, MACHINE, lambda key: self._machine(f"{place}/{key}"))

    def _drop(self, text: str, place: str) -> str:
        if len(text.split()) < WORDS or text.startswith("<environment_context>"):
            return text
        self.counts[place] += 1
        return CUT

    def _machine(self, place: str) -> str:
        self.counts[place] += 1
        return CUT

    def _reminders(self, text: str, place: str) -> str:
        """Cut the reminders in a text, but for those by which the agent hands its model a file."""

        def changed(tag: str, found: re.Match[str]) -> str:
            return found[0] if CARRIES_A_FILE.match(found[0]) else self._drop(found[0], f"{place}/{tag}")

        for tag, pattern in REMINDERS.items():
            text = pattern.sub(partial(changed, tag), text)
        return text


def _each_text(value: Any, change: Callable[[str], str]) -> Any:
    if isinstance(value, dict):
        return {key: _each_text(item, change) for key, item in value.items()}
    if isinstance(value, list):
        return [_each_text(item, change) for item in value]
    return change(value) if isinstance(value, str) else value


def _each_member(value: Any, keys: set[str], change: Callable[[str], str]) -> Any:
    if isinstance(value, dict):
        return {key: change(key) if key in keys else _each_member(item, keys, change) for key, item in value.items()}
    if isinstance(value, list):
        return [_each_member(item, keys, change) for item in value]
    return value


def _is_prompt(record: dict[str, Any]) -> bool:
    kind = record.get("type")
    attachment = record.get("attachment")
    return (
        record.get("role") in {"developer", "system"}
        or kind in CODEX_PLACES
        or kind == "api-request-shape"
        or (isinstance(attachment, dict) and attachment.get("type") in CLAUDE_ATTACHMENTS)
    )


def _kind(record: dict[str, Any]) -> str:
    attachment = record.get("attachment")
    if isinstance(attachment, dict):
        return str(attachment.get("type"))
    return str(record.get("role") or record.get("type"))
