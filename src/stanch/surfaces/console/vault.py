"""`/console/vault`: which secrets there are; setting, revoking and forgetting them. No page holds a value.

Settles what a person sees and which form changes what. Does not settle what the vault does (`app.vault`).
"""

from __future__ import annotations

from starlette.responses import Response

from stanch.app.permissions import Right
from stanch.secrets.text import Secret
from stanch.surfaces.console.failing import Refused
from stanch.surfaces.console.guard import Asked, goes_to
from stanch.surfaces.console.rules import every
from stanch.values.fault import BadFields, BadInput, Conflict, NotFound
from stanch.values.records import Broken
from stanch.values.vault import SecretScope

PAGE = "/console/vault"


def page(asked: Asked) -> Response:
    """The secrets, by name."""
    return _page(asked)


def set_secret(asked: Asked) -> Response:
    """Sets a secret, a new one or one that there is. Its value is in no page again, not even where it is refused."""
    name = asked.get("name").strip()
    # WHY: a browser sends every line's end of a text as two characters.
    value = asked.get("value").replace("\r\n", "\n")
    owner = asked.get("owner").strip() or None
    if not value:
        return _page(asked, problem="There is no value.", status=422)
    try:
        scope = SecretScope.USER if asked.get("scope") == SecretScope.USER.value else SecretScope.WORKSPACE
        kept = asked.service.vault.set(
            name, Secret(value), note=asked.get("note").strip(), owner=owner, scope=scope, by=asked.login.by
        )
    except BadFields as why:
        problem = " ".join(f"{message[:1].upper()}{message[1:]}." for _, message in why.fields)
        return _page(asked, problem=problem, status=422)
    except BadInput as why:
        return _page(asked, problem=asked.failing.sentence(why), status=422)
    if kept.warnings:
        return _page(asked, told=[f"{kept.record.name} is set, but {warning}." for warning in kept.warnings])
    return goes_to(f"{PAGE}#secret-{kept.record.name}")


def revoke(asked: Asked) -> Response:
    """Revokes one."""
    try:
        asked.service.vault.revoke(asked.get("name"), by=asked.login.by)
    except (Conflict, NotFound) as why:
        status = 409 if isinstance(why, Conflict) else 404
        return _page(asked, problem=asked.failing.sentence(why), status=status)
    return goes_to(PAGE)


def forget(asked: Asked) -> Response:
    """Forgets one that was revoked, with every value that it had, where its name was typed once more."""
    if Right.ADMINISTER not in asked.login.caller.rights:
        raise Refused(403, "A person alone may have a secret forgotten.")
    name = asked.get("name")
    if asked.get("confirm").strip() != name:
        return _page(asked, problem="Nothing is forgotten: type the name once more.", status=422)
    try:
        asked.service.vault.forget(name, by=asked.login.by)
    except (Conflict, NotFound) as why:
        status = 409 if isinstance(why, Conflict) else 404
        return _page(asked, problem=asked.failing.sentence(why), status=status)
    return goes_to(PAGE)


def _page(asked: Asked, *, problem: str = "", told: list[str] | None = None, status: int = 200) -> Response:
    found = every(asked.service.vault.names)
    names = [one.name for one in found if not isinstance(one, Broken)]
    return asked.page(
        "vault.html.j2",
        status=status,
        at="vault",
        problem=problem,
        told=told or [],
        secrets=[one for one in found if not isinstance(one, Broken)],
        broken=[one for one in found if isinstance(one, Broken)],
        counts=asked.service.vault.counts(names),
        unopened=asked.service.vault.problem(),
    )
