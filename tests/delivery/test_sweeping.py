"""Bytes that nothing names any more: those alone are swept away, whichever store they are of."""

from __future__ import annotations

import base64
import os
import time
from pathlib import Path

from stanch.storage.content_store import ContentStore
from tests.delivery.stage import Stage


def kept(stage: Stage) -> list[Path]:
    return [path for path in (stage.root / "blobs").rglob("*") if path.is_file()]


def test_whatever_any_store_still_names_is_kept(stage: Stage) -> None:
    inlined = {"file": "b.bin", "media_type": "application/octet-stream", "base64": base64.b64encode(b"run").decode()}
    for method, path, body in (
        ("PUT", "/api/files/text/a.txt", {"content": "old"}),
        ("PUT", "/api/files/text/a.txt", {"content": "new"}),
        ("POST", "/api/knowledge/documents", {"title": "t", "text": "document", "tags": []}),
        ("POST", "/api/runs", {"name": "r", "output": inlined}),
    ):
        reply = stage.send(method, path, json=body)
        assert reply.status_code < 300, reply.text
    stage.send("DELETE", "/api/files/content/a.txt")
    blobs = stage.content._blobs
    orphan = blobs.put((b"of a write that was refused",))
    before = {path.name for path in kept(stage)}
    assert len(before) >= 5
    for one in kept(stage):
        os.utime(one, (time.time() - 1_000,) * 2)
    assert blobs.sweep(ContentStore(stage.store).named_bytes, grace=500) == 1
    assert {path.name for path in kept(stage)} == before - {orphan.digest}
