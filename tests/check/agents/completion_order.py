"""Broken: results are sent in the order in which they came in."""

from __future__ import annotations

import threading

from kit import Loop


class CompletionOrder(Loop):
    def act(self, said):
        found, calls = [], said["calls"]

        def one(place):
            content = self.perform(calls[place], place)
            found.append({"id": calls[place]["id"], "content": content})

        threads = [threading.Thread(target=one, args=(place,)) for place in range(len(calls))]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
        return found


CompletionOrder().main()
