"""Stored content for code that runs in a workbench: the bytes of files, and tools on stored content.

    from stanch_workbench import call, files

    data = files.get("in/report.pdf")            # its bytes
    files.save("in/report.pdf")                  # puts them into the workbench, at that path
    call("files_write", path="out.txt", content="...")

Settles how code asks. Does not settle what it is given: that is for whoever serves the socket. Needs nothing but the
standard library, since it runs in the workbench's own Python.
"""

from __future__ import annotations

import http.client
import json
import os
import pathlib
import socket
import urllib.parse
from typing import Any


class Refused(Exception):
    """What was asked for was refused or failed: `code` says why in a word, `status` as HTTP does."""

    def __init__(self, status: int, code: str, sentence: str) -> None:
        self.status, self.code = status, code
        super().__init__(sentence)


class _Connection(http.client.HTTPConnection):
    """A connection to the socket that the run was given."""

    def connect(self) -> None:
        """Connects it."""
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.connect(os.environ["STANCH_SOCKET"])


def call(tool: str, /, **arguments: Any) -> Any:
    """What a tool on stored content gives. Raises `Refused`."""
    body = json.dumps(arguments).encode()
    return json.loads(_asked("POST", "/call/" + urllib.parse.quote(tool, safe=""), body))


class Files:
    """The stored files of the workspace."""

    def get(self, path: str, version: int | None = None) -> bytes:
        """The bytes of a file, or of an older version of it. Raises `Refused`."""
        query = "" if version is None else f"?version={version}"
        return _asked("GET", "/files/" + urllib.parse.quote(path) + query)

    def save(self, path: str, to: str | None = None) -> str:
        """Puts the bytes of a file into the workbench, at its path or another; returns where. Raises `Refused`."""
        data = self.get(path)
        target = pathlib.Path(path if to is None else to)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)
        return str(target)


files = Files()


def _asked(method: str, address: str, body: bytes | None = None) -> bytes:
    connection = _Connection("workbench")
    try:
        connection.request(method, address, body)
        answer = connection.getresponse()
        data = answer.read()
    finally:
        connection.close()
    if answer.status == 200:
        return data
    try:
        error = json.loads(data)["error"]
        code, sentence = str(error["code"]), str(error["sentence"])
    except (ValueError, KeyError, TypeError):
        code, sentence = "fault", f"the answer has the status {answer.status}"
    raise Refused(answer.status, code, sentence)
