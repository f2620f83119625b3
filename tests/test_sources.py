"""The source files on which a result depends."""

import replay.sources

IMPORTS = """
import replay.a as first, replay.b, os
from replay.c import (  # (a comment)
    name,  # another, with replay.x
)
from replay.d import name as other; from replay.e import name
from . import f
from .g import name
from ..replay.h import name
from replay.i import \\
    name
from replay import j, k, l
def within():
    from replay.m import *
# from replay.n import name
'from replay.o import name'
from replays.p import name
"""


def test_all_forms_of_import_are_seen(tmp_path, monkeypatch):
    package = tmp_path / "replay"
    package.mkdir()
    for letter in "abcdefghijklmnop":
        (package / f"{letter}.py").touch()
    importer = package / "importer.py"
    importer.write_text(IMPORTS)
    monkeypatch.setattr(replay.sources, "_ROOT", tmp_path)
    monkeypatch.setattr(replay.sources, "_ALL", dict.fromkeys(package.iterdir()))
    found = {file.stem for file in replay.sources._imports.__wrapped__(importer)}
    assert found == set("abcdefghijklm")
