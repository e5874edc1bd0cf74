"""Tests that keep the promises about the repository itself."""
