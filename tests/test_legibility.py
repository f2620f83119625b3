"""Every figure is legible in a journal column and on its page, and says what it shows."""

import struct
from pathlib import Path

import attribution_figures
import discrepancies_figures
import explanation_figures
import gain_floor_figures
import headings_figures
import networkx as nx
import numpy as np
import pandas as pd
import parity_figures
import pytest

from analyses import classify, plots
from analyses.plots.style import label
from analyses.recordings.decide.controls import CONTROLS
from analyses.studies import encoder_figures, reward_figures
from analyses.studies.recorded_replay.statistics import beside_predictions, read_predictions
from analyses.tables import EXPERIMENT_ORDER, KINDS, account_of
from replay import simulate
from replay.data import reference_table
from replay.experiments import PAPER_LEARNERS
from replay.learners import LEARNERS
from replay.tasks.published import TASKS
from replay.worlds.mazes import random_maze
from replay.worlds.trees import deterministic_tree, stochastic_tree

FOLDER = Path(__file__).parents[1] / "figures"
SHIPPED = "parity/parity"
LONG_NAMES = ["prioritized_sweeping_optimistic", "prioritized_sweeping_reset"]
ELSEWHERE = {  # with the tests of their modules
    "decoded_path_figure",
    "events_sheet_figure",
    "posterior_figure",
}
OF_STUDIES = {
    draw.__name__: draw
    for draw in (
        encoder_figures.hidden_states_figure,
        encoder_figures.kinds_in_codes_figure,
        encoder_figures.learned_states_figure,
        reward_figures.bounded_memory_figure,
        reward_figures.changes_figure,
        reward_figures.demands_figure,
        attribution_figures.attribution_figure,
        attribution_figures.attribution_length_figure,
        discrepancies_figures.discrepancies_figure,
        discrepancies_figures.discrepancy_curves_figure,
        explanation_figures.goals_figure,
        gain_floor_figures.gain_floor_figure,
        headings_figures.headings_figure,
        parity_figures.parity_experiments_figure,
        parity_figures.parity_figure,
    )
}


def table(**columns):
    """All combinations of lists, with the values that curves and bars need."""
    lists = {name: values for name, values in columns.items() if isinstance(values, list)}
    index = pd.MultiIndex.from_product(lists.values(), names=lists)
    rows = index.to_frame(index=False)
    values = 0.2 + 0.6 * np.random.default_rng(1).random(len(rows))
    rows = rows.assign(mean=values, share=values, count=50, n_mdps=50, n_seeds=8)
    rows = rows.assign(ci_low=values - 0.1, ci_high=values + 0.1)
    return rows.assign(**{name: value for name, value in columns.items() if name not in lists})


def rates():
    return table(experiment=[*EXPERIMENT_ORDER], learner=LONG_NAMES, time_step=[250_000, 1_000_000])


def kinds(**columns):
    rows = table(learner=[*PAPER_LEARNERS], kind=["reverse_episode", "novel_path"], **columns)
    return rows.assign(share=0.5, n_units=50, ci_low=0.4, ci_high=0.6)


def replay_kinds():
    chains = {"experiment": [*EXPERIMENT_ORDER], "chains": ["within_event", "across_events"]}
    return kinds(**chains)


def in_epochs():
    names = ["before the run", "run", "after the run"]
    time = {"epoch": np.repeat(names, 8), "start_time": 75.0 * np.arange(24)}
    blocks = pd.DataFrame({**time, "candidates": np.arange(24), "replay": np.arange(24) // 2})
    measures = ["candidates_per_minute", "replay_per_minute", "replay_share"]
    values = table(epoch=names, measure=measures).rename(columns={"mean": "value"})
    return values.assign(label="", null=0.05), blocks.assign(
        end_time=blocks["start_time"] + 75.0, observed=75.0
    )


def mdps():
    return {
        "deterministic_tree": deterministic_tree(depth=3),
        "stochastic_tree": stochastic_tree(seed=1),
        "maze": random_maze(12, seed=1),
    }


def replayed():
    maze = random_maze(12, seed=3)
    log = simulate(maze, "prioritized_sweeping", n_steps=4000, seed=1).log
    return classify(log, across_events=True), log.steps, maze


def graphs():
    """What was known at three moments."""
    _, steps, maze = replayed()
    found = {}
    for moment in (500, 2000, 3999):
        graph = nx.MultiDiGraph()
        for state in np.unique(steps["next_state"][: moment + 1]):
            graph.add_node(state, pos=tuple(maze.position[state]), value=np.nan, visits=state + 1)
        found[moment] = graph
    return found, maze


def differences():
    rows = table(
        discrepancy=["D1", "D4"],
        experiment=[*EXPERIMENT_ORDER],
        learner=LONG_NAMES,
        period=["early", "whole", "late"],
    )
    return rows.assign(difference=rows["mean"])


def changes():
    index = {"world": "moving_reward", "learner": ["dyna_q", "prioritized_sweeping forgetting=0.5"],
             "phase": [0, 1]}  # fmt: skip
    replay = table(period=["before", "after"], kind=["novel_path"], per_step=0.02, **index)
    return table(time_step=[5000, 10_000], **index), replay


def demands():
    learners = [*dict.fromkeys([*LONG_NAMES, *LEARNERS])]
    rows = table(world=["maze_size"], learner=learners, size=[2, 3, 4], mdp=[0, 1])
    operations = {"backups": 1.0, "queue_operations": 2.0, "comparisons": 3.0}
    n_states = 4 ** rows["size"]
    return rows.assign(n_states=n_states, n_actions=4, words=90 * n_states, **operations)


def bounded_memory():
    rows = table(
        experiment=["deterministic_tree", "stochastic_tree", "maze"],
        retention=["recent_episodes", "fading", "recent_transitions", "valuable_transitions"],
        capacity=[5.0, 50.0, np.inf],
    )
    return rows.assign(n_transitions=rows["capacity"].replace(np.inf, 3000))


def attribution():
    rows = table(
        experiment=[*EXPERIMENT_ORDER],
        learner=["prioritized_sweeping_reset"],
        over=["episode", "length"],
        up_to=[2, 8, 5000],
        attribution=["one", "several", "none"],
    )
    return rows.assign(of="sequences")


def gain_floor():
    return table(
        task=["linear_track", "open_maze"],
        setting=["floor", "no_floor", "no_need"],
        place=["start", "goal"],
        direction=["forward", "reverse"],
    ).assign(n=50)


def swept():
    rows = table(learning_rate=[0.01, 0.03, 0.1, 0.3, 1.0], n_replays=[0, 10], seed=[0, 1])
    rows = rows[["learning_rate", "n_replays", "seed", "mean"]]
    return rows.rename(columns={"mean": "reward_rate"}).assign(time_step=100)


def parity():
    """Ten panels, those with the longest names of each account first."""
    rows = reference_table(SHIPPED)
    rows = rows.assign(letters=rows["panel"].str.len()).sort_values("letters", ascending=False)
    few = rows.groupby("account", sort=False)["panel"].unique().explode().groupby(level=0).head(2)
    return rows[rows["panel"].isin(few.head(10))]


def beside_accounts():
    """Statistics of a recording beside studies with long names."""
    shipped = reference_table("comparison/evidence")
    names = shipped.drop_duplicates("statistic")["statistic"].tolist()[:5]
    own = pd.DataFrame({"statistic": names, "label": "as of a recording", "value": 0.45,
                        "ci_low": 0.3, "ci_high": 0.6, "null": 0.5})  # fmt: skip
    rows = beside_predictions(own, read_predictions())
    return rows[rows["finding"].isin(rows["finding"].unique()[:6])]


def explained():
    """Accounts of the replay of two animals: probabilities, sequences, and how many there are."""
    animals = ["rat 1", "rat 2"]
    rows = table(animal=animals, account=["ceiling", *LONG_NAMES, "walk"])
    fits = rows.assign(is_control=False, probability=0.25, misfit=0.5, share_of_ceiling=0.4)
    bits = table(animal=animals, account=["ceiling", *LONG_NAMES, "walk"], sequence=[0, 1, 2])
    verdicts = pd.DataFrame({"animal": animals, "n_sequences": 80})
    return fits, bits.assign(lap=bits["sequence"], bits=-5.0 * bits["share"]), verdicts


def explained_maze():
    """The sequences of a rat on a square track."""
    bits = explained()[1]
    own = bits[bits["animal"] == "rat 1"]
    paths = {0: [0, 1, 2], 1: [3, 2, 1, 0], 2: [0, 3, 2]}
    places = pd.DataFrame({"state": range(4), "x": [0.0, 0.0, 90.0, 90.0], "y": [0, 90.0, 90, 0]})
    names = ["begins at 1", "ends at 2", "goes 0 to 3", "goes 3 to 0 against its heading"]
    misfits = pd.DataFrame({"feature": [*names, "mean of age"], "value": [0.6, 0.0, 0.6, 0.0, 3.0],
                            "low": 0.1, "high": 0.3})  # fmt: skip
    return own.assign(states=own["sequence"].map(paths)), places, LONG_NAMES[0], misfits


def explained_statistics():
    """Twelve statistics of an animal beside the predictions of 25 accounts."""
    accounts = [*LONG_NAMES, *(f"account_{k}" for k in range(25 - len(LONG_NAMES)))]
    rows = table(statistic=[f"S{k}_mixed" for k in range(12)], account=accounts)
    text = "sequences composed of pieces read in both directions"
    return rows.assign(label=text, value=0.3, is_control=False, predicted_low=0.1, predicted=0.4,
                       predicted_high=0.7)  # fmt: skip


def evidence():
    """All accounts, and the findings with the longest names."""
    rows = reference_table("comparison/evidence")
    letters = rows["label"].str.len().groupby(rows["finding"]).first()
    return rows[rows["finding"].isin(letters.nlargest(6).index)]


def typical(name):
    task = TASKS[name].build()
    run = {"block": task.blocks[0].name, "place": 0, "goal": 3, "min_length": 5}
    rows = table(learner=LONG_NAMES, kind=["forward_episode", "novel_path"], orientation="forward",
                 phase="episode_end", n_path=40, n_kind=50, n_all=1200, **run)  # fmt: skip
    return rows.assign(states=[(0, 1, 2, 3)] * len(rows)), task


FIGURES = {
    "attribution_figure": lambda: (attribution(),),
    "attribution_length_figure": lambda: (attribution(),),
    "bounded_memory_figure": lambda: (bounded_memory(),),
    "changes_figure": changes,
    "demands_figure": lambda: (demands(),),
    "discrepancies_figure": lambda: (differences(),),
    "discrepancy_curves_figure": lambda: (
        rates(),
        rates().assign(discrepancy="D1"),
        differences()[lambda rows: rows["discrepancy"] == "D1"],
    ),
    "explanation_figure": lambda: explained()[::2],
    "explained_maze_figure": explained_maze,
    "predictions_figure": lambda: (explained_statistics(),),
    "gain_floor_figure": lambda: (gain_floor(),),
    "group_figure": lambda: (
        table(account=[*LONG_NAMES, " or ".join(LONG_NAMES)]).assign(
            frequency=0.1, low=0.0, high=0.3, protected=0.2, equal=0.3, n_animals=5
        ),
    ),
    "goals_figure": lambda: (
        table(task=[*TASKS][:5], n_sequences=[10, 100, 300], noise=["known", "ignored"]).assign(
            recovered=0.9
        ),
        table(task=[*TASKS][:5], account=[*LONG_NAMES, "walks and shuffles"]).assign(accepted=0.1),
        32,
    ),
    "headings_figure": lambda: (
        table(n_cells=[12, 25, 50, 100], other_rate=[0.1, 1.0], outcome=["right", "ambiguous"]),
    ),
    "hidden_states_figure": lambda: (
        table(world=[*LONG_NAMES], encoder=[*LONG_NAMES][:3], learner=[*PAPER_LEARNERS][:3]),
        table(world=[*LONG_NAMES], n_before=[2500, 5000, 10_000]),
    ),
    "learned_graph_figure": graphs,
    "learned_states_figure": lambda: (
        table(task=["maze", "cart_pole"], encoder=[*LONG_NAMES], learner=[*PAPER_LEARNERS][:3]),
    ),
    "kinds_in_codes_figure": lambda: (
        table(
            encoder=[*LONG_NAMES],
            learner=[*PAPER_LEARNERS][:2],
            states=["codes", "places"],
            kind=[*KINDS],
        ).assign(share=0.2),
        table(task=["maze"]).assign(n=4),
    ),
    "learners_figure": lambda: (rates()[lambda rows: rows["time_step"] == 250_000],),
    "learning_curves_figure": lambda: (rates(),),
    "mdps_figure": lambda: (mdps(),),
    "parity_experiments_figure": lambda: (parity(),),
    "parity_figure": lambda: (parity(),),
    "recorded_epochs_figure": lambda: in_epochs(),
    "recorded_evidence_figure": lambda: (
        pd.DataFrame(
            {"evidence": [-8.0, 2.0, 9.0, 150.0], "is_replay": [False, False, True, True]}
        ),
        table(control=[*CONTROLS]).assign(evidence=1.0),
        table(control=[*CONTROLS]).assign(least_evidence=5.0, rate=0.05),
    ),
    "recorded_kinds_figure": lambda: (
        table(state_size=[5.0, 15.0, 30.0], kind=[*KINDS]).drop(columns="count"),
    ),
    "replay_events_figure": replayed,
    "replay_kinds_figure": lambda: (replay_kinds(),),
    "replay_over_time_figure": lambda: (kinds(time_step=[250_000, 1_000_000])[:20],),
    "sweep_figure": lambda: (swept(),),
    "task_figure": lambda: typical("w_track"),
}
ON_A_PAGE = {  # for a page
    "explained_sequences_figure": lambda: plots.explained_sequences_figure(*explained()[1:]),
    "identifiability_figure": lambda: plots.identifiability_figure(
        pd.DataFrame(
            {"n_sequences": [30, 90], "recovered": 0.9, "named": 0.5, "right_if_sure": 1.0}
            | {"account_bits": 2.5, "n_accounts": 25, "n_classes": 16}
        ),
        table(n_sequences=[30, 90], truth=[*PAPER_LEARNERS], found=[*PAPER_LEARNERS]),
    ),
    "found_accounts_figure": lambda: plots.found_accounts_figure(
        reference_table("comparison/confusion")
    ),
    "page_figure": lambda: plots.page_figure(evidence(), reference_table("comparison/sums")),
    "sums_figure": lambda: plots.sums_figure(
        *(reference_table(f"comparison/{name}") for name in ("sums", "fit"))
    ),
}


def test_every_figure_is_looked_at():
    made = {name for name in plots.__all__ if name.endswith(("_figure", "_figures"))}
    several = {"recorded_statistics_figures", "study_figures"}
    shown = {*FIGURES} | {*ON_A_PAGE} | several | ELSEWHERE
    assert shown == made | {*OF_STUDIES}


@pytest.mark.parametrize("width", [8.5, pytest.param(17.5, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_is_legible(name, width, assert_legible):
    draw = OF_STUDIES.get(name) or getattr(plots, name)
    figure = draw(*FIGURES[name](), width_cm=width)
    assert figure.get_size_inches()[0] == pytest.approx(width / 2.54)
    assert figure.get_size_inches()[1] < (22 if width > 8.5 else 24.7) / 2.54  # 24.7 cm: a page
    assert_legible(figure)


@pytest.mark.parametrize("width", [8.5, pytest.param(17.5, marks=pytest.mark.slow)])
def test_the_figures_of_a_recordings_statistics_are_legible(width, assert_legible):
    rows = beside_accounts().fillna({"predicted": 0.5})
    silent = rows.assign(predicted=rows["predicted"].mask(rows["account"] == "dyna_q"))
    for table, is_silent in ((rows, False), (silent, True)):
        for figure in plots.recorded_statistics_figures(table, width_cm=width):
            assert figure.get_size_inches()[1] < 22 / 2.54
            assert_legible(figure)
            note = " ".join(figure.texts[0].get_text().split())
            assert ("without a dot have no such replay" in note) == is_silent


def test_accounts_are_named_in_the_order_in_which_their_lines_end():
    """The name of a line that ends above zero must not stand below it."""
    _, bits, verdicts = explained()
    bits.loc[bits["account"] == "walk", "bits"] = -6.0
    ax = plots.explained_sequences_figure(bits, verdicts).axes[0]
    ends = {line.get_label(): line.get_ydata()[-1] for line in ax.lines}
    names = [text.get_text() for text in ax.get_legend().get_texts()]
    assert sorted(names, key=ends.get, reverse=True) == names
    assert names[-1] == "walk"
    assert len(names) == len(ax.lines) > 3


def test_the_figures_of_a_study_are_legible(assert_legible):
    """Six findings with the longest names, and all 42 accounts: two figures."""
    of_one = evidence().assign(study="one", source="Somebody 2024")
    figures = dict(plots.study_figures(of_one))
    assert {name: len(figure.axes) for name, figure in figures.items()} == {"one": 3, "one_2": 3}
    for figure in figures.values():
        assert figure.get_size_inches()[1] < 22 / 2.54
        assert_legible(figure)


def test_a_study_of_one_finding_is_ordered_by_its_evidence(assert_legible):
    """In a column; accounts without such replay have no row, and are named below."""
    rows = reference_table("comparison/evidence")
    rows = rows[rows["finding"] == rows["finding"].iloc[0]]
    ((_, figure),) = plots.study_figures(rows)
    assert figure.get_size_inches()[0] == pytest.approx(8.5 / 2.54)
    assert_legible(figure)
    (ax,) = figure.axes
    ordered = rows.dropna(subset="predicted")
    ordered = ordered.sort_values("evidence", ascending=False, kind="stable")
    names = [text.get_text() for text in ax.get_yticklabels()]
    assert len(names) == len(ordered) < len(rows)
    first = label(account_of(ordered["account"].iloc[0]))
    assert names[0].removesuffix("*") == first
    assert "No such replay: " in figure.texts[0].get_text().replace("\n", " ")


def test_shipped_pictures_fit_a_page():
    """A picture is 17.5 cm wide, or a column's 8.5 cm, and at most 22 cm high."""
    for path in FOLDER.glob("**/*.png"):
        width, height = struct.unpack(">II", path.read_bytes()[16:24])
        is_column = width <= 8.6 / 2.54 * 300 or path.stem.startswith("recorded_")
        assert height / width * (8.5 if is_column else 17.5) <= 22, path.name


@pytest.mark.slow
def test_the_shipped_picture_of_demands_has_a_row_for_each_learner():
    """A row more makes it taller, so that a picture without today's learners has another shape.

    Pictures are made again for a release, and not by whoever adds a learner.
    """
    picture = (FOLDER / "demands_maze_size.png").read_bytes()
    width, height = struct.unpack(">II", picture[16:24])
    wide, high = reward_figures.demands_figure(demands()).get_size_inches()
    assert height / width == pytest.approx(high / wide, rel=0.008)


@pytest.mark.parametrize("name", ON_A_PAGE)
def test_a_figure_for_a_page_is_legible(name, assert_legible):
    figure = ON_A_PAGE[name]()
    assert figure.get_size_inches()[0] == pytest.approx(17.5 / 2.54)
    assert figure.get_size_inches()[1] < 22 / 2.54
    assert_legible(figure)


def test_a_state_of_a_large_number_takes_no_memory():
    sequences, places, *more = explained_maze()
    places = places.replace({"state": {places["state"].iloc[-1]: 2_000_000_000}})
    with pytest.raises(ValueError, match="must hold whole numbers from 0 to 10000000; row"):
        plots.explained_maze_figure(sequences, places, *more)


def test_what_an_account_does_not_explain_is_where_it_is_on_the_map():
    """What begins is a dot, what ends a ring, and moves are arrows; more and less differ."""
    sequences, places, account, misfits = explained_maze()
    axes = plots.explained_maze_figure(sequences, places, account, misfits).axes
    assert [ax.get_title(loc="left") for ax in axes][1:3] == [
        "Unlike its animals",
        "Surprising, lap 1",
    ]
    dot, ring = axes[1].lines
    assert [*dot.get_xydata()[0]] == [0, 90]
    assert [*ring.get_xydata()[0]] == [90, 90]
    assert ring.get_markerfacecolor() == "none"
    to, back = (each for each in axes[1].texts if not each.get_text())
    assert (to.xyann, to.xy) == (back.xy, back.xyann)
    assert [*to.xy] == [90, 0]
    more, less = dot.get_color(), ring.get_color()
    assert more != less
    assert [each.arrowprops["color"] for each in (to, back)] == [more, less]
    without = plots.explained_maze_figure(sequences, places, account, misfits.tail(1))
    assert "Unlike its animals" not in [ax.get_title(loc="left") for ax in without.axes]


def test_the_page_of_all_findings_has_a_vote_of_each_study(assert_legible):
    """It fits a page with studies that came after the tables, too."""
    rows, sums = (reference_table(f"comparison/{name}") for name in ("evidence", "sums"))
    own = rows[rows["study"] == "shin2019"]
    later = [own.assign(study=f"later{n}", source=f"Later {n}") for n in range(10)]
    figure = plots.page_figure(pd.concat([rows, *later]), sums)
    assert figure.get_size_inches()[1] < 22 / 2.54
    assert_legible(figure)
    ax = figure.axes[0]
    names = [text.get_text() for text in ax.get_yticklabels()]
    assert len(names) == rows["study"].nunique() + 10
    # By hand: the vote of one study for the account of the first column.
    first = next(iter(sums["account"]))
    own = own[own["account"] == first]
    place = next(k for k, name in enumerate(names) if name.startswith("Later 3"))
    vote = (own["evidence"] * own["weight"]).sum()
    assert ax.images[0].get_array()[place, 0] == pytest.approx(vote)
