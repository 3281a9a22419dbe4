"""The real Codex goes on with a model that may not see what the first one read, and back; none of it is sent."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from stanch.runtime.scripted_reply import Reply, Thought, ToolUse, Words, say
from tests.agents.clients import Client, Codex
from tests.agents.lane import BESIDE, Lane

CLIENT = Codex
HOUSE, CLOUD = "gpt-5.5", "gpt-5.5-mini"


def results(body: dict[str, Any]) -> dict[str, str]:
    """The results of tools in a request, by the id of their call. Fails where a call and its result are no pair."""
    calls = [item["call_id"] for item in body["input"] if item["type"] in ("function_call", "custom_tool_call")]
    found = {
        item["call_id"]: str(item["output"])
        for item in body["input"]
        if item["type"] in ("function_call_output", "custom_tool_call_output")
    }
    assert calls == list(found)
    return found


def patch(lane: Lane) -> str:
    """A patch by which the file's content is copied into one for everybody."""
    lines = "".join(f"+{marker}\n" for marker in lane.markers)
    return f"*** Begin Patch\n*** Add File: copy.md\n{lines}*** End Patch\n"


def read(lane: Lane, client: Client) -> None:
    """The house's model reads the file, copies it, and quotes it."""
    lane.house.part.learn(
        Reply((Thought("The file first."), Words("I look."), ToolUse("exec_command", {"cmd": "cat private/pay.csv"}))),
        Reply((ToolUse("apply_patch", patch(lane)), ToolUse("exec_command", {"cmd": "tail -n 1 private/pay.csv"}))),
        say(f"It begins with {lane.markers[0]}, as read."),
    )
    lane.ends_well(client.begin("What is in the file on pay?", HOUSE), "as read")
    assert lane.shown(lane.house.bytes()) == lane.markers
    assert lane.shown((lane.workspace / "copy.md").read_text("utf-8")) == lane.markers
    assert len(results(lane.house.models.bodies()[-1])) == 3


def goes_on(lane: Lane, client: Client) -> None:
    """The cloud's model works on without the file, and tries to read it itself; then the house's has it again."""
    lane.cloud.part.learn(
        Reply((Thought("The notes then."), ToolUse("exec_command", {"cmd": "cat notes.md"}))),
        Reply((ToolUse("exec_command", {"cmd": "head -n 1 private/pay.csv"}),)),
        say("done in the cloud"),
    )
    lane.ends_well(client.go_on("And the notes?", CLOUD), "done in the cloud")
    lane.is_kept_from_cloud()
    body = lane.cloud.models.bodies()[-1]
    first, copied, second, opened, own = results(body).values()
    assert [one for one in (first, second, own) if one != lane.placeholder] == []
    assert "copy.md" in copied
    assert lane.open.read_text("utf-8").strip() in opened
    assert body["store"] is False

    start = len(lane.house.requests)
    lane.house.part.learn(say("back at home"))
    lane.ends_well(client.go_on("Once more.", HOUSE), "back at home")
    shown = [lane.shown(one) for one in results(lane.house.models.bodies()[-1]).values()]
    assert shown == [lane.markers, [], lane.markers[-1:], [], lane.markers[:1]]
    assert json.dumps(patch(lane)) in lane.house.bytes(start)
    assert "filtered" not in lane.house.bytes(start)


def test_what_one_model_read_is_kept_from_another_and_given_back(lane: Lane, client: Client) -> None:
    read(lane, client)
    goes_on(lane, client)
    lane.is_one_session()


def test_a_websocket_is_refused_and_the_agent_goes_on_without(lane: Lane, client: Client) -> None:
    assert isinstance(client, Codex)
    plain = replace(client, plain=True)
    lane.house.part.learn(say("no socket"))
    ended = plain.begin("Hello?", HOUSE)
    lane.ends_well(ended, "no socket")
    assert ended.complained.count("failed to connect to Responses WebSocket") == 1
    read(lane, plain)
    goes_on(lane, plain)


def test_a_summary_is_made_of_no_more_than_its_model_may_see(lane: Lane, client: Client) -> None:
    read(lane, client)
    lane.cloud.part.learn(say("nothing more"))
    words = ("-c", "model_auto_compact_token_limit=15")
    lane.ends_well(client.go_on("What now?", CLOUD, *words), "nothing more")
    lane.is_kept_from_cloud()
    asked, after = lane.cloud.models.bodies()
    assert lane.placeholder in results(asked).values()
    assert results(after) == {}
    assert BESIDE in json.dumps(after)  # its own words are given back to it


def test_a_summary_of_one_that_may_see_more_is_withheld(lane: Lane, client: Client) -> None:
    read(lane, client)
    lane.house.part.learn(say("nothing more"))
    words = ("-c", "model_auto_compact_token_limit=15")
    lane.ends_well(client.go_on("What now?", HOUSE, *words), "nothing more")
    assert BESIDE in json.dumps(lane.house.models.bodies()[-1])
    lane.cloud.part.learn(say("done in the cloud"))
    lane.ends_well(client.go_on("And now?", CLOUD), "done in the cloud")
    assert BESIDE not in lane.cloud.bytes()
    lane.is_kept_from_cloud()
