"""What shares of kinds depend on is shown, and told in one sentence."""

from dataclasses import replace

import pandas as pd
import pytest

from analyses.recordings.basics.settings import Judgement
from analyses.recordings.decide.conclusions import conclude
from analyses.recordings.decide.epochs import (
    other_choices,
    shares_by_choice,
)
from analyses.recordings.decide.scoring import Scored, n_blocks, score_block
from analyses.recordings.prepare.session import prepare
from analyses.recordings.recover.simulated_recording import simulated_recording
from analyses.reports.preparation import session_notes
from analyses.reports.recorded import describe_dependence


@pytest.fixture(scope="module")
def scored():
    session = prepare(simulated_recording(24), judgement=Judgement(n_shuffles=5, n_controls=1))
    blocks = [score_block(session, block, 0) for block in range(n_blocks(session))]
    parts = (pd.concat(part, ignore_index=True) for part in zip(*blocks, strict=True))
    return session, Scored(*parts)


def test_the_table_has_what_each_choice_alone_would_give(scored):
    session, given = scored
    found = conclude(session, given)
    table = shares_by_choice(session, given, found)
    assert table["choice"].unique().tolist() == ["as chosen", "state size", "sequences", "jumps"]
    own = table[table["choice"] == "as chosen"]
    sized = found.kinds[found.kinds["state_size"] == session.judgement.state_size]
    assert own["n"].tolist() == sized["n"].tolist()
    longer = session.judgement.detection._replace(min_length=5)
    judgement = session.judgement._replace(detection=longer, other_sizes=())
    alone = conclude(session._replace(judgement=judgement), given).kinds
    assert table.loc[table["value"] == "5 states", "n"].tolist() == alone["n"].tolist()


def test_ends_of_laps_and_levels_are_among_them(scored):
    session, given = scored
    foot = session.judgement._replace(lap_ends=("0",), n_controls=5)
    turned = session._replace(judgement=foot, pauses={"0": 9, "3": 9})
    table = shares_by_choice(turned, given, conclude(turned, given))
    values = table.groupby("choice", sort=False)["value"].unique()
    assert values["lap ends"].tolist() == ["at 3, 4, 5", "at 3, 4, 5, 0"]
    assert values["level"].tolist() == ["0.01"]


@pytest.mark.parametrize(("ends", "tried"), [((), ["at 0"]), (("0",), ["nowhere"])])
def test_the_ends_of_laps_that_are_tried_are_those_suggested(scored, ends, tried):
    """On a track without dead ends, where the animal pauses once a lap, and not elsewhere."""
    session = scored[0]
    ring = session.recording.graph.copy()
    (one, other, last) = (node for node, degree in ring.degree if degree == 1)
    ring.add_edges_from([(one, other), (other, last)], distance=40.0)
    pauses = {"0": 30, "3": 15, "5": 15}
    session = session._replace(
        recording=replace(session.recording, graph=ring),
        judgement=session.judgement._replace(lap_ends=ends),
        pauses=pauses,
    )
    values = [value for choice, value, _ in other_choices(session) if choice == "lap ends"]
    assert values == tried
    proposed = session.prepared._replace(are_ends_proposed=True)
    at_foot = session._replace(
        judgement=session.judgement._replace(lap_ends=("0",)), prepared=proposed
    )
    assert "to end at the node 0, where the animal pauses" in session_notes(at_foot)[0]
    named = at_foot._replace(prepared=session.prepared, pauses={})
    assert "said to end at 0, where the animal hardly" in session_notes(named)[-1]


def test_a_level_is_tried_if_there_are_controls_enough(scored):
    """Of 24 events and four controls each, one is more than .01; of five, less."""
    session = scored[0]
    for number, tried in ((4, []), (5, ["0.01"])):
        judgement = session.judgement._replace(n_shuffles=99, n_controls=number)
        others = other_choices(session._replace(judgement=judgement))
        assert [value for choice, value, _ in others if choice == "level"] == tried


def row(choice, value, kind, share, low, high):
    columns = ["choice", "value", "kind", "share", "ci_low", "ci_high"]
    return dict(zip(columns, (choice, value, kind, share, low, high), strict=True))


def test_one_sentence_tells_differences_beyond_the_intervals():
    kinds = ("novel_path", "ambiguous", "no_sequence")
    own = [row("as chosen", "", kind, 0.4, 0.3, 0.5) for kind in kinds]
    within = row("state size", "10 cm", "novel_path", 0.45, 0.35, 0.55)
    wide = row("jumps", "1 state", "novel_path", 0.6, 0.35, 0.8)
    beyond = row("lap ends", "at 0", "novel_path", 0.7, 0.6, 0.8)
    other = row("jumps", "1 state", "no_sequence", 0.9, 0.8, 1.0)
    less = row("lap ends", "at 0", "ambiguous", 0.15, 0.1, 0.2)
    assert describe_dependence(pd.DataFrame([*own, within, wide])) == ""
    assert describe_dependence(pd.DataFrame([*own, within, wide, beyond, less, other])) == (
        "Shares depend on choices by more than their intervals: with laps that end at 0, the "
        "share of novel path is 0.70 instead of 0.40 (0.30 to 0.50)."
    )
