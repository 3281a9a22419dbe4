"""Does a sandbox let programs do what they ordinarily do?"""

from __future__ import annotations

import os
import socket
import stat
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from stanch.runtime.sandbox.program import How, Sandbox
from tests.runtime.sandbox.confined import bash, python, ran

PYTHON = {
    "files": "open('a', 'w').write('é'); print(open('a').read())",
    "directories": "import os; os.makedirs('a/b/c'); os.rename('a/b', 'd'); print(sorted(os.listdir('.')))",
    "unicode names": "open('naïve 名前.txt', 'w').write('x'); import os; print(os.listdir('.'))",
    "temporary files": "import tempfile; f = tempfile.NamedTemporaryFile(); f.write(b'x'); print(f.tell())",
    "temporary directories": "import tempfile, os\nwith tempfile.TemporaryDirectory() as d: print(os.path.isdir(d))",
    "threads": "import threading; t = [threading.Thread(target=print, args=('t',)) for _ in range(20)]\n"
    "for one in t: one.start(); one.join()",
    "programs": "import subprocess; print(subprocess.run(['sort'], input='b\\na\\n"
    "', text=True, capture_output=True).stdout)",
    "forks": "import multiprocessing as m; c = m.get_context('fork'); a, b = c.Pipe()\n"
    "p = c.Process(target=b.send, args=(5,)); p.start(); print(a.recv()); p.join(); print(p.exitcode)",
    "sqlite": "import sqlite3; d = sqlite3.connect('db'); d.execute('create table t(a)'); "
    "d.execute('insert into t values (7)')\n"
    "d.commit(); print(sqlite3.connect('db').execute('select a from t').fetchall())",
    "archives": "import zipfile; z = zipfile.ZipFile('z.zip', 'w'); z.writestr('a', 'b'); z.close()\n"
    "print(zipfile.ZipFile('z.zip').namelist())",
    "json and csv": "import json, csv, io; print(json.dumps({'a': [1]})); print(list(csv.reader(io.StringIO('a,b'))))",
    "copies": "import shutil; open('a', 'w').write('x'); shutil.copyfile('a', 'b'); print(open('b').read())",
    "randomness": "import os, secrets, uuid; "
    "print(len(os.urandom(9)), len(secrets.token_hex(4)), len(str(uuid.uuid4())))",
    "a loop of events": "import asyncio\nasync def f():\n"
    "  p = await asyncio.create_subprocess_exec('echo', 'a', stdout=-1)\n"
    "  print((await p.communicate())[0])\nasyncio.run(f())",
    "pairs of sockets": "import socket; a, b = socket.socketpair(); a.send(b'x'); print(b.recv(1))",
    "maps of memory": "import mmap; open('m', 'wb').write(bytes(4096)); f = open('m', 'r+b'); "
    "m = mmap.mmap(f.fileno(), 0)\n"
    "m[0] = 7; m.flush(); print(open('m', 'rb').read(1))",
    "a file of a program": "open('mine.py', 'w').write('A = 5')\nimport sys; sys.path.insert(0, '.'); "
    "import mine; print(mine.A)",
    "time": "import time, datetime; print(time.time() > 1e9, datetime.datetime.now().year > 2000)",
    "links": "import os; open('a', 'w').write('x'); os.symlink('a', 'l'); os.link('a', 'h'); "
    "print(open('l').read(), open('h').read())",
}
ONLY_IN_BUBBLEWRAP = {
    "pools": "import multiprocessing as m\nwith m.get_context('fork').Pool(2) as p: print(p.map(len, ['a', 'bb']))",
    "modes": "import os, shutil; open('a', 'w'); os.chmod('a', 0o755); shutil.copy('a', 'b'); "
    "os.utime('b', (1, 1)); print('x')",
    "a server of its own": "import socket, threading; s = socket.create_server(('127.0.0.1', 0))\n"
    "c = socket.create_connection(s.getsockname()); c.send(b'x'); print(s.accept()[0].recv(1))",
    "itself": "import os; print(os.getcwd(), os.environ['HOME'], sorted(os.environ))",
    "who it is": "import getpass, pwd, os, socket; "
    "print(getpass.getuser(), pwd.getpwuid(os.getuid()).pw_dir, socket.gethostname())",
    "shared memory": "from multiprocessing import shared_memory as s; m = s.SharedMemory(create=True, size=10); "
    "print(m.size)\n"
    "m.close(); m.unlink()",
    "its processes": "import os; print(os.getpid() < 100, len([n for n in os.listdir('/proc') if n.isdigit()]) < 10)",
}
SAID = {
    "directories": "['a', 'd']",
    "unicode names": "['naïve 名前.txt']",
    "forks": "5\n0",
    "sqlite": "[(7,)]",
    "pools": "[1, 2]",
    "itself": "/workbench /workbench ['HOME', 'LANG', 'PATH', 'PWD', 'TMPDIR']",
    "who it is": "workbench /workbench workbench",
    "its processes": "True True",
}
BASH = {
    "pipes": ("printf 'b\\na\\nb\\n' | sort | uniq -c | grep -c .", "2\n"),
    "here documents": ("cat > f << 'X'\nline\nX\nsed s/l/L/ f", "Line\n"),
    "awk": ("echo 1 2 | awk '{print $1 + $2}'", "3\n"),
    "loops": ("for i in 1 2 3; do echo $i; done | tail -1", "3\n"),
    "find": ("mkdir -p a/b; echo x > a/b/c; find . -type f", "./a/b/c\n"),
    "both streams": ("echo a; echo b >&2", "a\nb\n"),
    "tar": ("echo x > f; tar -cf t.tar f; tar -tf t.tar", "f\n"),
    "gzip": ("echo x > f; gzip -c f | gunzip", "x\n"),
    "nothing to read": ("read line || echo none", "none\n"),
    "python": ("python3 -c 'print(1)' && echo fine", "1\nfine\n"),
    "background": ("sleep 0.05 & wait; echo fine", "fine\n"),
    "time out": ("timeout 5 echo fine", "fine\n"),
    "null": ("echo x > /dev/null; cat /dev/null; echo fine", "fine\n"),
}


@pytest.mark.parametrize("what", PYTHON)
def test_python(sandbox: Sandbox, place: Path, what: str) -> None:
    said = python(sandbox, place, PYTHON[what]).fine.strip()
    assert said == SAID.get(what, said) != ""


@pytest.mark.parametrize("what", ONLY_IN_BUBBLEWRAP)
def test_python_in_bubblewrap(bubblewrap: Sandbox, place: Path, what: str) -> None:
    said = python(bubblewrap, place, ONLY_IN_BUBBLEWRAP[what]).fine.strip()
    assert said == SAID.get(what, said) != ""


@pytest.mark.parametrize("what", BASH)
def test_bash(sandbox: Sandbox, place: Path, what: str) -> None:
    code, said = BASH[what]
    assert bash(sandbox, place, code).fine == said


@pytest.mark.parametrize("code", [0, 1, 42, 127, 255])
def test_exit_codes(sandbox: Sandbox, place: Path, code: int) -> None:
    ended = bash(sandbox, place, f"exit {code}").ended
    assert (ended.how, ended.code, ended.said) == (How.BY_ITSELF, code, f"It ended with exit code {code}.")


def test_a_signal_is_told(sandbox: Sandbox, place: Path) -> None:
    ended = bash(sandbox, place, "kill -TERM $$").ended
    assert (ended.how, ended.code) == (How.BY_ITSELF, 143)
    assert "SIGTERM" in ended.said


def test_large_output(sandbox: Sandbox, place: Path) -> None:
    assert len(bash(sandbox, place, "seq 100000").fine) == 588895


def test_what_it_writes_stays_and_is_of_the_one_who_ran_it(sandbox: Sandbox, place: Path) -> None:
    bash(sandbox, place, "echo x > f; mkdir d; chmod 755 f 2> /dev/null; true")
    about = (place / "f").stat()
    assert (about.st_uid, stat.S_IMODE(about.st_mode) & 0o700 != 0) == (os.geteuid(), True)
    assert bash(sandbox, place, "cat f; ls").fine == "x\nd\nf\n"


def test_temporary_files_are_gone_afterwards(sandbox: Sandbox, place: Path) -> None:
    assert bash(sandbox, place, 'echo x > "$TMPDIR/f"; echo "$TMPDIR/f"; cat "$TMPDIR/f"').fine.endswith("\nx\n")
    assert bash(sandbox, place, 'ls "$TMPDIR"').fine == ""


def test_no_variable_of_the_host(sandbox: Sandbox, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STANCH_TEST_SECRET", "quite secret")
    monkeypatch.setenv("LD_PRELOAD_NOT", "quite secret")
    said = bash(sandbox, place, "env; cat /proc/*/environ 2> /dev/null; true").fine
    assert "secret" not in said
    names = {line.partition("=")[0] for line in said.splitlines() if "=" in line} - {"_", "SHLVL", "PWD", "OLDPWD"}
    assert {"PATH", "HOME", "LANG", "TMPDIR"} == {name for name in names if "\0" not in name}


@contextmanager
def served(address: Path, answer: bytes) -> Iterator[list[bytes]]:
    """A Unix socket that answers."""
    heard: list[bytes] = []
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(address))
        listening.listen()

        def serve() -> None:
            with suppress_closed():
                while True:
                    connection, _ = listening.accept()
                    with connection:
                        heard.append(connection.recv(100))
                        connection.sendall(answer)

        answering = threading.Thread(target=serve, daemon=True)
        answering.start()
        yield heard
        listening.shutdown(socket.SHUT_RDWR)
        answering.join(10)


@contextmanager
def suppress_closed() -> Iterator[None]:
    try:
        yield
    except OSError:
        return


ASKING = (
    "import os, socket; s = socket.socket(socket.AF_UNIX); s.connect(os.environ['STANCH_SOCKET'])\n"
    "s.sendall(b'question'); print(s.recv(100).decode())"
)


def test_the_socket_that_it_was_given(sandbox: Sandbox, place: Path) -> None:
    inside = place / "inside"
    inside.mkdir()
    with served(place / "socket", b"answer") as heard, served(place / "other", b"no") as unheard:
        assert python(sandbox, inside, ASKING, socket=place / "socket").fine == "answer\n"
        other = ASKING.replace("os.environ['STANCH_SOCKET']", repr(str(place / "other")))
        assert python(sandbox, inside, other, socket=place / "socket").ended.code == 1
        assert python(sandbox, inside, ASKING).ended.code == 1
    assert (heard, unheard) == ([b"question"], [])


def test_a_socket_that_lies_far_down(sandbox: Sandbox, place: Path) -> None:
    """An address has room for a hundred bytes; a directory of data may lie deeper."""
    inside, far = place / "inside", place / ("far-down-" * 20)
    inside.mkdir()
    far.mkdir()
    with served(place / "socket", b"answer") as heard:
        (place / "socket").rename(far / "socket")
        assert python(sandbox, inside, ASKING, socket=far / "socket").fine == "answer\n"
    assert heard == [b"question"]


def test_the_library_that_it_was_given(sandbox: Sandbox, place: Path) -> None:
    inside, library = place / "inside", place / "library"
    inside.mkdir()
    (library / "bin").mkdir(parents=True)
    (library / "given_module.py").write_text("A = 5", "utf-8")
    (library / "bin" / "given-program").write_text("#!/bin/sh\necho given $1\n", "utf-8")
    (library / "bin" / "given-program").chmod(0o755)
    code = "import given_module, subprocess; print(given_module.A, flush=True); subprocess.run(['given-program', 'x'])"
    assert python(sandbox, inside, code, library=library).fine == "5\ngiven x\n"
    code = "import given_module; open(given_module.__file__, 'a')"
    assert "Error" in python(sandbox, inside, code, library=library).output
    assert python(sandbox, inside, "import given_module").ended.code == 1


def test_words_are_passed_as_they_are(sandbox: Sandbox, place: Path) -> None:
    words = ["--", "-c", "a b", "$HOME", "{/etc/passwd}", "é", ""]
    code = "import sys; print(sys.argv[1:])"
    assert ran(sandbox, place, "python3", "-c", code, *words).fine == f"{words}\n"
