"""Everyday shell commands with the right answer under the development policy, and what makes two of them equal."""
