"""What every test shares: how random input is drawn.

No test asserts a time, so a slow machine never fails a drawn example; what fails is printed, to be run again.
"""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

settings.register_profile("usual", deadline=None, print_blob=True, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("soak", settings.get_profile("usual"), max_examples=20_000)
settings.load_profile("soak" if os.environ.get("STANCH_SOAK") else "usual")
