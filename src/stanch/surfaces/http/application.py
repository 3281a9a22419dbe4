"""The HTTP application: every router, and what surrounds each request.

Settles what is put together and in which order. Does not settle any answer (`app.service`).
"""

from __future__ import annotations

from collections.abc import Collection
from importlib.metadata import PackageNotFoundError, version

from fastapi import FastAPI

from stanch.app.service import Service
from stanch.surfaces.http import (
    audit,
    deciding,
    documented,
    groups,
    health,
    jobs,
    policy,
    problems,
    projects,
    sessions,
    tickets,
    tokens,
)
from stanch.surfaces.http.surrounding import Surrounding

ROUTERS = (
    health.ROUTER,
    deciding.ROUTER,
    sessions.ROUTER,
    projects.ROUTER,
    tickets.ROUTER,
    jobs.ROUTER,
    groups.GROUPS,
    groups.RULES,
    policy.ROUTER,
    tokens.ROUTER,
    audit.ROUTER,
)


def application(service: Service, *, hosts: Collection[str] = ()) -> FastAPI:
    """The application over an open service. It neither opens nor closes the service: that is the caller's.

    `hosts` are names other than loopback's by which a server that listens on loopback is called, such as a proxy's.
    """
    app = FastAPI(
        title="Stanch",
        version=_version(),
        description=documented.DESCRIPTION,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
    )
    app.state.service = service
    for router in ROUTERS:
        app.include_router(router)
    problems.register(app)
    documented.describe(app)
    app.add_middleware(Surrounding, hosts=hosts)
    return app


def _version() -> str:
    try:
        return version("stanch")
    except PackageNotFoundError:
        return "0"
