"""Each real agent as its users run it: a command line in a workspace, an empty home, and what docs/proxy.md says.

Nothing else is set but what keeps an agent from talking to anybody but the proxy: a test reaches no network.
"""

from __future__ import annotations

import os
import subprocess
from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path

from tests.agents.documented import block
from tests.agents.programs import PROGRAMS

SECONDS = 300.0
# A proxy on a port that nobody listens on, for all but this machine; updates, catalogues and plugins are not asked for.
_NOWHERE = "http://127.0.0.1:9"
QUIET = {
    "HTTP_PROXY": _NOWHERE,
    "HTTPS_PROXY": _NOWHERE,
    "NO_PROXY": "127.0.0.1",
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "OPENCODE_DISABLE_AUTOUPDATE": "1",
    "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
    "OPENCODE_DISABLE_MODELS_FETCH": "1",
    "npm_config_fetch_retries": "0",
    "npm_config_offline": "true",
}


@dataclass(frozen=True)
class Ended:
    """What came of a run."""

    code: int
    said: str
    complained: str


@dataclass(frozen=True)
class Client(ABC):
    """An agent that asks its models at this address with this token."""

    workspace: Path
    home: Path
    url: str
    token: str

    @abstractmethod
    def begin(self, prompt: str, model: str, *words: str) -> Ended:
        """Runs the agent on a new conversation."""

    @abstractmethod
    def go_on(self, prompt: str, model: str, *words: str) -> Ended:
        """Runs it on the conversation that it had last."""

    def write(self, place: str, text: str) -> None:
        """Writes a file into the home."""
        path = self.home / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")

    def run(self, program: str, *words: str, setting: str = "", **variables: str) -> Ended:
        """Runs a program behind these lines of a shell. Fails where it does not end in time."""
        path = f"{PROGRAMS}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
        environment = {"PATH": path, "HOME": str(self.home), "LANG": "C.UTF-8", **QUIET, **variables}
        ended = subprocess.run(
            ["/bin/sh", "-c", f'{setting}\nexec "$@"', "sh", str(PROGRAMS / program), *words],
            check=False,
            cwd=self.workspace,
            env={**environment, "STANCH_TOKEN": self.token},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=SECONDS,
        )
        return Ended(ended.returncode, ended.stdout, ended.stderr)


@dataclass(frozen=True)
class ClaudeCode(Client):
    """Claude Code, which speaks Anthropic's messages."""

    def begin(self, prompt: str, model: str, *words: str) -> Ended:
        """Runs `claude -p`."""
        # WHY: as root it lets nobody leave out its questions, unless it is told that it is locked in.
        free = ("--dangerously-skip-permissions", "--model", model)
        setting = block("Claude Code", "sh", self.url)
        return self.run("claude", "-p", prompt, *free, *words, setting=setting, IS_SANDBOX="1")

    def go_on(self, prompt: str, model: str, *words: str) -> Ended:
        """Runs `claude -p --continue`."""
        return self.begin(prompt, model, "--continue", *words)


@dataclass(frozen=True)
class Codex(Client):
    """Codex, which speaks OpenAI's responses."""

    # Its provider is OpenAI's own, of which only the address is another.
    plain: bool = False

    def begin(self, prompt: str, model: str, *words: str) -> Ended:
        """Runs `codex exec`."""
        return self._exec(model, *words, prompt)

    def go_on(self, prompt: str, model: str, *words: str) -> Ended:
        """Runs `codex exec resume`."""
        return self._exec(model, *words, "resume", "--last", prompt)

    def _exec(self, model: str, *words: str) -> Ended:
        told = f'openai_base_url = "{self.url}/v1"\n' if self.plain else block("Codex", "toml", self.url)
        quiet = "[analytics]\nenabled = false\n[features]\nplugins = false\n"
        self.write(".codex/config.toml", f"check_for_update_on_startup = false\n{told}\n{quiet}")
        key = {"CODEX_API_KEY": self.token} if self.plain else {}
        return self.run("codex", "exec", "--dangerously-bypass-approvals-and-sandbox", "-m", model, *words, **key)


@dataclass(frozen=True)
class OpenCode(Client):
    """OpenCode, which speaks OpenAI's chat completions."""

    def begin(self, prompt: str, model: str, *words: str) -> Ended:
        """Runs `opencode run`."""
        self.write(".config/opencode/opencode.json", block("OpenCode", "json", self.url))
        return self.run("opencode", "run", "-m", f"stanch/{model}", *words, "--", prompt)

    def go_on(self, prompt: str, model: str, *words: str) -> Ended:
        """Runs `opencode run --continue`."""
        return self.begin(prompt, model, "--continue", *words)
