"""One turn of a session: the agent library goes on with the stored conversation until its model has nothing to do.

Settles what is stored when, and how a turn ends. Does not settle which turns there are (`runtime.turns`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import pydantic_ai
from anyio.to_thread import run_sync
from pydantic_ai import Agent
from pydantic_ai.exceptions import AgentRunError, ModelAPIError, ModelHTTPError, UsageLimitExceeded, UserError
from pydantic_ai.messages import PartDeltaEvent, PartStartEvent, TextPart, TextPartDelta
from pydantic_ai.models import Model
from pydantic_ai.usage import UsageLimits

from stanch.runtime.conversation import Conversation
from stanch.runtime.live import Kind, Live
from stanch.runtime.ports import Setting, Settings, Sight, Surroundings
from stanch.runtime.send import Sending, SendStopped
from stanch.runtime.toolset import Described, GatedToolset
from stanch.runtime.transcript import model_messages
from stanch.tiers.tier import TiersBroken
from stanch.values.fault import Fault

pydantic_ai.BANNER_ENABLED = False  # WHY: a terminal in which somebody talks to an agent shows what it says, no more


class Failed(Exception):
    """A turn cannot go on: a short name of why, and a sentence without content."""

    def __init__(self, code: str, sentence: str) -> None:
        self.code, self.sentence = code, sentence
        super().__init__(sentence)


@dataclass(frozen=True, slots=True)
class Parts:
    """What a turn is driven with. `model_of` makes the model of a `provider/model`; `toolset_of` the toolset."""

    settings: Settings
    sight: Sight
    live: Live
    surroundings: Surroundings
    model_of: Callable[[str], Model]
    toolset_of: Callable[[Conversation, Mapping[str, Described]], GatedToolset]
    described: Mapping[str, Described]


async def drive(conversation: Conversation, parts: Parts) -> None:
    """Goes on until the model answers without a call. Raises `Failed`."""
    steps = 0
    while True:
        try:
            setting = await run_sync(parts.settings.of, conversation.session_id)
            model = await run_sync(parts.model_of, setting.model)
        except Fault as why:
            raise Failed("turn_refused", str(why)) from None
        # WHY once for each model: what one may be shown of them, another one may not.
        context = await run_sync(parts.surroundings.context, conversation.session_id, abandon_on_cancel=True)
        conversation.context = () if context is None else (context,)
        leg = _Leg(conversation, parts, setting, model, steps)
        try:
            done = await leg.run()
        except Exception as why:
            raise _failed(why, setting) from why
        if done:
            return
        steps = leg.steps


class _Leg:
    """The part of a turn that one model is asked in."""

    def __init__(self, conversation: Conversation, parts: Parts, setting: Setting, model: Model, steps: int) -> None:
        self._conversation, self._parts, self._setting, self._model = conversation, parts, setting, model
        self.steps = steps

    async def run(self) -> bool:
        """True once the model has nothing more to do; False where the session has another model by now."""
        conversation, setting = self._conversation, self._setting
        agent = self._agent()
        limits = UsageLimits(request_limit=setting.most_steps - self.steps)
        history = model_messages(conversation.unfinished())
        resumed = bool(conversation.open_calls())
        async with agent.iter(None, message_history=history, usage_limits=limits) as run:
            async for node in run:
                if Agent.is_model_request_node(node):
                    await conversation.add_request(node.request)
                    if not await self._is_still_its_model():
                        return False
                    if not self.steps:
                        await self._notice()
                    self.steps += 1
                    async with node.stream(run.ctx) as stream:
                        async for event in stream:
                            self._tell(event)
                elif Agent.is_call_tools_node(node):
                    if resumed:
                        resumed = False  # its process died before all of its calls were run
                    else:
                        await conversation.add_response(node.model_response, setting.model)
                        self._parts.live.tell(conversation.session_id, Kind.MESSAGE, role="assistant")
                    async with node.stream(run.ctx) as calls:
                        async for _ in calls:
                            pass
        return True

    def _agent(self) -> Agent[None, str]:
        conversation, parts, setting = self._conversation, self._parts, self._setting
        sending = Sending(
            self._model,
            parts.sight,
            conversation.session_id,
            setting.model,
            lambda: (*setting.system, *conversation.context, *conversation.messages),
        )
        tools = {name: tool for name, tool in parts.described.items() if setting.tools is None or name in setting.tools}
        return Agent(sending, toolsets=[parts.toolset_of(conversation, tools)], retries=3, output_type=str)

    async def _notice(self) -> None:
        """Stores what the model is to be told of files, once all of its calls have their results."""
        conversation, parts = self._conversation, self._parts
        told = await run_sync(parts.surroundings.notice, conversation.session_id, abandon_on_cancel=True)
        if told is not None:
            await conversation.add(told)
            parts.live.tell(conversation.session_id, Kind.MESSAGE, role="user")

    async def _is_still_its_model(self) -> bool:
        now = await run_sync(self._parts.settings.of, self._conversation.session_id)
        return now.model == self._setting.model

    def _tell(self, event: object) -> None:
        words = ""
        if isinstance(event, PartStartEvent) and isinstance(event.part, TextPart):
            words = event.part.content
        elif isinstance(event, PartDeltaEvent) and isinstance(event.delta, TextPartDelta):
            words = event.delta.content_delta
        if words:
            self._parts.live.tell(self._conversation.session_id, Kind.TEXT, text=words)


_HINTS = {
    401: ": its provider does not take the key",
    403: ": its provider does not let this key use it",
    404: ": does its provider have a model of that name, and is base_url its address?",
}


def _failed(why: Exception, setting: Setting) -> Failed:
    """Why a turn ended, in words of ours: an error's own text may quote what was sent."""
    model = setting.model
    cause: BaseException | None = why
    while cause is not None:
        if isinstance(cause, SendStopped):
            said = cause.__cause__ if isinstance(cause.__cause__, TiersBroken) else cause
            return Failed("send_stopped", f"Nothing was sent to {model}: what it may see could not be told ({said})")
        cause = cause.__cause__
    if isinstance(why, Fault):
        return Failed("turn_refused", str(why))
    if isinstance(why, UsageLimitExceeded):
        return Failed("too_many_steps", f"The turn took {setting.most_steps} requests to {model} and was ended")
    if isinstance(why, ModelHTTPError):
        hint = _HINTS.get(why.status_code, "")
        return Failed("model_failed", f"{model} answered with the status {why.status_code}{hint}")
    if isinstance(why, ModelAPIError):
        return Failed(
            "model_failed",
            f"{model} could not be reached: does its provider's server run, and is base_url its address?",
        )
    if isinstance(why, AgentRunError | UserError):
        return Failed("model_failed", f"{model} answered what nobody can go on with ({type(why).__name__})")
    return Failed("turn_broke", f"The turn broke: {type(why).__name__}")
