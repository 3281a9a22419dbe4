"""What the gate and the judge say of a call while an organization's rules are known, stale, silent, or not to be
had."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

import stanch
from stanch.app.judging import Judge
from stanch.app.organization import Organization
from stanch.app.organization_fetching import Fetched
from stanch.app.organization_opening import organization
from stanch.judge.question import Probe
from stanch.policy.organization import Trouble, Unfetched
from stanch.values.decision import Decision, Effect
from stanch.values.fault import BadInput
from stanch.values.reason import Code, LayerId
from stanch.values.verdict import Cause, Face, State
from tests.organization.served import RULES, Clock, Server, served, until, whole

RULE = {"tool": "@write", "action": "allow"}
HEAD = "version = 1\n[[groups]]\nid = 'default'\nrules = [{ tool = '@write', action = 'allow' }]\n"


def _policy(folder: Path, source: str | None, more: str = "", head: str = "") -> Path:
    path = folder / "stanch.toml"
    named = "" if source is None else f"[organization]\nsource = {json.dumps(source)}\n{more}"
    draft = folder / "draft"
    draft.write_text(head + HEAD + named)
    draft.replace(path)
    return path


def _write(engine: Any, path: str, **session: Any) -> Decision:
    decision = engine.check("write_file", {"path": path, "content": "x"}, **session)
    assert isinstance(decision, Decision)
    return decision


def _said(decision: Decision) -> tuple[str, str, str]:
    return decision.effect.value, decision.reason.layer.value, decision.reason.detail


def test_a_file_of_rules_speaks_from_the_first_call(tmp_path: Path) -> None:
    (tmp_path / "org.toml").write_text("[[rules]]\ntool = '@write'\npath = 'closed'\naction = 'deny'\nnote = 'ours'\n")
    engine = stanch.open(_policy(tmp_path, "org.toml"))
    denied = _write(engine, "closed/a")
    assert denied.effect is Effect.DENY
    assert denied.reason.layer is LayerId.ORG_RULES
    assert denied.reason.rule is not None
    assert (denied.reason.rule.group, denied.reason.rule.id, denied.reason.rule.note) == ("organization", 1, "ours")
    assert _write(engine, "open/a").effect is Effect.ALLOW


def test_no_agent_writes_the_rules_that_bind_it(tmp_path: Path) -> None:
    (tmp_path / "org.toml").write_text("rules = []\n")
    (tmp_path / "linked.toml").symlink_to(tmp_path / "org.toml")
    engine = stanch.open(_policy(tmp_path, "linked.toml"))
    for name in ("org.toml", "linked.toml"):
        assert _write(engine, name).reason.code is Code.PATH_PROTECTED


def test_a_link_that_is_turned_turns_the_rules_that_lead_through_it(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    (tmp_path / "here").symlink_to("one")
    rules = [{"tool": "@write", "path": "here", "action": "deny"}]
    engine = stanch.open(_policy(tmp_path, None), organization=lambda: rules, patience=10)
    assert _write(engine, "one/a").effect is Effect.DENY
    assert _write(engine, "two/a").effect is Effect.ALLOW
    (tmp_path / "turned").symlink_to("two")
    (tmp_path / "turned").replace(tmp_path / "here")
    until(lambda: _write(engine, "two/a").effect is Effect.DENY, "the new place")


def test_a_policy_without_an_organization_has_no_such_layer(tmp_path: Path) -> None:
    engine = stanch.open(_policy(tmp_path, None))
    decision = engine.check("write_file", {"path": "a", "content": "x"}, trace=True)
    assert [step.asked for step in decision.trace if step.layer is LayerId.ORG_RULES] == [False]


def test_silence_of_known_rules_is_told_from_no_rules(tmp_path: Path) -> None:
    (tmp_path / "org.toml").write_text("rules = []\n")
    engine = stanch.open(_policy(tmp_path, "org.toml"))
    decision = engine.check("write_file", {"path": "a", "content": "x"}, trace=True)
    assert decision.effect is Effect.ALLOW
    assert [(s.asked, s.answer) for s in decision.trace if s.layer is LayerId.ORG_RULES] == [(True, None)]


@pytest.mark.parametrize(
    ("answer", "detail"),
    [
        (whole(b"SERVERSAYS", "500 SERVERSAYS"), "unavailable: HTTP status 500"),
        (whole(b"<html>SERVERSAYS"), "unavailable: unreadable answer"),
        (whole({"verdict": "maybe"}), "unavailable: unreadable answer"),
        (whole([*RULES, {"tool": "SERVERSAYS"}]), "unavailable: unreadable answer (rule 2)"),
    ],
)
def test_a_server_that_fails_is_an_ask_for_a_person_in_the_gate_and_no_answer_in_the_judge(
    tmp_path: Path, answer: bytes, detail: str
) -> None:
    said = [answer]
    with served(lambda server, raw: said) as server:
        engine = stanch.open(_policy(tmp_path, server.url), patience=10)
        session = engine.session()
        for trace in (False, True):
            decision = session.check("write_file", {"path": "open/a", "content": "x"}, trace=trace)
            assert _said(decision) == ("ask", "org_rules", detail)
            assert decision.answer.mandated
            assert "SERVERSAYS" not in repr(decision)
        judge = Judge([session])
        verdict = judge(Probe(Face.WRITE, "test", "open/a"))
        assert (verdict.state, verdict.cause, verdict.layer) == (
            State.UNANSWERABLE,
            Cause.ORG_UNAVAILABLE,
            LayerId.ORG_RULES,
        )
        said[0] = whole(RULES)
        engine.organizations.all()[0].refresh()
        assert _write(engine, "open/a").effect is Effect.ALLOW
        assert session.check("write_file", {"path": "open/a", "content": "x"}).effect is Effect.ALLOW
        assert judge(Probe(Face.WRITE, "test", "open/a")).state is State.NO_OBJECTION
        assert judge(Probe(Face.WRITE, "test", "closed/a")).state is State.DENY


def test_a_deny_that_is_known_outranks_rules_that_are_not(tmp_path: Path) -> None:
    def provide() -> Any:
        raise OSError

    engine = stanch.open(_policy(tmp_path, None), organization=provide, patience=10)
    session = engine.session(narrowing=[{"tool": "@write", "path": "hr", "action": "deny"}])
    assert session.check("write_file", {"path": "hr/a", "content": "x"}).reason.layer is LayerId.NARROWING
    assert Judge([session])(Probe(Face.WRITE, "test", "hr/a")).state is State.DENY
    denying = stanch.open(
        _policy(tmp_path, None, head="on_layer_failure = 'deny'\n"), organization=provide, patience=10
    )
    assert _said(_write(denying, "a")) == ("deny", "org_rules", "unavailable: the program's provider threw")


def test_while_they_are_loading_a_call_is_refused_and_afterwards_answered(tmp_path: Path) -> None:
    comes = threading.Event()

    def answer(server: Server, raw: bytes) -> Iterable[bytes]:
        comes.wait(30)
        return [whole([{"tool": "@write", "action": "allow"}])]

    with served(answer) as server:
        engine = stanch.open(_policy(tmp_path, server.url))
        session = engine.session()
        assert _said(session.check("write_file", {"path": "a", "content": "x"})) == (
            "ask",
            "org_rules",
            "loading: ask again in a moment",
        )
        verdict = Judge([session])(Probe(Face.WRITE, "test", "a"))
        assert (verdict.state, verdict.cause) == (State.UNANSWERABLE, Cause.ORG_UNAVAILABLE)
        assert verdict.reason is not None
        assert verdict.reason.detail == "loading: ask again in a moment"
        comes.set()
        engine.organizations.wait(10)
        assert session.check("write_file", {"path": "a", "content": "x"}).effect is Effect.ALLOW
        assert Judge([session])(Probe(Face.WRITE, "test", "a")).state is State.NO_OBJECTION


def test_an_allow_of_the_organization_allows_nothing_and_excepts_nothing(tmp_path: Path) -> None:
    rules = [{"tool": "execute_cmd", "action": "allow"}, {"tool": "write_file", "action": "allow"}, *RULES]
    engine = stanch.open(_policy(tmp_path, None), organization=lambda: rules, patience=10)
    assert engine.check("execute_cmd", {"command": "make"}).reason.layer is LayerId.PERSISTED_RULES
    assert engine.check("execute_cmd", {"command": "make"}).effect is Effect.ASK
    assert _write(engine, "closed/a").effect is Effect.DENY


def test_an_ask_of_the_organization_is_one_that_only_a_person_answers(tmp_path: Path) -> None:
    engine = stanch.open(
        _policy(tmp_path, None), organization=lambda: [{"tool": "@write", "action": "ask"}], patience=10
    )
    context = stanch.RunContext(allow_fs_writes=(".",))
    decision = _write(engine, "a", context=context)
    assert (decision.effect, decision.answer.mandated, decision.reason.code) == (Effect.ASK, True, Code.RULE)


def test_rules_for_an_agent_or_a_source_reach_no_other(tmp_path: Path) -> None:
    rules = [
        {"tool": "@write", "agent": "digest", "action": "deny"},
        {"tool": "@write", "source": "cron", "action": "deny"},
    ]
    engine = stanch.open(_policy(tmp_path, None), organization=lambda: rules, patience=10)
    assert _write(engine, "a", agent="digest").effect is Effect.DENY
    assert _write(engine, "a", source="cron").effect is Effect.DENY
    assert _write(engine, "a", agent="coder", source="web").effect is Effect.ALLOW


def test_a_search_from_above_what_the_organization_closes_is_a_question(tmp_path: Path) -> None:
    (tmp_path / "sub" / "closed").mkdir(parents=True)
    (tmp_path / "sub" / "closed" / "a").write_text("x")
    rules = [{"tool": "@read", "path": "sub/closed", "action": "deny"}]
    path = _policy(tmp_path, None)
    path.write_text(HEAD.replace("@write", "@read"))
    engine = stanch.open(path, organization=lambda: rules, patience=10)
    decision = engine.check("Grep", {"pattern": "x", "path": "sub"})
    assert (decision.effect, decision.reason.layer) == (Effect.ASK, LayerId.ORG_RULES)


def test_memory_is_no_exception_to_what_the_organization_denies(tmp_path: Path) -> None:
    engine = stanch.open(
        _policy(tmp_path, None), organization=lambda: [{"tool": "@write", "action": "deny"}], patience=10
    )
    assert _write(engine, "memory/a.md").effect is Effect.DENY


def test_a_stale_copy_says_so_with_what_it_says(tmp_path: Path) -> None:
    clock, said = Clock(), [True]

    def fetch(etag: str) -> Fetched:
        if not said[0]:
            raise Unfetched(Trouble.STATUS, "503")
        return Fetched(tuple(RULES))

    made = Organization(fetch, source="x", max_age_s=300, now=clock)
    engine = stanch.open(_policy(tmp_path, None))
    session = engine.session(organization=made)
    made.refresh()
    said[0] = False
    made.refresh()
    assert _said(session.check("write_file", {"path": "closed/a", "content": "x"})) == (
        "deny",
        "org_rules",
        "stale: HTTP status 503",
    )
    assert session.check("write_file", {"path": "open/a", "content": "x"}).effect is Effect.ALLOW
    assert engine.session().check("write_file", {"path": "closed/a", "content": "x"}).effect is Effect.ALLOW
    clock.on(300)
    for path in ("open/a", "closed/a"):
        detail = session.check("write_file", {"path": path, "content": "x"}).reason.detail
        assert detail == "unavailable: expired since 2027-01-15T08:05:00Z, HTTP status 503"


def test_two_organizations_are_both_asked(tmp_path: Path) -> None:
    (tmp_path / "org.toml").write_text("[[rules]]\ntool = '@write'\npath = 'one'\naction = 'deny'\n")
    given = organization(lambda: [{"tool": "@write", "path": "two", "action": "deny"}])
    with given:
        assert given.wait(10)
        engine = stanch.open(_policy(tmp_path, "org.toml"), organization=given)
        session = engine.session(organization=organization(lambda: RULES))
        until(lambda: session.check("write_file", {"path": "x", "content": ""}).effect is Effect.ALLOW, "the third")
        for path in ("one/a", "two/a", "closed/a"):
            assert session.check("write_file", {"path": path, "content": "x"}).effect is Effect.DENY
    assert _said(_write(engine, "x"))[0] == "ask"


def test_rules_change_under_eight_threads_and_no_answer_is_of_neither(tmp_path: Path) -> None:
    rules: list[list[dict[str, str]]] = [[{"tool": "@write", "path": "a", "action": "deny"}]]
    made = Organization(lambda _: Fetched(tuple(rules[0])), source="x", max_age_s=300)
    made.refresh()
    session = stanch.open(_policy(tmp_path, None)).session(organization=made)
    wrong: list[Decision] = []
    over = threading.Event()

    def judge() -> None:
        while not over.is_set():
            decision = session.check("write_file", {"path": "a", "content": "x"})
            if decision.effect is not Effect.DENY or decision.reason.layer is not LayerId.ORG_RULES:
                wrong.append(decision)

    threads = [threading.Thread(target=judge) for _ in range(8)]
    for one in threads:
        one.start()
    for at in range(60):
        rules[0] = [
            {"tool": "@write", "path": f"b{at}", "action": "deny"},
            {"tool": "@write", "path": "a", "action": "deny"},
        ]
        made.refresh()
    over.set()
    for one in threads:
        one.join(20)
    assert not wrong


@pytest.mark.parametrize(
    ("source", "says"),
    [
        ("http://rules.example.com/r", "must begin with https://"),
        ("http://127.0.0.1.example.com/r", "must begin with https://"),
        ("http://0x7f000001/r", "must begin with https://"),
        ("https://user:hush@rules.example.com/r", "must not hold a user"),
        ("https://hush@rules.example.com/r", "must not hold a user"),
        ("ftp://rules.example.com/r", "begins with https://"),
        ("file:///etc/rules", "begins with https://"),
        ("https:///r", "no address that can be read"),
        ("https://[::1/r", "no address that can be read"),
        ("https://rules.example.com:99999/r", "no address that can be read"),
        ("https://rules.example.com\\@evil/r", "no address that can be read"),
        ("https://rules.example.com/r\nx", "no address that can be read"),
        ("https://rules.example.com/r#top", "must not hold a '#'"),
    ],
)
def test_a_source_that_may_not_be_is_a_problem_and_nothing_is_asked_of_it(
    tmp_path: Path, source: str, says: str
) -> None:
    engine = stanch.open(_policy(tmp_path, source))
    (problem,) = engine.policy.problems
    assert says in problem.message
    assert "hush" not in problem.message
    assert (problem.scope, problem.line) == ("organization", 6)
    assert _said(_write(engine, "a")) == ("ask", "org_rules", "unavailable: the policy has a mistake in [organization]")


def test_a_key_in_an_address_is_shown_nowhere() -> None:
    made = organization("https://rules.invalid/r?key=hush", max_age_s=1)
    assert made.wait(20)
    made.close()
    assert "hush" not in repr(made.status())
    for wrong in ("http://rules.example.com/r", "rules.toml", 5):
        with pytest.raises(BadInput):
            organization(wrong)  # type: ignore[arg-type]
    for age in (0, -1, True, "5", float("inf"), float("nan")):
        with pytest.raises(BadInput):
            organization(list, max_age_s=age)  # type: ignore[arg-type]
