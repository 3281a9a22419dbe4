"""A server in this very process, for a command that needs one for as long as it runs.

Settles how it starts and stops beside the command. Does not settle how it is put together (`app.wiring`), nor what it
answers (`surfaces.http`).
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from stanch.app import wiring
from stanch.app.settings import Settings, read_private
from stanch.surfaces.cli import listening
from stanch.surfaces.cli.client import Client
from stanch.surfaces.http.application import application
from stanch.values.fault import BadInput

HOST = "127.0.0.1"
SECONDS = 60.0


@contextmanager
def server_here(settings: Settings, say: Callable[[str], None]) -> Iterator[Client]:
    """The administrator's client of a server on a free port of loopback, which stops at the end of the block.

    `say` is told what is going on. Raises a `Fault` where the server cannot start.
    """
    os.umask(0o077)
    with (
        wiring.claimed(settings) as lock,
        listening.listen(HOST, 0, 0) as listener,
        wiring.started(settings, say) as running,
    ):
        app = application(running.service)
        is_up = threading.Event()
        server = listening.Server(app, is_up.set)
        app.state.stopping = lambda: server.should_exit
        url = listening.url_of(listener)
        lock.tell(wiring.holder(url))
        say("starting to listen")
        thread = threading.Thread(target=server.run, args=([listener],), name="stanch-server", daemon=True)
        thread.start()
        try:
            if not is_up.wait(SECONDS):
                raise BadInput("the server did not start in time")
            say("starting the agents")
            running.service.notifier.start(url)
            running.service.agents.start()
            running.service.scheduler.start()
            running.service.clearing.start(settings.workbench_hours)
            token = running.new_token or read_private(settings.token_file)
            if token is None:
                raise BadInput(f"there is no token in {settings.token_file}")
            yield Client(url, token.strip())
        finally:
            server.should_exit = True
            thread.join(SECONDS)
