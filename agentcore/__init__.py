"""The protocol core of an LLM agent loop: a pure reducer, its vocabulary, and what can be read from a state."""
