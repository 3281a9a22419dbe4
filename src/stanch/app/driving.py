"""Driving the one walk to its end: layers that are somebody else's are asked, and rewritten calls are stamped anew.

Settles who waits for whom. Does not settle how answers combine (`policy.walk`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from stanch.app.foreign import ask_within
from stanch.policy.layers import Failed, Layer
from stanch.policy.policies import SECONDS
from stanch.policy.walk import Record, Reply, Restamp, Standing, walk
from stanch.values.call import JudgedCall, ToolCall
from stanch.values.decision import Effect
from stanch.values.fault import BadCall


def refusing(_: ToolCall) -> JudgedCall:
    """Stamps no rewritten call: for those that nobody makes."""
    raise BadCall("nobody can stamp a rewritten call here")


def drive(
    call: JudgedCall,
    layers: Sequence[Layer],
    on_failure: Effect = Effect.ASK,
    restamp: Callable[[ToolCall], JudgedCall] = refusing,
    record: Record | None = None,
    *,
    seconds: float = SECONDS,
) -> tuple[JudgedCall, Standing]:
    """Drives the one walk to its end: asks what it wants asked, stamps what it wants stamped.

    A layer that is somebody else's, and does not say itself how long it takes, is waited for so many `seconds`.
    """
    run = walk(call, layers, on_failure, record)
    request = next(run)
    while not isinstance(request, tuple) or isinstance(request, Restamp):
        reply: Reply
        if isinstance(request, Restamp):
            old = request.call.call
            try:
                reply = call = restamp(ToolCall(old.tool, request.rewrite.arguments, old.id))
            except BadCall:
                reply = Failed("it rewrote the arguments into something that cannot be read")
        else:
            reply = ask_within(request, call, seconds)
        request = run.send(reply)
    return call, request
