"""The tools that Stanch's own agents have. Each opens only what was judged."""
