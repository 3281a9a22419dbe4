"""`/api/vault`: which secrets there are; setting, revoking and forgetting them. No answer holds a value.

Settles the routes, and that nothing that was sent comes back but a name and a note. Does not settle how a value is kept
(`app.vault`). WHY fields are not named here where they are unknown, as they are elsewhere: a value may have been put in
the place of a name.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping, Sequence
from datetime import datetime
from typing import Annotated, Any, Literal

from fastapi import Query, Request, Response
from fastapi.exceptions import RequestValidationError
from pydantic import Field, SecretStr

from stanch.app.vault import Unreadable
from stanch.app.vault_fields import LONGEST, LONGEST_NOTE, LONGEST_OWNER
from stanch.secrets.text import Secret
from stanch.surfaces.http.access import By, Served
from stanch.surfaces.http.bodies import Body
from stanch.surfaces.http.documented import problems
from stanch.surfaces.http.paging import Cursor, Limit, page_shown
from stanch.surfaces.http.problems import Problem, unprocessable
from stanch.surfaces.http.route import GuardedRoute
from stanch.surfaces.http.routers import BODY, guarded
from stanch.surfaces.http.shown import BrokenShown, PageShown, Shown
from stanch.values.vault import SecretRecord, SecretScope

Confirm = Annotated[str, Query(max_length=512, description="The name once more: nothing of this can be undone.")]
_KNOWN = ("value", "note", "owner", "scope")


class QuietRoute(GuardedRoute):
    """A route whose refusals repeat no name that was sent."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """The handler behind the guard."""
        inner = super().get_route_handler()

        async def quiet(request: Request) -> Response:
            try:
                return await inner(request)
            except RequestValidationError as why:
                raise unprocessable(_told(why)) from None
            except Problem as problem:
                if problem.kind == "no-json":
                    raise Problem(400, "no-json", "the body is no JSON") from None
                raise

        return quiet

    def known_query(self, request: Request) -> None:
        """Refuses a parameter that the route does not know. Raises `Problem` 422."""
        known = {field.alias for field in self.dependant.query_params}
        if any(name not in known for name in request.query_params):
            said = f" (known: {', '.join(sorted(known))})" if known else ""
            raise unprocessable([("", f"this takes no such parameter{said}")])


ROUTER = guarded("/api/vault", "vault", QuietRoute)


class SecretBody(Body):
    """The value of a secret, and what people are to know of it."""

    value: SecretStr = Field(min_length=1, max_length=LONGEST, description="It is in no answer, ever.")
    note: Annotated[str, Field(max_length=LONGEST_NOTE)] | None = Field(
        default=None, description="For people. Left out: as it was."
    )
    owner: Annotated[str, Field(min_length=1, max_length=LONGEST_OWNER)] | None = None
    scope: Literal["workspace", "user"] = "workspace"


class SecretShown(Shown):
    """What is known of a secret without its value."""

    name: str
    scope: SecretScope
    owner: str | None
    note: str
    created_at: datetime
    changed_at: datetime
    revoked_at: datetime | None
    values: int = Field(description="How many it has and had, all of which are looked for.")


class SecretSetShown(SecretShown):
    """A secret that was set, and what is to be said against its value."""

    warnings: list[str]


class ResealedShown(Shown):
    """How many values were sealed anew, and the id of the key that seals."""

    resealed: int
    key: str | None


class ForgottenShown(Shown):
    """How many values are looked for no more."""

    name: str
    forgotten: int


class UnreadableShown(Shown):
    """The rows of the vault that stop every request to a model, and why each cannot be read or opened."""

    items: list[BrokenShown]


class ForgetBody(Body):
    """How many rows the person was told of who wants them forgotten."""

    count: int = Field(ge=1, description="As many as `GET /api/vault/unreadable` gave.")


@ROUTER.get("")
def list_secrets(service: Served, limit: Limit = 50, cursor: Cursor = None) -> PageShown[SecretShown | BrokenShown]:
    """List the secrets, by name. Values are never read over this API."""
    page = service.vault.names(limit=limit, cursor=cursor)
    counts = service.vault.counts([one.name for one in page.items if isinstance(one, SecretRecord)])
    return page_shown(page, lambda one: SecretShown(**_fields(one, counts)))


@ROUTER.put("/{name}", responses=problems(*BODY))
def set_secret(name: str, body: SecretBody, service: Served, by: By) -> SecretSetShown:
    """Set a secret, or give it another value. The value that it had goes on being taken out of what models are sent."""
    kept = service.vault.set(
        name,
        Secret(body.value.get_secret_value()),
        note=body.note,
        owner=body.owner,
        scope=SecretScope(body.scope),
        by=by,
    )
    return SecretSetShown(**_fields(kept.record, service.vault.counts([name])), warnings=list(kept.warnings))


@ROUTER.delete("/{name}", responses=problems(404, 409))
def revoke_secret(name: str, service: Served, by: By) -> SecretShown:
    """Revoke a secret: it is used no more, and still taken out of what models are sent."""
    return SecretShown(**_fields(service.vault.revoke(name, by=by), service.vault.counts([name])))


@ROUTER.delete("/{name}/values", responses=problems(404, 409))
def forget_secret(name: str, service: Served, by: By, confirm: Confirm) -> ForgottenShown:
    """Forget a revoked secret with every value that it had: they are looked for no more, wherever they stand."""
    if confirm != name:
        raise unprocessable([("confirm", "'confirm' must be the name of the secret once more")])
    return ForgottenShown(name=name, forgotten=service.vault.forget(name, by=by))


@ROUTER.get("/unreadable")
def list_unreadable(service: Served) -> UnreadableShown:
    """List what stops every request to a model: rows of the vault that cannot be read, and values without their key."""
    return _unreadable(service.vault.unreadable())


@ROUTER.post("/unreadable/forget", responses=problems(409, *BODY))
def forget_unreadable(body: ForgetBody, service: Served, by: By) -> UnreadableShown:
    """Forget what cannot be opened: whatever these values are, they are looked for no more, and requests go on."""
    return _unreadable(service.vault.forget_unreadable(body.count, by=by))


@ROUTER.post("/reseal")
def reseal(service: Served, by: By) -> ResealedShown:
    """Seal every value with the key that seals now, which is read again first."""
    done = service.vault.reseal(by=by)
    return ResealedShown(resealed=done, key=service.vault.key)


def _unreadable(rows: Sequence[Unreadable]) -> UnreadableShown:
    return UnreadableShown(items=[BrokenShown(id=one.id, table=one.table, problem=one.problem) for one in rows])


def _fields(record: SecretRecord, counts: Mapping[str, int]) -> dict[str, Any]:
    known = {name: getattr(record, name) for name in SecretShown.model_fields if name != "values"}
    return {**known, "values": counts.get(record.name, 0)}


def _told(why: RequestValidationError) -> list[tuple[str, str]]:
    """Each known field with what is wrong with it; the others together, without their names."""
    found: dict[str, str] = {}
    for error in why.errors():
        where = [part for part in error["loc"] if part not in ("body", "query", "path")]
        field = str(where[0]) if where and where[0] in (*_KNOWN, "limit", "cursor", "confirm", "count") else ""
        found.setdefault(field, _words(field, str(error["type"])))
    return list(found.items())


def _words(field: str, kind: str) -> str:
    if not field:
        return f"this takes an object with 'value', and no other fields than {', '.join(_KNOWN)}"
    if kind == "missing":
        return f"'{field}' is missing"
    wanted = {
        "value": f"text of 1 to {LONGEST:,} characters",
        "note": f"text of at most {LONGEST_NOTE:,} characters, or null",
        "owner": f"text of 1 to {LONGEST_OWNER} characters, or null",
        "scope": "'workspace' or 'user'",
        "limit": "a whole number from 1 to 500",
        "count": "a whole number from 1",
    }
    return f"'{field}' must be {wanted.get(field, 'something else')}"
