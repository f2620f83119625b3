"""The pages of the site: plain sentences, short pages, and places that wait to be filled."""

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [path for path in (ROOT / ".docs").rglob("*.md") if "generated" not in path.parts]
READMES = [ROOT / "README.md", *ROOT.glob("*/README.md"), *ROOT.glob("*/*/README.md")]
HOW_TO = sorted((ROOT / ".docs" / "how_to").glob("*.md"))
MOST_WORDS = 12_000  # of the guides, without code, the reference, and what was measured

pytestmark = pytest.mark.skipif(not PAGES, reason="in the checkout only")


def sentences(text):
    """Yield sentences of prose: no code, no tables, no addresses."""
    text = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    text = re.sub(r"^\|.*$|^#.*$", "\n", text, flags=re.M)
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", text)
    for paragraph in re.split(r"\n\s*\n|\n(?=\s*(?:[-*]|\d+\.) )", text):
        yield from re.split(r"(?<=[.:?!;])[*_]*\s+", " ".join(paragraph.split()))


@pytest.mark.parametrize("page", [*PAGES, *READMES], ids=lambda page: str(page.relative_to(ROOT)))
def test_no_sentence_is_long(page):
    told = [each for each in sentences(page.read_text("utf-8")) if len(each.split()) > 30]
    assert told == []


def test_guides_are_short():
    guides = [page for page in PAGES if not {"how_well", "reference"} & set(page.parts)]
    texts = [page.read_text("utf-8") for page in [*guides, *READMES]]
    texts = [re.sub(r"```.*?```", "", text, flags=re.DOTALL) for text in texts]
    assert sum(len(text.split()) for text in texts) <= MOST_WORDS
    for page, most in [(ROOT / "README.md", 100), *((each, 120) for each in READMES)]:
        assert len(page.read_text("utf-8").splitlines()) <= most, page
    for page in HOW_TO:
        assert len(page.read_text("utf-8").splitlines()) < 80, page


def test_each_task_begins_with_what_to_do():
    for page in HOW_TO:
        before, _, _ = page.read_text("utf-8").partition("```")
        assert len(before.split()) < 60, page


def test_places_are_filled():
    """Where names, addresses and the DOI of a release stand; empty until there are any."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    citation = (ROOT / "CITATION.cff").read_text("utf-8").partition("references:")[0]
    places = {
        "authors": "family-names:" in citation,
        "DOI": bool(re.search(r"^doi:", citation, re.M)),
        "repository": "Repository" in project["urls"],
        "documentation": "Documentation" in project["urls"],
    }
    for name, field in (("repository", "repository-code"), ("documentation", "url")):
        assert places[name] == bool(re.search(rf"^{field}:", citation, re.M)), field
    if missing := [name for name, filled in places.items() if not filled]:
        pytest.skip(f"not known yet: {', '.join(missing)}")
