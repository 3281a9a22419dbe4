"""Where a server listens, and how long it takes to stop.

Settles addresses and ports. Does not settle what is answered (`surfaces.http`).
"""

from __future__ import annotations

import errno
import ipaddress
import socket
from collections.abc import Callable
from typing import TYPE_CHECKING

import uvicorn

from stanch.values.fault import BadInput

if TYPE_CHECKING:
    from fastapi import FastAPI

LONGEST_STOP = 10
"""Seconds that requests under way are given to end, once the server was told to stop."""
_BACKLOG = 512


class Server(uvicorn.Server):
    """A server that says when it is up."""

    def __init__(self, app: FastAPI, when_up: Callable[[], None]) -> None:
        """`when_up` is called once, when requests are answered."""
        self._when_up = when_up
        super().__init__(
            uvicorn.Config(
                app,
                ws="none",
                access_log=False,
                log_config=None,
                server_header=False,
                proxy_headers=False,
                timeout_graceful_shutdown=LONGEST_STOP,
            )
        )

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Starts to answer."""
        await super().startup(sockets)
        self._when_up()


def listen(host: str, port: int | None, usual: int) -> socket.socket:
    """A socket that listens on the port, which may be 0 for any free one.

    Where no port is named, that is the usual one, or a free one where that is taken. Raises `BadInput` for an address
    or a port that cannot be had.
    """
    try:
        return _bound(host, usual if port is None else port)
    except OSError as error:
        if error.errno != errno.EADDRINUSE:
            raise BadInput(f"cannot listen on {host} port {usual if port is None else port}: {_why(error)}") from None
        if port is not None:
            raise BadInput(f"the port {port} of {host} is taken; name another one, or 0 for any free one") from None
    try:
        return _bound(host, 0)
    except OSError as error:
        raise BadInput(f"cannot listen on {host}: {_why(error)}") from None


def url_of(listener: socket.socket) -> str:
    """The address at which a program on this machine reaches the socket."""
    address, port = listener.getsockname()[:2]
    found = ipaddress.ip_address(address)
    if found.is_unspecified:
        found = ipaddress.ip_address("::1" if found.version == 6 else "127.0.0.1")
    return f"http://[{found}]:{port}" if found.version == 6 else f"http://{found}:{port}"


def port_of(listener: socket.socket) -> int:
    """The port of the socket."""
    return int(listener.getsockname()[1])


def is_private(listener: socket.socket) -> bool:
    """True where only this machine reaches the socket."""
    return ipaddress.ip_address(listener.getsockname()[0]).is_loopback


def _bound(host: str, port: int) -> socket.socket:
    # WHY: an empty host would stand for every address of the machine.
    if not host:
        raise BadInput("--host is empty")
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except UnicodeError:
        raise BadInput("--host is no name of a machine, and no address") from None
    family, kind, protocol, _, address = found[0]
    listener = socket.socket(family, kind, protocol)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        # WHY now: until it listens, two sockets may be bound to one port, and both would be told that they have it.
        listener.listen(_BACKLOG)
    except BaseException:
        listener.close()
        raise
    return listener


def _why(error: OSError) -> str:
    return (error.strerror or "unknown").lower()
