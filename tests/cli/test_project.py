"""`stanch project`: a text without the secrets of a file, as it passes, or one line that holds none of them."""

from __future__ import annotations

import base64
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Stanch

VALUE = "marker-of-the-value/4711"
FORMS = [
    VALUE,
    base64.b64encode(b"xx" + VALUE.encode()).decode(),
    VALUE.encode().hex(),
    VALUE.replace("/", "%2F"),
    VALUE.replace("/", "\\/"),
]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    found = tmp_path / "secrets.toml"
    found.write_text(f'STRIPE_KEY = "{VALUE}"\nPIN = "1234"\n')
    return found


def test_a_text_passes_without_them(stanch: Stanch, file: Path) -> None:
    ended = stanch("project", "--secrets", str(file), stdin="\n".join(["a é", *FORMS, "PIN 1234", "z"]))
    assert ended.code == 0
    assert "marker" not in ended.out
    assert ended.out.count("{{STRIPE_KEY}}") >= len(FORMS)
    assert ended.out.startswith("a é\n")
    assert ended.out.endswith("PIN 1234\nz")
    assert ended.err == "stanch: note: PIN has fewer than 8 characters: it is looked for nowhere\n"


def test_bytes_that_are_no_text_pass(stanch: Stanch, file: Path) -> None:
    ended = stanch("project", "--secrets", str(file), stdin=b"")
    assert (ended.code, ended.out) == (0, "")
    done = subprocess.run(
        [sys.executable, "-m", "stanch.surfaces.cli.main", "project", "--secrets", str(file)],
        input=b"\xff\x00" + VALUE.encode() + b"\xfe\n",
        capture_output=True,
        timeout=60,
        check=True,
    )
    assert done.stdout == b"\xff\x00{{STRIPE_KEY}}\xfe\n"


def test_it_is_printed_while_it_comes_in(file: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "stanch.surfaces.cli.main", "project", "--secrets", str(file)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as running:
        assert running.stdin is not None
        assert running.stdout is not None
        running.stdin.write(b"first line\n" + VALUE[:10].encode())
        running.stdin.flush()
        assert os.read(running.stdout.fileno(), 1 << 16).startswith(b"first")
        running.stdin.write(VALUE[10:].encode() + b"!\n")
        running.stdin.close()
        rest = running.stdout.read()
        assert rest.endswith(b"{{STRIPE_KEY}}!\n")
        assert b"marker" not in rest
        assert running.wait(60) == 0


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (None, "cannot be read: no such file"),
        (b'A = "marker', "is no TOML"),
        (b"A = marker-of-it", 'is no TOML of the form NAME = "value" (at line 1, column 5)'),
        (b'A = "marker-1234"\nA = "marker-1234"', "is no TOML"),
        (b"\xff\xfe", "no text in UTF-8"),
        (b"A = 12345678", "A must be text"),
        (b'[A]\nb = "marker-1234"', "A must be text"),
        (b'"" = "marker-1234"', "a name that is empty"),
        (b'"a\\nb" = "marker-1234"', "not to be printed"),
    ],
)
def test_a_file_that_cannot_be_read_is_not_repeated(
    stanch: Stanch, tmp_path: Path, text: bytes | None, problem: str
) -> None:
    file = tmp_path / "s.toml"
    if text is not None:
        file.write_bytes(text)
    ended = stanch("project", "--secrets", str(file), stdin="text")
    assert (ended.code, ended.out) == (2, "")
    assert problem in ended.err
    assert "marker" not in ended.err
    assert len(ended.err.splitlines()) == 1
