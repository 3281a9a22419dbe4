"""The tools that are known without being declared: Stanch's own, those of common coding agents, well-known MCP servers.

Settles their effects, as a table. A policy file's declaration of the same name replaces a row whole, but for Stanch's
own.

A row: name, category, effects. An effect: class, then `:` and the argument that names its target. `a|b` is either
argument, `[]` each item of a list, `?` may be left out (the working directory then), `/` all that lies below too, with
the argument behind it naming the files, and `(form)` how it names the target where that is no plain path. `-` is no
effect at all, and `-a|b` names arguments that name no target. A name that ends in `__*` stands for every tool of an
MCP server that has no row of its own.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache

from stanch.policy.declared import DeclaredEffect, Form, Tool
from stanch.values.call import Category, EffectClass

_BUILTIN = """
read_file        filesystem     read:path|file_path|absolute_path
list_files       filesystem     read:path? -pattern
grep_files       filesystem     read:path? -pattern|glob
write_file       filesystem     write:path|file_path
edit_file        filesystem     read:path|file_path write:path|file_path
execute_cmd      shell          execute:command(command)
run_code         shell          execute read:mounts[]?(item) -code|language|timeout
ask_user         introspection  -
call_agent       subagent       -
"""

# What Stanch's own operations on stored content do. An item's path is below the workspace for rules and tiers.
_STORES = """
files_list         filesystem  read:path?(item) -cursor
files_read         filesystem  read:path(item)
files_grep         filesystem  read:path?(item) -pattern|glob
files_search       filesystem  read:path?(item) -query
files_versions     filesystem  read:path(item)
files_get          filesystem  read:path(item)
files_archive      filesystem  read:path?(item)
files_write        filesystem  write:path(item)
files_edit         filesystem  read:path(item) write:path(item)
files_move         filesystem  read:path(item) write:path(item) write:to(item)
files_delete       filesystem  write:path(item)
files_share        filesystem  read:path(item) network
files_links        filesystem  read:path(item)
files_compile      filesystem  read:path(item) -values
files_show         filesystem  read:path(item)
files_unshare      filesystem  write:path(item)
knowledge_list     filesystem  read
knowledge_search   filesystem  read
knowledge_read     filesystem  read
knowledge_chunks   filesystem  read
knowledge_tags     filesystem  read
knowledge_export   filesystem  read
knowledge_add      filesystem  write
knowledge_import   filesystem  read:path(item) write
knowledge_change   filesystem  write
knowledge_delete   filesystem  write
tables_list        filesystem  read
tables_read        filesystem  read
tables_rows        filesystem  read
tables_row         filesystem  read
tables_query       filesystem  read
tables_search      filesystem  read
tables_selection   filesystem  read
tables_create      filesystem  write
tables_insert      filesystem  write
tables_update      filesystem  write
tables_delete      filesystem  write
tables_import      filesystem  read:path?(item) write
runs_list          filesystem  read
runs_read          filesystem  read
runs_files         filesystem  read
runs_get           filesystem  read
runs_record        filesystem  write
runs_execute       filesystem  write
runs_resume        filesystem  write
tools_execute      introspection -
"""

_AGENTS = """
Read             filesystem     read:file_path|path
NotebookRead     filesystem     read:notebook_path|file_path|path
Write            filesystem     write:file_path|path
Edit             filesystem     read:file_path|path write:file_path|path
MultiEdit        filesystem     read:file_path|path write:file_path|path
NotebookEdit     filesystem     read:notebook_path|file_path|path write:notebook_path|file_path|path
Glob             filesystem     read:path? read:pattern(glob,path)
Grep             filesystem     read:path?/glob -pattern|output_mode|type|multiline|head_limit|offset|-A|-B|-C|-n|-i|-o
LS               filesystem     read:path? -ignore
Bash             shell          execute:command(command,workdir|working_directory|directory|dir_path)
BashOutput       shell          -
KillBash         shell          -
KillShell        shell          -
Monitor          shell          execute:command(command)
Task             subagent       -
Agent            subagent       -
WebFetch         network        network:url(url)
WebSearch        network        network
TodoWrite        introspection  -
TodoRead         introspection  -
TaskCreate       introspection  -
TaskGet          introspection  -
TaskList         introspection  -
TaskUpdate       introspection  -
TaskOutput       introspection  -
TaskStop         introspection  -
AskUserQuestion  introspection  -
EnterPlanMode    introspection  -
ExitPlanMode     introspection  -
Skill            introspection  -
ToolSearch       introspection  -
exec_command     shell          execute:cmd|command(command,workdir|working_directory|directory|dir_path)
shell            shell          execute:command|cmd(command,workdir|working_directory|directory|dir_path)
shell_command    shell          execute:command|cmd(command,workdir|working_directory|directory|dir_path)
local_shell      shell          execute:command(command,workdir|working_directory|directory|dir_path)
write_stdin      shell          execute:chars?(code)
exec             shell          execute:input|code(code)
wait             introspection  -
apply_patch      filesystem     read:input|patch|patchText(envelope) write:input|patch|patchText(envelope)
view_image       filesystem     read:path
update_plan      introspection  -
request_user_input introspection -
web_search       network        network
read             filesystem     read:filePath|path
write            filesystem     write:filePath|path
edit             filesystem     read:filePath|path write:filePath|path
list             filesystem     read:path? -ignore
glob             filesystem     read:path|dir_path? read:pattern(glob,path)
grep             filesystem     read:path?/include -pattern
bash             shell          execute:command(command,workdir|working_directory|directory|dir_path)
webfetch         network        network:url(url)
todowrite        introspection  -
todoread         introspection  -
task             subagent       -
skill            introspection  -
question         introspection  -
SlashCommand     introspection  -
StructuredOutput introspection  -
EnterWorktree    introspection  -
SendMessage      subagent       -
ListMcpResourcesTool introspection -
spawn_agent      subagent       -
wait_agent       subagent       -
list_agents      subagent       -
send_input       subagent       -
close_agent      subagent       -
list_dir         filesystem     read:dir_path
replace          filesystem     read:file_path write:file_path
list_directory   filesystem     read:dir_path|path
read_many_files  filesystem     read:include(glob)
search_file_content filesystem  read:dir_path|path?/include -pattern
grep_search      filesystem     read:dir_path|path?/include -pattern
run_shell_command shell         execute:command(command,workdir|working_directory|directory|dir_path)
web_fetch        network        network
google_web_search network       network
save_memory      introspection  -
write_todos      introspection  -
"""

_SERVERS = """
mcp__filesystem__read_file                  mcp  read:path
mcp__filesystem__read_text_file             mcp  read:path
mcp__filesystem__read_media_file            mcp  read:path
mcp__filesystem__read_multiple_files        mcp  read:paths
mcp__filesystem__get_file_info              mcp  read:path
mcp__filesystem__list_directory             mcp  read:path
mcp__filesystem__list_directory_with_sizes  mcp  read:path
mcp__filesystem__directory_tree             mcp  read:path
mcp__filesystem__search_files               mcp  read:path
mcp__filesystem__list_allowed_directories   mcp  -
mcp__filesystem__write_file                 mcp  write:path
mcp__filesystem__create_directory           mcp  write:path
mcp__filesystem__edit_file                  mcp  read:path write:path
mcp__filesystem__move_file                  mcp  read:source/ write:source/ write:destination
mcp__git__git_status                        mcp  read:repo_path
mcp__git__git_diff_unstaged                 mcp  read:repo_path/
mcp__git__git_diff_staged                   mcp  read:repo_path/
mcp__git__git_diff                          mcp  read:repo_path/
mcp__git__git_log                           mcp  read:repo_path
mcp__git__git_show                          mcp  read:repo_path/ read:revision(revision)
mcp__git__git_branch                        mcp  read:repo_path
mcp__git__git_add                           mcp  read:repo_path read:files(path,repo_path) write:repo_path
mcp__git__git_commit                        mcp  read:repo_path write:repo_path
mcp__git__git_reset                         mcp  read:repo_path write:repo_path
mcp__git__git_create_branch                 mcp  read:repo_path write:repo_path
mcp__git__git_checkout                      mcp  read:repo_path write:repo_path
mcp__git__git_init                          mcp  write:repo_path
mcp__fetch__fetch                           mcp  network:url(url)
mcp__github__*                              mcp  network
mcp__gitlab__*                              mcp  network
mcp__slack__*                               mcp  network
mcp__linear__*                              mcp  network
mcp__notion__*                              mcp  network
mcp__sentry__*                              mcp  network
mcp__time__get_current_time                 mcp  -
mcp__time__convert_time                     mcp  -
mcp__sequential-thinking__sequentialthinking mcp -
"""

_EFFECT = re.compile(
    r"(?P<cls>\w+)(?::(?P<argument>[\w.|\[\]]+)(?P<optional>\?)?(?P<recursive>/(?P<only>[\w|]*))?(?:\((?P<form>\w+)(?:,(?P<within>[\w|]+))?\))?)?"
)


@cache
def known() -> dict[str, Tool]:
    """Every known tool by its name."""
    table: dict[str, Tool] = {}
    for rows, builtin in ((_SERVERS, False), (_AGENTS, False), (_BUILTIN, True), (_STORES, True)):
        for row in rows.strip().splitlines():
            name, category, *effects = row.split()
            declared = tuple(_effect(text) for text in effects if text[0] != "-")
            others = frozenset(name for text in effects if text[0] == "-" for name in text[1:].split("|") if name)
            table[name] = Tool(name, declared, Category(category), builtin, True if builtin else None, others)
    return table


def _effect(text: str) -> DeclaredEffect:
    found = _EFFECT.fullmatch(text)
    if found is None:
        raise ValueError(f"a row of the table of tools cannot be read: {text}")
    form = Form(found["form"] or "path")
    return DeclaredEffect(
        EffectClass(found["cls"]),
        found["argument"] or "",
        form,
        bool(found["optional"]),
        found["within"] or "",
        found["recursive"] is not None,
        found["only"] or "",
    )


def server_of(tool: str) -> str | None:
    """The MCP server of an `mcp__server__tool` name; None for any other name."""
    if not tool.startswith("mcp__"):
        return None
    server, mark, rest = tool[5:].partition("__")
    return server if mark and rest and server else None


def tool_named(name: str, tools: Mapping[str, Tool]) -> Tool | None:
    """The description of a tool: its own, else that of every tool of its MCP server, else none."""
    found = tools.get(name)
    if found is None and name.startswith("mcp__"):
        server = server_of(name)
        return tools.get(f"mcp__{server}__*") if server else None
    return found
