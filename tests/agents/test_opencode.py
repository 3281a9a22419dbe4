"""The real OpenCode goes on with a model that may not see what the first one read, and back; none of it is sent."""

from __future__ import annotations

from typing import Any

from stanch.runtime.scripted_reply import Reply, ToolUse, Words, say
from tests.agents.clients import Client, OpenCode
from tests.agents.lane import Lane

CLIENT = OpenCode
HOUSE, CLOUD = "house/qwen", "openai/gpt-5-mini"  # the second one writes titles too


def results(body: dict[str, Any]) -> list[str]:
    """The results of tools in a request. Fails where one is not behind its call."""
    found: list[str] = []
    waiting: list[str] = []
    for message in body["messages"]:
        if message["role"] == "tool":
            assert message["tool_call_id"] == waiting.pop(0)
            found.append(str(message["content"]))
            continue
        assert waiting == []
        waiting = [call["id"] for call in message.get("tool_calls") or ()]
    return found


def test_what_one_model_read_is_kept_from_another_and_given_back(lane: Lane, client: Client) -> None:
    lane.house.part.learn(
        Reply((Words("I look."), ToolUse("read", {"filePath": str(lane.private)}))),
        Reply(
            (
                ToolUse("grep", {"pattern": "mark"}),
                ToolUse("bash", {"command": "cat private/pay.csv", "description": "Show it"}),
            )
        ),
        say(f"It begins with {lane.markers[0]}, as read."),
    )
    lane.ends_well(client.begin("What is in the file on pay?", HOUSE), "as read")
    assert lane.shown(lane.house.bytes()) == lane.markers
    assert len(lane.cloud.part.beside) == 1
    start = len(lane.cloud.requests)

    lane.cloud.part.learn(
        Reply((ToolUse("read", {"filePath": str(lane.open)}),)),
        Reply((ToolUse("read", {"filePath": str(lane.private)}),)),
        say("done in the cloud"),
    )
    lane.ends_well(client.go_on("And the notes?", CLOUD), "done in the cloud")
    lane.is_kept_from_cloud()
    assert start < len(lane.cloud.requests)
    *withheld, opened, own = results(lane.cloud.models.bodies()[-1])
    assert len(withheld) == 3
    assert [one for one in [*withheld, own] if lane.placeholder not in one] == []
    assert lane.open.read_text("utf-8").strip() in opened

    start = len(lane.house.requests)
    lane.house.part.learn(say("back at home"))
    lane.ends_well(client.go_on("Once more.", HOUSE), "back at home")
    shown = [lane.shown(one) for one in results(lane.house.models.bodies()[-1])]
    assert shown == [lane.markers] * 3 + [[], lane.markers]
    assert "filtered" not in lane.house.bytes(start)
    lane.is_one_session()


def test_a_file_that_was_attached_is_kept_from_titles_and_from_what_follows(lane: Lane, client: Client) -> None:
    (lane.private.parent / "AGENTS.md").write_text(f"Never say {lane.markers[2]}.\n", "utf-8")
    lane.house.part.learn(say("I have seen it"))
    lane.ends_well(client.begin("What is in it?", HOUSE, "-f", "private/pay.csv"), "I have seen it")
    assert lane.shown(lane.house.bytes()) == lane.markers
    assert len(lane.cloud.part.beside) == 1
    assert "What is in it?" in lane.cloud.bytes()
    lane.cloud.part.learn(say("done in the cloud"))
    lane.ends_well(client.go_on("And now?", CLOUD), "done in the cloud")
    lane.is_kept_from_cloud()
    lane.is_one_session()  # of titles as well
