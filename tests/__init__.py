"""Tests; a package, so that a helper under it is never mistaken for somebody else's `tests`."""
