"""Replay as a page: one HTML file that opens in any browser, without a network.

:func:`write_page` writes it. `page.html`, `page.css` and `page.js` are the page without its data.
"""

from typing import Any

__all__ = ["write_page"]


def __getattr__(name: str) -> Any:
    if name == "write_page":
        from analyses.plots.page.writing import write_page

        return write_page
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
