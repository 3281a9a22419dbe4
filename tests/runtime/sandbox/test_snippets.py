"""Does a snippet do what it is given to do, and nothing else, and does it always come to its end?"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from stanch.runtime.sandbox import snippets
from stanch.runtime.sandbox.program import MIB, Ended, How, Limits
from stanch.runtime.sandbox.showing import shown
from tests.runtime.sandbox.confined import below, descriptors, running
from tests.server.processes import until

ROOT = Path(__file__).parents[3]
USUAL = Limits(seconds=20.0, memory=64 * MIB, output_bytes=10_000)


def ran(code: str, cancelled: threading.Event | None = None, **given: Any) -> tuple[str, Ended]:
    limits = {name: given.pop(name) for name in ("seconds", "memory", "output_bytes") if name in given}
    said: list[str] = []
    limited, event = replace(USUAL, **limits), cancelled or threading.Event()
    ended = snippets.run_snippet(code, given, said.append, limits=limited, cancelled=event)
    return "".join(said), ended


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("1 + 1", "2\n"),
        ("print('a'); 'b'", "a\n'b'\n"),
        ("x = 5", ""),
        ("None", ""),
        ("def f(n):\n    return n * 2\n[f(n) for n in range(3)]", "[0, 2, 4]\n"),
        ("{'a': (1,), 'b': {2}, 'c': b'x'}", "{'a': (1,), 'b': {2}, 'c': b'x'}\n"),
        ("import json; json.dumps({'a': [1, None]})", "'{\"a\": [1, null]}'\n"),
        ("import re; re.sub('a', 'b', 'aé')", "'bé'\n"),
        ("import time; time.sleep(0.01); 'slept'", "'slept'\n"),
        ("import datetime; datetime.datetime.now().year > 2000", "True\n"),
        ("10**5000", "<a number of too many digits>\n"),
        ("class A:\n    pass\nA()", "<A>\n"),
    ],
)
def test_what_it_shows(code: str, said: str) -> None:
    assert ran(code) == (said, Ended(How.BY_ITSELF, 0, "It ended with exit code 0."))


def test_it_calls_what_it_was_given() -> None:
    called: list[object] = []

    def get(path: str, *, lines: int = 0) -> dict[str, object]:
        called.append((path, lines))
        return {"path": path, "bytes": b"x" * lines}

    said, ended = ran("files = get('a b', lines=3)\nfiles['bytes']", get=get)
    assert (said, ended.code, called) == ("b'xxx'\n", 0, [("a b", 3)])


def test_what_a_function_raises_is_raised_inside() -> None:
    def get(path: str) -> None:
        raise PermissionError(f"{path} is not for this model")

    said, ended = ran("try:\n    get('a')\nexcept PermissionError as why:\n    print('caught', why)\nget('b')", get=get)
    assert said.startswith("caught a is not for this model\nTraceback")
    assert said.endswith("PermissionError: b is not for this model\n")
    assert (ended.how, ended.code) == (How.BY_ITSELF, 1)


@pytest.mark.parametrize(
    "code",
    [
        "open('/etc/passwd').read()",
        "open('x', 'w')",
        "import pathlib; pathlib.Path('/etc/passwd').read_text()",
        "import pathlib; list(pathlib.Path('/').iterdir())",
        "import os; os.environ['PATH']",
        "import os; os.getenv('PATH')",
        "import os; os.listdir('/')",
        "import os; os.system('id')",
        "import os; os.mkdir('x')",
        "import os; os.stat('/etc/passwd')",
        "import os; os.remove('/etc/passwd')",
        "import socket; socket.socket()",
        "import subprocess; subprocess.run(['id'])",
        "import ctypes",
        "import urllib.request",
        "__import__('os').environ",
        "().__class__.__base__.__subclasses__()",
        "(lambda: 0).__globals__",
        "print.__self__.open('/etc/passwd')",
        "eval('open(\"/etc/passwd\")')",
    ],
)
def test_it_reaches_nothing_of_the_host(code: str) -> None:
    said, ended = ran(code)
    assert (ended.how, ended.code) == (How.BY_ITSELF, 1)
    assert "root:" not in said


def test_its_process_has_nothing_of_the_host(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STANCH_TEST_SECRET", "quite secret")
    before, seen = below(), {}

    def look() -> None:
        (number,) = below() - before
        seen["variables"] = Path(f"/proc/{number}/environ").read_bytes()
        held = Path(f"/proc/{number}/fd")
        seen["held"] = b" ".join(os.readlink(one).encode() for one in held.iterdir() if int(one.name) > 2)

    assert ran("look()", look=look)[1].code == 0
    assert seen["variables"] == b""
    mine = [place for place in descriptors() if "stanch" in place or "pytest-of" in place]
    assert not any(place.split(" ", 1)[1].encode() in seen["held"] for place in mine)
    assert below() == before


ENDS: dict[str, tuple[str, dict[str, Any], How, str]] = {
    "a loop": ("while True: pass", {"seconds": 0.3}, How.TOO_LATE, "after 0.3 seconds"),
    "a wait": ("import time; time.sleep(60)", {"seconds": 0.3}, How.TOO_LATE, "after 0.3 seconds"),
    "a wait in a loop of events": ("import asyncio\nawait asyncio.sleep(60)", {"seconds": 0.3}, How.TOO_LATE, "0.3"),
    "memory": ("x = [0] * 10**9", {}, How.TOO_MUCH_MEMORY, "more than 64 MiB"),
    "memory, bit by bit": ("x = []\nwhile True: x.append('a' * 100000)", {}, How.TOO_MUCH_MEMORY, "more than 64 MiB"),
    "output": ("while True: print('a')", {}, How.TOO_MUCH_OUTPUT, "more than"),
    "output at once": ("print('a' * 20000)", {}, How.TOO_MUCH_OUTPUT, "more than"),
}


@pytest.mark.parametrize("what", ENDS)
def test_it_comes_to_its_end(what: str) -> None:
    code, limits, how, words = ENDS[what]
    before = below()
    said, ended = ran(code, **limits)
    assert ended.how is how
    assert words in ended.said
    assert len(said) <= 10_000
    # WHY its own alone: tests beside this one run snippets, too.
    assert not [number for number in running("monty") if number in below() - before]


def test_it_cannot_call_itself_for_ever() -> None:
    said, ended = ran("def f():\n    return f()\nf()")
    assert "RecursionError" in said
    assert ended.code == 1


def test_it_is_not_lost_on_a_value_that_is_large_as_a_text() -> None:
    said, ended = ran("x = [1]\nfor _ in range(40):\n    x = [x, x]\nx")
    assert (ended.code, len(said) <= 10_000) == (0, True)
    assert len(shown([["a" * 50] * 50] * 50, 1000)) < 1200


@pytest.mark.parametrize("code", ["while True: pass", "import time; time.sleep(60)", "while True: tick()"])
def test_one_that_nobody_waits_for_ends(code: str) -> None:
    cancelled = threading.Event()
    threading.Timer(0.2, cancelled.set).start()
    start = time.monotonic()
    _, ended = ran(code, cancelled, tick=lambda: None)
    assert ended.how is How.NOT_WANTED or "suspen" in ended.said or ended.code == 1
    assert time.monotonic() - start < 15
    cancelled.wait()  # WHY: one that calls without end may have used its calls up before
    assert ran("1", cancelled)[1].how is How.NOT_WANTED


def test_one_whose_process_dies_is_lost() -> None:
    before = below()

    def die() -> None:
        for number in below() - before:
            os.kill(number, signal.SIGKILL)

    assert ran("die()\nwhile True: pass", die=die)[1].how is How.LOST


def test_what_its_reader_raises_ends_it() -> None:
    def out(_: str) -> None:
        raise OSError("the reader is gone")

    with pytest.raises(OSError, match="the reader is gone"):
        snippets.run_snippet("print('a')\nwhile True: pass", {}, out, limits=USUAL, cancelled=threading.Event())


def test_nothing_is_leaked() -> None:
    ran("1")
    before = (descriptors(), below(), threading.active_count())
    for code in ("1", "while True: pass", "def f(:", "raise ValueError('x')"):
        ran(code, seconds=0.2)
    assert (descriptors(), below(), threading.active_count()) == before


def test_where_it_is_not_installed_it_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pydantic_monty", None)
    said, ended = ran("1")
    assert (said, ended.how) == ("", How.NEVER_STARTED)
    assert "pydantic-monty is not installed" in ended.said


SERVER = """
import pathlib, sys, threading
from stanch.runtime.sandbox.program import Limits
from stanch.runtime.sandbox.snippets import run_snippet
from tests.runtime.sandbox.confined import below
def here():
    path = pathlib.Path(sys.argv[1])
    path.with_suffix(".new").write_text(str(min(below())))
    path.with_suffix(".new").rename(path)
run_snippet("here()\\nwhile True: pass", {"here": here}, print, limits=Limits(seconds=2.0), cancelled=threading.Event())
"""


def test_it_ends_when_the_server_dies(tmp_path: Path) -> None:
    told = tmp_path / "told"
    with subprocess.Popen([sys.executable, "-c", SERVER, str(told)], cwd=ROOT) as server:
        try:
            until(told.exists, "the snippet runs")
        finally:
            server.kill()
    number = told.read_text("utf-8")
    until(lambda: not _lives(number), "the interpreter has ended")


def _lives(number: str) -> bool:
    try:
        return Path(f"/proc/{number}/stat").read_text("utf-8").rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False
