"""Exploration of loops that are not ours."""
