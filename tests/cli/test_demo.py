"""`stanch demo`: everything but the model is real, so what it shows is what holds."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

COMMAND = [sys.executable, "-m", "stanch.surfaces.cli.main", "demo"]


def played(*arguments: str, home: Path) -> subprocess.CompletedProcess[str]:
    environment = {"PATH": os.environ["PATH"], "HOME": str(home), "TMPDIR": str(home)}
    return subprocess.run(
        [*COMMAND, *arguments],
        check=False,
        capture_output=True,
        text=True,
        timeout=120,
        env=environment,
        stdin=subprocess.DEVNULL,
    )


def test_the_demo_plays_to_its_end_by_itself_and_leaves_nothing(tmp_path: Path) -> None:
    done = played("--yes", home=tmp_path)
    assert done.returncode == 0, done.stderr
    said = done.stdout
    assert "Denied by rule 1" in said
    assert "[secrets never reach a model]" in said
    assert "1 withheld" in said
    assert "Which quarter is the report to cover?" in said
    assert "you: Q4" in said
    # One approval for files, one for code, each with a bypass that answers for those that come next.
    assert said.count("you: yes") == 2
    # Each question stands above its answer, and once.
    assert said.count("      waits: ") == 2
    order = [line.split(":")[0].strip() for line in said.splitlines() if "      waits: " in line or "you: yes" in line]
    assert order == ["waits", "you", "waits", "you"]
    assert "› edit_file" in said
    assert "› execute_cmd wc -l data/orders.csv" in said
    assert "Denied by rule 2" in said
    assert "› call_agent" in said
    assert "[Content from " in said
    assert 'trust tier "Outside" does not have read access]' in said
    assert "requests that held the payment key: 0" in said
    assert "requests that held a customer's card, after the switch: 0" in said
    assert "live_key_that" not in said
    # Stored files: redacted, withheld, run on, and told of afterwards.
    assert "Send the header `X-Key: {{CARRIER_KEY}}`." in said
    assert "Withheld because nobody can say which secrets it carries" in said
    assert "4.6 kilos" in said
    assert " 1 lines" not in said
    assert '"excluded_inputs"' in said, said[-4_000:]
    assert "no way out:" in said
    assert "requests that held the value of CARRIER_KEY: 0" in said
    assert "shop/carrier.md  redacted  (files_read, send)" in said
    assert "shop/carrier.md  raw in workbench  (run_code)" in said
    assert "the log of it is whole" in said
    assert "carrier-7f3a" not in said
    assert list(tmp_path.glob("stanch-demo-*")) == []


def test_without_a_terminal_nobody_is_asked(tmp_path: Path) -> None:
    done = played(home=tmp_path)
    assert done.returncode == 2
    assert done.stdout == ""
    assert "--yes" in done.stderr
    assert "Traceback" not in done.stderr
