"""What was read and done, and what explains the replay that was found, one sentence each."""

from __future__ import annotations

from collections.abc import Iterator

import networkx as nx
import numpy as np

from analyses.recordings.basics.binned_track import BinnedTrack, cut_track
from analyses.recordings.basics.recording import Recording
from analyses.recordings.basics.settings import Criteria
from analyses.recordings.decide.conclusions import Conclusions
from analyses.recordings.decide.held_out import HeldOut
from analyses.recordings.decide.scores import common_cells, tracks_to_compare
from analyses.recordings.prepare.candidate_events import LOW_THRESHOLD, PAUSE, Detected
from analyses.recordings.prepare.headings import LEAST_DIFFERENT
from analyses.recordings.prepare.lap_ends import PAUSE as PAUSE_AT_NODE
from analyses.recordings.prepare.recorded_experience import Experienced
from analyses.recordings.prepare.session import Session
from analyses.reports.text import agree, plural

_LEAST_RUNNING = 60.0  # s
_MANY_LONG = 0.2  # of the number of candidate events


def notes_of(found: Conclusions) -> list[str]:
    """Say what was read, found and done, one sentence each.

    Examples
    --------
    >>> from analyses.recordings import Judgement, find_replay, simulated_recording
    >>> found = find_replay(simulated_recording(9), judgement=Judgement(n_shuffles=4))
    >>> [note for note in notes_of(found) if "laps" in note]
    ["The animal's experience is 117 moves in 9 laps between 22 states, at most 16 cm apart."]
    """
    session, events = found.session, found.events
    judgement, calibration = session.judgement, found.calibration
    notes = [*session.recording.notes, *session_notes(session)]
    if calibration is not None:
        n_tested = int(events["evidence"].notna().sum())
        notes.append(
            f"{n_tested} of {plural(len(events), 'event')} {agree(n_tested, 'has', 'have')} at "
            f"least {judgement.least_active} active cells and "
            f"{agree(n_tested, 'was', 'were')} compared with controls: "
            f"{judgement.n_shuffles} exchanges of cells each, and {judgement.n_controls} events of "
            "each other kind. Replay has evidence for travel of at least "
            f"{calibration.least_evidence:.3g} nats, which at most {judgement.level:.0%} of each "
            "control have."
        )
    lacking = events.loc[~events["is_replay"], "why"].value_counts()
    notes += [
        f"{plural(n, 'more event')} had as much evidence for travel, but {why}."
        for why, n in lacking.items()
    ]
    sequences = found.sequences
    too_early = (sequences["kind"] == "ambiguous") & (sequences["novelty"] == "unexperienced")
    n_early = sequences.loc[too_early, "event"].nunique()
    if n_early:
        notes.append(
            f"{plural(n_early, 'replay event')} {agree(n_early, 'travels', 'travel')} along a line "
            "as the animal had not yet run "
            "in this recording. Whether it had before is not told, so that the kind is ambiguous; "
            "the novelty of these sequences is unexperienced."
        )
    if session.counts:
        notes += _compared_tracks(found)
    track = session.track
    if track.n_components > 1:
        counts = events.loc[events["is_replay"], "track"].value_counts()
        parts = [
            f"{counts.get(number, 0)} on track {number} (nodes {_nodes_of(track, number)})"
            for number in range(1, track.n_components + 1)
        ]
        notes.append(
            f"The track graph has {track.n_components} components on which the animal ran, which "
            "are treated as separate tracks. By their decoded paths, the replay events are: "
            f"{'; '.join(parts)}."
        )
    if found.held is not None and found.held.hold:
        notes += describe_held_out(session, found.held)
    return notes


def explanations_of(found: Conclusions) -> list[str]:
    """Say what a result can be mistaken without: why so little is replay, or what it may be.

    One sentence each, which `notes_of` does not have.
    """
    told = []
    if found.calibration is None and found.session.recording.posterior is not None:
        told.append(
            "No significance: without spikes, cells cannot be exchanged. All events count as "
            "replay in which travel is more probable than places that are held, and continuous "
            "movement has a mean probability of at least .5 if the decoder knows of it. The number "
            "of false positives is unknown."
        )
    elif found.calibration is None:
        told.append(
            "No significance: there are decoded places only, so all events count as replay. The "
            "number of false positives is unknown."
        )
    if found.held is not None and not found.held.hold:
        told += describe_held_out(found.session, found.held)
    return told


def describe_held_out(session: Session, held: HeldOut) -> list[str]:
    """Say in how many cells the fields of running hold in events, if it can be said."""
    if not (held.is_tested and session.counts and session.is_decoded_here):
        return []
    if held.are_unrelated:
        return [
            "The fields of running hardly predict which cells fire together in candidate events: "
            "hardly any of these is replay, or their cells have other fields (remapping)."
        ]
    n, n_holds = len(held.holds), int(held.holds.sum())
    text = f"The fields of running predict when cells fire in events for {n_holds} of {n} cells"
    if held.hold:
        return [f"{text}."]
    return [
        f"{text}, and not for the others: these may have remapped, their units may not be the same "
        "in rest, or most candidate events are no replay. If they have remapped, much replay is "
        "missed."
    ]


def _compared_tracks(found: Conclusions) -> list[str]:
    session = found.session
    named = session.judgement.tracks
    tracks = tracks_to_compare(session.track, session.rates, named)
    if tracks is None:
        if session.track.n_components != 2:
            return []
        return ["Track log odds are missing: fewer than two cells have fields on both tracks."]
    n_cells = np.count_nonzero(common_cells(session.rates, *tracks))
    replayed = found.events.loc[found.events["is_replay"], "log_odds_z"].dropna()
    names = [" ".join(nodes) for nodes in named]
    names = names or [_nodes_of(session.track, number) for number in (1, 2)]
    return [
        f"Track log odds compare the nodes {names[0]} (above 0) with {names[1]}, by the {n_cells} "
        f"cells with fields on both. Of {len(replayed)} replay events, {(replayed > 2).sum()} "
        f"favour the first and {(replayed < -2).sum()} the second by more than 2 standard "
        "deviations of shuffles that swap the fields of each cell"
        + (f"; the mean absolute z is {replayed.abs().mean():.1f}." if len(replayed) else ".")
    ]


def _nodes_of(track: BinnedTrack, number: int) -> str:
    edges = np.unique(track.edge[track.component == number - 1])
    return " ".join(str(track.nodes[node]) for node in np.unique(track.edges[edges]))


def session_notes(session: Session) -> list[str]:
    """Say what was prepared, one sentence each."""
    recording, prepared = session.recording, session.prepared
    notes = [describe_pauses(session)] if session.prepared.are_ends_proposed else []
    notes += [*_track_and_fields(session), *recording.unobserved()]
    notes.append(describe_events(prepared.events, session.settings.criteria))
    n_left = prepared.n_unobserved
    if n_left:
        notes.append(
            f"{n_left} of them, in which no cell with a field was observed throughout, "
            f"{agree(n_left, 'is', 'are')} left out."
        )
    n_left = prepared.n_without_positions
    if n_left:
        has, is_left = agree(n_left, "has", "have"), agree(n_left, "is", "are")
        notes.append(f"{n_left} of them {has} no decoded positions and {is_left} left out.")
    n_short = sum(len(each) < 2 for each in session.counts)
    if n_short:
        verb = agree(n_short, "is", "are")
        notes.append(
            f"{n_short} of {len(session.counts)} candidate events {verb} shorter than two time "
            f"bins of {session.time_bin:g} s and {verb} not tested."
        )
    judgement = session.judgement
    notes.append(describe_experience(recording, prepared.experience, judgement.state_size))
    if any(name not in session.pauses for name in judgement.lap_ends):
        notes += [] if prepared.are_ends_proposed else [describe_pauses(session)]
    return notes


def _track_and_fields(session: Session) -> Iterator[str]:
    recording, settings, track = session.recording, session.settings, session.track
    prepared, n_cells = session.prepared, len(session.cells)
    if prepared.never_run:
        yield _never_run(session)
    error = prepared.error
    if error is None:
        return
    yield (
        f"{n_cells} of {len(recording.spikes)} "
        f"{'cells' if recording.electrode is None else 'classes of marks'} have place fields "
        f"{'in the arena' if track.is_arena else 'on the track'}: a rate of at least "
        f"{settings.least_peak:g} Hz somewhere, and at most {settings.largest_mean:g} Hz on "
        "average while the animal runs."
    )
    if np.isnan(error.distance):
        yield (
            "The error of decoding the running animal cannot be measured: it runs too little, or "
            "no cell fires then."
        )
    else:
        is_poor = error.distance > error.by_chance / 2
        yield (
            f"The median error of decoding the running animal is {error.distance:.0f} cm "
            f"{'in the arena' if track.is_arena else 'along the track'} "
            f"({error.by_chance:.0f} by chance); each fifth of its running is decoded with the "
            "fields of the rest."
            + " This is hardly better than chance: little can be decoded."
            * is_poor
        )
    if prepared.seconds_run < _LEAST_RUNNING:
        yield (
            f"The animal runs for only {prepared.seconds_run:.0f} s: fields are uncertain, and "
            "little had been run before the events. Is the epoch of the run right?"
        )
    if track.is_arena:
        yield (
            "In an arena, fields are not estimated by heading: forward and reverse replay are told "
            "by the moves of the animal, and paths that it ran both ways count as ambiguous."
        )
    if prepared.n_headed is not None:
        yield (
            f"The animal runs the track both ways. The fields of {prepared.n_headed} of {n_cells} "
            "cells differ between the two headings, in that two fields predict its spikes in "
            "held-out runs better than one"
            + (
                ". Events are decoded with a place and a heading; the others share one field."
                if session.headings is not None
                else ": too few to tell which heading an event represents (at least "
                f"{LEAST_DIFFERENT}). Forward and reverse replay of paths that were run both ways "
                "cannot be told, and count as ambiguous."
            )
        )
    if track.n_components > 1:
        yield (
            f"The decoded position is on the wrong track {error.wrong_track:.0%} of the time "
            f"({error.wrong_by_chance:.0%} by chance); the error is that of the rest."
        )


def _never_run(session: Session) -> str:
    """Say how much of the track the animal never ran near, and what follows."""
    n_cm, left_out = session.prepared.never_run, session.prepared.left_out
    whole = cut_track(session.recording.graph, session.settings.bin_size).width.sum()
    told = (
        f"{n_cm:.0f} of the {whole:.0f} cm of the track are farther than "
        f"{2 * session.settings.smoothing:g} cm from everywhere that the animal ran, so that "
        "fields there are unknown."
    )
    is_all = n_cm <= left_out + 1e-6
    if left_out:
        told += (
            f" {'These' if is_all else f'{left_out:.0f} cm of these'} are left out: nothing is "
            "decoded there. If the animal did run there, are the nodes of the track graph where "
            "they are in the recording?"
        )
    if not is_all:
        told += f" In {n_cm - left_out:.0f} cm of them, fields are those of the nearest places."
    return told


def describe_events(found: Detected, criteria: Criteria) -> str:
    """Say where candidate events come from, and how many others there are."""
    begin = f"{plural(found.n, 'candidate event')} {agree(found.n, 'was', 'were')}"
    if found.how == "decoded":
        return f"{found.n} candidate events: stretches that were decoded without a gap."
    if found.how == "posterior":
        return (
            f"{begin} found in the {found.minutes:.1f} min in which the animal was slow, wherever "
            f"travel is more probable than places that are held; {found.by_chance:.3g} are found "
            "after an exchange of cells."
        )
    if found.how == "given":
        told = f"{begin} given."
        if n := found.n_overlap:
            told += (
                f" {n} of them {agree(n, 'overlaps', 'overlap')} an earlier one, so that what they "
                "share is counted twice: intervals are too narrow. Join such events, or leave one "
                "out."
            )
        if n := found.n_fast:
            told += (
                f" {n} of {found.n} {agree(n, 'begins', 'begin')} while the animal is faster than "
                f"{criteria.largest_speed:g} cm/s: then cells represent where it runs, in theta "
                "sequences, which look like replay. Leave such events out, or check that events "
                "and positions have one clock."
            )
        return told
    what = "the power in the ripple band" if found.how == "ripples" else "the rate of all cells"
    told = (
        f"{begin} found in which {what} reaches {criteria.threshold:g} standard deviations above "
        f"its mean in rest; they last {criteria.shortest:g} to {criteria.longest:g} s, and the "
        f"animal is slower than {criteria.largest_speed:g} cm/s."
    )
    n_bursts, n_refused = found.n_bursts, found.n_bursts - found.n
    if n_refused:
        told += (
            f" Of {n_bursts} such bursts, {n_refused} ({n_refused / n_bursts:.0%}) "
            f"{agree(n_refused, 'was', 'were')} refused because the animal was faster as they "
            "began or ended."
        )
    if found.n_short or found.n_long:
        told += (
            f" While it was slow, {found.n_short} more {agree(found.n_short, 'was', 'were')} "
            f"shorter, and {found.n_long} longer, of up to {found.longest:g} s."
        )
    if criteria.threshold > LOW_THRESHOLD:
        told += (
            f" {found.n_low} more {agree(found.n_low, 'reaches', 'reach')} only {LOW_THRESHOLD:g} "
            f"to {criteria.threshold:g} standard deviations (--threshold)."
        )
    if found.n_pauses:
        told += (
            f" The field potential has {plural(found.n_pauses, 'pause')} of more "
            f"than {PAUSE:g} s, in which nothing can be found."
        )
    if found.n_long > _MANY_LONG * found.n:
        told += (
            f" Replay that lasts so long is missed: allow it (--longest {found.longest:g}; in "
            f"Python, settings_for(recording, longest={found.longest:g}))."
        )
    return told


def describe_experience(recording: Recording, found: Experienced, state_size: float) -> str:
    """Describe the animal's experience in a sentence, and what is doubtful about it."""
    graph = nx.Graph() if recording.graph is None else recording.graph
    text = (
        f"The animal's experience is {found.n_moves:,} moves in "
        f"{plural(found.n_laps, 'lap')} between {found.n_states} states, at most "
        f"{found.farthest:.3g} cm apart."
    )
    if "arena" in graph.graph:
        return f"{text} Laps do not end in an arena: each stretch on it counts as one lap."
    before = max((end.reach for end in found.ends if end.turns <= end.reach), default=0.0)
    if before > state_size:
        text += (
            f" The animal turns up to {before:.0f} cm before the ends of the track; this counts "
            "as reaching them."
        )
    nodes = [str(node) for node in graph]
    for end in found.ends:
        if end.turns > end.reach:  # too far from the end of the track for having reached it
            told = (
                f"turns up to {end.turns:.0f} cm before the node {nodes[end.state]}, and has "
                f"reached it only within {end.reach:.0f} cm, a quarter of the arm"
                if np.isfinite(end.turns)
                else f"never comes near the node {nodes[end.state]}"
            )
            text += (
                f" The animal {told}, so that laps may be missing: draw the end of the track where "
                "it turns, and leave out arms that it never runs."
            )
    return text


def describe_pauses(session: Session) -> str:
    """Say where laps are proposed to end, or question named ends at which the animal hardly pauses.

    Proposed are those of :func:`analyses.recordings.prepare.lap_ends.proposed_ends`.
    """
    names, pauses = session.judgement.lap_ends, session.pauses
    where = ", ".join(f"{n} times at {name}" for name, n in pauses.items()) or "nowhere"
    if session.prepared.are_ends_proposed:
        why = f"where the animal pauses for {PAUSE_AT_NODE:g} s or more ({where})"
        why = why if pauses else "which the animal passes most"
        return (
            "The track has no dead ends: laps are taken to end at the node "
            f"{' and the node '.join(names)}, {why}. If they end elsewhere, name the nodes "
            "(--lap-end; in Python, lap_ends of Judgement)."
        )
    passed = [name for name in names if name not in pauses]
    return (
        f"Laps were said to end at {', '.join(passed)}, where the animal hardly pauses (for "
        f"{PAUSE_AT_NODE:g} s or more {where}). Replay of runs through such a node counts as a "
        "novel path."
    )
