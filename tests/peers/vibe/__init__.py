"""``mistralai-vibe-protocol``: a pure reducer of an agent loop, explored."""
