"""The contract of a learner; learners do what their descriptions say."""

import difflib
import inspect
import math
import re
import types
from typing import Annotated, NamedTuple

import numpy as np
import pytest

from replay import LEARNERS, simulate
from replay.checks import errors_located
from replay.learners import contract, find_learner, q_learning
from replay.learners.contract import Pause, Sizes
from replay.log.backups import PHASES, REST, backup_buffer
from replay.worlds.mazes import from_ascii

MAZE = from_ascii("S....G")
FLAGS = [name for name, value in contract.Description._field_defaults.items() if value is False]

VARIANTS = [
    *((name, {}) for name in LEARNERS),
    *(("prioritized_sweeping", {"replay_at": moment}) for moment in ("episode_end", "rest")),
    ("full_backups", {"replay_at": "start_and_end"}),
    ("sfma", {"replay_at": "pauses"}),
    ("prioritized_memory_access", {"one_step_late": True}),
]
VARIANT = pytest.mark.parametrize(
    ("learner", "params"), VARIANTS, ids=["-".join(map(str, (n, *p.values()))) for n, p in VARIANTS]
)


def described(learner, params=None):
    return find_learner(learner, params).description


def rests(run, learner, params):
    """Tell whether a learner replays in a rest after a run."""
    found = find_learner(learner, params)
    log = backup_buffer(1000, "replay", found.description.evaluates)
    pause = Pause(REST, 0, False)
    found.replay(found.params, run.memory, pause, np.random.default_rng(0), log)
    return bool((log.rows["phase"][: log.counter[1]] == REST).any())


@VARIANT
def test_replay_is_logged_in_the_pauses_that_are_named(learner, params, plain):
    # Reward is met for the last time in the last step, so that something is left to be told.
    n_steps = 1
    while not simulate(MAZE, learner, params, n_steps=n_steps).log.steps["terminated"].iloc[-1]:
        n_steps += 1
    many = 600 if learner == "bayes_adaptive" else 200  # its replays are rare
    phases = set()
    for steps, seed in ((n_steps, 0), (many, 0), (many, 1)):
        run = simulate(MAZE, learner, params, n_steps=steps, seed=seed)
        phases |= set(run.log.backups["phase"].unique())
        if rests(run, learner, params):
            phases.add(PHASES[REST])
    assert phases == {PHASES[phase] for phase in described(learner, params).phases}


@pytest.mark.parametrize("learner", LEARNERS)
def test_sources_are_references_of_the_module(learner):
    module, _ = LEARNERS[learner]
    told = described(learner)
    for source in told.source.split(", "):
        authors, year = source.rsplit(" ", 1)
        assert re.search(rf"{authors} \({year}\)", " ".join(module.__doc__.split())), source


@pytest.mark.parametrize("learner", LEARNERS)
def test_a_priority_is_named_if_anything_is_replayed(learner):
    told = described(learner)
    assert bool(told.priority) == bool(told.phases)
    assert told.stores


def test_no_two_learners_say_the_same():
    descriptions = [described(learner)._replace(label="") for learner in LEARNERS]
    assert len(set(descriptions)) == len(LEARNERS)
    assert len({described(learner).label for learner in LEARNERS} - {""}) == len(LEARNERS)


def test_parameters_tell():
    bounded = {"capacity": 3, "retention": "fading", "priority": "recency"}
    told = described("prioritized_sweeping", bounded)
    assert (told.stores, told.priority) == ("a model of fading transitions", "latest change of V")
    assert described("prioritized_memory_access", {"need": "one"}).priority == "gain"
    indifferent = {"need": "one", "use_gain": False, "replay_at": "step"}
    told = described("prioritized_memory_access", indifferent)
    assert (told.priority, told.pauses) == ("any", "steps, ends")
    assert described("n_step_td", {"trace_decay": 0.8}).stores.endswith("traces")


def own(**members):
    """Make a module that is a learner, with other or more members."""
    made = types.SimpleNamespace(__name__="own")
    taken = ("Params", "Memory", "init", "learn", "most_backups")
    vars(made).update({name: getattr(q_learning, name) for name in taken} | members)
    return made


def test_what_a_module_lacks_is_the_default():
    found = find_learner(own())
    assert (found.replay, found.act, found.explore) == (
        contract.replay,
        contract.act,
        contract.explore,
    )
    assert not any(getattr(found.description, flag) for flag in FLAGS)
    assert found.description.computes_values
    assert not found.explores
    assert found.compiled
    assert math.isnan(found.n_words(found.params, None, contract.Known(1, 1)))
    assert found.causes(None).size == 0
    assert found.description.pauses == "never"


def own_with(**flags):
    """Make a module whose description has other flags, where an action is often random."""

    def description(params):
        given = flags if params.epsilon > 0.5 else {}
        return contract.Description("values", (), "", "nobody", **given)

    return own(description=description)


@pytest.mark.parametrize("flag", FLAGS)
def test_flags_depend_on_parameters(flag):
    module = own_with(**{flag: True})
    told = [getattr(described(module, {"epsilon": e}), flag) for e in (0.1, 0.9)]
    assert told == [False, True]


@pytest.mark.parametrize("flag", FLAGS)
@pytest.mark.parametrize("former", [True, lambda params: True])
def test_a_flag_is_no_function_of_its_own(flag, former):
    with pytest.raises(TypeError, match=f"{flag} of the learner 'own' is no function but a field"):
        find_learner(own(**{flag: former}))


def test_who_learns_on_policy_acts_first():
    assert described(own_with(learns_on_policy=True), {"epsilon": 0.9}).acts_before_learning
    assert described("n_step_td").acts_before_learning
    assert described("q_learning", {"act_before_update": True}).acts_before_learning
    assert not described("q_learning").acts_before_learning


def test_no_function_of_a_learner_is_nearly_a_hook():
    """A misspelt hook would be lost in silence."""
    known = {hook.__name__ for hook in contract.HOOKS} | {"init", "learn", "most_backups"}
    for module, _ in LEARNERS.values():
        for name, function in inspect.getmembers(module, inspect.isfunction):
            is_own = function.__module__.startswith(module.__name__) and not name.startswith("_")
            if is_own and name not in known:
                near = difflib.get_close_matches(name, known, cutoff=0.85)
                assert not near, f"{module.__name__} has {name}, which is no hook"


class Ranged(NamedTuple):
    discount: float = 0.9
    epsilon: float = 0.1
    width: Annotated[float, "of a door", contract.Between(1.0, 2.0)] = 1.5
    order: Annotated[int, contract.Choice(("up", "down"))] = 0
    free: float = 0.0


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"width": 3}, "width of 'own' must be between 1 and 2, got 3.0"),
        ({"order": "left"}, "order of 'own' must be one of up, down; got 'left'"),
        ({"order": 2}, "order of 'own' must be one of up, down; got 2"),
        ({"discount": 2}, "discount of 'own' must be between 0 and 1, got 2.0"),
    ],
)
def test_ranges_stand_beside_parameters(given, message):
    with pytest.raises(ValueError, match=message):
        find_learner(own(Params=Ranged), given)


def test_parameters_within_their_ranges():
    found = find_learner(own(Params=Ranged), {"order": "down", "width": 2, "free": -1e300})
    assert found.parameters == {
        "discount": 0.9, "epsilon": 0.1, "width": 2.0, "order": "down", "free": -1e300,
    }  # fmt: skip
    assert found.params.order == 1
    assert find_learner(found) is found
    assert find_learner(found, {"width": 1}).params == found.params._replace(width=1.0)


def test_a_hook_that_is_no_function():
    with pytest.raises(TypeError, match="explore of the learner 'own' must be a function"):
        find_learner(own(explore=True))


OWN = """
from typing import NamedTuple
import numpy as np
from replay.learners.contract import Description
from replay.log.backups import ONLINE, record

class Params(NamedTuple):
    discount: float = 0.99
    epsilon: float = 0.1

class Memory(NamedTuple):
    action_values: np.ndarray

def init(params, sizes):
    return Memory(np.zeros((sizes.n_states, sizes.n_actions)))

def most_backups(params, memory):
    return 2

def learn(params, memory, transition, log):
    Q, s, a, s_next = memory.action_values, transition.state, transition.action, 0
    {line}
"""


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("memory.action_value[s, a] = 1", "line 22 cannot be compiled: Unknown attribute 'action_"),
        ("Q[s, a] = nothing", "line 22 cannot be compiled: NameError: name 'nothing' is not"),
        ("Q[s, a] = np.nothing(1)", "line 22 cannot be compiled: module 'numpy' has no attribute"),
        ("x = 'a' + 1", r"line 22 cannot be compiled: No implementation of .* for add\("),
        ("Q[10**6, a] = 1", "IndexError: index is out of bounds. With COMPILED = False"),
        ("raise ValueError('mine')", "line 22: ValueError: mine"),
        ("record(log, ONLINE, 99, a, s_next, 0.0, 0.0)", "step 0 with the state 99; .* 0 to 5"),
        *(
            pytest.param(line, message, marks=pytest.mark.slow)
            for line, message in (
                (
                    "record(log, ONLINE, s, a, -1, 0.0, 0.0)",
                    "with the next_state -1; .* from 0 to 5",
                ),
                ("record(log, ONLINE, s, 4, 0, 0.0, 0.0)", "with the action 4; .* from -1 to 3"),
                ("record(log, 7, s, a, 0, 0.0, 0.0)", "with the phase 7; it must be from 0 to 5"),
                (
                    "record(log, ONLINE, s, a, 0, 0.0, 0.0, cause=0)",
                    "with the cause 0; .* -1 to -1",
                ),
                (
                    "record(log, ONLINE, 0, a, 1, 0.0, 0.0, "
                    "cause=record(log, ONLINE, 3, a, 4, 0.0, 0.0))",
                    "at step 0 from state 0 to 1 whose cause neither begins where it leads",
                ),
            )
        ),
        (
            "record(log, 3, s, a, s, 0.0, 0.0)\ndef description(params):\n"
            "    return Description('', (2,), '', '')",
            "at step 0 in the phase 'episode_end', which is not among the phases",
        ),
        ("pass\ndef act(params, memory, state, rng):\n    return 4", "act() must return an action"),
    ],
)
def test_an_error_of_ones_own_learner_tells_its_line(tmp_path, line, message):
    """Whether it cannot be compiled, is wrong when it runs, or logs what is not in the world."""
    file = tmp_path / "mine.py"
    file.write_text(OWN.replace("{line}", line))
    words = re.escape(str(file)) + ".*" + message.replace("act()", r"act\(\)")
    with pytest.raises(ValueError, match=words) as raised:
        simulate(MAZE, str(file), n_steps=50, log="all")
    assert len(str(raised.value).splitlines()) == 1
    if "compiled" not in message:
        file.write_text(OWN.replace("{line}", line) + "\nCOMPILED = False\n")
        with pytest.raises(ValueError, match=re.escape(str(file))):
            simulate(MAZE, str(file), n_steps=50, log="all")


def test_an_index_error_elsewhere_stays_as_it_is():
    with pytest.raises(IndexError, match="list index"), errors_located("mine.py"):
        [][0]


def test_ones_own_learner_may_print(tmp_path, capfd):
    """Compiled, in a function that another one calls, which is where one looks for a mistake."""
    file = tmp_path / "mine.py"
    tell = "tell(s)\n\ndef tell(s):\n    print('at', s)"
    file.write_text(OWN.replace("{line}", tell))
    run = simulate(MAZE, str(file), n_steps=3, log="all")
    states = [line.split()[1] for line in capfd.readouterr().out.splitlines() if "at" in line]
    assert states == run.log.steps.state.astype(str).to_list()


def as_bytes(memory):
    """List the contents of all arrays of a memory, also of those within parts of it."""
    for each in memory:
        if isinstance(each, np.ndarray):
            yield each.tobytes()
        elif isinstance(each, tuple):
            yield from as_bytes(each)


@VARIANT
def test_equal_runs_begin_with_equal_memories(learner, params, monkeypatch):
    """What is not used yet is initialised too, whatever the memory of the machine held before."""
    found = find_learner(learner, params)
    sizes = Sizes(MAZE.n_states, MAZE.n_actions, MAZE.n_transitions, 10)
    first = list(as_bytes(found.init(found.params, sizes)))
    empty = np.empty

    def used(shape, dtype=float):
        made = empty(shape, dtype)
        made.view(np.uint8)[...] = 0x5A
        return made

    monkeypatch.setattr(np, "empty", used)
    assert list(as_bytes(found.init(found.params, sizes))) == first
