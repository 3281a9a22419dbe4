"""The one question of a switch, the end of a session, and what its timeline tells of both, over HTTP."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from stanch.surfaces.console import tier_question
from stanch.values.message import Message
from tests.console.test_sessions import in_order
from tests.console.tiers_world import POLICY, fill, path_of, read, switch, talked
from tests.console.visitors import BOB, Visitor, asking
from tests.http.served import AGENT, World

PAGE = "/console/sessions"
NAMES = ("private/pay.csv", "private/plans/next.md")


@pytest.fixture
def visiting(serve: Callable[[str], World]) -> Iterator[Visitor]:
    world = serve(POLICY)
    fill(world.workspace)
    with Visitor(world) as visitor:
        yield visitor


def asked(visitor: Visitor, session: str) -> str:
    """What the question on a session's page is called; empty for none."""
    found = re.search(r'name="question" value="(\w+)"', visitor.get(f"{PAGE}/{session}"))
    return found[1] if found else ""


def answers(world: World, session: str) -> dict[str, bool]:
    """What has been answered in the session, by path from the workspace on."""
    given = world.service.switching._store.tier_answers(session)
    return {one.path.removeprefix(f"{world.workspace}/"): one.send for one in given}


def waiting(visitor: Visitor) -> tuple[str, str]:
    """A session whose tier asks, and its question."""
    session = talked(visitor.world)
    switch(visitor.world, session, "out/asking-1")
    return session, asked(visitor, session)


def test_a_tier_that_asks_nothing_raises_no_question(visiting: Visitor) -> None:
    session = talked(visiting.world)
    for model in ("house/one", "out/one", "small/llama"):
        switch(visiting.world, session, model)
        assert not asked(visiting, session)
    assert '<hx-partial hx-target="#asks" hx-swap="innerMorph">\n</hx-partial>' in visiting.get(
        f"{PAGE}/{session}/timeline"
    ).replace('innerMorph"></', 'innerMorph">\n</')


def test_the_question_names_what_is_asked_about(visiting: Visitor) -> None:
    session, mark = waiting(visiting)
    assert mark
    text = visiting.get(f"{PAGE}/{session}")
    in_order(text, "its tier asks about 2", "May this model be sent", "out/asking-1", "Asks first", "withheld")
    in_order(text, *(path_of(visiting.world, name) for name in NAMES), "Send all", "Withhold all", "Send only what is")
    in_order(visiting.get(f"{PAGE}/{session}/timeline"), '<hx-partial hx-target="#asks"', mark)
    assert mark not in visiting.get(f"{PAGE}/{session}/timeline?nested=1")
    assert mark not in visiting.get(f"{PAGE}/{session}?before=3")


@pytest.mark.parametrize(
    ("fields", "given", "said"),
    [
        ({"action": "send"}, (True, True), "2 paths are sent to out/asking-1. That holds for this session."),
        ({"action": "withhold"}, (False, False), "2 paths are withheld from out/asking-1."),
        ({"action": "choose", "chosen": "1"}, (False, True), "1 path is sent to out/asking-1, 1 path is withheld."),
        ({"action": "choose", "chosen": ["0", "1", "2", "x"]}, (True, True), "2 paths are sent"),
        ({"action": "choose"}, (False, False), "2 paths are withheld"),
    ],
)
@pytest.mark.parametrize("in_page", [True, False])
def test_a_person_answers_once(
    visiting: Visitor, fields: dict[str, str], given: tuple[bool, bool], said: str, in_page: bool
) -> None:
    world = visiting.world
    session, mark = waiting(visiting)
    path = f"{PAGE}/{session}/answers"
    text = visiting.send(path, 200 if in_page else 303, in_page=in_page, question=mark, **fields)
    if in_page:
        in_order(text, said, '<hx-partial hx-target="#asks"')
        assert mark not in text
    assert answers(world, session) == dict(zip(NAMES, given, strict=True))
    assert not asked(visiting, session)
    with Visitor(world, BOB) as bob:
        late = bob.send(path, 409, in_page=True, question=mark, action="send")
        assert "This is answered already by ada (console). Your answer changed nothing." in late
    assert answers(world, session) == dict(zip(NAMES, given, strict=True))


def test_another_question_is_not_answered_by_an_old_page(visiting: Visitor) -> None:
    world = visiting.world
    session, mark = waiting(visiting)
    world.service.messages.add_all(session, read(world, "private/handbook.md", "be kind", call_id="c3"))
    for action in ("send", "withhold", "choose"):
        fields = {"question": mark, "action": action, "chosen": "0"}
        text = visiting.send(f"{PAGE}/{session}/answers", 409, in_page=True, **fields)
        in_order(text, "What is asked has changed", '<hx-partial hx-target="#asks"', "private/handbook.md")
    assert answers(world, session) == {}
    visiting.send(f"{PAGE}/{session}/answers", 409, in_page=True, question="", action="send")
    visiting.send(f"{PAGE}/{session}/answers", 422, in_page=True, question=asked(visiting, session), action="x")
    assert answers(world, session) == {}


def test_the_answer_is_for_the_model_of_the_page(visiting: Visitor) -> None:
    """A switch that comes in between is not answered for."""
    world = visiting.world
    session, mark = waiting(visiting)
    switch(world, session, "out/asking-2")
    visiting.send(f"{PAGE}/{session}/answers", 409, in_page=True, question=mark, action="send")
    switch(world, session, "house/one")
    text = visiting.send(f"{PAGE}/{session}/answers", 409, in_page=True, question=mark, action="send")
    assert "Your answer changed nothing" in text
    assert answers(world, session) == {}


def test_more_than_a_form_holds_is_asked_in_parts(visiting: Visitor, monkeypatch: pytest.MonkeyPatch) -> None:
    world = visiting.world
    monkeypatch.setattr(tier_question, "MOST_CHOICES", 2)
    monkeypatch.setattr(tier_question, "MOST_LISTED", 3)
    more: list[Message] = []
    for at in range(3):
        more += read(world, f"private/n{at}", "x", call_id=f"d{at}")
    session = talked(world, *more)
    switch(world, session, "out/asking-1")
    text = visiting.get(f"{PAGE}/{session}")
    in_order(text, "these 5", NAMES[1], "3 more", "private/n0", "And 2 that are not listed here")
    assert "private/n1" not in text.split('id="asks"')[1]
    visiting.send(
        f"{PAGE}/{session}/answers", question=asked(visiting, session), action="choose", chosen="0", in_page=True
    )
    assert answers(world, session) == {NAMES[0]: True, NAMES[1]: False}
    in_order(visiting.get(f"{PAGE}/{session}"), "these 3", "private/n0")


def test_answers_need_the_logins_key_and_a_person(visiting: Visitor) -> None:
    world = visiting.world
    session, mark = waiting(visiting)
    for path in ("answers", "end"):
        for key in ({}, {"key": "x"}):
            data = {"question": mark, "action": "send", **key}
            assert visiting.client.post(f"{PAGE}/{session}/{path}", data=data).status_code == 403
        data = {"question": mark, "action": "send", "key": visiting.key}
        elsewhere = visiting.client.post(f"{PAGE}/{session}/{path}", data=data, headers={"Origin": "http://evil"})
        assert elsewhere.status_code == 403
        visiting.send(f"{PAGE}/none/{path}", 404, question=mark, action="send")
    assert world.client(AGENT).post(f"/api/sessions/{session}/answers", json={"send": []}).status_code == 403
    assert answers(world, session) == {}
    assert world.get(f"/api/sessions/{session}")["ended_at"] is None


def test_a_conversation_that_cannot_be_read_raises_no_question(visiting: Visitor) -> None:
    session, mark = waiting(visiting)
    visiting.world.rows("UPDATE messages SET body = '{' WHERE seq = 2")
    assert not asked(visiting, session)
    visiting.send(f"{PAGE}/{session}/answers", 500, in_page=True, question=mark, action="send")


def test_the_timeline_tells_of_switches_and_answers(visiting: Visitor) -> None:
    world = visiting.world
    session, _ = waiting(visiting)
    switch(world, session, "out/<b>")
    switch(world, session, "out/asking-1")
    visiting.send(
        f"{PAGE}/{session}/answers", in_page=True, question=asked(visiting, session), action="choose", chosen="0"
    )
    switch(world, session, "house/one")
    world.post(f"/api/sessions/{session}/model", {"model": None})
    text = " ".join(html.unescape(re.sub("<[^>]*>", "", visiting.get(f"{PAGE}/{session}"))).split())
    in_order(
        *(text, "ada (http) set the model to out/asking-1 in place of house/one: in the tier asking, 2 pieces of"),
        *("2 paths withheld from it; 2 paths to be answered for · What it is sent", "set the model to out/"),
        *(
            "in the tier outside, 2 pieces of 2 paths withheld from it ·",
            "ada (console) answered where the tier asking",
        ),
        *(f"asks: {path_of(world, NAMES[0])} may be sent; {path_of(world, NAMES[1])} is withheld",),
        *("set the model to house/one in place of out/asking-1: in the tier trusted, with all of the conversation",),
        *("ada (http) took the model away",),
    )
    assert text.count("set the model to house/one") == 1
    assert f"{PAGE}/{session}/sent?model=out%2F%3Cb%3E" in visiting.get(f"{PAGE}/{session}")


def test_a_session_is_ended_once(visiting: Visitor) -> None:
    world = visiting.world
    session, mark = waiting(visiting)
    waits = asking(world, "read_file", {"path": NAMES[0]}, session_id=session)
    in_order(visiting.get(f"{PAGE}/{session}"), "<summary>End the session</summary>", "End it for good")
    visiting.send(f"{PAGE}/{session}/end", 303)
    assert world.get(f"/api/sessions/{session}")["ended_at"] is not None
    assert world.get("/api/inbox")["total"] == 0, waits
    text = visiting.get(f"{PAGE}/{session}")
    in_order(text, "ended", "ada (console) ended the session")
    for gone in ("End the session", mark, 'id="speak"'):
        assert gone not in text
    assert "has ended" in visiting.send(f"{PAGE}/{session}/end", 409)
    assert "has ended" in visiting.send(f"{PAGE}/{session}/answers", 409, in_page=True, question=mark, action="send")
    assert answers(world, session) == {}


def test_the_model_that_the_file_gives_is_nobodys_change(tmp_path: Path) -> None:
    from stanch.runtime.scripted_reply import say
    from tests.http.conversing import talking

    with talking(tmp_path, [say("one")]) as world:
        session = world.told()
        (row,) = world.get(f"/api/audit?action=session.set_model&subject={session}")["items"]
        assert (row["actor"], row["surface"]) == ("stanch", "agents")
        with Visitor(world) as visitor:
            text = visitor.get(f"{PAGE}/{session}")
        in_order(text, "The model is fake/scripted, as the policy file says of the agent")
