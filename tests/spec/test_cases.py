"""Does every case hold, through every door that can express it?

One collector for all: each case of each file below spec/ is played once for each door. A failure prints why the case is
there, what it wants and what it got. What two doors say of one case is compared too, down to the sentence.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from stanch.app.case_files import case_paths, read_cases
from stanch.app.case_places import Place
from stanch.app.case_records import Case, CaseFile, Conversed, Judge, Load, Open, Probed, Send
from stanch.app.case_runner import Door, run_case
from stanch.app.case_told import Mismatch, Told
from stanch.tiers.dialects.ours import write_messages
from stanch.tiers.history import Redacted
from stanch.values.message import Message
from stanch.values.reason import Code
from stanch.values.verdict import Face
from tests.spec.doors import DOORS

SPEC = Path(__file__).resolve().parents[2] / "spec"
FILES: list[CaseFile] = [read_cases(path) for path in case_paths(SPEC)]
MANY = 150


def stem_of(file: Path) -> str:
    return file.relative_to(SPEC).with_suffix("").as_posix()


def asked() -> Iterator[object]:
    """Each case with each door that can express it, but for those that all can: `asked_of_all` has these."""
    for file in FILES:
        for case in file.cases:
            able = [name for name, door in DOORS.items() if door().expresses(case)]
            if len(able) < len(DOORS):
                for name in able:
                    yield pytest.param(case, name, id=f"{stem_of(file.path)}: {case.it} [{name}]")


def asked_of_all() -> Iterator[object]:
    for file in FILES:
        for case in file.cases:
            if all(door().expresses(case) for door in DOORS.values()):
                yield pytest.param(case, id=f"{stem_of(file.path)}: {case.it}")


@pytest.mark.parametrize(("case", "door"), list(asked()))
def test_the_case_holds(case: Case, door: str, tmp_path: Path) -> None:
    held(case, door, run_case(case, tmp_path, DOORS[door]()))


def held(case: Case, door: str, found: Sequence[Mismatch]) -> None:
    """Fails where a case does not hold through a door."""
    if found:
        lines = [f"\n  wanted: {one.wanted}\n  got:    {one.got}" for one in found]
        place = case.file.relative_to(SPEC.parent)
        pytest.fail(
            f"{place}:{case.line}: {case.it} [{door}]\n  why: {' '.join(case.why.split())}{''.join(lines)}",
            pytrace=False,
        )


@dataclass
class Listening:
    """A door that notes what the door behind it says, without the place that the case was played in."""

    door: Door
    heard: list[object] = field(default_factory=list)

    def expresses(self, case: Case) -> bool:
        return self.door.expresses(case)

    def judge(self, place: Place, act: Judge) -> Told:
        told = self.door.judge(place, act)
        if told.fault is None:
            said, about = place.shown(told.sentence or ""), place.shown(told.about or "")
            self.heard.append(replace(told, sentence=said, about=about, everything="", mandated=None))
        else:
            self.heard.append("a fault")
        return told

    def problems(self, place: Place) -> list[tuple[int, str, bool]]:
        found = self.door.problems(place)
        self.heard += [(line, place.shown(message), warning) for line, message, warning in found]
        return found

    def findings(self, place: Place) -> list[tuple[int, str]]:
        return self.door.findings(place)

    def opens(self, act: Open) -> Code | None:
        return self.door.opens(act)

    def sent(self, place: Place, said: Sequence[Message], send: Send) -> Redacted:
        got = self.door.sent(place, said, send)
        self.heard.append(place.shown(json.dumps([write_messages(got.messages), got.report.as_json()])))
        return got

    def conversed(self, place: Place, act: Conversed) -> list[Mismatch]:
        return self.door.conversed(place, act)

    def verdict(self, place: Place, act: Probed, face: Face) -> dict[str, Any] | str:
        got = self.door.verdict(place, act, face)
        said = "a fault" if isinstance(got, str) else {key: place.shown(str(word)) for key, word in got.items()}
        self.heard.append(said)
        return got


@pytest.mark.parametrize("case", list(asked_of_all()))
def test_the_case_holds_and_doors_say_the_same(case: Case, tmp_path: Path) -> None:
    heard = {}
    for at, (name, door) in enumerate(DOORS.items()):
        folder = tmp_path / str(at)  # of one length, since long paths are cut in sentences
        folder.mkdir()
        listening = Listening(door())
        held(case, name, run_case(case, folder, listening))
        heard[name] = listening.heard
    first, *others = heard.values()
    assert first or not any(isinstance(act, (Judge, Load)) and act != Load(()) for act in case.acts)
    assert all(other == first for other in others), heard


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.path.relative_to(SPEC)))
def test_every_case_says_why_and_proves_a_sentence(file: CaseFile) -> None:
    assert file.why.strip(), "the file does not say why its cases are there"
    unproved = [case.it for case in file.cases if not case.proves]
    assert not unproved, f"cases that prove nothing: {unproved}"


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.path.relative_to(SPEC)))
def test_every_table_stands_beside_its_page(file: CaseFile) -> None:
    stem = stem_of(file.path)
    if stem.startswith("public/"):
        assert file.title
        assert file.source.startswith("https://")
    else:
        assert (SPEC / f"{file.spec}.md").is_file()
        assert stem == file.spec or stem.startswith(f"{file.spec}-")


def test_there_are_many_cases_and_each_is_asked_through_the_library() -> None:
    cases = [case for file in FILES for case in file.cases]
    assert len(cases) >= MANY
    assert all(DOORS["library"]().expresses(case) for case in cases)


def test_the_page_of_reasons_lists_every_code_once() -> None:
    page = (SPEC / "ground" / "reasons.md").read_text("utf-8")
    listed = [line.split("`")[1] for line in page.splitlines() if line.startswith("| `")]
    assert sorted(listed) == sorted(code.value for code in Code)
