"""Programs that are asked about calls: what they are told, and how their answer is read.

Settles the form of both. Does not settle how a program is run (`host.program`), nor what becomes of its answer
(`app.caller_policies`). Whatever is not exactly an answer is none.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from stanch.host.program import End, run_program
from stanch.policy.layer_tables import Program
from stanch.policy.layers import Failed, Rewrite
from stanch.policy.policies import SECONDS, PolicyRequest, Said, Says
from stanch.values.decision import Effect
from stanch.values.verdict import Cause

MOST_OUTPUT = 1 << 20
_EFFECTS = {effect.value: effect for effect in Effect}
_KEYS = {"effect", "message", "arguments"}
_WHY = {
    End.NOT_STARTED: Failed("its program cannot be started"),
    End.TOO_LATE: Failed("its program took too long", Cause.TIMED_OUT),
    End.TOO_MUCH: Failed("its program wrote too much"),
    End.NOT_WANTED: Failed("nobody waited for it any more", Cause.TIMED_OUT),
}
_EXITED = Failed("its program ended with an error")
_ODD = Failed("its program wrote nothing that can be read")
_UNTELLABLE = Failed("its program cannot be told of these arguments")


class ProgramPolicy:
    """A program as a policy. It is started anew for each call, in `directory`.

    It is waited for `usual` seconds where it does not say otherwise.
    """

    def __init__(self, program: Program, directory: str, usual: float = SECONDS) -> None:
        self.seconds = usual if program.seconds is None else program.seconds
        self._command, self._directory = program.command, directory

    def __call__(self, request: PolicyRequest) -> Said:
        """What the program says of the call; no answer where it fails in any way."""
        try:
            told = json.dumps(told_of(request), allow_nan=False).encode()
        except (TypeError, ValueError, RecursionError):
            return _UNTELLABLE
        signal = request.signal
        outcome = run_program(
            self._command,
            told + b"\n",
            directory=self._directory,
            seconds=self.seconds,
            most=MOST_OUTPUT,
            unwanted=(lambda: False) if signal is None else signal.is_set,
        )
        if outcome.end is not End.DONE:
            return _WHY[outcome.end]
        return _EXITED if outcome.code else answer_of(outcome.output)


def program_files(programs: Iterable[Program], directory: str) -> Iterator[Path]:
    """The files that programs consist of, as far as their commands name them, whether or not they are there yet."""
    for program in programs:
        for at, word in enumerate(program.command):
            path = Path(directory, word)
            if path.is_file() or (at == 0 and "/" in word and not path.exists()):
                yield path


def told_of(request: PolicyRequest) -> dict[str, Any]:
    """What a program is told of a call, as JSON."""
    told: dict[str, Any] = {
        "version": 1,
        "tool": request.tool,
        "arguments": dict(request.arguments),
        "call_id": request.call_id,
        "touches": [
            {"effect": None if one.effect is None else one.effect.value, "path": one.path, "argument": one.argument}
            for one in request.touches
        ],
        "agent": request.agent,
        "source": request.source,
        "session": request.session,
        "approval_reach": request.approval_reach.value,
    }
    return told | ({"facts": dict(request.facts)} if request.facts else {})


def answer_of(output: bytes) -> Said:
    """The answer that a program wrote: `effect`, and with it a `message`, or with an allow other `arguments`."""
    try:
        said = json.loads(output.decode(), object_pairs_hook=_once, parse_constant=_no_number)
    except (ValueError, RecursionError):
        return _ODD
    if not isinstance(said, dict) or said.keys() - _KEYS or not isinstance(said.get("effect"), str):
        return _ODD
    effect, message, arguments = _EFFECTS.get(said["effect"]), said.get("message"), said.get("arguments")
    if effect is None or not isinstance(message, str | None):
        return _ODD
    if "arguments" not in said:
        return Says(effect, message or "")
    if effect is not Effect.ALLOW or not isinstance(arguments, dict):
        return _ODD
    return Rewrite(arguments)


def _once(pairs: list[tuple[str, Any]]) -> Mapping[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key stands twice")
    return found


def _no_number(_: str) -> Any:
    raise ValueError("no JSON number")
