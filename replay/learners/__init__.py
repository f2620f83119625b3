"""The learners, a file or a folder each, and the list of them.

:mod:`replay.learners.contract` defines what a learner is and how to write one.
"""

import importlib.util
import sys
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from replay.checks import Named, errors_located, located, shown, unknown_name
from replay.learners import (
    adaptive_attractor,
    bayes_adaptive,
    compositional_replay,
    context_reactivation,
    dyna_q,
    episodic_control,
    episodic_sequences,
    full_backups,
    geodesic_representation,
    hierarchical_generative,
    monte_carlo,
    multitask_preplay,
    n_step_td,
    noisy_path_integration,
    policy_rollouts,
    predictive_network,
    prioritized_memory_access,
    prioritized_sweeping,
    q_lambda,
    q_learning,
    remembered_errors,
    retrieved_episodes,
    sfma,
    spectral_generator,
    successor_dyna,
    trajectory_sampling,
)
from replay.learners.contract import Learner, LearnerModule, own_file, resolve
from replay.parts.pauses import ALWAYS, IN_PAUSES

__all__ = ["LEARNERS", "Learner", "check_computes_values", "find_learner", "learner_from_file"]

LEARNERS: Named[tuple[LearnerModule, Any]] = Named("learner")
LEARNERS |= {
    "monte_carlo": (monte_carlo, monte_carlo.Params()),
    "n_step_td": (n_step_td, n_step_td.Params()),
    "q_lambda": (q_lambda, q_lambda.Params()),
    "q_learning": (q_learning, q_learning.Params()),
    "q_learning_optimistic": (q_learning, q_learning.Params(initial_value=5.0)),
    "prioritized_sweeping": (prioritized_sweeping, prioritized_sweeping.Params()),
    "prioritized_sweeping_optimistic": (
        prioritized_sweeping,
        prioritized_sweeping.Params(initial_value=5.0),
    ),
    "prioritized_sweeping_reset": (
        prioritized_sweeping,
        prioritized_sweeping.Params(reset_model=True),
    ),
    "episodic_control": (episodic_control, episodic_control.Params()),
    "dyna_q": (dyna_q, dyna_q.Params()),
    "trajectory_sampling": (trajectory_sampling, trajectory_sampling.Params(replay_at=ALWAYS)),
    "sfma": (sfma, sfma.Params()),
    "sfma_reverse": (sfma, sfma.Params(replay_mode=sfma.REVERSE_MODE)),
    "sfma_dynamic": (sfma, sfma.Params(replay_mode=sfma.DYNAMIC_MODE)),
    "sfma_published": (sfma, sfma.Params(replay_at=IN_PAUSES, preplay=1.0)),
    "episodic_sequences": (episodic_sequences, episodic_sequences.Params()),
    "retrieved_episodes": (retrieved_episodes, retrieved_episodes.Params()),
    "prioritized_memory_access": (prioritized_memory_access, prioritized_memory_access.Params()),
    "prioritized_memory_access_published": (
        prioritized_memory_access,
        prioritized_memory_access.Params(pre_explored=True, one_step_late=True),
    ),
    "memory_access_forgetting": (
        prioritized_memory_access,
        prioritized_memory_access.Params(forgetting=0.02),
    ),
    "bayes_adaptive": (bayes_adaptive, bayes_adaptive.Params()),
    "geodesic_representation": (geodesic_representation, geodesic_representation.Params()),
    "successor_dyna": (successor_dyna, successor_dyna.Params()),
    "remembered_errors": (remembered_errors, remembered_errors.Params()),
    "policy_rollouts": (policy_rollouts, policy_rollouts.Params()),
    "full_backups": (full_backups, full_backups.Params()),
    "spectral_diffusion": (spectral_generator, spectral_generator.Params()),
    "spectral_superdiffusion": (spectral_generator, spectral_generator.Params(stability=0.5)),
    "context_reactivation": (context_reactivation, context_reactivation.Params()),
    "hierarchical_generative": (hierarchical_generative, hierarchical_generative.Params()),
    "adaptive_attractor": (adaptive_attractor, adaptive_attractor.Params()),
    "compositional_replay": (compositional_replay, compositional_replay.Params()),
    "noisy_path_integration": (noisy_path_integration, noisy_path_integration.Params()),
    "predictive_network": (predictive_network, predictive_network.Params()),
    "multitask_preplay": (multitask_preplay, multitask_preplay.Params()),
}
"""Name -> (module, the parameters of this learner); the nine learners of the paper come first."""


def find_learner(learner: str | LearnerModule | Learner, params: Any = None) -> Learner:
    """Look up a learner and check its parameters.

    Parameters
    ----------
    learner : str, module or Learner
        A name in ``LEARNERS``, a module that fulfils the contract, the path of its file
        (``"mine.py"``), or a result of this function.
    params : NamedTuple or mapping, optional
        The module's ``Params``, or the parameters that differ from the learner's defaults.

    Examples
    --------
    >>> find_learner("q_learning", {"learning_rate": 0.5}).params.learning_rate
    0.5
    """
    if isinstance(learner, Learner):
        found = learner
        if params is None:
            return found
        return resolve(found.module, params, name=found.name, defaults=found.params)
    if not isinstance(learner, str):
        return _own(learner, params)
    if learner.endswith(".py"):
        own = learner_from_file(learner)
        if own.__name__ in LEARNERS:
            raise ValueError(f"There is a learner {own.__name__!r} already: rename {learner!r}.")
        return _own(own, params)
    if learner not in LEARNERS:
        raise unknown_name("learner", learner, LEARNERS)
    module, defaults = LEARNERS[learner]
    return resolve(module, params, name=learner, defaults=defaults)


def _own(module: LearnerModule, params: Any) -> Learner:
    file = own_file(module)
    return resolve(module, params) if file is None else located(resolve, file)(module, params)


def learner_from_file(name: str) -> ModuleType:
    """Run a Python file with a learner that fulfils the contract, :mod:`replay.learners.contract`.

    Examples
    --------
    >>> learner_from_file("mine.py")
    Traceback (most recent call last):
    FileNotFoundError: There is no file 'mine.py'. Name a learner or your own Python file.
    """
    path = Path(name)
    if not path.is_file():
        raise FileNotFoundError(
            f"There is no file {shown(name)}. Name a learner or your own Python file."
        )
    return _run(path.resolve(), path.stat().st_mtime_ns)


@cache
def _run(path: Path, changed: int) -> ModuleType:
    specification = importlib.util.spec_from_file_location(path.stem, path)
    if specification is None or specification.loader is None:
        raise ValueError(f"{path} is not a Python file.")
    module = importlib.util.module_from_spec(specification)
    before = sys.path[:]
    sys.path.insert(0, str(path.parent))  # it may import files from its own folder
    try:
        with errors_located(str(path)):
            specification.loader.exec_module(module)
    finally:
        sys.path[:] = before
    return module


def check_computes_values(learner: str | LearnerModule | Learner, params: Any = None) -> None:
    """Refuse a learner that computes no values, since its reward rate is meaningless.

    Examples
    --------
    >>> check_computes_values("dyna_q")
    """
    found = find_learner(learner, params)
    if not found.description.computes_values:
        raise ValueError(
            f"{found.name} computes no values and acts at random, so it has no reward rate to "
            "compare: leave it out here; 'replay compare' shows how it replays."
        )
