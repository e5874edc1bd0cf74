"""The pytest plugin, run by pytest in projects of its own."""
