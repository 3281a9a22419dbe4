"""A session over a policy in a temporary directory, with stand-ins for the layers that a test is about."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from stanch.app.judging import Judge
from stanch.app.loading import open_engine
from stanch.app.session import Session
from stanch.judge.question import Probe
from stanch.policy.layers import NO_OBJECTION, Layer, LayerAnswer
from stanch.values.call import JudgedCall
from stanch.values.decision import Answer, Effect
from stanch.values.reason import Code, LayerId
from stanch.values.verdict import Face, State

ALL_READS = '[[groups.rules]]\ntool = "@read"\naction = "allow"\n[[groups.rules]]\ntool = "@write"\naction = "allow"\n'
READ, WRITE = Face.READ, Face.WRITE
HELD = {READ: State.MANDATED_ASK, WRITE: State.ASK}


def policy(root: Path, rules: str = ALL_READS, head: str = "") -> Path:
    """A policy file below `root` with these rules in `default`."""
    file = root / "stanch.toml"
    file.write_text(f'version = 1\nworkspace = "."\n{head}\n[[groups]]\nid = "default"\n{rules}')
    return file


def session(root: Path, *layers: Layer, rules: str = ALL_READS, head: str = "", **given: Any) -> Session:
    """A session over such a policy."""
    return open_engine(policy(root, rules, head)).session(layers=layers, **given)


def judge(root: Path, *layers: Layer, rules: str = ALL_READS, **more: Any) -> Judge:
    """The judge of such a session."""
    return Judge([session(root, *layers, rules=rules)], **more)


def probe(face: Face = READ, path: str = "a.txt", **more: Any) -> Probe:
    """A probe of a file in the workspace."""
    return Probe(face, "attachment", path, **more)


@dataclass
class Says:
    """A layer that says what a function says, and counts how often it is asked, and with which calls."""

    id: LayerId
    says: Callable[[JudgedCall], LayerAnswer]
    immediate: bool = False
    asked: list[JudgedCall] = field(default_factory=list)

    def ask(self, call: JudgedCall) -> LayerAnswer:
        self.asked.append(call)
        return self.says(call)


def saying(layer: LayerId, effect: Effect | None, code: Code = Code.RULE, **more: Any) -> Says:
    """A layer that always gives this answer; None for no objection."""
    immediate = more.pop("immediate", False)
    answer = None if effect is None else Answer(effect, code, layer, **more)

    def says(call: JudgedCall) -> LayerAnswer:
        return NO_OBJECTION if answer is None else [answer] * len(call.effects)

    return Says(layer, says, immediate)


def throwing(layer: LayerId, *, immediate: bool = False) -> Says:
    """A layer that raises."""

    def says(call: JudgedCall) -> LayerAnswer:
        raise RuntimeError("broken on purpose, with a value that nobody may see: hunter2")

    return Says(layer, says, immediate)


def replying(layer: LayerId, reply: Any, *, immediate: bool = False) -> Says:
    """A layer that replies with this, whatever it is."""
    return Says(layer, lambda _: reply, immediate)


class Hanging:
    """A layer that hangs in synchronous code until it is let go."""

    immediate = False

    def __init__(self, layer: LayerId = LayerId.CALLER_POLICY) -> None:
        self.id, self.go, self.signals = layer, threading.Event(), list[Any]()

    def ask(self, call: JudgedCall) -> LayerAnswer:
        self.signals.append(call.manner.signal)
        self.go.wait(30)
        return NO_OBJECTION


def states(verdicts: Sequence[Any]) -> list[State]:
    return [one.state for one in verdicts]
