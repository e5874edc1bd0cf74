"""Broken: it never asks the model."""

from __future__ import annotations

import sys

print("there is no configuration")
sys.exit(3)
