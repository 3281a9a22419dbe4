"""A running server with a vault, a chat and a model, for each test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.delivery.stage import Stage, staged


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    """A stage of one's own."""
    with staged(tmp_path) as running:
        yield running
