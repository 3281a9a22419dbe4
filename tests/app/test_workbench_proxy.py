"""How running code asks: large arguments one after another, small ones at once."""

from __future__ import annotations

import http.client
import json
import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, cast

import pytest

from stanch.app.workbench_inside import Inside
from stanch.app.workbench_proxy import LARGE, proxy


class Counting:
    """Answers with how many calls were under way at once; one waits for another for as long as it may."""

    def __init__(self, patience: float) -> None:
        self._both = threading.Barrier(2)
        self._patience = patience

    def call(self, tool: str, arguments: dict[str, Any]) -> Any:
        del tool, arguments
        try:
            self._both.wait(self._patience)
        except threading.BrokenBarrierError:
            return 1
        return 2

    def end(self) -> None:
        self._both.abort()


def asked(path: Path, size: int) -> Any:
    connection = http.client.HTTPConnection("workbench")
    connection.sock = socket.socket(socket.AF_UNIX)
    connection.sock.settimeout(30)
    connection.sock.connect(str(path))
    connection.request("POST", "/call/files_write", json.dumps({"content": "x" * size}).encode())
    answer = connection.getresponse().read()
    connection.close()
    return json.loads(answer)


@pytest.mark.parametrize(("size", "at_once", "patience"), [(10, 2, 20.0), (LARGE, 1, 0.5)])
def test_large_arguments_are_looked_at_one_after_another(
    tmp_path: Path, size: int, at_once: int, patience: float
) -> None:
    inside = cast(Inside, Counting(patience))
    with proxy(tmp_path, inside) as path, ThreadPoolExecutor(2) as both:
        assert list(both.map(asked, [path, path], [size, size])) == [at_once, at_once]
