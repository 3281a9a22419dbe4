"""What becomes of a request to a model on its way through the model proxy.

Settles the order: who asks, which model, which session, what of the conversation this model may have, what its provider
may keep; and that whatever cannot be told stops the request. Does not settle any of these (`policy.routing`,
`app.proxy_sessions`, `tiers.history`, `app.provider_state`), nor how it travels (`surfaces.proxy`).
INVARIANT: a body that is sent was made here, for the model that it is sent to.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from stanch.app.asking import Asking
from stanch.app.contexts import Contexts
from stanch.app.engine import Engine
from stanch.app.live import Live
from stanch.app.projected_messages import Projected
from stanch.app.projecting import Projecting
from stanch.app.provider_state import kept_by_provider, reference_in
from stanch.app.proxy_directories import Directories, claimed
from stanch.app.proxy_sessions import SURFACE, ProxySession, ProxySessions, named_by_agent
from stanch.app.proxy_settling import Sent, Settling, made_by
from stanch.app.proxy_talks import Talk, Talks, followed
from stanch.app.proxy_writing import beside_messages, changed
from stanch.app.receipts import Sending
from stanch.app.redacting import look_of
from stanch.app.remembered import Remembered
from stanch.app.request_text import RequestText, json_text
from stanch.app.sight import TierSight
from stanch.app.tokens import Caller, Tokens
from stanch.policy.document import Policy
from stanch.policy.providers import SHIPPED, Dialect, Provider
from stanch.policy.routing import routed
from stanch.storage.store import Store
from stanch.tiers.answers import NO_ANSWERS, Answers
from stanch.tiers.dialects.telling import Shape
from stanch.tiers.kept import Kept
from stanch.values.call import EffectClass
from stanch.values.fault import BadInput, Fault, NotFound
from stanch.values.message import Message
from stanch.values.records import Actor

MOST_KEPT_MODELS = 8
DIALECTS: Mapping[Shape, Dialect] = {
    Shape.CHAT: Dialect.CHAT,
    Shape.RESPONSES: Dialect.RESPONSES,
    Shape.ANTHROPIC: Dialect.ANTHROPIC,
}


class Unauthorized(Fault):
    """The request shows no token, or one that opens nothing."""


class NotSent(Fault):
    """A model may not have what the request would give it."""


class Unready(Fault):
    """Nobody can say what may be sent, or where to: something here has to be mended first."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A request as it came. `counted`: its tokens are to be counted, and nothing answered."""

    shape: Shape
    raw: bytes = field(repr=False)
    secret: str = field(repr=False)
    headers: Mapping[str, str] = field(repr=False)
    counted: bool = False


@dataclass(frozen=True, slots=True)
class Outgoing:
    """A request as it is sent: to which provider, with its key, and what to settle once it was answered."""

    provider: Provider
    key: str | None = field(repr=False)
    body: bytes = field(repr=False)
    sent: Sent | None = None


class Proxy:
    """The model proxy's deciding part. Safe to use from any thread; every method blocks."""

    def __init__(
        self, store: Store, live: Live, *, asking: Asking, contexts: Contexts, sight: TierSight, projecting: Projecting
    ) -> None:
        self._store, self._live, self._sight, self._projecting = store, live, sight, projecting
        self._remembered = Remembered(store)
        self._tokens = Tokens(store)
        self._sessions = ProxySessions(store, contexts, self._remembered)
        self._talks = Talks()
        self._settling = Settling(store, live, asking, self._sessions)
        self._directories: tuple[Engine, Directories] | None = None

    def close(self) -> None:
        """Stops listening to the store. Safe to repeat."""
        self._remembered.close()

    def caller(self, secret: str) -> Caller:
        """Who asks. Raises `Unauthorized` and `StoreUnreadable`."""
        found = self._remembered.get(("token", secret), lambda: self._tokens.caller(secret))
        if found is None:
            raise Unauthorized("this token opens nothing; it may have been revoked")
        return found

    def listed(self, secret: str, shape: Shape) -> Outgoing:
        """The request for a list of models, to the provider that is usual for this API. Raises as `prepared` does."""
        self.caller(secret)
        policy = self._policy()
        name = policy.proxying.usual[DIALECTS[shape]]
        provider = {**SHIPPED, **policy.providers}[name]
        return Outgoing(provider, _key(provider), b"")

    def prepared(self, asked: Asked) -> Outgoing:
        """The request as its model may have it.

        Raises `Unauthorized`, `BadInput` for what cannot be read, `NotFound` for a model that leads nowhere, `NotSent`,
        `Conflict` for a session that has ended, `Unready`, `TiersBroken`, `StoreUnreadable`, and `Withheld` where it
        cannot be looked through for secrets: then nothing is sent.
        """
        caller = self.caller(asked.secret)
        policy = self._policy()
        request, near = self._talks.read(caller.principal, asked.shape, asked.raw)
        model = request.body.get("model")
        if not isinstance(model, str) or not model:
            raise BadInput("model must be a string that names a model")
        to = routed(model, DIALECTS[asked.shape], policy.proxying, policy.providers)
        key = _key(to.provider)
        tiers = self._sight.tiers()
        tier = tiers.of(to.model)
        if asked.counted and tier.objects(EffectClass.READ) and named_by_agent(asked.headers):
            # WHY: agents have pieces of what they hold counted, with nothing that says where those are from. Where
            # that is refused they make an estimate.
            raise NotSent("what an agent has counted is not sent to a model that may not read everything")
        session = self._sessions.of(caller.principal, asked.headers, _first(request))
        answers = self._answers(session)
        projector = self._projecting.projector()
        with self._talks.lock(session.id):
            talk = self._talk(asked, session, request, near)
            state = kept_by_provider(
                request.body,
                tier,
                counted=asked.counted,
                stores=asked.shape is Shape.RESPONSES or _is_openai(to.provider),
                may_store=policy.proxying.store,
                inside=talk.reference,
                objects=lambda name: self._objects(name, asked.shape, policy),
            )
            if state.refused is not None:
                raise NotSent(state.refused)
            given = self._settling.with_own_thoughts(talk, tier, answers)
            kept = _kept(talk, to.model)
            resent = kept.sent(given, (tiers, tier.id, answers), lambda: look_of(tier, to.model, answers))
            outgoing = _projected(talk, to.model).sent(resent.messages, projector)
            # WHY `is`: where no value of the vault occurs, the messages are the very same list.
            same = resent.report.empty and outgoing is resent.messages
            values, pieces = ({}, []) if same else changed(talk, given, outgoing)
            self._talks.keep(caller.principal, talk)
        values = {**beside_messages(request, projector), **values, **state.changes}
        if to.name != model:
            values["model"] = to.name
        body = request.written(values, pieces) if values or pieces else asked.raw
        # WHY last: whatever is refused above is not sent.
        beside = {key: value for key, value in request.body.items() if key != request.listed} | values
        by = Actor(caller.principal.id, SURFACE)
        self._sight.receipts.sent(
            Sending(
                session.id,
                to.model,
                tier.id,
                resent.messages,
                outgoing,
                projector,
                resent.report,
                by,
                beside,
                asked.counted,
            )
        )
        sent = None
        if not asked.counted:
            sent = self._settling.begun(
                Sent(
                    session,
                    asked.shape,
                    to,
                    made_by(to.model, tier, answers),
                    tier,
                    resent.report,
                    offers_tools=bool(request.body.get("tools")),
                    directory=next(iter(talk.directories), None),
                )
            )
        return Outgoing(to.provider, key, body, sent)

    def settled_at_once(self, sent: Sent, copy: bytes | None) -> bool:
        """True where there is nothing to take note of; it is settled then, and took no time."""
        return self._settling.settled_at_once(sent, copy)

    def settled(self, sent: Sent, copy: bytes | None) -> None:
        """Takes note of an answer that went to its caller: `copy` is what it said, None where there is none.

        It raises nothing: the answer is gone already.
        """
        self._settling.settled(sent, copy)

    def conversation(self, session_id: str) -> list[Message]:
        """The longest conversation of the session of late, with its tags; empty where this process saw none."""
        return self._talks.conversation(session_id)

    def _policy(self) -> Policy:
        policy = self._live.engine.fresh_policy()
        broken = policy.broken or policy.broken_runtime
        if broken is not None:
            raise Unready(f"the policy has a mistake at {broken}; mend it first")
        return policy

    def _answers(self, session: ProxySession) -> Answers:
        if session.stored is None:
            return NO_ANSWERS
        return self._remembered.get(("answers", session.id), lambda: Answers(self._store.tier_answers(session.id)))

    def _talk(self, asked: Asked, session: ProxySession, request: RequestText, near: Talk | None) -> Talk:
        directories = self._of(self._live.engine)
        believed = directories.believed(session.directory)
        # WHY not both: a person's word stands for itself, and nobody who asks can take anything from it.
        directory = believed if believed is not None else claimed(asked.headers)
        reader = directories.tagger.reader(directories.canonical(believed))
        return followed(
            session.id,
            asked.shape,
            request,
            self._talks.take(near),
            basis=(directory, believed, directories.workspace),
            begin=lambda: directories.tagger.tagging(directory, reader),
            reader=reader,
            reference_in=reference_in,
        )

    def _of(self, engine: Engine) -> Directories:
        known = self._directories
        if known is None or known[0] is not engine:
            known = self._directories = engine, Directories(engine)
        return known[1]

    def _objects(self, name: str, shape: Shape, policy: Policy) -> bool:
        try:
            to = routed(name, DIALECTS[shape], policy.proxying, policy.providers)
        except NotFound:
            return True
        return self._sight.tiers().of(to.model).objects(EffectClass.READ)


def _key(provider: Provider) -> str | None:
    if provider.key_env is None:
        return None
    key = os.environ.get(provider.key_env, "").strip()
    if not key:
        raise Unready(f"the provider '{provider.id}' needs a key: set {provider.key_env} where the server runs")
    return key


def _is_openai(provider: Provider) -> bool:
    """True for the provider that stores chat completions too, where it is not told to leave it."""
    host = urlsplit(provider.base_url).hostname or ""
    return provider.dialect is not Dialect.ANTHROPIC and (host == "openai.com" or host.endswith(".openai.com"))


def _kept(talk: Talk, model: str) -> Kept:
    if model not in talk.kept and len(talk.kept) >= MOST_KEPT_MODELS:
        talk.kept.clear()
    return talk.kept.setdefault(model, Kept())


def _projected(talk: Talk, model: str) -> Projected:
    if model not in talk.projected and len(talk.projected) >= MOST_KEPT_MODELS:
        talk.projected.clear()
    return talk.projected.setdefault(model, Projected())


def _first(request: RequestText) -> str:
    """What tells a conversation from others where nobody names it: the first words of its user."""
    for item in request.items:
        if isinstance(item, dict) and item.get("role") == "user":
            content = item.get("content")
            if isinstance(content, list):
                content = [one.get("text") if isinstance(one, dict) and "text" in one else one for one in content]
            return json_text(content)
    return json_text(request.body.get(request.listed))
