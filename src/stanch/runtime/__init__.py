"""The agent loop and its tools: an agent to govern, which stands on an agent library."""
