"""The canary sings: a secret that gets out in any of its forms fails the test that let it out."""

from __future__ import annotations

import base64
import html
import json
import logging
import os
import shlex
import textwrap
from pathlib import Path
from urllib.parse import quote

import pytest
from starlette.responses import JSONResponse

from stanch.app import notifying
from stanch.app.vault import Vault
from stanch.secrets.sealing import Key, KeyRing
from stanch.secrets.text import Secret
from stanch.storage.store import Store
from stanch.values.fault import BadFields, BadInput
from stanch.values.records import Actor
from tests.canary import ANSWER, AUDIT, EXCEPTION, LOG, REQUEST, SHORTEST, VARIABLE, WEBHOOK, Canary, spellings

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
        base64.urlsafe_b64encode(b"abc" + VALUE.encode()).decode(),
        VALUE.replace('"', "%22").replace("/", "%2F").replace(" ", "%20"),
        VALUE.replace("m", "%6D").replace("e", "%65"),
        VALUE.replace("m", "\\u006d"),
        html.escape(VALUE),
        VALUE.replace("m", "&#x6d;"),
        shlex.quote(VALUE + "'"),
        "\n".join(textwrap.wrap(base64.b64encode(VALUE.encode() * 4).decode(), 76)),
    ],
)
def test_whatever_leaves_is_looked_at(planted: Canary, form: str) -> None:
    logging.getLogger("stanch.tests").error("it is %s", form)
    JSONResponse({"detail": form}, 500)
    str(BadInput(f"it is {form}"))
    str(BadFields(("a", form)))
    planted.look(REQUEST, form)
    assert planted.end() == [f"{place} holds KEY" for place in (LOG, ANSWER, EXCEPTION, REQUEST)]


def test_the_short_list_finds_each_form_by_itself() -> None:
    """Were the engines blind, most forms would be found all the same."""
    found = spellings(VALUE)
    encoded = [base64.b64encode(b"x" * before + VALUE.encode() + b"yz") for before in range(3)]
    others = [VALUE.encode(), VALUE.encode().hex().encode(), html.escape(VALUE).encode(), quote(VALUE).encode()]
    for one in (*encoded, *others, json.dumps(VALUE).encode(), base64.urlsafe_b64encode(VALUE.encode())):
        assert any(form in one for form in found), one
    assert all(len(form) >= SHORTEST for form in found)


def test_an_audit_row_and_a_webhook_are_looked_at(planted: Canary, tmp_path: Path) -> None:
    store = Store.open(f"sqlite:///{tmp_path}/s.db")
    store.append_audit(action="a.b", subject="s", detail={"a": VALUE}, by=Actor("ada", "test"))
    store.close()
    assert planted.end() == [f"{AUDIT} holds KEY"]
    planted.plant("KEY", VALUE)
    notifying._sent("nowhere:", "x", {"sentence": VALUE})
    assert planted.end() == [f"{WEBHOOK} holds KEY"]


def test_what_is_no_error_and_no_line_of_ours_passes(planted: Canary) -> None:
    logging.getLogger("other").error("it is %s", VALUE)
    JSONResponse({"detail": VALUE}, 200)
    assert planted.end() == []


def test_the_environment_is_marked_throughout(canary: Canary) -> None:
    logging.getLogger("stanch.tests").error("it is %s", os.environ[VARIABLE])
    assert canary.end() == [f"{LOG} holds {VARIABLE}"]
