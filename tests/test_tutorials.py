"""The tutorials run, and their statements hold for the run."""

import json
import re
import sys
from pathlib import Path
from unittest.mock import patch

import pytest

TUTORIALS = Path(__file__).parents[1] / "figures" / "tutorials"

# What each tutorial tells, as expressions of its variables; and changes that make it small.
FACTS = {
    "paper_question": {
        "earned": "earned.to_dict()",
        "novel": "novel.to_dict()",
        "control": "counts.query(\"learner == 'episodic_control'\").set_index('kind')['share']"
        ".to_dict()",
        "last": "curves[curves['time_step'] > 7000].groupby('learner', observed=True)['mean']"
        ".mean().to_dict()",
    },
    "own_maze_and_learner": {
        "lengths": "{name: steps[:6].tolist() for name, steps in lengths.items()}",
        "early": "[(own.query('episode < 5')['kind'] == 'ambiguous').sum().item()"
        " for own in sequences.values()]",
        "later": "[own.query('episode >= 5')['kind'].value_counts(normalize=True).to_dict()"
        " for own in sequences.values()]",
        "known": "[log.graph(until=step).number_of_nodes() for step in moments]",
    },
    "animal_moves": {
        "laps": "laps.map(len).tolist()",
        "silent": "silent",
        "counts": "counts.pivot(index='learner', columns='kind', values='count').T.to_dict()",
        "single": "len(logs['dyna_q'].backups)",
    },
    "own_finding": {
        "evidence": "evidence.set_index('account')['evidence'].to_dict()",
        "predicted": "evidence.set_index('account')['predicted'].dropna().to_dict()",
        "highest": "evidence.set_index('account')['predicted_high'].dropna().to_dict()",
    },
    "explained_replay": {
        "found": "[*answer.verdicts.iloc[0][['verdict', 'account']], told.silent]",
        "share": "answer.probabilities.set_index('account')['share_of_ceiling'].to_dict()",
        "lost": "[*lost.verdicts.iloc[0][['verdict', 'account']]]",
        "misfits": "lost.misfits['feature'].tolist()",
    },
    "learned_and_hidden_states": {
        "pauses": "pauses",
        "earned": "earned",
        "shared": "shared",
        "kinds": "[kinds[name].T.to_dict('list') for name in ENCODERS]",
        "food": "food",
    },
    "laboratory_file": {
        "events": "[len(found.events), int(found.events['is_replay'].sum())]",
        "cells": "len(recording.spikes)",
    },
    "decoded_recording": {
        "is_replay": "found.events['is_replay'].tolist()",
        "n_active": "found.events['n_active'].min().item()",
        "kinds": "counts.to_dict()",
        "first": "found.events['kind'].iloc[0]",
        "mixed": "found.sequences.groupby('direction', observed=True)['kind'].unique()"
        ".map(list).to_dict()",
        "novel": "kinds.query(\"kind == 'novel_path'\").set_index('state_size')['share'].to_dict()",
    },
}
SMALL = {
    "own_finding": {
        "ACCOUNTS = None": "ACCOUNTS = ['sfma', 'episodic_control', 'trajectory_sampling']",
        "N_DRAWS = 4": "N_DRAWS = 2",
    }
}
LONG = ("explained_replay", "learned_and_hidden_states")
"""These run every night."""


def run(names, folder, changes):
    """Run tutorials as scripts; returns their facts by name."""
    told = {}
    for name in names:
        path = TUTORIALS / f"{name}.py"
        source = path.read_text()
        for old, new in changes.get(name, {}).items():
            assert old in source
            source = source.replace(old, new)
        names = {"__name__": "__main__"}
        with (
            patch.object(sys, "argv", [str(path), str(folder / name)]),
            patch.object(sys, "path", [*sys.path]),
        ):
            exec(compile(source, path, "exec"), names)
            told[name] = {fact: eval(text, names) for fact, text in FACTS[name].items()}
    return json.loads(json.dumps(told))


@pytest.fixture(scope="module")
def pictures(tmp_path_factory):
    return tmp_path_factory.mktemp("tutorials")


@pytest.fixture(scope="module")
def told(pictures):
    return run([name for name in FACTS if name not in LONG], pictures, SMALL)


def prose(name):
    """The text of a tutorial, without line breaks."""
    cells = re.split(r"(?m)^# %%", (TUTORIALS / f"{name}.py").read_text())
    text = " ".join(cell for cell in cells if cell.startswith(" [markdown]"))
    return " ".join(text.replace("\n#", " ").split())


def test_every_tutorial_is_tested():
    assert {path.stem for path in TUTORIALS.glob("*.py")} == {*FACTS}


@pytest.mark.parametrize("name", FACTS)
def test_a_tutorial_opens_as_a_notebook(name):
    """It begins with a title, cells alternate with text, and code is short enough to read."""
    source = (TUTORIALS / f"{name}.py").read_text()
    assert source.startswith("# %% [markdown]\n# # ")
    cells = re.split(r"(?m)^# %%", source)[1:]
    texts = [cell.removeprefix(" [markdown]\n") for cell in cells if cell.startswith(" [mark")]
    assert all(line.startswith("#") for text in texts for line in text.strip().splitlines())
    assert 2 * len(texts) >= len(cells)
    assert 250 <= len(prose(name).split()) <= 1000  # about five minutes with the code


def test_the_laboratory_file(told, pictures):
    facts = told["laboratory_file"]
    assert facts == {"events": [12, 12], "cells": 60}
    assert "All twelve events are found, and nothing else." in prose("laboratory_file")
    assert (pictures / "laboratory_file" / "event.png").exists()


@pytest.mark.slow
def test_learned_and_hidden_states(tmp_path):
    name = "learned_and_hidden_states"
    facts, text = run([name], tmp_path, {})[name], prose(name)
    pauses = facts["pauses"]
    assert f"replays in {pauses['true states']} pauses" in text
    assert f"with predictive states in {pauses['predictive states']};" in text
    assert 2000 < pauses["k-means"] < 4000
    assert min(facts["earned"].values()) > 0.9 * max(facts["earned"].values())
    assert facts["shared"]["k-means"] > facts["shared"]["predictive states"] == 0
    codes, places = facts["kinds"][0]["novel_path"]
    assert places < 0.1 < 0.2 < codes < 0.3
    assert all(codes == places for codes, places in facts["kinds"][1].values())
    assert facts["food"]["merged histories"] > 0.94
    assert facts["food"]["last four"] < 0.6
    assert (tmp_path / name / "k-means.png").exists()


def test_the_paper_question(told, pictures):
    facts, text = told["paper_question"], prose("paper_question")
    ours, other = facts["earned"]["prioritized_sweeping"], facts["earned"]["episodic_control"]
    assert f"earns {ours:.2f} of what could be earned, and episodic control {other:.2f}" in text
    assert min(facts["last"].values()) > 0.8
    assert facts["novel"]["prioritized_sweeping"] > 0.9
    assert facts["novel"]["episodic_control"] == 0
    assert facts["control"]["reverse_episode"] == pytest.approx(0.95, abs=0.005)
    assert facts["control"]["ambiguous"] == pytest.approx(0.05, abs=0.005)
    made = {path.stem for path in (pictures / "paper_question").glob("*.png")}
    assert made == {"maze", "learning_curves", "kinds", "examples"}


def test_own_maze_and_learner(told):
    facts, text = told["own_maze_and_learner"], prose("own_maze_and_learner")
    forward, backwards = facts["lengths"]["forward"], facts["lengths"]["backwards"]
    assert forward[0] == backwards[0] == 119
    assert "the same 119 steps" in text
    assert f"the second episode takes {backwards[1]} steps" in text
    assert "take {}, {} and {} steps".format(*forward[1:4]) in text
    assert forward[4] > 2 * forward[5]  # only the sixth is short
    assert min(facts["early"]) > 0
    assert facts["later"][0]["forward_episode"] > 0.98
    assert facts["later"][1]["reverse_episode"] > 0.98
    assert facts["known"][0] == 4


def test_animal_moves(told):
    facts = told["animal_moves"]
    assert facts["laps"] == 12 * [13]
    assert {"n_step_td", "q_lambda", "q_learning"} <= {*facts["silent"]}
    counts = facts["counts"]
    for name in ("monte_carlo", "episodic_control", "episodic_sequences"):
        assert counts[name]["reverse_episode"] == 12
    for name in ("trajectory_sampling", "retrieved_episodes", "prioritized_memory_access"):
        assert counts[name]["forward_episode"] > 0.98 * sum(counts[name].values())
    assert counts["prioritized_sweeping"]["reverse_episode"] == 6
    assert sum(counts["dyna_q"].values()) == 0 < facts["single"]
    n_novel, n_all = (sum(own[kind] for own in counts.values() for kind in kinds)
                      for kinds in (["novel_path"], counts["sfma"]))  # fmt: skip
    assert n_novel < 0.02 * n_all
    for name in ("spectral_diffusion", "context_reactivation", "sfma_published"):
        assert counts[name]["unexperienced"] > 0


@pytest.mark.slow
def test_explained_replay(tmp_path):
    facts = run(["explained_replay"], tmp_path, {})["explained_replay"]
    assert facts["found"] == ["account", "sfma", ""]
    assert max(facts["share"], key=facts["share"].get) == "sfma"
    assert facts["share"]["sfma"] < 0.5
    assert facts["lost"] == ["none", "shuffled_laps"]


def test_own_finding(told):
    """In small; the whole is a slow test."""
    facts = told["own_finding"]
    assert facts["evidence"]["episodic_control"] == pytest.approx(-4.32, abs=0.01)
    assert facts["predicted"]["episodic_control"] == 1
    assert facts["predicted"]["trajectory_sampling"] == 0
    assert facts["predicted"]["sfma (as published)"] == pytest.approx(0.5, abs=0.1)


@pytest.mark.slow
def test_own_finding_against_all_accounts(tmp_path):
    facts = run(["own_finding"], tmp_path, {})["own_finding"]
    gains = {name: bits for name, bits in facts["evidence"].items() if bits > 0}
    named = {"hierarchical_generative", "adaptive_attractor", "context_reactivation"}
    assert named | {"sfma (as published)"} <= {*gains}
    assert max(gains.values()) < 1.2
    assert all(0.3 < facts["predicted"][name] < 0.55 for name in gains)
    assert len(facts["evidence"]) - len(facts["predicted"]) >= 3
    assert facts["highest"]["prioritized_memory_access"] == pytest.approx(0.4, abs=0.05)
    assert -1 < facts["evidence"]["prioritized_memory_access"] < 0


def test_a_decoded_recording(told):
    facts = told["decoded_recording"]
    assert facts["is_replay"] == 12 * [True]
    assert facts["n_active"] >= 4
    assert sum(facts["kinds"].values()) == 12
    assert {*facts["kinds"]} == {"forward_episode", "reverse_episode", "novel_path"}
    assert facts["mixed"]["mixed"] == ["novel_path"]
    assert facts["first"] != "novel_path"
    assert set(facts["novel"].values()) == {facts["kinds"]["novel_path"] / 12}
