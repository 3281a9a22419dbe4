"""What a model can tell apart: two worlds that differ in what it may not see, and a map of where marks come out."""
