"""A family of agents: one script for each agent's model, and what became of the sessions below a session."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping

from stanch.runtime.scripted import Answers
from stanch.runtime.scripted_asked import Asked
from stanch.runtime.scripted_reply import Reply
from stanch.values.message import Result, SourceTag
from stanch.values.records import Broken, SessionRecord
from tests.runtime.world import World


def by_model(**scripts: Iterable[Reply | Answers]) -> Callable[[Asked], Reply]:
    """Each model answers by a script of its own; `scripted` is bob's, any other that of the agent of its name."""
    steps: Mapping[str, list[Reply | Answers]] = {name: list(script) for name, script in scripts.items()}
    lock = threading.Lock()

    def answer(asked: Asked) -> Reply:
        with lock:
            step = steps[asked.model].pop(0)
        return step if isinstance(step, Reply) else step(asked)

    return answer


def agents(*names: str) -> str:
    """The tables of agents whose models are named after them."""
    return "".join(f"[agents.{name}]\nmodel = 'fake/{name}'\n" for name in names)


def below(world: World, session: str) -> list[SessionRecord]:
    """The sessions below the session, those below them too, nearest first."""
    found: list[SessionRecord] = []
    todo = [session]
    while todo:
        page = world.service.sessions.list(parent_id=todo.pop(0), limit=100)
        near = [one for one in reversed(page.items) if not isinstance(one, Broken)]
        found += near
        todo += [one.id for one in near]
    return found


def tags(world: World, session: str) -> list[SourceTag]:
    """Every mark on a result in the session."""
    return [
        tag
        for message in world.messages(session)
        for part in message.parts
        if isinstance(part, Result)
        for tag in part.tags
    ]
