"""The OpenAPI description: complete, and true of what is answered to drawn requests."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode
from schemathesis.checks import CHECKS
from starlette.testclient import TestClient

from stanch.app.service import Service
from stanch.surfaces.http.application import application
from tests.http.served import BY, PERSON, World

# What a schema cannot say is refused all the same: a glob in a grant, a group that there is not.
LEFT_OUT = ("positive_data_acceptance",)
# An answer that does not end; what it holds is tested by itself.
ENDLESS = "/api/events"


ROUTES = [
    (method.upper(), path)
    for path, methods in application(cast(Service, None)).openapi()["paths"].items()
    for method in methods
]


@pytest.fixture(scope="module")
def described(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """The description of an application in this process, with a person's token."""
    world = World(tmp_path_factory.mktemp("described"))
    schema = schemathesis.openapi.from_asgi("/openapi.json", application(world.service))
    token = world.store.create_token(name="drawn", principal=PERSON, by=BY).secret
    schema.config.update(headers={"Authorization": f"Bearer {token}"})
    yield schema
    world.close()


@pytest.mark.parametrize("mode", [GenerationMode.POSITIVE, GenerationMode.NEGATIVE], ids=["fitting", "unfitting"])
@pytest.mark.parametrize(("method", "path"), [one for one in ROUTES if one[1] != ENDLESS])
def test_drawn_requests_are_answered_as_described(described: Any, method: str, path: str, mode: GenerationMode) -> None:
    operation = described[path][method]
    checks = [check for check in CHECKS.get_all() if check.__name__ not in LEFT_OUT]

    # WHY the same each time: what does not fit may do so once it is written into an address, as `?tag=-253` does.
    @settings(
        max_examples=8,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=list(HealthCheck),
        derandomize=True,
    )
    @given(case=operation.as_strategy(generation_mode=mode))
    def ask(case: Any) -> None:
        answer = case.call(timeout=60)  # the first turn of a process imports the agent library
        too_large = answer.status_code == 413  # which is no less a refusal, and not on the list of the check
        wanted = [one for one in checks if not (too_large and one.__name__ == "negative_data_rejection")]
        case.validate_response(answer, checks=wanted)

    try:
        ask()
    except Unsatisfiable:
        assert mode is GenerationMode.NEGATIVE, "nothing fits"


def test_every_route_says_what_it_may_answer(tmp_path: Path) -> None:
    world = World(tmp_path)
    try:
        found = TestClient(application(world.service)).get("/openapi.json").json()
    finally:
        world.close()
    text = json.dumps(found)
    schemas = found["components"]["schemas"]
    named = {part.partition('"')[0] for part in text.split("#/components/schemas/")[1:]}
    assert named <= set(schemas)
    assert "HTTPValidationError" not in schemas
    for path, methods in found["paths"].items():
        for method, route in methods.items():
            where = f"{method} {path}"
            answers = route["responses"]
            assert route["description"], where
            assert [code for code in answers if code.startswith("2")], where
            if path in ("/healthz", "/links/{token}"):
                assert "security" not in route
                continue
            assert route["security"] == [{"HTTPBearer": []}], where
            assert {"401", "403", "421", "422", "500", "503"} <= set(answers), where
            assert all("application/problem+json" in answers[code]["content"] for code in answers if code > "4"), where
            if "{" in path and (method, path) not in MAKES:
                assert "404" in answers, where
            if "requestBody" in route:
                assert {"400", "413", "415"} <= set(answers), where


# What is named and not there is made.
MAKES = {("put", "/api/vault/{name}")}


def test_the_page_on_the_api_names_every_address() -> None:
    page = (Path(__file__).resolve().parents[2] / "docs" / "rest.md").read_text("utf-8")
    named = {
        found for line in page.splitlines() if line.startswith("| `/") for found in re.findall(r"`(/[^`]*)`", line)
    }
    assert named == {path for _, path in ROUTES}
