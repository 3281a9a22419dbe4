"""The canary sings: a secret that gets out in any of its forms fails the test that let it out."""

from __future__ import annotations

import base64
import logging
import os
from pathlib import Path

import pytest
from starlette.responses import JSONResponse

from stanch.app.vault import Vault
from stanch.secrets.sealing import Key, KeyRing
from stanch.secrets.text import Secret
from stanch.storage.store import Store
from stanch.values.fault import BadFields, BadInput
from stanch.values.records import Actor
from tests.canary import ANSWER, EXCEPTION, LOG, REQUEST, VARIABLE, Canary

VALUE = 'mark "of" the/value-4711'


@pytest.fixture
def planted(tmp_path: Path, canary: Canary) -> Canary:
    """A canary that knows what was put into a vault."""
    store = Store.open(f"sqlite:///{tmp_path}/s.db")
    store.migrate()
    Vault(store, KeyRing([Key(os.urandom(32))])).set("KEY", Secret(VALUE), by=Actor("ada", "test"))
    store.close()
    return canary


@pytest.mark.parametrize(
    "form",
    [
        VALUE,
        VALUE.encode().hex(),
        base64.b64encode(b"abcd" + VALUE.encode() + b"x").decode(),
        VALUE.replace('"', '\\"'),
        VALUE.replace('"', "%22").replace("/", "%2F").replace(" ", "%20"),
    ],
)
def test_whatever_leaves_is_looked_at(planted: Canary, form: str) -> None:
    logging.getLogger("stanch.tests").error("it is %s", form)
    JSONResponse({"detail": form}, 500)
    str(BadInput(f"it is {form}"))
    str(BadFields(("a", form)))
    planted.look(REQUEST, form)
    assert planted.end() == [f"{place} holds KEY" for place in (LOG, ANSWER, EXCEPTION, REQUEST)]


def test_what_is_no_error_and_no_line_of_ours_passes(planted: Canary) -> None:
    logging.getLogger("other").error("it is %s", VALUE)
    JSONResponse({"detail": VALUE}, 200)
    assert planted.end() == []


def test_the_environment_is_marked_throughout(canary: Canary) -> None:
    logging.getLogger("stanch.tests").error("it is %s", os.environ[VARIABLE])
    assert canary.end() == [f"{LOG} holds {VARIABLE}"]
