"""Sessions of older releases, whose files and tools differ from today's and lie in users' homes still."""

from tests.sessions.turns import ROOT, Call, FreeformCall, Script, Session, Text

CLAUDE_V1: Script = {
    "Find out how towns are named": [
        (
            Text("I will look at the code while a helper reads the notes."),
            Call("Read", {"file_path": f"{ROOT}/src/a.py"}),
            Call("Grep", {"pattern": "Lillehavn", "path": ROOT, "output_mode": "files_with_matches"}),
            Call("Glob", {"pattern": "**/*.py", "path": ROOT}),
        ),
        (
            Call(
                "Task",
                {
                    "description": "Read the notes",
                    "prompt": "Say what the notes tell about names.",
                    "subagent_type": "general-purpose",
                },
            ),
        ),
        (
            Call(
                "MultiEdit",
                {
                    "file_path": f"{ROOT}/src/a.py",
                    "edits": [
                        {"old_string": "mild", "new_string": "warm"},
                        {"old_string": "some rain", "new_string": "no rain"},
                    ],
                },
            ),
            Call("TodoWrite", {"todos": [{"content": "Warm up", "status": "completed", "activeForm": "Warming up"}]}),
        ),
        (
            Call("Bash", {"command": "cd docs && cat ../.env", "description": "Show the environment file"}),
            Call("Write", {"file_path": f"{ROOT}/data/out.txt", "content": "warm\n"}),
        ),
        (Text("Towns are named as on the map."),),
    ],
    "Say what the notes tell about names.": [
        (Call("Read", {"file_path": f"{ROOT}/docs/x.md"}), Call("Read", {"file_path": f"{ROOT}/secrets/api.key"})),
        (Text("As on the map."),),
    ],
}

PATCH = """\
*** Begin Patch
*** Update File: src/a.py
@@
-TOWN = "Lillehavn"
+TOWN = "Sandby"
*** Delete File: data/towns.csv
*** End Patch
"""
PLAN = {"plan": [{"step": "Read", "status": "completed"}, {"step": "Change", "status": "in_progress"}]}
IMAGE = Call("view_image", {"path": "docs/pixel.png"})

CODEX_V50: Script = {
    "Change the town to Sandby": [
        (
            Text("I will look first."),
            Call("shell", {"command": ["bash", "-lc", "cat docs/../secrets/api.key"], "workdir": ROOT}),
            Call("shell", {"command": ["cat", "x.md"], "workdir": f"{ROOT}/docs", "timeout_ms": 5000}),
        ),
        (Call("update_plan", PLAN),),
        (FreeformCall("apply_patch", PATCH), IMAGE),
        (Call("shell", {"command": ["ls", "nowhere"], "workdir": ROOT}),),
        (Text("The town is now Sandby."),),
    ]
}

CODEX_V79: Script = {
    "Change the town to Sandby": [
        (
            Text("I will look first."),
            Call("shell_command", {"command": "cat docs/../secrets/api.key", "workdir": ROOT}),
            Call("shell_command", {"command": "cat x.md", "workdir": "docs", "timeout_ms": 5000}),
        ),
        (Call("update_plan", PLAN),),
        (FreeformCall("apply_patch", PATCH), IMAGE),
        (Call("shell_command", {"command": "ls nowhere"}),),
        (Text("The town is now Sandby."),),
    ]
}

CODEX = ["exec", "--dangerously-bypass-approvals-and-sandbox", "-m", "gpt-5-codex", "Change the town to Sandby"]
CLAUDE = ["-p", "Find out how towns are named", "--dangerously-skip-permissions"]

OLD_SESSIONS = [
    Session("claude-code-v1", "claude-code", "claude-v1", [CLAUDE], CLAUDE_V1),
    Session("codex-v50", "codex", "codex-v50", [CODEX], CODEX_V50),
    Session("codex-v79", "codex", "codex-v79", [CODEX], CODEX_V79),
]
