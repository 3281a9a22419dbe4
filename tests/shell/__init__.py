"""Is a shell command read as bash runs it? Random commands, known ways around a gate, and a parser that fails."""
