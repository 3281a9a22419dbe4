"""The audit line and its file."""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path

import pytest

import stanch
from stanch.host.audit import AuditLog


def _lines(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_a_line_says_what_was_asked_what_was_answered_and_by_which_rule(tmp_path: Path) -> None:
    (tmp_path / "stanch.toml").write_text("version = 1\n")
    with AuditLog(tmp_path / "audit.jsonl") as audit:
        session = stanch.open(tmp_path / "stanch.toml", audit=audit).session()
        session.check("write_file", {"path": 'secrets/"a"\n', "content": "tok_12345678"}, call_id="c1")
        session.check("ask_user", {"question": "may I?"})
    first, second = _lines(tmp_path / "audit.jsonl")
    assert (first["call"], first["tool"], first["effect"], first["code"]) == ("c1", "write_file", "deny", "rule")
    assert first["touches"] == [f'{tmp_path.resolve()}/secrets/"a"\n']
    assert first["rule"] == {"group": "default", "id": 2}
    assert second["touches"] == []
    text = (tmp_path / "audit.jsonl").read_text()
    assert "tok_12345678" not in text
    assert "may I?" not in text


def test_a_line_is_there_as_soon_as_the_answer_is(tmp_path: Path) -> None:
    (tmp_path / "stanch.toml").write_text("version = 1\n")
    stanch.open(tmp_path / "stanch.toml", audit=tmp_path / "audit.jsonl").check("ask_user", {"question": "x"})
    assert len(_lines(tmp_path / "audit.jsonl")) == 1


def test_the_file_is_its_owners_alone_and_is_never_opened_through_a_link(tmp_path: Path) -> None:
    with AuditLog(tmp_path / "audit.jsonl"):
        assert os.stat(tmp_path / "audit.jsonl").st_mode & 0o777 == 0o600
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match="link"):
        AuditLog(tmp_path / "link")


def test_lines_of_many_threads_do_not_mix_and_a_closed_log_takes_none(tmp_path: Path) -> None:
    (tmp_path / "stanch.toml").write_text("version = 1\n")
    audit = AuditLog(tmp_path / "audit.jsonl")
    session = stanch.open(tmp_path / "stanch.toml", audit=audit).session()

    def work() -> None:
        for number in range(200):
            session.check("read_file", {"path": f"f{number}"})

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    audit.flush()
    assert len(_lines(tmp_path / "audit.jsonl")) == 800
    audit.close()
    with pytest.raises(ValueError, match="closed"):
        session.check("read_file", {"path": "x"})
