"""A server from its start to its end, as the command line runs it.

Settles the order: the lock, the socket, the store and its service, the application, the welcome, the end. Does not
settle any of these.
"""

from __future__ import annotations

import os

from stanch.app import wiring
from stanch.app.settings import Settings
from stanch.surfaces.cli import listening, terminal
from stanch.surfaces.cli.stopping import Stopping
from stanch.surfaces.cli.welcome import Progress, Welcome, note_problems
from stanch.surfaces.http.application import application


def serve(
    settings: Settings, *, host: str, port: int | None, usual: int, progress: Progress, stopping: Stopping
) -> None:
    """Runs a server until it is told to stop. `port` None stands for the usual one, or a free one where that is taken.

    Raises a `Fault` where it cannot start.
    """
    os.umask(0o077)
    with (
        wiring.claimed(settings) as lock,
        listening.listen(host, port, usual) as listener,
        wiring.started(settings, progress.say) as running,
    ):
        app = application(running.service)
        url = listening.url_of(listener)
        welcome = Welcome(url, app.docs_url, app.openapi_url, settings, running.store, running.new_token)
        notes = list(running.warnings)
        if port is None and listening.port_of(listener) != usual:
            notes.append(f"the port {usual} is taken, so the server listens on {listening.port_of(listener)}")
        if not listening.is_private(listener):
            notes.append(
                f"with --host {host}, whoever reaches this machine reaches the server, and tokens travel unencrypted; "
                "put a proxy with TLS in front of it"
            )

        def when_up() -> None:
            progress.end()
            welcome.show()
            for note in notes:
                terminal.note(note)
            note_problems(running.service.policy)
            running.service.notifier.start(url)
            running.service.agents.start_soon()
            running.service.scheduler.start()
            running.service.clearing.start(settings.workbench_hours)

        stopping.server = server = listening.Server(app, when_up)
        app.state.stopping = lambda: server.should_exit
        progress.say("starting to listen")
        lock.tell(wiring.holder(url))
        server.run([listener])
