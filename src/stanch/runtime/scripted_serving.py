"""Where a scripted model is served: a free port of loopback, in a thread of this process.

Settles how such a server starts and stops. Does not settle what it answers (`runtime.scripted`).
"""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn
from starlette.applications import Starlette

MOST_SECONDS = 30.0


@contextmanager
def served(application: Starlette) -> Iterator[str]:
    """The base address of a server that runs until the end of the `with`; it hangs up on whoever is then connected.

    Raises `RuntimeError` where it does not start.
    """
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(128)
        config = uvicorn.Config(
            application, log_config=None, log_level="critical", lifespan="off", timeout_graceful_shutdown=1
        )
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, args=([listener],), name="scripted models", daemon=True)
        thread.start()
        try:
            _started(server, thread)
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join(MOST_SECONDS)


def _started(server: uvicorn.Server, thread: threading.Thread) -> None:
    end, pause = time.monotonic() + MOST_SECONDS, threading.Event()
    while not server.started:
        if not thread.is_alive() or time.monotonic() > end:
            raise RuntimeError("the scripted model server did not start")
        pause.wait(0.005)
