"""All examples in the guides run as they are, and all links in them resolve."""

import re
import sys
from pathlib import Path
from types import MappingProxyType

import pytest
import typer

from analyses.cli import app
from analyses.findings.accounts import ACCOUNTS
from analyses.studies import STUDIES, find_study
from analyses.studies.brea_2018 import plan_reproduction

ROOT = Path(__file__).parents[1]
ROOMS = ("replay", "analyses", "tests", "figures", "data")
GUIDES = ["README.md", *(f"{room}/README.md" for room in ROOMS), ".github/CONTRIBUTING.md"]
GUIDES += ["analyses/recordings/README.md"]
PAGES = [path for path in (ROOT / ".docs").rglob("*.md") if "generated" not in path.parts]
GUIDES += sorted(path.relative_to(ROOT).as_posix() for path in PAGES)
PRINTED = {
    "README.md": ["novel_path", "reverse_episode"],
    "analyses/README.md": ["reverse_episode"],
    ".docs/how_to/own_maze.md": ["novel_path", "reverse_episode"],
    ".docs/how_to/own_task.md": ["extinction"],
}
"""What the examples of a guide must have printed at some point."""
SMALL = {".docs/how_to/correct_shares.md": {"n_seeds=4": "n_seeds=1", "n_seeds=2": "n_seeds=1"}}
"""What makes examples smaller, except nightly."""

in_the_checkout = pytest.mark.skipif(
    not (ROOT / "README.md").exists(), reason="in the checkout only"
)


@pytest.fixture(params=GUIDES)
def guide(request):
    path = ROOT / request.param
    if not path.exists():
        pytest.skip("the guides are in the checkout only")
    return path


def examples(guide, changes=MappingProxyType({})):
    text = guide.read_text("utf-8")
    for long, short in changes.items():
        assert long in text
        text = text.replace(long, short)
    return re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)


def test_examples_run(guide, is_nightly, tmp_path, monkeypatch, capsys):
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)
    name, names = guide.relative_to(ROOT).as_posix(), {}
    for block in examples(guide, {} if is_nightly else SMALL.get(name, {})):
        if named := re.match(r"# (\w+)\.py\n", block):
            (tmp_path / f"{named[1]}.py").write_text(block, "utf-8")
            sys.modules.pop(named[1], None)
        else:
            exec(compile(block, str(guide), "exec"), names)
    printed = capsys.readouterr().out
    for word in PRINTED.get(name, []):
        assert word in printed


def test_links_lead_somewhere(guide):
    links = re.findall(r"\]\((?!https?:|#)([^)]+)\)", guide.read_text("utf-8"))
    made = "reference/generated/"  # by the site, which checks these
    links = [link for link in links if made not in link and not link.startswith("generated/")]
    assert [link for link in links if not (guide.parent / link.split("#")[0]).exists()] == []


def test_commands_are_those_that_there_are(guide):
    """Commands in blocks and in the text: their names and the options of each."""
    commands = typer.main.get_command(app).commands
    text = guide.read_text("utf-8")
    blocks = "\n".join(re.findall(r"```bash\n(.*?)```", text, flags=re.DOTALL))
    in_text = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    found = re.findall(r"^(?:\.venv/bin/)?replay (.+)$", blocks, flags=re.M)
    for typed in [*found, *re.findall(r"`replay ([^`\n]+)`", in_text)]:
        name, *words = typed.partition("#")[0].split()
        if name.startswith("-") or name == "COMMAND":  # of replay itself, or a placeholder
            continue
        known = {option for each in commands[name].params for option in each.opts}
        told = {word.partition("=")[0] for word in words if word.startswith("--")}
        assert told <= known | {"--help"}, typed


def in_words(number):
    units = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]
    return units[number] if number < 10 else f"twenty-{units[number - 20]}"


def numbers_of_the_first_page():
    """Yield what the README says of numbers, as they are."""
    plan = plan_reproduction(full=True)
    learners, experiments = map(in_words, (len(plan.learners), len(plan.experiments)))
    yield f"the paper's {learners} learners in its {experiments} experiments"
    most, least = max(plan.n_mdps.values()), min(plan.n_mdps.values())
    yield f"{learners} learners in {experiments} experiments, means of {most} or {least} worlds"
    names = {}
    exec(next(each for each in examples(ROOT / "README.md") if "classify(run" in each), names)
    kinds = names["sequences"]["kind"]
    novel = (kinds == "novel_path").sum()
    yield f"Of {len(kinds)} sequences of three states or more, {novel} are novel paths"
    n_accounts = sum(not account.is_control for account in ACCOUNTS.values())
    yield f"here {in_words(n_accounts)} accounts meet the same worlds"
    yield f"{in_words(len([*(ROOT / 'figures' / 'tutorials').glob('*.py')]))} tutorials"


@in_the_checkout
def test_the_first_page_has_numbers_as_they_are():
    text = " ".join((ROOT / "README.md").read_text("utf-8").split())
    assert [told for told in numbers_of_the_first_page() if told not in text] == []


@in_the_checkout
@pytest.mark.parametrize("name", STUDIES)
def test_the_guide_has_the_command_of_each_study(name):
    """Those without a command of their own are listed by ``replay study``."""
    text = (ROOT / ".docs" / "how_to" / "studies.md").read_text("utf-8")
    assert (find_study(name).command or "`replay study` alone lists all studies") in text


@in_the_checkout
def test_the_size_of_the_paper_is_told():
    plan = plan_reproduction(full=True)
    n_runs = sum(plan.n_mdps[each] * plan.n_seeds[each] for each in plan.experiments)
    n_steps = sum(plan.n_mdps[each] * plan.world_steps(each) for each in plan.experiments)
    told = f"{n_runs * len(plan.learners):,} runs, {n_steps / 1e9:.1f} billion steps"
    assert told in (ROOT / ".docs" / "how_well" / "studies.md").read_text("utf-8")
