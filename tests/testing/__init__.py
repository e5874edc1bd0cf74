"""Tests of the harness, and of the core by the harness."""
