"""Replay as a page: one HTML file that opens in any browser, without a network.

`writing.write_page` writes it. ``page.html``, ``page.css`` and the ``.js`` files, in the order of
`writing`, are the page without its data.
"""
