"""Does it all hold for a server that is not root?"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

import stanch

NOBODY = 65534
SCRIPT = """
import json, sys, tempfile, threading
from pathlib import Path
from stanch.runtime.sandbox.choosing import sandbox_here
from stanch.runtime.sandbox.program import Limits, Program, Unavailable
sandbox = sandbox_here()
if isinstance(sandbox, Unavailable):
    print(json.dumps({"why": sandbox.why}))
    sys.exit()
came = {"name": sandbox.name}
MIB = 1 << 20
PROGRAMS = {
    "time": ("while :; do :; done", Limits(seconds=0.5)),
    "processes": ("b() { b | b & b | b & wait; }; b", Limits(processes=16)),
    "memory": (
        "python3 -c 'import time; h = []\\nwhile True: h.append(bytes(1000000) * 2); time.sleep(0.03)'",
        Limits(memory=96 * MIB),
    ),
    "disk": ("mkdir -m 300 d; cat /dev/zero > d/f", Limits(directory_bytes=2 * MIB)),
    "output": ("yes", Limits(output_bytes=1000)),
    "fine": ("echo a > f; python3 -c 'print(open(\\"f\\").read())'; cat /etc/shadow", Limits()),
}
for name, (code, limits) in PROGRAMS.items():
    with tempfile.TemporaryDirectory() as place:
        said = []
        ended = sandbox.run(Program(("bash", "-c", code), Path(place), limits=limits), said.append, threading.Event())
        came[name] = [ended.how.name, b"".join(said).decode()[:200]]
print(json.dumps(came))
"""


@pytest.fixture
def readable() -> Iterator[Path]:
    """The package, where everybody can read it."""
    with tempfile.TemporaryDirectory(prefix="stanch-test-") as path:
        os.chmod(path, 0o755)
        for part in ("__init__.py", "runtime/__init__.py", "runtime/pipes.py", "runtime/sandbox"):
            source, target = Path(stanch.__file__).parent / part, Path(path) / "stanch" / part
            target.parent.mkdir(parents=True, exist_ok=True)
            if source.is_dir():
                shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy(source, target)
        yield Path(path)


def test_an_ordinary_user_has_it_too(readable: Path) -> None:
    if os.geteuid():
        pytest.skip("it is an ordinary user who runs all of this")
    python = "/usr/bin/python3"
    words = [python, "-c", "import sys; sys.exit(sys.version_info < (3, 11))"]
    if not os.path.exists(python) or subprocess.run(words, check=False).returncode:
        pytest.skip("no Python here that everybody may run")
    variables = {
        "PATH": "/usr/bin:/bin",
        "HOME": "/nonexistent",
        "PYTHONPATH": str(readable),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    done = subprocess.run(
        [python, "-c", SCRIPT],
        user=NOBODY,
        group=NOBODY,
        extra_groups=[],
        env=variables,
        cwd="/",
        capture_output=True,
        check=False,
        timeout=120,
    )
    assert done.stderr == b""
    came = json.loads(done.stdout)
    if "why" in came:
        assert not any("does not hold" in why for why in came["why"]), came["why"]
        pytest.skip(" ".join(came["why"]))
    ends = {name: said[0] for name, said in came.items() if name != "name"}
    assert ends == {
        "time": "TOO_LATE",
        "processes": "TOO_MANY_PROCESSES",
        "memory": "TOO_MUCH_MEMORY",
        "disk": "TOO_MUCH_ON_DISK",
        "output": "TOO_MUCH_OUTPUT",
        "fine": "BY_ITSELF",
    }
    assert came["fine"][1].startswith("a\n\ncat: /etc/shadow: No such file")
