"""The accounts of replay that are compared: learners and controls, with priors of free parameters.

An account says what is replayed next; most accounts leave parameters open. Each of these has a
prior, so that an account is judged by all its possible settings, not by a single one.
``as_published`` has the values that its authors used; parameters that they don't mention keep the
learner's own default.

A pause ends after a number of backups. In half of all draws each, it may also end earlier, when the
next backup is not worth its time, or at random (see `replay.parts.pauses`). Otherwise all pauses
would be equally long, and rates of replay could not depend on reward or novelty. Whether there is
replay before a run, too, has one prior in all accounts and controls, unless an account's definition
fixes it. These and other parameters of the outer shell are listed in `SHELL`.

Controls do not learn. A finding that they predict as well as an account is no evidence for it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from analyses.findings.controls import CONTROLS
from analyses.findings.priors import (
    LogUniform,
    OneOf,
    Parameter,
    Prior,
    Sometimes,
    Uniform,
    WholeNumber,
    draw_parameters,
)
from replay.checks import unknown_name

__all__ = ["ACCOUNTS", "SHELL", "Account", "draw_settings", "find_account"]


@dataclass(frozen=True)
class Account:
    """An account of replay: a learner or control, and what is known about its parameters.

    Attributes
    ----------
    generator : str
        A name in ``replay.learners.LEARNERS`` or in ``CONTROLS``.
    priors : mapping of str to Prior
        Free parameters with their priors.
    fixed : mapping of str to float, int, bool or str
        Fixed parameters that differ from the learner's own defaults.
    as_published : mapping of str to float, int, bool or str, or None
        The parameters that its authors used; None if they published none.
    source : str
        Authors and year.
    """

    generator: str
    priors: Mapping[str, Prior] = field(default_factory=dict)
    fixed: Mapping[str, Parameter] = field(default_factory=dict)
    as_published: Mapping[str, Parameter] | None = None
    source: str = ""

    @property
    def is_control(self) -> bool:
        """Whether it is a control, which does not learn."""
        return self.generator in CONTROLS


_DISCOUNT = Uniform(
    0.8, 0.99, "from Mattar & Daw (2018), 0.9, to Brea (2018), 0.99, and a little below"
)
_LEARNING_RATE = LogUniform(0.1, 1.0, "from the textbook's 0.1 to Mattar & Daw's (2018) 1")
_REACTIVATIONS = WholeNumber(
    5, 80, "a ripple spans 5 to 20 places, and a stop has one to several ripples"
)
_POPS = WholeNumber(3, 80, "from Brea (2018), 3, to four times the places of a track")
_THRESHOLD = LogUniform(1e-8, 0.1, "from Brea's (2018) 1e-8, which is none, to a tenth of a reward")
_REVERSIBLE = OneOf(
    (False, True), "whether a corridor that was run is known to lead back is not known of rats"
)
_ENDS: dict[str, Prior] = {
    "backup_cost": Sometimes(
        0.01, 1.0, "from a third fewer backups to one in a pause or two, as measured"
    ),
    "mean_backups": Sometimes(2.0, 40.0, "from a few places to twice those of a track"),
}
_PRE_EXPLORED = OneOf(
    (False, True), "whether an animal knows a maze before its first lap is not known"
)
_REPLAY_AT = OneOf(
    ("pauses", "end_and_rest"),
    "after a run and at rest there is replay; whether there is any before a run, too, is not known",
)
_ENDS_OF_ACCESS: dict[str, Prior] = {
    "backup_cost": Sometimes(
        1e-4, 0.1, "from a third fewer backups to two in a pause, as measured"
    ),
    "mean_backups": _ENDS["mean_backups"],
}
_SWEEPING: dict[str, Prior] = {
    "discount": _DISCOUNT,
    "max_pops": _POPS,
    "min_priority": _THRESHOLD,
    "reversible": _REVERSIBLE,
    **_ENDS,
}
SHELL = ("replay_at", "backup_cost", "mean_backups", "pre_explored", "preplay", "reversible")
"""Parameters of the outer shell, which belong to no account and have one prior: when replay takes
place, when a pause ends, and what is known of a maze besides its laps. The published definitions of
some accounts fix when they replay: at the end of the lap that they replay (episodic control and
episodic sequences, sweeping with a reset), or where a path from the animal can begin (trajectory
sampling, retrieved episodes)."""

ACCOUNTS: dict[str, Account] = {
    "prioritized_sweeping": Account(
        "prioritized_sweeping",
        _SWEEPING
        | {
            "priority": OneOf(
                ("change", "need", "recency", "random"),
                "change is the original; Mattar & Daw (2018) argue for need",
            ),
            "replay_at": _REPLAY_AT,
        },
        as_published={
            "discount": 0.99,
            "max_pops": 3,
            "min_priority": 1e-8,
            "replay_at": "pauses",
        },
        source="Moore & Atkeson 1993, Brea 2018",
    ),
    "prioritized_sweeping_reset": Account(
        "prioritized_sweeping_reset",
        _SWEEPING,
        as_published={"discount": 0.99, "max_pops": 3, "min_priority": 1e-8},
        source="Brea 2018",
    ),
    "full_backups": Account(
        "full_backups",
        _SWEEPING | {"replay_at": _REPLAY_AT},
        as_published={
            "discount": 0.99,
            "max_pops": 3,
            "min_priority": 1e-8,
            "replay_at": "pauses",
        },
        source="Moore & Atkeson 1993, Peng & Williams 1993",
    ),
    "prioritized_memory_access": Account(
        "prioritized_memory_access",
        {
            "discount": _DISCOUNT,
            "learning_rate": _LEARNING_RATE,
            "inverse_temperature": LogUniform(1.0, 20.0, "around Mattar & Daw's (2018) 5"),
            "max_backups": _REACTIVATIONS,
            "min_priority": LogUniform(
                1e-10, 1e-2, "from the floor under the gain, 1e-10, to a hundredth of a reward"
            ),
            "transition_rate": Uniform(0.1, 0.95, "up to Mattar & Daw's (2018) 0.9"),
            "gain_floor": OneOf(
                (0.0, 1e-10), "the theory as it stands, and as Mattar & Daw (2018) ran it"
            ),
            "pre_explored": _PRE_EXPLORED,
            "replay_at": _REPLAY_AT,
            **_ENDS_OF_ACCESS,
        },
        as_published={
            "discount": 0.9,
            "learning_rate": 1.0,
            "inverse_temperature": 5.0,
            "max_backups": 20,
            "min_priority": 0.0,
            "transition_rate": 0.9,
            "gain_floor": 1e-10,
            "pre_explored": True,
            "one_step_late": True,
        },
        source="Mattar & Daw 2018",
    ),
    "memory_access_forgetting": Account(
        "memory_access_forgetting",
        {
            "discount": _DISCOUNT,
            "learning_rate": _LEARNING_RATE,
            "inverse_temperature": LogUniform(1.0, 20.0, "around Mattar & Daw's (2018) 5"),
            "max_backups": _REACTIVATIONS,
            "forgetting": LogUniform(
                1e-4, 0.1, "half of a value is lost in a few steps, or in a session"
            ),
            "min_priority": LogUniform(1e-10, 1e-2, "from nothing to a hundredth of a reward"),
            "transition_rate": Uniform(0.1, 0.95, "up to Mattar & Daw's (2018) 0.9"),
            "pre_explored": _PRE_EXPLORED,
            "replay_at": _REPLAY_AT,
            **_ENDS_OF_ACCESS,
        },
        fixed={"gain_floor": 0.0},  # there is always something to gain
        as_published={
            "inverse_temperature": 10.0,  # 1, where rewards are about 10
            "learning_rate": 0.3,
            "forgetting": 0.5,
            "forgets_to_mean": True,
            "min_priority": 1e-4,
            "gain_floor": 0.0,
        },
        source="Antonov et al. 2022",
    ),
    "bayes_adaptive": Account(
        "bayes_adaptive",
        {
            "discount": _DISCOUNT,
            "learning_rate": _LEARNING_RATE,
            "replay_rate": _LEARNING_RATE,
            "inverse_temperature": LogUniform(
                1.0, 20.0, "around the 2 and 10 of Antonov & Dayan (2025)"
            ),
            "forgetting": LogUniform(
                1e-4, 0.1, "up to and beyond the 0.05 of Antonov & Dayan (2025) in a known maze"
            ),
            "prior_open": LogUniform(
                1.0, 8.0, "from even odds to Antonov & Dayan's (2025) seven to two, and beyond"
            ),
            "volatility": LogUniform(
                0.002, 0.05, "what was found is in doubt again after a few laps, or a session"
            ),
            "untried": OneOf(
                ("unknown", "way_back", "seen"), "what an animal knows of untried ways is not known"
            ),
            "max_backups": _REACTIVATIONS,
            "min_priority": LogUniform(
                1e-8, 1e-3, "around the 1e-6 to 1e-3 of Antonov & Dayan (2025)"
            ),
            "backup_cost": Sometimes(
                1e-6, 1e-3, "from a third fewer backups to few or none in most mazes, as measured"
            ),
            "mean_backups": _ENDS["mean_backups"],
            "replay_at": _REPLAY_AT,
        },
        as_published={
            "discount": 0.9,
            "inverse_temperature": 2.0,
            "learning_rate": 1.0,
            "replay_rate": 1.0,
            "one_try_tells": True,
            "untried": "seen",
            "n_uncertain": 3,  # their horizon spans their maze, as the default spans all of these
            "min_priority": 1e-6,
            "max_backups": 100,  # theirs are not limited, and come after each step
        },
        source="Antonov & Dayan 2025",
    ),
    "geodesic_representation": Account(
        "geodesic_representation",
        {
            "discount": _DISCOUNT,
            "learning_rate": _LEARNING_RATE,
            "replay_rate": _LEARNING_RATE,
            "inverse_temperature": LogUniform(
                1.0, 20.0, "around the 2.5 and 5 of Sagiv et al. (2025)"
            ),
            "goal_rate": LogUniform(
                0.01, 1.0, "from goals of a whole session to the latest; theirs are 0.04 and 0.05"
            ),
            "forgetting": LogUniform(
                0.005, 0.2, "around the 0.06 of Sagiv et al. (2025); with none nothing is gained"
            ),
            "max_backups": _REACTIVATIONS,
            "min_priority": LogUniform(1e-10, 1e-2, "from nothing to a hundredth of a reward"),
            "pre_explored": _PRE_EXPLORED,
            "replay_at": _REPLAY_AT,
            **_ENDS_OF_ACCESS,
        },
        as_published={
            "discount": 0.95,
            "policy": "softmax",
            "inverse_temperature": 5.0,
            "learning_rate": 1.0,
            "replay_rate": 0.7,
            "goal_rate": 0.05,
            "forgetting": 0.06,
            "replay_at": "episode_end",
            "max_backups": 3,
            "pre_explored": True,
        },
        source="Sagiv et al. 2025",
    ),
    "dyna_q": Account(
        "dyna_q",
        {
            "discount": _DISCOUNT,
            "learning_rate": _LEARNING_RATE,
            "n_replays": _REACTIVATIONS,
            "replay_at": _REPLAY_AT,
            "reversible": _REVERSIBLE,
            **_ENDS,
        },
        as_published={"discount": 0.95, "learning_rate": 0.1, "n_replays": 50},
        source="Sutton 1990, Sutton & Barto 2018",
    ),
    "successor_dyna": Account(
        "successor_dyna",
        {
            "discount": _DISCOUNT,
            "learning_rate": _LEARNING_RATE,
            "reward_rate": _LEARNING_RATE,
            "n_replays": _REACTIVATIONS,
            "replay_at": _REPLAY_AT,
            "forgetting": Uniform(0.0, 0.5, "Russek et al. (2017) draw the latest steps first"),
        },
        as_published={
            "discount": 0.9,
            "learning_rate": 0.3,
            "reward_rate": 0.3,
            "n_replays": 10,
            "forgetting": 0.993,  # 1 - exp(-5)
            "on_policy": True,
        },
        source="Russek et al. 2017",
    ),
    "remembered_errors": Account(
        "remembered_errors",
        {
            "discount": _DISCOUNT,
            "learning_rate": _LEARNING_RATE,
            "n_replays": _REACTIVATIONS,
            "replay_at": _REPLAY_AT,
            "bias": OneOf(
                ("proportional", "prioritized"), "Roscow et al. (2025) have both biases by error"
            ),
        },
        as_published={
            "discount": 1.0,  # this and the learning rate: medians of their fits to six rats
            "learning_rate": 0.005,
            "n_replays": 20,
            "bias": "proportional",
            "renew": True,
        },
        source="Roscow et al. 2025",
    ),
    "trajectory_sampling": Account(
        "trajectory_sampling",
        {
            "discount": _DISCOUNT,
            "learning_rate": _LEARNING_RATE,
            "n_replays": _REACTIVATIONS,
            "epsilon": Uniform(0.0, 0.5, "how often a simulated step is not the best known one"),
            "reversible": _REVERSIBLE,
            **_ENDS,
        },
        as_published={  # of Fig. 8.8, whose backups are expected ones: they go all the way
            "discount": 1.0,
            "epsilon": 0.1,
            "learning_rate": 1.0,
        },
        source="Sutton & Barto 2018",
    ),
    "sfma": Account(
        "sfma",
        {
            "discount": _DISCOUNT,
            "learning_rate": _LEARNING_RATE,
            "n_replays": _REACTIVATIONS,
            "replay_mode": OneOf(
                ("default", "reverse", "dynamic"), "Diekmann & Cheng (2023) study all three"
            ),
            "similarity_discount": Uniform(
                0.1, 0.9, "Diekmann & Cheng (2023) use 0.1, and vary it up to 0.9"
            ),
            "inverse_temperature": LogUniform(
                3.0, 30.0, "around the 5 to 15 of Diekmann & Cheng (2023)"
            ),
            "inhibition_decay": Uniform(0.5, 0.99, "around Diekmann & Cheng's (2023) 0.9"),
            "reward_modulation": LogUniform(0.1, 10.0, "around Diekmann & Cheng's (2023) 1"),
            "replay_at": _REPLAY_AT,
            "preplay": OneOf(
                (0.0, 1.0), "whether an animal that sees a maze knows its ways is not known"
            ),
            **_ENDS,
        },
        as_published={
            "discount": 0.99,
            "learning_rate": 0.9,
            "n_replays": 10,
            "replay_mode": "default",
            "similarity_discount": 0.1,
            "inverse_temperature": 9.0,
            "inhibition_decay": 0.9,
            "reward_modulation": 1.0,
            "replay_at": "pauses",
            "preplay": 1.0,
        },
        source="Diekmann & Cheng 2023",
    ),
    "episodic_control": Account(
        "episodic_control", {"discount": _DISCOUNT}, source="Lengyel & Dayan 2008, Brea 2018"
    ),
    "episodic_sequences": Account(
        "episodic_sequences",
        {
            "discount": _DISCOUNT,
            "expected_return": Uniform(-1.0, 1.0, "from remembering all to the best laps only"),
            **_ENDS,
        },
        source="Lengyel & Dayan 2008",
    ),
    "retrieved_episodes": Account(
        "retrieved_episodes",
        {
            "discount": _DISCOUNT,
            "n": WholeNumber(5, 40, "from half a track to two mazes"),
            "n_retrieved": WholeNumber(1, 10, "around the 5 that the learner has"),
            "n_remembered": WholeNumber(100, 10_000, "from a few laps to a session and more"),
            **_ENDS,
        },
        source="Gershman & Daw 2017",
    ),
    "spectral_generator": Account(
        "spectral_diffusion",
        {
            "tempo": LogUniform(0.1, 10.0, "from jumps across a track to steps to neighbours"),
            "stability": Uniform(
                0.5, 1.1, "from McNamee et al.'s (2021) superdiffusion to what they fit to sleep"
            ),
            "goal_weight": LogUniform(1.0, 100.0, "from none to McNamee et al.'s (2021) 100"),
            "dwell": OneOf((False, True), "McNamee et al. (2021) have both"),
            "least_autocorrelated": OneOf(
                (False, True),
                "the other spectrum of McNamee et al. (2021), of a graph that is known",
            ),
            "n_replays": _REACTIVATIONS,
            "replay_at": _REPLAY_AT,
        },
        as_published={
            "tempo": 5.0 / 15.0**0.5,  # tau = 5, with a jump rate of 15
            "stability": 0.5,
            "goal_weight": 100.0,
            "dwell": False,
            "n_replays": 10,
        },
        source="McNamee et al. 2021",
    ),
    "context_reactivation": Account(
        "context_reactivation",
        {
            "drift": Uniform(0.3, 0.95, "from contexts that last for many places to few"),
            "item_to_context": LogUniform(
                0.01, 1.0, "from places that keep their own context to Zhou et al.'s (2025) mixture"
            ),
            "salience": LogUniform(0.1, 10.0, "rewards are encoded faster; by how much is open"),
            "replay_share": Uniform(0.0, 0.1, "replay teaches too, but less than experience"),
            "choice_exponent": LogUniform(1.0, 20.0, "from matching to nearly the most active"),
            "stopping": Uniform(0.02, 0.2, "5 to 50 places, as many as a ripple spans"),
            "n_replays": _REACTIVATIONS,
            "replay_at": _REPLAY_AT,
        },
        source="Zhou et al. 2025",
    ),
    "hierarchical_generative": Account(
        "hierarchical_generative",
        {
            "n_maps": WholeNumber(2, 10, "around the 5 of Stoianov et al.'s (2022) trained model"),
            "concentration": LogUniform(0.01, 1.0, "from maps of what was run to blurred ones"),
            "map_concentration": LogUniform(0.1, 10.0, "from few maps to many, around an even 1"),
            "trace_decay": Uniform(0.5, 0.99, "from sequences of a few places to whole laps"),
            "replay_share": Uniform(0.0, 0.5, "replay teaches maps, but less than experience"),
            "n_replays": _REACTIVATIONS,
            "replay_at": _REPLAY_AT,
        },
        as_published={"n_maps": 5, "n_replays": 30},
        source="Stoianov et al. 2022",
    ),
    "adaptive_attractor": Account(
        "adaptive_attractor",
        {
            "adaptation": Uniform(
                0.5, 3.5, "from bumps that diffuse to the strongest of Ji et al. (2025)"
            ),
            "noise": LogUniform(0.01, 1.0, "from smooth sweeps to the jumps of Levy flights"),
            "adaptation_time": LogUniform(5.0, 48.0, "from fast to Ji et al.'s (2025) 48"),
            "width": Uniform(0.8, 2.0, "wider bumps, of three places, jump from arm to arm"),
            "strength": Uniform(1.4, 4.0, "from Ji et al.'s (2025) to firmer bumps"),
            "n_replays": _REACTIVATIONS,
            "replay_at": _REPLAY_AT,
        },
        fixed={"duration": 400.0},
        as_published={
            "adaptation": 1.5,
            "adaptation_time": 48.0,
            "strength": 1.426,  # J0 = 1 and k = 5 of 512 neurons, a = 0.4 rad
            "duration": 200.0,
        },
        source="Ji et al. 2025",
    ),
    "compositional_replay": Account(
        "compositional_replay",
        {
            "away": LogUniform(
                0.1, 20.0, "from random walks to straight paths: Bakermans et al. (2025) have both"
            ),
            "coverage": LogUniform(
                0.1, 10.0, "new memories are best; by how much they are preferred is open"
            ),
            "from_landmark": OneOf((False, True), "Bakermans et al. (2025) have both"),
            "length": WholeNumber(5, 20, "a ripple spans 5 to 20 places; theirs are 5 to 15"),
            "n_replays": _REACTIVATIONS,
            "replay_at": _REPLAY_AT,
        },
        as_published={
            "away": 1.5,
            "coverage": 0.0,
            "from_landmark": True,
            "length": 15,
            "n_replays": 74,  # five replays
        },
        source="Bakermans et al. 2025",
    ),
    "policy_rollouts": Account(
        "policy_rollouts",
        {
            "discount": _DISCOUNT,
            "learning_rate": _LEARNING_RATE,
            "rollout_rate": LogUniform(
                1.0, 16.0, "around the 4 to 5 that fit the agents of Jensen et al. (2024) best"
            ),
            "length": WholeNumber(
                8, 80, "theirs are up to 8, which spans their maze of 4 by 4; 80 spans all of these"
            ),
            "n_rollouts": WholeNumber(1, 8, "a stop has one to several ripples"),
            "backup_cost": LogUniform(
                0.03, 3.0, "a rollout takes 0.3 moves in Jensen et al. (2024), by choice"
            ),
            "pre_explored": _PRE_EXPLORED,
        },
        fixed={"each_step": False},  # animals of these tasks pause between laps
        as_published={
            "discount": 1.0,
            "rollout_rate": 4.0,
            "length": 8,
            "n_rollouts": 50,  # theirs are not limited
            "backup_cost": 0.3,
            "each_step": True,
            "pre_explored": True,  # it sees the walls
        },
        source="Jensen et al. 2024",
    ),
    **{
        name: Account(name, {**control.priors, "replay_at": _REPLAY_AT}, source="control")
        for name, control in CONTROLS.items()
    },
}
"""Name -> account; the controls come last. Monte Carlo learning is left out, as it replays the same
as episodic control: the last episode backwards."""


def find_account(name: str) -> Account:
    """Look up an account.

    Examples
    --------
    >>> find_account("sfma").source
    'Diekmann & Cheng 2023'
    """
    if name not in ACCOUNTS:
        raise unknown_name("account of replay", name, ACCOUNTS)
    return ACCOUNTS[name]


def draw_settings(
    account: Account, n_draws: int, rng: np.random.Generator
) -> Iterator[dict[str, Parameter]]:
    """Draw all parameters of an account from their priors.

    One dict per draw, with the fixed parameters; all others keep the learner's defaults.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> [sorted(each) for each in draw_settings(ACCOUNTS["episodic_control"], 2, rng)]
    [['discount'], ['discount']]
    """
    for drawn in draw_parameters(account.priors, n_draws, rng):
        yield {**account.fixed, **drawn}
