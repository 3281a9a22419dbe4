"""The real agents: where their programs are, which versions, and what their absence means.

They come with `./run agents`. Here they are needed; elsewhere their tests are left out, with the reason.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROGRAMS = ROOT / ".agents" / "bin"
LOCK = Path(__file__).parent / "package-lock.json"
INSTALLED = ROOT / ".agents" / "installed.json"
NAMES = ("claude", "codex", "opencode")
LEFT_OUT = "STANCH_NO_AGENTS"


def missing() -> str | None:
    """Why the agents cannot be run; None where they can."""
    gone = [name for name in (*NAMES, "rg") if not os.access(PROGRAMS / name, os.X_OK)]
    if gone:
        return f"not installed: {', '.join(gone)}; ./run agents installs what these tests run"
    if not INSTALLED.is_file() or INSTALLED.read_bytes() != LOCK.read_bytes():
        return "installed are other versions than package-lock.json pins; ./run agents installs those"
    return None


def needed() -> None:
    """Leaves a test out where the agents are not here. In CI that fails it, unless somebody decided so."""
    if os.environ.get(LEFT_OUT) == "1":
        pytest.skip(f"{LEFT_OUT}=1 leaves out what needs the real agents")
    why = missing()
    if why is None:
        return
    if os.environ.get("CI") == "true":
        pytest.fail(f"CI needs the real agents: {why}, or {LEFT_OUT}=1 leaves them out")
    pytest.skip(why)


def pinned() -> dict[str, str]:
    """The version of each package, as it is pinned."""
    packages = json.loads(LOCK.read_text("utf-8"))["packages"]
    return {place.removeprefix("node_modules/"): package["version"] for place, package in packages.items() if place}
