"""What a simple command does: its program looked up, its words held against the table, wrappers taken off.

Settles the effects of one command and how it changes the state of the shell. Does not settle the order in which
commands run (`policy.shell.running`), what built-ins and programs with a language of their own do
(`policy.shell.builtins`, `policy.shell.special`), nor how code that a program is given is run (`policy.shell.inner`).
"""

from __future__ import annotations

import posixpath
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from stanch.policy.shell import builtins, expanding, inner, landing, leaving, printing, special
from stanch.policy.shell.arithmetic import names_in
from stanch.policy.shell.assigning import assignments, weigh, with_set
from stanch.policy.shell.drafting import part_of, placed, said
from stanch.policy.shell.naming import spread, texts
from stanch.policy.shell.operands import use_of
from stanch.policy.shell.outcome import (
    NO_OUTPUT,
    NOWHERE,
    UNKNOWN_OUTPUT,
    Assigns,
    Draft,
    Opened,
    Result,
    left_by,
    one_of,
)
from stanch.policy.shell.pieces import Word, known
from stanch.policy.shell.reading import Found, Part, shown
from stanch.policy.shell.state import Node, State
from stanch.policy.shell.touching import NETWORK, moved, touch
from stanch.policy.shell.use import Use
from stanch.policy.shell.values import with_arguments
from stanch.policy.shell.verbs import UNKNOWN, Verb
from stanch.policy.shell.walk import QUIET, Call, Walk
from stanch.values.command import Command

SYSTEM = re.compile(r"(?:/usr(?:/local)?|/opt/homebrew|/snap)?/s?bin/")
PROJECT = re.compile(r"(?:\./)?(?:\.venv|venv|node_modules/\.)/?bin/|(?:\./)?vendor/bin/")
_ELEMENT = re.compile(r"\[.*(?:\$\(|`)", re.DOTALL)


def call(run: Walk, node: Node, state: State, opened: Opened) -> Result:
    """Goes through a simple command in every reading of its words."""
    if node.get("Type") == "DeclClause":
        result = builtins.declare(run, node, state, opened)
        run.notes.clear()
        return result
    assigns, after = assignments(run, node.get("Assigns") or [], state)
    result = NOWHERE
    run.meanwhile = {}
    readings = expanding.fields(node.get("Args") or [], state, run)
    for name, (held, surely) in run.meanwhile.items():
        if surely and Counter(names_in(node))[name] > 1:
            run.note("a variable that is set while a word is read")
        state = with_set(state, name, held)
    run.meanwhile = None
    for words in readings:
        noted = run.notes[0] if run.notes else ""
        here = opened._replace(unread=opened.unread or noted)
        one = run.simple(words, assigns, state, here) if words else _only_assigns(run, assigns, after, here)
        result = one_of(result, one)
    run.notes.clear()
    return result


def _only_assigns(run: Walk, assigns: Assigns, after: State, opened: Opened) -> Result:
    draft = Draft(opened, assigns)
    weigh("", draft)
    if draft.found or draft.unread or draft.needs:
        why = draft.unread or (f"a change of {min(draft.needs)}, which changes what runs" if draft.needs else "")
        text = " ".join(f"{name}={said(value)}" for name, value in assigns) or opened.shown
        run.parts.append(Part(Command(shown(text), inert=True, unread=why), tuple(draft.found)))
    leaving.leave_targets(run, opened, "")
    return Result(after, after, opened.output or NO_OUTPUT)


def simple(run: Walk, words: Sequence[Word], assigns: Assigns, state: State, opened: Opened) -> Result:
    """Goes through one command of which every word is in place."""
    before = len(run.parts)
    result = _simple(run, words, assigns, state, opened)
    # WHY last: commands that this one runs have places of their own by now.
    run.parts[before:] = [placed(part, state) for part in run.parts[before:]]
    return result


def _simple(run: Walk, words: Sequence[Word], assigns: Assigns, state: State, opened: Opened) -> Result:
    first = words[0]
    if first.wild:
        result = NOWHERE
        for found in texts(run, first, state):
            result = one_of(result, run.simple([known(found), *words[1:]], assigns, state, opened))
        return result
    draft = Draft(opened, assigns)
    name = first.text
    weigh(name or "", draft)
    if name is None:
        draft.say_unread(f"a program that is not known: {first.why or 'a name out of a search'}")
        for word in words[1:]:
            touch(run, "any", word, state, draft)
        run.parts.append(part_of(words, None, draft, "", UNKNOWN))
        lost = replace(state, lost=True)
        return Result(lost, lost)
    called = NOWHERE
    if name in state.functions and "/" not in name:
        inside = with_arguments(_with_assigned(state, assigns), spread(run, words[1:], state, draft))
        called = left_by(run.function(name, state.functions[name], inside, opened.stdin), state)
        if None not in state.functions[name]:
            if draft.found or draft.unread or draft.needs:
                run.parts.append(part_of(words, None, draft, "", Verb((name,), inert=True)))
            return called
    program = posixpath.basename(name.rstrip("/")) or name
    here = Call(run, program, list(words[1:]), state, opened, draft, Use(QUIET))
    handler = builtins.HANDLERS.get(name)
    if handler is not None:
        return one_of(called, handler(here))
    place = (
        "" if "/" not in name or SYSTEM.fullmatch(name[: len(name) - len(program)]) else posixpath.dirname(name) + "/"
    )
    if place:
        leaving.run_script(here, first)
        place = "" if PROJECT.fullmatch(place) else place
    return one_of(called, _program(here, place, words, run.verbs.get(program, UNKNOWN)))


def _with_assigned(state: State, assigns: Assigns) -> State:
    for name, value in assigns:
        state = with_set(state, name, (value,))
    return replace(state, exported=state.exported | {name for name, _ in assigns})


def _program(here: Call, place: str, words: Sequence[Word], verb: Verb) -> Result:
    run, program, state, opened, draft = here.run, here.program, here.state, here.opened, here.draft
    given = spread(run, here.words, state, draft)
    use = use_of(verb, given)
    if verb.inert and any(_ELEMENT.search(word.text or "") for word in given):
        draft.say_unread("an element of a list that runs code")
    inside = _based(run, use, state, draft)
    here = here._replace(words=given, use=use, state=inside)
    if use.verb.special in special.READERS and not use.quiet:
        special.READERS[use.verb.special](here)
    landing.land(here)
    _apply(here)
    place_of_part = len(run.parts)
    run.parts.append(placed(part_of(words, use, draft, place, verb), inside))
    shell_state = _with_assigned(inside, draft.assigns)
    result = inner.run_inner(here._replace(state=shell_state), place_of_part)
    out = printing.output_of(here)
    leaving.leave(here, out)
    if result is not None:
        return left_by(result, state)
    sure = words[0].text == program and not opened.moved and not draft.assigns
    fails = None if sure and program in ("true", ":") else state
    ok = None if sure and program == "false" else state
    silent = use.verb.inert and out == UNKNOWN_OUTPUT
    return Result(ok, fails, NO_OUTPUT if silent else out)


def _based(run: Walk, use: Use, state: State, draft: Draft) -> State:
    for word in use.base:
        there = moved(run, word, state)
        if there is None:
            draft.say_unread(f"a directory that is not known: {word.why}")
            return replace(state, lost=True)
        touch(run, "maybe", word, state, draft)
        state = there
    return state


def _apply(here: Call) -> None:
    """Takes down the effects of what the words were found to be."""
    run, use, draft = here.run, here.use, here.draft
    if use.unread:
        draft.say_unread(use.unread)
    for kind, word in use.acts:
        if kind == "script":
            leaving.run_script(here, word)
        else:
            touch(run, kind, word, here.state, draft)
    if use.verb.network and not use.quiet and all(found.cls is not NETWORK for found in draft.found):
        draft.found.append(Found(NETWORK, None, subject=""))
