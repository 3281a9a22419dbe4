"""`/console/inbox`: what waits for a person, and the answers to it.

Settles what each answer is told, also where somebody else was faster and where one form was sent twice. Does not settle
what an answer does (`app.approving`). INVARIANT: an answer is for the request whose card was seen, by its id.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from starlette.responses import Response

from stanch.app.approving import Edit, EditRefused, Resolved
from stanch.app.bypassing import BypassWish
from stanch.app.inbox import Waiting
from stanch.app.service import Service
from stanch.surfaces.console import plan_cards
from stanch.surfaces.console.cards import broken_words, question_card
from stanch.surfaces.console.failing import Refused
from stanch.surfaces.console.guard import Asked, Said
from stanch.surfaces.console.logins import SURFACE, Login
from stanch.values.approval import ApprovalRecord, ApprovalState, BypassScope, ClarificationState
from stanch.values.fault import BadCall, BadFields, BadInput, Conflict, NotFound, StoreUnreadable
from stanch.values.records import Broken

Shown = TypeVar("Shown")
MOST_CARDS = 40
MOST_TEXT = 1_000_000
"""Characters after which no further card is shown, so that no agent makes a page that no browser can show."""
MOST_SHOWN = 200
FIFTEEN_MINUTES = 900
_EDITED = "edit"
_BYPASSES = {"approve": None, "approve_15": FIFTEEN_MINUTES, "approve_session": 0, _EDITED: None}
_DONE = {
    ApprovalState.APPROVED: ("allow", "approved"),
    ApprovalState.REJECTED: ("deny", "rejected"),
    ApprovalState.EXPIRED: ("ask", "not answered in time, and expired"),
    ApprovalState.CANCELLED: ("ask", "cancelled"),
    ApprovalState.REPLACED: ("ask", "replaced by a new request"),
}


def mark_of(service: Service) -> str:
    """A digest of what is in the inbox: another one where something came or went."""
    waiting = service.inbox.list(limit=MOST_CARDS)
    ids = [_id(one) for one in (*waiting.approvals.items, *waiting.clarifications.items)]
    return hashlib.sha256("\n".join([str(waiting.total), *ids]).encode()).hexdigest()[:16]


def _id(one: Any) -> str:
    return str(one.id if isinstance(one, Broken) else one.request_id)


def page(asked: Asked) -> Response:
    """The whole page."""
    return asked.page("inbox.html.j2", at="inbox", said=[], **_waiting(asked.service))


def cards(asked: Asked) -> Response:
    """The cards alone, and what became of those that the page shows and that are not open any more."""
    values = _waiting(asked.service)
    open_ids = {card.id for card in (*values["cards"], *values["questions"])}
    gone = [one for one in asked.fields.get("shown", [])[:MOST_SHOWN] if one not in open_ids]
    said = [told for one in gone if (told := _became(asked.service, one, asked.login)) is not None]
    return asked.page("cards.html.j2", said=said, **values)


def _waiting(service: Service) -> dict[str, Any]:
    waiting: Waiting = service.inbox.list(limit=MOST_CARDS)
    rows = (*waiting.approvals.items, *waiting.clarifications.items)
    told = service.projecting.records()
    requests = [told.approval(one) for one in waiting.approvals.items if isinstance(one, ApprovalRecord)]
    laid = plan_cards.laid_out(service, requests)
    asked = (question_card(one) for one in waiting.clarifications.items if not isinstance(one, Broken))
    cards = _at_most(plan_cards.cards_of(service, laid), lambda card: len(card.json))
    questions = _at_most(asked, lambda card: sum(len(line.text) for line in card.question))
    broken = [broken_words(one) for one in rows if isinstance(one, Broken)]
    return {
        "total": waiting.total,
        "further": waiting.total - len(cards) - len(questions) - len(broken),
        "cards": cards,
        "groups": plan_cards.groups_of(cards, laid),
        "questions": questions,
        "broken": broken,
    }


def _at_most(cards: Iterable[Shown], length: Callable[[Shown], int]) -> list[Shown]:
    """The first card, and those after it until they are too long together."""
    found: list[Shown] = []
    left = MOST_TEXT
    for card in cards:
        left -= length(card)
        if found and left < 0:
            break
        found.append(card)
    return found


# --- answers ---------------------------------------------------------------------------------------------------------


def answer(asked: Asked) -> Response:
    """An answer to a request for approval."""
    request_id, action = asked.parameters["request_id"], asked.get("action")
    try:
        done = _answered(asked, request_id, action)
    except Conflict as why:
        if isinstance(why, EditRefused):
            return _not_edited(asked, request_id, [f"The edited call is refused. {asked.failing.sentence(why)}"])
        return _too_late(asked, request_id, why)
    except (BadFields, BadCall) as why:
        if action == _EDITED:
            found = asked.failing.fields(why).values() if isinstance(why, BadFields) else [asked.failing.sentence(why)]
            return _not_edited(asked, request_id, [*found])
        raise
    return _told(asked, request_id, [_success(asked.service, done, action)])


def _answered(asked: Asked, request_id: str, action: str) -> Resolved:
    approving, by = asked.service.approving, asked.login.by
    note, answer = asked.get("note").strip() or None, _digest(asked, request_id)
    if action == "reject":
        return approving.reject(request_id, note=note, answer=answer, by=by)
    if action not in _BYPASSES:
        raise Refused(400, "This is no answer that the inbox knows.")
    seconds = _BYPASSES[action]
    bypass = None if seconds is None else BypassWish(seconds, _scope(asked), bool(asked.get("include_subagents")))
    edit = Edit(arguments=_arguments(asked.get("arguments"))) if action == _EDITED else None
    return approving.approve(request_id, note=note, edit=edit, bypass=bypass, answer=answer, by=by)


def _digest(asked: Asked, request_id: str) -> str:
    """The digest of an answer with all that its form said, of whom it is, and to what: by it a repetition is known."""
    who = asked.login.caller.principal
    said = {name: values for name, values in asked.fields.items() if name != "key"}
    whole = json.dumps([SURFACE, who.kind.value, who.id, request_id, said], sort_keys=True)
    return hashlib.sha256(whole.encode()).hexdigest()


def _scope(asked: Asked) -> BypassScope:
    try:
        return BypassScope(asked.get("bypass_scope"))
    except ValueError:
        raise Refused(400, "Say which calls it is to answer for.") from None


def _arguments(text: str) -> dict[str, Any]:
    """The arguments that a person wrote. Raises `BadFields`."""
    try:
        value = json.loads(text, object_pairs_hook=_once, parse_constant=_no_number)
    except json.JSONDecodeError as why:
        message = f"This is no JSON: {why.msg}, at line {why.lineno}, column {why.colno}."
        raise BadFields(("arguments", message)) from None
    except BadInput as why:
        raise BadFields(("arguments", f"These arguments cannot be used: {why}.")) from None
    except (ValueError, RecursionError) as why:
        message = "they are nested too deeply" if isinstance(why, RecursionError) else "a number in them is too long"
        raise BadFields(("arguments", f"These arguments cannot be used: {message}.")) from None
    if not isinstance(value, dict):
        raise BadFields(("arguments", "The arguments have to be a JSON object: { … }."))
    return value


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise BadInput("a name stands in them twice")
    return found


def _no_number(word: str) -> Any:
    raise BadInput(f"{word} is no number of JSON")


def answer_plan(asked: Asked) -> Response:
    """An answer to several calls of a plan, each as its card showed it."""
    service = asked.service

    def shown(said: list[Said], status: int) -> Response:
        return asked.page("inbox.html.j2", status=status, at="inbox", said=said, **_waiting(service))

    def told(approval: ApprovalRecord, why: str) -> str:
        is_open = approval.state is ApprovalState.OPEN
        return asked.failing.sentence(Conflict(why)) if is_open else _outcome(asked.service, approval, asked.login).text

    return plan_cards.answer(asked, told, shown)


# --- what is told ----------------------------------------------------------------------------------------------------


def _success(service: Service, done: Resolved, action: str) -> Said:
    approval = done.approval
    tool, request_id = _tool(service, approval), approval.request_id
    if done.instead is not None:
        text = f"You changed a call of {tool}, and it asks anew, for something that its card did not show."
        return Said(request_id, "ask", text)
    if action == "reject":
        noted = f", with the note “{approval.note}”" if approval.note else ""
        return Said(request_id, "deny", f"You rejected a call of {tool}{noted}.")
    edited = " with your arguments" if action == _EDITED else ""
    text = f"You approved a call of {tool}{edited}."
    if done.bypass is not None:
        until = "until its session ends" if done.bypass.until is None else f"until {done.bypass.until:%H:%M} UTC"
        kind = done.bypass.category or done.bypass.mcp_server or "any kind"
        text += f" Further calls ({kind}) of the session are not asked about {until}."
    return Said(request_id, "allow", text)


def _too_late(asked: Asked, request_id: str, why: Conflict) -> Response:
    """Somebody answered before, perhaps this person in another way. The very same form once more is no conflict."""
    approval = asked.service.inbox.resolution(request_id)
    if approval.state is ApprovalState.OPEN:
        return _told(asked, request_id, [Said(request_id, "ask", asked.failing.sentence(why))], status=409)
    told = _outcome(asked.service, approval, asked.login)
    text = f"Your answer came too late and changed nothing. {told.text}"
    return _told(asked, request_id, [Said(request_id, "ask", text)], status=409)


def _became(service: Service, request_id: str, login: Login) -> Said | None:
    """What became of a request or a question that is not open any more; None where nobody knows."""
    try:
        if request_id.startswith("ask_"):
            asked = service.overview.question(request_id)
            if asked.state is ClarificationState.OPEN:
                return None
            who = "you" if asked.resolved_by == login.who else asked.resolved_by
            by = f" by {who}" if who else ""
            return Said(request_id, "ask", f"A question of {asked.agent_id} was {asked.state.value}{by}.")
        approval = service.inbox.approval(request_id)
    except (NotFound, StoreUnreadable):
        return None
    return None if approval.state is ApprovalState.OPEN else _outcome(service, approval, login)


def _outcome(service: Service, approval: ApprovalRecord, login: Login) -> Said:
    tone, word = _DONE[approval.state]
    who = "you" if approval.resolved_by == login.who else approval.resolved_by
    by = f" by {who} ({approval.surface})" if who and approval.state is not ApprovalState.EXPIRED else ""
    at = "" if approval.resolved_at is None else f" at {approval.resolved_at:%H:%M:%S} UTC"
    return Said(approval.request_id, tone, f"A call of {_tool(service, approval)} was {word}{by}{at}.")


def _tool(service: Service, approval: ApprovalRecord) -> str:
    """The name of the tool as the console's own words say it: without a value of the vault."""
    return str(service.projecting.records().tell(approval.tool_name))


def _told(asked: Asked, request_id: str, said: list[Said], *, status: int = 200) -> Response:
    if asked.in_page:
        return asked.page("answered.html.j2", status=status, said=said, gone=request_id)
    return asked.page("inbox.html.j2", status=status, at="inbox", said=said, **_waiting(asked.service))


def _not_edited(asked: Asked, request_id: str, errors: list[str]) -> Response:
    """The form of the edit again, as the person left it, with what is wrong."""
    text = asked.get("arguments")
    if not asked.in_page:
        status, words = asked.failing.said_of(Refused(422, " ".join(errors)))
        return _told(asked, request_id, [Said(request_id, "deny", words)], status=status)
    return asked.page("edit_again.html.j2", status=422, id=request_id, text=text, errors=errors)


# --- questions -------------------------------------------------------------------------------------------------------


def reply(asked: Asked) -> Response:
    """An answer to a question."""
    request_id = asked.parameters["request_id"]
    question = asked.service.overview.question(request_id)
    chosen = asked.get("choice")
    by_number = {str(at): choice for at, choice in enumerate(question.choices)}
    text = by_number.get(chosen, "") if chosen else asked.get("answer")
    if not text.strip():
        raise Refused(422, "Write an answer, or choose one.")
    try:
        asked.service.inbox.answer(request_id, text, by=asked.login.by)
    except Conflict as why:
        again = asked.service.overview.question(request_id)
        if again.resolved_by != asked.login.who or again.answer != text:
            words = f"Your answer came too late and changed nothing. {asked.failing.sentence(why)}"
            return _told(asked, request_id, [Said(request_id, "ask", words)], status=409)
    return _told(asked, request_id, [Said(request_id, "allow", f"You answered a question of {question.agent_id}.")])
