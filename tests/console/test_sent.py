"""What a model is sent beside what is stored, over HTTP."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterator

import pytest

from stanch.surfaces.console import sent
from stanch.values.message import Message, Opaque, Reasoning, Role, SourceTag, Text
from tests.console.test_sessions import HOSTILE, in_order
from tests.console.tiers_world import PAY, PLAN, POLICY, fill, path_of, read, switch, talked
from tests.console.visitors import Visitor
from tests.http.served import BY, World

PAGE = "/console/sessions"
PLACEHOLDER_END = ' filtered — trust tier "Outside" does not have read access]'


@pytest.fixture
def visiting(serve: Callable[[str], World]) -> Iterator[Visitor]:
    world = serve(POLICY)
    fill(world.workspace)
    with Visitor(world) as visitor:
        yield visitor


def sides(text: str) -> list[tuple[str, str]]:
    """The two sides of each message, as they are read."""
    found = []
    for row in text.split('<li class="card side-row')[1:]:
        left, right = row.split('<div class="side got"')
        found.append((_read(left), _read(right.split("</li>")[0])))
    return found


def _read(markup: str) -> str:
    return " ".join(html.unescape(re.sub("<[^>]*>", " ", markup.partition(">")[2])).split())


def placeholder(world: World, name: str) -> str:
    """What stands in the place of a file for the tier Outside."""
    return f'[Content from {path_of(world, name)} filtered — trust tier "Outside" does not have read access]'


def test_both_sides_stand_beside_each_other(visiting: Visitor) -> None:
    world = visiting.world
    session = talked(world)
    text = visiting.get(f"{PAGE}/{session}/sent?model=out/one")
    pay, plan = placeholder(world, "private/pay.csv"), placeholder(world, "private/plans/next.md")
    found = sides(text)
    assert len(found) == 6
    assert found[0][1].endswith("= sent as it is stored")
    assert PAY in found[2][0]
    assert PAY not in found[2][1]
    assert pay in found[2][1]
    assert (PLAN in found[4][0], plan in found[4][1]) == (True, True)
    assert f"Look: {PAY}, they say." in found[5][0]
    assert f"Look: {pay} , they say." in found[5][1]
    assert PAY not in "".join(right for _, right in found)
    marked = re.findall(r'<mark class="withheld">(.*?)</mark>', text)
    assert [html.unescape(one) for one in marked] == [pay, plan, pay]
    summary = _read(text.split('class="card summary"')[1].split("</section>")[0])
    in_order(summary, "out/one", "Outside", "2 pieces withheld", "1 quote of such text", "3 of 6 messages differ")
    in_order(summary, path_of(world, "private/pay.csv"), "✕ withheld 1 piece, 1 quote", "private/plans/next.md")


def test_a_model_that_may_read_it_is_sent_all_of_it(visiting: Visitor) -> None:
    session = talked(visiting.world)
    text = visiting.get(f"{PAGE}/{session}/sent")
    in_order(text, "house/one", "It is sent everything that is stored.", "What differs 0")
    assert all(right.endswith("= sent as it is stored") for _, right in sides(text))
    assert "No message differs" in visiting.get(f"{PAGE}/{session}/sent?only=1")


def test_only_what_really_stands_for_something_is_marked(visiting: Visitor) -> None:
    world = visiting.world
    pay, none = placeholder(world, "private/pay.csv"), placeholder(world, "private/none")
    forged = Message(Role.USER, (Text(f"{pay} {none}"),))
    tag = SourceTag(path_of(world, "private/pay.csv"), span=(len(none), len(none) + len(PAY)))
    both = Message(Role.USER, (Text(none + PAY, tags=(tag,)), Text("[reasoning left out]")))
    session = world.session(model="house/one")
    world.service.messages.add_all(session, (forged, both))
    text = visiting.get(f"{PAGE}/{session}/sent?model=out/one")
    marked = re.findall(r'<mark class="withheld">(.*?)</mark>', text)
    assert [html.unescape(one) for one in marked] == [pay], "once, for the one piece that was withheld"


def test_text_is_no_markup_on_either_side(visiting: Visitor) -> None:
    world = visiting.world
    hostile = f"{HOSTILE} <mark class='withheld'>x</mark>"
    messages = (
        Message(Role.USER, (Text(hostile),)),
        *read(world, f"private/{HOSTILE}", hostile),
        Message(Role.ASSISTANT, (Text(hostile), Opaque("<kind>", {"a": hostile}))),
    )
    session = world.session(model="house/<b>", agent_id="<i>agent")
    world.service.messages.add_all(session, messages)
    for model in ("out/one", "house/one", "out/<script>", "asking"):
        text = visiting.client.get(f"{PAGE}/{session}/sent", params={"model": model}).text
        for bad in (
            "<script>alert",
            "<script>&",
            "<b>x",
            "<i>agent",
            "<kind>",
            "'withheld'",
            "\u202e",
            "\x1b",
            "\u200b",
        ):
            assert bad not in text
    assert "&lt;script&gt;" in visiting.get(f"{PAGE}/{session}/sent?model=out/one")


def test_every_model_that_the_session_ever_had_may_be_chosen(visiting: Visitor) -> None:
    session = visiting.world.session(model="first/never-spoke")
    switch(visiting.world, session, "house/two")
    switch(visiting.world, session, "out/three")
    visiting.world.service.messages.add(session, Message(Role.ASSISTANT, (Text("x"),), model="spoke/once"))
    text = visiting.get(f"{PAGE}/{session}/sent")
    tabs = text.split('aria-label="Models of this session"')[1].split("</nav>")[0]
    in_order(tabs, 'aria-current="page"><code dir="ltr">out/three', "outside", "now", "spoke/once", "trusted")
    for name in ("house/two", "first/never-spoke"):
        assert f'<code dir="ltr">{name}</code>' in tabs
    other = visiting.get(f"{PAGE}/{session}/sent?model=small/llama")
    assert 'value="small/llama"' in other
    assert "Limited" in other


def test_what_waits_for_an_answer_is_named_first(visiting: Visitor) -> None:
    session = talked(visiting.world)
    text = visiting.get(f"{PAGE}/{session}/sent?model=out/asking-1")
    in_order(text, "? waits for an answer", "once the session uses this model")
    switch(visiting.world, session, "out/asking-1")
    in_order(visiting.get(f"{PAGE}/{session}/sent"), "? waits for an answer", "#asks", "Answer what waits")


def test_reasoning_that_is_left_out_is_counted(visiting: Visitor) -> None:
    thought = Message(Role.ASSISTANT, (Reasoning("hm", signature="s"),), model="house/one")
    session = talked(visiting.world, thought)
    text = visiting.get(f"{PAGE}/{session}/sent?model=out/one&only=1")
    in_order(text, "1</b> thought left out", '<mark class="withheld">[reasoning left out]</mark>')


def test_long_conversations_and_long_messages_come_in_parts(visiting: Visitor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sent, "MOST_MESSAGES", 3)
    long = Message(Role.USER, (Text("\n".join(f"line {at}" for at in range(90))),))
    session = talked(visiting.world, long)
    at = f"{PAGE}/{session}/sent?model=out/one"
    text = visiting.get(at)
    assert [row.partition(" ")[0] for row, _ in sides(text)] == ["5", "6", "7"]
    assert "line 89" not in text
    in_order(text, "before=5", 'message=7">All 90 lines')
    assert [row.partition(" ")[0] for row, _ in sides(visiting.get(f"{at}&before=5"))] == ["2", "3", "4"]
    assert [row.partition(" ")[0] for row, _ in sides(visiting.get(f"{at}&only=1"))] == ["3", "5", "6"]
    assert "line 89" in visiting.get(f"{at}&message=7")
    for wrong in ("message=8", "message=0", "message=x", "before=-1", "message=" + "9" * 30):
        visiting.get(f"{at}&{wrong}", 404)


def test_what_cannot_be_told_is_said_and_nothing_is_shown(serve: Callable[[str], World]) -> None:
    world = serve(POLICY)
    session, bare = talked(world), world.session()
    with Visitor(world) as visitor:
        in_order(visitor.get(f"{PAGE}/{bare}/sent", 409), "has no model", "Any other model")
        in_order(visitor.get(f"{PAGE}/{session}/sent?model=/x", 422), "names no model")
        visitor.get(f"{PAGE}/none/sent", 404)
        world.rows("UPDATE messages SET body = '{' WHERE seq = 2")
        in_order(visitor.get(f"{PAGE}/{session}/sent?model=out/one", 500), "cannot be read")
        world.rows("DELETE FROM messages WHERE seq = 2")
        world.write_policy(POLICY.replace('label = "Outside"', "label = 3"))
        world.service.refresh()
        text = visitor.get(f"{PAGE}/{session}/sent?model=out/one", 409)
        assert "stanch.toml:10" in text
        assert PAY not in text


def test_an_ended_session_is_still_shown(visiting: Visitor) -> None:
    session = talked(visiting.world)
    visiting.world.service.sessions.end(session, by=BY)
    assert placeholder(visiting.world, "private/pay.csv") in html.unescape(
        visiting.get(f"{PAGE}/{session}/sent?model=out/one")
    )


def test_a_placeholder_of_an_odd_path_is_marked_too(visiting: Visitor) -> None:
    world = visiting.world
    odd = "private/a & <b> \u202e [Content from x"
    session = world.session(model="house/one")
    world.service.messages.add_all(session, read(world, odd, PAY))
    text = visiting.client.get(f"{PAGE}/{session}/sent?model=out/one").text
    assert text.count('<mark class="withheld">[Content from') == 1
    ends = Message(Role.USER, (Text("[Content from " * 30 + PLACEHOLDER_END * 30),))
    world.service.messages.add_all(session, (ends, *read(world, "private/a & <b>", PAY, call_id="c9")))
    text = visiting.client.get(f"{PAGE}/{session}/sent?model=out/one").text
    assert text.count('<mark class="withheld">[Content from') == 2
