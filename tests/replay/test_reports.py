"""Do the report's forms say the same, in the promised shape, and can no recorded text act on whoever reads them?"""

from __future__ import annotations

import base64
import hashlib
import io
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from stanch.surfaces.replay.asked import LIMIT, asked
from stanch.surfaces.replay.html import page
from stanch.surfaces.replay.report import Report
from stanch.surfaces.replay.text import print_report
from stanch.values.decision import Effect
from tests.replay.recorded import DATA, SAMPLE, TOOLS, changed, lines, report_of, write

NAME = "claude-code-basic.jsonl"
HOSTILE = '"><script>alert(1)</script><img src=x onerror=y> \u202egnp.exe\u202c \u200b\x1b[31m {{ 7*7 }} [bold]&amp;'


def hostile(folder: Path) -> Report:
    """A report of a session whose every argument, name and id is hostile text."""

    def spoil(block: dict[str, Any]) -> None:
        block["id"] += HOSTILE
        block["name"] += HOSTILE * (block["name"] in ("Grep", "Glob"))
        block["input"] = dict.fromkeys(block["input"], HOSTILE)

    return report_of(write(folder / "s.jsonl", [*changed(NAME, spoil), HOSTILE]))


def shown(report: Report) -> str:
    """The report as a terminal gets it, without styles."""
    out = io.StringIO()
    print_report(report, Console(file=out, no_color=True, width=200))
    return out.getvalue()


class Tags(HTMLParser):
    """Every tag of a page with its attributes."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))


def tags(text: str) -> list[tuple[str, dict[str, str | None]]]:
    """The tags of a page."""
    parser = Tags()
    parser.feed(text)
    return parser.tags


def test_the_json_has_the_promised_shape() -> None:
    report = report_of(DATA / NAME, policy=SAMPLE / "stanch.toml")
    value = json.loads(json.dumps(report.json()))
    assert set(value) == {
        "calls", "questions", "summary", "withheld", "secrets", "notes", "warnings", "files", "policy",
    }  # fmt: skip
    assert [call["tool"] for call in value["calls"]] == TOOLS[NAME]
    for call in value["calls"]:
        assert {"id", "tool", "effect", "reason", "effects", "where", "cwd", "subagent", "inside"} <= set(call)
        assert set(call["reason"]) == {"code", "layer", "rule", "subject", "sentence"}
        assert call["effect"] in ("allow", "ask", "deny")
        for effect in call["effects"]:
            assert {"class", "path", "requested", "effect", "reason"} <= set(effect)
    assert value["withheld"] is None
    assert any("withheld" in note for note in value["notes"])
    assert value["questions"] == 5
    assert value["files"] == [
        {
            "file": str(DATA / NAME),
            "kind": "Claude Code session",
            "calls": 17,
            "repeated": 0,
            "workspace": "/repo/app",
            "withheld": None,
            "secrets": None,
        }
    ]
    assert value["policy"]["workspace"] == "/repo/app"


def test_a_call_says_which_rule_and_where_it_is_written() -> None:
    report = report_of(DATA / NAME, policy=SAMPLE / "stanch.toml")
    secret = report.json()["calls"][2]
    assert secret["where"].endswith(f"{NAME}:29")
    rule = secret["reason"]["rule"]
    assert (rule["id"], rule["group"], rule["place"]) == (1, "default", "stanch.toml:9")
    assert secret["reason"]["subject"] == "/repo/app/secrets/api.key"
    assert secret["effects"][0]["requested"] == "/repo/app/docs/../secrets/api.key"


def test_the_sums_add_up_and_the_most_asked_come_first() -> None:
    report = report_of(*(DATA / name for name in TOOLS))
    sums = report.json()["summary"]
    assert sums["calls"] == sum(len(named) for named in TOOLS.values())
    assert sums["allow"] + sums["ask"] + sums["deny"] == sums["calls"]
    for key in ("by_reason", "by_tool"):
        assert sum(row["allow"] + row["ask"] + row["deny"] for row in sums[key]) == sums["calls"]
    for key in ("by_reason", "by_tool", "by_rule"):
        asks = [row["ask"] for row in sums[key]]
        assert asks == sorted(asks, reverse=True)


def test_rules_and_reasons_without_one_stand_in_one_list_the_most_asked_first() -> None:
    report = report_of(DATA / NAME, policy=SAMPLE / "stanch.toml")
    found = report.by_answer()
    assert sum(tally.total for tally in found) == len(report.rows)
    assert [tally.order for tally in found] == sorted(tally.order for tally in found)
    _, _, listed = shown(report).partition("by rule, or by reason where no rule spoke\n")
    assert listed.splitlines()[0] == "      3  default 9: ask * (stanch.toml:57)  3 asked"
    assert listed.splitlines()[1].startswith("      1  default 6: ask @write (stanch.toml:44)  1 asked")
    assert "by reason" not in listed
    text = "".join(page(report))
    assert "<h2>What decided</h2>" in text
    assert text.index("ask * <") < text.index("ask @write <")


def test_what_is_said_in_text_is_what_is_said_in_json() -> None:
    report = report_of(DATA / NAME)
    text = shown(report)
    for row in report.rows:
        assert f"  {row.effect.value:<5}  {row.call.tool}" in text
        assert row.sentence in text
    assert f"17 calls: {report.count(Effect.ALLOW)} allowed, {report.questions} asked" in text
    assert "built-in rules, workspace /repo/app" in text


def test_repeats_and_scripts_and_subagents_are_told_of(tmp_path: Path) -> None:
    text = shown(report_of(write(tmp_path / "s.jsonl", lines(NAME) * 2), DATA / "codex-code-mode.jsonl"))
    assert "17 calls stood in a file more than once and counted once" in text
    assert "from a script of exec" in text
    assert "by Explore" in shown(report_of(DATA / "claude-code-subagent.jsonl"))


def test_no_recorded_text_reaches_the_terminal_as_it_is(tmp_path: Path) -> None:
    text = shown(hostile(tmp_path))
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2066-\u2069]", text)
    assert "\\u202egnp.exe" in text
    assert "[bold]" in text


def test_no_recorded_text_becomes_part_of_the_page(tmp_path: Path) -> None:
    report = hostile(tmp_path)
    text = "".join(page(report))
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in text
    assert "\\u202egnp.exe" in text
    assert "{{ 7*7 }}" in text
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2066-\u2069]", text)
    plain = {tag for tag, _ in tags("".join(page(report_of(DATA / NAME))))} | {"section", "ul", "li", "pre"}
    assert {tag for tag, _ in tags(text)} <= plain
    assert not {"script", "img", "iframe", "object", "link", "a", "form"} & {tag for tag, _ in tags(text)}


def test_the_page_runs_nothing_loads_nothing_and_allows_only_its_own_style() -> None:
    text = "".join(page(report_of(DATA / NAME)))
    found = tags(text)
    [policy] = [a["content"] for tag, a in found if tag == "meta" and a.get("http-equiv") == "Content-Security-Policy"]
    [style] = re.findall(r"<style>(.*?)</style>", text, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    assert policy == f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    for _, attributes in found:
        assert not {"style", "src", "href", "srcset", "action"} & set(attributes)
        assert not any(name.startswith("on") for name in attributes)
    assert "url(" not in style
    assert "@import" not in style


def test_the_page_shows_every_call_and_can_be_filtered_by_answer() -> None:
    report = report_of(DATA / NAME)
    found = tags("".join(page(report)))
    calls = [attributes["class"] for tag, attributes in found if tag == "details"]
    assert calls == [f"call {row.effect.value}" for row in report.rows]
    picks = [attributes["id"] for tag, attributes in found if tag == "input"]
    assert picks == [attributes["for"] for tag, attributes in found if tag == "label"]
    assert picks == ["pick-all", "pick-deny", "pick-ask", "pick-allow"]


def test_a_page_without_calls_is_a_page(tmp_path: Path) -> None:
    text = "".join(page(report_of(write(tmp_path / "s.jsonl", lines(NAME)[:3]))))
    assert "No calls in this file." in text
    assert "0 calls" in text


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (None, ""),
        ({}, ""),
        ({"command": ["bash", "-lc", "cat x"], "workdir": "/w"}, "cat x"),
        ({"command": ["cat", "x"]}, "cat x"),
        ({"file_path": "/w/a.py", "content": "secret"}, "/w/a.py"),
        ({"file_path": "/w/a.py", "old_string": "a", "new_string": "b"}, "/w/a.py"),
        ({"path": "/w", "pattern": "TODO"}, "/w · TODO"),
        ({"input": "*** Begin Patch\n*** Add File: a\n+x\n*** Delete File: b\n"}, "add a, delete b"),
        ({"url": "https://example.com"}, "https://example.com"),
        ({"host": "example.com", "port": 1}, "host: example.com · port: 1"),
    ],
)
def test_a_person_is_shown_what_is_touched_not_what_is_written(arguments: dict[str, Any] | None, said: str) -> None:
    assert asked(arguments) == said


def test_what_is_shown_of_a_call_is_never_long() -> None:
    assert len(asked({"command": "x" * 10 * LIMIT})) == LIMIT
    assert len(asked({"anything": "x" * 10 * LIMIT})) < 500


def test_a_command_is_shown_part_by_part_in_every_form() -> None:
    report = report_of(DATA / NAME, policy=SAMPLE / "stanch.toml")
    (row,) = [row for row in report.rows if row.asked.startswith("cat ../secrets")]
    effects = row.json()["effects"]
    assert [(one["part"], one["command"], one["class"], one["found"], one["path"]) for one in effects] == [
        (1, "cat ../secrets/api.key", "execute", None, None),
        (1, "cat ../secrets/api.key", "read", "sure", "/repo/app/secrets/api.key"),
        (2, "wc -c", "execute", None, None),
    ]
    _, _, below = shown(report).partition("cat ../secrets/api.key | wc -c  line 61\n")
    assert [line.rstrip() for line in below.splitlines()[1:4]] == [
        "           1  ask    cat ../secrets/api.key  rule 9 (ask *)",
        "         →      deny   read /repo/app/secrets/api.key  decides",
        "           2  ask    wc -c  rule 9 (ask *)",
    ]
    text = "".join(page(report))
    assert '<tr class="decides"><td>read</td><td><code>/repo/app/secrets/api.key</code></td>' in text
    assert "<td>2  runs</td><td><code>wc -c</code></td>" in text


def test_a_command_of_one_part_that_touches_nothing_is_one_line() -> None:
    text = shown(report_of(DATA / NAME, policy=SAMPLE / "stanch.toml"))
    _, _, below = text.partition("git status --short  line 51\n")
    assert below.splitlines()[1].startswith("  deny   Bash")
