"""The audit line of a decision, and a file that takes such lines.

Settles what one line says and when lines reach the disk. Does not settle which decisions are made.
INVARIANT: a line holds names and places only: no arguments, no content.
"""

from __future__ import annotations

import os
import threading
import time
import weakref
from json.encoder import encode_basestring_ascii as _quoted
from types import TracebackType

from stanch.values.call import JudgedCall
from stanch.values.decision import Decision

_BUFFER_BYTES = 1 << 16


class AuditLog:
    """An append-only file of one JSON object a line, for `stanch.open(..., audit=AuditLog(path))`.

    Each line reaches the operating system at once, and so outlives this process; with `buffered`, when the buffer is
    full, on `flush` and on `close`. Made with mode 0600.
    """

    def __init__(self, path: str | os.PathLike[str], *, buffered: bool = False) -> None:
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        self._file = os.fdopen(fd, "a", encoding="utf-8", buffering=_BUFFER_BYTES)
        self._write = self._file.write
        self._buffered = buffered
        weakref.finalize(self, self._file.close)
        self._lock = threading.Lock()

    def __call__(self, call: JudgedCall, decision: Decision) -> None:
        """Takes one decision. Raises `ValueError` once the log is closed, and `OSError` where the disk refuses."""
        text = line(call, decision, time.time())
        with self._lock:
            self._write(text)
            if not self._buffered:
                self._file.flush()

    def flush(self) -> None:
        """Brings every line so far to the operating system."""
        with self._lock:
            self._file.flush()

    def close(self) -> None:
        """Brings every line to the operating system and closes the file."""
        with self._lock:
            self._file.close()

    def __enter__(self) -> AuditLog:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()


def line(call: JudgedCall, decision: Decision, now: float) -> str:
    """The line: when (epoch seconds), which call and tool, what it touches, the answer, why, the policy's version."""
    answer, rule = decision.answer, decision.answer.rule
    touches = ",".join(dict.fromkeys([_quoted(decision.named(e)) for e in call.effects if e.stamp is not None]))
    said = f'{{"group":{_quoted(rule.group)},"id":{rule.id}}}' if rule is not None else "null"
    return (
        f'{{"at":{now:.6f},"call":{_quoted(call.call.id)},"tool":{_quoted(call.call.tool)},"touches":[{touches}],'
        f'"effect":"{answer.effect.value}","code":"{answer.code.value}","layer":"{answer.layer.value}","rule":{said},'
        f'"policy":"{decision.policy_version}"}}\n'
    )
