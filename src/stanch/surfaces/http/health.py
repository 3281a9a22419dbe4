"""`/healthz`: does the server answer, and can it use its store? For whoever watches it; needs no token.

Settles that nothing else is told. INVARIANT: no path, no version, no cause.
"""

from __future__ import annotations

from typing import Any, Literal

from fastapi import APIRouter, Response

from stanch.surfaces.http.access import Served
from stanch.surfaces.http.documented import problems
from stanch.surfaces.http.shown import Shown

ROUTER = APIRouter(tags=["health"], redirect_slashes=False)


class HealthShown(Shown):
    """Whether the server can be used."""

    status: Literal["ok", "store unreadable"]


_ANSWERS: dict[int | str, dict[str, Any]] = {
    **{code: said for code, said in problems().items() if code in (421, 500)},
    503: {"model": HealthShown, "description": "The store is of no use."},
}


@ROUTER.get("/healthz", responses=_ANSWERS)
def health(service: Served, response: Response) -> HealthShown:
    """Say whether the server can be used."""
    if service.ready().ready:
        return HealthShown(status="ok")
    response.status_code = 503
    return HealthShown(status="store unreadable")
