"""Engine, stores and tools reach the operating system through ``interpreters/support/osio.py`` and its other leaf,
``osrun.py`` for programs, and nowhere else.

The syntax trees are read: every name that is used (not merely written in an annotation) is followed to the module it
was imported from, and methods of ``Path`` that touch the disk are known by their names. ``tests/watch.py`` sees the
same from inside the process while the tests run.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import pytest

from tests.meta.tree import at, name_of, nothing, parse, sources

DOOR = "interpreters/support/osio.py"
LEAF = "interpreters/support/osrun.py"

FORBIDDEN = [
    "os",
    "asyncio",
    "fcntl",
    "fileinput",
    "glob",
    "importlib.resources",
    "io.FileIO",
    "io.open",
    "linecache",
    "mmap",
    "multiprocessing",
    "pty",
    "runpy",
    "shutil",
    "signal",
    "socket",
    "sqlite3",
    "subprocess",
    "tarfile",
    "tempfile",
    "trio",
    "webbrowser",
    "zipfile",
    "pathlib.Path.cwd",
    "pathlib.Path.home",
    "anyio.Path",
    "anyio.open_file",
    "anyio.open_process",
    "anyio.open_signal_receiver",
    "anyio.run_process",
    "anyio.connect_tcp",
    "anyio.connect_unix",
    "anyio.create_tcp_listener",
    "anyio.create_unix_listener",
    "anyio.create_udp_socket",
    "anyio.TemporaryDirectory",
    "anyio.TemporaryFile",
    "anyio.NamedTemporaryFile",
    "anyio.SpooledTemporaryFile",
    "anyio.mkdtemp",
    "anyio.mkstemp",
]
"""What opens files, starts processes, listens or connects: modules whole, or single names of them."""

HARMLESS = re.compile(
    r"os\.(O_\w+|SEEK_\w+|fspath|fsencode|fsdecode|strerror|sep|linesep|PathLike|stat_result|DirEntry)"
    r"|os\.path\.(join|basename|dirname|split|splitext|normpath|isabs|commonpath|relpath)|signal\.(SIG\w*|Signals)"
    r"|asyncio\.(CancelledError|current_task)"
)
"""Names of the same modules that ask nobody."""

PATH_METHODS = {
    "chmod",
    "exists",
    "expanduser",
    "hardlink_to",
    "is_dir",
    "is_file",
    "is_symlink",
    "iterdir",
    "lstat",
    "mkdir",
    "read_bytes",
    "read_text",
    "readlink",
    "rglob",
    "rmdir",
    "samefile",
    "symlink_to",
    "touch",
    "unlink",
    "write_bytes",
    "write_text",
}
"""Methods of ``Path`` that touch the disk, whatever they are called on."""

SHARED_METHODS = {"absolute", "glob", "open", "rename", "replace", "resolve", "stat", "walk"}
"""Methods of ``Path`` that other classes have too: seen here right after ``Path(...)``, and else by the watch."""

ALLOWED: dict[tuple[str, str], str] = {
    (DOOR, ".*"): "it is the door",
    (LEAF, ".*"): "it is the door's other leaf: programs",
    ("interpreters/cli(/.*|.py)", r"os\.environ.*|signal\.\w+|anyio\.open_signal_receiver"): "settings, Ctrl-C",
    ("interpreters/cli(/.*|.py)", r"\.(read_text|is_file|exists)"): "it reads `.env`",
    ("interpreters/check/http.py", r"anyio\.create_tcp_listener"): "a server for programs on this machine",
    ("interpreters/check/mcp.py", r"signal\.signal"): "Ctrl-C is for the program that started it",
}
"""File and name, as patterns, with the reason why the name may be used there."""


def uses(tree: ast.Module) -> Iterator[tuple[str, ast.AST]]:
    """The full dotted name of each imported thing that is used, and ``.method`` for what touches the disk."""
    known = dict(imports(tree))
    pending: list[ast.AST] = [tree]
    while pending:
        node = pending.pop()
        if isinstance(node, ast.Attribute | ast.Name) and (name := dotted(node)):
            head, _, rest = name.partition(".")
            if head in known:
                yield f"{known[head]}.{rest}".rstrip("."), node
            elif name in {"open", "__import__"}:
                yield "io.open" if name == "open" else "os.__import__", node
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            method, value = node.func.attr, node.func.value
            made = dotted(value.func) if isinstance(value, ast.Call) else ""
            if method in PATH_METHODS or (method in SHARED_METHODS and known.get(made) == "pathlib.Path"):
                yield f".{method}", node
        pending += evaluated(node)


def imports(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Each name that an import binds, and the dotted name it stands for."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                head = alias.name.partition(".")[0]
                yield (alias.asname, alias.name) if alias.asname else (head, head)
        elif isinstance(node, ast.ImportFrom):
            yield from ((alias.asname or alias.name, f"{node.module}.{alias.name}") for alias in node.names)


def dotted(node: ast.AST) -> str:
    """``a.b.c`` for a chain of attributes on a name, else nothing."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return ".".join([node.id, *reversed(parts)]) if isinstance(node, ast.Name) else ""


def evaluated(node: ast.AST) -> Iterator[ast.AST]:
    """The parts of a node that do something when they run: annotations do not, nor do the links of a dotted name."""
    if isinstance(node, ast.Attribute) and dotted(node):
        return
    for field, value in ast.iter_fields(node):
        if field not in {"annotation", "returns"}:
            yield from (each for each in (value if isinstance(value, list) else [value]) if isinstance(each, ast.AST))


def is_forbidden(name: str) -> bool:
    """A method begins with a dot; ``uses`` yields only those that count."""
    inside = any(name == each or name.startswith(f"{each}.") for each in FORBIDDEN)
    return name.startswith(".") or (inside and not HARMLESS.fullmatch(name))


def is_allowed(file: str, name: str) -> bool:
    return any(re.fullmatch(where, file) and re.fullmatch(what, name) for where, what in ALLOWED)


def test_every_act_on_the_world_goes_through_the_one_door():
    nothing(
        f"{at(path, node)} {name}"
        for path in sources("interpreters")
        for name, node in uses(parse(path))
        if is_forbidden(name) and not is_allowed(name_of(path), name)
    )


@pytest.mark.parametrize(
    "source",
    [
        "open('x')",
        "import os\nos.unlink('x')",
        "import os as system\nsystem.environ['x']",
        "import os.path\nos.path.exists('x')",
        "from os import rename as move\nmove('a', 'b')",
        "import subprocess\nsubprocess.run(['x'])",
        "from subprocess import Popen\nPopen(['x'])",
        "import signal\nsignal.signal(2, None)",
        "from pathlib import Path\nPath('x').write_text('y')",
        "from pathlib import Path\nhere = Path.cwd()",
        "def f(path):\n    return path.read_bytes()",
        "import anyio\nasync def f():\n    await anyio.open_file('x')",
        "import anyio\nasync def f():\n    await anyio.run_process('x')",
        "import shutil, tempfile\nshutil.rmtree(tempfile.mkdtemp())",
        "import io\nio.open('x')",
        "import asyncio\nasyncio.run(None)",
        "f = [__import__('os')]",
        "from pathlib import Path\nPath('x').resolve()",
    ],
)
def test_what_reaches_the_world_is_seen(source):
    assert any(is_forbidden(name) for name, _ in uses(ast.parse(source)))


@pytest.mark.parametrize(
    "source",
    [
        "import os\nflags = os.O_RDONLY | os.O_CLOEXEC",
        "import signal\nwanted = signal.SIGTERM",
        "import subprocess\ndef f(process: subprocess.Popen[bytes]) -> None: ...",
        "import os\nfrom pathlib import Path\nplace = Path('a') / os.fspath('b')",
        "import io\nbuffer = io.BytesIO()",
        "import anyio\nasync def f():\n    async with anyio.create_task_group(): ...",
        "async def f(agent):\n    session = await agent.open('x')\n    await session.resolve('y')",
        "from interpreters.support import osio\nosio.rename('a', 'b')",
    ],
)
def test_what_reaches_nothing_passes(source):
    assert [name for name, _ in uses(ast.parse(source)) if is_forbidden(name)] == []


def test_every_exception_is_still_needed():
    """An exception nobody uses is one that nobody will notice being used; those of modules to come are left out."""
    found = {
        (where, what)
        for where, what in ALLOWED
        for path in sources("interpreters")
        for name, _ in uses(parse(path))
        if re.fullmatch(where, name_of(path)) and re.fullmatch(what, name) and is_forbidden(name)
    }
    files = [name_of(path) for path in sources("interpreters")]
    present = {(where, what) for where, what in ALLOWED if any(re.fullmatch(where, file) for file in files)}
    nothing(sorted(present - found))
