"""A directory tree that cannot be left.

1. A path is walked name by name from an open directory to the next, and no name is followed if it is a symbolic link.
   What was checked is what is used: between the two there is only a descriptor.
2. ``..`` is refused instead of resolved; an absolute path is taken if it lies inside the root.
3. The directory ``.agentcore`` at the top belongs to the tools themselves and is neither shown nor touched.
"""

from __future__ import annotations

import contextlib
import difflib
import errno
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath

from interpreters.support import osio
from interpreters.support.cleaning import shortened, visible_line
from interpreters.tools.errors import ToolDefinitionError, ToolError

RESERVED = ".agentcore"
"""Directory at the top of a root that holds the notes of the file tools."""

_NAMES_SHOWN = 12


class Root:
    """The tree below one directory. ``ToolDefinitionError`` if there is no such directory."""

    def __init__(self, path: Path | str) -> None:
        self.path = osio.real_path(path)
        try:
            osio.close(osio.open_directory(self.path))
        except OSError as error:
            problem = f"the root {str(path)!r} cannot be opened as a directory ({error.strerror})"
            raise ToolDefinitionError(f"{problem}: create it, or name another one") from error

    def parts(self, path: str) -> tuple[str, ...]:
        """Return the names of a path inside the root, none for the root itself; ``ToolError`` for any other path."""
        pure = PurePosixPath(path or ".")
        if "\0" in path:
            raise ToolError("the path contains a NUL character", kind="bad-path")
        if pure.is_absolute():
            if not pure.is_relative_to(self.path):
                raise ToolError(f"{_shown(path)} lies outside of {self.path}: use a path inside it", kind="outside")
            pure = pure.relative_to(self.path)
        if ".." in pure.parts:
            raise ToolError(f"{_shown(path)} contains '..': name the path from the top of the root", kind="outside")
        if pure.parts[:1] == (RESERVED,):
            raise ToolError(f"{RESERVED} holds the notes of the file tools and cannot be used", kind="reserved")
        return pure.parts

    @contextlib.contextmanager
    def directory(self, parts: tuple[str, ...], *, create: bool = False) -> Iterator[int]:
        """Open the directory at ``parts``; with ``create`` missing ones are made on the way."""
        descriptor = osio.open_directory(self.path)
        try:
            for at, name in enumerate(parts):
                descriptor = self._step(descriptor, parts[: at + 1], name, create=create)
            yield descriptor
        finally:
            osio.close(descriptor)

    def _step(self, inside: int, so_far: tuple[str, ...], name: str, *, create: bool) -> int:
        """Open one more directory and close the one it is in, unless that fails."""
        if create and osio.make_directory_at(name, dir_fd=inside):
            osio.sync(inside)
        try:
            found = osio.open_directory(name, dir_fd=inside)
        except OSError as error:
            raise self._explained(error, inside, so_far, "directory") from error
        osio.close(inside)
        return found

    @contextlib.contextmanager
    def file(self, parts: tuple[str, ...]) -> Iterator[int]:
        """Open a regular file for reading; ``ToolError`` says what is there instead."""
        if not parts:
            raise ToolError("the path names the root itself, expected a file", kind="not-a-file")
        with self.directory(parts[:-1]) as inside:
            descriptor = self.file_in(inside, parts)
        try:
            yield descriptor
        finally:
            osio.close(descriptor)

    def file_in(self, inside: int, parts: tuple[str, ...]) -> int:
        """Open the regular file with the last name of ``parts`` in an open directory."""
        try:
            descriptor = osio.open_to_read(parts[-1], dir_fd=inside)
        except OSError as error:
            raise self._explained(error, inside, parts, "file") from error
        kind = osio.kind_of(descriptor)
        if kind != "file":
            osio.close(descriptor)
            raise ToolError(f"{_path(parts)} is {_ARTICLES[kind]}, expected a file", kind="not-a-file")
        return descriptor

    def _explained(self, error: OSError, inside: int, parts: tuple[str, ...], wanted: str) -> ToolError:
        """Say what stands in the way, so that the model can find its own way on."""
        if error.errno == errno.ENOENT:
            return ToolError(f"there is no {_path(parts)}{_neighbours(inside, parts[-1])}", kind="not-found")
        if error.errno in (errno.ELOOP, errno.ENOTDIR):
            with contextlib.suppress(OSError):
                target = _shown(osio.read_link(parts[-1], dir_fd=inside))
                text = f"{_path(parts)} is a symbolic link to {target}; links are not followed, name the target itself"
                return ToolError(text, kind="link")
            return ToolError(f"{_path(parts)} is not a directory", kind="not-a-directory")
        return ToolError(f"{_path(parts)} cannot be opened as a {wanted}: {error.strerror}", kind="unreadable")


_ARTICLES: Mapping[str, str] = {
    "directory": "a directory",
    "link": "a symbolic link",
    "other": "a pipe, socket or device",
    "file": "a file",
}


def _shown(text: str) -> str:
    return repr(shortened(visible_line(text), 200))


def _path(parts: tuple[str, ...]) -> str:
    return _shown("/".join(parts) or ".")


def _neighbours(inside: int, wanted: str) -> str:
    """Names that are there, the most similar ones first."""
    names = [entry.name for entry in osio.entries(inside) if entry.name != RESERVED]
    if not names:
        return "; its directory is empty"
    close = difflib.get_close_matches(wanted, names[:2000], n=3, cutoff=0.6)
    listed = close or names[:_NAMES_SHOWN]
    rest = "" if close or len(names) <= _NAMES_SHOWN else f" and {len(names) - _NAMES_SHOWN} more"
    return f"; {'did you mean' if close else 'there are'} {', '.join(_shown(name) for name in listed)}{rest}"
