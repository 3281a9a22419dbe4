"""`/api/check` and `/api/explain`: the gate's answer to a call. Nothing is run, and nothing is stored.

Settles how a request becomes a question. Does not settle the answer (`app.asking`) nor its shape (`surfaces.wire`).
"""

from __future__ import annotations

import json
from typing import Any

from fastapi import Request, Response
from pydantic import ValidationError
from starlette.concurrency import run_in_threadpool

from stanch.app.asking import Described
from stanch.app.engine import UNSET
from stanch.app.owning import own_session
from stanch.app.permissions import Right
from stanch.app.service import Service
from stanch.surfaces import wire
from stanch.surfaces.changing import flips_json
from stanch.surfaces.http.access import Served, admitted
from stanch.surfaces.http.answers import AnswerShown, ExplanationShown
from stanch.surfaces.http.bodies import AboutBody, CheckBody, ExplainBody, context_in
from stanch.surfaces.http.documented import problems
from stanch.surfaces.http.fields import problems_of
from stanch.surfaces.http.problems import unprocessable
from stanch.surfaces.http.route import GuardedRoute, Handler, body_of
from stanch.surfaces.http.routers import BODY, guarded
from stanch.values.decision import Effect
from stanch.values.fault import BadCall
from stanch.values.identity import Source

OF_A_SESSION = ("agent", "source", "group", "model", "context", "skills")


class AskingRoute(GuardedRoute):
    """A route whose whole work is done in one go, in one thread: it is asked before every call of every agent."""

    def get_route_handler(self) -> Handler:
        """The handler: the token, the right, the body, the answer."""

        async def asked(request: Request) -> Response:
            return await run_in_threadpool(self._answered, request, await request.body())

        return asked

    def _answered(self, request: Request, raw: bytes) -> Response:
        caller = admitted(request, self.path)
        self.known_query(request)
        model = ExplainBody if self.endpoint is explain else CheckBody
        try:
            body = model.model_validate(body_of(request, raw))
        except ValidationError as why:
            raise unprocessable(problems_of(why.errors(include_url=False), model)) from None
        if isinstance(body, ExplainBody):
            body.looks_at_all(Right.READ in caller.rights)
        if body.session_id is not None and Right.READ not in caller.rights:
            own_session(request.app.state.service, caller, body.session_id)
        try:
            said = self.endpoint(body, request.app.state.service)
        except RecursionError:
            raise BadCall("the arguments are nested too deeply") from None
        return Response(json.dumps(said, separators=(",", ":")), media_type="application/json")


ROUTER = guarded("/api", "decide", AskingRoute)


@ROUTER.post("/check", response_model=AnswerShown, responses=problems(404, 409, *BODY))
def check(body: CheckBody, service: Served) -> Any:
    """Say what the gate answers to a call, with what each layer said."""
    answered = service.check(*_question(body), call_id=body.call_id, cwd=_cwd(body), trace=True)
    policy = policy_of(service, answered.session.engine.policy.workspace)
    return _told(service, wire.answer_json(answered.decision, policy))


@ROUTER.post("/explain", response_model=ExplanationShown, responses=problems(404, 409, *BODY))
def explain(body: ExplainBody, service: Served) -> Any:
    """Say what the gate answers to a call, why every other rule did not decide, and what would change the answer.

    What that does to recorded calls is said of all where the caller may read them, else of those of its own session.
    """
    about, tool, arguments = _question(body)
    answered, found = service.explain(about, tool, arguments, call_id=body.call_id, cwd=_cwd(body))
    flips = service.changes.flips(about, answered, Effect(body.to), cwd=_cwd(body), everyone=body.everyone)
    change = service.projecting.records(now=False).tell(flips_json(flips))
    said = wire.answer_json(answered.decision, policy_of(service, answered.session.engine.policy.workspace))
    told = _told(service, said | {"rules": [wire.contest_json(one) for one in found]})
    return told | {"change": change}


def _question(body: CheckBody) -> tuple[str | Described, str, dict[str, Any]]:
    return session_in(body), body.tool, body.arguments


def session_in(body: AboutBody) -> str | Described:
    """The session that a body is about: the id of a stored one, or a description. Raises `Problem`."""
    given = body.model_fields_set
    if body.session_id is not None:
        own = [name for name in OF_A_SESSION if name in given]
        if own:
            raise unprocessable([(name, f"'{name}' is the session's own; leave it out") for name in own])
        return body.session_id
    return Described(
        agent=body.agent,
        source=None if body.source is None else Source(body.source),
        group=body.group,
        model=body.model,
        cwd=body.cwd,
        context=context_in(body.context) if "context" in given else UNSET,
        skills=tuple(body.skills),
    )


def _told(service: Service, said: dict[str, Any]) -> Any:
    """The answer with its reasons told. WHY by what is known here: this is asked before every call of every agent."""
    return service.projecting.records(now=False).answer(said)


def _cwd(body: CheckBody) -> str | None:
    return body.cwd if body.session_id is not None else None


def policy_of(service: Service, workspace: str) -> dict[str, Any]:
    """Which policy spoke, as answers say it."""
    return {"file": None if service.policy_file is None else str(service.policy_file), "workspace": workspace}
