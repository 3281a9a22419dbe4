"""Which withheld outputs are kept, and which of them somebody has read."""

from __future__ import annotations

from pathlib import Path

import pytest

from stanch.app.workbench_outputs import MOST, Outputs
from stanch.values.fault import NotFound


def test_which_outputs_were_read(tmp_path: Path) -> None:
    folder = tmp_path / "outputs"
    outputs = Outputs(folder)
    assert (outputs.unread(), outputs.listed()) == (0, ())
    for at in range(MOST + 3):
        outputs.keep(f"call_{at:016x}", "x")
        outputs.read(f"call_{at:016x}")
    outputs.keep("a call of any name/..", "x")
    assert outputs.unread() == 1
    assert len(outputs.listed()) == MOST == sum(one.is_read for one in outputs.listed()) + 1
    assert len(list(folder.iterdir())) == 2 * MOST - 1
    for one in outputs.calls():
        (folder / f"{one}.read").unlink(missing_ok=True)
        (folder / f"{one}.read").symlink_to(tmp_path / "elsewhere")
    outputs.read(outputs.calls()[1])
    assert not (tmp_path / "elsewhere").exists()
    with pytest.raises(NotFound):
        outputs.read("call_ffffffffffffffff")


def test_one_that_was_looked_at_alone_was_not_read(tmp_path: Path) -> None:
    outputs = Outputs(tmp_path / "outputs")
    outputs.keep("call_0123456789abcdef", "x")
    assert (outputs.text("call_0123456789abcdef"), outputs.unread()) == ("x", 1)
    outputs.was_read("call_0123456789abcdef")
    assert outputs.unread() == 0
