"""A watch inside the test process: which module of ours asked the operating system for something.

``tests/meta/test_one_door.py`` reads the source; this sees what really happens, however it is spelt. An audit hook
looks up the stack from each act to the first frame that is not the standard library's. If that is a module of
``interpreters`` or ``agentcore`` other than the door, the command line and the explorer, which shares its work among
processes, the test during which it happened fails.
What a library does on its own account is its own business, and so are imports.
"""

from __future__ import annotations

import sys
import sysconfig
from pathlib import Path

import pytest

_ROOT = Path(__file__).resolve().parent.parent
_PACKAGES = (f"{_ROOT}/agentcore/", f"{_ROOT}/interpreters/")
_EXPLORER = f"{_ROOT}/agentcore/testing/explore.py"
_DOORS = (
    f"{_ROOT}/interpreters/support/osio.py",
    f"{_ROOT}/interpreters/support/osrun.py",
    f"{_ROOT}/interpreters/cli",
    _EXPLORER,
)
_STDLIB = sysconfig.get_path("stdlib")
_LIBRARIES = (sysconfig.get_path("purelib"), sysconfig.get_path("platlib"))
_READERS = ("linecache.py", "tokenize.py")  # they fetch source lines for a traceback

_ACTS = ("open", "os.", "subprocess.", "socket.", "shutil.", "tempfile.", "fcntl.", "glob.", "pty.")
_QUIET = ("os.putenv", "os.unsetenv", "socket.__new__", "socket.gethostname")

_seen: list[str] = []


def _watch(event: str, arguments: tuple[object, ...]) -> None:
    if event.startswith(_ACTS) and event not in _QUIET:
        place = _asked_by(sys._getframe(1))
        if place:
            _seen.append(f"{place} {event} {arguments!r:.200}")


def _asked_by(frame) -> str:
    """The place in our packages that an act comes from, or nothing if it is not theirs or goes through a door."""
    while frame is not None:
        file = frame.f_code.co_filename
        if file.startswith(_PACKAGES):
            return "" if file.startswith(_DOORS) else f"{file.removeprefix(f'{_ROOT}/')}:{frame.f_lineno}"
        ours = not file.startswith(("<frozen", _STDLIB)) or file.startswith(_LIBRARIES)
        if ours or "importlib" in file or file.endswith(_READERS):
            return ""
        frame = frame.f_back
    return ""


sys.addaudithook(_watch)


@pytest.fixture(autouse=True)
def one_door():
    """Fail a test during which one of our modules reached the operating system past the one door."""
    _seen.clear()
    yield
    assert not _seen, "past the door:\n" + "\n".join(_seen)
