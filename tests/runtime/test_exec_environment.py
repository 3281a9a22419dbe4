"""Do programs that an agent starts get what they need of the server's environment, and nothing that is secret?"""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stanch.policy.shell.variables import changes_what_runs
from stanch.runtime import environment
from stanch.runtime.environment import PATH, environment_for, is_never_passed

SECRETS = (
    "STANCH_TOKEN",
    "STANCH_DATA",
    "STANCH_KEY",
    "OPENAI_API_KEY",
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_AUTH_TOKEN",
    "GITHUB_TOKEN",
    "GH_TOKEN",
    "NPM_TOKEN",
    "AWS_ACCESS_KEY_ID",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
    "GOOGLE_APPLICATION_CREDENTIALS",
    "AZURE_CLIENT_SECRET",
    "DATABASE_URL",
    "PGPASSWORD",
    "SLACK_WEBHOOK_URL",
    "SOMETHING_SECRET",
    "PIP_INDEX_URL",
    "UV_INDEX_URL",
    "GOPROXY",
    "SSH_AUTH_SOCK",
    "DBUS_SESSION_BUS_ADDRESS",
    "XDG_RUNTIME_DIR",
    "LC_TOKEN_1",
)
CHANGES_BASH = (
    "BASH_ENV",
    "ENV",
    "BASH_FUNC_git%%",
    "BASH_FUNC_ls()",
    "BASHOPTS",
    "SHELLOPTS",
    "CDPATH",
    "GLOBIGNORE",
    "EXECIGNORE",
    "IFS",
    "PS4",
    "POSIXLY_CORRECT",
    "BASH_COMPAT",
    "BASH_XTRACEFD",
    "BASH_LOADABLES_PATH",
    "PROMPT_COMMAND",
    "SSH_CLIENT",
    "SSH2_CLIENT",
    "LD_PRELOAD",
    "LD_AUDIT",
    "OLDPWD",
    "PWD",
)
# Of what is passed on, what a command may not set without being asked about. These are the person's own, and name
# places of theirs without which their tools do not start.
MEANT = frozenset({"PATH", "HOME", "SHELL", "CARGO_HOME", "GOROOT"})


def test_what_tools_need_is_passed_on() -> None:
    here = {"HOME": "/home/ada", "LANG": "de_DE.UTF-8", "LC_ALL": "C", "TZ": "UTC", "VIRTUAL_ENV": "/venv"}
    given = environment_for(here | {"PATH": "/venv/bin:/bin", "TERM": "xterm", "SHELL": "/bin/zsh"})
    assert given == here | {"PATH": "/venv/bin:/bin", "TERM": "dumb", "SHELL": "/bin/bash"}


@pytest.mark.parametrize("name", SECRETS + CHANGES_BASH)
def test_a_secret_and_what_changes_bash_is_not_passed_on(name: str) -> None:
    assert name not in environment_for({name: "value", "HOME": "/h"})


@pytest.mark.parametrize("name", [*CHANGES_BASH, "STANCH_TOKEN", "STANCH_DATA", "", "A=B", "A B", "A\n"])
def test_some_names_nobody_can_add(name: str) -> None:
    assert is_never_passed(name)
    with pytest.raises(ValueError, match=re.escape(repr(name))):
        environment_for({name: "value"}, [name])


def test_a_user_can_add_names() -> None:
    here = {"GITHUB_TOKEN": "t", "OTHER_TOKEN": "o", "TERM": "xterm", "http_proxy": "http://u:p@proxy"}
    given = environment_for(here, ["GITHUB_TOKEN", "NOT_THERE", "TERM", "http_proxy"])
    assert given == {k: v for k, v in here.items() if k != "OTHER_TOKEN"} | {"PATH": PATH, "SHELL": "/bin/bash"}


@pytest.mark.parametrize(
    ("address", "passed"),
    [
        ("http://proxy:3128", True),
        ("proxy:3128", True),
        ("socks5h://[::1]:1080", True),
        ("http://ada:pass@proxy:3128", False),
        ("ada:pass@proxy:3128", False),
        ("http://ada@proxy", False),
        ("http://[broken", False),
    ],
)
@pytest.mark.parametrize("name", ["http_proxy", "HTTPS_PROXY", "all_proxy"])
def test_a_proxy_is_passed_on_without_credentials(name: str, address: str, passed: bool) -> None:
    assert (name in environment_for({name: address})) is passed


@pytest.mark.parametrize(
    ("held", "passed"),
    [
        ("/usr/bin:/bin", "/usr/bin:/bin"),
        (".:/bin", "/bin"),
        ("/bin:", "/bin"),
        ("/bin::/usr/bin", "/bin:/usr/bin"),
        ("node_modules/.bin:/bin", "/bin"),
        ("~/bin:/bin", "/bin"),
        ("", PATH),
        (".", PATH),
    ],
)
def test_programs_are_not_looked_for_where_the_agent_works(held: str, passed: str) -> None:
    assert environment_for({"PATH": held})["PATH"] == passed


@pytest.mark.parametrize(
    ("held", "passed"),
    [
        ("C", True),
        ("POSIX", True),
        ("C.UTF-8", True),
        ("de_DE.utf8", True),
        ("sr_RS.UTF-8@latin", True),
        ("", True),
        ("ja_JP.SJIS", False),
        ("zh_TW.Big5", False),
        ("zh_CN.GB18030", False),
        ("de_DE", False),
        ("japanese", False),
    ],
)
@pytest.mark.parametrize("name", ["LANG", "LC_ALL", "LC_CTYPE"])
def test_a_locale_in_which_bash_reads_other_words_is_not_passed_on(name: str, held: str, passed: bool) -> None:
    assert (name in environment_for({name: held})) is passed
    assert (name in environment_for({name: held}, [name])) is passed


def test_little_of_what_is_passed_on_changes_what_runs() -> None:
    names = (
        environment._PERSON | environment._LOCALES | environment._TOOL_CHAINS | environment._ALWAYS.keys() | {"PATH"}
    )
    assert {name for name in names if changes_what_runs(name)} == MEANT
    assert not {name for name in names if is_never_passed(name)}


@given(st.dictionaries(st.text(min_size=1), st.text()))
def test_nothing_else_is_ever_passed_on(here: dict[str, str]) -> None:
    known = (
        environment._PERSON | environment._LOCALES | environment._TOOL_CHAINS | environment._ALWAYS.keys() | {"PATH"}
    )
    for name, held in environment_for(here).items():
        assert name in known or name.upper() in environment._PROXIES
        assert name in {"PATH", "TERM", "SHELL"} or held == here[name]
