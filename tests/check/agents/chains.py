"""The correct one, where the provider keeps the history and is sent only what is new."""

from __future__ import annotations

import json

from kit import Loop, encode_responses


class Chains(Loop):
    def encode(self):
        told = [place for place, item in enumerate(self.history) if item["role"] == "assistant"]
        if not told:
            return encode_responses(self.history, self.tools)
        previous = self.history[told[-1]]["answer"]
        return {**encode_responses(self.history[told[-1] + 1 :], self.tools), "previous_response_id": previous}

    def decode(self, answer):
        return {**super().decode(answer), "answer": json.loads(answer)["id"]}

    def take(self, reply):
        """The provider remembers its ids as they were."""
        return {"role": "assistant", **reply}


Chains().main()
