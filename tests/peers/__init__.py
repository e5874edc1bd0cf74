"""Other loops, each in an environment of its own."""
