"""What a command reads: animals from result folders, logs and tables, and what was paid where."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from analyses.inference.animals import ReplayingAnimal, experienced_animal, replaying_animals
from analyses.inference.decoding import KnownReplay
from analyses.inference.moves import check_rewards
from analyses.inference.replayed import check_conditions
from analyses.recordings.basics.arena import world_of
from analyses.recordings.basics.settings import Judgement
from analyses.recordings.prepare.recorded_experience import experience_of
from analyses.recordings.readers import decoded
from analyses.recordings.readers.track_graphs import read_track
from analyses.studies.explanation.identify import recorded_laps
from analyses.studies.pages import read_decoded, read_log
from replay.checks import check_all, check_column, check_number, check_table
from replay.files import check_path, inside
from replay.log.backups import PHASES
from replay.log.event_log import EventLog

_OF_SEQUENCES = ("event", "time", "step", "phase", "location", "along", "states")
_MOVES = "state, next_state, terminated, and reward unless --rewards gives it"
_POOLED = ("state", "action", "reward", "next_state", "terminated", "truncated")


def read_animals(
    places: Sequence[str | Path],
    events: Sequence[str | Path] = (),
    rewards: str | Path | None = None,
    pool: bool = False,
    conditions: str | Path | None = None,
) -> dict[str, ReplayingAnimal]:
    """Read the animals of several results, or with `pool` the sessions of one animal.

    Each place is the folder of a log or of ``replay recording``, or a table of moves, with one
    table of `events` for each of these, in the same order. With as many tables of events as
    places, folders have one, too, and their moves and track are taken alone.
    """
    of_all = len(events) == len(places)
    paid = None if rewards is None else read_rewards(rewards)
    tables, animals = list(events), {}
    for place in places:
        path, is_decoded = check_path("result", place), True
        paths: list[_Source]
        landmarks: Mapping[str, Sequence[str]] = {}
        if path.is_dir():
            paths = _read_folder(path)
            if of_all:
                if len(paths) > 1:
                    raise ValueError(f"{path} has several animals, so that it takes no --events.")
                mine = _read_events(tables.pop(0))
                paths = [paths[0]._replace(sequences=mine, known_replay=None)]
            if _is_log(path):
                is_decoded = of_all
            else:
                landmarks = read_track(inside(path, "track.json")).graph.get("landmarks", {})
        else:
            if not path.exists():
                raise FileNotFoundError(
                    f"There is no {path}: name the folder of a log or of replay recording, or a "
                    "table of moves."
                )
            if not tables:
                raise ValueError(
                    f"{path} is a table of moves: give its replay events, too, with --events FILE."
                )
            moves, visited = read_laps(path), _read_events(tables.pop(0))
            if "step" not in visited and np.isnan(moves.columns("steps")["time"]).any():
                raise ValueError(
                    f"{path} needs a column 'time' (s), since its replay events have times; or "
                    "give events the 'step' after which they came."
                )
            paths = [_Source(path.stem, moves, visited)]
        for name, log, own, known in paths:
            with _rewards_in(rewards):
                made = replaying_animals(log, own, name=name, rewards=_of_animal(paid, name))
            for animal in made:
                if animal.name in animals:
                    raise ValueError(
                        f"Two animals are named {animal.name!r}, after their files: rename one."
                    )
                here = replace(animal, landmarks=landmarks)
                animals[animal.name] = here.with_decoding(known) if is_decoded else here
    if tables:
        raise ValueError(
            f"{tables[0]} belongs to no table of moves: --events is for these, one each, or one "
            "for each result."
        )
    if pool and len(animals) > 1:
        animals = {next(iter(animals)): _pooled(list(animals.values()))}
    return _with_conditions(animals, conditions)


def _with_conditions(
    animals: dict[str, ReplayingAnimal], conditions: str | Path | None
) -> dict[str, ReplayingAnimal]:
    """Let animals have the conditions of a table, if there is one."""
    if conditions is not None:
        table = check_conditions(_read(conditions), str(conditions))
        for name, animal in animals.items():
            animals[name] = replace(animal, conditions=_of_animal(table, name, "conditions"))
            _ = animals[name].places  # before hours of simulation
    return animals


def _pooled(sessions: Sequence[ReplayingAnimal]) -> ReplayingAnimal:
    """Take the sessions of one animal, in their order, as one: laps and replay go on."""
    first, steps, paths, n_before = sessions[0], [], [], 0
    for each in sessions:
        if each.track.graph.edges != first.track.graph.edges:
            raise ValueError(
                f"{each.name} and {first.name} cannot be pooled: their states are not those of one "
                "track."
            )
        moves, replayed = dict(each.log.columns("steps")), each.replayed
        # A session ends its last lap: no move leads from it into the next one.
        moves["truncated"] = moves["truncated"].copy()
        moves["truncated"][-1] |= not moves["terminated"][-1]
        steps.append({name: moves[name] for name in _POOLED})
        table = {
            "step": replayed.step + n_before, "states": replayed.states.arrays(),
            "phase": np.array(PHASES, dtype=object)[replayed.phase],
            "location": replayed.location, "along": replayed.along.arrays(),
        }  # fmt: skip
        paths.append(pd.DataFrame(table))
        n_before += len(moves["state"])
    joined = {name: np.concatenate([own[name] for own in steps]) for name in _POOLED}
    log = EventLog({"steps": joined}, mdp=first.log.mdp)
    [animal] = replaying_animals(log, pd.concat(paths, ignore_index=True), name=first.name)
    notes = (f"Pooled: {', '.join(each.name for each in sessions)}.", *animal.notes)
    animal = replace(animal, notes=notes, landmarks=first.landmarks)
    if not first.is_decoded:
        return animal
    known = [each.known_replay for each in sessions if each.known_replay is not None]
    is_known = len(known) == len(sessions)
    return animal.with_decoding(KnownReplay.joined(known) if is_known else None)


def read_protocols(
    tasks: Sequence[str],
    laps: Sequence[str | Path],
    rewards: str | Path | None,
    seed: int,
    heading_share: float | None = None,
    track: str | Path | None = None,
    lap_ends: Sequence[str] = (),
    conditions: str | Path | None = None,
) -> dict[str, ReplayingAnimal]:
    """Take the laps of tasks, tables, logs and recordings, of which replay does not count.

    With a `track`, `laps` are positions of animals on it; they end at `lap_ends`.
    `heading_share` is the share of sequences whose heading will be known; by default that of a
    recording, all in tasks, none in tables. States in the log of a task have a heading already.
    """
    if not tasks and not laps:
        raise ValueError("Give laps: those of a task (--task NAME), or a table (--laps FILE).")
    if heading_share is not None:
        check_number("known_headings", heading_share, at_least=0, at_most=1)
    if track is not None and not laps:
        raise ValueError("Give the positions of an animal on the track (--laps FILE).")
    if lap_ends and track is None:
        raise ValueError("--lap-end is for positions on a track: give it by --track FILE.")
    share_of_task = 1.0 if heading_share is None else heading_share
    found = {name: recorded_laps(name, seed, share_of_task) for name in tasks}
    paid = None if rewards is None else read_rewards(rewards)
    for place in laps:
        path = check_path("laps", place)
        if track is None and path.is_dir():
            logs = _read_folder(path)
        else:
            log = read_laps(path) if track is None else read_runs(path, track, lap_ends)
            logs = [_Source(path.stem, log)]
        for name, log, paths, known in logs:
            if name in found:
                raise ValueError(f"Two mazes are named {name!r}, after their files: rename one.")
            # A recording knows the heading of a sequence where the animal ran along the track.
            share = heading_share or 0.0
            if heading_share is None and paths is not None and "along" in paths and len(paths):
                share = float(np.mean([np.any(each) for each in paths["along"]]))
            with _rewards_in(rewards):
                own = _of_animal(paid, name)
                made = experienced_animal(log, name=name, rewards=own, heading_share=share)
                found[name] = replace(made, known_replay=known)
    return _with_conditions(found, conditions)


def _is_log(folder: Path) -> bool:
    return (folder / "runs.parquet").is_file()


class _Source(NamedTuple):
    """What is known of an animal."""

    name: str
    moves: EventLog
    sequences: pd.DataFrame | None = None  # its decoded replay; None: that of the log of moves
    known_replay: KnownReplay | None = None


def _read_folder(folder: Path) -> list[_Source]:
    """Read the animals of a log or of ``replay recording``."""
    if _is_log(folder):
        return [_Source(folder.stem, read_log(folder))]
    animals = []
    for each in read_decoded(folder):
        # Each sequence counts as an event of its own.
        kept = [name for name in _OF_SEQUENCES if name in each.sequences]
        paths = each.sequences[kept].reset_index(drop=True)
        known = each.known_replay
        animals.append(
            _Source(
                each.name or folder.stem, each.experience, paths,
                None if known is None else KnownReplay.of(known),
            )
        )  # fmt: skip
    return animals


def read_laps(path: str | Path) -> EventLog:
    """Read a table of moves (.csv or .parquet), lap by lap."""
    table = check_table(_read(path), ["state", "next_state", "terminated"], str(path))
    kinds: dict[str, dict[str, Any]] = {
        **{key: {"kind": "whole", "at_least": 0} for key in ("state", "next_state")},
        **{key: {"kind": "flag"} for key in ("terminated", "truncated")},
        **{key: {"kind": "number", "missing": True} for key in ("reward", "time")},
    }
    kinds = {name: kind for name, kind in kinds.items() if name in table}
    checks = (partial(check_column, table, name, str(path), **kinds[name]) for name in kinds)
    columns = dict(zip(kinds, check_all(checks), strict=True))
    if not len(table):
        raise ValueError(f"{path} has no moves; its columns are {_MOVES}.")
    known = np.flatnonzero(~np.isnan(columns.get("time", np.empty(0))))
    back = np.flatnonzero(np.diff(columns["time"][known]) < 0) if len(known) else known
    if len(back):
        row = known[back[0] + 1]
        raise ValueError(
            f"The column 'time' of {path} must not descend; row {table.index[row]} has "
            f"{columns['time'][row]:.12g} s. Sort its moves by time."
        )
    return EventLog({"steps": columns})


def read_runs(path: Path, track: str | Path, lap_ends: Sequence[str]) -> EventLog:
    """Convert positions of an animal (`time`, and `x, y` or `linear_position`) to moves."""
    if path.is_dir():
        raise ValueError(f"{path} is a folder, which knows its track: leave out --track.")
    recording = decoded.read_table(path, read_track(track))
    if not len(recording.time):
        raise ValueError(f"{path} has events (a column event): with --track, give positions.")
    _, log = experience_of(recording, Judgement().state_size, lap_ends)
    return log


def states_of_track(track: str | Path) -> pd.DataFrame:
    """List the states into which a track will be cut: `state, x, y` in cm."""
    where = world_of(read_track(track), Judgement().state_size).position
    if where is None:
        raise ValueError(f"The nodes of {track} have no positions.")
    return pd.DataFrame({"state": np.arange(len(where)), "x": where[:, 0], "y": where[:, 1]})


def read_rewards(path: str | Path) -> pd.DataFrame:
    """Read what was paid, in one of the forms of `paid_by_step`.

    A column `animal` tells several animals apart.
    """
    table = _read(path)
    return table[["animal"] if "animal" in table else []].join(check_rewards(table, str(path)))


@contextmanager
def _rewards_in(path: str | Path | None) -> Iterator[None]:
    """Name the file of rewards that are refused by what knows no file."""
    try:
        yield
    except ValueError as error:
        if path is None or "rewards" not in str(error):
            raise
        raise ValueError(f"{path}: {error}") from None


def _of_animal(paid: pd.DataFrame | None, name: str, what: str = "rewards") -> Any:
    """Select the rewards or conditions of an animal, in the form that `explain` takes."""
    if paid is None:
        return None
    own = paid[paid["animal"].astype(str) == name] if "animal" in paid else paid
    if not len(own):
        raise ValueError(f"The table of {what} has no row for the animal {name!r}.")
    return own.drop(columns="animal", errors="ignore")


def _read_events(path: str | Path) -> pd.DataFrame:
    """Read replay events: `step` or `time`, and `states`, places separated by blanks in CSV.

    So is `along`, if headings are known. `phase` and `location` say where the animal was.
    """
    table = _read(path)
    when = "'step' (the number of the move after which each event came, from 0) or 'time' (s)"
    lacking = [] if "step" in table or "time" in table else [when]
    lacking += [] if "states" in table else ["'states'"]
    if lacking:
        raise ValueError(
            f"{path} needs the column{'s' * (len(lacking) > 1)} {', and '.join(lacking)}; it has "
            f"{', '.join(map(str, table.columns))}."
        )
    if not len(table):
        raise ValueError(f"{path} has no events: there is nothing to explain.")
    checks: dict[str, Any] = {
        "step": {"kind": "whole"},
        "time": {"kind": "number", "missing": True},
    }
    check_all(
        partial(check_column, table, name, str(path), **how)
        for name, how in checks.items() if name in table
    )  # fmt: skip
    # Without a time or a number, two events may well be the same.
    same = table.drop(columns="event", errors="ignore") if "time" in table else table
    again = same.astype(str).duplicated() if {"time", "event"} & {*table} else np.zeros(0, bool)
    if again.any():
        raise ValueError(
            f"{path} has an event more than once, such as in row {table.index[again][0]}: keep one "
            "row for each."
        )
    listed = {
        name: pd.Series(
            [_numbers(text, row, name, path) for row, text in table[name].items()],
            index=table.index, dtype=object,
        )
        for name in ("states", "along") if name in table
    }  # fmt: skip
    return table.assign(**listed)


def _numbers(text: Any, row: object, name: str, path: str | Path) -> Any:
    if not isinstance(text, str):
        return text
    try:
        return [int(each) for each in text.split()]
    except ValueError:
        raise ValueError(
            f"The column {name!r} of {path} must hold whole numbers, separated by blanks, such as "
            f"1 0 1; row {row} has {text!r}."
        ) from None


def _read(path: str | Path) -> pd.DataFrame:
    file = check_path("table", path)
    if file.suffix not in (".csv", ".parquet"):
        raise ValueError(f"{file} must be a table, .csv or .parquet.")
    return decoded.open_table(file)
