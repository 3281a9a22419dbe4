"""Is a shell command shown with its parts, what each would touch, and which of them decided?"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Stanch, call

RULES = """
version = 1
[[groups]]
id = "default"
rules = [
  { tool = "@read", path = "/**/secrets", action = "deny", mandatory = true },
  { tool = "Bash", command = "git log *", action = "allow" },
  { tool = "Bash", command = "git push origin main", action = "allow" },
  { tool = "execute_cmd", command = "git push *", action = "ask" },
  { tool = "Bash", command = "cat *", action = "allow" },
  { tool = "@write", path = "locked", action = "deny" },
  { tool = "@write", command = "tee *", path = "data", action = "allow" },
  { tool = "*", action = "ask", priority = 9999 },
]
"""


@pytest.fixture
def ruled(project: Path) -> Path:
    """The project with rules about commands."""
    (project / "stanch.toml").write_text(RULES, "utf-8")
    return project


def lines(stanch: Stanch, command: str, *, tool: str = "Bash") -> list[str]:
    """What `stanch check` prints of a command, without the line of the policy."""
    out = stanch("check", *call(tool, command=command)).out
    return [" ".join(line.split()) for line in out.splitlines()[:-1]]


def test_a_command_of_one_part_is_said_once(stanch: Stanch, ruled: Path) -> None:
    assert lines(stanch, "make test") == [
        'ask Needs approval by rule 8 in group "default" (ask *): make',
        "rule 8: stanch.toml:13",
        "command: make test",
    ]
    assert lines(stanch, "make") == [
        'ask Needs approval by rule 8 in group "default" (ask *): make',
        "rule 8: stanch.toml:13",
    ]


def test_what_a_command_reads_is_answered_as_the_command(stanch: Stanch, ruled: Path) -> None:
    assert lines(stanch, "cat docs/a")[2:] == [
        "→ allow cat docs/a decides",
        f"allow read {ruled}/docs/a as the command",
    ]


def test_the_effect_that_decides_is_marked(stanch: Stanch, ruled: Path) -> None:
    first, place, *parts = lines(stanch, "cat secrets/x")
    assert first.startswith('deny Denied by rule 1 in group "default" (deny @read on /**/secrets): secrets/x')
    assert place == "rule 1: stanch.toml:6"
    assert parts == [
        "allow cat secrets/x rule 5 (allow Bash for the command cat *)",
        f"→ deny read {ruled}/secrets/x decides",
    ]


def test_several_parts_are_numbered(stanch: Stanch, ruled: Path) -> None:
    written = "cd docs && git log -3 | tee ../data/log; git push origin dev"
    assert lines(stanch, written)[2:] == [
        f"command: {written}",
        "1 allow cd docs nothing by itself",
        "2 allow git log -3 rule 2 (allow Bash for the command git log *)",
        "→ 3 ask tee ../data/log decides",
        f"allow write {ruled}/data/log rule 7 (allow @write on data for the command tee *)",
        "4 ask git push origin dev rule 4 (ask execute_cmd for the command git push *)",
        "ask network origin as the command",
    ]


def test_a_possible_effect_is_shown_where_it_decides(stanch: Stanch, ruled: Path) -> None:
    assert lines(stanch, "frobnicate locked/x")[-2:] == [
        "ask frobnicate locked/x rule 8 (ask *)",
        f"→ ask may write {ruled}/locked/x decides",
    ]
    assert "may " not in stanch("check", *call("Bash", command="frobnicate docs/x")).out


def test_what_stands_around_the_only_part_is_shown_as_written(stanch: Stanch, ruled: Path) -> None:
    assert lines(stanch, "make test  # quietly")[2:] == ["command: make test # quietly"]
    listed = stanch("check", *call("shell", command=["bash", "-lc", "make test"])).out
    assert "\n  command: bash -lc 'make test'\n  → 1  ask    bash -lc 'make test' " in listed
    assert "\n    2  ask    make test " in listed


@pytest.mark.parametrize("command", ["check", "explain"])
def test_nothing_in_a_command_acts_on_the_terminal(stanch: Stanch, ruled: Path, command: str) -> None:
    written = "make 'a\x1b[31m\u202eb'; cat 'c\u200bd'"
    for form in ((), ("--json",)):
        out = stanch(command, *call("Bash", command=written), *form).out
        assert not {"\x1b", "\u202e", "\u200b"} & set(out)
    assert "\\u202e" in stanch(command, *call("Bash", command=written)).out


def test_a_long_command_stays_short(stanch: Stanch, ruled: Path) -> None:
    files = " ".join(f"docs/{n}" for n in range(40))
    out = stanch("check", *call("Bash", command=f"cat {files} secrets/x")).out
    assert f"deny   read {ruled}/secrets/x" in out
    assert "and 35 more, none of them stricter" in out
    out = stanch("check", *call("Bash", command="; ".join(f"make t{n}" for n in range(60)) + "; cat secrets/x")).out
    assert "and 41 more parts" in out
    assert f"→       deny   read {ruled}/secrets/x" in out
    assert all(len(line) < 260 for line in out.splitlines()[1:])


def test_the_json_says_part_command_and_found(stanch: Stanch, ruled: Path) -> None:
    said = stanch("check", *call("Bash", command="cd docs && cat a && frobnicate ../locked/x"), "--json").json
    assert [(one["part"], one["command"], one["found"], one["class"]) for one in said["effects"]] == [
        (1, "cd docs", None, "execute"),
        (1, "cd docs", "possible", "read"),
        (2, "cat a", None, "execute"),
        (2, "cat a", "sure", "read"),
        (3, "frobnicate ../locked/x", None, "execute"),
        (3, "frobnicate ../locked/x", "possible", "read"),
        (3, "frobnicate ../locked/x", "possible", "write"),
    ]
    for one in said["effects"]:
        assert (one["path"] is None) is (one["found"] is None)
        assert one["argument"] == "command"
    (other,) = stanch("check", *call("read_file", path="docs/a"), "--json").json["effects"]
    assert (other["part"], other["command"], other["found"]) == (None, None, None)


# --- explain ----------------------------------------------------------------------------------------------------------


def test_rules_about_commands_are_in_the_contest(stanch: Stanch, ruled: Path) -> None:
    found = stanch("explain", *call("Bash", command="git push origin dev"), "--json").json["rules"][0]
    assert (found["first"]["id"], found["as_command"]) == (4, False)
    assert [one["id"] for one in found["behind"]] == [8]
    assert [(one["id"], one["condition"], one["why"]) for one in found["nearly"]] == [
        (2, "command", "its command git log * has the word 'log', and this has not"),
        (3, "command", "its command git push origin main has the word 'main', and this has not"),
    ]


def test_the_word_that_is_not_covered_is_named(stanch: Stanch, ruled: Path) -> None:
    found = stanch("explain", *call("Bash", command="git push origin main --force"), "--json").json["rules"][0]
    assert found["first"]["id"] == 4
    (why,) = [one["why"] for one in found["nearly"] if one["id"] == 3]
    assert why == "its command git push origin main does not cover '--force'"


def test_a_read_that_falls_back_on_its_command_says_so(stanch: Stanch, ruled: Path) -> None:
    words = call("Bash", command="cat docs/a")
    run, read = stanch("explain", *words, "--json").json["rules"]
    assert (run["first"]["id"], read["first"], read["as_command"]) == (5, None, True)
    assert [(one["id"], one["why"]) for one in read["behind"]] == [
        (8, "has no path, and leaves what a command reads to the command's own answer")
    ]
    assert [one["id"] for one in read["nearly"]] == [1]
    assert "  as the command: no rule speaks of what it reads" in stanch("explain", *words).out


def test_a_write_is_contested_as_the_tools_are(stanch: Stanch, ruled: Path) -> None:
    rules = stanch("explain", *call("Bash", command="echo x > locked/a"), "--json").json
    (write,) = [found for found, one in zip(rules["rules"], rules["effects"], strict=True) if one["class"] == "write"]
    assert (write["first"]["id"], [one["id"] for one in write["behind"]]) == (6, [8])
    rules = stanch("explain", *call("Bash", command="tee data/a locked/b"), "--json").json
    first = [found["first"]["id"] for found, one in zip(rules["rules"], rules["effects"], strict=True) if one["found"]]
    assert first == [7, 6]


def test_the_first_rule_of_every_effect_is_the_one_that_answered(stanch: Stanch, ruled: Path) -> None:
    for command in ("cd docs; cat a secrets/x | tee data/y locked/z; git log; git push", "curl http://x.y/z -o data/o"):
        said = stanch("explain", *call("Bash", command=command), "--json").json
        for found, one in zip(said["rules"], said["effects"], strict=True):
            rule = one["reason"] and one["reason"]["rule"]
            if (
                one["reason"]
                and one["reason"]["code"] == "rule"
                and not found["as_command"]
                and one["found"] != "possible"
            ):
                assert found["first"]["id"] == rule["id"], one


def test_parts_that_do_nothing_are_one_line(stanch: Stanch, ruled: Path) -> None:
    out = stanch("explain", *call("Bash", command="cd docs && make")).out
    assert "\n1  cd docs: allow, nothing by itself\n" in out
    assert "\n2  make: ask, which decides\n" in out


def test_a_command_that_cannot_be_known_says_what_counts(stanch: Stanch, ruled: Path) -> None:
    out = stanch("explain", *call("Bash", command="cat $UNSET_NAME")).out
    assert "a part of the command cannot be known (" in out
    assert "  a part of the command cannot be known, so of these rules only a deny counts" in out
    assert "not read yet" not in out
