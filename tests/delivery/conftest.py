"""A running server with a vault, a chat and a model, for each test; and what each test drives."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.delivery.driving import DRIVEN, ended, watched
from tests.delivery.stage import Stage, staged


@pytest.fixture(autouse=True)
def _driving(request: pytest.FixtureRequest) -> Iterator[None]:
    DRIVEN.now = set()
    with watched():
        yield
    if isinstance(request.node, pytest.Function):
        if "STANCH_DRIVEN" in os.environ:
            with open(os.environ["STANCH_DRIVEN"], "a", encoding="utf-8") as out:
                out.write(f"{request.node.originalname} {sorted(DRIVEN.now)}\n")
        ended(request.node)


@pytest.fixture
def stage(tmp_path: Path, _driving: None) -> Iterator[Stage]:
    """A stage of one's own."""
    with staged(tmp_path) as running:
        yield running
