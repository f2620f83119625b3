"""Replay as an NWB file: events, sequences and decoded paths for other programs.

===========================  =====================================================================
``replay_events``            all candidate events: `start_time`, `stop_time`, `is_replay`, `kind`,
                             `evidence`, `p`, `n_active`
``replay_stretches``         their stretches of travel: `start_time`, `stop_time`, `event`,
                             `length`, `speed`, `sense`
``replay_sequences``         the place sequences of replay: `start_time`, `stop_time`, `event`,
                             `path` (states, joined by "-"), `direction`, `novelty`, `kind`,
                             `composition_order` (0 if none), `pieces` (states where they join)
``events/replay``            the replay events: `timestamp`, `duration`, `event` (row of
                             ``replay_events``), `kind`; with pynwb 4 and later
``processing/replay``        ``kinds`` (counts and shares), ``states`` (positions in cm), and
                             ``decoded_position`` (cm)
===========================  =====================================================================

Tables of events are ``TimeIntervals``, which pynapple reads as interval sets; missing values are
empty. The same recording and seed give the same bytes.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path
from typing import Any
from uuid import NAMESPACE_URL, uuid5

import pandas as pd

from analyses.jobs.columns import TABLES
from analyses.recordings.decide.conclusions import Conclusions
from analyses.reports.preparation import explanations_of, notes_of
from replay.files import replacing, safe_name

_UNKNOWN = "1970-01-01T00:00:00+00:00"  # the format demands a time
_ANY_ANIMAL = "http://purl.obolibrary.org/obo/NCBITaxon_33208"
_ANY_AGE = "P0D/"  # at least 0 days
_OWN = {
    "event": "row of replay_events",
    "path": "states in order, joined by -",
    "composition_order": "the least number of experienced pieces; 0 if a move was never made",
    "pieces": "states where the pieces join, joined by -",
    "track": "the track of its longest stretch, from 1; 0 without one",
}
"""Columns of the file that the tables of a recording do not have, or have otherwise."""


def write_nwb(path: str | Path, found: Conclusions, origin: Mapping[str, str], digest: str) -> None:
    """Write replay to an NWB file."""
    try:
        import h5py
        from pynwb import NWBHDF5IO, NWBFile
        from pynwb.epoch import TimeIntervals
        from pynwb.file import Subject
    except ImportError:
        raise ImportError(
            "NWB files need pynwb: pip install 'hippocampal-replay[recordings]'."
        ) from None
    source = origin.get("file", "a recording")
    start = datetime.fromisoformat(origin.get("session_start_time", _UNKNOWN))
    start = start if start.tzinfo else start.replace(tzinfo=UTC)
    file = NWBFile(
        session_description=f"Replay found in {source}",
        identifier=f"{origin.get('identifier', 'recording')}/replay/{digest[:12]}",
        session_start_time=start,
        file_create_date=start,  # today's date would change the bytes
        notes="\n".join([*notes_of(found), *explanations_of(found)]),
        keywords=["replay", "place cells", "decoding"],
        experiment_description="Replay decoded from a recording; see the notes for the criteria.",
    )
    file.subject = Subject(  # what is unknown is said in the terms of NWB
        subject_id=origin.get("subject", safe_name(Path(source).stem)),
        description=f"The animal of {source}.",
        species=origin.get("species", _ANY_ANIMAL),
        sex=origin.get("sex", "U"),
        age=origin.get("age", _ANY_AGE),
    )
    for name, (columns, description, table) in _tables(found).items():
        if not len(table):
            continue
        intervals = TimeIntervals(name=name, description=description)
        for column in table.columns[2:]:
            intervals.add_column(name=column, description=_meaning(columns, column))
        for row in table.to_dict("records"):
            intervals.add_interval(**{str(key): value for key, value in row.items()})
        file.add_time_intervals(intervals)
    _add_module(file, found)
    _add_events(file, found)
    held = BytesIO()  # on a full disk, HDF5 would crash Python
    with h5py.File(held, "w") as opened, NWBHDF5IO(file=opened, mode="w") as writer:
        writer.write(file)

    def rename(name: str, item: Any) -> None:
        if "object_id" in item.attrs:
            item.attrs.modify("object_id", str(uuid5(NAMESPACE_URL, f"{digest}/{name}")))

    with h5py.File(held, "r+") as opened:  # each identifier is unique, and the same again
        rename("", opened)
        opened.visititems(rename)
    with replacing(path) as beside:
        beside.write_bytes(held.getbuffer())


def _tables(found: Conclusions) -> dict[str, tuple[str, str, pd.DataFrame]]:
    """Return, by name: the file whose columns it has, what it lists, and the table."""
    # A column of NWB has one type: a missing text is empty, and a missing whole number 0.
    events = pd.DataFrame(
        {
            "start_time": found.events["start_time"],
            "stop_time": found.events["end_time"],
            "is_replay": found.events["is_replay"].astype(bool),
            "kind": found.events["kind"].fillna("").astype(str),
            "evidence": found.events["evidence"].astype(float),
            "p": found.events["p"].astype(float),
        }
    )
    for name in ("log_odds", "log_odds_z"):
        if name in found.events:
            events[name] = found.events[name].astype(float)
    if "track" in found.events:
        events["track"] = found.events["track"].fillna(0).astype(int)
    if "n_active" in found.events:
        events["n_active"] = found.events["n_active"].astype(int)
    stretches = found.stretches.sort_values(["start_time", "end_time"], kind="stable")
    stretches = stretches.rename(columns={"end_time": "stop_time"})
    columns = ["start_time", "stop_time", "event", "length", "speed", "sense"]
    own = found.sequences.sort_values(["start_time", "end_time"], kind="stable")
    sequences = pd.DataFrame(
        {
            "start_time": own["start_time"],
            "stop_time": own["end_time"],
            "event": own["event"].astype(int),
            "path": own["states"].map(_joined),
            "direction": own["direction"].astype(str),
            "novelty": own["novelty"].astype(str),
            "kind": own["kind"].astype(str),
            "composition_order": own["composition_order"].fillna(0).astype(int),
            "pieces": own["splice_states"].map(_joined),
        }
    )
    return {
        "replay_events": ("events.csv", "candidate events, and which of them are replay", events),
        "replay_stretches": ("stretches.csv", "stretches of travel in events", stretches[columns]),
        "replay_sequences": (
            "recording/sequences.parquet",
            "place sequences of replay, classified by experience",
            sequences,
        ),
    }


def _joined(states: Any) -> str:
    return "-".join(map(str, states))


def _meaning(table: str, name: str) -> str:
    """Describe a column as the glossary does, in one line."""
    if name in _OWN:
        return _OWN[name]
    meaning, unit, empty = TABLES[table].columns[name]
    return meaning + f", in {unit}" * bool(unit) + f"; empty {empty}" * bool(empty)


def _add_module(file: Any, found: Conclusions) -> None:
    from hdmf.common import DynamicTable
    from pynwb import TimeSeries

    module = file.create_processing_module(
        name="replay", description="replay decoded from this recording"
    )
    kinds = found.kinds.astype({"kind": str})
    for name, description, table in (
        ("kinds", "counts and shares of kinds, by state size (cm)", kinds),
        ("states", "position of each state, in cm", found.states),
    ):
        columns = [
            {"name": str(key), "description": _meaning(f"{name}.csv", str(key))} for key in table
        ]
        module.add(
            DynamicTable.from_dataframe(
                table, name=name, table_description=description, columns=columns
            )
        )
    path = found.paths.sort_values(["time"], kind="stable")
    path = path[~path["x"].isna()]
    if len(path):
        module.add(
            TimeSeries(  # a SpatialSeries would be the animal's position
                name="decoded_position",
                description="the course (x, y) of each stretch of travel",
                data=path[["x", "y"]].to_numpy(dtype=float),
                timestamps=path["time"].to_numpy(dtype=float),
                unit="centimeters",
            )
        )


def _add_events(file: Any, found: Conclusions) -> None:
    """List replay events as in NWB 2.11, if this version of pynwb can."""
    try:
        from pynwb.event import EventsTable
    except ImportError:  # before pynwb 4
        return
    own = found.events[found.events["is_replay"]]
    if not len(own):
        return
    table = EventsTable(name="replay", description="replay events; all events are in replay_events")
    for column in ("event", "kind"):
        table.add_column(name=column, description=_meaning("events.csv", column))
    rows = own[["start_time", "end_time", "event", "kind"]].itertuples(index=False)
    for start, end, event, kind in rows:
        table.add_row(timestamp=start, duration=end - start, event=int(event), kind=str(kind))
    file.add_events_table(table)
