"""Operations on stored content, one file for each kind of store. Nothing else reads a store's content."""
