"""Tests of rules and approvals."""
