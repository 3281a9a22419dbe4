"""Whatever models a conversation goes through: nothing closed leaves, nothing stored changes, and all comes back."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from random import Random

import pytest

from stanch.app.service import Service
from stanch.storage.store import Store
from stanch.tiers.dialects import anthropic, chat, ours, responses
from stanch.values.context import RunContext
from stanch.values.identity import COPILOT_SERVICE, Principal, PrincipalKind, Source
from stanch.values.message import Call, Message, Result
from stanch.values.records import Actor
from tests.app.drawn_switches import HOME, Drawing, Drawn, marks_in

BY = Actor("ada", "test")
POLICY = """
version = 1
[models]
default_tier = "closed"
[models.assignments]
"local/*" = "trusted"
"out/*" = "outside"
"ask/*" = "asking"
[tiers.outside]
label = "Outside"
otherwise = { read = "allow", write = "deny", execute = "deny", network = "deny" }
cells = [{ path = "private", read = "deny" }]
[tiers.asking]
label = "Asking"
otherwise = { read = "allow", write = "deny", execute = "deny", network = "deny" }
cells = [{ path = "private", read = "deny" }, { path = "asked", read = "ask" }]
[tiers.closed]
label = "Closed"
otherwise = { read = "deny", write = "deny", execute = "deny", network = "deny" }
cells = [{ path = "open", read = "allow" }]
"""
# What a model's tier says of each folder: written down here, and not read from the policy.
SEES = {
    HOME: {"open", "asked", "private"},
    "out/model": {"open", "asked"},
    "ask/model": {"open"},
    "new/model": {"open"},
}
SEQUENCES = pytest.mark.parametrize("sequences", [500, pytest.param(10_000, marks=pytest.mark.soak)])


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    folder = tmp_path_factory.mktemp("switches")
    (folder / "stanch.toml").write_text(POLICY, "utf-8")
    store = Store.open(f"sqlite:///{folder}/stanch.db")
    store.migrate()
    running = Service.open(store=store, policy=folder / "stanch.toml", workspace=folder)
    yield running
    running.close()
    store.close()


class Conversation:
    """One session that goes from model to model; it knows what each of them may see by now."""

    def __init__(self, service: Service, seed: int) -> None:
        self.service, self.random = service, Random(seed)
        self.drawing = Drawing(self.random, service.policy.workspace)
        self.session = service.sessions.create(
            agent_id="coder",
            source=Source.API,
            principal=Principal(PrincipalKind.DELEGATED, "ada", COPILOT_SERVICE),
            context=RunContext(),
            by=BY,
        ).id
        self.before = "[]"
        """What was stored at the last send."""
        self.said: set[str] = set()
        self.refused: set[str] = set()

    def goes_on(self) -> None:
        """Another model, a turn of it, and whatever else is sent meanwhile."""
        model = self.random.choice(list(SEES))
        self.service.switching.switch(self.session, model, by=BY)
        if model == "ask/model":
            self.answers()
        seen = list(marks_in(self.drawing.files, self.sends(model)))
        self.service.messages.add_all(self.session, self.drawing.turn(model, seen))
        self.sends(self.random.choice(list(SEES)))  # a title, a summary, a reviewer, another model beside it

    def may_see(self, model: str, file: Drawn) -> bool:
        """True where the tier lets it, or a person said so."""
        return file.folder in SEES[model] or (model == "ask/model" and file.path in self.said)

    def answers(self) -> None:
        """A person answers for some of the files that the tier asks about."""
        asks = set(self.service.switching.shown(self.session).report.asks)
        assert not asks & (self.said | self.refused)
        names = sorted(asks & {file.path for file in self.drawing.files if file.folder == "asked"})
        chosen = self.random.sample(names, self.random.randint(0, len(names)))
        send = [name for name in chosen if self.random.random() < 0.7]
        withhold = [name for name in chosen if name not in send]
        self.service.switching.answer(self.session, send=send, withhold=withhold, by=BY)
        self.said.update(send)
        self.refused.update(withhold)

    def sends(self, model: str) -> str:
        """One request to a model, in the words of each provider; and what of it stands in our own."""
        messages = self.service.messages.all(self.session)
        before = written(messages)
        assert before.startswith(self.before.removesuffix("]")), "what was stored has changed"
        self.before = before
        sent = self.service.agents.sight.filtered(self.session, messages, model)
        assert written(messages) == before, "the messages that were given have changed"
        files = self.drawing.files
        hidden = [file for file in files if not self.may_see(model, file)]
        for text in outbound(list(sent)):
            assert not [file.path for file in marks_in(hidden, text)], f"left for {model}"
        left = written(list(sent))
        for file in files:
            if file.path in self.drawing.plain and self.may_see(model, file) and file.content.splitlines()[1] in before:
                assert file.mark in left, f"{file.path} is withheld from {model}"
        report = self.service.agents.sight.report(self.session, model)
        assert report is not None
        assert not list(marks_in(files, json.dumps(report.as_json())))
        assert pairs(sent) == pairs(messages)
        if model == HOME:
            assert left == before, "not every byte came back"
        words = self.drawing.words(files)
        heard = self.service.agents.sight.passed_on(self.session, messages, words, model)
        shown = {file.path for file in marks_in(files, before)}
        assert not [file.path for file in marks_in(hidden, heard) if file.path in shown], f"told to {model}"
        return left


def written(messages: Sequence[Message]) -> str:
    return json.dumps(ours.write_messages(list(messages)), ensure_ascii=False)


def outbound(messages: Sequence[Message]) -> Iterator[str]:
    """The bodies that would leave, one for each provider's format."""
    yield json.dumps(chat.write_messages(messages))
    yield json.dumps(responses.write_messages(messages))
    yield json.dumps(anthropic.write_messages(messages))
    yield written(messages)


def pairs(messages: Sequence[Message]) -> list[tuple[str, str]]:
    return [
        ("call", part.id) if isinstance(part, Call) else ("result", part.call_id)
        for message in messages
        for part in message.parts
        if isinstance(part, (Call, Result))
    ]


@SEQUENCES
def test_nothing_closed_leaves_and_nothing_stored_changes(service: Service, sequences: int) -> None:
    for seed in range(sequences):
        conversation = Conversation(service, seed)
        try:
            for _ in range(conversation.random.randint(2, 3)):
                conversation.goes_on()
            conversation.service.switching.switch(conversation.session, HOME, by=BY)
            conversation.sends(HOME)
        except Exception as error:
            error.add_note(f"in the conversation drawn with the seed {seed}")
            raise
