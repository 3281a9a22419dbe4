"""What a path means: one canonical form, patterns over it, grants, and opening exactly the file that was judged."""
