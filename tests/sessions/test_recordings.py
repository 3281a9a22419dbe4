"""The recorded sessions are what their meta files say, and hold none of the agents' own prompts."""

import hashlib
import json
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

DATA = Path(__file__).parents[1] / "data" / "sessions"
META = sorted(DATA.glob("*.meta.toml"))
RECORDED = sorted(path for path in DATA.rglob("*.json*") if path.is_file())
LONGEST = 4_000
BINARY = {"claude-code": "claude ", "codex": "codex ", "opencode": "opencode "}
PROMPT = re.compile(
    r"You are (Claude Code|Codex|OpenCode|opencode|a Claude agent|a coding agent|an agent|an interactive|powered by)"
    r"|<(skills|permissions)[_ ]instructions>|IMPORTANT: Assist with|deferred tools are now available"
    r"|A skill is a set of"
)


def name(path: Path) -> str:
    return str(path.relative_to(DATA))


def meta(path: Path) -> dict[str, Any]:
    return tomllib.loads(path.read_text(encoding="utf-8"))


def recording(path: Path) -> Path:
    stem = path.name.removesuffix(".meta.toml")
    [found] = [DATA / f"{stem}{suffix}" for suffix in (".jsonl", ".json") if (DATA / f"{stem}{suffix}").is_file()]
    return found


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def texts(value: Any) -> Iterator[str]:
    match value:
        case dict():
            for key, item in value.items():
                yield key
                yield from texts(item)
        case list():
            for item in value:
                yield from texts(item)
        case str():
            yield value


def values(path: Path) -> list[Any]:
    text = path.read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()] if path.suffix == ".jsonl" else [json.loads(text)]


@pytest.mark.parametrize("path", META, ids=name)
def test_meta_file_describes_its_recording(path: Path) -> None:
    said = meta(path)
    assert said["sha256"] == digest(recording(path))
    assert re.fullmatch(r"\d+\.\d+\.\d+", said["version"])
    assert said["commands"]
    assert all(command.startswith(BINARY[said["agent"]]) for command in said["commands"])
    assert said["date"].isoformat() > "2026"
    assert all(count > 0 for count in said["cut"].values())
    for other, expected in said["beside"].items():
        assert expected == digest(DATA / other)


def test_every_recording_is_described() -> None:
    described = {recording(path) for path in META}
    described |= {DATA / other for path in META for other in meta(path)["beside"]}
    assert described == set(RECORDED)
    assert len(META) >= 3


@pytest.mark.parametrize("path", RECORDED, ids=name)
def test_no_prompt_of_an_agent_is_kept(path: Path) -> None:
    for text in texts(values(path)):
        assert len(text) <= LONGEST
        assert not PROMPT.search(text)


@pytest.mark.parametrize("path", sorted(DATA.glob("claude-code-*.jsonl")), ids=name)
def test_session_file_names_the_recorded_version(path: Path) -> None:
    versions = {record["version"] for record in values(path) if "version" in record}
    assert versions == {meta(path.with_suffix(".meta.toml"))["version"]}


@pytest.mark.parametrize("path", sorted(DATA.glob("codex-*.jsonl")), ids=name)
def test_rollout_names_the_recorded_version(path: Path) -> None:
    first = values(path)[0]
    assert first["type"] == "session_meta"
    assert first["payload"]["cli_version"] == meta(path.with_suffix(".meta.toml"))["version"]
    assert first["payload"]["cwd"] == "/repo/app"
