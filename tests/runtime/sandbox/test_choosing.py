"""Is a sandbox used only where it holds, and is it said why it is not?"""

from __future__ import annotations

import base64
import importlib.util
import os
import sys
import threading
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from stanch.runtime.sandbox import bubblewrap, choosing, filtering, landlock
from stanch.runtime.sandbox.choosing import found, sandbox_here
from stanch.runtime.sandbox.program import Ended, How, Program, Sandbox, Unavailable
from stanch.runtime.sandbox.proving import why_not
from tests.runtime.sandbox.confined import NAMES, sandbox_named
from tests.runtime.sandbox.conftest import usable


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.skipif(not os.environ.get("CI"), reason="a machine of one's own may lack one of them")
def test_in_ci_each_sandbox_is_here(name: str) -> None:
    """Else most of the tests in this directory were skipped, and nobody would know."""
    sandbox = sandbox_named(name)
    assert not isinstance(sandbox, str), sandbox
    assert why_not(sandbox) is None


def test_the_first_that_holds_is_used_and_asked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choosing, "_KNOWN", [])
    sandbox = sandbox_here()
    assert not isinstance(sandbox, Unavailable), sandbox
    monkeypatch.setattr(choosing, "found", None)
    assert sandbox_here() is sandbox


def test_where_none_holds_each_says_why() -> None:
    came = found((lambda: "one is not here.", Open, Broken))
    assert isinstance(came, Unavailable)
    assert came.why[0] == "one is not here."
    assert came.why[1].startswith("open does not hold here: a program in it got out (it gets out, ")
    assert came.why[2] == "broken cannot be used here: it was never started: no."


class Open:
    """Says what a program says that got out. It runs none: a test runs nothing unconfined."""

    name = "open"

    def run(self, program: Program, out: Callable[[bytes], None], cancelled: threading.Event) -> Ended:
        out(b'{"got": ["it gets out"], "complete": true}\n')
        return Ended(How.BY_ITSELF, 0, "")


class Broken:
    """Starts nothing."""

    name = "broken"

    def run(self, program: Program, out: Callable[[bytes], None], cancelled: threading.Event) -> Ended:
        return Ended(How.NEVER_STARTED, 0, "It was never started: no.")


class Silent(Broken):
    """Says that all went well, and has run nothing."""

    name = "silent"

    def run(self, program: Program, out: Callable[[bytes], None], cancelled: threading.Event) -> Ended:
        out(b"")
        return Ended(How.BY_ITSELF, 0, "")


def test_a_proof_that_did_not_come_is_none() -> None:
    assert why_not(Silent()) == "silent cannot be used here: a program in it could not be run to its end."


LEFT_OUT = {
    "--unshare-net": "a TCP port",
    "--unshare-pid": "signals another process",
    "--unshare-ipc": "memory that processes of this machine share",
    "filter": "a socket to the hypervisor",
    "a wider mount": "reads a file of this machine",
    "--remount-ro": "settings of the kernel",
}


@pytest.mark.parametrize("what", LEFT_OUT)
def test_bubblewrap_is_not_used_where_something_is_left_out(monkeypatch: pytest.MonkeyPatch, what: str) -> None:
    sandbox = usable("bubblewrap")
    if what == "--remount-ro" and os.geteuid():
        pytest.skip("the settings of the kernel are root's")
    arranged = bubblewrap.arrangement

    def without(program: Program) -> bubblewrap.Arrangement:
        given = arranged(program)
        words = list(given.words)
        if what == "filter":
            monkeypatch.setattr(filtering, "program", lambda: b"")
        elif what == "--remount-ro":
            at = next(n for n, pair in enumerate(pairwise(words)) if pair == ("--remount-ro", "/proc"))
            del words[at : at + 2]
        elif what == "a wider mount":
            outside = str(program.directory.parent / "outside")
            words[words.index("--bind") : words.index("--bind")] = ["--ro-bind", outside, outside]
        else:
            words.remove(what)
        return bubblewrap.Arrangement(tuple(words), given.files)

    monkeypatch.setattr(bubblewrap, "arrangement", without)
    why = why_not(sandbox)
    assert why is not None
    assert why.startswith("bubblewrap does not hold here: ")
    assert LEFT_OUT[what] in why


OPEN = base64.b64encode(b"\x06\0\0\0\0\0\xff\x7f").decode()
WIDER: dict[str, tuple[dict[str, Any], str]] = {
    "no filter beside it": ({"filter": OPEN}, "what is known of a file"),
    "everything may be read": ({"readable": ["/"]}, "reads a file of this machine"),
    "more may be written": ({"writable": ["/tmp", "/dev/null"]}, "writes a file of this machine"),
}


@pytest.mark.parametrize("what", WIDER)
def test_sandlock_is_not_used_where_something_is_left_out(monkeypatch: pytest.MonkeyPatch, what: str) -> None:
    sandbox = usable("sandlock")
    described, (other, words) = landlock.described, WIDER[what]
    monkeypatch.setattr(landlock, "described", lambda *given: described(*given) | other)
    why = why_not(sandbox)
    assert why is not None
    assert why.startswith("sandlock does not hold here: ")
    assert words in why


def test_one_that_is_not_installed_is_said_to_be(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    monkeypatch.setattr(choosing, "_KNOWN", [])
    came = sandbox_here()
    assert isinstance(came, Unavailable)
    assert [why.split(":")[0] for why in came.why] == ["bubblewrap is not installed", "sandlock is not installed"]


def test_a_bwrap_that_is_not_one(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "bwrap").write_text("#!/bin/sh\necho no such luck >&2; exit 1\n", "utf-8")
    (tmp_path / "bwrap").chmod(0o755)
    why = why_not(bubblewrap.Bubblewrap(str(tmp_path / "bwrap")))
    assert why is not None
    assert why.startswith(
        "bubblewrap cannot be used here: it was never started: bubblewrap could not set up the sandbox"
    )
    assert "no such luck" in why


@pytest.mark.parametrize(
    ("prefix", "home", "usable"),
    [
        ("/usr", "/root", False),
        ("/usr/local", "/root", False),
        ("/", "/root", False),
        ("/root", "/root", False),
        ("/nonexistent/python", "/root", False),
    ],
)
def test_the_interpreter_opens_nothing_else(
    monkeypatch: pytest.MonkeyPatch, prefix: str, home: str, usable: bool
) -> None:
    monkeypatch.setattr(sys, "base_prefix", prefix)
    monkeypatch.setenv("HOME", home)
    assert (bubblewrap.interpreter_outside() is not None) is usable


def test_an_interpreter_around_the_environment_is_not_opened(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    monkeypatch.setattr(sys, "base_prefix", str(tmp_path))
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "venv"))
    assert bubblewrap.interpreter_outside() is None
    monkeypatch.setattr(sys, "prefix", "/elsewhere")
    assert bubblewrap.interpreter_outside() == str(tmp_path)


def test_a_long_path_for_temporary_files_keeps_no_sandbox_from_being_tried(
    sandbox: Sandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    deep = tmp_path / ("x" * 120)
    deep.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(deep))
    assert why_not(sandbox) is None
