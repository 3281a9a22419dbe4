"""No page says of a failure, a reason or a change what the vault holds; what a person sent and asked for stays."""

from __future__ import annotations

import base64
import html
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from stanch.runtime.scripted_reply import fail
from stanch.secrets.text import Secret
from stanch.surfaces.console import failing
from tests.canary import ANSWER, EXCEPTION, REQUEST, Canary
from tests.console.visitors import Visitor, asking
from tests.http.conversing import POLICY, talking
from tests.http.served import BY, World

VALUE = "marker-of-the-value-4711"
BASE64 = base64.b64encode(VALUE.encode()).decode()
FORMS = pytest.mark.parametrize("form", [VALUE, BASE64])
NAME = "{{STRIPE_KEY}}"


@pytest.fixture
def planted(world: World, canary: Canary) -> World:
    """A server whose vault holds the value, which faults may name on their way to a page."""
    canary.expect_in(EXCEPTION)
    world.service.vault.set("STRIPE_KEY", Secret(VALUE), by=BY)
    return world


def problems(page: str) -> list[str]:
    """What a page says is wrong."""
    blocks = re.findall(
        r'<(?:p|div|li|span)[^>]*class="[^"]*(?:problem|said|banner)[^"]*"[^>]*>(.*?)</(?:p|div|li|span)>', page, re.S
    )
    return [html.unescape(re.sub(r"<[^>]+>", "", one)) for one in blocks]


@FORMS
@pytest.mark.parametrize("in_page", [False, True])
def test_what_is_not_there_is_named_by_its_label(planted: World, visitor: Visitor, form: str, in_page: bool) -> None:
    headers = {"HX-Request": "true"} if in_page else {}
    paths = [f"sessions/{form}", f"sessions/{form}/timeline", f"sessions/{form}/sent", f"sessions/{form}/stream"]
    for path in (*paths, f"rules?group={form}"):
        reply = visitor.client.get(f"/console/{path}", headers=headers)
        assert reply.status_code == 404, path
        assert NAME in reply.text, path
        assert form not in reply.text, path


@FORMS
@pytest.mark.parametrize("in_page", [False, True])
def test_a_form_that_is_refused_says_why_without_a_value(
    planted: World, visitor: Visitor, canary: Canary, form: str, in_page: bool
) -> None:
    canary.expect_in(EXCEPTION, ANSWER)  # a page lists the groups, by the names that people gave them
    planted.group(form)
    sent = [
        ("/console/rules/groups", {"action": "create", "name": form, "from": "default"}),
        ("/console/rules/groups", {"action": "rename", "group": f"no-{form}", "name": "x"}),
        ("/console/rules/delete", {"rule": form}),
        (f"/console/sessions/{form}/end", {}),
        (f"/console/sessions/{form}/say", {"text": "x"}),
        (f"/console/inbox/approvals/{form}", {"action": "reject"}),
        (f"/console/inbox/questions/{form}", {"answer": "x"}),
    ]
    headers = {"HX-Request": "true"} if in_page else {}
    for path, fields in sent:
        reply = visitor.client.post(path, data={"key": visitor.key, **fields}, headers=headers)
        assert reply.status_code in (404, 409), (path, reply.text)
        said = " ".join(problems(reply.text)) or html.unescape(reply.text)
        assert NAME in said, path
        assert form not in said, path


@FORMS
def test_cards_timelines_and_the_log_name_a_label(planted: World, visitor: Visitor, form: str) -> None:
    asked = asking(planted, "write_file", {"path": f"{form}.txt", "content": form})
    session = asked.session_id
    planted.service.calls.submit(session, "write_file", {"path": f"secrets/{form}", "content": "x"}, by=BY)
    planted.service.calls.submit(session, f"tool_{form}", {}, by=BY)
    sentences = re.compile(r"<p>([^<]*)</p>|<p>([^<]*) <span")
    for path in ("/console/inbox", f"/console/sessions/{session}"):
        page = visitor.get(path)
        assert form in page, "what a person answers for stays"
        found = [html.unescape(one or two) for one, two in sentences.findall(page)]
        assert any(NAME in one for one in found), path
        assert not [one for one in found if form in one], path
    log = visitor.get("/console/audit")
    assert f"tool_{NAME}" in html.unescape(log)
    assert form not in log


@FORMS
def test_a_call_that_is_tried_is_answered_without_it(planted: World, visitor: Visitor, form: str) -> None:
    fields = {"tool": "write_file", "arguments": f'{{"path": "secrets/{form}", "content": "x"}}', "group": "default"}
    page = html.unescape(visitor.send("/console/rules/try", 200, in_page=True, **fields))
    verdict = page.partition('class="verdict"')[2].partition("</p>")[0]
    assert NAME in verdict
    assert form not in verdict


@FORMS
def test_a_turn_that_failed_says_why_without_it(tmp_path: Path, canary: Canary, form: str) -> None:
    canary.expect_in(EXCEPTION, REQUEST)  # a model has the name that its provider knows it by
    policy = POLICY + f'\n[agents."other"]\nmodel = "fake/{form}"\n'
    with talking(tmp_path, [fail(400, "no")], policy) as world, Visitor(world) as visitor:
        world.service.vault.set("STRIPE_KEY", Secret(VALUE), by=BY)
        session = world.session(agent_id="other")
        assert world.say(session, wait=30)["state"] == "failed"
        page = html.unescape(visitor.get(f"/console/sessions/{session}"))
        said = page.partition("The turn failed")[2].partition("</article>")[0]
        assert f"fake/{NAME} answered with the status 400" in said


def test_no_page_says_words_of_a_fault_past_the_one_way() -> None:
    """What turns a fault into words is private to its module, so that each page has to go through `Failing`."""
    assert [name for name in vars(failing) if name in ("said_of", "sentence")] == []
    sources = Path(failing.__file__).parent.glob("*.py")
    direct: Callable[[str], list[str]] = re.compile(r"str\((?:why|fault)\)|_sentence|_said_of").findall
    assert [one.name for one in sources if one.name not in ("failing.py",) and direct(one.read_text())] == ["routes.py"]


@FORMS
@pytest.mark.parametrize("in_page", [False, True])
def test_what_came_of_an_answer_names_its_tool_by_its_label(
    planted: World, visitor: Visitor, canary: Canary, form: str, in_page: bool
) -> None:
    canary.expect_in(REQUEST, ANSWER)  # an agent has named it, and a person sees what they answer for
    call = {"tool": f"tool_{form}", "arguments": {}}
    plan = {"session_id": planted.session(), "calls": [call] * 3, "submit": True}
    plan_id = planted.post("/api/judge/plan", plan)[0]["plan_id"]
    rows = planted.get(f"/api/inbox/plans/{plan_id}")["requests"]
    one, two, _ = (f"/console/inbox/approvals/{row['request_id']}" for row in rows)
    shown = [f"{row['request_id']} {row['fingerprint']}" for row in rows]
    pages = [
        visitor.send(one, in_page=in_page, action="approve"),
        visitor.send(two, in_page=in_page, action="reject"),
        visitor.send(one, 409, in_page=in_page, action="reject"),
        visitor.send(f"/console/inbox/plans/{plan_id}", 409, in_page=in_page, action="reject", call=shown[:1]),
        visitor.get(f"/console/inbox/cards?shown={rows[0]['request_id']}"),
    ]
    for page in pages:
        said = " ".join(problems(page))
        assert f"tool_{NAME}" in said
        assert form not in said
