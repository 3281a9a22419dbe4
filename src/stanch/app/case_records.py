"""What a case says, as values: what is given, what is done, and what must come of it.

Settles the records only. Does not settle how they are written (`app.case_files`) nor how they are carried out
(`app.case_runner`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from stanch.values.message import Message
from stanch.values.verdict import Face


@dataclass(frozen=True, slots=True)
class Because:
    """The reason a case expects: as written, and as a code, a layer, a rule and a group, each None where not said."""

    text: str
    code: str | None = None
    layer: str | None = None
    rule: int | None = None
    group: str | None = None


@dataclass(frozen=True, slots=True)
class Expected:
    """What must come out of a call: an effect and a reason, or a fault whose message holds `fault`.

    `about` is the subject of the reason, `at` the place of its rule (`stanch.toml:6`). Each of `says` stands in its
    sentence; none of `hides` stands anywhere in the answer.
    """

    effect: str | None
    because: Because | None = None
    about: str | None = None
    at: str | None = None
    says: tuple[str, ...] = ()
    hides: tuple[str, ...] = ()
    mandated: bool | None = None
    fault: str | None = None


@dataclass(frozen=True, slots=True)
class Judge:
    """One call, and what must be said of it."""

    tool: str
    args: Mapping[str, Any]
    expected: Expected
    flips: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Load:
    """The problems that loading the policy must find, all of them: line (None: any), words of the message, warning.

    `findings` are what lint must say of it among other things: line and words.
    """

    problems: tuple[tuple[int | None, str, bool], ...]
    findings: tuple[tuple[int | None, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Change:
    """A change of the tree between two steps."""

    tree: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Open:
    """Opening the target that was judged last: `how` is `read` or `write`; it opens, or is refused with a code."""

    how: str
    refused: str | None


@dataclass(frozen=True, slots=True)
class Holds:
    """What a file must hold at this point."""

    path: str
    text: str


@dataclass(frozen=True, slots=True)
class Step:
    """One thing that is done with calls that may have to wait: what (`does`), to what (`name`), and how (`row`).

    `expected.effect` is where that leads: a state, or a word for why it was not done.
    """

    does: str
    name: Any
    row: Mapping[str, Any]
    line: int
    expected: Expected | None = None


@dataclass(frozen=True, slots=True)
class Calls:
    """Calls from their asking to their end, step by step."""

    steps: tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class Conversed:
    """A conversation that another program had: what is given, and what must come of it (see `app.case_tags`)."""

    row: Mapping[str, Any]
    line: int


@dataclass(frozen=True, slots=True)
class Send:
    """A conversation sent to a model, with `more` messages at its end, and what of it must become what.

    `answers` are a path, whether it is a yes, and whether it holds for all below. `becomes` are messages by their
    number, from 1; all others stay as they are. `pieces`, `quoted`, `asks` and `unsent` are what the report must say,
    None where the case does not tell.
    """

    to: str
    line: int
    more: tuple[Message, ...] = ()
    answers: tuple[tuple[str, bool, bool], ...] = ()
    quotes: bool = True
    becomes: Mapping[int, Message] = field(default_factory=dict)
    hides: tuple[str, ...] = ()
    pieces: Mapping[str, int] | None = None
    quoted: Mapping[str, int] | None = None
    asks: tuple[str, ...] | None = None
    unsent: int | None = None
    fault: str | None = None


@dataclass(frozen=True, slots=True)
class History:
    """A conversation that is sent to one model after another."""

    messages: tuple[Message, ...]
    sends: tuple[Send, ...]


@dataclass(frozen=True, slots=True)
class Projected:
    """A text in some form, such as `text` or `pieces`, and what must come of it (see `app.case_projection`)."""

    form: str
    row: Mapping[str, Any]
    line: int


@dataclass(frozen=True, slots=True)
class Projection:
    """Texts from which the secrets that are given are taken out."""

    texts: tuple[Projected, ...]


@dataclass(frozen=True, slots=True)
class Admitting:
    """Stored content on its way to a model: items, and what is known of them."""

    table: Mapping[str, Any]
    line: int


@dataclass(frozen=True, slots=True)
class VaultStep:
    """One thing that is done with the vault, or looked at in it: what (`does`), to what (`name`), and how (`row`)."""

    does: str
    name: Any
    row: Mapping[str, Any]
    line: int


@dataclass(frozen=True, slots=True)
class Vaulting:
    """What is done with the vault, step by step, and what is taken out of texts then."""

    steps: tuple[VaultStep, ...]


@dataclass(frozen=True, slots=True)
class Benching:
    """What is done with a workbench, step by step."""

    steps: tuple[Mapping[str, Any], ...]


@dataclass(frozen=True, slots=True)
class Judged:
    """What the judge must say: keys of the verdict's record, words of its sentence, and words that stand nowhere."""

    record: Mapping[str, str]
    says: tuple[str, ...] = ()
    hides: tuple[str, ...] = ()
    fault: str | None = None


@dataclass(frozen=True, slots=True)
class Probed:
    """A file that nobody has asked for, and what the judge must say of it on each face (see `app.case_judging`).

    `goes_on` are the words of those whom its answer must not stop, of all who ask; None where the case does not say.
    """

    path: str
    options: Mapping[str, Any]
    wanted: Mapping[Face, Judged]
    line: int
    goes_on: frozenset[str] | None = None


Act = (
    Benching
    | Judge
    | Load
    | Change
    | Open
    | Holds
    | Calls
    | Conversed
    | History
    | Projection
    | Admitting
    | Vaulting
    | Probed
)


@dataclass(frozen=True, slots=True)
class Case:
    """One case: what is given, what is done, and where it is written."""

    it: str
    file: Path
    line: int
    why: str
    given: Mapping[str, Any]
    acts: tuple[Act, ...]
    proves: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CaseFile:
    """A table of cases. `spec` is the page it stands beside; `source` the address of a failure it was made after."""

    path: Path
    spec: str
    title: str
    source: str
    why: str
    cases: tuple[Case, ...]
