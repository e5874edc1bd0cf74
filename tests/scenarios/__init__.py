"""Scenario files, run and compared."""
