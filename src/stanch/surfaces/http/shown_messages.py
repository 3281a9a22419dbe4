"""What answers about conversations hold: messages in Stanch's own shape, each with its place, and the turns of agents.

Settles the description and the keys beside a message's own. Does not settle the shape of a message
(`tiers.dialects.ours`): it is shown as it is written there, and a key that says nothing is left out.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import Field

from stanch.app.told_records import TellsRecords
from stanch.surfaces.http.shown import BrokenShown, Shown, Word
from stanch.tiers.dialects.ours import write_message
from stanch.values.records import Broken
from stanch.values.turn import MessageRecord, TurnRecord


class TagShown(Shown):
    """Where a piece came from: a path, a directory with what is below it, an item, or a path that nobody can read."""

    name: str
    origin: Literal["path", "subtree", "item", "unknown"] = "path"
    span: list[int] = Field(default=[], description="The characters that it is about; left out for all of them.")
    below: list[str] = Field(default=[])
    all_below: bool = True


class PartShown(Shown):
    """A part of a message."""

    tags: list[TagShown] = Field(default=[])
    extra: dict[str, Any] = Field(default={}, description="What its writer's own format says of it besides.")


class TextShown(PartShown):
    """Words."""

    type: Literal["text"]
    text: str


class ReasoningShown(PartShown):
    """What a model thought, with its provider's proof."""

    type: Literal["reasoning"]
    text: str
    signature: str | None = None


class FragmentShown(PartShown):
    """A piece of what a system says to a model."""

    type: Literal["fragment"]
    text: str
    name: str = ""


class FileShown(PartShown):
    """An image or another file: its bytes as base64 in `data`, or where it can be had."""

    type: Literal["file"]
    media_type: str
    data: str | None = None
    url: str | None = None
    name: str | None = None


class OpaqueShown(PartShown):
    """A block of a kind that Stanch does not know, as it came."""

    type: Literal["opaque"]
    kind: str
    data: dict[str, Any]


class ToolCallShown(PartShown):
    """A tool call of a model. `arguments` are a text where the model wrote what is no JSON object."""

    type: Literal["call"]
    id: str
    tool: str
    arguments: dict[str, Any] | str


class ResultShown(PartShown):
    """What a tool gave back for the call of that id."""

    type: Literal["result"]
    call_id: str
    content: list[Annotated[TextShown | FileShown | OpaqueShown, Field(discriminator="type")]]
    tool: str = ""
    failed: bool = False


AnyPart = TextShown | ReasoningShown | FragmentShown | FileShown | ToolCallShown | ResultShown | OpaqueShown


class MessageShown(Shown):
    """A stored message: the `seq`-th of its session, from 1, without gaps. `turn_id` is the turn that added it."""

    id: str
    seq: int
    turn_id: str | None
    created_at: datetime
    role: Literal["system", "user", "assistant", "tool"]
    model: str | None = Field(default=None, description="The model that made it, as `provider/model`.")
    parts: list[Annotated[AnyPart, Field(discriminator="type")]]
    extra: dict[str, Any] = Field(default={})


class TurnProblemShown(Shown):
    """Why a turn did not come to its end."""

    code: Word
    sentence: str


class AgentTurnShown(Shown):
    """One answer of an agent that Stanch runs: `running`, `completed`, `failed`, `stopped` or `interrupted`.

    `node` is the process that runs it, or ran it last.
    """

    id: str
    session_id: str
    state: Word
    model: str | None
    asked_by: str
    surface: str
    node: str
    started_at: datetime
    changed_at: datetime
    ended_at: datetime | None
    problem: TurnProblemShown | None
    counts: dict[str, int]


def message_json(record: MessageRecord) -> dict[str, Any]:
    """A stored message as JSON."""
    return {
        "seq": record.seq,
        "turn_id": record.turn_id,
        "created_at": record.created_at.isoformat(),
        **write_message(record.message),
    }


def message_or_broken(one: MessageRecord | Broken) -> dict[str, Any]:
    """A stored message as JSON, or what is said of one that cannot be read."""
    if isinstance(one, Broken):
        return BrokenShown(id=one.id, table=one.table, problem=one.problem).model_dump()
    return message_json(one)


def turn_shown(turn: TurnRecord, told: TellsRecords) -> AgentTurnShown:
    """A turn as JSON."""
    turn = told.turn(turn)
    return AgentTurnShown(
        id=turn.id,
        session_id=turn.session_id,
        state=turn.state.value,
        model=turn.model,
        asked_by=turn.asked_by,
        surface=turn.surface,
        node=turn.node,
        started_at=turn.started_at,
        changed_at=turn.changed_at,
        ended_at=turn.ended_at,
        problem=None if turn.problem is None else TurnProblemShown(**turn.problem._asdict()),
        counts=dict(turn.counts),
    )
