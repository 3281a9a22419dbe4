"""`/api/tokens`: who may come in. For administrators only.

Settles the routes. Does not settle what a principal may do (`app.permissions`).
"""

from __future__ import annotations

from stanch.surfaces.http.access import TOKENS, By, Served
from stanch.surfaces.http.bodies import TokenBody
from stanch.surfaces.http.documented import problems
from stanch.surfaces.http.paging import Cursor, Limit, page_shown
from stanch.surfaces.http.routers import BODY, guarded
from stanch.surfaces.http.shown import BrokenShown, PageShown
from stanch.surfaces.http.shown_log import NewTokenShown, TokenShown, new_token_shown, token_shown

ROUTER = guarded(TOKENS, "tokens")


@ROUTER.post("", status_code=201, responses=problems(*BODY))
def create_token(body: TokenBody, service: Served, by: By) -> NewTokenShown:
    """Make a token. Its secret is in this answer and never again."""
    return new_token_shown(service.tokens.create(name=body.name, principal=body.principal.principal(), by=by))


@ROUTER.get("")
def list_tokens(
    service: Served, limit: Limit = 50, cursor: Cursor = None, revoked: bool | None = None
) -> PageShown[TokenShown | BrokenShown]:
    """List the tokens, oldest first."""
    return page_shown(service.tokens.list(revoked=revoked, limit=limit, cursor=cursor), token_shown)


@ROUTER.get("/{token_id}", responses=problems(404))
def read_token(token_id: str, service: Served) -> TokenShown:
    """Read what is known of a token."""
    return token_shown(service.tokens.get(token_id))


@ROUTER.delete("/{token_id}", responses=problems(404, 409))
def revoke_token(token_id: str, service: Served, by: By) -> TokenShown:
    """Revoke a token: it opens nothing from now on."""
    return token_shown(service.tokens.revoke(token_id, by=by))
