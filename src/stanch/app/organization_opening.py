"""From what a policy, or a program, says of an organization to the rules that are fetched from there.

Settles which source is fetched how, and when the first try is waited for. Does not settle when the others come
(`app.organization`).
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from stanch.app.organization import LOOK_SECONDS, Organization, Status
from stanch.app.organization_copy import NAME, CopyFile
from stanch.app.organization_fetching import from_address, from_file, from_program
from stanch.policy.document import Organization as Named
from stanch.policy.organization import Copy
from stanch.policy.organization_source import is_address, shown, source_problem
from stanch.values.fault import BadInput

USUAL_MAX_AGE_S = 300.0
Told = Callable[[Status], None]


def opened(
    named: Named,
    workspace: str,
    home: str,
    *,
    data: Path | None = None,
    told: Told | None = None,
    copy: Copy | None = None,
) -> Organization:
    """The rules of the organization that a policy names, fetched from now on; a file has been read already.

    Takes what `prepared` takes.
    """
    made = prepared(named, workspace, home, data=data, told=told, copy=copy)
    if not is_address(named.source):
        made.refresh()
    return made.start()


def prepared(
    named: Named,
    workspace: str,
    home: str,
    *,
    data: Path | None = None,
    told: Told | None = None,
    copy: Copy | None = None,
) -> Organization:
    """The rules of the organization that a policy names, as far as a copy of them is kept.

    `data` is the directory in which a copy outlives this process, None for none. `copy` is one of that very source.
    """
    max_age_s = float(named.max_age_s)
    path = file_of(named, workspace, home)
    if path is not None:
        return Organization(
            from_file(path), source=str(path), max_age_s=max_age_s, every=LOOK_SECONDS, told=told, copy=copy
        )
    kept = None if data is None else CopyFile(data / NAME, named.source)
    fetch = from_address(named.source, token_env=named.token_env)
    return Organization(fetch, source=shown(named.source), max_age_s=max_age_s, kept=kept, told=told, copy=copy)


def file_of(named: Named, workspace: str, home: str) -> Path | None:
    """The file that a policy names as its organization's rules; None where it names an address."""
    if is_address(named.source):
        return None
    source = named.source
    if source == "~" or source.startswith("~/"):
        source = home + source[1:]
    return Path(os.path.normpath(os.path.join(workspace, source)))


def organization(
    provide: Callable[[], Any] | Organization | str,
    *,
    max_age_s: float | None = None,
    name: str = "program",
    token_env: str | None = None,
) -> Organization:
    """An organization's rules that a program gives, fetched from now on in a thread; `close` ends that.

    `provide` is called again and again, and returns them: a text of JSON or TOML, a list of tables as in
    `[[groups.rules]]`, or a table with `rules`. To raise is to have none. It may also be an address, as a policy names
    one. Each answer holds for `max_age_s` seconds; left out, for the `max_age_s` of the callable itself, else 300.
    `name` is what to call the source. Raises `BadInput` for what cannot be used.
    """
    if isinstance(provide, Organization):
        return provide.start()
    if max_age_s is None:
        max_age_s = getattr(provide, "max_age_s", USUAL_MAX_AGE_S)
    if isinstance(max_age_s, bool) or not isinstance(max_age_s, (int, float)) or not 0 < max_age_s < float("inf"):
        raise BadInput("'max_age_s' must be a number of seconds above 0")
    if isinstance(provide, str):
        problem = (
            source_problem(provide) if is_address(provide) else "'source' must be an address, or something to call"
        )
        if problem is not None:
            raise BadInput(problem)
        return Organization(
            from_address(provide, token_env=token_env), source=shown(provide), max_age_s=max_age_s
        ).start()
    if not callable(provide):
        raise BadInput("an organization is an address, or something to call that returns its rules")
    return Organization(from_program(provide), source=name, max_age_s=max_age_s).start()
