"""The steps with all their mutants inside, one of which can be switched on: made by mutmut, imported by a finder.

``install`` has to come before anything of ``agentcore`` is imported. mutmut writes every mutant of a function beside
it; its own switch asks the environment at each call, this one a variable, so that a mutant costs what its calls cost.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from difflib import ndiff
from functools import wraps
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from typing import Any

PACKAGE = "agentcore.steps"

Function = tuple[str, str]
"""A function by its module and the name that mutmut makes of its own: ``x_`` and the name."""

NAMES: dict[Function, list[str]] = {}
"""The mutants of each function."""
CHANGES: dict[str, list[str]] = {}
"""What a mutant changes, as lines of a diff, by its whole name."""


class Switch:
    """Which mutant is on, and which functions were called."""

    module, name = "", ""
    called: set[Function] | None = None


@contextmanager
def calling() -> Iterator[set[Function]]:
    """Yield a set that is filled with the functions that are called meanwhile."""
    kept, found = Switch.called, set[Function]()
    Switch.called = found
    try:
        yield found
    finally:
        Switch.called = kept


def switched(module: str, name: str, call: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that is called with a mutant in the place of its function."""

    def called(*arguments: Any) -> Any:
        Switch.module, Switch.name = module, name
        try:
            return call(*arguments)
        finally:
            Switch.module = Switch.name = ""

    return called


MutantDict = dict
"""What mutmut writes into its code has annotations with this name."""


def wrap_in_trampoline(mutants: dict[str, Callable[..., Any]]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Make a function give way to the one of its mutants that is on; mutmut's code calls this by that name."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        place = function.__module__, f"x_{function.__name__}"

        @wraps(function)
        def chosen(*arguments: Any, **named: Any) -> Any:
            if Switch.called is not None:
                Switch.called.add(place)
            found = mutants.get(Switch.name) if Switch.module == place[0] else None
            return (found or function)(*arguments, **named)

        return chosen

    return decorate


class _Loader(SourceFileLoader):
    """Loads a module as mutmut rewrites it."""

    def source_to_code(self, data: Any, path: Any, *, _optimize: int = -1) -> Any:
        from mutmut.mutation.file_mutation import mutate_file_contents

        made = mutate_file_contents(str(path), bytes(data).decode())
        lines = made.code.split("\n")
        bodies = {
            name: _body(lines[span.start - 1 : span.end]) for name, span in made.line_span_by_function_name.items()
        }
        for name in made.mutant_names:
            function = name.rpartition("__mutmut_")[0]
            NAMES.setdefault((self.name, function), []).append(name)
            compared = ndiff(bodies[f"{function}__mutmut_orig"], bodies[name])
            CHANGES[f"{self.name}.{name}"] = [line for line in compared if line[0] in "-+"]
        code = made.code.replace("from mutmut.mutation.trampoline import", f"from {__name__} import")
        return compile(code, path, "exec", dont_inherit=True)

    def get_code(self, fullname: str) -> Any:
        """Compile anew each time: what is cached is the module without its mutants."""
        path = self.get_filename(fullname)
        return self.source_to_code(self.get_data(path), path)


def _body(lines: list[str]) -> list[str]:
    """Leave out the head of a function, in which its name stands."""
    head = next((number for number, line in enumerate(lines) if line.rstrip().endswith(":")), 0)
    return lines[head + 1 :]


class _Finder(MetaPathFinder):
    """Finds the modules of the steps."""

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> ModuleSpec | None:
        """Return the usual answer with a loader of our own."""
        spec = PathFinder.find_spec(fullname, path, target) if fullname.startswith(f"{PACKAGE}.") else None
        if spec is None or spec.origin is None or Path(spec.origin).name == "__init__.py":
            return None
        spec.loader = _Loader(fullname, spec.origin)
        return spec


def install() -> None:
    """Import ``agentcore.steps`` with its mutants from now on; ``RuntimeError`` if it is too late for that."""
    if any(name.partition(".")[0] == "agentcore" for name in sys.modules):
        raise RuntimeError("something of agentcore is imported already")
    sys.meta_path.insert(0, _Finder())
