"""One module per migration. INVARIANT: one that was released is never edited."""
