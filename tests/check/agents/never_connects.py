"""Broken: it waits for something else before it asks the model."""

from __future__ import annotations

import time

print("waiting for the office to open", flush=True)
time.sleep(3600)
