"""Tests of the scripted interpreters."""
