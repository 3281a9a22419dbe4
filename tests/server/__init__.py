"""The command `stanch up`, started as a process and asked over HTTP, as its users do."""
