"""Carrying out cases: each is played in a temporary directory, through a door, and what came out is held against it.

Settles when a case fails and what is said then. Does not settle the form of case files (`app.case_files`).
A door is a way to ask the engine. The library is one and stands here; others are handed in.
"""

from __future__ import annotations

import json
import os
import posixpath
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

from stanch.app import (
    case_admission,
    case_calls,
    case_flipping,
    case_history,
    case_judging,
    case_projection,
    case_tags,
    case_vault,
    case_workbench,
    loading,
)
from stanch.app.asking import Kin
from stanch.app.case_layers import answers_of, bypass_of, layer_of, read_context, standing
from stanch.app.case_organization import organization_of
from stanch.app.case_places import Place, home_of
from stanch.app.case_records import (
    Admitting,
    Benching,
    Calls,
    Case,
    Change,
    Conversed,
    History,
    Holds,
    Judge,
    Load,
    Open,
    Probed,
    Projection,
    Send,
    Vaulting,
)
from stanch.app.case_store import engine_of
from stanch.app.case_told import Mismatch, Told, held, short, told
from stanch.app.engine import Engine, Session
from stanch.app.item_rules import ItemRules, Readable, closed_without_path
from stanch.delivery.admit import MayRead
from stanch.paths import opening
from stanch.policy.lint import line_of, lint
from stanch.tiers.answers import NO_ANSWERS
from stanch.tiers.history import Redacted
from stanch.values.call import Stamp
from stanch.values.fault import BadCall, BadInput, Fault
from stanch.values.identity import Source
from stanch.values.message import Message
from stanch.values.reason import Code
from stanch.values.verdict import Face


class Door(Protocol):
    """A way to ask the engine, opened for one case."""

    def expresses(self, case: Case) -> bool:
        """True where the case can be asked through this door."""

    def judge(self, place: Place, act: Judge) -> Told:
        """What the door says of a call."""

    def problems(self, place: Place) -> list[tuple[int, str, bool]]:
        """The line and message of everything wrong with the policy, and whether it is but a warning."""

    def findings(self, place: Place) -> list[tuple[int, str]]:
        """The line and message of everything that lint says of the policy."""

    def opens(self, act: Open) -> Code | None:
        """Opens what was judged last; the code of the refusal, None where it opened."""

    def sent(self, place: Place, said: Sequence[Message], send: Send) -> Redacted:
        """The conversation as the model of the send may have it. Raises a `Fault` where nothing may be sent."""

    def conversed(self, place: Place, act: Conversed) -> list[Mismatch]:
        """Everything that came of another program's conversation otherwise than the case says."""

    def verdict(self, place: Place, act: Probed, face: Face) -> dict[str, Any] | str:
        """The record of the judge's verdict on a probe, or the words of the fault that it ends with."""


def run_case(case: Case, folder: Path, door: Door) -> list[Mismatch]:
    """Everything that came out of the case otherwise than it says; an empty list where it holds. `folder` is empty."""
    place = Place(folder, case)
    found: list[Mismatch] = []
    with home_of(place):
        for act in case.acts:
            match act:
                case Judge():
                    found += held(place, act.expected, door.judge(place, act), f"{act.tool} {_arguments(act.args)}: ")
                    if act.flips is not None:
                        found += case_flipping.played(place, act, LibraryDoor().session(place))
                case Load():
                    found += _loaded(act, door.problems(place), place)
                    found += _linted(act, door.findings(place) if act.findings else [], place)
                case Change():
                    place.change(act.tree)
                case Open():
                    got = _opened(door, act)
                    if got != (act.refused or "opens"):
                        found.append(Mismatch(act.refused or "opens", got))
                case Holds():
                    got = _content(place.real(act.path))
                    if got != repr(act.text):
                        found.append(Mismatch(f"{act.path} holds {act.text!r}", got))
                case Calls():
                    found += case_calls.played(place, act)
                case History():
                    found += case_history.played(place, act, door.sent)
                case Conversed():
                    found += door.conversed(place, act)
                case Projection():
                    found += case_projection.played(case, act)
                case Vaulting():
                    found += case_vault.played(case, act)
                case Probed():
                    found += case_judging.played(place, act, door.verdict)
                case Benching():
                    found += case_workbench.played(case, act)
                case Admitting():
                    found += case_admission.played(case, act, lambda: LibraryDoor().may_read(place))
    return found


def _opened(door: Door, act: Open) -> str:
    try:
        return door.opens(act) or "opens"
    except (OSError, ValueError) as error:
        return f"cannot be opened: {error}"


def _content(path: Path) -> str:
    try:
        return repr(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError):
        return "nothing that can be read"


def _arguments(args: Any) -> str:
    """The arguments of a call as a person would type them: JSON."""
    return short(json.dumps(args, ensure_ascii=False, default=str))


def _loaded(act: Load, problems: list[tuple[int, str, bool]], place: Place) -> list[Mismatch]:
    left = list(problems)
    found = []
    for line, says, warning in act.problems:
        fitting = (one for one in left if line in (None, one[0]) and says in place.shown(one[1]) and one[2] is warning)
        one = next(fitting, None)
        if one is None:
            found.append(Mismatch(f"line {line}: ...{says}...", "; ".join(f"line {n}: {m}" for n, m, _ in problems)))
        else:
            left.remove(one)
    return found + [Mismatch("no further problem", f"line {line}: {place.shown(message)}") for line, message, _ in left]


def _linted(act: Load, findings: list[tuple[int, str]], place: Place) -> list[Mismatch]:
    found = []
    for line, says in act.findings:
        if not any(line in (None, at) and says in place.shown(message) for at, message in findings):
            got = "; ".join(f"line {at}: {message}" for at, message in findings)
            found.append(Mismatch(f"line {line}: ...{says}...", got or "no finding"))
    return found


class LibraryDoor:
    """The engine, asked in this process."""

    def __init__(self) -> None:
        self._judged: Stamp | None = None

    def expresses(self, case: Case) -> bool:  # noqa: ARG002 - whatever the case
        """True: a program can give everything that a case can."""
        return True

    def judge(self, place: Place, act: Judge) -> Told:
        """The decision of a session as the case gives it, taken twice: with and without a trace."""
        standing_in = self._standing_in(place)
        try:
            session = self._session(place, standing_in)
            arguments = place.mapped(act.args)
            decision = session.check(act.tool, arguments)
            traced = session.check(act.tool, arguments, trace=True)
        except (Fault, ValueError) as fault:
            code = Code.CALL_UNREADABLE.value if isinstance(fault, BadCall) else None
            return Told(code=code, fault=str(fault), everything=repr(fault))
        self._judged = decision.call.effects[decision.at].stamp
        if traced._replace(trace=()) != decision:
            return replace(told(decision), sentence="with a trace the answer is another", code=None)
        return told(traced)

    def session(self, place: Place) -> Session:
        """The session as the case gives it."""
        return self._session(place, self._standing_in(place))

    def problems(self, place: Place) -> list[tuple[int, str, bool]]:
        """What loading the policy found."""
        return [(one.line, one.message, one.warning) for one in self._engine(place).policy.problems]

    def findings(self, place: Place) -> list[tuple[int, str]]:
        """What lint says of the policy."""
        return [(line_of(one.place), one.message) for one in lint(self._engine(place).policy)]

    def opens(self, act: Open) -> Code | None:
        """Opens the judged target and closes it again."""
        if self._judged is None:
            raise ValueError("nothing with a path was judged before this step")
        flags = os.O_RDONLY if act.how == "read" else os.O_WRONLY | os.O_CREAT
        opened = opening.open_judged(self._judged, flags, parents=act.how == "write")
        if isinstance(opened, Code):
            return opened
        os.close(opened)
        return None

    def sent(self, place: Place, said: Sequence[Message], send: Send) -> Redacted:
        """The copy, with no more tags than the case gives."""
        return case_history.sent_by(loading.open_engine(place.real(place.policy)).policy, place, said, send)

    def conversed(self, place: Place, act: Conversed) -> list[Mismatch]:  # noqa: ARG002 - its disk is all names
        """What was read, tagged and written."""
        return case_tags.played(act)

    def verdict(self, place: Place, act: Probed, face: Face) -> dict[str, Any] | str:
        """What the judge of a session as the case gives it says, alone and in a batch."""
        try:
            session = self._session(place, self._standing_in(place))
        except (Fault, ValueError) as fault:
            return str(fault)
        return case_judging.verdict_of(place, session, act, face)

    def may_read(self, place: Place) -> MayRead:
        """What the rules and tiers of the case say of items below its workspace."""
        session = self._session(place, self._standing_in(place))
        root, seen = session.engine.policy.workspace, session.seen
        items = ItemRules(lambda: [Kin("main", session, ())], root, None)
        closed = [why for one in seen if (why := closed_without_path(one.tier, one.model, NO_ANSWERS)) is not None]
        readable = Readable(items, closed[0] if closed else None)
        return lambda path: readable(None if path is None else posixpath.join(root, path))

    def _engine(self, place: Place) -> Engine:
        policy, store = place.real(place.policy), place.case.given.get("store")
        try:
            return loading.open_engine(policy) if store is None else engine_of(policy, store)
        except (KeyError, ValueError, AttributeError) as why:
            raise place.wrong(f"what the case wants in the store cannot be: {type(why).__name__}") from None

    def _standing_in(self, place: Place) -> dict[str, Any]:
        """The layers and bypasses of the case. Raises `BadInput` for one that cannot be made."""
        given = place.mapped(place.case.given)
        try:
            layers = [layer_of(row) for row in given.get("layers", ())]
            bypasses = [bypass_of(row) for row in given.get("bypass", ())]
            answers = answers_of(given.get("answers", ()))
            organization = organization_of(given["organization_rules"]) if "organization_rules" in given else None
        except (BadInput, KeyError, ValueError, TypeError, AttributeError) as why:
            said = f"'{why.args[0]}' is missing" if isinstance(why, KeyError) else str(why)
            raise place.wrong(said) from None
        also = given.get("also", ())
        return {
            "layers": layers, "bypasses": bypasses, "also": also, "answers": answers, "organization": organization,
        }  # fmt: skip

    def _session(self, place: Place, standing_in: Mapping[str, Any]) -> Session:
        given = place.mapped(place.case.given)
        if "context" in given:
            given["context"] = None if given["context"] is None else read_context(given["context"])
        if "source" in given:
            given["source"] = Source(given["source"])
        named = {name: given[name] for name in ("context", "agent", "source", "group", "cwd", "model") if name in given}
        named["unreadable"] = (given.get("store") or {}).get("session")
        engine = self._engine(place)
        return engine.session(**named, **standing_in, **standing(engine, given))
