"""The rivals' own environment: made once from `requirements.lock`, made anew when the lock or the Python changes.

Stanch never depends on its rivals, so they live in `.venv-bench` beside the project's own environment. This is the only
step of a benchmark that uses the network.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LOCK = ROOT / "bench" / "requirements.lock"
ENVIRONMENT = ROOT / ".venv-bench"


def rivals_python() -> str:
    """The interpreter that has the rivals; makes its environment if need be."""
    python = ENVIRONMENT / "bin" / "python"
    stamp = ENVIRONMENT / "made-from"
    wanted = f"{sys.version_info.major}.{sys.version_info.minor} {hashlib.sha256(LOCK.read_bytes()).hexdigest()}"
    if python.exists() and stamp.exists() and stamp.read_text(encoding="utf-8") == wanted:
        return str(python)
    print(f"making {ENVIRONMENT.name} from bench/{LOCK.name}", file=sys.stderr, flush=True)
    if ENVIRONMENT.exists():
        shutil.rmtree(ENVIRONMENT)
    beside = Path(sys.executable).with_name("uv")
    uv = str(beside) if beside.exists() else shutil.which("uv")
    if uv:
        make = [uv, "venv", "--quiet", "--python", sys.executable, str(ENVIRONMENT)]
        fill = [uv, "pip", "install", "--quiet", "--python", str(python), "--require-hashes", "-r", str(LOCK)]
    else:
        make = [sys.executable, "-m", "venv", str(ENVIRONMENT)]
        fill = [str(python), "-m", "pip", "install", "--quiet", "--require-hashes", "-r", str(LOCK)]
    subprocess.run(make, check=True)
    subprocess.run(fill, check=True)
    stamp.write_text(wanted, encoding="utf-8")
    return str(python)
