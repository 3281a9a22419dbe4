"""What may still become a secret: the end of a text of which more will come, and the ends of one that somebody cut.

Settles from which place on a text has to be held back until more of it is known, and which ends of a cut text are taken
for pieces of a secret. Does not settle what is done about it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from stanch.secrets.anchors import Hit
from stanch.secrets.encodings import FLOOR
from stanch.secrets.escapes import BREAKS, CONTEXT, ESCAPES, Reading
from stanch.secrets.matcher import Layer


def held(layers: Sequence[Layer], data: bytes, start: int, hits: Sequence[Hit]) -> int:
    """The first place from `start` on of which more has to be known; else the end.

    A form may begin there of which the rest is missing, or a hit that may yet be widened by the rest of an escape.
    """
    cut = min((layer.beginnings.begun(data, start) for layer in layers), default=len(data))
    readings: list[Reading] = []
    for escape in ESCAPES:
        if layers and any(hint.mark in data for hint in escape.hints):
            begun = escape.begun.search(data, max(start, len(data) - CONTEXT))
            edge = begun.start() if begun else len(data)
            reading = Reading(data, ((0, edge),), escape)
            if reading.text or begun:
                cut = min(cut, _escaped(layers, reading, reading.text or data[:edge], start))
            if escape is not BREAKS:
                readings.append(reading)
                if begun:
                    cut = min([cut, *(begin for begin, end, _ in hits if begin >= start and -end > edge)])
    return max(start, _before(readings, cut))


def _escaped(layers: Sequence[Layer], reading: Reading, text: bytes, start: int) -> int:
    """The same where the escapes of one kind are undone."""
    first = reading.read_at(start)
    found = len(text)
    for layer in layers:
        forms = layer.broken_beginnings if reading.escape is BREAKS else layer.beginnings
        found = min(found, forms.begun(text, first))
    return reading.place(found)[0]


def _before(readings: Sequence[Reading], cut: int) -> int:
    """The place, or where the escapes begin that it lies in."""
    while True:
        earlier = min((reading.widened(cut, cut)[0] for reading in readings), default=cut)
        if earlier == cut:
            return cut
        cut = earlier


def torn(layers: Sequence[Layer], data: bytes) -> Iterator[Hit]:
    """The ends of a cut text that are how a form ends or begins, or all of it where it is the inside of one.

    Only pieces of as many bytes as the floor count: fewer are no sign of a secret.
    """
    size = len(data)
    if size < FLOOR:
        return
    for layer in layers:
        at = layer.beginnings.begun(data, 0)
        if size - at >= FLOOR and (form := layer.beginnings.beginning_with(data[at:])):
            yield at, -size, layer.forms[form][0]
        head = data[: layer.longest][::-1]
        at = layer.endings.begun(head, 0)
        if len(head) - at >= FLOOR and (form := layer.endings.beginning_with(head[at:])):
            yield 0, at - len(head), layer.forms[form[::-1]][0]
        if size < layer.longest:
            yield from ((0, -size, names) for form, (names, _) in layer.forms.items() if data in form and data != form)
