"""A conversation that is handed in, filtered for a model. Nothing of it is stored.

Settles the route. Does not settle what is withheld (`app.redacting`).
"""

from __future__ import annotations

import json
from typing import Annotated, Any

from fastapi import Response
from pydantic import Field

from stanch.app.redacting import MOST_NAMED
from stanch.app.switching import LONGEST_NAME
from stanch.surfaces.http.access import Served
from stanch.surfaces.http.bodies import Body
from stanch.surfaces.http.documented import problems
from stanch.surfaces.http.problems import unprocessable
from stanch.surfaces.http.routers import BODY, guarded
from stanch.surfaces.http.shown import Shown
from stanch.surfaces.http.sight import SightShown

ROUTER = guarded("/api/history", "history")
Path = Annotated[str, Field(min_length=1, max_length=LONGEST_NAME)]


class AnsweredBody(Body):
    """What a person has said where the model's tier asks: paths, or other names out of `asks`."""

    send: list[Path] = Field(default=[], max_length=MOST_NAMED)
    withhold: list[Path] = Field(default=[], max_length=MOST_NAMED)


class RedactBody(Body):
    """A conversation, and who is to read it. It has `messages` or `body`, and not both."""

    messages: list[Any] | None = Field(
        default=None, description="As OpenAI (chat completions or responses), Anthropic or Stanch write them."
    )
    body: dict[str, Any] | None = Field(default=None, description="A whole request with `messages` or `input`.")
    model: str = Field(min_length=1, max_length=512, description="As `provider/model`.")
    cwd: str | None = Field(
        default=None,
        max_length=4096,
        description="Where the conversation was had. Without it, relative paths are of unknown origin, unless the "
        "conversation says where.",
    )
    answers: AnsweredBody | None = None
    quotes: bool | None = Field(
        default=None, description="Whether quotes of what is withheld are searched for. Left out: as the tier has it."
    )


class WithheldShown(Shown):
    """A path, or another name that content came from: in how many messages something of it was withheld."""

    path: str
    tier: str
    messages: int


class RedactedShown(Shown):
    """The conversation as the model may have it, under the key that it came under, and what was kept back."""

    messages: list[Any] | None = None
    body: dict[str, Any] | None = None
    withheld: list[WithheldShown]
    report: SightShown


@ROUTER.post("/redact", responses=problems(409, *BODY), response_model=RedactedShown)
def redact_history(body: RedactBody, service: Served) -> Any:
    """Filter a conversation for a model. It comes back in the shape that it came in; nothing is stored."""
    given = [body.messages, body.body]
    if given.count(None) != 1:
        raise unprocessable([("messages", "give 'messages' or 'body', and not both")])
    answers = None if body.answers is None else body.answers.model_dump()
    done = service.redact_history(
        body.messages if body.body is None else body.body, body.model, cwd=body.cwd, answers=answers, quotes=body.quotes
    )
    # WHY not by the described model: what a conversation holds is nobody's to check, or to put in another order.
    try:
        return Response(json.dumps(done.as_json(), allow_nan=False), media_type="application/json")
    except ValueError:
        raise unprocessable([("messages", "the conversation holds a number that is too large")]) from None
