"""Tests of the stores: one contract for both, and what only a disk can do to a journal."""
