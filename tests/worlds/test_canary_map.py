"""No marked byte comes out where it may not, by any door, and all that is clean does.

The routes here, the tools of a chat and the commands as well by `./run soak`, which prints the map (`-s`) and writes it
to a file.
"""

from __future__ import annotations

import base64
import json
import os
from pathlib import Path
from urllib.parse import quote

import pytest

from tests.canary import EXCEPTION, Canary
from tests.worlds.canary_driving import PARTS, driven, inventory
from tests.worlds.canary_map import KINDS, STATES, WIDTH, Map, marked_bytes

WRITTEN = Path(__file__).resolve().parents[2] / "build" / "canary-map.txt"


def drawn(root: Path, *, all_doors: bool) -> Map:
    made = Map()
    for state in STATES:
        folder = root / state
        out = folder / "out"
        out.mkdir(parents=True)
        with driven(made, state, folder) as driving:
            driving.drive(out, all_doors=all_doors)
    return made


def test_no_mark_comes_out_of_a_route(tmp_path: Path, canary: Canary) -> None:
    canary.expect_in(EXCEPTION)
    made = drawn(tmp_path, all_doors=False)
    problems = list(made.problems([one for one in inventory() if not one.startswith("tool ")]))
    assert not problems, "\n".join(problems)


@pytest.mark.soak
def test_no_mark_comes_out_of_any_door(tmp_path: Path, canary: Canary, capsys: pytest.CaptureFixture[str]) -> None:
    canary.expect_in(EXCEPTION)
    made = drawn(tmp_path, all_doors=True)
    text = made.text()
    WRITTEN.parent.mkdir(exist_ok=True)
    WRITTEN.write_text(text, "utf-8")
    with capsys.disabled():
        print(f"\n{text}\nwritten to {os.path.relpath(WRITTEN)}")
    assert max(map(len, text.splitlines())) <= WIDTH
    problems = list(made.problems(inventory()))
    assert not problems, "\n".join(problems)


def test_a_mark_is_counted_in_every_part_and_what_is_missing_is_named() -> None:
    made = Map()
    for state in STATES:
        for part in PARTS:
            made.look(state, part, f"<{made.marks[state]['txt']}>".encode(), ["txt", "bin"])
    problems = list(made.problems([*PARTS, "tool nobody"]))
    assert "nothing exercises tool nobody" in problems
    for part in PARTS:
        assert any(one.startswith(f"{part} gives") and "a file's text (unknown)" in one for one in problems)
        assert f"{part} gives nothing of a file of bytes that is clean" in problems
    assert max(map(len, made.text().splitlines())) <= WIDTH


@pytest.mark.parametrize("kind", KINDS)
def test_a_mark_is_counted_in_every_encoding(kind: str) -> None:
    mark = Map().marks[STATES[0]][kind]
    for form in (
        mark.encode(),
        mark.encode().hex().encode(),
        quote(mark, safe="").encode(),
        json.dumps({"a": [mark]}).encode(),
        *(base64.b64encode(b"x" * before + mark.encode() + b"tail") for before in range(3)),
    ):
        assert marked_bytes(form, mark) > 0
    assert marked_bytes(b"nothing " * 100, mark) == 0
