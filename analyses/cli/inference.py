"""The commands ``replay explain`` and ``replay identifiability``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from analyses.cli.options import Cluster, Described, Jobs, Out, Pieces, Seed, is_all, split
from analyses.cli.studies import do_study
from analyses.cli.terminal import say, screen
from analyses.jobs import N_DRAWS_EXPLAINED, N_SEQUENCES

Accounts = Annotated[
    Sequence[str],
    Described(
        "NAMES", "",
        "Accounts of replay and controls, separated by commas; an unknown name lists them. Also "
        "files of your own, as in all,my_account.py: a learner, and PRIORS of its parameters.",
    ),
]  # fmt: skip
Priors = Annotated[
    Sequence[str],
    Described(
        "NAME=LOW:HIGH", "those of replay accounts",
        "Other limits of a prior, such as sfma.inverse_temperature=1:60. May be repeated.",
    ),
]  # fmt: skip
Draws = Annotated[
    int, Described("int", "", "Number of draws from the priors of each account, at least 20.")
]
WrongPlaces = Annotated[
    float | None,
    Described(
        "SHARE", "decoding loses as much as by replay recording; 0 for the replay of logs",
        "The largest share of replayed places that may be wrong, if decoding loses nothing else: "
        "0 if replay is known exactly.",
    ),
]  # fmt: skip

Conditions = Annotated[
    Path | None,
    Described(
        "FILE", "what was paid, if that varies",
        "What was varied: a table of condition, at a state or place (x and y in cm), from "
        "first_lap to last_lap, or both; with a column animal if animals differ.",
    ),
]  # fmt: skip
Finer = Annotated[
    int,
    Described(
        "int", "",
        "Half of the simulated animals replay in states so many times finer, 1 to 5, and are read "
        "in those that are given: animals have no states. Takes longer.",
    ),
]  # fmt: skip


def _listed(accounts: Sequence[str]) -> list[str]:
    return ["all"] * is_all(accounts) + split(accounts)


def explain(
    result: Sequence[Path],
    /,
    events: Sequence[Path] = (),
    rewards: Path | None = None,
    conditions: Conditions = None,
    pool: bool = False,
    accounts: Accounts = ("all",),
    prior: Priors = (),
    draws: Draws = N_DRAWS_EXPLAINED,
    wrong_places: WrongPlaces = None,
    finer: Finer = 1,
    seed: Seed = 0,
    jobs: Jobs = None,
    cluster: Cluster = None,
    pieces: Pieces = None,
    reuse: Path | None = None,
    out: Out = Path("explanation"),
) -> None:
    """Say which account of replay explains the replay of animals, and how sure that is.

    Each account learns from the animal's own moves and replays in its pauses, with parameters from
    their priors. A classifier of these simulated animals, calibrated on others that it has not
    seen, gives the probability of each account, or says that none of them replays like this. Run
    the same command again to resume after an interruption.

    Example: replay explain recording --draws 100

    Options
    -------
    result : RESULT...
        A folder of replay recording, the folder of an event log, or a table of moves (.csv,
        .parquet; with --events). Several are several animals.
    events : FILE
        Replay events: step or time, and states; along, too, if headings are known, phase (start,
        step: within a lap, episode_end, or rest, the default) and location, the state where the
        animal was, otherwise read from its moves. One for each table of moves, in the same order;
        or one for each result, instead of the events that folders have.
    pool : bool
        The results are sessions of one animal on one track, in this order.
    rewards : FILE
        What was paid, which recordings lack: a table (.csv, .parquet) of reward and state, or place
        (x and y in cm), or time (s, that of a pump), or step; with a column animal if animals
        differ. A state pays at every visit, or, with a column visit, at that one, or, with
        first_lap and last_lap, in these laps, all numbered from 0.
    reuse : FOLDER
        The result of an earlier explanation of the same replay, with fewer accounts or draws: what
        was simulated there is not simulated again.
    """
    from analyses.studies.explanation import check_draws
    from analyses.studies.explanation.explain import STUDY, plan_explanation
    from analyses.studies.explanation.inputs import read_animals

    check_draws(draws)  # before a recording is read
    with screen.status("Reading"):
        animals = read_animals(result, events, rewards, pool, conditions)
    for animal in animals.values():
        for note in animal.notes:
            say(note)
    plan = plan_explanation(
        animals,
        _listed(accounts),
        n_draws=draws,
        wrong_places=wrong_places,
        seed=seed,
        earlier=reuse,
        finer=finer,
        priors=split(prior),
    )
    do_study(STUDY, plan, out, jobs, cluster, pieces)


def identifiability(
    task: Sequence[str] = (),
    laps: Sequence[Path] = (),
    track: Path | None = None,
    lap_end: Sequence[str] = (),
    rewards: Path | None = None,
    conditions: Conditions = None,
    events: Sequence[int] = N_SEQUENCES,
    more_sessions: int = 1,
    accounts: Accounts = ("all",),
    prior: Priors = (),
    draws: Draws = N_DRAWS_EXPLAINED,
    wrong_places: WrongPlaces = None,
    finer: Finer = 1,
    known_headings: float | None = None,
    seed: Seed = 0,
    jobs: Jobs = None,
    cluster: Cluster = None,
    pieces: Pieces = None,
    out: Out = Path("identifiability"),
) -> None:
    """Say, before the experiment, which accounts of replay a maze and its laps could tell apart.

    Accounts are simulated on the laps of tasks or of tables, and classified with more and more
    replayed sequences; mazes, protocols and numbers of laps are compared side by side. The result
    says how many sequences are needed, which accounts are never told apart, and for which others an
    account would be taken if it were in no list.

    Example: replay identifiability --task w_track,linear_track --events 100

    Options
    -------
    task : NAMES
        Tasks whose laps are used, separated by commas; replay tasks lists them.
    laps : FILE
        Moves: a folder of replay recording, which knows the whole track, the folder of an event
        log, or a table (.csv, .parquet) of state, next_state and terminated, and of reward unless
        --rewards gives it, which knows only moves that were made; or, with --track, positions of an
        animal: a table of time (s) and x, y (cm). May be repeated, to compare mazes or sessions.
    track : FILE
        The track on which --laps are positions: its graph, with nodes and edges in cm. Alone, it
        gives states.csv: the states into which it will be cut.
    lap_end : NODES, default the dead ends
        Nodes of the track at which laps end, separated by commas.
    rewards : FILE
        What was paid, if --laps lacks it: a table as of replay explain, with a column animal (the
        file's name) if mazes differ.
    events : int
        A number of replayed sequences per animal; may be repeated.
    more_sessions : int
        Also say what so many sessions like this one, with as many replayed sequences in each, would
        add.
    known_headings : SHARE, default that of a recording, 1 for tasks, 0 for tables
        The share of replayed sequences whose heading the cells will tell, on a track that is run
        both ways.
    """
    from analyses.studies.explanation import check_draws
    from analyses.studies.explanation.identify import (
        STUDY,
        plan_identifiability,
        with_more_sessions,
    )
    from analyses.studies.explanation.inputs import read_protocols, states_of_track
    from replay.checks import check_whole

    if track is not None and not laps and not task:
        out.mkdir(parents=True, exist_ok=True)
        states_of_track(track).to_csv(out / "states.csv", index=False)
        say(f"The states of {track} are in {out / 'states.csv'}. Give --laps to go on.")
        return
    check_draws(draws)
    once = read_protocols(
        split(task), laps, rewards, seed, known_headings, track, split(lap_end), conditions
    )
    protocols, n_sessions = with_more_sessions(
        once, check_whole("sessions", more_sessions, at_least=1)
    )
    plan = plan_identifiability(
        protocols,
        _listed(accounts),
        n_sequences=events,
        n_draws=draws,
        wrong_places=wrong_places,
        seed=seed,
        n_sessions=n_sessions,
        finer=finer,
        priors=split(prior),
    )
    do_study(STUDY, plan, out, jobs, cluster, pieces)
