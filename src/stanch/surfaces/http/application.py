"""The HTTP application: every router, and what surrounds each request.

Settles what is put together and in which order. Does not settle any answer (`app.service`).
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager
from importlib.metadata import PackageNotFoundError, version

from fastapi import FastAPI

from stanch.app.service import Service
from stanch.surfaces.console.routes import routes as console_routes
from stanch.surfaces.http import (
    audit,
    bypasses,
    calls,
    content_documents,
    content_files,
    content_knowledge,
    content_links,
    content_runs,
    content_tables,
    content_tools,
    conversations,
    deciding,
    documented,
    events,
    groups,
    health,
    history,
    inbox,
    jobs,
    judging,
    live,
    plans,
    policy,
    problems,
    projects,
    sessions,
    sight,
    tickets,
    tokens,
    vault,
    workbench,
)
from stanch.surfaces.http.surrounding import Surrounding
from stanch.surfaces.proxy.door import Door

ROUTERS = (
    health.ROUTER,
    deciding.ROUTER,
    judging.ROUTER,
    sessions.ROUTER,
    calls.ROUTER,
    inbox.ROUTER,
    plans.ROUTER,
    bypasses.ROUTER,
    events.ROUTER,
    conversations.ROUTER,
    live.ROUTER,
    sight.ROUTER,
    history.ROUTER,
    projects.ROUTER,
    tickets.ROUTER,
    jobs.ROUTER,
    groups.GROUPS,
    groups.RULES,
    policy.ROUTER,
    tokens.ROUTER,
    vault.ROUTER,
    content_files.ROUTER,
    content_files.UPLOADING,
    content_documents.ROUTER,
    content_links.ROUTER,
    content_links.PUBLIC,
    content_knowledge.ROUTER,
    content_knowledge.UPLOADING,
    content_runs.ROUTER,
    content_runs.UPLOADS,
    content_tables.ROUTER,
    content_tables.UPLOADING,
    content_tools.ROUTER,
    workbench.ROUTER,
    workbench.FILLING,
    audit.ROUTER,
)


def application(service: Service, *, hosts: Collection[str] = ()) -> FastAPI:
    """The application over an open service. It neither opens nor closes the service: that is the caller's.

    `hosts` are names other than loopback's by which a server that listens on loopback is called, such as a proxy's.
    """
    door = Door(service)

    @asynccontextmanager
    async def ending(_: FastAPI) -> AsyncIterator[None]:
        yield
        await door.aclose()

    app = FastAPI(
        title="Stanch",
        version=_version(),
        description=documented.DESCRIPTION,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        lifespan=ending,
    )
    app.state.service = service
    # Says whether the server is to stop, which ends its streams: no, until a server puts its own in this place.
    app.state.stopping = bool
    for router in ROUTERS:
        app.include_router(router)
    app.router.routes.extend(console_routes(service))
    problems.register(app)
    documented.describe(app)
    app.add_middleware(Surrounding, hosts=hosts, apart=door)
    return app


def _version() -> str:
    try:
        return version("stanch")
    except PackageNotFoundError:
        return "0"
