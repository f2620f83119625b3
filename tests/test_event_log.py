"""The event log: derived columns, files on disk, and the graph of the learned model."""

import errno
import json
from collections import Counter, defaultdict
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from replay.log import parquet
from replay.log.backups import BACKUP, PHASES
from replay.log.event_log import EventLog
from replay.log.parquet import LogError, beginning
from replay.log.schema import SCHEMA
from replay.simulation import simulate
from replay.worlds.mazes import from_ascii
from replay.worlds.mdp import MDP

# Two episodes: 0 -> 1 -> 2 (terminal), then 0 -> 0 (a bump) -> 1, cut off.
STEPS = {
    "state": [0, 1, 0, 0],
    "action": [0, 0, 1, 0],
    "reward": [0.0, 1.0, -1.0, 0.5],
    "next_state": [1, 2, 0, 1],
    "terminated": [False, True, False, False],
    "truncated": [False, False, False, True],
}
BACKUPS = {
    "step": [0, 1, 1, 1, 1, 1, 2, 3, 3],
    "phase": ["online"] * 2 + ["trace"] + ["episode_end"] * 2 + ["start"] + ["step"] * 3,
    "state": [0, 1, 0, 1, 0, 0, 0, 1, 0],
    "action": [0, 0, 0, 0, 0, 0, 1, 0, 0],
    "next_state": [1, 2, 1, 2, 1, 1, 0, 2, 1],
    "q_before": np.zeros(9),
    "q_after": [0.0, 1.0, 0.5, 1.0, 0.75, 0.875, -1.0, 1.0, 0.9],
    "cause": [-1, -1, -1, -1, 3, -1, -1, -1, 7],
}


def small_log(keep="all", mdp=None, **parameters):
    run = {"learner": "test", "mdp": "corridor", "seed": 7, "parameters": parameters}
    return EventLog({"runs": run, "steps": STEPS, "backups": BACKUPS}, {"log": keep}, mdp)


def equal(one, other):
    for name in SCHEMA:
        pd.testing.assert_frame_equal(getattr(one, name), getattr(other, name))
    return True


class TestTables:
    def test_what_is_derived(self):
        log = small_log()
        assert log.steps["episode"].tolist() == [0, 0, 1, 1]
        assert log.steps["step"].tolist() == [0, 1, 2, 3]
        backups = log.backups
        assert backups["event"].tolist() == [-1, -1, -1, 0, 0, 1, 2, 3, 3]
        assert backups["index"].tolist() == [0, 0, 1, 0, 1, 0, 0, 0, 1]
        # At the start of an episode the agent is in its first state already.
        assert backups["episode"].tolist() == [0, 0, 0, 0, 0, 1, 1, 1, 1]
        assert backups["location"].tolist() == [1, 2, 2, 2, 2, 0, 0, 1, 1]
        assert backups[["time", "reward", "priority", "gain", "need"]].isna().all(axis=None)

    def test_columns_and_types(self):
        log = small_log()
        for name, schema in SCHEMA.items():
            assert list(getattr(log, name)) == schema.names
        assert log.backups["phase"].cat.categories.tolist() == list(PHASES)
        assert log.backups.dtypes["cause"] == np.int64
        assert log.backups.dtypes["location"] == np.int32
        assert log.steps.dtypes["terminated"] == np.bool_
        assert json.loads(small_log(discount=0.9).runs.loc[0, "parameters"]) == {"discount": 0.9}

    def test_time_comes_from_the_steps(self):
        log = EventLog({"steps": STEPS | {"time": [0.5, 1.0, 2.0, 4.0]}, "backups": BACKUPS})
        assert log.backups["time"].tolist() == [0.5, 1, 1, 1, 1, 1, 2, 4, 4]

    def test_a_run_of_the_simulator(self):
        steps = pd.DataFrame(STEPS).to_records(index=False)
        backups = pd.DataFrame(BACKUPS)
        backups["phase"] = [PHASES.index(phase) for phase in BACKUPS["phase"]]
        rows = backups.to_records(index=False)
        run = {"learner": "test", "mdp": "corridor", "seed": None, "parameters": {}}
        log = EventLog.from_run(run, np.array(steps), [(rows[:4],), (rows[4:],)], keep="all")
        pd.testing.assert_frame_equal(log.backups, small_log().backups)
        assert log.runs.loc[0, "seed"] == -1
        assert log.provenance["software"] == "hippocampal-replay"
        assert log.provenance["log"] == "all"

    def test_a_run_without_log(self):
        steps = np.empty(0, dtype=[("state", np.int32), ("next_state", np.int32)])
        log = EventLog.from_run({}, steps, [(np.empty(0, BACKUP),)], keep="none")
        assert repr(log) == "EventLog(1 run, 0 steps, 0 backups)"
        assert list(log.backups) == SCHEMA["backups"].names

    @pytest.mark.parametrize(
        ("tables", "message"),
        [
            ({"stops": {}}, "Unknown table 'stops'.*runs, steps, backups"),
            ({"steps": {"action": [0]}}, "lacks the columns 'state', .*'next_state'"),
            (
                {"steps": STEPS | {"state": [0, 1, 0.5, 0]}},
                "'state' of 'steps' must.*row 2 has 0.5",
            ),
            ({"steps": STEPS | {"reward": list("abcd")}}, "'reward'.*row 0 has 'a'"),
            ({"steps": STEPS, "backups": BACKUPS | {"phase": "sleep"}}, "Unknown phase.*online"),
            ({"steps": STEPS, "backups": BACKUPS | {"phase": 9}}, "Unknown phase.*online"),
            ({"steps": STEPS, "backups": BACKUPS | {"step": 4}}, "step 4, which .* lacks"),
            ({"runs": {"run": [1, 0]}}, "must ascend"),
            ({"steps": STEPS | {"state": [0, 1, -2, 0]}}, "'state' .* row 2 has -2"),
            ({"steps": STEPS | {"state": [0, 1, 10**9, 0]}}, "'state' .* row 2 has 1000000000"),
            ({"steps": STEPS | {"time": [0, 2, 1, 3]}}, "'time' .* not descend.* row 2 has 1.0"),
            ({"steps": STEPS | {"time": [0, 1, 2, np.inf]}}, "'time' .* finite.*; row 3"),
            ({"steps": STEPS | {"episode": 0, "step": range(4), "run": 1}}, "'runs' lacks run 1"),
            ({"steps": STEPS, "backups": BACKUPS | {"cause": 8}}, "'cause' .* earlier row.* row 0"),
            (
                {"steps": STEPS, "backups": BACKUPS | {"cause": [-1] * 6 + [1, -1, 7]}},
                "Row 6 of 'backups' leads from state 0 to 0, and its cause, row 1, .* 1 to 2",
            ),
            ({"steps": STEPS, "backups": BACKUPS | {"next_state": -1}}, "'next_state' .* row 0"),
        ],
    )
    def test_wrong_tables(self, tables, message):
        with pytest.raises(ValueError, match=message):
            repr(EventLog(tables))

    def test_a_world_that_lacks_the_states(self):
        world = MDP.from_tables([[0]], [0])
        with pytest.raises(ValueError, match="names state 1, but the world 'mdp' has the states 0"):
            repr(EventLog({"steps": STEPS}, mdp=world))

    def test_a_table_of_another_kind(self):
        with pytest.raises(TypeError, match="'steps' must be a DataFrame"):
            repr(EventLog({"steps": 3}))


class TestConcat:
    def test_runs_are_numbered_anew(self):
        both = EventLog.concat([small_log(), small_log()])
        three = EventLog.concat([both, small_log()])
        assert three.runs["run"].tolist() == [0, 1, 2]
        assert three.steps["run"].tolist() == [0] * 4 + [1] * 4 + [2] * 4
        last = three.backups[three.backups["run"] == 2].reset_index(drop=True)
        alone = small_log().backups
        pd.testing.assert_frame_equal(last.drop(columns="run"), alone.drop(columns="run"))
        assert three.provenance == {"log": "all"}

    def test_provenance_that_differs_is_listed(self):
        logs = [small_log("all"), small_log("replay"), small_log("all")]
        assert EventLog.concat(logs).provenance == {"log": ["all", "replay"]}

    def test_the_world_stays_if_it_is_shared(self):
        world = corridor()
        assert EventLog.concat([small_log(mdp=world)] * 2).mdp is world
        assert EventLog.concat([small_log(mdp=world), small_log()]).mdp is None

    def test_nothing(self):
        with pytest.raises(ValueError, match="at least one"):
            EventLog.concat([])

    def test_label(self):
        log = small_log().label(experiment="maze", mdp="maze 3")
        assert log.runs.loc[0, ["experiment", "learner", "mdp"]].tolist() == [
            "maze",
            "test",
            "maze 3",
        ]
        pd.testing.assert_frame_equal(log.backups, small_log().backups)


class TestFiles:
    @pytest.mark.parametrize(
        "log",
        [small_log(), EventLog.concat([small_log()] * 3), EventLog({})],
        ids=["one run", "three runs", "empty"],
    )
    def test_round_trip(self, log, tmp_path):
        log.save(tmp_path / "log")
        back = EventLog.load(tmp_path / "log")
        assert equal(log, back)
        assert back.provenance == log.provenance

    def test_the_world_travels_with_its_log(self, tmp_path):
        maze = from_ascii("S..G\n.#..")
        log = simulate(maze, "episodic_control", n_steps=50).log
        log.save(tmp_path / "log")
        back = EventLog.load(tmp_path / "log")
        assert back.mdp == maze
        assert equal(log, back)
        assert back.graph().nodes(data="pos") == log.graph().nodes(data="pos")
        assert EventLog.load(tmp_path / "log", maze).mdp is maze
        small_log().save(tmp_path / "without")
        assert EventLog.load(tmp_path / "without").mdp is None

    def test_the_world_of_a_log_that_comes_in_parts(self, tmp_path):
        maze = from_ascii("S..G")
        with EventLog.saving(tmp_path / "log") as add:
            simulate(maze, "dyna_q", n_steps=50, on_block=lambda block: add(block.log))
        assert EventLog.load(tmp_path / "log").mdp == maze

    def test_labels_of_any_kind_are_kept(self, tmp_path):
        labels = [np.int64(3), frozenset([1]), ("a", (1, 2))]
        world = MDP.from_tables([[1], [2], [2]], reward=[0, 0, 1], terminal=[2], labels=labels)
        small_log(mdp=world).save(tmp_path / "log")
        found = EventLog.load(tmp_path / "log").mdp
        assert found.labels == (3, "frozenset({1})", ("a", (1, 2)))

    @pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"nodes": [], "edges": []}', "\0"])
    def test_a_damaged_world_is_told(self, tmp_path, text):
        small_log(mdp=MDP.from_tables([[1], [2], [2]], reward=[0, 0, 1], terminal=[2])).save(
            tmp_path / "log"
        )
        (tmp_path / "log" / "world.json").write_text(text)
        with pytest.raises(LogError, match=r"world\.json holds no world .*then has no positions"):
            EventLog.load(tmp_path / "log")
        (tmp_path / "log" / "world.json").unlink()
        assert EventLog.load(tmp_path / "log").mdp is None

    def test_a_world_of_another_log_is_told(self, tmp_path):
        small_log().save(tmp_path / "log")
        simulate(from_ascii("SG"), "dyna_q", n_steps=10).log.save(tmp_path / "other")
        (tmp_path / "other" / "world.json").replace(tmp_path / "log" / "world.json")
        with pytest.raises(ValueError, match="names state 2, but the world"):
            EventLog.load(tmp_path / "log").columns("steps")

    def test_the_same_log_gives_the_same_bytes(self, tmp_path):
        small_log().save(tmp_path / "one")
        EventLog.load(tmp_path / "one").save(tmp_path / "two")
        for name in SCHEMA:
            file = f"{name}.parquet"
            assert (tmp_path / "one" / file).read_bytes() == (tmp_path / "two" / file).read_bytes()

    def test_empty_columns_cost_nothing(self, tmp_path):
        n_rows = 100_000
        steps = {"state": np.arange(n_rows) % 7, "next_state": np.arange(1, n_rows + 1) % 7}
        EventLog({"steps": steps}).save(tmp_path / "log")
        file = pq.ParquetFile(tmp_path / "log" / "steps.parquet").metadata.row_group(0)
        sizes = {
            file.column(i).path_in_schema: file.column(i).total_compressed_size
            for i in range(file.num_columns)
        }
        assert sizes["time"] < 1000
        assert sizes["reward"] < 1000

    def test_pandas_reads_the_files(self, tmp_path):
        small_log().save(tmp_path / "log")
        table = pd.read_parquet(tmp_path / "log" / "backups.parquet")
        assert table["phase"].astype(str).tolist() == BACKUPS["phase"]

    def test_a_folder_in_use_is_refused(self, tmp_path):
        (tmp_path / "notes.txt").touch()
        with pytest.raises(FileExistsError, match="not empty"):
            small_log().save(tmp_path)
        with pytest.raises(FileExistsError, match="not empty"):
            small_log().save(tmp_path / "notes.txt")
        assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]

    def test_an_empty_folder_is_filled_and_not_replaced(self, tmp_path, monkeypatch):
        small_log().save(tmp_path / "other")
        folder = tmp_path / "here"
        folder.mkdir()
        number = folder.stat().st_ino
        monkeypatch.chdir(folder)
        small_log().save(".")
        assert folder.stat().st_ino == number == Path.cwd().stat().st_ino
        names = sorted(path.name for path in (tmp_path / "other").iterdir())
        assert sorted(path.name for path in Path.cwd().iterdir()) == names
        for name in names:
            assert Path(name).read_bytes() == (tmp_path / "other" / name).read_bytes()

    def test_a_full_disk_leaves_nothing_in_an_empty_folder(self, tmp_path, monkeypatch):
        def write(writer, table, row_group_size):
            raise OSError(errno.ENOSPC, "No space left on device")

        monkeypatch.setattr(parquet.pq.ParquetWriter, "write_table", write)
        with pytest.raises(OSError, match=r"No space left"):
            small_log().save(tmp_path)
        assert not list(tmp_path.iterdir())

    def test_a_full_disk_leaves_nothing(self, tmp_path, monkeypatch):
        written = []

        def write(writer, table, row_group_size):
            if written:
                raise OSError(errno.ENOSPC, "No space left on device")
            written.append(table)

        monkeypatch.setattr(parquet.pq.ParquetWriter, "write_table", write)
        with pytest.raises(OSError, match=r"No space left.*Nothing was left"):
            small_log().save(tmp_path / "log")
        assert written
        assert not list(tmp_path.iterdir())

    def test_provenance_must_be_json(self, tmp_path):
        with pytest.raises(TypeError):
            EventLog({}, {"rng": object()}).save(tmp_path / "log")
        assert not list(tmp_path.iterdir())


def rewrite(path, change):
    """Change a file's table or metadata, but not that it is parquet."""
    metadata = pq.read_metadata(path).metadata
    del metadata[b"ARROW:schema"]
    pq.write_table(change(pq.read_table(path).replace_schema_metadata(metadata)), path)


def cast(column, kind):
    def change(table):
        i = table.schema.get_field_index(column)
        return table.set_column(i, column, table.column(column).cast(kind))

    return change


def other_version(table):
    (key, value), *_ = [item for item in table.schema.metadata.items() if b"schema" in item[1]]
    about = json.loads(value) | {"schema": 99}
    return table.replace_schema_metadata({key: json.dumps(about)})


def other_phases(table):
    i = table.schema.get_field_index("phase")
    return table.set_column(i, "phase", pa.array(["sleep"] * len(table)).dictionary_encode())


def with_nulls(table):
    i = table.schema.get_field_index("state")
    return table.set_column(i, "state", pa.array([None] * len(table), pa.int32()))


def foreign(table):
    return pa.table({"a": [1]})


def nested(table):
    return table.replace_schema_metadata({b"hippocampal-replay": "[" * 100_000})


def twice(table):
    return table.append_column("gain", table["gain"])


def negative(table):
    place = table.schema.get_field_index("state")
    states = [-1, *table["state"].to_pylist()[1:]]
    return table.set_column(place, "state", pa.array(states, pa.int32()))


class TestDamage:
    @pytest.fixture
    def folder(self, tmp_path):
        small_log().save(tmp_path / "log")
        return tmp_path / "log"

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            (lambda table: table.drop_columns(["gain"]), "lacks the column 'gain'"),
            (cast("state", pa.int64()), "'state'.*must be int32, found int64"),
            (cast("phase", pa.string()), "'phase'.*must be dictionary.*found string"),
            (other_version, "schema version 99.*reads version 1"),
            (other_phases, "'phase'.*other phases"),
            (with_nulls, "'state'.*empty cells"),
            (lambda table: table.slice(1), "8 rows instead of 9"),
            (foreign, "not of an event log"),
            (nested, "not of an event log"),
            (twice, "'gain' twice"),
            (negative, "'state' .* must lie between 0 and .* row 0 has -1"),
        ],
    )
    def test_another_table(self, folder, change, message):
        rewrite(folder / "backups.parquet", change)
        with pytest.raises(LogError, match=message) as caught:
            EventLog.load(folder)
        assert "backups.parquet" in str(caught.value)

    def test_a_missing_file(self, folder):
        (folder / "steps.parquet").unlink()
        with pytest.raises(LogError, match=r"steps\.parquet is missing"):
            EventLog.load(folder)

    def test_no_folder(self, folder):
        with pytest.raises(LogError, match="is not a folder"):
            EventLog.load(folder / "runs.parquet")

    @pytest.mark.parametrize("n_bytes", [0, 3, 10, 400, -1, -100])
    def test_a_cut_file(self, folder, n_bytes):
        file = folder / "backups.parquet"
        file.write_bytes(file.read_bytes()[:n_bytes])
        with pytest.raises(LogError, match=r"backups\.parquet is damaged"):
            EventLog.load(folder)

    def test_a_text_file(self, folder):
        (folder / "runs.parquet").write_text("run,experiment\n0,maze\n")
        with pytest.raises(LogError, match=r"runs\.parquet is damaged"):
            EventLog.load(folder)

    def test_no_flipped_bit_goes_unnoticed_in_the_data(self, folder):
        file = folder / "backups.parquet"
        whole = file.read_bytes()
        log = EventLog.load(folder)
        for place in range(4, len(whole) // 2, 97):
            file.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
            try:
                read = EventLog.load(folder)
            except LogError:
                continue
            assert equal(read, log)  # the bit had no meaning

    def test_exchanged_files(self, folder):
        (folder / "steps.parquet").write_bytes((folder / "runs.parquet").read_bytes())
        with pytest.raises(LogError, match="holds the table 'runs'"):
            EventLog.load(folder)

    def test_files_of_two_logs(self, folder, tmp_path):
        small_log(keep="replay").save(tmp_path / "other")
        (tmp_path / "other" / "steps.parquet").replace(folder / "steps.parquet")
        with pytest.raises(LogError, match="different logs"):
            EventLog.load(folder)


def corridor():
    return MDP.from_tables(
        [[1, 0], [2, 1], [2, 2]],
        reward=[[0, -1], [1, 0], [0, 0]],
        start=0,
        terminal=[2],
        position=[[0, 0], [10, 0], [20, 0]],
    )


class TestGraph:
    def test_by_hand(self):
        graph = small_log(mdp=corridor()).graph()
        assert dict(graph.nodes(data="visits")) == {0: 3, 1: 2, 2: 1}
        assert graph.nodes[1]["pos"] == (10.0, 0.0)
        assert dict(graph.nodes(data="value")) == {0: 0.9, 1: 1.0, 2: 0.0}
        assert graph.edges[0, 1, 0] == {
            "count": 2,
            "probability": 1.0,
            "reward": 0.25,
            "first_step": 0,
            "last_step": 3,
        }
        assert set(graph.edges(keys=True)) == {(0, 1, 0), (1, 2, 0), (0, 0, 1)}

    def test_until_a_step(self):
        graph = small_log().graph(until=1)
        assert set(graph.edges(keys=True)) == {(0, 1, 0), (1, 2, 0)}
        assert dict(graph.nodes(data="value")) == {0: 0.875, 1: 1.0, 2: 0.0}

    def test_values_need_all_backups(self):
        graph = small_log(keep="replay").graph()
        assert np.isnan([value for _, value in graph.nodes(data="value")]).all()
        assert "pos" not in graph.nodes[0]

    def test_a_reset_model_forgets_earlier_episodes(self):
        log = EventLog(small_log().tables, {"log": "all"})
        log = log.label(forgets_at_end=True)
        assert set(log.graph(until=1).edges(keys=True)) == {(0, 1, 0), (1, 2, 0)}
        graph = log.graph()
        assert set(graph.edges(keys=True)) == {(0, 0, 1), (0, 1, 0)}
        assert graph.edges[0, 1, 0]["count"] == 1
        assert graph.nodes[1]["value"] == 1.0  # action values outlive the model

    def test_a_reset_model_among_others(self, tmp_path):
        both = EventLog.concat([small_log(), small_log().label(forgets_at_end=True)])
        assert both.runs["forgets_at_end"].tolist() == [False, True]
        both.save(tmp_path / "log")
        for log in (both, EventLog.load(tmp_path / "log")):
            assert log.graph(run=0).edges[0, 1, 0]["count"] == 2
            assert log.graph(run=1).edges[0, 1, 0]["count"] == 1

    def test_a_learner_tells_whether_it_forgets(self):
        for reset_model in (False, True):
            run = simulate(
                from_ascii("SG"), "prioritized_sweeping", {"reset_model": reset_model}, n_steps=9
            )
            assert ("forgets_at_end" in run.log.runs) == reset_model

    def test_another_run(self):
        both = EventLog.concat([small_log(), small_log()])
        assert both.graph(run=1).edges[0, 1, 0]["count"] == 2
        with pytest.raises(ValueError, match=r"no run 2; .* has the runs \[0, 1\]"):
            both.graph(run=2)
        fifth = EventLog({**small_log().tables, "runs": {"run": [5]}})
        with pytest.raises(ValueError, match=r"no run 1; this log has the runs \[5\]"):
            fifth.graph(run=1)

    def test_nothing_experienced(self):
        with pytest.raises(ValueError, match="keeps no step of run 0 up to -1"):
            small_log().graph(until=-1)
        with pytest.raises(ValueError, match="up to its end"):
            EventLog({}).graph()

    @given(
        moves=st.lists(st.tuples(st.integers(0, 2), st.integers(0, 3), st.booleans()), min_size=1),
        until=st.integers(0, 20),
    )
    def test_it_counts_what_a_loop_counts(self, moves, until):
        """Walks over four places; an end takes the agent back to place 0."""
        state, rows = 0, []
        for action, next_state, ended in moves:
            rows.append((state, action, next_state, ended))
            state = 0 if ended else next_state
        columns = dict(
            zip(
                ("state", "action", "next_state", "terminated"),
                zip(*rows, strict=True),
                strict=True,
            )
        )
        graph = EventLog({"steps": columns}).graph(until=until)

        visits, taken, when = Counter({0: 1}), Counter(), defaultdict(list)
        for step, (state, action, next_state, _) in enumerate(rows[: until + 1]):
            visits[next_state] += 1
            visits[0] += step > 0 and rows[step - 1][3]
            taken[state, action] += 1
            when[state, next_state, action].append(step)
        assert dict(graph.nodes(data="visits")) == visits
        found = {
            tuple(edge): tuple(facts[name] for name in ("count", "first_step", "last_step"))
            for *edge, facts in graph.edges(keys=True, data=True)
        }
        assert found == {edge: (len(t), t[0], t[-1]) for edge, t in when.items()}
        for start, _, action, share in graph.edges(keys=True, data="probability"):
            assert 0 < share <= 1
            assert taken[start, action] > 0
        for (start, action), n_taken in taken.items():
            shares = [
                edge["probability"] * n_taken - edge["count"]
                for _, _, key, edge in graph.out_edges(start, keys=True, data=True)
                if key == action
            ]
            assert np.allclose(shares, 0, atol=1e-9)


@pytest.mark.parametrize("n_rows", [1, 100, 1000, 10_000])
def test_the_beginning_of_a_long_log_has_whole_steps(tmp_path, n_rows):
    """Read by groups of rows, and the same as the beginning of the whole."""
    with EventLog.saving(tmp_path / "log") as add:
        simulate(
            from_ascii("S...\n.#.G"), "prioritized_sweeping", n_steps=5000, log="replay",
            on_block=lambda block: add(block.log),
        )  # fmt: skip
    whole, part = EventLog.load(tmp_path / "log"), EventLog(*beginning(tmp_path / "log", n_rows))
    assert part.provenance == whole.provenance
    assert part.runs.equals(whole.runs)
    last = max(part.steps["step"].max(), part.backups["step"].max())
    for name in ("steps", "backups"):
        table, shown = getattr(whole, name), getattr(part, name)
        assert shown.equals(table[table["step"] <= last].reset_index(drop=True))
