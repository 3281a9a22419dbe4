"""The rules and calls that every engine is measured on: made from fixed seeds, so the same on every machine.

Five groups share the rules evenly; a session of a named group walks its own rules and then those of `default`, each by
(priority, id), and the first match wins. Tool patterns are exact names or globs with `*`. Path patterns are in
Stanch's dialect: `*` and `?` stay inside one component, `**` spans any number of them, and a pattern that matches a
directory covers all below it. INVARIANT: every file has a dot in its name and no directory has one, so that `/d/*.py`
and `/**/main.py` reach files only, and each rival can be handed an exact form of every rule (`bench.rivals.forms`).

The mixes: `early` (the first match lies in the first eighth of the walk), `late` (in its last fifth, or nowhere),
`random` (nearly every call is new) and `session` (300 sessions that each stay in a few directories).
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable
from typing import NamedTuple

GROUPS = ("default", "ops", "dev", "research", "guest")
AGENTS = tuple(f"agent{number}" for number in range(12))
SOURCES = ("web", "cli", "mobile", "telegram", "cron", "mcp", "api")
# The first seed with which even ten rules hold, in `default`, a rule for every tool on `/**/secrets`, as policies do.
SEED = 24
MIXES = ("random", "session", "early", "late")

FOLDER_TOOLS = ("list_folder", "make_folder", "search_files", "grep_tree")
FILE_TOOLS = (
    *FOLDER_TOOLS,
    *("load_file", "save_file", "patch_file", "remove_file", "move_file", "copy_file"),
    *("load_image", "load_notebook", "patch_notebook", "stat_file"),
)
PLAIN_TOOLS = (
    *("run_job", "web_fetch", "web_search", "send_message", "spawn_helper", "make_note"),
    *("todo_write", "stop_job", "plan_job", "memory_save", "memory_load", "sql_query"),
)
SERVERS = (
    *("github", "slack", "jira", "gmail", "drive", "notion", "linear", "postgres", "redis", "stripe"),
    *("zendesk", "sentry", "figma", "asana", "trello", "dropbox", "box", "hubspot", "salesforce", "twilio"),
    *("mongo", "mysql", "kafka", "k8s", "docker", "aws", "gcp", "azure", "vault", "grafana"),
)
VERBS = ("get", "list", "create", "update", "delete", "search")
NOUNS = ("issue", "item", "user", "record", "file", "comment")
MCP_TOOLS = tuple(f"mcp__{server}__{verb}_{noun}" for server in SERVERS for verb in VERBS for noun in NOUNS)
MCP_FILE_TOOLS = tuple(f"mcp__filesystem__{name}" for name in ("load_file", "save_file", "list_directory", "move_file"))
PATH_TOOLS = FILE_TOOLS + MCP_FILE_TOOLS
ALL_TOOLS = PATH_TOOLS + PLAIN_TOOLS + MCP_TOOLS
CATCH_ALLS = ("mcp__*", "load_*", "list_*", "web_*", "memory_*")

ROOTS = ("/srv/work", "/home/ana", "/home/bo", "/home/cy", "/var/data", "/opt/app", "/etc/svc")
FOLDERS = ("src", "lib", "docs", "data", "tests", "secrets", "build", "conf", "core", "api", "web", "notes", "tmp")
GUARDED = ("secrets", "conf", "build", "tmp")
STEMS = ("main", "util", "index", "report")
ENDINGS = ("py", "md", "json", "ts", "txt", "csv", "yaml", "pem", "env", "log")


class BenchRule(NamedTuple):
    """One rule; `agent`, `source` and `path` are None where the rule does not ask about them."""

    id: int
    group: str
    priority: int
    agent: str | None
    source: str | None
    tool: str
    path: str | None
    action: str


class BenchCall(NamedTuple):
    """One call: who, from where, which tool, and its canonical path, if it has one."""

    group: str
    agent: str
    source: str
    tool: str
    path: str | None


def walk_order(rules: list[BenchRule], group: str) -> list[BenchRule]:
    """The rules that a session of `group` meets, in order."""

    def own(name: str) -> list[BenchRule]:
        return sorted((rule for rule in rules if rule.group == name), key=lambda rule: (rule.priority, rule.id))

    return own(group) + (own("default") if group != "default" else [])


class Tree:
    """The made-up file tree: 3,000 directories down to depth 8 with some 20,000 files."""

    def __init__(self) -> None:
        rng = random.Random("tree")
        known = dict.fromkeys(ROOTS)
        names = list(ROOTS)
        while len(names) < 3000:
            parent = rng.choice(names)
            if parent.count("/") < 8:
                child = f"{parent}/{rng.choice(FOLDERS)}{rng.choice(('', '', str(rng.randrange(40))))}"
                if child not in known:
                    known[child] = None
                    names.append(child)
        self.below_roots = names[len(ROOTS) :]
        self.within: dict[str, list[str]] = {}
        self.named: dict[str, list[str]] = defaultdict(list)
        self.under: dict[str, list[str]] = defaultdict(list)
        for name in names:
            made = {f"{rng.choice((*STEMS, f'a{rng.randrange(99)}', ''))}.{rng.choice(ENDINGS)}" for _ in range(8)}
            self.within[name] = [f"{name}/{file}" for file in sorted(made)]
            for path in self.within[name]:
                self.named[path.rpartition("/")[2]].append(path)
                for part in set(name.split("/")) & set(GUARDED):
                    self.under[part].append(path)
        self.folders = names
        self.files = [path for name in names for path in self.within[name]]

    def path_for(self, rng: random.Random, tool: str) -> str | None:
        """A path that a call of this tool may name, None for a tool that takes none."""
        if tool not in PATH_TOOLS:
            return None
        return rng.choice(self.folders if tool in FOLDER_TOOLS else self.files)

    def path_under(self, rng: random.Random, pattern: str) -> str:
        """A path that the pattern matches."""
        head, _, last = pattern.rpartition("/")
        if head == "/**":
            return rng.choice(self.under.get(last) or self.named.get(last) or [f"/srv/work/{last}"])
        if "*" in last:
            start, _, end = last.partition("*")
            fitting = [path for path in self.within[head] if path[len(head) + 1 :].startswith(start)]
            return rng.choice([path for path in fitting if path.endswith(end)] or [f"{head}/{start}x{end or '.py'}"])
        return rng.choice([*self.within[pattern], pattern]) if pattern in self.within else pattern


TREE = Tree()


def make_rules(count: int) -> list[BenchRule]:
    """That many rules, a fifth of them in each group."""
    rng = random.Random(f"rules {count} {SEED}")

    def path_pattern() -> str:
        folder = rng.choice(TREE.below_roots)
        kind = rng.random()
        if kind < 0.62:
            return folder
        if kind < 0.72:
            return f"{folder}/*.{rng.choice(ENDINGS)}"
        if kind < 0.82:
            return rng.choice(TREE.files)
        if kind < 0.90:
            return f"/**/{rng.choice(GUARDED)}"
        if kind < 0.95:
            return f"{folder}/{rng.choice('aimru')}*"
        return f"/**/{rng.choice((*STEMS, ''))}.{rng.choice(ENDINGS)}"

    def tool_and_path() -> tuple[str, str | None]:
        kind = rng.random()
        if kind < 0.32:
            return rng.choice(FILE_TOOLS), path_pattern()
        if kind < 0.42:
            return rng.choice(("load_*", "save_*", "patch_*", "*_file", "*_notebook")), path_pattern()
        if kind < 0.70:
            return rng.choice(MCP_TOOLS), None
        if kind < 0.78:
            return f"mcp__{rng.choice(SERVERS)}__{rng.choice(VERBS)}_*", None
        if kind < 0.83:
            return rng.choice((*MCP_FILE_TOOLS, "mcp__filesystem__*")), path_pattern()
        if kind < 0.88:
            return rng.choice(PLAIN_TOOLS), None
        if kind < 0.96:
            return "*", path_pattern()
        return f"mcp__*__{rng.choice(VERBS)}_{rng.choice(NOUNS)}", None

    drafts: list[tuple[str, int, str | None, str | None, str, str | None, str]] = []
    each = count // len(GROUPS)
    for group in GROUPS:
        broad = min(len(CATCH_ALLS), max(1, each // 4))
        for number in range(each):
            action = rng.choices(("allow", "deny", "ask"), (50, 25, 25))[0]
            if number < broad:  # people write these last
                drafts.append((group, 2000 + number, None, None, CATCH_ALLS[number], None, action))
                continue
            tool, path = tool_and_path()
            # a rule that asks for no path is mostly narrowed, else it would hide most of what comes after it
            agent = rng.choice(AGENTS) if rng.random() < (0.6 if path is None else 0.2) else None
            source = rng.choice(SOURCES) if rng.random() < (0.4 if path is None else 0.12) else None
            drafts.append((group, rng.randrange(1, 1000), agent, source, tool, path, action))
    rng.shuffle(drafts)
    return [BenchRule(number, *draft) for number, draft in enumerate(drafts, start=1)]


def make_calls(
    rules: list[BenchRule],
    mix: str,
    count: int,
    first_match: Callable[[BenchCall], int],
    tool_fits: Callable[[str, str], bool],
) -> list[BenchCall]:
    """Calls of one mix. `first_match` gives the place of a call's first matching rule in its walk."""
    rng = random.Random(f"{mix} {len(rules)}")
    walks = {group: walk_order(rules, group) for group in GROUPS}

    def any_call(group: str) -> BenchCall:
        kind = rng.choices((PATH_TOOLS, PLAIN_TOOLS, MCP_TOOLS), (55, 15, 30))[0]
        tool = rng.choice(kind)
        return BenchCall(group, rng.choice(AGENTS), rng.choice(SOURCES), tool, TREE.path_for(rng, tool))

    def call_for(rule: BenchRule, group: str) -> BenchCall:
        tool = rule.tool
        if "*" in tool:
            tool = rng.choice([name for name in (PATH_TOOLS if rule.path else ALL_TOOLS) if tool_fits(rule.tool, name)])
        path = TREE.path_under(rng, rule.path) if rule.path else TREE.path_for(rng, tool)
        return BenchCall(group, rule.agent or rng.choice(AGENTS), rule.source or rng.choice(SOURCES), tool, path)

    calls: list[BenchCall] = []
    if mix == "session":
        sessions = []
        for _ in range(300):
            tools = rng.sample(PATH_TOOLS, 7) + rng.sample(PLAIN_TOOLS, 4) + rng.sample(MCP_TOOLS, 9)
            folders = rng.sample(TREE.folders, 5)
            files = [path for folder in folders for path in TREE.within[folder]]
            sessions.append((rng.choice(GROUPS), rng.choice(AGENTS), rng.choice(SOURCES), tools, folders, files))
        while len(calls) < count:
            group, agent, source, tools, folders, files = rng.choice(sessions)
            tool = tools[min(int(rng.paretovariate(0.6)) - 1, len(tools) - 1)]
            near = folders if tool in FOLDER_TOOLS else files
            calls.append(BenchCall(group, agent, source, tool, rng.choice(near) if tool in PATH_TOOLS else None))
        return calls
    while len(calls) < count:
        group = rng.choice(GROUPS)
        walk = walks[group]
        if mix == "early":
            call = call_for(walk[rng.randrange(max(1, len(walk) // 10))], group)
            wanted = first_match(call) <= max(1, len(walk) // 8)
        elif mix == "late":
            edge = len(walk) * 8 // 10
            call = call_for(walk[rng.randrange(edge, len(walk))], group) if rng.random() < 0.6 else any_call(group)
            wanted = first_match(call) >= edge
        else:
            call, wanted = any_call(group), True
        if wanted:
            calls.append(call)
    return calls
