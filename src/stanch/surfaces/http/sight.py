"""What a session's model is shown of its conversation, and what a person says where its tier asks.

Settles the routes. Does not settle what is withheld (`tiers.history`), nor how far an answer reaches (`tiers.answers`).
"""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Query
from fastapi.responses import JSONResponse
from pydantic import Field

from stanch.app.switching import LONGEST_NAME, MOST_NAMED, Shown
from stanch.surfaces.http.access import By, Served
from stanch.surfaces.http.bodies import Body
from stanch.surfaces.http.documented import problems
from stanch.surfaces.http.routers import BODY, guarded
from stanch.surfaces.http.shown import Shown as ShownModel
from stanch.tiers.dialects.ours import write_messages

ROUTER = guarded("/api/sessions", "sight")
Name = Annotated[str, Field(min_length=1, max_length=LONGEST_NAME)]
Model = Annotated[str | None, Query(description="As `provider/model`. Without it: the session's own.", max_length=512)]


class SightShown(ShownModel):
    """What was kept back from a model: how many pieces, by the path or item that they came from.

    `quotes` counts runs of such text in what models wrote, `unsent` reasoning that was left out. `asks` are those names
    that wait for a person's answer.
    """

    model: str
    tier: str
    label: str
    pieces: dict[str, int]
    quotes: dict[str, int]
    asks: list[str]
    unsent: int


class AnswersBody(Body):
    """A person's word about what the session's model asks for: names out of `asks`."""

    send: list[Name] = Field(default=[], max_length=MOST_NAMED)
    withhold: list[Name] = Field(default=[], max_length=MOST_NAMED)


@ROUTER.get("/{session_id}/withheld", responses=problems(404, 409))
def read_withheld(session_id: str, service: Served, model: Model = None) -> SightShown:
    """Read what a model would not be sent of the conversation, and what waits for an answer."""
    return sight_shown(service.switching.shown(session_id, model))


@ROUTER.get("/{session_id}/sent", responses=problems(404, 409))
def read_sent(session_id: str, service: Served, model: Model = None) -> Any:
    """Read the conversation as a model would be sent it, in Stanch's own shape."""
    shown = service.switching.shown(session_id, model)
    return JSONResponse({**sight_shown(shown).model_dump(), "messages": write_messages(shown.messages)})


@ROUTER.post("/{session_id}/answers", responses=problems(404, 409, *BODY))
def answer_tier(session_id: str, body: AnswersBody, service: Served, by: By) -> SightShown:
    """Say of paths that the tier of the session's model asks about whether they are sent. It holds for this session."""
    return sight_shown(service.switching.answer(session_id, send=body.send, withhold=body.withhold, by=by))


def sight_shown(shown: Shown) -> SightShown:
    """What was kept back, as every door writes it."""
    report = shown.report
    return SightShown(
        model=shown.model,
        tier=shown.tier.id,
        label=shown.tier.label,
        pieces=dict(report.pieces),
        quotes=dict(report.quotes),
        asks=list(report.asks),
        unsent=report.unsent,
    )
