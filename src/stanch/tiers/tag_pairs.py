"""The tool calls of a conversation, and which of them a result is of.

Settles the directories that each call was made in, and what becomes of ids that stand twice, results before their call
and calls that are not there. Does not settle what a call touches (`tiers.tag_calls`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from stanch.tiers.dialects.arguments import decoded
from stanch.tiers.tag_attached import typed
from stanch.tiers.tag_calls import Origins, Reader
from stanch.tiers.tag_places import Places
from stanch.tiers.tag_shapes import Shapes
from stanch.values.call import Category
from stanch.values.message import Call, Fragment, Message, Opaque, Part, Role, SourceTag, Tags, Text

_RUNNING = (Category.SHELL, Category.SUBAGENT)
Place = tuple[int, int]
"""The number of a message, and that of a part in it."""


class Calls:
    """Every call of a conversation so far with its origins, in order, by its place and by its id."""

    def __init__(self, reader: Reader, shapes: Shapes, cwd: str | None) -> None:
        self.at: dict[Place, Origins] = {}
        self._of: dict[str, tuple[Place, ...]] = {}
        self.bases: list[tuple[str, ...]] = []
        self._last: dict[str, Place] = {}
        self._ran: dict[SourceTag, None] = {}
        self._before: Tags = ()
        self._reader, self._shapes = reader, shapes
        self._places = Places(reader.resolved)
        self._places.start(cwd)

    def copied(self, reader: Reader) -> Calls:
        """The same calls, to be gone on with apart from these, and with another reader."""
        made = Calls(reader, self._shapes, None)
        made.at, made.bases, made._last = dict(self.at), list(self.bases), dict(self._last)
        made._of = dict(self._of)
        made._ran, made._before = dict(self._ran), self._before
        made._places = Places(reader.resolved, self._places.bases, self._places.lost)
        return made

    def more(self, messages: Sequence[Message]) -> None:
        """Takes the next messages of the conversation."""
        for number, message in enumerate(messages, len(self.bases)):
            for at, part in enumerate(message.parts):
                self._read(message, part, (number, at))
            self.bases.append(self._places.bases)

    def _read(self, message: Message, part: Part, place: Place) -> None:
        match part:
            case Text() | Fragment() if message.role in (Role.USER, Role.SYSTEM):
                self._places.heard(part.text, self._shapes, system=message.role is Role.SYSTEM)
                for command in typed(part.text, self._shapes):
                    self._places.ran(command)
            case Call():
                self.at[place] = self._origins(part.tool, part.arguments, server=part.extra.get("type"))
                self._of[part.id] = (*self._of.get(part.id, ()), place)
                other = part.extra.get("id")
                if isinstance(other, str) and other and other != part.id:
                    self._of[other] = (*self._of.get(other, ()), place)
            case Opaque(kind="mcp_call"):
                server, name = part.data.get("server_label"), part.data.get("name")
                self.at[place] = self._origins(f"mcp__{server}__{name}", part.data.get("arguments"))
            case _:
                pass

    def _origins(self, name: str, given: Any, *, server: object = None) -> Origins:
        if server == "server_tool_use":
            return Origins(())  # WHY: the provider runs it, where none of these files are
        arguments = given if isinstance(given, Mapping) else decoded(given) if isinstance(given, str) else None
        if arguments is None:
            arguments = {"input": given} if isinstance(given, str) else {}
        arguments = _usual(str(server), arguments)
        found = self._reader.origins(name, arguments, self._places.bases, self._before)
        tool = self._reader.tools.get(name)
        if tool is not None and tool.category in _RUNNING:
            self._ran.update(dict.fromkeys(found.whole))
            if len(self._ran) != len(self._before):
                self._before = tuple(self._ran)
            shape = self._shapes.of(name)
            command = arguments.get("command")
            if shape is not None and shape.keeps and isinstance(command, str):
                self._places.ran(command)
        return found

    def named(self, ids: Iterable[object], place: Place) -> Tags:
        """The tags of the calls before a place that have one of these ids, all of them."""
        found = [one for name in ids if isinstance(name, str) for one in self._of.get(name, ()) if one < place]
        return tuple(dict.fromkeys(tag for one in found for tag in self.at[one].whole))

    def pairs(self, call_id: str, place: Place) -> list[Origins]:
        """The calls that the next result may be of: those of its id since its last one, else all before, else all.

        Asked for each result once, in the order of the messages.
        """
        places = self._of.get(call_id, ())
        before = [one for one in places if one < place]
        last, self._last[call_id] = self._last.get(call_id), place
        since = [one for one in before if last is None or one > last]
        return [self.at[one] for one in since or before or places]


def _usual(kind: str, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
    """The arguments of a provider's own kind of call, as the tool of the same name is declared to take them."""
    path, commands = arguments.get("path"), arguments.get("commands")
    if kind == "apply_patch_call" and isinstance(path, str):
        return {"input": f"*** Begin Patch\n*** Update File: {path}\n*** End Patch"}
    if kind == "shell_call" and isinstance(commands, list):
        return {**arguments, "command": "\n".join(one for one in commands if isinstance(one, str))}
    return arguments
