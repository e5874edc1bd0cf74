"""``python -m agentcore.testing.machine [PROFILE]``: run a profile, by default ``deep``, and say how far it is.

``deep`` has no end: it goes from seed to seed until it finds something or is interrupted.
"""

from __future__ import annotations

import sys

from agentcore.testing.machine.runs import PROFILES, new_census, run


def main(name: str = "deep") -> None:
    """Run the seeds of a profile one after the other."""
    profile, census = PROFILES[name], new_census()
    for seed in profile:
        sys.stdout.write(f"seed {seed}: {profile.examples} examples of up to {profile.steps} steps\n")
        sys.stdout.flush()
        run(examples=profile.examples, steps=profile.steps, seed=seed, census=census)
        sys.stdout.write("".join(f"  {line}\n" for line in census.lines()))


if __name__ == "__main__":
    main(*sys.argv[1:2])
