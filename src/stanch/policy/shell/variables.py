"""Variables whose value changes which program runs, or makes one run code.

Settles which names those are and which values of theirs are harmless. Does not settle what follows
(`policy.shell.commands`).
"""

from __future__ import annotations

import re

from stanch.policy.shell.pieces import Value
from stanch.policy.shell.values import text_of

_NAMES = frozenset(
    {
        *("PATH", "IFS", "CDPATH", "HOME", "BASH_ENV", "ENV", "SHELLOPTS", "BASHOPTS", "PROMPT_COMMAND"),
        *("PS0", "PS1", "PS2", "PS3", "PS4", "PAGER", "MANPAGER", "EDITOR", "VISUAL", "BROWSER", "LESS"),
        *("LESSOPEN", "LESSCLOSE", "LESSKEY", "PYTHONSTARTUP", "PYTHONHOME", "PYTHONBREAKPOINT"),
        *("PYTHONWARNINGS", "PERL5OPT", "PERL5DB", "PERL5LIB", "RUBYOPT", "RUBYLIB", "NODE_OPTIONS"),
        *("JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "JDK_JAVA_OPTIONS", "CLASSPATH", "SHELL", "SSH_ASKPASS"),
        *("SUDO_ASKPASS", "SUDO_EDITOR", "RSYNC_RSH", "CVS_RSH", "TAR_OPTIONS", "GREP_OPTIONS"),
        *("RIPGREP_CONFIG_PATH", "MAKEFLAGS", "MAKEFILES", "GNUMAKEFLAGS", "PYTEST_ADDOPTS"),
        *("PYTEST_PLUGINS", "OPENSSL_CONF", "CURL_HOME", "WGETRC", "HGRCPATH", "XDG_CONFIG_HOME"),
        *("XDG_DATA_HOME", "RUSTC_WRAPPER", "RUSTC_WORKSPACE_WRAPPER", "RUSTC", "CARGO_HOME", "CC", "CXX"),
        *("CPP", "LD", "AR", "AS", "GOROOT", "GOFLAGS", "DOCKER_HOST", "DOCKER_CONFIG", "MANPATH"),
        *("INPUTRC", "TERMINFO", "VIMINIT", "EXINIT", "MYVIMRC", "NVIM_APPNAME", "ZDOTDIR", "FPATH"),
        *("FCEDIT", "HISTFILE", "EXECIGNORE", "GLOBIGNORE", "BASH_CMDS", "BASH_ALIASES"),
        *("BASH_LOADABLES_PATH", "npm_config_script_shell", "npm_config_node_options"),
        *("npm_config_userconfig", "npm_config_globalconfig", "GCONV_PATH", "LOCPATH", "HOSTALIASES"),
        *("PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "UV_INDEX_URL", "PIP_CONFIG_FILE"),
        *("NPM_CONFIG_USERCONFIG", "CONFIG_SHELL", "MAKE_COMMAND"),
    }
)
_PREFIXES = ("LD_", "DYLD_", "GIT_", "BASH_FUNC_", "PYTHONPYCACHE", "CARGO_TARGET_", "CORECLR_", "DOTNET_STARTUP_")
_FOLDERS = frozenset({"CARGO_TARGET_DIR", "PYTHONPYCACHEPREFIX"})
_GIT_HARMLESS = re.compile(
    r"GIT_(?:TERMINAL_PROMPT|AUTHOR_.*|COMMITTER_.*|TRACE.*|OPTIONAL_LOCKS|MERGE_AUTOEDIT|ADVICE|PROGRESS_DELAY|"
    r"LITERAL_PATHSPECS|ICASE_PATHSPECS|GLOB_PATHSPECS|NOGLOB_PATHSPECS|LFS_SKIP_SMUDGE|PAGER_IN_USE|REFLOG_ACTION|"
    r"CONFIG_NOSYSTEM)"
)
_SHOWING = re.compile(r"(?:/usr)?(?:/bin/)?(?:cat|less|more|true|false|:)(?: -[A-Za-z]+)*|")
_TOOL = re.compile(r"[A-Za-z][\w.+-]*")
_NODE = re.compile(
    r"(?:--(?:max[-_]old[-_]space[-_]size|max-semi-space-size|max-http-header-size|stack-trace-limit|unhandled-rejections"
    r"|dns-result-order|test-reporter|test-timeout)=[\w-]+|--experimental-vm-modules|--no-warnings|--trace-warnings"
    r"|--enable-source-maps|--no-deprecation|--trace-deprecation|--throw-deprecation|--openssl-legacy-provider"
    r"|--experimental-[a-z-]+|--test|--expose-gc|\s)*"
)
_FLAGS = re.compile(
    r"(?:-j\s*\d*|-k|-s|--no-print-directory|-mod=[a-z]+|-v|-race|-count=\d+|-buildvcs=(?:true|false)|\s)*"
)
_HARMLESS = {
    "PAGER": _SHOWING,
    "MANPAGER": _SHOWING,
    "GIT_PAGER": _SHOWING,
    "EDITOR": _SHOWING,
    "VISUAL": _SHOWING,
    "GIT_EDITOR": _SHOWING,
    "GIT_SEQUENCE_EDITOR": _SHOWING,
    "GIT_ASKPASS": re.compile(r"(?:/bin/)?(?:true|echo|false)|"),
    "SSH_ASKPASS": re.compile(r"(?:/bin/)?(?:true|echo|false)|"),
    "BROWSER": re.compile(r"none|true|echo|"),
    "LESS": re.compile(r"-?[A-Za-z]*"),
    "NODE_OPTIONS": _NODE,
    "MAKEFLAGS": _FLAGS,
    "GOFLAGS": _FLAGS,
    "PYTHONWARNINGS": re.compile(r"[\w:,. ]*"),
    "PYTEST_ADDOPTS": re.compile(r"(?:-[qvxsl]+|--color=\w+|--maxfail=\d+|--tb=\w+|-n ?\w+|\s)*"),
    "PYTHONBREAKPOINT": re.compile(r"0|"),
    "SHELL": re.compile(r"(?:/usr)?/bin/(?:ba|z|da|)sh"),
    "MAKE_COMMAND": _TOOL,
    "PS1": re.compile(r"[^$`\\]*"),
    "PS4": re.compile(r"[^$`\\]*"),
    **dict.fromkeys(("CC", "CXX", "CPP", "LD", "AR", "AS", "RUSTC", "RUSTC_WRAPPER"), _TOOL),
    "HISTFILE": re.compile(r"/dev/null|"),
}


_IN_MAKE = frozenset(
    {".SHELLFLAGS", "RM", "CP", "MV", "INSTALL", "PYTHON", "PERL", "MAKE", "FC", "LEX", "YACC", "NODE", "GO"}
)


def in_make(name: str, value: str | None) -> bool:
    """True where this value of a variable of make, None for one that is not known, may run other code."""
    if value is not None and ("$" in value or "`" in value):
        return True
    if not changes_what_runs(name) and name not in _IN_MAKE:
        return False
    return value is None or _HARMLESS.get(name, _TOOL).fullmatch(value) is None


def changes_what_runs(name: str) -> bool:
    """True where a value of the variable may make other code run than a command's words say."""
    if name in _NAMES:
        return True
    return name not in _FOLDERS and name.startswith(_PREFIXES) and _GIT_HARMLESS.fullmatch(name) is None


def is_harmless(name: str, value: Value) -> bool:
    """True where this value of such a variable changes nothing: it is known, and names no code."""
    allowed = _HARMLESS.get(name)
    text = text_of(value)
    return allowed is not None and text is not None and allowed.fullmatch(text) is not None
