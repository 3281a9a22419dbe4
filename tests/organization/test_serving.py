"""A running server whose policy names an organization: reloads, restarts, and what persons are shown of it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from stanch.app.asking import Described
from stanch.app.organization_copy import NAME
from stanch.app.service import Service
from stanch.values.decision import Decision
from stanch.values.records import AuditRecord
from tests.console.visitors import Visitor
from tests.http.served import World
from tests.http.served import served as serving
from tests.organization.served import RULES, says, served, until, whole
from tests.stores.template import new_store

HEAD = "version = 1\n[[groups]]\nid = 'default'\nrules = [{ tool = '@write', action = 'allow' }]\n"


def _text(source: str, more: str = "") -> str:
    return f"{HEAD}[organization]\nsource = {json.dumps(source)}\n{more}"


@contextmanager
def _service(root: Path, policy: str) -> Iterator[Service]:
    """A service with a data directory, over a store that stays where it is."""
    workspace, data = root / "repo", root / "data"
    workspace.mkdir(exist_ok=True)
    data.mkdir(exist_ok=True, mode=0o700)
    file = workspace / "stanch.toml"
    file.write_text(policy)
    database = root / "stanch.db"
    database.unlink(missing_ok=True)
    store = new_store(database)
    service = Service.open(store=store, policy=file, workspace=workspace, data=data)
    try:
        yield service
    finally:
        service.close()
        store.close()


def _write(service: Service, path: str) -> Decision:
    return service.check(Described(), "write_file", {"path": path, "content": "x"}).decision


def _detail(service: Service, path: str = "open/a") -> str:
    return _write(service, path).reason.detail


def _state(service: Service) -> list[str]:
    return [one.known.value for one in service.organizations.statuses()]


def _reload(service: Service, text: str) -> None:
    assert service.policy_file is not None
    draft = service.policy_file.with_suffix(".draft")
    draft.write_text(text)
    draft.replace(service.policy_file)
    service.refresh()


def test_another_source_silences_the_copy_of_the_one_before(tmp_path: Path) -> None:
    with (
        served(says(whole(RULES))) as one,
        served(says(whole(b"", "503 No"))) as two,
        _service(tmp_path, _text(one.url)) as service,
    ):
        until(lambda: _state(service) == ["current"], "the rules")
        assert _write(service, "closed/a").effect.value == "deny"
        _reload(service, _text(two.url))
        for path in ("open/a", "closed/a"):
            decision = _write(service, path)
            assert (decision.effect.value, decision.reason.layer.value) == ("ask", "org_rules")
        until(lambda: _detail(service) == "unavailable: HTTP status 503", "the other source")
        _reload(service, HEAD)
        assert _write(service, "closed/a").effect.value == "allow"
        assert _state(service) == []


def test_a_reload_that_says_the_same_of_it_fetches_nothing_anew(tmp_path: Path) -> None:
    said = [whole(RULES)]
    with served(lambda server, raw: said) as server, _service(tmp_path, _text(server.url)) as service:
        until(lambda: _state(service) == ["current"], "the rules")
        _reload(service, _text(server.url) + "# and a word\n")
        assert _write(service, "closed/a").effect.value == "deny"
        _reload(service, "version = \n")
        assert _write(service, "closed/a").reason.code.value == "policy_invalid"
        until((tmp_path / "data" / NAME).exists, "the copy")
        (tmp_path / "data" / NAME).unlink()
        said[0] = whole(b"", "503 No")
        for wrong in ("version = \n", _text("ftp://rules.example.com/")):
            _reload(service, wrong)
            assert _write(service, "open/a").effect.value != "allow"
        _reload(service, _text(server.url))
        assert _write(service, "open/a").effect.value == "allow"
        _reload(service, _text(server.url, "max_age_s = 600\n"))
        assert _write(service, "closed/a").effect.value == "deny"
        assert _write(service, "open/a").effect.value == "allow"


def test_a_turn_that_began_before_hears_the_new_rules(tmp_path: Path) -> None:
    said = [whole(RULES)]
    with served(lambda server, raw: said) as server, _service(tmp_path, _text(server.url)) as service:
        until(lambda: _state(service) == ["current"], "the rules")
        session = service.check(Described(), "write_file", {"path": "open/a", "content": ""}).session
        said[0] = whole([{"tool": "@write", "action": "deny"}])
        service.organizations.refresh()
        assert session.check("write_file", {"path": "open/a", "content": ""}).effect.value == "deny"


def test_a_server_that_starts_again_has_the_copy_and_another_source_has_not(tmp_path: Path) -> None:
    with served(says(whole(RULES, ETag='"v1"'))) as server:
        with _service(tmp_path, _text(server.url)) as service:
            until((tmp_path / "data" / NAME).exists, "the copy")
            assert _write(service, "closed/a").effect.value == "deny"
        url = server.url
    with _service(tmp_path, _text(url)) as service:
        assert _write(service, "open/a").effect.value == "allow"
        until(lambda: _state(service) == ["stale"], "the failure")
        assert _detail(service, "closed/a") == "stale: connection refused"
        assert _write(service, "open/a").effect.value == "allow"
    with _service(tmp_path, _text(url + "?other")) as service:
        until(lambda: _detail(service) == "unavailable: connection refused", "the failure")
        assert _write(service, "closed/a").effect.value == "ask"


def test_each_change_is_in_the_audit_log_with_names_alone(tmp_path: Path) -> None:
    said = [whole(RULES)]
    address = "?key=hush"
    with served(lambda server, raw: said) as server, _service(tmp_path, _text(server.url + address)) as service:
        until(lambda: len(_noted(service)) == 1, "the first row")
        said[0] = whole(b"SERVERSAYS", "500 SERVERSAYS")
        service.organizations.refresh()
        service.organizations.refresh()
        rows = _noted(service)
    assert [(one.action, one.detail["why"], one.detail["rules"]) for one in rows] == [
        ("organization.current", "", 1),
        ("organization.stale", "HTTP status 500", 1),
    ]
    assert "hush" not in repr(rows)
    assert "SERVERSAYS" not in repr(rows)


def _noted(service: Service) -> list[AuditRecord]:
    rows = service.audit.list(limit=200).items
    return [one for one in rows if isinstance(one, AuditRecord) and one.action.startswith("organization.")]


def test_persons_are_shown_how_well_the_rules_are_known(tmp_path: Path) -> None:
    said = [whole(RULES)]
    with served(lambda server, raw: said) as server, serving(World(tmp_path, _text(server.url + "?key=hush"))) as world:
        until(lambda: _state(world.service) == ["current"], "the rules")
        (shown,) = world.get("/api/policy")["organizations"]
        assert (shown["state"], shown["rules"], shown["why"], shown["max_age_s"]) == ("current", 1, "", 300)
        assert shown["source"] == server.url + "?…"
        said[0] = whole(b"", "500 No")
        world.service.organizations.refresh()
        assert world.get("/api/policy")["organizations"][0]["state"] == "stale"
        with Visitor(world) as visitor:
            page = visitor.get("/console/rules")
        assert 'data-organization="stale"' in page
        assert "HTTP status 500" in page
        assert "hush" not in page


def test_nothing_is_shown_of_an_organization_that_is_not_there(tmp_path: Path) -> None:
    with serving(World(tmp_path, HEAD)) as world:
        assert world.get("/api/policy")["organizations"] == []
        with Visitor(world) as visitor:
            assert "data-organization" not in visitor.get("/console/rules")


def test_an_embedding_program_gives_one(tmp_path: Path) -> None:
    import stanch

    file = tmp_path / "stanch.toml"
    file.write_text(HEAD)

    with stanch.embed(file, store=tmp_path / "s.db", organization=lambda: RULES) as embedded:
        until(lambda: _state(embedded.service) == ["current"], "the rules")
        session = embedded.session("coder")
        answered = embedded.service.check(session, "write_file", {"path": "closed/a", "content": "x"})
        assert answered.decision.effect.value == "deny"
