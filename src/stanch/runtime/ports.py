"""What the agent loop needs of the rest, as protocols: the gate, the kept conversation, questions, models, subagents.

Settles what is asked for and promised. Does not settle who answers (`app.agents` puts it together). All of these block,
and are called in threads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple, Protocol

from stanch.gate.approval import Move
from stanch.runtime.tool import Job, Output
from stanch.values.approval import CallRecord, ClarificationRecord
from stanch.values.message import Message


class Started(NamedTuple):
    """A call after it was to start; `job` is what to do where it is running now, else None."""

    call: CallRecord
    job: Job | None


class Gate(Protocol):
    """Judges the calls of one session, and keeps what becomes of them."""

    def hidden(self, session_id: str, tools: Iterable[str]) -> frozenset[str]:
        """Those of the tools that the session is not to be offered, since a rule refuses all their calls."""

    def find(self, session_id: str, tool_call_id: str) -> CallRecord | None:
        """The newest call of the session that its agent knows by this id; None where there is none."""

    def submit(self, session_id: str, tool: str, arguments: Mapping[str, Any], tool_call_id: str) -> CallRecord:
        """The call, judged and stored: pending, awaiting approval, or rejected. Raises `BadCall` and `Conflict`."""

    def get(self, call_id: str) -> CallRecord:
        """The call as it now stands."""

    def start(self, call_id: str) -> Started:
        """The call, judged again; running, unless something refuses it by now. Raises `Conflict` if not pending."""

    def end(self, call_id: str, move: Move) -> None:
        """Says that a running call has ended; nothing where it ended otherwise meanwhile."""

    def cancel(self, call_id: str) -> None:
        """Cancels the call, and the request that it waits for; nothing where it has ended."""

    def listen(self, told: Callable[[], None]) -> Callable[[], None]:
        """Calls `told`, from some thread, after any change of the store; what it gives ends that."""


class Log(Protocol):
    """Keeps conversations."""

    def all(self, session_id: str) -> list[Message]:
        """Every message of the session, oldest first."""

    def add(self, session_id: str, message: Message, turn_id: str) -> Message:
        """The message as it is kept, with its id. Raises `Conflict` for a second result of one call."""


class Questions(Protocol):
    """Asks a person."""

    def ask(self, session_id: str, question: str, choices: Sequence[str]) -> ClarificationRecord:
        """The question, waiting in the inbox; the one that waits already where the session asked the same before."""

    def asked(self, session_id: str, question: str, choices: Sequence[str], since: datetime) -> str | None:
        """The id of the last such question of the session since then, answered or not; None where there is none."""

    def get(self, request_id: str) -> ClarificationRecord:
        """The question as it now stands."""

    def cancel(self, request_id: str) -> None:
        """Takes the question back; nothing where it was answered."""


class Sight(Protocol):
    """What a model may see: the one place that every request passes on its way out."""

    def filtered(self, session_id: str, messages: Sequence[Message], model: str) -> Sequence[Message]:
        """The messages as the model may have them, in a new list. To raise is to stop the send."""


class Setting(NamedTuple):
    """What a turn of a session works with, as of now.

    `model` is `provider/model`. `system` are pieces of the system prompt. `tools` are the names of those that the agent
    has, None for all. `most_steps` is how often a model is asked in one turn.
    """

    agent: str
    model: str
    system: tuple[Message, ...]
    tools: frozenset[str] | None
    most_steps: int


class Settings(Protocol):
    """Knows what the agents are like."""

    def of(self, session_id: str) -> Setting:
        """The setting of the session's next request. Raises `Conflict` where it has no model, or has ended."""


class Surroundings(Protocol):
    """What a model is told of files without having called for them. Nothing of this raises."""

    def context(self, session_id: str) -> Message | None:
        """What files say that go along with the session's requests, as a message of the system; None for nothing."""

    def notice(self, session_id: str) -> Message | None:
        """That files which the session's model has read are others by now; None where there is nothing new."""

    def ran(self, job: Job, output: Output, call_id: str, began: int) -> None:
        """Hears what a tool gave back that began at this moment, in nanoseconds of the epoch."""
