"""What an event represents by the model of travel: evidence, posteriors and stretches.

The *evidence* for travel is the logarithm of the probability of the spikes under all three classes
of the model (:mod:`analyses.recordings.prepare.travel_model`), less that under the first two.
In both, it is as likely that an event represents no place at all: where each cell fires at a rate
of its own whatever the place, movement is often found by chance.
Stretches of travel, their sense and their places are posteriors of the same model.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from analyses.recordings.prepare.likelihood import check_likelihoods
from analyses.recordings.prepare.travel_model import SPEEDS, Travel
from replay.checks.arrays import Floats, Ints
from replay.jit import kernel

_CERTAIN = 0.5  # travel is more probable than not
_SMALLEST = 1e-100  # a likelihood
_AT_ONCE = 32  # events, which share the walk through the steps of the model


class Evidence(NamedTuple):
    """The evidence in the spikes of events, in nats, of shape (n_events,) each."""

    travel: Floats  # for travel, against places that are held or drawn anew, or no place
    # for travel or places that are held, against places that are drawn anew in each time bin, or no
    # place
    content: Floats


class TravelPosterior(NamedTuple):
    """What an event represents in each time bin, given all its spikes."""

    travels: Floats  # (n_time,): the probability of travel
    enters: Floats  # (n_time,): the probability that travel begins in this time bin
    # (n_time, n_senses, n_ways): the probability of each way in each sense; their sum is that of
    # travel. In an arena ways are those of bins, to which squares are divided as they are likely
    way: Floats
    speed: Floats  # (n_time, n_speeds): the probability of each speed of travel


class Stretch(NamedTuple):
    """A stretch of travel within an event."""

    # its time bins; `last` is the one after it
    first: int
    last: int
    # (last - first,): its course: the way in each time bin with the least expected distance from
    # where the event is, among those courses that do not turn back (in an arena, the bins)
    ways: Ints
    # the probabilities that cells head with the travel, and against it; 0 without headings
    forward: float
    reverse: float
    speed: float  # the mean speed of travel, in cm/s


def travel_evidence(
    log_likelihoods: ArrayLike, model: Travel, placeless: ArrayLike | None = None
) -> Evidence:
    """Compute the evidence in events of the same length.

    Likelihoods are (n_events, n_time, n_states), and (n_events,) if they represent no place, which
    is unknown where another program has decoded.
    """
    given = np.asarray(log_likelihoods, dtype=float)
    check_likelihoods(given.reshape(-1, given.shape[-1]))
    # The other probabilities are relative to the most likely place in each time bin.
    nowhere = np.full(len(given), -np.inf)
    if placeless is not None:
        nowhere = np.asarray(placeless, dtype=float) - given.max(axis=2).sum(axis=1)
    parts = [np.empty((2, 0))]
    for first in range(0, len(given), _AT_ONCE):
        emission = _emissions(given[first : first + _AT_ONCE], model)
        with_travel = _log_probability(emission, model, True)
        without = _log_probability(emission, model, False)
        anew = np.log(emission[0].mean(axis=1)).sum(axis=0)
        none = nowhere[first : first + _AT_ONCE]
        travel = np.logaddexp(with_travel, none) - np.logaddexp(without, none)
        parts.append(np.stack([travel, with_travel - np.logaddexp(anew, none)]))
    return Evidence(*np.concatenate(parts, axis=1))


def travel_posterior(log_likelihoods: ArrayLike, model: Travel) -> TravelPosterior:
    """Decode an event; likelihoods are (n_time, n_states)."""
    given = check_likelihoods(log_likelihoods)
    emission = _emissions(given[None], model)
    n_time, (n_senses, n_ways), n_speeds = emission.shape[1], model.state.shape, len(model.lost)
    enters, way = np.zeros(n_time), np.zeros((n_time, n_senses, n_ways))
    speed = np.zeros((n_time, n_speeds))
    _smooth(emission, model, enters, way, speed)
    if len(model.square) > len(model.group):
        likely = np.exp(given - given.max(axis=1, keepdims=True))
        total = (np.bincount(model.square) * emission[0, :, :, 0])[:, model.square]
        by_square = way.reshape(n_time, -1, len(model.group))[:, :, model.square]
        way = (by_square * (likely / total)[:, None]).reshape(n_time, n_senses, -1)
    return TravelPosterior(way.sum(axis=(1, 2)), enters, way, speed)


def stretches_of(found: TravelPosterior, model: Travel) -> list[Stretch]:
    """Find the stretches in which travel is more probable than not.

    A stretch ends where travel is likely to have begun anew, so that there and back are two.
    """
    is_travel = found.travels > _CERTAIN
    edges = np.flatnonzero(np.diff(is_travel, prepend=False, append=False))
    speeds = np.array(SPEEDS[-found.speed.shape[1] :])
    stretches, n_apart = [], len(model.apart)
    for begin, end in edges.reshape(-1, 2).tolist():
        # How often travel has begun until each time bin.
        begun = found.travels[begin] + np.append(0, np.cumsum(found.enters[begin + 1 : end]))
        number = np.floor(begun - _CERTAIN).astype(int)
        for part in np.unique(number):
            own = begin + np.flatnonzero(number == part)
            first, last = int(own[0]), int(own[-1]) + 1
            total = found.way[first:last].sum()
            sense = found.way[first:last].sum(axis=(0, 2)) / total
            probability = found.way[first:last].sum(axis=1).reshape(last - first, -1, n_apart)
            expected = probability.sum(axis=1) @ model.apart
            # In an arena it may turn; otherwise any way within reach of the fastest may follow.
            is_arena = probability.shape[1] > 1
            ways = expected.argmin(axis=1) if is_arena else _course(expected, model)
            stretches.append(
                Stretch(
                    first=first,
                    last=last,
                    ways=ways,
                    forward=float(sense[0]) if len(sense) == 3 else 0.0,
                    reverse=float(sense[1]) if len(sense) == 3 else 0.0,
                    speed=float((found.speed[first:last].sum(axis=0) @ speeds) / total),
                )
            )
    return stretches


def _emissions(log_likelihoods: Floats, model: Travel) -> Floats:
    """Compute likelihoods of places, and around them, up to a factor for each time bin.

    `log_likelihoods` is (n_events, n_time, n_states), the result (2, n_time, n_states, n_events):
    events beside each other are computed at once.
    """
    if log_likelihoods.shape[2] != len(model.square):
        raise ValueError(
            f"The likelihoods must have {len(model.square)} columns; got "
            f"{log_likelihoods.shape[2]}."
        )
    n_events, n_time, _ = log_likelihoods.shape
    emission = np.empty((2, n_time, len(model.group), n_events))
    place, around = emission
    if len(model.square) > len(model.group):
        likely = np.exp(log_likelihoods - log_likelihoods.max(axis=2, keepdims=True))
        order, number = np.argsort(model.square, kind="stable"), np.bincount(model.square)
        total = np.add.reduceat(likely[:, :, order], np.cumsum(number) - number, axis=2)
        place[:] = (total / number).transpose(1, 2, 0)
    else:
        place[:] = log_likelihoods.transpose(1, 2, 0)
        place -= place.max(axis=1, keepdims=True)
        np.exp(place, out=place)
    np.matmul(model.around, place, out=around)
    # What is too small to matter would slow the processor down.
    return np.maximum(emission, _SMALLEST, out=emission)


@kernel
def _dwell(
    before: Floats,
    after: Floats,
    drawn: Floats,
    scale: Floats,
    entering: Floats,
    emission: Floats,
    t: int,
    model: Travel,
    total: Floats,
) -> None:
    """Let places be held or drawn anew for one time bin; write their total weight.

    `drawn`, shape (n_kinds, n_groups, n_events), is the weight of each group before, and after;
    `scale` are factors of all weights before.
    """
    # Loops over single numbers, here and below: expressions of arrays take seconds to compile.
    n_kinds, n_states, n_events = before.shape
    n_groups = len(model.size)
    anew, drifted = np.zeros((n_groups, n_events)), np.zeros(n_events)
    for e in range(n_events):
        total[e] = 0.0
    for k in range(n_kinds):
        stay, leave = model.stay[k] * model.kept, (1.0 - model.stay[k]) * model.kept
        for e in range(n_events):
            everywhere = 0.0
            for g in range(n_groups):
                everywhere += drawn[k, g, e]
            for g in range(n_groups):
                here = drawn[k, g, e] / model.size[g] if model.keeps[k] else everywhere / n_states
                anew[g, e] = leave * here * scale[e] + entering[e] * model.often[k]
                drawn[k, g, e] = 0.0
        emits = model.emits[k]
        for x in range(n_states):
            g = model.group[x]
            if model.drifts[k]:
                for e in range(n_events):
                    drifted[e] = 0.0
                for i in range(model.drift_into.begin[0, x], model.drift_into.begin[0, x + 1]):
                    source, share = model.drift_into.other[i], model.drift_into.weight[i]
                    for e in range(n_events):
                        drifted[e] += before[k, source, e] * share
            else:
                for e in range(n_events):
                    drifted[e] = before[k, x, e]
            for e in range(n_events):
                weight = stay * drifted[e] * scale[e] + anew[g, e]
                weight *= emission[emits, t, x, e]
                after[k, x, e] = weight
                drawn[k, g, e] += weight
        for g in range(n_groups):
            for e in range(n_events):
                total[e] += drawn[k, g, e]


@kernel
def _move(
    before: Floats,
    after: Floats,
    scale: Floats,
    entering: Floats,
    emission: Floats,
    t: int,
    model: Travel,
    total: Floats,
) -> None:
    """Let places travel for one time bin; write their total weight. `scale` is as for `_dwell`."""
    n_speeds, n_senses, n_ways, n_events = before.shape
    moved = np.zeros(n_events)
    for e in range(n_events):
        total[e] = 0.0
    for v in range(n_speeds):
        for s in range(n_senses):
            for y in range(n_ways):
                for e in range(n_events):
                    moved[e] = 0.0
                for i in range(model.into.begin[v, y], model.into.begin[v, y + 1]):
                    source, weight = model.into.other[i], model.into.weight[i] * model.kept
                    for e in range(n_events):
                        moved[e] += before[v, s, source, e] * weight
                state = model.state[s, y]
                for e in range(n_events):
                    weight = (moved[e] * scale[e] + entering[e]) * emission[0, t, state, e]
                    after[v, s, y, e] = weight
                    total[e] += weight


@kernel
def _enter(
    weight: Floats, moving: Floats, scale: Floats, n_classes: int, model: Travel, entering: Floats
) -> None:
    """Write the weight with which the classes are entered: all that jumps, and each other state.

    Weights of the classes are (3, n_events), for places that jump, are held, and travel. What
    travels over an end of the track jumps.
    """
    n_speeds, n_senses, n_ways, n_events = moving.shape
    leave = (1.0 - model.kept) / (n_classes - 1)
    n_held = len(model.stay) * len(model.group)
    n_moving = len(model.lost) * model.state.size
    for e in range(n_events):
        jumps, holds, travels = weight[0, e], weight[1, e], weight[2, e]
        entering[0, e] = model.kept * jumps + leave * (holds + travels)
        entering[1, e] = leave * (jumps + travels) / n_held
        entering[2, e] = leave * (jumps + holds) / n_moving
    for v in range(n_speeds):
        for y in range(n_ways):
            lost = model.lost[v, y] * model.kept
            if lost > 0.0:
                for s in range(n_senses):
                    for e in range(n_events):
                        entering[0, e] += moving[v, s, y, e] * lost * scale[e]


@kernel
def _start(n_classes: int, model: Travel, entering: Floats) -> None:
    """Write the weight with which the classes begin."""
    n_held = len(model.stay) * len(model.group)
    n_moving = len(model.lost) * model.state.size
    for e in range(entering.shape[1]):
        entering[0, e] = 1.0 / n_classes
        entering[1, e] = 1.0 / n_classes / n_held
        entering[2, e] = 1.0 / n_classes / n_moving


@kernel
def _log_probability(emission: Floats, model: Travel, with_travel: bool) -> Floats:
    """Compute the log-probability of the spikes of each event by the forward algorithm."""
    _, n_time, n_states, n_events = emission.shape
    n_senses, n_ways = model.state.shape
    n_kinds, n_speeds = len(model.stay), len(model.lost) if with_travel else 0
    n_classes = 3 if with_travel else 2
    held = np.zeros((n_kinds, n_states, n_events))
    held_after = np.zeros((n_kinds, n_states, n_events))
    moving = np.zeros((n_speeds, n_senses, n_ways, n_events))
    moving_after = np.zeros((n_speeds, n_senses, n_ways, n_events))
    weight, entering = np.zeros((3, n_events)), np.zeros((3, n_events))
    drawn = np.zeros((n_kinds, len(model.size), n_events))
    scale, log_probability = np.ones(n_events), np.zeros(n_events)
    for t in range(n_time):
        if t == 0:
            _start(n_classes, model, entering)
        else:
            _enter(weight, moving, scale, n_classes, model, entering)
        for e in range(n_events):
            anywhere = 0.0
            for x in range(n_states):
                anywhere += emission[0, t, x, e]
            weight[0, e] = entering[0, e] * (anywhere / n_states)
        _dwell(held, held_after, drawn, scale, entering[1], emission, t, model, weight[1])
        _move(moving, moving_after, scale, entering[2], emission, t, model, weight[2])
        for e in range(n_events):
            total = weight[0, e] + weight[1, e] + weight[2, e]
            log_probability[e] += np.log(total)
            scale[e] = 1.0 / total
            for each in range(3):
                weight[each, e] *= scale[e]
        held, held_after = held_after, held
        moving, moving_after = moving_after, moving
    return log_probability


@kernel
def _smooth(emission: Floats, model: Travel, enters: Floats, way: Floats, speed: Floats) -> None:
    """Write the posterior of travel in one event by the forward-backward algorithm."""
    _, n_time, n_states, _ = emission.shape
    n_senses, n_ways = model.state.shape
    n_speeds, n_kinds, n_groups = len(model.lost), len(model.stay), len(model.size)
    n_held, n_moving = n_kinds * n_states, n_speeds * n_senses * n_ways
    leave = (1.0 - model.kept) / 2
    # As in `_log_probability`, but all weights of travel are kept, each with its scale.
    held, held_after = np.zeros((n_kinds, n_states, 1)), np.zeros((n_kinds, n_states, 1))
    moving = np.zeros((n_time + 1, n_speeds, n_senses, n_ways, 1))
    weight, entering = np.zeros((3, 1)), np.zeros((3, 1))
    drawn = np.zeros((n_kinds, n_groups, 1))
    scale, outside = np.ones((n_time + 1, 1)), np.zeros(n_time)
    anywhere = np.zeros(n_time)
    for t in range(n_time):
        if t == 0:
            _start(3, model, entering)
        else:
            _enter(weight, moving[t], scale[t], 3, model, entering)
        outside[t] = entering[2, 0]
        for x in range(n_states):
            anywhere[t] += emission[0, t, x, 0]
        anywhere[t] /= n_states
        weight[0, 0] = entering[0, 0] * anywhere[t]
        _dwell(held, held_after, drawn, scale[t], entering[1], emission, t, model, weight[1])
        _move(moving[t], moving[t + 1], scale[t], entering[2], emission, t, model, weight[2])
        scale[t + 1, 0] = 1.0 / (weight[0, 0] + weight[1, 0] + weight[2, 0])
        for each in range(3):
            weight[each, 0] *= scale[t + 1, 0]
        held, held_after = held_after, held
    # Backwards: the probability of all that follows, given each state.
    jumping = 1.0
    onward = np.ones((n_speeds, n_senses, n_ways))
    next_onward = np.ones((n_speeds, n_senses, n_ways))
    kept_places, here = np.ones((n_kinds, n_states)), np.zeros(n_states)
    in_group = np.zeros(n_groups)
    for t in range(n_time - 1, -1, -1):
        rescale, enter_held, enter_moving = scale[t + 1, 0], 0.0, 0.0
        for v in range(n_speeds):
            for s in range(n_senses):
                for y in range(n_ways):
                    now = moving[t + 1, v, s, y, 0] * rescale * onward[v, s, y]
                    way[t, s, y] += now
                    speed[t, v] += now
                    onward[v, s, y] *= emission[0, t, model.state[s, y], 0] * rescale
                    enters[t] += outside[t] * onward[v, s, y]
                    enter_moving += onward[v, s, y]
        jumping *= anywhere[t] * rescale
        for k in range(n_kinds):
            for x in range(n_states):
                kept_places[k, x] *= emission[model.emits[k], t, x, 0] * rescale
                enter_held += model.often[k] * kept_places[k, x]
        enter_held, enter_moving = enter_held / n_held, enter_moving / n_moving
        for v in range(n_speeds):
            for s in range(n_senses):
                for y in range(n_ways):
                    total = model.lost[v, y] * jumping
                    for i in range(model.out.begin[v, y], model.out.begin[v, y + 1]):
                        total += model.out.weight[i] * onward[v, s, model.out.other[i]]
                    next_onward[v, s, y] = model.kept * total + leave * (jumping + enter_held)
        for k in range(n_kinds):
            everywhere = 0.0
            for g in range(n_groups):
                in_group[g] = 0.0
            for x in range(n_states):
                in_group[model.group[x]] += kept_places[k, x]
                everywhere += kept_places[k, x]
            everywhere /= n_states
            for x in range(n_states):
                here[x] = kept_places[k, x]
                if model.drifts[k]:
                    here[x] = 0.0
                    for i in range(model.drift_out.begin[0, x], model.drift_out.begin[0, x + 1]):
                        there = kept_places[k, model.drift_out.other[i]]
                        here[x] += model.drift_out.weight[i] * there
            for x in range(n_states):
                g = model.group[x]
                anew = in_group[g] / model.size[g] if model.keeps[k] else everywhere
                goes_on = model.stay[k] * here[x] + (1.0 - model.stay[k]) * anew
                kept_places[k, x] = model.kept * goes_on + leave * (jumping + enter_moving)
        jumping = model.kept * jumping + leave * (enter_held + enter_moving)
        onward, next_onward = next_onward, onward


@kernel
def _course(expected: Floats, model: Travel) -> Ints:
    """Find the course with the least sum of expected distances, shape (n_time, n_ways)."""
    n_time, n_ways = expected.shape
    fastest = len(model.into.begin) - 1
    total = np.zeros((n_time, n_ways))
    source = np.zeros((n_time, n_ways), dtype=np.int64)
    for t in range(n_time):
        for y in range(n_ways):
            least, come_from = (0.0, y) if t == 0 else (np.inf, y)
            if t > 0:
                for i in range(model.into.begin[fastest, y], model.into.begin[fastest, y + 1]):
                    source_of = model.into.other[i]
                    if total[t - 1, source_of] < least:
                        least, come_from = total[t - 1, source_of], source_of
            total[t, y] = least + expected[t, y]
            source[t, y] = come_from
    course = np.zeros(n_time, dtype=np.int64)
    here = total[n_time - 1].argmin()
    for t in range(n_time - 1, -1, -1):
        course[t] = here
        here = source[t, here]
    return course
