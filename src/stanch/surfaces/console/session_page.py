"""`/console/sessions/{session_id}`: one session, what was said and done in it, and what a person does about it.

Settles what each form is answered with. Does not settle what is shown of a session (`timeline`), nor what a turn does
(`app.agents`).
"""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from starlette.responses import Response

from stanch.app.permissions import Right
from stanch.delivery.admit import ContentRefused
from stanch.explain.sentences import sentence
from stanch.surfaces.console.cutting import Cut, whole
from stanch.surfaces.console.failing import Refused
from stanch.surfaces.console.guard import Asked, Said, goes_to
from stanch.surfaces.console.session_list import PAGE, choices
from stanch.surfaces.console.session_records import Gathered, gathered, tier_words
from stanch.surfaces.console.tier_question import answered, question_of
from stanch.surfaces.console.timeline import entries
from stanch.surfaces.console.timeline_calls import text_of
from stanch.values.fault import BadFields, BadInput, Conflict, NotFound
from stanch.values.message import File, Fragment, Part, Reasoning, Result, Text
from stanch.values.records import Broken
from stanch.values.turn import TurnState

LONGEST_SEQ = 18


def page(asked: Asked) -> Response:
    """The whole page."""
    return shown(asked)


def timeline(asked: Asked) -> Response:
    """What was said and done alone, as it is now, with how the session stands."""
    nested = bool(asked.get("nested"))
    return asked.page("timeline_piece.html.j2", nested=nested, **_shown(asked, nested=nested))


def part(asked: Asked) -> Response:
    """One part of a message, as much of it as a page can hold."""
    shown = _part(asked)
    if asked.in_page:
        return asked.page("text_block.html.j2", shown=shown, where="")
    return asked.page("message_part.html.j2", at="sessions", shown=shown, back=_address(asked))


def say(asked: Asked) -> Response:
    """What a person says to the session's agent."""
    text = asked.get("text").replace("\r\n", "\n")
    named, mentions = asked.get("attachments").replace("\r\n", "\n"), bool(asked.get("mentions"))
    try:
        attached = _attached(asked, named)
        asked.service.agents.begin(_id(asked), text, by=asked.login.by, mentions=mentions, attached=attached)
    except (Conflict, BadInput, NotFound, ContentRefused, Refused) as why:
        fault = Refused(403, f"{sentence(why.reason)}.") if isinstance(why, ContentRefused) else why
        status, problem = asked.failing.said_of(fault)
        problem = problem if text.strip() else "Write something."
        if asked.in_page:
            form = {"text": text, "attachments": named, "mentions": mentions, "problem": problem}
            return asked.page("speak.html.j2", status=status, id=_id(asked), **form)
        return shown(asked, text=text, attachments=named, mentions=mentions, problem=problem, status=status)
    if asked.in_page:
        return asked.page("speak.html.j2", id=_id(asked), text="", mentions=mentions, problem="")
    return goes_to(f"{_address(asked)}#end")


def _attached(asked: Asked, named: str) -> tuple[Text | File, ...]:
    """The stored files that go with what a person says. Raises `ContentRefused`, `BadInput` and `Refused`."""
    paths = [line.strip() for line in named.split("\n") if line.strip()]
    if paths and Right.CONTENT not in asked.login.caller.rights:
        raise Refused(403, "You may not see stored content.")
    principal = asked.login.caller.principal
    return asked.service.attaching.parts(_id(asked), paths, whose=principal, by=asked.login.by) if paths else ()


def stop(asked: Asked) -> Response:
    """Stops the turn that the page showed to be under way."""
    turn_id = asked.get("turn")
    try:
        if asked.service.turn_log.get(turn_id).session_id != _id(asked):
            raise Refused(404, "This turn is none of the session.")
        asked.service.agents.stop(turn_id, by=asked.login.by)
        said, status = Said("", "ask", "You stopped the turn. What it waited for was taken back."), 200
    except Conflict as why:
        said, status = Said("", "ask", asked.failing.sentence(why)), 409
    return _told(asked, said, status)


def end(asked: Asked) -> Response:
    """Ends the session, with its turn and whatever of it waits for a person."""
    try:
        asked.service.sessions.end(_id(asked), by=asked.login.by)
    except Conflict as why:
        return shown(asked, problem=asked.failing.sentence(why), status=409)
    return goes_to(_address(asked))


def answer_tier(asked: Asked) -> Response:
    """What a person says where the tier of the session's model asks."""
    said, status = answered(asked)
    if asked.in_page:
        session = asked.service.sessions.get(_id(asked))
        question = question_of(asked.service, session)
        return asked.page("tier_answered.html.j2", status=status, said=[said], question=question)
    return _told(asked, said, status)


def set_model(asked: Asked) -> Response:
    """Says which model the session uses from its next request on."""
    model = asked.get("model").strip()
    try:
        asked.service.switching.switch(_id(asked), model or None, by=asked.login.by)
        said, status = Said("", "allow", f"The session uses {model or 'no model'} from now on."), 200
    except (Conflict, BadFields) as why:
        said, status = Said("", "deny", asked.failing.sentence(why)), 409 if isinstance(why, Conflict) else 422
    return _told(asked, said, status)


def _told(asked: Asked, said: Said, status: int) -> Response:
    if asked.in_page:
        return asked.page("said.html.j2", status=status, said=[said])
    return goes_to(_address(asked)) if status == 200 else shown(asked, problem=said.text, status=status)


def shown(
    asked: Asked,
    *,
    text: str = "",
    attachments: str = "",
    mentions: bool = True,
    problem: str = "",
    status: int = 200,
) -> Response:
    """The whole page, with the form of what is said as somebody left it, and what was wrong with it."""
    values = _shown(asked)
    return asked.page(
        "session.html.j2",
        status=status,
        at="sessions",
        said=[Said("", "deny", problem)] if problem and values["session"].ended_at is not None else [],
        text=text,
        attachments=attachments,
        mentions=mentions,
        problem=problem,
        parents=_parents(asked),
        **values,
        **choices(asked.service),
    )


def _shown(asked: Asked, *, nested: bool = False) -> dict[str, Any]:
    service, before = asked.service, _number(asked.get("before"))
    found: Gathered = gathered(service, _id(asked), before=before)
    session, turn = found.standing.session, found.standing.turn
    return {
        "id": session.id,
        "session": session,
        "tier": tier_words(service, session.model),
        "turn": turn,
        "running": turn is not None and turn.state is TurnState.RUNNING,
        "waiting": found.standing.waiting,
        "question": None if nested or before is not None else question_of(service, session),
        "entries": entries(found, service.policy, lambda model: tier_words(service, model)),
        "first": found.first,
        "total": found.total,
        "is_newest": before is None,
        "broken": found.broken,
    }


def _parents(asked: Asked) -> list[Any]:
    """The sessions above this one, the highest first."""
    found: list[Any] = []
    above = asked.service.sessions.get(_id(asked)).parent_id
    while above is not None and len(found) < 10:
        parent = asked.service.sessions.get(above)
        found.insert(0, parent)
        above = parent.parent_id
    return found


def _part(asked: Asked) -> Cut:
    seq, at = _number(asked.parameters["seq"]), _number(asked.parameters["part"])
    if seq is None or at is None or seq < 1:
        raise Refused(404, "There is nothing at this address.")
    items = asked.service.messages.list(_id(asked), after_seq=seq - 1, limit=1).items
    one = items[0] if items else None
    if one is None or isinstance(one, Broken) or one.seq != seq or at >= len(one.message.parts):
        raise Refused(404, "There is no such part of a message.")
    return whole(_words(one.message.parts[at]))


def _words(part: Part) -> str:
    if isinstance(part, Result):
        return text_of(part)
    return part.text if isinstance(part, Text | Reasoning | Fragment) else ""


def _number(text: str) -> int | None:
    """A place that an address names; None for none, or for what is no place."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= LONGEST_SEQ else None


def _id(asked: Asked) -> str:
    return asked.parameters["session_id"]


def _address(asked: Asked) -> str:
    return f"{PAGE}/{quote(_id(asked), safe='')}"
