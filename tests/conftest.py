"""What every test shares: how random input is drawn.

No test asserts a time, so a slow machine never fails a drawn example; what fails is printed, to be run again.
"""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, settings

# What these assert is explained only if pytest hears of them before anybody imports them; they are no test files.
pytest.register_assert_rewrite("tests.http.served", "tests.console.visitors", "tests.agents.lane")
_PARTS = ("nouns", "changes", "audit", "broken", "calls", "start", "watch", "messages", "turns", "job_runs", "vault")
for _part in (*_PARTS, "vault_values"):
    pytest.register_assert_rewrite(f"tests.stores.suite_{_part}")

settings.register_profile("usual", deadline=None, print_blob=True, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("soak", settings.get_profile("usual"), max_examples=20_000)
settings.load_profile("soak" if os.environ.get("STANCH_SOAK") else "usual")
