"""The part that a simple command becomes: its words as rules see them, with its effects.

Settles the record that is kept of a command that was read. Does not settle its effects (`policy.shell.commands`).
"""

from __future__ import annotations

import posixpath
from collections.abc import Sequence

from stanch.policy.shell.outcome import Draft
from stanch.policy.shell.pieces import Value, Word, quoted
from stanch.policy.shell.reading import Part, shown
from stanch.policy.shell.state import State
from stanch.policy.shell.use import Use
from stanch.policy.shell.values import text_of
from stanch.policy.shell.verbs import UNKNOWN, Verb
from stanch.policy.shell.walk import Walk
from stanch.values.command import Command


def part_of(words: Sequence[Word], use: Use | None, draft: Draft, place: str, verb: Verb) -> Part:
    """The part that the draft has become."""
    leaf = use.verb if use is not None else verb
    first = words[0].text
    text = " ".join(word.shown for word in words)
    if draft.assigns:
        text = " ".join(f"{name}={said(value)}" for name, value in draft.assigns) + " " + text
    command = Command(
        shown(text),
        "" if first is None else posixpath.basename(first.rstrip("/")) or first,
        place,
        tuple(word.text for word in words[1:]),
        0 if use is None else use.front,
        True if use is None else use.plain_front,
        leaf.takes.union(verb.takes, *(above.takes for above in use.above)) if use is not None else verb.takes,
        leaf.aliases + (verb.aliases if leaf is not verb else ()),
        verb is not UNKNOWN,
        tuple((name, text_of(value)) for name, value in draft.assigns),
        frozenset(draft.needs),
        leaf.inert or (leaf.wrapper == "plain" and (use is None or use.quiet or bool(use.inner or use.code))),
        draft.unread,
    )
    return Part(command, tuple(dict.fromkeys(draft.found)), tuple(draft.scripts))


def placed(part: Part, state: State) -> Part:
    """The part with the directories that the shell may stand in, unless it has places of its own."""
    if part.places:
        return part
    return part._replace(places=(*state.cwds, None) if state.lost else state.cwds)


def said(value: Value) -> str:
    """A value as a person is shown it."""
    text = text_of(value)
    return "…" if text is None else quoted(text)


def mark_unread(run: Walk, place: int, why: str) -> None:
    """Says of a part that was made before that it cannot be read; the first reason stands."""
    part = run.parts[place]
    run.parts[place] = part._replace(command=part.command._replace(unread=part.command.unread or why))
