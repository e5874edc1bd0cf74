"""Commands that would ruin a machine, recognised by their words.

This is a net under a person who says yes too quickly, not a wall: a shell has more ways of writing a command than
anybody can list. What must not happen has to be made impossible from outside (a container, an account without rights).
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence

_OPERATORS = re.compile(r"[;&|()<>]+")
_WRAPPERS = frozenset(
    (
        "sudo",
        "doas",
        "env",
        "nohup",
        "exec",
        "command",
        "time",
        "timeout",
        "nice",
        "ionice",
        "xargs",
        "busybox",
        "setsid",
    )
)
_SHELLS = frozenset(("sh", "bash", "zsh", "dash", "ksh", "python", "python3", "perl", "ruby", "node"))
_FETCHERS = frozenset(("curl", "wget", "fetch"))
_EVERYTHING = re.compile(r"(/+\.?|/?\*|/\*+|~|~/\*?|\$HOME/?\*?|\$\{HOME\}/?\*?|\.|\./|\./\*|\.\.(/.*)?)")
_SYSTEM = re.compile(
    r"/+(bin|boot|dev|etc|home|lib|lib64|opt|proc|root|sbin|srv|sys|usr|var|Users|System|Library)/*\*?"
)
_DISK = re.compile(r"/dev/(sd|hd|vd|xvd|nvme|mmcblk|disk|mapper/|md)\w*")
_FORK_BOMB = re.compile(r"(\S{1,40})\s*\(\)\s*\{[^}]{0,200}\|[^}]{0,200}&[^}]{0,200}\}")


def danger_in(command: str) -> str:
    """Return what is dangerous about a shell command, in words; empty if nothing is recognised."""
    if _FORK_BOMB.search(command):
        return "it starts copies of itself without end"
    before: frozenset[str] = frozenset()
    for operator, words in _simple_commands(command):
        if ">" in operator and words and _DISK.fullmatch(words[0]):
            return f"it overwrites the disk {words[0]}"
        programs = dict(_programs(words))
        if operator == "|" and before & _FETCHERS and programs.keys() & _SHELLS:
            return "it runs what it fetches from elsewhere, unseen"
        for program, arguments in programs.items():
            if why := _judge(program, arguments):
                return why
        before = frozenset(programs)
    return ""


def _judge(program: str, arguments: Sequence[str]) -> str:
    if program.startswith("mkfs"):
        return "it makes a new file system over what is there"
    judge = _JUDGES.get(program)
    return judge(arguments) if judge else ""


def _simple_commands(command: str) -> Iterator[tuple[str, list[str]]]:
    """Each run of words, and the operator before it. What a shell would substitute is looked into as well."""
    operator = ""
    words: list[str] = []
    for word in _words(command.replace("`", " ; ").replace("$(", " ; ( ")):
        if _OPERATORS.fullmatch(word):
            yield operator, words
            operator, words = word, []
        else:
            words.append(word)
    yield operator, words


def _words(command: str) -> list[str]:
    lexer = shlex.shlex(command.replace("\n", " ; "), posix=True, punctuation_chars=True)
    lexer.commenters, lexer.whitespace_split = "", True
    try:
        return list(lexer)
    except ValueError:  # an open quote: the plain words are better than nothing
        return command.split()


def _programs(words: Sequence[str]) -> Iterator[tuple[str, Sequence[str]]]:
    """The program and its arguments; behind one that starts others, every word that could be the other."""
    at = next((at for at, word in enumerate(words) if not re.match(r"\w+=", word)), len(words))
    ends = len(words) if at < len(words) and _name(words[at]) in _WRAPPERS else at + 1
    for place in range(at, min(ends, len(words))):
        yield _name(words[place]), words[place + 1 :]


def _name(word: str) -> str:
    return word.rpartition("/")[2]


def _flags(arguments: Sequence[str]) -> str:
    short = "".join(word[1:] for word in arguments if re.fullmatch(r"-[A-Za-z]+", word))
    long = {"--recursive": "r", "--force": "f", "--no-preserve-root": "!"}
    return short.lower() + "".join(long.get(word, "") for word in arguments)


def _whole_places(arguments: Sequence[str]) -> list[str]:
    return [word for word in arguments if _EVERYTHING.fullmatch(word) or _SYSTEM.fullmatch(word)]


def _removing(arguments: Sequence[str]) -> str:
    flags, places = _flags(arguments), _whole_places(arguments)
    return f"it removes all of {places[0]}" if places and ("r" in flags or "!" in flags) else ""


def _finding(arguments: Sequence[str]) -> str:
    places = _whole_places(arguments[:1])
    return f"it removes all of {places[0]}" if places and places[0] != "." and "-delete" in arguments else ""


def _changing_rights(arguments: Sequence[str]) -> str:
    places = [place for place in _whole_places(arguments) if place.startswith(("/", "~", "$"))]
    return f"it changes the rights of all of {places[0]}" if places and "r" in _flags(arguments) else ""


def _writing_disk(arguments: Sequence[str]) -> str:
    disks = [word for word in arguments if _DISK.fullmatch(word.removeprefix("of=")) and not word.startswith("if=")]
    return f"it overwrites the disk {disks[0].removeprefix('of=')}" if disks else ""


def _halting(_: Sequence[str]) -> str:
    return "it stops the machine"


def _killing(arguments: Sequence[str]) -> str:
    return "it kills every process" if "-1" in arguments[-1:] and len(arguments) > 1 else ""


def _running_text(arguments: Sequence[str]) -> str:
    """``sh -c 'text'`` runs the text."""
    at = next((at for at, word in enumerate(arguments) if re.fullmatch(r"-[a-z]*c", word)), None)
    return danger_in(arguments[at + 1]) if at is not None and at + 1 < len(arguments) else ""


_JUDGES: Mapping[str, Callable[[Sequence[str]], str]] = {
    "rm": _removing,
    "find": _finding,
    "chmod": _changing_rights,
    "chown": _changing_rights,
    "dd": _writing_disk,
    "shred": _writing_disk,
    "wipefs": _writing_disk,
    "fdisk": _writing_disk,
    "shutdown": _halting,
    "reboot": _halting,
    "halt": _halting,
    "poweroff": _halting,
    "kill": _killing,
    "sh": _running_text,
    "bash": _running_text,
    "zsh": _running_text,
    "dash": _running_text,
}
