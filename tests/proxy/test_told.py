"""What the model proxy says in place of an answer holds no value of the vault, in the shape of any provider."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import pytest

from stanch.secrets.text import Secret
from tests.canary import EXCEPTION, Canary
from tests.http.served import BY
from tests.proxy.worlds import raw

VALUE = "marker-of-the-value-4711"
BASE64 = base64.b64encode(VALUE.encode()).decode()
PATHS = ("/v1/chat/completions", "/v1/responses", "/v1/messages")


@pytest.mark.parametrize("form", [VALUE, BASE64])
@pytest.mark.parametrize("path", PATHS)
def test_a_refusal_names_a_label(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, canary: Canary, path: str, form: str
) -> None:
    canary.expect_in(EXCEPTION)
    with raw(tmp_path, monkeypatch) as here:
        here.world.service.vault.set("STRIPE_KEY", Secret(VALUE), by=BY)
        talk = {"input" if "responses" in path else "messages": [{"role": "user", "content": "hi"}], "max_tokens": 5}
        for stream in (False, True):
            body = json.dumps({"model": f"nowhere/{form}", "stream": stream, **talk})
            reply = here.http().post(path, content=body)
            assert reply.status_code == 404
            assert "{{STRIPE_KEY}}" in reply.text
            assert form not in reply.text
        for content in (f'{{"{form}": 1, "{form}": 2}}', f'{{"{form}', f'{{"model": ["{form}"]}}'):
            reply = here.http().post(path, content=content)
            assert reply.status_code == 400
            assert form not in reply.text
        assert here.models.got == []


@pytest.mark.parametrize("path", PATHS)
def test_where_the_vault_cannot_be_opened_that_is_what_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    with raw(tmp_path, monkeypatch) as here:
        here.world.service.vault.set("STRIPE_KEY", Secret(VALUE), by=BY)
        here.world.rows("UPDATE vault_values SET sealed = 's1.000000000000.AAAA'")
        here.world.service.projecting.prepare()
        here.world.service.projecting._made = None  # as in a process that is new
        talk = {"input" if "responses" in path else "messages": [{"role": "user", "content": "hi"}], "max_tokens": 5}
        reply = here.http().post(path, content=json.dumps({"model": "open-1", **talk}))
        assert reply.status_code == 503
        assert "the vault cannot be opened" in reply.text
        assert here.models.got == []
