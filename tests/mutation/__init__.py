"""Mutants of the tables and of the steps, and who kills them. On demand; what was measured is in docs/mutation.md."""
