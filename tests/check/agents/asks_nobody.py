"""No fault that could be seen: it has nobody to ask, so nobody can refuse."""

from __future__ import annotations

from kit import Loop


class AsksNobody(Loop):
    def allowed(self, name, arguments):
        return True


AsksNobody().main()
