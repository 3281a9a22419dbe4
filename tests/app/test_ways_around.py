"""Ways around the gate that somebody tried: each must end where it was meant to end, and its honest twin must pass."""

from __future__ import annotations

import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import stanch
from stanch.app.engine import Engine
from stanch.app.foreign import ask_within
from stanch.gate.relax import Bypass
from stanch.policy.layers import NO_OBJECTION, Failed, LayerAnswer
from stanch.values.call import JudgedCall
from stanch.values.reason import LayerId

HEAD = """version = 1
[[groups]]
id = "default"
[[groups.rules]]
tool = "@read"
path = "/**/secrets"
action = "deny"
mandatory = true
[[groups.rules]]
tool = "@write"
path = "/**/secrets"
action = "deny"
mandatory = true
"""
ALLOW = '[[groups.rules]]\ntool = "{tool}"\naction = "allow"\n'


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "secrets").mkdir()
    (tmp_path / "secrets" / "api.key").write_text("k")
    (tmp_path / "README.md").write_text("x")
    return tmp_path


def _engine(root: Path, *tools: str, more: str = "") -> Engine:
    (root / "stanch.toml").write_text(HEAD + "".join(ALLOW.format(tool=tool) for tool in tools) + more)
    return stanch.open(root / "stanch.toml")


def _effect(engine: Engine, tool: str, arguments: dict[str, Any], **session: Any) -> str:
    return engine.check(tool, arguments, **session).effect.value


@pytest.mark.parametrize(
    "path",
    [
        "secrets/api.key/",
        "README.md/../secrets/api.key",
        "a" * 300 + "/../secrets/api.key",
        "./" * 2100 + "secrets/api.key",
        "secrets/api.key\0",
        "secrets//api.key",
    ],
)
def test_a_path_that_a_program_tidies_up_first_is_judged_as_tidied(root: Path, path: str) -> None:
    assert _effect(_engine(root, "mytool"), "mytool", {"f": path}) == "deny"


def test_dots_behind_a_link_are_read_both_ways_for_a_tool_that_may_read_them_either_way(root: Path) -> None:
    (root / "out" / "a" / "b").mkdir(parents=True)
    (root / "lnk").symlink_to("out/a/b")
    engine = _engine(root, "Read", "read_file")
    assert _effect(engine, "Read", {"file_path": "lnk/../secrets/api.key"}) == "deny"
    assert _effect(engine, "read_file", {"path": "lnk/../secrets/api.key"}) == "deny"
    (root / "out" / "a" / "secrets").mkdir()
    assert _effect(engine, "Read", {"file_path": "lnk/../README.md"}) == "allow"


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("glob", {"pattern": "*", "dir_path": "secrets"}),
        ("LS", {"directory": "secrets"}),
        ("Grep", {"pattern": "a", "path": "README.md", "paths": ["./secrets"]}),
        ("list", {"dir": "/x/secrets"}),
        ("read_file", {"path": "README.md", "file_path": "secrets/api.key"}),
        ("mcp__git__git_show", {"repo_path": ".", "revision": "HEAD:secrets/api.key"}),
        ("mcp__git__git_add", {"repo_path": ".", "files": ["secrets/api.key"]}),
        ("apply_patch", {"input": "*** Begin Patch\n*** Add File: ok\n+x\n\u00a0*** Delete File: secrets/api.key"}),
        ("apply_patch", {"input": "*** Begin Patch\n\x0c*** Delete File: secrets/api.key\n*** End Patch"}),
        ("apply_patch", {"input": "--- a/x\n+++ b/secrets/api.key"}),
        ("Glob", {"pattern": "secrets/*"}),
    ],
)
def test_a_target_under_another_name_is_a_target(root: Path, tool: str, arguments: dict[str, Any]) -> None:
    assert _effect(_engine(root, "*"), tool, arguments) == "deny"


@pytest.mark.parametrize(
    "pattern", ["[.][.]/x/*", "\\.\\./x/*", "*/{..,a}/*", "{/etc,x}/*", "@(..)/x", "x/*/../../../etc/*"]
)
def test_a_glob_that_may_climb_is_refused(root: Path, pattern: str) -> None:
    assert _effect(_engine(root, "*"), "Glob", {"pattern": pattern}) == "deny"


@pytest.mark.parametrize("pattern", ["**/*.py", "src/**/*.{ts,tsx}", "[a-z]*.md", "docs/x..y/*", "*"])
def test_an_everyday_glob_passes(root: Path, pattern: str) -> None:
    assert _effect(_engine(root, "*"), "Glob", {"pattern": pattern}) == "allow"


def test_a_removed_line_that_looks_like_a_header_is_a_line(root: Path) -> None:
    patch = "*** Begin Patch\n*** Update File: a.sql\n@@\n--- secrets/api.key\n+x\n *** stars\n*** End Patch"
    assert _effect(_engine(root, "*"), "apply_patch", {"input": patch}) == "allow"


def test_an_item_of_a_list_without_its_path_is_no_call(root: Path) -> None:
    declared = '[tools.batch]\neffects = [{ class = "read", argument = "files[].path" }]\n'
    engine = _engine(root, "*", more=declared)
    assert _effect(engine, "batch", {"files": [{"path": "README.md"}]}) == "allow"
    for item in ("secrets/api.key", {"file": "secrets/api.key"}, {"path": None}):
        with pytest.raises(stanch.BadCall):
            engine.check("batch", {"files": [{"path": "README.md"}, item]})


def test_a_rule_about_commands_is_not_passed_by_where_there_is_no_command_to_read(root: Path) -> None:
    rule = '[[groups.rules]]\ntool = "{}"\ncommand = "rm *"\naction = "deny"\nmandatory = true\n'
    engine = _engine(root, "run_code", "mytool", "Read", more=rule.format("@execute") + rule.format("run_code"))
    for tool in ("run_code", "mytool"):
        decision = engine.check(tool, {"code": "rm -rf x"})
        assert (decision.effect.value, decision.reason.code.value, decision.mandated) == ("ask", "command_unread", True)
    assert _effect(engine, "Read", {"file_path": "README.md"}) == "allow"


@pytest.mark.parametrize(
    "url",
    [
        "file:///ROOT/secrets/api.key", " file:///ROOT/secrets/api.key", "fi\nle:///ROOT/secrets/api.key",
        "file:///ROOT\\secrets\\api.key", "file:///ROOT/sec\trets/api.key", "view-source:file:///ROOT/secrets/api.key",
        "secrets/api.key",
    ],
)  # fmt: skip
def test_an_address_that_some_reader_takes_for_the_file_is_the_file(root: Path, url: str) -> None:
    declared = '[tools.res]\neffects = [{ class = "read", argument = "uri", form = "uri" }]\n'
    engine = _engine(root, "*", more=declared)
    assert _effect(engine, "res", {"uri": url.replace("ROOT", str(root)[1:])}) == "deny"
    if ":" in url:
        assert _effect(engine, "WebFetch", {"url": url.replace("ROOT", str(root)[1:])}) == "deny"
    assert _effect(engine, "WebFetch", {"url": "https://example.com/?next=file:///x"}) == "allow"


def test_a_context_of_the_wrong_types_is_refused(root: Path) -> None:
    wrong: Any = "/srv/data"
    with pytest.raises(stanch.BadContext, match="allow_fs_writes"):
        stanch.RunContext(allow_fs_writes=wrong)
    with pytest.raises(stanch.BadContext, match="security_group"):
        stanch.RunContext(security_group=wrong and 5)  # type: ignore[arg-type]
    assert stanch.RunContext(allow_fs_writes=["a"]).allow_fs_writes == ("a",)  # type: ignore[arg-type]


class Odd:
    """A layer that does whatever it is told to."""

    immediate = False
    id = LayerId.CALLER_POLICY

    def __init__(self, act: Any) -> None:
        self.act = act

    def ask(self, call: JudgedCall) -> LayerAnswer:
        answer: LayerAnswer = self.act(call)
        return answer


def _raise(error: BaseException) -> Any:
    def act(_: JudgedCall) -> LayerAnswer:
        raise error

    return act


@pytest.mark.parametrize("act", [_raise(SystemExit(0)), _raise(KeyboardInterrupt()), lambda _: (), lambda _: None])
def test_a_layer_that_ends_oddly_has_not_consented(root: Path, act: Any) -> None:
    engine = _engine(root, "*")
    decision = engine.session(layers=[Odd(act)]).check("Read", {"file_path": "README.md"})
    assert (decision.effect.value, decision.reason.code.value) == ("ask", "layer_failed")


def test_a_layer_that_hangs_is_waited_for_only_so_long(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    held = threading.Event()
    layer = Odd(lambda _: held.wait(60))
    judged = _engine(root, "*").session().check("Read", {"file_path": "README.md"}).call
    started = time.monotonic()
    assert ask_within(layer, judged, 0.05) == Failed("it took longer than 0.05 s")
    assert time.monotonic() - started < 30
    held.set()


def test_a_layer_changes_no_arguments_under_the_call(root: Path) -> None:
    def swap(call: JudgedCall) -> LayerAnswer:
        with suppress(TypeError):
            call.call.arguments["file_path"] = "secrets/api.key"  # type: ignore[index]
        call.call.arguments["deep"][0] = "secrets/api.key"
        return NO_OBJECTION

    arguments: dict[str, Any] = {"file_path": "README.md", "deep": ["x"]}
    decision = _engine(root, "*").session(layers=[Odd(swap)]).check("Read", arguments)
    assert decision.effect.value == "allow"
    assert decision.call.call.arguments is arguments
    assert arguments == {"file_path": "README.md", "deep": ["x"]}


def test_a_layer_without_an_id_of_the_gate_is_refused(root: Path) -> None:
    layer = Odd(lambda _: NO_OBJECTION)
    layer.id = LayerId.RELAXATION
    with pytest.raises(stanch.BadInput):
        _engine(root).session(layers=[layer])


def test_hostile_paths_and_calls_end(root: Path) -> None:
    """Each of these took seconds to minutes when a step looked at the whole path again."""
    rules = "".join(
        f'[[groups.rules]]\ntool = "@read"\npath = "/**/a*/**/b{n}*/c?"\naction = "deny"\n' for n in range(20)
    )
    engine = _engine(root, "*", more=rules)
    assert _effect(engine, "Read", {"file_path": "/" + "a/" * 2000 + "x"}) == "allow"
    for arguments in (
        {"x": [f"p/{n}" for n in range(5000)]},
        {"x": ["word"] * 50_000},
        {"x": [f"a{n}" + "/b" * 2000 for n in range(200)]},
        {"input": "".join(f"*** Add File: f{n}\n" for n in range(5000))},
    ):
        with pytest.raises(stanch.BadCall):
            engine.check("apply_patch" if "input" in arguments else "vendor", arguments)
    with pytest.raises(stanch.BadCall):
        engine.check("t" * 1000, {})


def test_what_an_undeclared_tool_is_given_is_not_quoted(root: Path, tmp_path: Path) -> None:
    (root / "stanch.toml").write_text(HEAD)
    with stanch.AuditLog(tmp_path / "audit.jsonl") as audit:
        engine = stanch.open(root / "stanch.toml", audit=audit)
        decision = engine.check("mcp__chat__post", {"text": "the key is sk-live-abcdef and/or hunter2"})
        assert "sk-live" not in stanch.sentence(decision.reason, decision.effect)
        assert "'text'" in stanch.sentence(decision.reason, decision.effect)
        named = engine.check("mcp__chat__post", {"text": "README.md"})
        assert named.reason.subject == str(root / "README.md")
    assert "sk-live" not in (tmp_path / "audit.jsonl").read_text()


def test_a_bypass_for_a_server_holds_for_its_plain_tools(root: Path) -> None:
    engine = _engine(root)
    bypass = [Bypass(server="filesystem")]
    assert _effect(engine, "mcp__filesystem__read_file", {"path": "/etc/hosts"}, bypasses=bypass) == "allow"
    assert _effect(engine, "mcp__filesystem__read_file", {"path": "secrets/api.key"}, bypasses=bypass) == "deny"


def test_a_poll_of_a_running_command_runs_nothing(root: Path) -> None:
    engine = _engine(root, "write_stdin")
    assert _effect(engine, "write_stdin", {"session_id": 1}) == "allow"
    assert _effect(engine, "write_stdin", {"session_id": 1, "chars": ""}) == "allow"
    assert _effect(engine, "write_stdin", {"session_id": 1, "chars": "rm -rf x"}) == "ask"


@pytest.mark.parametrize("target", ["gd", "myhooks"])
def test_hooks_behind_a_link_are_hooks(root: Path, target: str) -> None:
    (root / "gd" / "hooks").mkdir(parents=True)
    (root / "myhooks").mkdir()
    (root / "rp").mkdir()
    if target == "gd":
        (root / "rp" / ".git").symlink_to(root / "gd")
    else:
        (root / "rp" / ".git").mkdir()
        (root / "rp" / ".git" / "hooks").symlink_to(root / "myhooks")
    assert _effect(_engine(root, "*"), "Write", {"file_path": "rp/.git/hooks/pre-commit"}) == "deny"


def test_state_behind_a_link_is_state(root: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    state = tmp_path_factory.mktemp("state")
    (root / ".stanch").symlink_to(state)
    engine = _engine(root, "*")
    assert _effect(engine, "Read", {"file_path": ".stanch/db"}) == "deny"
    assert _effect(engine, "Read", {"file_path": str(state / "db")}) == "deny"


def test_the_policy_under_another_name_is_the_policy(root: Path) -> None:
    engine = _engine(root, "*")
    (root / "other.txt").hardlink_to(root / "stanch.toml")
    assert _effect(engine, "Write", {"file_path": "other.txt"}) == "deny"
    (root / "memory").mkdir()
    (root / "memory" / "note").hardlink_to(root / "README.md")
    assert engine.check("write_file", {"path": "memory/note"}).reason.code.value == "rule"
