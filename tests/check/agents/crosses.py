"""Broken: the first result that comes in is given to the first call."""

from __future__ import annotations

from kit import Loop


class Crosses(Loop):
    def act(self, said):
        results = super().act(said)
        turned = [result["content"] for result in results[1:] + results[:1]]
        return [{**result, "content": content} for result, content in zip(results, turned, strict=True)]


Crosses().main()
