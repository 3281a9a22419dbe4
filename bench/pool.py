"""Worker processes, as the runner sees them: started once, asked in turn, ended when the run is over."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from typing import Any

from bench.environments import ROOT

PATIENCE = 300.0
STARTED = time.monotonic()


class WorkerError(Exception):
    """A worker died, fell silent, or gave another answer than the reference."""


def progress(message: str) -> None:
    """Tell whoever is waiting what is going on."""
    print(f"[{time.monotonic() - STARTED:6.1f} s] {message}", file=sys.stderr, flush=True)


class Worker:
    """One long-lived process that answers one JSON line to each JSON line."""

    def __init__(self, python: str, module: str, *arguments: str) -> None:
        self.name = " ".join((module, *arguments))
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the process
        self._process = subprocess.Popen(
            [python, "-m", module, *arguments],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONHASHSEED": "0"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
        )

    def answer(self, patience: float = PATIENCE) -> dict[str, Any]:
        """The next line that the process writes."""
        stdout = self._process.stdout
        if stdout is None:
            raise WorkerError(self.name)
        guard = threading.Timer(patience, self._process.kill)
        guard.start()
        line = stdout.readline()
        guard.cancel()
        if not line:
            self.close()
            self._errors.seek(0)
            said = self._errors.read()[-2000:].decode("utf-8", "replace")
            raise WorkerError(f"{self.name} gave no answer within {patience:.0f} s or died:\n{said}")
        parsed: dict[str, Any] = json.loads(line)
        return parsed

    def ask(self, order: dict[str, Any], patience: float = PATIENCE) -> dict[str, Any]:
        """Send one order and wait for its answer."""
        stdin = self._process.stdin
        if stdin is None:
            raise WorkerError(self.name)
        stdin.write(json.dumps(order) + "\n")
        stdin.flush()
        return self.answer(patience)

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.wait()
