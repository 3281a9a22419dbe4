"""The REST door, asked over HTTP by a real client of a real server, as its users do."""
