"""A conversation filtered by a policy file, in one step, for a program that keeps no engine.

Settles that step. Does not settle what is withheld (`app.redacting`).
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from stanch.app.engine import Engine
from stanch.app.loading import open_engine
from stanch.app.redacting import Redaction
from stanch.tiers.answers import Answers


def redact_history(
    messages: Any,
    model: str,
    *,
    policy: str | os.PathLike[str] | Engine | None = None,
    cwd: str | os.PathLike[str] | None = None,
    answers: Mapping[str, Sequence[str]] | Answers | None = None,
    quotes: bool | None = None,
) -> Redaction:
    """A conversation as a model may have it: a new list, and what was kept back. What was given is not changed.

    `messages` is a list of messages as OpenAI (chat completions or responses), Anthropic or Stanch write them, a
    request with one, or a sequence of `stanch.values.message.Message`. `model` is written `provider/model`. `policy`
    is a policy file, or an engine that is open already; None stands for the built-in rules. `cwd` is where the
    conversation was had; a relative one starts at the policy's workspace. `answers` has the paths that a person said
    are to `send` and to `withhold`. `quotes` set to false leaves quotes unsearched. Raises `BadInput` for what cannot
    be read, and `TiersBroken` where the policy has a mistake in its tiers; both are a `Fault`.
    """
    engine = policy if isinstance(policy, Engine) else open_engine(policy)
    return engine.redact_history(messages, model, cwd=cwd, answers=answers, quotes=quotes)


__all__ = ["Redaction", "redact_history"]
