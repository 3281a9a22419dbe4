"""Everything that a chat's model can reach: each route and tool, with its operation and what that declares.

Settles the list, of which `docs/content-inventory.json` is a copy. `python -m stanch.surfaces.http.content_inventory`
prints it anew. Does not settle who may use a route (`access`), nor what a model is told (`delivery`).
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import Any

from fastapi.routing import APIRoute

from stanch.app.permissions import rights_of
from stanch.delivery.operation import OPERATIONS, ContentDelivery, Operation, Undeclared
from stanch.policy.known_tools import known
from stanch.surfaces.http.access import right_for
from stanch.surfaces.http.application import ROUTERS
from stanch.surfaces.http.content_route import ContentRoute
from stanch.values.identity import COPILOT_SERVICE, Principal, PrincipalKind

CODE = "run_code"
"""The tool that is no operation and gives stored content all the same: what code prints that has had some."""
_MODEL = Principal(PrincipalKind.DELEGATED, "", COPILOT_SERVICE)


def inventory() -> list[dict[str, Any]]:
    """Every route and tool, in order. Raises `Undeclared` for one of which nobody says what it delivers."""
    return [*sorted(_routes(), key=_order), *sorted(_tools(), key=_order)]


def _order(row: dict[str, Any]) -> tuple[str, str]:
    return row["reach"].partition(" ")[2], row["reach"]


def _routes() -> Iterator[dict[str, Any]]:
    rights = rights_of(_MODEL)
    for router in ROUTERS:
        for route in router.routes:
            if not isinstance(route, APIRoute):
                raise Undeclared(f"nobody can say what {route} delivers")
            for method in sorted(route.methods or ()):
                if isinstance(route, ContentRoute):
                    if route.operation.tool is not None:
                        yield _row(f"{method} {route.path}", route.operation)
                elif right_for(method, route.path) in rights:
                    yield _row(f"{method} {route.path}", None)


def _tools() -> Iterator[dict[str, Any]]:
    offered = {one.tool: one for one in OPERATIONS.values() if one.tool is not None and one.in_chat}
    stores = {one.tool for one in OPERATIONS.values()}
    for name, tool in known().items():
        if name == CODE:
            yield {"reach": f"tool {name}", "operation": None, "content_delivery": ContentDelivery.SOURCED.value}
        elif tool.builtin and (name in offered or name not in stores):
            yield _row(f"tool {name}", offered.get(name))


def _row(reach: str, operation: Operation[Any, Any, Any] | None) -> dict[str, Any]:
    """WHY none for what is no operation: it has no way to a store, which the import rules see to."""
    delivers = ContentDelivery.NONE if operation is None else operation.content_delivery
    if delivers is None:
        raise Undeclared(f"{reach} does not declare its content_delivery")
    return {
        "reach": reach,
        "operation": None if operation is None else operation.name,
        "content_delivery": delivers.value,
    }


def text() -> str:
    """The list as it is kept: one line for each."""
    return "[\n" + ",\n".join(json.dumps(row) for row in inventory()) + "\n]\n"


if __name__ == "__main__":
    sys.stdout.write(text())
