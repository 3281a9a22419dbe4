"""How each agent is started: in a home of its own, with a made-up key, against a model server on loopback."""

import os
import re
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

TIMEOUT = 180.0


@dataclass(frozen=True)
class Agent:
    """An agent's binary and the empty home it runs in."""

    name: str
    binary: Path
    home: Path

    def version(self) -> str:
        """Give the version number in what the binary says of itself."""
        said = self._run([str(self.binary), "--version"], {}, self.home)
        found = re.search(r"\b\d+\.\d+\.\d+\b", said)
        if found is None:
            raise SystemExit(f"{self.binary} names no version; it said:\n{said}")
        return found[0]

    def settings(self, base: str = "http://127.0.0.1:PORT") -> str:
        """Give what the agent is told besides its command line: a settings file, or else environment variables."""
        if self.name in CONFIGS:
            return CONFIGS[self.name][1].replace("BASE", base)
        return "".join(f"{name}={value}\n" for name, value in CLAUDE.items()) + f"ANTHROPIC_BASE_URL={base}\n"

    def run(self, arguments: list[str], base: str, cwd: Path) -> str:
        """Run the agent once in `cwd` and give what it printed."""
        settings = self.settings(base)
        environment = {"SCRIPTED_KEY": "made-up"}
        if self.name in CONFIGS:
            path = self.home / CONFIGS[self.name][0]
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(settings, encoding="utf-8")
        else:
            environment = dict(line.split("=", 1) for line in settings.splitlines())
        return self._run([str(self.binary), *arguments], environment, cwd)

    def _run(self, command: list[str], extra: dict[str, str], cwd: Path) -> str:
        environment = {"PATH": os.environ["PATH"], "HOME": str(self.home), "LANG": "C.UTF-8"} | extra
        with tempfile.TemporaryFile("w+", encoding="utf-8") as said:
            ended = subprocess.run(
                command,
                check=False,
                cwd=cwd,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=said,
                timeout=TIMEOUT,
            )
            said.seek(0)
            text = said.read()
        if ended.returncode:
            raise SystemExit(f"{command} ended with {ended.returncode}; it said:\n{text}")
        return text


CLAUDE = {
    "ANTHROPIC_API_KEY": "made-up",
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "CLAUDE_CODE_ENABLE_TASKS": "0",
    "DISABLE_AUTOUPDATER": "1",
    "DISABLE_TELEMETRY": "1",
    "IS_SANDBOX": "1",
}
_CODEX = """\
model_provider = "scripted"
[model_providers.scripted]
name = "scripted"
base_url = "BASE/v1"
wire_api = "responses"
env_key = "SCRIPTED_KEY"
[features]
enable_request_compression = false
"""
_OPENCODE = """\
{"provider": {"scripted": {"npm": "@ai-sdk/openai-compatible", "name": "scripted",
  "options": {"baseURL": "BASE/v1", "apiKey": "made-up"},
  "models": {"scripted-model": {"name": "scripted-model"}}}},
 "model": "scripted/scripted-model", "small_model": "scripted/scripted-model", "autoupdate": false, "share": "disabled"}
"""
CONFIGS = {
    "codex": (".codex/config.toml", _CODEX),
    "opencode": (".config/opencode/opencode.json", _OPENCODE),
}
