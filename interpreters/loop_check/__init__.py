"""The pytest plugin: ``def test_my_loop(loop_check): loop_check.run(MyLoop())``.

``plugin`` is what pytest loads at every start, in every project where this one is installed, so it imports nothing;
``checks`` is what the fixture gives, loaded when a test first asks for it.
"""

from __future__ import annotations
