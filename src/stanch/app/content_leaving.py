"""What an operation gave, on its way out to a model: projected, and with a receipt kept before the first byte.

Settles the order of the two, and that what is admitted while a stream goes on has its receipt before its bytes. Does
not settle which items are admitted (`delivery.admit`), nor how a receipt is kept (`app.receipts`).
INVARIANT: what an operation refused, or failed with, leaves a receipt of the items that it had looked at, too.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import suppress
from dataclasses import replace
from typing import Any

from pydantic import BaseModel

from stanch.content.streams import Stream
from stanch.delivery.admit import ContentRefused, Delivery, Ended
from stanch.delivery.gates import RegistryGate
from stanch.secrets.budget import Withheld
from stanch.secrets.labelled import Labelled
from stanch.secrets.projection import Projector
from stanch.values.fault import Fault
from stanch.values.reason import Code, LayerId, Reason


def left(delivery: Delivery, result: Any) -> Any:
    """A result as it may leave: JSON-like and without a secret; of a stream, the same bytes without one.

    Raises `ContentRefused` where nothing of it may go to the model, or no receipt of it can be kept.
    """
    try:
        projector = _projector(delivery)
        if isinstance(result, Stream):
            return _stream(delivery, result, projector)
        given, replaced = _projected(result, projector)
    except Withheld as why:
        unsaid = _unsaid(delivery, Code.CONTENT_UNSCANNED, why.cause.value)
    except ContentRefused as why:
        unsaid = why
    else:
        _keep(delivery, Ended.GIVEN, replaced)
        return given
    gave_nothing(delivery, unsaid)
    raise unsaid


def gave_nothing(delivery: Delivery, why: Fault) -> None:
    """Keeps a receipt of a delivery that ends with this refusal or error, where it can be kept: nothing leaves anyway.

    Of an error about no item nothing is kept: it was made of no content.
    """
    if delivery.receipts is None or (isinstance(why, ContentRefused) and why.reason.code is Code.RECEIPT_FAILED):
        return
    with suppress(ContentRefused):
        if isinstance(why, ContentRefused):
            delivery.receipts.left(delivery, Ended.REFUSED, (), why.reason.code.value)
        elif delivery.settled:
            delivery.receipts.left(delivery, Ended.FAILED, (), type(why).__name__)


def _keep(delivery: Delivery, ended: Ended, replaced: Collection[str] = (), code: str = "", since: int = 0) -> None:
    if delivery.receipts is not None:
        delivery.receipts.left(delivery, ended, replaced, code, since)


def _projector(delivery: Delivery) -> Projector:
    gate = delivery.gate
    if not isinstance(gate, RegistryGate) or gate.registry.latched is not None:
        raise _unsaid(delivery, Code.REGISTRY_LATCHED)
    return gate.projector()


def _projected(result: Any, projector: Projector) -> tuple[Any, frozenset[str]]:
    """The result without secrets, and the names of those for which a label stands in it."""
    if isinstance(result, BaseModel):
        result = result.model_dump(mode="json")
    given = projector.text(result) if isinstance(result, str) else projector.structure(result)
    # WHY the labels, too: a text that was cut has been projected before.
    replaced = Labelled(projector).in_value(given)
    return given, replaced if given is result else replaced | projector.found_in(result)


def _stream(delivery: Delivery, stream: Stream, projector: Projector) -> Stream:
    # WHY these too: they become headers of an answer.
    named = replace(stream, name=projector.text(stream.name), media_type=projector.text(stream.media_type))
    replaced = Labelled(projector).in_value([named.name, named.media_type])
    _keep(delivery, Ended.GIVEN, replaced)
    if stream.text:
        # WHY without these: the receipt before the first byte has said so.
        carried = {name for one in delivery.settled for name in one.secrets}
        chunks = _texts(delivery, stream.chunks, projector, carried | replaced)
        return Stream(chunks, named.name, named.media_type, None, text=True)
    return replace(named, chunks=_bytes(delivery, stream.chunks))


def _bytes(delivery: Delivery, chunks: Iterator[bytes]) -> Iterator[bytes]:
    """The same blocks. WHY looked at one by one: of an archive, items are admitted while it is on its way."""
    told = len(delivery.settled)
    try:
        for chunk in chunks:
            if len(delivery.settled) > told:
                _keep(delivery, Ended.GIVEN, since=told)
                told = len(delivery.settled)
            yield chunk
    except ContentRefused as why:
        _broke_off(delivery, why, told)
        raise
    if len(delivery.settled) > told:
        _keep(delivery, Ended.GIVEN, since=told)


def _broke_off(delivery: Delivery, why: ContentRefused, told: int) -> None:
    if why.reason.code is not Code.RECEIPT_FAILED and len(delivery.settled) > told:
        with suppress(ContentRefused):
            _keep(delivery, Ended.REFUSED, code=why.reason.code.value, since=told)


def _texts(delivery: Delivery, chunks: Iterator[bytes], projector: Projector, named: set[str]) -> Iterator[bytes]:
    """The same bytes without secrets. What is found on the way has a receipt before its label leaves."""
    passing = projector.data_stream(bulk=True)

    def out(data: bytes) -> bytes:
        new = passing.found - named
        if new:
            _keep(delivery, Ended.GIVEN, new)
            named.update(new)
        return data

    for chunk in _bytes(delivery, chunks):
        if data := out(passing.feed(chunk)):
            yield data
    if data := out(passing.end()):
        yield data


def _unsaid(delivery: Delivery, code: Code, detail: str = "") -> ContentRefused:
    """Nothing of the result goes to the model, whatever was saved."""
    return ContentRefused(Reason(code, LayerId.DELIVERY, detail=detail), saved=delivery.committed)
