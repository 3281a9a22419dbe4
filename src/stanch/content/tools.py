"""Running one tool outside of a conversation: judged as a call of that tool, and its result given like an item.

Settles what is answered. Does not settle which tools there are, nor what is known of a result (`app.performing`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import Field

from stanch.content.access import Access
from stanch.content.acting import Does, Judged, Standing
from stanch.delivery.admit import admit_written_content
from stanch.delivery.operation import Asked, ContentDelivery, Given, operation
from stanch.delivery.source import COMPLETE, Kind, Source, known
from stanch.values.fault import BadFields, BadInput, Fault, NotFound

MOST_SECRETS = 50
SecretName = Annotated[str, Field(min_length=1, max_length=128)]
CallId = Annotated[str, Field(min_length=1, max_length=200)]


class CallStands(Fault):
    """The call of the tool may not run now. `reason` says why, as doors write it; `asks`: a person can still approve
    it, and then it runs by its `call_id`.
    """

    def __init__(self, call: Judged) -> None:
        self.reason: Mapping[str, Any] = call.reason
        self.call_id, self.asks = call.call_id, call.standing is Standing.WAITS
        words = str(call.reason.get("sentence", "")) or "the call may not run"
        more = f". Once a person has approved it, ask again with the call {call.call_id}" if self.asks else ""
        super().__init__(words + more)


class ExecuteTool(Asked):
    """Which tool to run, with what."""

    tool: Annotated[str, Field(min_length=1, max_length=200)]
    arguments: dict[str, Any] = Field(default_factory=dict)
    secrets: tuple[SecretName, ...] = Field(
        default=(),
        max_length=MOST_SECRETS,
        description="Names of the vault whose values a command gets as variables of these names.",
    )
    session: str | None = Field(
        default=None,
        min_length=1,
        max_length=512,
        description="The session whose call it is. A model's is always its own.",
    )
    call: CallId | None = Field(
        default=None,
        description="A call of the same tool and arguments that a person was asked about, and has approved.",
    )


class ToolRan(Given):
    """What came of a tool. `failed`: it could not do what it was asked, `value` says why."""

    tool: str
    call_id: str
    value: Any
    failed: bool


@operation("tools_execute", ExecuteTool, tool="tools_execute", content_delivery=ContentDelivery.SOURCED)
def execute_tool(access: Access, asked: ExecuteTool) -> ToolRan:
    """Run one of the built-in tools, or one of the program that Stanch is part of, as a call of the session.

    Where a person has to be asked first, it says which call to ask for again.
    """
    acting = access.acting
    if acting is None:
        raise BadInput("nothing runs tools here")
    session_id = acting.session_for(access, asked.session)
    if session_id is None:
        raise BadFields(("session", "'session' is needed: a tool acts in one"))
    if acting.does(asked.tool) is not Does.TOOL:
        raise NotFound("tool", asked.tool)
    arguments = dict(asked.arguments)
    acting.check_secrets(access, asked.tool, asked.secrets)
    if asked.secrets:
        if "secrets" in arguments:
            raise BadFields(("arguments", "'arguments' holds 'secrets', which stand beside them"))
        # WHY among the arguments: whoever approves the call has to see which secrets it gets.
        arguments["secrets"] = list(asked.secrets)
    if asked.call is None:
        call = acting.submit(access, session_id, asked.tool, arguments)
    else:
        call = acting.look(session_id, asked.call, asked.tool, arguments)
    if call.standing is not Standing.READY:
        raise CallStands(call)
    # A person may have taken some of them out of the call; none that they put in is one that was asked for.
    left = call.arguments.get("secrets", ())
    secrets = [name for name in asked.secrets if name in left]
    done = acting.perform(access, asked.tool, call.arguments, session_id=session_id, call=call, secrets=secrets)
    if isinstance(done, Judged):
        raise CallStands(done)
    # It has run, whatever of its result may be given: it is not run again for that.
    result = known(done.provenance)
    sources = [Source(Kind.RESULT, call.call_id, result, COMPLETE, path) for path in done.came_from or (None,)]
    admit_written_content(access.delivery, sources, saved=False)
    return ToolRan(tool=asked.tool, call_id=call.call_id, value=done.value, failed=done.failed)
