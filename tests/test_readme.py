"""All examples in the READMEs run as they are, and all links in them resolve."""

import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
ROOMS = ("replay", "analyses", "tests", "figures", "data")
GUIDES = ["README.md", *(f"{room}/README.md" for room in ROOMS), ".github/CONTRIBUTING.md"]
GUIDES += ["analyses/recordings/README.md"]
PRINTED = {
    "README.md": ["novel_path", "reverse_episode"],
    "replay/README.md": ["novel_path", "reverse_episode", "extinction"],
}
"""What the examples of a guide must have printed at some point."""


@pytest.fixture(params=GUIDES)
def guide(request):
    path = ROOT / request.param
    if not path.exists():
        pytest.skip("the guides are in the checkout only")
    return path


def test_examples_run(guide, tmp_path, monkeypatch, capsys):
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)
    names = {}
    for block in re.findall(r"```python\n(.*?)```", guide.read_text("utf-8"), flags=re.DOTALL):
        if named := re.match(r"# (\w+)\.py\n", block):
            (tmp_path / f"{named[1]}.py").write_text(block, "utf-8")
            sys.modules.pop(named[1], None)
        else:
            exec(compile(block, str(guide), "exec"), names)
    printed = capsys.readouterr().out
    for word in PRINTED.get(guide.relative_to(ROOT).as_posix(), []):
        assert word in printed


def test_links_lead_somewhere(guide):
    links = re.findall(r"\]\((?!https?:|#)([^)]+)\)", guide.read_text("utf-8"))
    assert [link for link in links if not (guide.parent / link.split("#")[0]).exists()] == []


@pytest.mark.skipif(not (ROOT / "README.md").exists(), reason="in the checkout only")
def test_the_first_page_is_short():
    assert len((ROOT / "README.md").read_text("utf-8").splitlines()) <= 150
