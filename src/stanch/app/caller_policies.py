"""A policy of the embedding application as a layer: asked in a worker, awaited there, and read as a layer's answer.

Settles what becomes of what a policy says. Does not settle how long anybody waits (`app.foreign`, `app.judging`), nor
which of several answers counts (`policy.policies`).
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from stanch.gate.fingerprint import same_arguments
from stanch.policy.layers import NO_OBJECTION, Failed, LayerAnswer, Rewrite
from stanch.policy.policies import (
    NOBODY,
    SECONDS,
    THREW,
    Asker,
    Policy,
    Says,
    Settled,
    line_of,
    read,
    request_of,
    seconds_of,
)
from stanch.values.call import JudgedCall, Signal
from stanch.values.decision import Answer, Effect
from stanch.values.fault import BadCall
from stanch.values.reason import Code, LayerId
from stanch.values.verdict import Cause

_SETTLED = {
    Settled.NO_APPROVER: Code.NO_APPROVER,
    Settled.EXPIRED: Code.APPROVAL_EXPIRED,
    Settled.CANCELLED: Code.CANCELLED,
}
_LOOK = 0.02
MARGIN = 0.5
"""How much longer a layer is waited for than its policy, which may see to its own end."""
_REWRITING = Failed("it wants other arguments, which only the session's own policy may", Cause.REWRITTEN)
_ODD = Failed("it rewrote the arguments into something that cannot be read", Cause.REWRITTEN)
_CANCELLED = Failed("nobody waited for it any more", Cause.TIMED_OUT)


class PolicyLayer:
    """One policy as a layer: the session's own, an ancestor's, or a hook.

    `who` is whose call it is asked about. `fits` says of which tools it is asked; None: of all. `usual` is how long it
    is waited for where it does not say itself, in seconds.
    """

    immediate = False

    def __init__(
        self,
        layer: LayerId,
        policy: Policy,
        who: Asker = NOBODY,
        *,
        fits: Callable[[str], bool] | None = None,
        usual: float = SECONDS,
    ) -> None:
        self.id, self.policy, self.who, self._fits, self._usual = layer, policy, who, fits, usual

    @property
    def authority(self) -> Policy:
        """Whoever is asked in the end."""
        return self.policy

    @property
    def seconds(self) -> float:
        """How long the layer is waited for."""
        return seconds_of(self.policy, self._usual) + MARGIN

    def concerns(self, tool: str) -> bool:
        """True where it is asked about calls of this tool; whoever asks it all the same hears no objection."""
        return self._fits is None or self._fits(tool)

    def ask(self, call: JudgedCall) -> LayerAnswer:
        """The policy's answer, the same for each effect of the call. Raises whatever the policy raises."""
        if not self.concerns(call.call.tool):
            return NO_OBJECTION
        said = self.policy(request_of(call, self.who))
        if isinstance(said, Awaitable):
            said = awaited(said, call.manner.signal)
        heard = read(said)
        if isinstance(heard, Rewrite):
            # WHY no change: one that writes the same once more would else be taken for one that never ends.
            return NO_OBJECTION if _same(heard, call) else self._rewritten(heard)
        return self._meant(heard, len(call.effects))

    def _rewritten(self, said: Rewrite) -> Rewrite | Failed:
        # SPEC: an ancestor's policy can deny and ask. What it would change is not silence either.
        return _REWRITING if self.id is LayerId.INHERITED_CONSTRAINT else _kept(said)

    def _meant(self, said: Says | Failed | None, count: int) -> LayerAnswer:
        if said is None:
            return NO_OBJECTION
        if isinstance(said, Failed):
            return said
        if said.effect is Effect.ALLOW:
            return NO_OBJECTION
        if said.is_settlement and said.settled is not None:
            code = _SETTLED[said.settled]
            return [Answer(Effect.DENY, code, self.id, detail="whoever waited for it")] * count
        mandated, words = said.effect is Effect.ASK, line_of(said.message) or "without a word"
        return [Answer(said.effect, Code.POLICY_SAYS, self.id, mandated=mandated, detail=words)] * count


def _kept(rewrite: Rewrite) -> Rewrite | Failed:
    """The rewrite with arguments of its own, that nobody else can change once they have been judged."""
    try:
        plain = _plain(rewrite.arguments)
    except (TypeError, ValueError, RecursionError):
        return _ODD
    return Rewrite(plain) if isinstance(plain, dict) else _ODD


def _same(said: Rewrite, call: JudgedCall) -> bool:
    kept = _kept(said)
    try:
        return isinstance(kept, Rewrite) and same_arguments(kept.arguments, call.call.arguments)
    except BadCall:
        return False  # the call itself holds what JSON cannot say


def _plain(value: Any) -> Any:
    """The value, made anew of plain JSON types. Raises `TypeError` and `ValueError` for what JSON cannot say."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        if not math.isfinite(value):
            raise ValueError
        return float(value)
    if isinstance(value, Mapping):
        if not all(isinstance(key, str) for key in value):
            raise TypeError
        return {_text(key): _plain(held) for key, held in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(held) for held in value]
    raise TypeError


def _text(value: str) -> str:
    """The same text. Raises `ValueError` for half a letter, which can be neither kept nor sent anywhere."""
    plain = str(value)
    plain.encode()
    return plain


def awaited(said: Awaitable[Any], signal: Signal | None) -> Any:
    """What is awaited, in a loop of its own; cancelled once nobody waits for it any more."""
    with asyncio.Runner() as runner:
        return runner.run(_within(said, signal))


async def _within(said: Awaitable[Any], signal: Signal | None) -> Any:
    task = asyncio.ensure_future(_caught(said))
    while not task.done():
        if signal is not None and signal.is_set():
            task.cancel()
            await asyncio.wait((task,))
            break
        await asyncio.wait((task,), timeout=None if signal is None else _LOOK)
    return _CANCELLED if task.cancelled() else task.result()


async def _caught(said: Awaitable[Any]) -> Any:
    """What it comes to. WHY whatever it raises: the loop would say of an interrupt what was in it, and to whom."""
    try:
        return await said
    except asyncio.CancelledError:
        raise
    except BaseException:
        return THREW
