"""Guards, each of which can be taken out: then the worlds have to be told apart, or the comparison sees nothing.

What is taken out here is taken out of the program in this process alone, for as long as a block lasts.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from stanch.app.content import Content
from stanch.app.projected_messages import Projected
from stanch.content import file_edits, file_items, file_searching, file_texts, file_writing, table_queries
from stanch.content.file_edits import Seen
from stanch.delivery import admit
from stanch.delivery.admit import Delivery, Window
from stanch.delivery.gates import RegistryGate
from stanch.delivery.source import OPAQUE, Source
from stanch.provenance.states import UNRECORDED, Provenance, Unknown

Patch = pytest.MonkeyPatch


def _opaque_passes(patch: Patch) -> None:
    """Bytes pass that carry secrets."""
    real = RegistryGate.admit

    def admitting(self: RegistryGate, source: Source, provenance: Provenance) -> Any:
        return None if source.view is OPAQUE and not isinstance(provenance, Unknown) else real(self, source, provenance)

    patch.setattr(RegistryGate, "admit", admitting)


def _unknown_passes(patch: Patch) -> None:
    """What nobody knows passes as if nobody had recorded anything."""
    real = RegistryGate.admit

    def admitting(self: RegistryGate, source: Source, provenance: Provenance) -> Any:
        return real(self, source, UNRECORDED if isinstance(provenance, Unknown) else provenance)

    patch.setattr(RegistryGate, "admit", admitting)


def _nothing_projected(patch: Patch) -> None:
    """A result leaves as the operation gave it."""

    def leaving(_: Content, __: Any, result: Any) -> Any:
        return result.model_dump(mode="json") if hasattr(result, "model_dump") else result

    patch.setattr(Content, "leaving", leaving)


def _cut_as_it_is(patch: Patch) -> None:
    """A text is cut first; what is left of a secret at an edge is none that anybody finds."""

    def cutting(_: Delivery, text: str, window: Window) -> str:
        return text[window.start : window.end]

    for path in sorted((Path(admit.__file__).parent.parent / "content").glob("*.py")):
        module = importlib.import_module(f"stanch.content.{path.stem}")
        if hasattr(module, "redact_before_cutting"):
            patch.setattr(module, "redact_before_cutting", cutting)


def _searched_as_it_is(patch: Patch) -> None:
    """An expression is searched for in a text with its secrets."""
    patch.setattr(file_searching, "projected", lambda _, text: text)


def _edited_as_it_is(patch: Patch) -> None:
    """An edit is held against the text with its secrets."""
    real = file_edits.edited

    def editing(text: str, _: Seen, old: str, new: str, *, everywhere: bool) -> Any:
        return real(text, Seen(text), old, new, everywhere=everywhere)

    patch.setattr(file_writing, "edited", editing)


def _closed_is_named(patch: Patch) -> None:
    """A list names what a rule or a tier closes."""
    for module in ("files", "archives"):
        patch.setattr(importlib.import_module(f"stanch.content.{module}"), "may_be_named", lambda *_: True)


def _digest_is_told(patch: Patch) -> None:
    """A file's digest says which content it has."""
    real = file_items.shown

    def shown(access: Any, file: Any) -> Any:
        return real(access, file).model_copy(update={"digest": file.digest})

    patch.setattr(file_items, "shown", shown)


def _tier_closes_nothing(patch: Patch) -> None:
    """Neither a rule nor a tier says anything of an item."""
    patch.setattr(Content, "_may_read", lambda *_, **__: None)


def _sent_as_stored(patch: Patch) -> None:
    """What a tool read on the disk goes to the model's provider as it is stored."""
    patch.setattr(Projected, "sent", lambda _, messages, __: messages)


def _figures_are_told(patch: Patch) -> None:
    """A figure is told over rows that the model may not read, or that carry a number."""
    real = table_queries._figures

    def figures(access: Any, *given: Any) -> Any:
        return real(replace(access, delivery=Delivery(_SOMEBODY)), *given)

    patch.setattr(table_queries, "_figures", figures)


def _withheld_is_counted_by_its_words(patch: Patch) -> None:
    """A count says how long what was left out is."""
    real = file_searching._previewed

    def previewed(access: Any, found: Any) -> Iterator[Any]:
        for one, (file, spot) in zip(real(access, found), found, strict=True):
            lines = [] if spot is None else file_texts.text_of(access, file.digest).text.split("x")
            yield one.model_copy(update={"version": one.version + (len(lines) if one.withheld else 0)})

    patch.setattr(file_searching, "_previewed", previewed)


class _Nobody:
    is_copilot = False


_SOMEBODY: Any = _Nobody()
GUARDS: Mapping[str, Callable[[Patch], None]] = {
    one.__name__.removeprefix("_"): one
    for one in (
        _opaque_passes,
        _unknown_passes,
        _nothing_projected,
        _cut_as_it_is,
        _searched_as_it_is,
        _edited_as_it_is,
        _closed_is_named,
        _digest_is_told,
        _tier_closes_nothing,
        _sent_as_stored,
        _figures_are_told,
        _withheld_is_counted_by_its_words,
    )
}
CLOSED_BY_TIER = ("tier_closes_nothing",)
"""Guards that are missed only where a model is in a tier that closes something."""

SOON_MISSED = (
    "opaque_passes",
    "unknown_passes",
    "nothing_projected",
    "closed_is_named",
    "digest_is_told",
    "tier_closes_nothing",
    "figures_are_told",
)
"""Those that few sessions miss, and CI takes out; the others by `./run soak`."""


@contextmanager
def without(guard: str) -> Iterator[None]:
    """The same program without the guard."""
    patch = pytest.MonkeyPatch()
    GUARDS[guard](patch)
    try:
        yield
    finally:
        patch.undo()
