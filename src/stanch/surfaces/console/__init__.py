"""The console: pages for a person who keeps an eye on agents, rendered on the server."""
