"""``python -m interpreters.cli``."""

from __future__ import annotations

import sys

from interpreters.cli import main

sys.exit(main())
