"""What the tests of the runtime share."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.runtime.file_jobs import Repository


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    """An empty workspace under a policy, with the file tools at work in it."""
    return Repository(tmp_path)
