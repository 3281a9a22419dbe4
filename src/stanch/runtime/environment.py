"""The environment of programs that an agent starts: a list of what is passed on, and nothing else.

Settles which variables of this process they see. Does not settle the directory, nor the home directory, which a command
is started with as it was judged (`runtime.builtin.executing`).
WHY a list of what is passed on: a secret may have any name, and the next one is not thought of yet.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from urllib.parse import urlsplit

PATH = "/usr/local/bin:/usr/bin:/bin"
_ALWAYS = {"TERM": "dumb", "SHELL": "/bin/bash"}

_PERSON = frozenset({"HOME", "USER", "LOGNAME", "LANGUAGE", "TZ", "TMPDIR", "NO_COLOR", "CI"})
_LOCALES = frozenset(
    {
        *("LANG", "LC_ALL", "LC_CTYPE", "LC_COLLATE", "LC_MESSAGES", "LC_NUMERIC", "LC_TIME", "LC_MONETARY"),
        *("LC_PAPER", "LC_NAME", "LC_ADDRESS", "LC_TELEPHONE", "LC_MEASUREMENT", "LC_IDENTIFICATION"),
    }
)
_TOOL_CHAINS = frozenset(
    {
        *("VIRTUAL_ENV", "CONDA_PREFIX", "CONDA_DEFAULT_ENV", "PYENV_ROOT", "PYENV_VERSION", "PIPX_HOME"),
        *("PYTHONDONTWRITEBYTECODE", "PYTHONUNBUFFERED", "PYTHONUTF8", "PYTHONIOENCODING", "PIP_CACHE_DIR"),
        *("UV_CACHE_DIR", "UV_PYTHON_INSTALL_DIR", "POETRY_HOME", "NVM_DIR", "NVM_BIN", "VOLTA_HOME", "PNPM_HOME"),
        *("COREPACK_HOME", "DENO_DIR", "BUN_INSTALL", "CARGO_HOME", "CARGO_TARGET_DIR", "RUSTUP_HOME"),
        *("RUSTUP_TOOLCHAIN", "GOROOT", "GOPATH", "GOCACHE", "GOMODCACHE", "GOBIN", "GOTOOLCHAIN", "JAVA_HOME"),
        *("MAVEN_HOME", "M2_HOME", "GRADLE_HOME", "GRADLE_USER_HOME", "ANDROID_HOME", "ANDROID_SDK_ROOT"),
        *("DOTNET_ROOT", "RBENV_ROOT", "GEM_HOME", "GEM_PATH", "BUNDLE_PATH", "ASDF_DIR", "ASDF_DATA_DIR"),
        *("MISE_DATA_DIR", "SDKMAN_DIR", "HOMEBREW_PREFIX", "NIX_PATH", "NIX_PROFILES", "XDG_CACHE_HOME"),
        *("SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "NODE_EXTRA_CA_CERTS"),
        *("NIX_SSL_CERT_FILE", "SOURCE_DATE_EPOCH"),
    }
)
_PROXIES = frozenset({"HTTP_PROXY", "HTTPS_PROXY", "FTP_PROXY", "ALL_PROXY", "NO_PROXY"})

# WHY: a command is read as a bash understands it that was started without any of these (docs/threat-model.md). Each of
# them lets bash run other code, in another place, or read the same words in another way.
_CHANGES_BASH = re.compile(
    r"BASH_.*|BASHOPTS|SHELLOPTS|ENV|CDPATH|GLOBIGNORE|GLOBSORT|EXECIGNORE|IFS|PS[0-4]|PROMPT_COMMAND|POSIXLY_CORRECT"
    r"|FUNCNEST|TMOUT|TIMEFORMAT|OPTIND|OPTERR|HISTFILE|INPUTRC|OLDPWD|PWD|SHLVL|_"
    r"|SSH2?_CLIENT"  # bash takes itself for the first shell of a remote login, and runs ~/.bashrc
    r"|LD_PRELOAD|LD_AUDIT"  # whatever runs is something else
)
_OWN = re.compile(r"STANCH_.*")
# WHY no other: in some encodings a backslash, a bar or a backquote is the second half of a letter, and bash would find
# other commands in the same bytes than were judged.
_READ_AS_JUDGED = re.compile(r"(?:C|POSIX|[\w-]+\.utf-?8(?:@\w+)?)|", re.IGNORECASE)
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def is_never_passed(name: str) -> bool:
    """True for a variable that no program is started with, whoever asks for it.

    That is one that changes what bash makes of a command, one of Stanch's own, or no variable's name at all.
    """
    return any(test.fullmatch(name) for test in (_CHANGES_BASH, _OWN)) or _NAME.fullmatch(name) is None


def environment_for(here: Mapping[str, str], more: Iterable[str] = ()) -> dict[str, str]:
    """The variables that programs are started with, out of those of this process.

    `more` are names of further ones, as a user wrote them. Raises `ValueError` with the name of one that is never
    passed on. A proxy's address is passed on only without a user name and a password, unless it is named in `more`; a
    locale only where its encoding is UTF-8, whoever asks for it.
    """
    named = frozenset(more)
    for name in sorted(named):
        if is_never_passed(name):
            raise ValueError(f"the variable {name!r} is never passed on to programs")
    passed = {name: held for name, held in here.items() if _is_passed(name, held, asked=name in named)}
    return passed | {"PATH": _path(here.get("PATH", ""))} | {k: v for k, v in _ALWAYS.items() if k not in named}


def _is_passed(name: str, held: str, *, asked: bool) -> bool:
    if name in _LOCALES:
        return _READ_AS_JUDGED.fullmatch(held) is not None
    if asked or name in _PERSON or name in _TOOL_CHAINS:
        return True
    return name.upper() in _PROXIES and (name.upper() == "NO_PROXY" or not _has_credentials(held))


def _has_credentials(address: str) -> bool:
    try:
        return "@" in urlsplit(address if "//" in address else f"//{address}").netloc
    except ValueError:
        return True


def _path(held: str) -> str:
    """The directories of a search path that mean the same from everywhere.

    WHY: with `.` among them, a file that an agent wrote runs under the name of a program that is allowed.
    """
    return ":".join(part for part in held.split(":") if part.startswith("/")) or PATH
