"""The one way out to a model.

Settles that a request holds what the conversation holds, as this model may have it, and nothing else; and that a
failure on the way stops the send. Does not settle what a model may have (`runtime.ports.Sight`).
INVARIANT: whatever the agent library would send, this makes the messages anew from the stored ones, for every request.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

from anyio.to_thread import run_sync
from pydantic_ai.messages import ModelMessage, ModelResponse
from pydantic_ai.models import Model, ModelRequestParameters, StreamedResponse
from pydantic_ai.models.wrapper import WrapperModel
from pydantic_ai.settings import ModelSettings

from stanch.runtime.ports import Sight
from stanch.runtime.transcript import model_messages
from stanch.values.message import Message


class SendStopped(Exception):
    """A request was not sent, since what the model may see of it could not be told."""


class Sending(WrapperModel):
    """A model that is sent nothing unfiltered."""

    def __init__(
        self, wrapped: Model, sight: Sight, session_id: str, model: str, said: Callable[[], Sequence[Message]]
    ) -> None:
        """`said` gives the whole conversation as of now, the system's part first. `model` is `provider/model`."""
        super().__init__(wrapped)
        self._sight, self._session_id, self._model, self._said = sight, session_id, model, said

    async def request(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> ModelResponse:
        """Sends the conversation, whatever `messages` are."""
        del messages
        return await self.wrapped.request(await self._outgoing(), model_settings, model_request_parameters)

    @asynccontextmanager
    async def request_stream(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
        run_context: Any = None,
        **more: Any,
    ) -> AsyncIterator[StreamedResponse]:
        """Sends the conversation, whatever `messages` are."""
        del messages
        outgoing = await self._outgoing()
        async with self.wrapped.request_stream(
            outgoing, model_settings, model_request_parameters, run_context, **more
        ) as stream:
            yield stream

    async def count_tokens(self, *_: Any, **__: Any) -> Any:
        """Nothing is counted by a provider: that would be another send."""
        raise SendStopped("count_tokens")

    async def compact_messages(self, *_: Any, **__: Any) -> Any:
        """Nothing is compacted by a provider: that would be another send."""
        raise SendStopped("compact_messages")

    async def batch_encode(self, *_: Any, **__: Any) -> Any:
        """Nothing is sent in batches: that would be another send."""
        raise SendStopped("batch_encode")

    async def _outgoing(self) -> list[ModelMessage]:
        try:
            filtered = await run_sync(self._sight.filtered, self._session_id, tuple(self._said()), self._model)
            return model_messages(filtered)
        except Exception as why:
            raise SendStopped(type(why).__name__) from why
