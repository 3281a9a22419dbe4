"""Where an organization's rules may come from: an address over TLS, one of this machine, or a file.

Settles which sources a policy may name, and how one is shown. Does not settle what is fetched from it
(`app.organization_fetching`).
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Collection, Mapping
from typing import Any, NamedTuple
from urllib.parse import SplitResult, urlsplit

from stanch.policy.document import Organization
from stanch.policy.shapes import Location

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_ODD = re.compile(r"[^\x21-\x7e]")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_PORTS = {"https": 443, "http": 80}


class Spot(NamedTuple):
    """The server that an address is on."""

    scheme: str
    host: str
    port: int


def organization_of(
    values: Mapping[str, Any], bad: Collection[Location]
) -> tuple[Organization | None, list[tuple[Location, str]]]:
    """What the policy says of its organization, and what is wrong with that; None where it cannot be used."""
    if "organization" not in values or ("organization",) in bad:
        return None, []
    organization = Organization(**values["organization"])
    wrong: list[tuple[Location, str]] = []
    if (problem := source_problem(organization.source)) is not None:
        wrong.append((("organization", "source"), problem))
    token = organization.token_env
    if token is not None and _VARIABLE.fullmatch(token) is None:
        wrong.append((("organization", "token_env"), "'token_env' must be the name of an environment variable"))
    elif token is not None and not is_address(organization.source):
        wrong.append((("organization", "token_env"), "'token_env' is for an address; a file needs none, take it out"))
    return (None if wrong else organization), wrong


def is_address(source: str) -> bool:
    """True for an address, false for the path of a file."""
    return _SCHEME.match(source) is not None


def source_problem(source: str) -> str | None:
    """What is wrong with a source, and what to write instead; None where it can be used. It repeats none of it."""
    if not is_address(source):
        return "'source' holds a character that no path has" if "\0" in source else None
    try:
        address = urlsplit(source)
        spot = spot_of(source)
    except ValueError:
        return "'source' is no address that can be read"
    if address.scheme not in _PORTS:
        return "'source' must be an address that begins with https://, or the path of a file"
    if spot is None or _ODD.search(source) or "\\" in source:
        return "'source' is no address that can be read"
    if "@" in address.netloc:
        return "'source' must not hold a user or a password; name a variable that holds a token with 'token_env'"
    if address.fragment:
        return "'source' must not hold a '#'"
    if spot.scheme == "http" and not _is_loopback(spot.host):
        return "'source' must begin with https://: whoever is in between could change rules that come over http://"
    return None


def spot_of(address: str) -> Spot | None:
    """The server of an address; None where it names none. Raises `ValueError` for what is no address."""
    split = urlsplit(address)
    host = (split.hostname or "").rstrip(".").lower()
    if split.scheme not in _PORTS or not host:
        return None
    return Spot(split.scheme, host, split.port or _PORTS[split.scheme])


def shown(source: str) -> str:
    """A source as anybody may see it: WHY without a query, some servers take their keys there."""
    if not is_address(source):
        return source
    try:
        split = urlsplit(source)
    except ValueError:
        return "an address that cannot be read"
    host = split.netloc.rpartition("@")[2]
    return SplitResult(split.scheme, host, split.path, "…" if split.query else "", "").geturl()


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
