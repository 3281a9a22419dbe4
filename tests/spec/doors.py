"""The doors through which cases are asked: the library, and the command line.

Each door translates a case into what its own users would write, and its answer back. None knows what is right.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from typer.testing import CliRunner

from stanch.app.case_places import Place
from stanch.app.case_records import Case, Change, Holds, Judge, Load, Open
from stanch.app.case_runner import Door, LibraryDoor, Told
from stanch.surfaces.cli.main import app
from stanch.values.reason import Code

EXITS = {0: "allow", 10: "ask", 11: "deny"}
ONLY_A_PROGRAM_GIVES = ("layers", "bypass")


class CommandLineDoor:
    """`stanch check --json` and `stanch policy check --json`, in this process."""

    def expresses(self, case: Case) -> bool:
        """True for calls and loading, in sessions that can be typed."""
        acts = all(isinstance(act, (Judge, Load, Change, Holds)) for act in case.acts)
        relative = not str(case.given.get("cwd", "/")).startswith("/")  # read against where the command is typed
        return acts and not relative and not any(key in case.given for key in ONLY_A_PROGRAM_GIVES)

    def judge(self, place: Place, act: Judge) -> Told:
        given: Mapping[str, Any] = place.mapped(place.case.given)
        words = ["check", "--policy", str(place.real(place.policy)), "--json"]
        words += ["--tool", act.tool, "--args", json.dumps(place.mapped(act.args))]
        for key in ("group", "agent", "source", "model", "cwd"):
            words += [f"--{key}", given[key]] if key in given else []
        words += ["--context", json.dumps(given["context"])] if "context" in given else []
        done = CliRunner().invoke(app, words, catch_exceptions=False)
        if done.exit_code not in EXITS:
            assert done.exit_code == 2
            assert not done.stdout
            return Told(fault=done.stderr, everything=done.stderr)
        said = json.loads(done.stdout)
        assert said["effect"] == EXITS[done.exit_code]
        reason, rule = said["reason"], said["reason"]["rule"] or {}
        return Told(
            said["effect"], reason["code"], reason["layer"], rule.get("id"), rule.get("group"), reason["subject"],
            rule.get("place"), reason["sentence"], None, done.output,
        )  # fmt: skip

    def problems(self, place: Place) -> list[tuple[int, str, bool]]:
        done = CliRunner().invoke(app, ["policy", "check", str(place.real(place.policy)), "--json"])
        found = json.loads(done.stdout)["problems"]
        assert done.exit_code == (1 if found else 0)
        return [(one["line"], one["message"], one["warning"]) for one in found]

    def opens(self, act: Open) -> Code | None:
        raise NotImplementedError


DOORS: dict[str, type[Door]] = {"library": LibraryDoor, "command line": CommandLineDoor}
