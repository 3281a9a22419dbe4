"""Servers, logins and browsers for the tests of the console."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.console.visitors import Person, Visitor
from tests.http.served import World, served

if TYPE_CHECKING:
    from playwright.sync_api import Browser

BROWSERS = ("chromium", "chromium-browser", "google-chrome")


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    """A server without a policy file: the groups of a new store speak."""
    with served(World(tmp_path)) as running:
        yield running


@pytest.fixture
def visitor(world: World) -> Iterator[Visitor]:
    """A person who is logged in, without a browser."""
    with Visitor(world) as visiting:
        yield visiting


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """A real browser, without a window. Where there is none, its tests are skipped; in CI they fail.

    WHY for one module: its driver keeps an event loop running in this thread, where other tests run their own.
    """
    if os.environ.get("STANCH_NO_BROWSER") == "1":
        pytest.skip("STANCH_NO_BROWSER=1 leaves out what needs a browser")
    program = next((found for name in BROWSERS if (found := shutil.which(name))), None)
    if program is None:
        if os.environ.get("CI") != "true":
            pytest.skip(f"there is no browser here (looked for {', '.join(BROWSERS)})")
        pytest.fail(f"CI needs a browser: one of {', '.join(BROWSERS)}, or STANCH_NO_BROWSER=1 to leave it out")
    from playwright.sync_api import sync_playwright

    root: dict[str, Any] = {"args": ["--no-sandbox"]} if os.geteuid() == 0 else {}
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=program, **root)
        yield running
        running.close()


@pytest.fixture
def person(world: World, browser: Browser) -> Iterator[Person]:
    """A person at a browser, who is logged in and sees the inbox."""
    with Person(world, browser) as sitting:
        yield sitting


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Callable[[str], World]]:
    """Makes a server over a policy file with this text."""
    with ExitStack() as stack:
        yield lambda policy: stack.enter_context(served(World(tmp_path, policy)))
