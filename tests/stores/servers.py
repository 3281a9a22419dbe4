"""A PostgreSQL server of one's own for as long as the tests run.

It listens on a socket in a temporary directory only, so that nothing else meets it, and keeps nothing.
"""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

UNPRIVILEGED = "postgres"
SECONDS = 60


def programs() -> Path | None:
    """The directory of the newest PostgreSQL server programs on this machine."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]))
    if found:
        return found[-1].parent
    elsewhere = shutil.which("initdb")
    return None if elsewhere is None else Path(elsewhere).resolve().parent


@contextmanager
def server(directory: Path) -> Iterator[str]:
    """Runs a server; gives the address of its first database. It never runs as root, which PostgreSQL refuses."""
    as_owner: list[str] = []
    if os.geteuid() == 0:
        shutil.chown(directory, UNPRIVILEGED)
        as_owner = ["runuser", "-u", UNPRIVILEGED, "--"]

    def run(program: str, *arguments: str) -> None:
        where = programs()
        assert where is not None
        command = [*as_owner, str(where / program), "-D", f"{directory}/data", *arguments]
        log = directory / f"{program}.txt"
        with log.open("wb") as said:
            ended = subprocess.run(
                command, cwd="/", stdin=subprocess.DEVNULL, stdout=said, stderr=said, timeout=SECONDS, check=False
            )
        assert ended.returncode == 0, f"{program} failed:\n{log.read_text('utf-8', 'replace')}"

    run("initdb", "-U", "stanch", "--auth=trust", "--no-sync", "-E", "UTF8", "--locale=C.UTF-8")
    quick = "-c fsync=off -c autovacuum=off -c max_connections=200"
    options = f"-c listen_addresses= -c unix_socket_directories={directory} {quick}"
    run("pg_ctl", "-w", "-t", str(SECONDS), "-l", f"{directory}/log", "-o", options, "start")
    try:
        yield f"postgresql://stanch@/postgres?host={directory}"
    finally:
        run("pg_ctl", "-m", "immediate", "-w", "stop")


@contextmanager
def temporary_server() -> Iterator[str]:
    """Runs a server in a directory that goes with it. WHY: not below pytest's own, which others may not enter."""
    directory = Path(tempfile.mkdtemp(prefix="stanch-pg-", dir="/tmp"))
    try:
        with server(directory) as address:
            yield address
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def lacking() -> str | None:
    """What this machine lacks to run a server, in words that say what to do; None where it lacks nothing."""
    if programs() is None:
        return "no PostgreSQL server programs were found; on Debian: apt-get install --no-install-recommends postgresql"
    if os.geteuid() == 0:
        try:
            pwd.getpwnam(UNPRIVILEGED)
        except KeyError:
            return f"PostgreSQL does not run as root, and there is no user {UNPRIVILEGED} to run it as"
    return None
