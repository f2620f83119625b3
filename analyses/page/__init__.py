"""Interactive pages of replay and of tracks: one HTML file that opens in any browser, offline.

``page.html``, ``page.css`` and the ``.js`` files, in the order in which `writing` lists them, are
the page of `write_page` without its data; ``track.html`` is that of `write_track_page`. Both begin
with ``head.html``, which forbids requests to other places.
"""

from analyses.page.track import write_track_page
from analyses.page.writing import write_page

__all__ = ["write_page", "write_track_page"]
