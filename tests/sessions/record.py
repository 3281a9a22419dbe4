"""Records sessions of real coding agents against scripted model servers, as test data.

The agents are needed as binaries. Install them outside the project, for instance::

    python3 -m venv /tmp/claude && /tmp/claude/bin/pip install claude-agent-sdk
    mkdir /tmp/npm && cd /tmp/npm && npm i @openai/codex opencode-ai --no-save

the older releases each in a directory of its own, the same way, as `@anthropic-ai/claude-code@1.0.100`,
`@openai/codex@0.50.0` and `@openai/codex@0.79.0`; and then, from the root of the project::

    python -m tests.sessions.record --replace \\
        --claude /tmp/claude/lib/python3.11/site-packages/claude_agent_sdk/_bundled/claude \\
        --codex "$(find /tmp/npm/node_modules/@openai -path '*/bin/codex' | head -n 1)" \\
        --opencode "$(find /tmp/npm/node_modules/opencode-linux-x64 -name opencode -type f)"

with `--claude-v1`, `--codex-v50` and `--codex-v79` for the older ones (of Claude Code it is `cli.js`, made executable).
Agents that are not given are left out; OpenCode needs `rg` on the path for its grep and glob. Each session runs in
`/repo/app`, made anew (`--replace` allows its deletion), with an empty home. The files under `tests/data/sessions` are
what the agents wrote, but for their own prompts, which are cut:

- `NAME.jsonl`: the session file; `NAME/subagents/*`: the files of its subagents, as they lay beside it;
- `anthropic-messages.json`, `openai-responses.json`, `openai-chat.json`: the messages of a session's last request;
- `*.meta.toml`: how each of these was made, its digest, and how many texts were cut where.

A session whose agent no longer offers a tool that its script calls still records: the agent's refusal is then in it.
"""

import argparse
import datetime
import hashlib
import json
import shlex
import shutil
import tempfile
from collections import Counter
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from tests.sessions import events, sample_repo
from tests.sessions.agents import Agent
from tests.sessions.cutting import Cutter
from tests.sessions.model_servers import serving
from tests.sessions.sessions import SESSIONS
from tests.sessions.turns import ROOT, Json, Session

OUT = Path(__file__).parents[1] / "data" / "sessions"
COMMANDS = {"claude-code": "claude", "codex": "codex", "opencode": "opencode"}
SESSION_FILES = {"claude-code": ".claude/projects/**/*.json*", "codex": ".codex/sessions/**/rollout-*.jsonl"}


@dataclass(frozen=True)
class Origin:
    """What the meta files of a session say about where it came from."""

    agent: str
    version: str
    commands: list[str]
    settings: str
    what: str

    def toml(self, digest: str, others: dict[str, str], cut: Counter[str]) -> str:
        """Write a meta file; a JSON string is a TOML basic string."""
        lines = [
            f"agent = {_quoted(self.agent)}",
            f"version = {_quoted(self.version)}",
            "commands = [",
            *(f"    {_quoted(command)}," for command in self.commands),
            "]",
            f"settings = {_quoted(self.settings)}",
            f"date = {datetime.datetime.now(datetime.UTC).date().isoformat()}",
            f"what = {_quoted(self.what)}",
            f'sha256 = "{digest}"',
            *_table("beside", {name: _quoted(value) for name, value in others.items()}),
            *_table("cut", {place: str(count) for place, count in sorted(cut.items())}),
        ]
        return "\n".join(lines) + "\n"


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _table(name: str, rows: dict[str, str]) -> list[str]:
    return ["", f"[{name}]", *(f"{_quoted(key)} = {value}" for key, value in rows.items())]


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _write(path: Path, text: str) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return _digest(text)


def _session_files(session: Session, home: Path) -> tuple[Path, list[Path]]:
    """Find the file of the session, and those of its subagents in the directory that bears its name."""
    found = sorted(home.glob(SESSION_FILES[session.agent]))
    main = [path for path in found if "subagents" not in path.parts]
    if len(main) != 1:
        raise SystemExit(f"{session.name}: expected one session file, found {[str(path) for path in main]}")
    return main[0], [path for path in found if path != main[0]]


def _keep_session(session: Session, home: Path, out: Path, origin: Origin) -> None:
    main, others = _session_files(session, home)
    cutter = Cutter()
    digest = _write(out / f"{session.name}.jsonl", cutter.jsonl(main.read_text(encoding="utf-8")))
    shutil.rmtree(out / session.name, ignore_errors=True)
    digests = {}
    for path in others:
        name = f"{session.name}/{path.relative_to(main.with_suffix(''))}"
        digests[name] = _write(out / name, cutter.jsonl(path.read_text(encoding="utf-8")))
    _write(out / f"{session.name}.meta.toml", origin.toml(digest, digests, cutter.counts))


def _keep_messages(session: Session, requests: list[Json], out: Path, origin: Origin) -> None:
    last = [body for body in requests if events.offers_tools(body)][-1]
    cutter = Cutter()
    messages = cutter.value(events.said(last), "request")
    digest = _write(out / f"{session.messages}.json", json.dumps(messages, ensure_ascii=False, indent=1) + "\n")
    _write(out / f"{session.messages}.meta.toml", origin.toml(digest, {}, cutter.counts))


def record(session: Session, binary: Path, out: Path, *, replace: bool) -> None:
    """Run one session and keep what came of it."""
    root = Path(ROOT)
    sample_repo.make(root, replace=replace)
    with tempfile.TemporaryDirectory(prefix="home-") as made, serving(session.script) as (base, recorder):
        home = Path(made)
        agent = Agent(session.agent, binary, home)
        version = agent.version()
        said = [agent.run(arguments, base, root) for arguments in session.commands]
        if not recorder.requests:
            raise SystemExit(f"{session.name}: the agent asked its model nothing; it said:\n{said}")
        commands = [shlex.join([COMMANDS[session.agent], *arguments]) for arguments in session.commands]
        origin = partial(Origin, session.agent, version, commands, agent.settings())
        if session.agent in SESSION_FILES:
            _keep_session(session, home, out, origin("the session file that the agent wrote"))
        if session.messages:
            whence = origin("the messages of the last request that the agent sent to its model")
            _keep_messages(session, recorder.requests, out, whence)
        print(f"{session.name}: {len(recorder.requests)} requests, {session.agent} {version}")


def main() -> None:
    """Record the sessions of the agents that were given."""
    parser = argparse.ArgumentParser(description="Record sessions of real coding agents as test data.")
    for binary in dict.fromkeys(session.binary for session in SESSIONS):
        parser.add_argument(f"--{binary}", type=Path, dest=binary, help=f"the {binary} binary")
    parser.add_argument("--only", action="append", help="name of a session to record; may be repeated")
    parser.add_argument("--replace", action="store_true", help=f"delete {ROOT} if it exists")
    parser.add_argument("--out", type=Path, default=OUT, help="where the files go")
    given = vars(parser.parse_args())
    for session in SESSIONS:
        path: Path | None = given[session.binary]
        if path is not None and (not given["only"] or session.name in given["only"]):
            record(session, path.resolve(), given["out"], replace=given["replace"])


if __name__ == "__main__":
    main()
