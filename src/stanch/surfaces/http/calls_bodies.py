"""What requests about calls, and about what waits for a person, hold.

Settles shapes only, as `bodies` does. INVARIANT: an answer that is none of the known words, in its very type, is none.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from stanch.app.bypassing import LONGEST_BYPASS
from stanch.gate.plans import MOST_PLACES
from stanch.surfaces.http.bodies import Body, Line, Name

Text = Annotated[str, Field(min_length=1, max_length=100_000)]
ScopeWord = Literal["category", "mcp_server", "all"]
CategoryWord = Literal["filesystem", "shell", "subagent", "introspection", "config", "network", "mcp"]
Seconds = Annotated[int, Field(ge=0, le=LONGEST_BYPASS)]


class CallBody(Body):
    """A call that a session's agent wants to make."""

    tool: Name
    arguments: dict[str, Any]
    tool_call_id: Line = Field(default="", description="What the agent calls it. Nothing is looked up by it.")
    cwd: Name | None = Field(default=None, description="Where its relative paths start; left out, where it works.")


class StartBody(Body):
    """What is about to be run, where its runner says so: any other than was judged is refused."""

    tool: Name | None = None
    arguments: dict[str, Any] | None = None


class FinishBody(Body):
    """How a call that was running ended."""

    outcome: Literal["completed", "failed", "cancelled"]


class ResolveBody(Body):
    """A person's answer to a request for approval. `tool` and `arguments` are an edit, left out for as it is."""

    action: Literal["approve", "reject"]
    note: Annotated[str, Field(max_length=10_000)] | None = None
    tool: Name | None = None
    arguments: dict[str, Any] | None = None
    bypass_secs: Seconds | None = Field(
        default=None, description="Approve what is like it too, for so long; 0: until the session ends."
    )
    bypass_scope: ScopeWord | None = Field(
        default=None, description="Left out: the tool's category if known, else its MCP server, else all."
    )
    include_subagents: bool = False


class ShownBody(Body):
    """A request of a plan as it was shown: what `fingerprint` said there."""

    request_id: Line
    fingerprint: Line


class PlanAnswerBody(Body):
    """A person's answer to requests of a plan: to those that are named, and to no other."""

    action: Literal["approve", "reject"]
    note: Annotated[str, Field(max_length=10_000)] | None = None
    requests: Annotated[list[ShownBody], Field(min_length=1, max_length=MOST_PLACES)]


class QuestionBody(Body):
    """A question to a person."""

    question: Text
    choices: list[str] = Field(default=[], description="Answers to choose from; left out for any text.")


class AnswerBody(Body):
    """A person's answer to a question."""

    answer: Text


class BypassBody(Body):
    """A new bypass."""

    secs: Seconds = Field(description="How long it holds; 0: until the session ends.")
    scope: ScopeWord | None = Field(default=None, description="Left out: what is named below, else all.")
    category: CategoryWord | None = None
    mcp_server: Name | None = None
    include_subagents: bool = False
