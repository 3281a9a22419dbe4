"""The command line: its answers, its exit codes, and how a person's mistake ends."""
