"""The examples of the README run as they stand."""

import re
import sys
from pathlib import Path

import pytest

README = Path(__file__).parents[1] / "README.md"


@pytest.mark.skipif(not README.exists(), reason="the README is in the checkout only")
def test_examples_run(tmp_path, monkeypatch, capsys):
    blocks = re.findall(r"```python\n(.*?)```", README.read_text(), flags=re.DOTALL)
    assert len(blocks) == 8
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)
    for block in blocks:
        if block.startswith("# backward_q.py"):
            (tmp_path / "backward_q.py").write_text(block)
        else:
            exec(compile(block, str(README), "exec"), {})
    sys.modules.pop("backward_q")
    printed = capsys.readouterr().out
    assert "novel_path" in printed
    assert "reverse_episode" in printed
