"""Broken: results that were told once are told shorter later."""

from __future__ import annotations

from kit import DIALECT, ENCODE, Loop


def shorter(item):
    results = [{**result, "content": "(older result left out)"} for result in item.get("results", ())]
    return {**item, "results": results} if results else item


class Rewrites(Loop):
    def encode(self):
        return ENCODE[DIALECT]([*map(shorter, self.history[:-1]), self.history[-1]], self.tools)


Rewrites().main()
