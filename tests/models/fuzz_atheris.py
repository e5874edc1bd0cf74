"""Guided fuzzing of the decoders, on demand: ``pip install atheris``, then, from the top of the repository,

    python -m tests.models.fuzz_atheris -max_total_time=600

It starts from every recorded answer. What it finds is written to ``crash-…``; give that file as the only argument to
see it again. The first bytes of an input say in which dialect, with which status and in pieces of which size it comes.
"""

from __future__ import annotations

import sys
import tempfile
from importlib import import_module
from pathlib import Path

_HEAD = 4


def unpack(data: bytes) -> tuple[str, bytes, list[int], int, dict]:
    """Return what an input of the fuzzer says: the arguments of ``attacks.attack``."""
    from tests.models import attacks

    head, body = data[:_HEAD].ljust(_HEAD, b"\0"), data[_HEAD:]
    names = sorted(attacks.CORPUS)
    status = attacks.STATUSES[head[1] % len(attacks.STATUSES)]
    sizes = [head[2] + 1] if head[2] else []
    return names[head[0] % len(names)], body, sizes, status, attacks.HEADERS[head[3] % len(attacks.HEADERS)]


def seeds(folder: Path) -> None:
    """Write every recorded answer into a folder, as an input."""
    from tests.models import attacks

    for number, name in enumerate(sorted(attacks.CORPUS)):
        for at, body in enumerate(attacks.CORPUS[name]):
            (folder / f"{name}-{at}").write_bytes(bytes([number, 0, at % 50, 0]) + body)


def main() -> None:
    """Run the fuzzer with the arguments of libFuzzer."""
    try:
        atheris = import_module("atheris")
    except ImportError:
        sys.exit("guided fuzzing needs the package atheris: pip install atheris")
    with atheris.instrument_imports(include=["interpreters.models"]):
        attacks = import_module("tests.models.attacks")
    with tempfile.TemporaryDirectory() as folder:
        alone = any(Path(one).is_file() for one in sys.argv[1:])
        if not alone:
            seeds(Path(folder))
        atheris.Setup([*sys.argv, *([] if alone else [folder])], lambda data: attacks.attack(*unpack(data)))
        atheris.Fuzz()


if __name__ == "__main__":
    main()
