"""What requests hold: the fields of each body, their types and their defaults.

Settles shapes only. A field that is not known is refused, and so is a value of another type. Does not settle whether
what is given can be used (`app`).
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, PrivateAttr

from stanch.app.engine import UNSET
from stanch.app.sessions import Given
from stanch.policy.rule import ACTIONS
from stanch.values.context import RunContext
from stanch.values.identity import Principal, PrincipalKind, Source
from stanch.values.records import RuleFields

Id = Annotated[str, Field(min_length=1, max_length=128, pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")]
Name = Annotated[str, Field(min_length=1, max_length=512)]
Line = Annotated[str, Field(max_length=512)]
Pattern = Annotated[str, Field(min_length=1, max_length=4096)]
SourceWord = Literal["web", "cli", "mobile", "telegram", "cron", "mcp", "api"]
EffectWord = Literal["allow", "ask", "deny"]
ActionWord = Literal["allow", "ask", "require", "deny"]
KindWord = Literal["user", "api_key", "mcp", "executor", "delegated", "organization_delegated"]


class Body(BaseModel):
    """A body: strict types, no further fields, and no value in an error's text."""

    model_config = ConfigDict(extra="forbid", strict=True, hide_input_in_errors=True)


class RunContextBody(Body):
    """A run context. Every field may be left out; what is left out is empty, and not as it was before."""

    security_group: Name | None = Field(default=None, description="The permission group whose rules come first.")
    system_prompt: list[str] = Field(
        default=[], description="What is added to the system prompt, joined by blank lines."
    )
    allow_fs_writes: list[str] = Field(
        default=[], description="Files and directories that may be written; no wildcards."
    )
    allow_fs_reads: list[str] = Field(default=[], description="Further files and directories that may be read.")
    working_directory: str | None = Field(default=None, description="Where relative paths and commands start.")

    def context(self) -> RunContext:
        """The run context."""
        return RunContext(
            self.security_group,
            tuple(self.system_prompt),
            tuple(self.allow_fs_writes),
            tuple(self.allow_fs_reads),
            self.working_directory,
        )


def context_in(body: RunContextBody | None) -> RunContext | None:
    """The run context of a body, None for none."""
    return None if body is None else body.context()


class PrincipalBody(Body):
    """Whom a token stands for. An agent is `delegated`, with a `service_id`; the chat model's is `copilot`."""

    kind: KindWord
    id: Name
    service_id: Name | None = None

    def principal(self) -> Principal:
        """The principal."""
        return Principal(PrincipalKind(self.kind), self.id, self.service_id)


class RowBody(Body):
    """A row that narrows a session: it denies, or has a person asked."""

    tool: Pattern = Field(description="A tool's name, a glob with '*', or '@read', '@write', '@execute', ...")
    action: Literal["ask", "require", "deny"]
    path: Pattern | None = None
    command: Pattern | None = None
    note: str | None = None
    real_approval: bool = Field(default=False, description="Whether no grant and no bypass may answer its ask.")
    frozen: bool = Field(default=False, description="Whether it stays for as long as the session lasts.")

    def row(self) -> dict[str, Any]:
        """The row, without what was left out."""
        return self.model_dump(exclude_unset=True)


class NarrowingBody(Body):
    """Rows that a session is given, and the numbers of those that are taken away from it."""

    add: list[RowBody] = []
    remove: list[int] = Field(default=[], description="Never a row that is frozen.")


class SkillsBody(Body):
    """Skills that become active in a session, and those that are active no more."""

    add: list[Name] = []
    remove: list[Name] = []


class SessionBody(Body):
    """A new session."""

    agent_id: Name
    source: SourceWord = "api"
    session_id: Id | None = Field(default=None, description="Its id; one is made where none is given.")
    parent_id: Name | None = Field(default=None, description="The session whose subagent works in it.")
    model: Name | None = None
    approver: bool | None = Field(
        default=None,
        description="Whether somebody answers what it asks; where nobody does, it is rejected at once. Left out: as "
        "its parent, else true.",
    )
    principal: PrincipalBody | None = Field(
        default=None,
        description="The agent whose session it is: a delegated principal. Left out: the chat model's own, on behalf "
        "of whoever asks.",
    )
    run_context: RunContextBody | None = Field(
        default=None, description="Left out: the policy's default for the agent, else for the source. null: none."
    )
    skills: list[Name] = Field(default=[], description="The skills of the policy that are active from the start.")
    narrowing: list[RowBody] = Field(default=[], description="Rows that deny or ask, for this session alone.")

    def given_context(self) -> Given:
        """The context, or that none was given."""
        return context_in(self.run_context) if "run_context" in self.model_fields_set else UNSET


class ProjectSessionBody(Body):
    """A new session of a project, or of a ticket of it."""

    agent_id: Name
    source: SourceWord = "web"
    ticket_id: Name | None = None
    session_id: Id | None = None
    model: Name | None = None
    approver: bool = Field(default=True, description="Whether somebody answers what it asks.")


class JobSessionBody(Body):
    """A new session of a scheduled job."""

    session_id: Id | None = None
    model: Name | None = None
    approver: bool = Field(default=True, description="Whether somebody answers what it asks.")


class ModelBody(Body):
    """The model that a session uses from now on."""

    model: Name | None


class ProjectChangeBody(Body):
    """A project without its context."""

    name: Name
    description: str = ""
    directory: str | None = None
    grant_tree: bool = Field(default=False, description="Whether its sessions may write below its directory.")


class ProjectBody(ProjectChangeBody):
    """A new project."""

    run_context: RunContextBody | None = None


class TicketChangeBody(Body):
    """A ticket without its context."""

    title: Name
    body: str = ""


class TicketBody(TicketChangeBody):
    """A new ticket."""

    run_context: RunContextBody | None = None


class JobChangeBody(Body):
    """A scheduled job without its context."""

    name: Name
    cron: Line = Field(description="Five fields, in UTC: minute, hour, day of the month, month, day of the week.")
    prompt: str
    agent_id: Name
    enabled: bool = True


class JobBody(JobChangeBody):
    """A new scheduled job."""

    run_context: RunContextBody | None = None


class GroupChangeBody(Body):
    """A permission group without its rules."""

    name: Name
    description: str = ""


class GroupBody(Body):
    """A new permission group."""

    id: Id
    name: Name | None = Field(default=None, description="Left out: its id.")
    description: str = ""


class DuplicateBody(Body):
    """What the copy of a group is called."""

    id: Id | None = Field(default=None, description="Left out: the id of the original with '-copy' behind it.")
    name: Name | None = None


class RuleBody(Body):
    """A rule."""

    group_id: Name = "default"
    priority: int = Field(default=100, ge=-(1 << 31), le=(1 << 31) - 1, description="Lower is read first.")
    agent_id: Name | None = None
    source: SourceWord | None = None
    tool_pattern: Pattern = Field(description="A tool's name, a glob with '*', or '@read', '@write', '@execute', ...")
    path_pattern: Pattern | None = None
    command_pattern: Pattern | None = None
    action: ActionWord = Field(description="'require' is another word for 'ask'.")
    mandatory: bool = False
    note: str | None = None

    def fields(self) -> RuleFields:
        """The rule."""
        return RuleFields(
            group_id=self.group_id,
            priority=self.priority,
            agent_id=self.agent_id,
            source=None if self.source is None else Source(self.source),
            tool_pattern=self.tool_pattern,
            path_pattern=self.path_pattern,
            command_pattern=self.command_pattern,
            action=ACTIONS[self.action],
            mandatory=self.mandatory,
            note=self.note,
        )


class TokenBody(Body):
    """A new token."""

    name: Name
    principal: PrincipalBody


class AboutBody(Body):
    """The session that is asked about: a stored one, or one that is described."""

    session_id: Name | None = Field(default=None, description="A stored session; the fields below are then left out.")
    cwd: str | None = Field(default=None, description="Where relative paths start.")
    agent: Name | None = None
    source: SourceWord | None = None
    group: Name | None = Field(default=None, description="Wins over the context's.")
    model: Name | None = None
    context: RunContextBody | None = Field(
        default=None, description="Left out: the policy's default for the agent, else for the source. null: none."
    )
    skills: list[Name] = Field(default=[], description="The skills of the policy that are active.")


class CheckBody(AboutBody):
    """A call, and the session that would make it: a stored one, or one that is described."""

    tool: Name
    arguments: dict[str, Any]
    call_id: Line = ""


class ExplainBody(CheckBody):
    """A call that is to be explained, and the answer that somebody would rather have."""

    to: EffectWord = Field(default="allow", description="What has to change for this answer is said, too.")
    _everyone: bool = PrivateAttr(default=False)

    @property
    def everyone(self) -> bool:
        """True where whoever asks may read what was recorded of every session."""
        return self._everyone

    def looks_at_all(self, everyone: bool) -> None:
        """Says whether they may: that is no field, since nobody says it of themselves."""
        self._everyone = everyone
