"""The sessions to record: how the agent is called, and what the scripted model answers."""

import re

from tests.sessions.old_sessions import OLD_SESSIONS
from tests.sessions.turns import ROOT, Call, FreeformCall, Script, Session, Text, Thought

CLAUDE_TOOLS = "Agent,Bash,Edit,Glob,Grep,Read,TodoWrite,WebFetch,Write"
CLAUDE_FREE = ["--dangerously-skip-permissions", "--tools", CLAUDE_TOOLS]
CODEX_FREE = ["exec", "--dangerously-bypass-approvals-and-sandbox"]
RUNNING = re.compile(r"session ID (\d+)")


CLAUDE_BASIC: Script = {
    "Give forecast a docstring": [
        (
            Thought("The module and the key it may need come first."),
            Text("I will look at the code and its key."),
            Call("Read", {"file_path": f"{ROOT}/src/a.py"}),
            Call("Read", {"file_path": f"{ROOT}/secrets/api.key"}),
        ),
        (
            Call("Read", {"file_path": f"{ROOT}/docs/../secrets/api.key"}),
            Call("Grep", {"pattern": "TODO", "path": f"{ROOT}/docs", "output_mode": "content", "-n": True}),
            Call("Glob", {"pattern": "**/*.py"}),
        ),
        (
            Call(
                "TodoWrite",
                {
                    "todos": [
                        {"content": "Write docstring", "status": "in_progress", "activeForm": "Writing docstring"},
                        {"content": "Note the result", "status": "pending", "activeForm": "Noting the result"},
                    ]
                },
            ),
        ),
        (
            Call(
                "Edit",
                {
                    "file_path": f"{ROOT}/src/a.py",
                    "old_string": "def forecast(town):\n",
                    "new_string": 'def forecast(town):\n    """Say what the weather will be."""\n',
                },
            ),
            Call("Write", {"file_path": f"{ROOT}/data/out.txt", "content": "docstring written\n"}),
        ),
        (
            Text("Now the state of the repository."),
            Call("Bash", {"command": "git status --short", "description": "Show changed files"}),
            Call("Bash", {"command": "cat .env", "description": "Show the environment file"}),
        ),
        (Call("Bash", {"command": "cd docs && head -n 3 x.md", "description": "Read the top of the notes"}),),
        (
            Call("Bash", {"command": "cat ../secrets/api.key | wc -c", "description": "Measure the key"}),
            Call("Bash", {"command": "ls /repo/app/nowhere", "description": "List a directory that is not there"}),
        ),
        (
            Call("Read", {"file_path": f"{ROOT}/docs/pixel.png"}),
            Call("Read", {"file_path": f"{ROOT}/nowhere.txt"}),
            Call("Read", {"file_path": f"{ROOT}/data/towns.csv", "offset": 2, "limit": 1}),
            Call("WebFetch", {"url": "http://127.0.0.1:9/towns", "prompt": "Which towns are named?"}),
        ),
        (Text("The docstring is written and noted in data/out.txt."),),
    ]
}

CLAUDE_SUBAGENT: Script = {
    "Find out how towns are named": [
        (
            Text("Two helpers will look."),
            Call(
                "Agent",
                {
                    "description": "Read the notes",
                    "prompt": "Say what the notes tell about names.",
                    "subagent_type": "general-purpose",
                    "run_in_background": False,
                },
            ),
            Call(
                "Agent",
                {
                    "description": "Search the code",
                    "prompt": "Search for towns in the code.",
                    "subagent_type": "Explore",
                    "run_in_background": False,
                },
            ),
        ),
        (Call("Read", {"file_path": f"{ROOT}/README.md"}),),
        (Text("Towns are named as on the map."),),
    ],
    "Say what the notes tell about names.": [
        (Call("Read", {"file_path": f"{ROOT}/docs/x.md"}), Call("Read", {"file_path": f"{ROOT}/secrets/api.key"})),
        (Call("Bash", {"command": "cat data/towns.csv", "description": "Show the towns"}),),
        (Text("As on the map."),),
    ],
    "Search for towns in the code.": [
        (Call("Grep", {"pattern": "Lillehavn", "path": ROOT, "output_mode": "files_with_matches"}),),
        (Call("Read", {"file_path": f"{ROOT}/src/b.py"}),),
        (Text("Two towns, in src/b.py."),),
    ],
}

CLAUDE_RESUMED: Script = {
    "Read the notes first": [
        (Call("Read", {"file_path": f"{ROOT}/docs/x.md"}),),
        (Text("I have read them."),),
        (
            Call("Read", {"file_path": f"{ROOT}/.env"}),
            Call("Write", {"file_path": f"{ROOT}/data/no.txt", "content": "x"}),
        ),
        (Text("The write was not allowed."),),
        (Text("The notes name towns as on the map; writing data/no.txt was refused."),),
    ],
    "After the summary": [(Call("Read", {"file_path": f"{ROOT}/README.md"}),), (Text("Read again."),)],
}

PATCH = """\
*** Begin Patch
*** Update File: src/a.py
@@
-TOWN = "Lillehavn"
+TOWN = "Sandby"
*** Add File: data/out.txt
+town changed
*** End Patch
"""

CODEX_BASIC: Script = {
    "Change the town to Sandby": [
        (
            Thought("The module comes first, then the key."),
            Text("I will look at the code and its key."),
            Call("exec_command", {"cmd": "cat src/a.py"}),
            Call("exec_command", {"cmd": "cat docs/../secrets/api.key", "workdir": ROOT}),
        ),
        (Call("exec_command", {"cmd": "git status --short && cat .env"}),),
        (FreeformCall("apply_patch", PATCH),),
        (Call("exec_command", {"cmd": "head -n 3 x.md", "workdir": f"{ROOT}/docs", "yield_time_ms": 5000}),),
        (Call("exec_command", {"cmd": "ls nowhere"}), Call("view_image", {"path": f"{ROOT}/docs/pixel.png"})),
        (Call("exec_command", {"cmd": "sleep 2; read line; cat $line", "tty": True, "yield_time_ms": 250}),),
        (Call("write_stdin", {"session_id": RUNNING, "chars": "data/towns.csv\n", "yield_time_ms": 4000}),),
        (Text("The town is now Sandby."),),
    ]
}

CODE_MODE = """\
const key = await tools.exec_command({cmd: "cat secrets/api.key"});
const notes = await tools.exec_command({cmd: "head -n 1 x.md", workdir: "/repo/app/docs"});
text(key.output.length);
text(notes.output);
"""

CODEX_CODE_MODE: Script = {
    "Compare the key with the notes": [
        (FreeformCall("exec", CODE_MODE),),
        (FreeformCall("exec", f"text(await tools.apply_patch({PATCH!r}));\n"),),
        (Text("They have nothing in common."),),
    ]
}

CODEX_RESUMED: Script = {
    "Read the notes first": [
        (Call("exec_command", {"cmd": "cat docs/x.md"}),),
        (Text("I have read them."),),
        (Call("exec_command", {"cmd": "cat README.md"}),),
        (Text("Both agree."),),
        (Call("exec_command", {"cmd": "cat src/b.py"}),),
        (Text("Two towns."),),
    ],
}

OPENCODE: Script = {
    "Add a town to the table": [
        (
            Text("I will look first."),
            Call("read", {"filePath": f"{ROOT}/data/towns.csv"}),
            Call("read", {"filePath": f"{ROOT}/docs/../secrets/api.key"}),
        ),
        (
            Call("grep", {"pattern": "TODO", "path": f"{ROOT}/docs"}),
            Call("glob", {"pattern": "**/*.py"}),
            Call("bash", {"command": "cat .env", "description": "Show the environment file"}),
        ),
        (
            Call(
                "edit",
                {"filePath": f"{ROOT}/data/towns.csv", "oldString": "Sandby,5", "newString": "Sandby,5\nNordvik,2"},
            ),
            Call("write", {"filePath": f"{ROOT}/data/out.txt", "content": "town added\n"}),
        ),
        (
            Call("todowrite", {"todos": [{"content": "Add town", "status": "completed", "priority": "low"}]}),
            Call("bash", {"command": "ls nowhere", "description": "List nothing", "workdir": f"{ROOT}/docs"}),
        ),
        (Text("Nordvik is added."),),
    ]
}


def _claude(name: str, commands: list[list[str]], script: Script, messages: str = "") -> Session:
    return Session(name, "claude-code", "claude", commands, script, messages)


def _codex(name: str, commands: list[list[str]], script: Script, messages: str = "") -> Session:
    return Session(name, "codex", "codex", [[*CODEX_FREE, *command] for command in commands], script, messages)


SESSIONS = [
    _claude(
        "claude-code-basic", [["-p", "Give forecast a docstring", *CLAUDE_FREE]], CLAUDE_BASIC, "anthropic-messages"
    ),
    _claude("claude-code-subagent", [["-p", "Find out how towns are named", *CLAUDE_FREE]], CLAUDE_SUBAGENT),
    _claude(
        "claude-code-resumed",
        [
            ["-p", "Read the notes first", *CLAUDE_FREE],
            ["-p", "Now the settings", "--continue", "--tools", CLAUDE_TOOLS],
            ["-p", "/compact", "--continue", *CLAUDE_FREE],
            ["-p", "After the summary, look once more", "--continue", *CLAUDE_FREE],
        ],
        CLAUDE_RESUMED,
    ),
    _codex("codex-basic", [["-m", "gpt-5.5", "Change the town to Sandby"]], CODEX_BASIC, "openai-responses"),
    _codex("codex-code-mode", [["-m", "gpt-6-sol", "Compare the key with the notes"]], CODEX_CODE_MODE),
    _codex(
        "codex-resumed",
        [
            ["-m", "gpt-5.5", "Read the notes first"],
            ["-m", "gpt-5.5", "resume", "--last", "Now the readme"],
            ["-m", "gpt-5.5", "-c", "model_auto_compact_token_limit=2000", "resume", "--last", "And the code"],
        ],
        CODEX_RESUMED,
    ),
    Session("opencode", "opencode", "opencode", [["run", "Add a town to the table"]], OPENCODE, "openai-chat"),
    *OLD_SESSIONS,
]
