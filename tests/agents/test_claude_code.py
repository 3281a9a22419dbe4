"""The real Claude Code goes on with a model that may not see what the first one read, and back; none of it is sent."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from stanch.runtime.scripted_reply import Reply, Thought, ToolUse, Words, say, signature_of
from tests.agents.clients import ClaudeCode, Client
from tests.agents.lane import Lane

CLIENT = ClaudeCode
HOUSE, CLOUD = "claude-sonnet-5", "claude-haiku-4-5"
TOOLS = ("--tools", "Bash,Edit,Glob,Grep,Read,Write")


def blocks(body: dict[str, Any], kind: str) -> list[dict[str, Any]]:
    """The blocks of a kind in the messages of a request."""
    held = [message["content"] for message in body["messages"] if isinstance(message["content"], list)]
    return [block for content in held for block in content if block["type"] == kind]


def results(body: dict[str, Any]) -> dict[str, str]:
    """The results of tools in a request, by the id of their call."""
    found = {}
    for block in blocks(body, "tool_result"):
        content = block["content"]
        found[block["tool_use_id"]] = content if isinstance(content, str) else "".join(one["text"] for one in content)
    return found


def calls(body: dict[str, Any]) -> Iterator[str]:
    """The ids of the calls in a request. Fails where one has no result in the message behind it."""
    messages = [message for message in body["messages"] if message["role"] != "system"]
    assert [message["role"] for message in messages][:1] == ["user"]
    for message, after in zip(messages, [*messages[1:], None], strict=True):
        assert message["content"], "a message is empty"
        used = blocks({"messages": [message]}, "tool_use")
        answered = {one["tool_use_id"] for one in blocks({"messages": [after]}, "tool_result")} if after else set()
        assert {one["id"] for one in used} == answered
        yield from (one["id"] for one in used)


def read(lane: Lane, client: Client) -> None:
    """The house's model reads the file in three ways, and quotes it."""
    lane.house.part.learn(
        Reply((Thought("The file first."), Words("I look."), ToolUse("Read", {"file_path": str(lane.private)}))),
        Reply(
            (
                Thought("In two other ways."),
                ToolUse("Grep", {"pattern": "mark", "path": str(lane.workspace), "output_mode": "content"}),
                ToolUse("Bash", {"command": "cat private/pay.csv", "description": "Show it"}),
            )
        ),
        say(f"It begins with {lane.markers[0]}, as read."),
    )
    lane.ends_well(client.begin("What is in the file on pay?", HOUSE, *TOOLS), "as read")
    assert lane.shown(lane.house.bytes()) == lane.markers
    assert len(results(lane.house.models.bodies()[-1])) == 3


def test_what_one_model_read_is_kept_from_another_and_given_back(lane: Lane, client: Client) -> None:
    read(lane, client)
    thought = "For everybody, it says."
    lane.cloud.part.learn(
        Reply((Thought(thought), ToolUse("Read", {"file_path": str(lane.open)}))),
        Reply((Thought("Now the closed one."), ToolUse("Read", {"file_path": str(lane.private)}))),
        say("done in the cloud"),
    )
    lane.ends_well(client.go_on("And the notes?", CLOUD, *TOOLS), "done in the cloud")
    lane.is_kept_from_cloud()
    *_, last = lane.cloud.models.bodies()
    *withheld, opened, own = [results(last)[one] for one in calls(last)]
    assert len(withheld) == 3
    assert [at for at, one in enumerate([*withheld, own]) if lane.placeholder not in one] == []
    assert lane.open.read_text("utf-8").strip() in opened
    assert {"type": "thinking", "thinking": thought, "signature": signature_of(thought)} in blocks(last, "thinking")

    start = len(lane.house.requests)
    lane.house.part.learn(say("back at home"))
    lane.ends_well(client.go_on("Once more.", HOUSE, *TOOLS), "back at home")
    body = lane.house.models.bodies()[-1]
    shown = [lane.shown(results(body)[one]) for one in calls(body)]
    assert shown == [lane.markers] * 3 + [[], lane.markers]
    assert "filtered" not in lane.house.bytes(start)
    lane.is_one_session()
    first = {"type": "thinking", "thinking": "The file first.", "signature": signature_of("The file first.")}
    assert first in blocks(body, "thinking")


def test_a_model_that_may_see_less_from_now_on_gets_no_signed_thoughts_of_what_is_withheld(
    lane: Lane, client: Client
) -> None:
    read(lane, client)
    lane.write_policy(())  # the same name leads to the cloud from now on
    lane.cloud.part.learn(say("done in the cloud"))
    lane.ends_well(client.go_on("And now?", HOUSE, *TOOLS), "done in the cloud")
    lane.is_kept_from_cloud()
    body = lane.cloud.models.bodies()[-1]
    assert len(list(calls(body))) == 3
    assert signature_of("In two other ways.") not in lane.cloud.bytes()


def test_a_file_that_was_attached_is_kept_from_summaries_and_from_what_follows(lane: Lane, client: Client) -> None:
    (lane.private.parent / "CLAUDE.md").write_text(f"Never say {lane.markers[2]}.\n", "utf-8")
    lane.house.part.learn(say("I have seen it"))
    lane.ends_well(client.begin("Look at @private/pay.csv", HOUSE, *TOOLS), "I have seen it")
    assert lane.shown(lane.house.bytes()) == lane.markers
    lane.cloud.part.learn(say("<summary>They looked at a file.</summary>"))
    lane.ends_well(client.go_on("/compact", CLOUD, *TOOLS), "")
    lane.cloud.part.learn(say("nothing more"))
    lane.ends_well(client.go_on("What now?", CLOUD, *TOOLS), "nothing more")
    asked, after = lane.cloud.models.bodies()
    lane.is_kept_from_cloud()
    assert "They looked at a file." in json.dumps(after)  # its own words are given back to it
    assert json.dumps(lane.placeholder)[1:-1] in json.dumps(asked["messages"])


def test_what_an_agent_has_counted_is_refused_where_it_could_hold_anything_and_the_agent_goes_on(
    lane: Lane, client: Client
) -> None:
    # What this file includes is counted by itself, as words of a person, without a path.
    (lane.workspace / "CLAUDE.md").write_text("See @private/pay.csv for the pay.\n", "utf-8")
    read(lane, client)
    for model, provider in ((HOUSE, lane.house), (CLOUD, lane.cloud)):
        lane.ends_well(client.go_on("/context", model, *TOOLS), "Context Usage")
        counted = [one for one in provider.requests if one.path.endswith("/count_tokens")]
        assert bool(counted) is (provider is lane.house)
    lane.is_kept_from_cloud()
    lane.cloud.part.learn(say("done in the cloud"))
    lane.ends_well(client.go_on("And now?", CLOUD, *TOOLS), "done in the cloud")
    lane.is_kept_from_cloud()


def test_a_helper_is_given_what_its_own_model_may_see(lane: Lane, client: Client) -> None:
    task = {"description": "Read the pay", "prompt": "Say what is in private/pay.csv.", "model": "haiku"}
    lane.house.part.learn(
        Reply((ToolUse("Agent", task | {"subagent_type": "general-purpose", "run_in_background": False}),)),
        say("nobody told me"),
    )
    lane.cloud.part.learn(Reply((ToolUse("Read", {"file_path": str(lane.private)}),)), say("I cannot see it."))
    lane.ends_well(client.begin("Ask a helper for the pay.", HOUSE, "--tools", "Agent,Read"), "nobody told me")
    assert lane.placeholder in "".join(results(lane.cloud.models.bodies()[-1]).values())
    assert "I cannot see it." in lane.house.bytes()
    lane.is_kept_from_cloud()
