"""What the libraries of providers, and pydantic-ai, make of the recorded answers; beside what is made of them here."""
