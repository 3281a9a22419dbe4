"""The calls of recorded sessions with the gate's answers, counted.

Settles the records of a report, its sums and its JSON. Does not settle how a call is put to the gate (`asking`) nor how
a report is shown (`text`, `html`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from stanch.app.redacting import Withheld
from stanch.explain import sentence
from stanch.explain.written import rule_json
from stanch.surfaces.replay import known_secrets
from stanch.surfaces.replay.known_secrets import KnownSecret
from stanch.surfaces.replay.records import ReplayCall, Warned
from stanch.surfaces.replay.withholding import summed
from stanch.surfaces.wire import Json, decision_json, unreadable, unreadable_json
from stanch.values.decision import Decision, Effect
from stanch.values.reason import Reason

WITHHELD = "withheld: give a model with --model to see what it would not have been sent"


@dataclass(frozen=True, slots=True)
class Row:
    """One call and its answer; `decision` is None for a call that cannot be read, and `fault` then says why.

    The arguments of the call are gone, since a long session writes a lot; `asked` is what is shown of them.
    """

    call: ReplayCall
    asked: str
    cwd: str
    decision: Decision | None
    fault: str = ""

    @property
    def effect(self) -> Effect:
        """The gate's answer."""
        return Effect.DENY if self.decision is None else self.decision.effect

    @property
    def reason(self) -> Reason:
        """Why the answer is what it is."""
        return unreadable(self.call.tool, self.fault) if self.decision is None else self.decision.reason

    @property
    def sentence(self) -> str:
        """The reason as a person reads it."""
        return sentence(self.reason, self.effect)

    @property
    def answer(self) -> Json:
        """The answer as every door gives it."""
        return unreadable_json(self.call.tool, self.fault) if self.decision is None else decision_json(self.decision)

    def json(self) -> Json:
        """The row as JSON."""
        call = self.call
        return {
            "id": call.id,
            "tool": call.tool,
            **self.answer,
            "where": call.where,
            "cwd": self.cwd,
            "subagent": call.subagent,
            "inside": call.inside or None,
            "agent": call.agent or None,
            "session": call.session or None,
            "model": call.model or None,
            "time": call.time or None,
        }


@dataclass(slots=True)
class FileReport:
    """One file: what it is, how many calls it holds, how many of them were told of again, and its workspace.

    `withheld` is what the model that was asked about would not have been sent of it; None where nobody can say.
    `secrets` are the known ones in it; None where nobody gave any.
    """

    name: str
    kind: str
    rows: list[Row] = field(default_factory=list)
    repeated: int = 0
    workspace: str = ""
    withheld: list[Withheld] | None = None
    secrets: list[KnownSecret] | None = None

    def json(self) -> Json:
        """The file as JSON."""
        return {
            "file": self.name,
            "kind": self.kind,
            "calls": len(self.rows),
            "repeated": self.repeated,
            "workspace": self.workspace or None,
            "withheld": _rows(self.withheld),
            "secrets": _names(self.secrets),
        }


@dataclass(slots=True)
class Tally:
    """How many calls one rule, reason or tool answered, by answer."""

    about: Any
    counts: Counter[Effect] = field(default_factory=Counter)

    @property
    def order(self) -> tuple[int, int, int]:
        """Sorts the most asked first, then the most denied, then the most allowed."""
        return -self.counts[Effect.ASK], -self.counts[Effect.DENY], -self.counts[Effect.ALLOW]

    @property
    def total(self) -> int:
        """How many calls there are in all."""
        return sum(self.counts.values())

    def json(self) -> Json:
        """The counts as JSON."""
        return {effect.value: self.counts[effect] for effect in Effect}


@dataclass(slots=True)
class Report:
    """Everything a replay found, file by file. `model` is the one that was asked about."""

    files: list[FileReport]
    warnings: list[Warned]
    policy: Json
    model: str | None = None
    told: tuple[str, ...] = ()

    @property
    def withheld(self) -> list[Withheld] | None:
        """What the model would not have been sent of all files, by path; None where nobody can say of some."""
        found = [file.withheld for file in self.files]
        if self.model is None or None in found:
            return None
        return summed(row for rows in found for row in rows or ())

    @property
    def secrets(self) -> list[KnownSecret] | None:
        """The known secrets in all files, by name; None where nobody gave any."""
        found = [file.secrets for file in self.files if file.secrets is not None]
        return known_secrets.summed(row for rows in found for row in rows) if found else None

    @property
    def notes(self) -> list[str]:
        """What the report does not say, and why."""
        return [WITHHELD] if self.model is None else list(self.told)

    @property
    def rows(self) -> list[Row]:
        """Every call, in the order of the files."""
        return [row for file in self.files for row in file.rows]

    def count(self, effect: Effect) -> int:
        """How many calls have this answer."""
        return sum(row.effect is effect for row in self.rows)

    @property
    def questions(self) -> int:
        """How many questions a person would have been asked."""
        return self.count(Effect.ASK)

    def by_rule(self) -> list[Tally]:
        """The rules that decided calls, the most asked first."""
        return self._tally(lambda row: row.reason.rule)

    def by_answer(self) -> list[Tally]:
        """What decided calls, the most asked first: a rule, or the reason code where no rule spoke."""
        return self._tally(lambda row: row.reason.rule or row.reason.code)

    def by_reason(self) -> list[Tally]:
        """The reason codes, the most asked first."""
        return self._tally(lambda row: row.reason.code.value)

    def by_tool(self) -> list[Tally]:
        """The tools that were called, the most asked first."""
        return self._tally(lambda row: row.call.tool)

    def _tally(self, about: Callable[[Row], Any]) -> list[Tally]:
        found: dict[Any, Tally] = {}
        for row in self.rows:
            what = about(row)
            if what is not None:
                found.setdefault(what, Tally(what)).counts[row.effect] += 1
        return sorted(found.values(), key=lambda tally: tally.order)

    def json(self) -> Json:
        """The whole report as JSON."""
        return {"calls": [row.json() for row in self.rows], **self.sums()}

    def sums(self) -> Json:
        """The report as JSON, without the calls."""
        return {
            "questions": self.questions,
            "summary": {
                "calls": len(self.rows),
                **{effect.value: self.count(effect) for effect in Effect},
                "by_rule": [{**rule_json(t.about), **t.json()} for t in self.by_rule()],
                "by_reason": [{"code": t.about, **t.json()} for t in self.by_reason()],
                "by_tool": [{"tool": t.about, **t.json()} for t in self.by_tool()],
            },
            "withheld": _rows(self.withheld),
            "secrets": _names(self.secrets),
            "notes": self.notes,
            "warnings": [{"file": w.file, "line": w.line or None, "message": w.message} for w in self.warnings],
            "files": [file.json() for file in self.files],
            "policy": self.policy,
        }


def _rows(withheld: list[Withheld] | None) -> list[Json] | None:
    return None if withheld is None else [row.as_json() for row in withheld]


def _names(secrets: list[KnownSecret] | None) -> list[Json] | None:
    return None if secrets is None else [row.as_json() for row in secrets]
