"""Interactive pages of replay: one HTML file that opens in any browser, offline.

`write_page` writes it. ``page.html``, ``page.css`` and the ``.js`` files, in the order in which
`writing` lists them, are the page without its data.
"""

from analyses.page.writing import write_page

__all__ = ["write_page"]
