"""The folder of results: damage is found, named and repaired, and a single process writes."""

import errno
import json
import shutil
import subprocess
import sys
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from uuid import uuid4

import pandas as pd
import pytest
import typer
from commands import digests, replay
from hypothesis import given
from hypothesis import strategies as st
from malformed import limited
from matplotlib.figure import Figure
from test_files import forge

from analyses import studies
from analyses.cli import logs
from analyses.cli.terminal import print_table, print_text, say
from analyses.jobs.results import Part, Results
from analyses.jobs.run import manifest, run
from analyses.studies import draw_all
from analyses.studies.brea_2018 import plan_reproduction
from analyses.studies.brea_2018.reproduce import STUDY
from replay import sources
from replay.files import damaged_files, name_beside, write_checksums

PLAN = plan_reproduction(
    ["deterministic_tree"],
    ["q_learning", "prioritized_sweeping"],
    n_mdps=2,
    n_seeds=1,
    n_steps=200,
    keep_logs=1,
)
ONE_FIGURE = replace(STUDY, figures={"mdps": lambda results: [("mdps", Figure((1, 1)))]})
"""Drawing takes longest, and other tests draw."""

MANIFEST = {
    "study": "reproduction",
    "command": "replay reproduce",
    "versions": {"numpy": "2.1.0", "hippocampal-replay": "0.1.0"},
    "seed": 0,
    "pieces": {"maze": 2},
    "sources": "0123",
}


@pytest.fixture(scope="module")
def made(tmp_path_factory, painted):
    folder = tmp_path_factory.mktemp("made") / "results"
    run(ONE_FIGURE, PLAN, folder)
    return folder


@pytest.fixture
def folder(made, tmp_path):
    return Path(shutil.copytree(made, tmp_path / "results"))


def flip(path):
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def cut(path):
    path.write_bytes(path.read_bytes()[:-1])


def empty(path):
    path.write_bytes(b"")


def put_right(folder):
    told = []
    run(ONE_FIGURE, PLAN, folder, tell=told.append)
    return told


def is_whole(folder):
    try:
        found = Results(folder).status()
    except (ValueError, FileNotFoundError):  # the manifest's
        return False
    return not found.missing and not found.damaged


@pytest.mark.parametrize("damage", [flip, cut, empty, Path.unlink])
def test_damage_to_any_file_is_found_named_and_put_right(made, folder, damage):
    names = list(digests(made))
    listings = [name for name in names if name.endswith(".sha256")]
    files = [name for name in names if name not in listings]
    assert sum(name.startswith("logs") for name in files) == 2 * 5
    for name in names:
        assert is_whole(folder)
        damage(folder / name)
        # The checksum of a whole manifest is written anew without a word.
        assert is_whole(folder) == (name == "manifest.sha256" and damage is Path.unlink), name
        shutil.copy(made / name, folder / name)
    for name in files:
        damage(folder / name)
    assert sorted(put_right(folder)) == [
        f"{name} is damaged or missing, and is made again." for name in sorted(files)
    ]
    assert digests(folder) == digests(made)
    for name in listings:
        damage(folder / name)
    put_right(folder)
    assert digests(folder) == digests(made)
    assert is_whole(folder)


def test_only_the_damaged_piece_is_made_again(folder):
    remade = []

    def make(plan, piece):
        remade.append(piece.number)
        return STUDY.make(plan, piece)

    make.__module__ = STUDY.make.__module__  # whose sources the manifest names
    for file, number in (
        ("pieces/deterministic_tree/1/windows.parquet", 1),
        ("logs/deterministic_tree/q_learning-0-0/steps.parquet", 0),
    ):
        flip(folder / file)
        run(replace(ONE_FIGURE, make=make), PLAN, folder)
        assert remade == [number]
        remade.clear()


def test_a_run_that_is_resumed_after_an_edit_is_refused(folder, monkeypatch):
    before = digests(folder)
    monkeypatch.setattr("analyses.jobs.run.sources_digest", lambda *modules: "edited")
    with pytest.raises(FileExistsError, match="was begun with other source files") as caught:
        run(ONE_FIGURE, PLAN, folder)
    assert "Resume it with the version that began it, choose another folder" in str(caught.value)
    assert digests(folder) == before


@pytest.mark.parametrize(
    ("edited", "same"),
    [
        ("analyses/plots/mdps.py", True),
        ("analyses/studies/bounded_memory.py", True),
        ("replay/learners/q_learning.py", False),
        ("analyses/sequences/kinds.py", False),
        ("analyses/cli/simulations.py", True),
    ],
)
def test_the_manifest_names_the_sources_that_tables_depend_on_and_no_others(
    edited, same, monkeypatch
):
    """As if one of the files had been read otherwise."""
    held = manifest(STUDY, PLAN)["sources"]
    read, file = sources._text, sources._ROOT / edited
    assert file.is_file()
    monkeypatch.setattr(sources, "_text", lambda path: read(path) + b"# more" * (path == file))
    monkeypatch.setattr(sources, "digest_of", sources.digest_of.__wrapped__)
    assert (manifest(STUDY, PLAN)["sources"] == held) == same


def test_a_piece_whose_checksums_were_not_written_yet_is_not_done(made, folder):
    listing = folder / "pieces" / "deterministic_tree" / "0.sha256"
    listing.unlink()
    (folder / "logs" / "deterministic_tree" / "q_learning-0-0" / "backups.parquet").unlink()
    assert "pieces/deterministic_tree/0" in Results(folder).status().missing
    assert put_right(folder) == []
    assert digests(folder) == digests(made)


@given(data=st.data())
def test_no_changed_byte_escapes(tmp_path_factory, data):
    root = tmp_path_factory.mktemp("listed")
    contents = data.draw(st.lists(st.binary(min_size=1, max_size=20), min_size=1, max_size=3))
    files = [root / f"{number}.bin" for number in range(len(contents))]
    for path, content in zip(files, contents, strict=True):
        path.write_bytes(content)
    listing = root / "files.sha256"
    write_checksums(listing, files, root)
    assert damaged_files(listing, root) == []
    victim = data.draw(st.sampled_from([listing, *files]))
    content = bytearray(victim.read_bytes())
    if data.draw(st.booleans()):
        content = content[: data.draw(st.integers(0, len(content) - 1))]
    else:
        content[data.draw(st.integers(0, len(content) - 1))] ^= data.draw(st.integers(1, 255))
    victim.write_bytes(content)
    assert damaged_files(listing, root)


@pytest.mark.skipif(not shutil.which("sha256sum"), reason="needs sha256sum")
def test_others_can_check_it(folder):
    command = "sha256sum --check --quiet *.sha256 pieces/*/*.sha256"
    check = {"cwd": folder, "shell": True, "capture_output": True, "check": False}
    assert subprocess.run(command, **check).returncode == 0
    flip(folder / "reward_rate.csv")
    assert b"reward_rate.csv: FAILED" in subprocess.run(command, **check).stdout


@contextmanager
def another_process_writing(folder, part=None):
    code = (
        "import sys; from analyses.jobs.results import Part, Results\n"
        f"with Results({str(folder)!r}).writing({MANIFEST!r}, part={part!r}):\n"
        "    print('in', flush=True); input()"
    )
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen([sys.executable, "-c", code], **pipes) as process:
        assert process.stdout.readline() == "in\n"
        yield process
        process.kill()


def test_one_process_writes_at_a_time(tmp_path):
    results = Results(tmp_path / "results")
    with another_process_writing(results.folder) as process:
        unfinished = name_beside(results.folder / "note.txt")
        unfinished.touch()
        with pytest.raises(BlockingIOError, match="Another command is writing"):
            results.writing(MANIFEST).__enter__()
        assert unfinished.exists()
        assert results.status().missing[-2:] == ["tables", "figures"]
        process.kill()
        process.wait()
        with results.writing(MANIFEST):
            assert not unfinished.exists()


def test_parts_are_made_at_the_same_time_and_nothing_else_is(tmp_path):
    results = Results(tmp_path / "results")
    with another_process_writing(results.folder, Part(1, 2)) as process:
        unfinished = name_beside(results.folder / "note.txt")
        unfinished.touch()
        for part in (None, Part(1, 2)):
            with pytest.raises(BlockingIOError, match="Another command is writing"):
                results.writing(MANIFEST, part=part).__enter__()
        with pytest.raises(FileExistsError, match="seed is 0 there and 1 here"):
            results.writing(MANIFEST | {"seed": 1}, part=Part(2, 2)).__enter__()
        with results.writing(MANIFEST, part=Part(2, 2)):
            assert unfinished.exists()
        process.kill()
        process.wait()
        with results.writing(MANIFEST, part=Part(1, 2)):
            assert not unfinished.exists()
        with results.writing(MANIFEST):
            assert [path.name for path in results.folder.glob(".lock*")] == [".lock"]


def test_a_part_waits_while_another_begins(tmp_path, monkeypatch):
    results = Results(tmp_path / "results")
    with another_process_writing(results.folder) as process:
        monkeypatch.setattr("analyses.jobs.results.sleep", lambda seconds: process.kill())
        with results.writing(MANIFEST, part=Part(1, 2)):
            pass


def test_the_lock_is_free_after_an_error(tmp_path):
    results = Results(tmp_path / "results")
    with pytest.raises(KeyboardInterrupt), results.writing(MANIFEST):
        raise KeyboardInterrupt
    with results.writing(MANIFEST):
        pass


def test_leftovers_of_killed_processes_are_removed(made, folder):
    log = folder / "logs" / "deterministic_tree" / f".q_learning-1-0.{uuid4().hex}"
    log.mkdir()
    for path in (
        log / "runs.parquet",
        folder / f".manifest.json.{'4' * 32}",
        folder / f".reward_rate.csv.{'4' * 32}",
        folder / "pieces" / "deterministic_tree" / "1" / f".windows.parquet.{'4' * 32}",
        folder / "logs" / "deterministic_tree" / "q_learning-0-0" / f".runs.parquet.{'4' * 32}",
        folder / "mdps" / f".deterministic_tree.json.{'4' * 32}",
        folder / "figures" / f".mdps.pdf.{'4' * 32}",
    ):
        path.write_bytes(b"half of")
    for name in (".notes", ".notes.2026"):
        (folder / name).touch()
    put_right(folder)
    for name in (".notes", ".notes.2026"):
        (folder / name).unlink()
    assert digests(folder) == digests(made)


@pytest.mark.parametrize("there", [[], [".lock"], [".lock", f".manifest.json.{'4' * 32}"]])
def test_a_process_killed_at_the_very_start_leaves_nothing_in_the_way(tmp_path, there):
    for name in there:
        (tmp_path / name).touch()
    with Results(tmp_path).writing(MANIFEST):
        assert Results(tmp_path).manifest() == MANIFEST


@pytest.mark.parametrize("name", ["a\udcffb", "a\nb", ""])
def test_a_folder_has_a_name_that_can_be_written(name):
    with pytest.raises((TypeError, ValueError), match="The result folder must be"):
        Results(name)


def keep_a_piece(folder):
    Results(folder).keep_piece("maze", 0, {"pieces/maze/0/windows.parquet": b"a piece"})


@pytest.mark.parametrize(("key", "old"), [("numpy", "2.1.0"), ("hippocampal-replay", "0.1.0")])
def test_results_of_another_version_are_left_alone(tmp_path, key, old):
    with Results(tmp_path).writing(MANIFEST):
        keep_a_piece(tmp_path)
    before = digests(tmp_path)
    message = rf"another run \(versions {key} is {old} there and 9\.9 here\)"
    versions = MANIFEST["versions"] | {key: "9.9"}
    with pytest.raises(FileExistsError, match=message):
        Results(tmp_path).writing(MANIFEST | {"versions": versions}).__enter__()
    assert digests(tmp_path) == before


def test_a_folder_of_another_command_names_both(tmp_path):
    with Results(tmp_path).writing(MANIFEST):
        keep_a_piece(tmp_path)
    other = MANIFEST | {"study": "comparison", "command": "replay compare"}
    message = "holds results of replay reproduce, and this is replay compare. Choose another folder"
    with pytest.raises(FileExistsError, match=message):
        Results(tmp_path).writing(other).__enter__()


def test_a_damaged_manifest_of_another_run_is_said_to_be_damaged(tmp_path):
    with Results(tmp_path).writing(MANIFEST):
        keep_a_piece(tmp_path)
    flip(tmp_path / "manifest.json")
    with pytest.raises(ValueError, match=r"manifest\.json is damaged"):
        Results(tmp_path).writing(MANIFEST | {"seed": 1}).__enter__()


@pytest.mark.parametrize(
    "name",
    [
        "manifest.json",
        "reward_rate.csv",
        "pieces",
        "pieces/deterministic_tree",
        "pieces/deterministic_tree/0",
        "pieces/deterministic_tree/0.sha256",
        "pieces/deterministic_tree/1/windows.parquet",
        "logs",
        "logs/deterministic_tree/q_learning-0-0",
        "logs/deterministic_tree/q_learning-0-0/steps.parquet",
        "figures",
        "tables.sha256",
    ],
)
def test_a_symbolic_link_is_damage_and_its_target_stays(made, folder, tmp_path, name):
    target = tmp_path / "elsewhere"
    (folder / name).rename(target)
    (folder / name).symlink_to(target, target_is_directory=target.is_dir())
    there = digests(target) if target.is_dir() else target.read_bytes()
    assert not is_whole(folder)
    put_right(folder)
    assert not any(path.is_symlink() for path in folder.rglob("*"))
    assert digests(folder) == digests(made)
    assert there == (digests(target) if target.is_dir() else target.read_bytes())
    assert is_whole(folder)


def test_resuming_removes_and_reads_nothing_outside_the_folder(tmp_path):
    folder, outside = tmp_path / "results", tmp_path / "thesis.txt"
    inner = folder / "notes"
    with Results(folder).writing(MANIFEST):
        keep_a_piece(folder)
    inner.mkdir()
    (inner / "mine.txt").write_text("mine")
    (inner / "out").symlink_to(tmp_path)
    outside.write_text("mine")
    (folder / "pieces" / "maze" / "out").symlink_to(tmp_path)
    (tmp_path / f".thesis.txt.{'0' * 32}").write_text("mine")
    theirs = tmp_path / "link"
    theirs.symlink_to(outside)
    before = digests(tmp_path)
    for names in (["../thesis.txt", str(outside)], ["notes/mine.txt", "notes/out/thesis.txt"]):
        for listing in ("tables", "figures"):
            forge(folder / f"{listing}.sha256", *names)
        told = []
        assert Results(folder).status().damaged
        with Results(folder).writing(MANIFEST, told.append):
            pass
        assert told
        assert digests(tmp_path) == {
            name: digest for name, digest in before.items() if "maze/out" not in name
        }
        assert theirs.is_symlink()


@pytest.mark.parametrize("group", ["../../elsewhere", "/tmp", "a\\b", ".."])
def test_a_manifest_names_no_pieces_outside_the_folder(tmp_path, group):
    with Results(tmp_path / "results").writing(MANIFEST | {"pieces": {group: 1}}):
        pass
    with pytest.raises(ValueError, match="must lie inside it"):
        Results(tmp_path / "results").status()


@pytest.mark.parametrize("n_pieces", [10**12, -1, 1.5, "2", None])
def test_a_manifest_claims_a_sensible_number_of_pieces(tmp_path, n_pieces):
    with Results(tmp_path).writing(MANIFEST | {"pieces": {"maze": n_pieces}}):
        pass
    with pytest.raises(ValueError, match="number of pieces of 'maze' must be a whole number"):
        Results(tmp_path).status()


def test_a_manifest_claims_a_sensible_number_of_pieces_in_all(tmp_path):
    with Results(tmp_path).writing(MANIFEST | {"pieces": {f"{n}": 10**7 for n in range(1000)}}):
        pass
    with limited(5), pytest.raises(ValueError, match=r"number of pieces of .* from 0 to 100"):
        Results(tmp_path).status()


@pytest.mark.skipif(sys.platform == "win32", reason="paths are shorter there")
def test_folders_in_folders_without_end(tmp_path, monkeypatch):
    """A foreign folder may be deeper than Python can call itself."""
    folder = tmp_path / "results"
    with Results(folder).writing(MANIFEST):
        (folder / "pieces").mkdir()
    with monkeypatch.context() as context:
        context.chdir(folder / "pieces")
        for _ in range(1200):
            Path("d").mkdir()
            context.chdir("d")
    try:
        with Results(folder).writing(MANIFEST):
            pass
        with (
            pytest.raises(OSError, match=r"pieces holds folders in folders without end"),
            Results(folder).writing(MANIFEST | {"seed": 1}),
        ):
            pass
    finally:
        subprocess.run(["rm", "-rf", folder / "pieces"], check=True)


def test_a_file_in_place_of_the_folder(tmp_path):
    (tmp_path / "results").write_text("mine")
    with pytest.raises(FileExistsError, match="results is a file"):
        Results(tmp_path / "results").writing(MANIFEST).__enter__()
    assert (tmp_path / "results").read_text() == "mine"


@pytest.mark.parametrize(
    ("number", "kind", "message"),
    [
        (errno.EROFS, OSError, "cannot be written"),
        (errno.EACCES, PermissionError, "cannot be written"),
        (errno.ENOLCK, OSError, "perhaps on another disk"),
        (errno.ENOSPC, OSError, "No space left"),
    ],
)
def test_folders_that_cannot_be_written_or_locked(tmp_path, monkeypatch, number, kind, message):
    """The superuser may write everywhere, so the system's answer is made up."""

    def refuse(path):
        raise OSError(number, "No space left" if number == errno.ENOSPC else "No", str(path))

    monkeypatch.setattr("analyses.jobs.results.exclusive", refuse)
    with pytest.raises(kind, match=message):
        Results(tmp_path / "results").writing(MANIFEST).__enter__()


def test_figures_are_checked_and_can_be_drawn_anew(tmp_path):
    results = Results(tmp_path)
    figure = tmp_path / "figures" / "mdps.png"
    with results.writing(MANIFEST):
        figure.parent.mkdir()
        figure.write_bytes(b"old")
        results.finish("figures")
    figure.write_bytes(b"new")
    assert results.status().damaged == ["figures/mdps.png"]
    results.finish("figures")
    assert results.status().damaged == []


def test_what_nobody_makes_again_stays_and_is_no_result(tmp_path):
    """A user's own notes, say, or a table that is damaged."""
    results, told = Results(tmp_path), []
    for text in ("a,b\n", "a,b\n1,2\n"):
        with results.writing(MANIFEST, told.append):
            if text == "a,b\n":
                (tmp_path / "notes.csv").write_text(text)
            results.write("curves.csv", pd.DataFrame({"a": [1]}))
            results.finish("tables")
        (tmp_path / "notes.csv").write_text("a,b\n1,2\n")
    assert told == ["notes.csv"]
    assert (tmp_path / "notes.csv").read_text() == "a,b\n1,2\n"
    assert results.status().damaged == []
    assert "curves.csv" in (tmp_path / "tables.sha256").read_text()
    (tmp_path / "notes.csv").unlink()
    assert results.status().damaged == []


def drawn_by(monkeypatch, folder, experiment="maze"):
    """Draw one figure, which is named after the contents of a table, as ``replay figures`` does."""

    def draw(results):
        for name in results.read("replay_kinds.csv")["experiment"]:
            yield f"kinds_{name}", Figure((1, 1))

    monkeypatch.setattr(studies, "find_study", lambda name: replace(STUDY, figures={"one": draw}))
    with Results(folder).writing(MANIFEST):
        Results(folder).write("replay_kinds.csv", pd.DataFrame({"experiment": [experiment]}))
        Results(folder).finish("tables")


def test_figures_are_written_inside_the_folder_however_they_are_named(tmp_path, monkeypatch):
    folder = tmp_path / "a" / "b" / "results"
    drawn_by(monkeypatch, folder, "maze/../../../../x")
    drawn = draw_all(folder)
    assert [path.parent for path in drawn] == 2 * [folder / "figures"]
    assert drawn[0].name.startswith("kinds_maze_.._.._.._.._x-")
    assert {path.name for path in tmp_path.rglob("*.p*")} == {path.name for path in drawn}
    shutil.rmtree(folder / "figures")
    (folder / "figures").symlink_to(tmp_path)
    with pytest.raises(ValueError, match="must lie inside it"):
        draw_all(folder)
    assert not list(tmp_path.glob("*.p*"))


def test_changed_or_unfinished_tables_are_not_drawn(tmp_path, monkeypatch):
    drawn_by(monkeypatch, tmp_path)
    draw_all(tmp_path)
    flip(tmp_path / "replay_kinds.csv")
    with pytest.raises(ValueError, match=r"replay_kinds\.csv is damaged or missing"):
        draw_all(tmp_path)
    (tmp_path / "tables.sha256").unlink()
    with pytest.raises(ValueError, match="is not finished"):
        draw_all(tmp_path)


def test_tables_that_cannot_be_drawn_are_named(tmp_path, monkeypatch):
    drawn_by(monkeypatch, tmp_path)
    with Results(tmp_path).writing(MANIFEST):
        Results(tmp_path).write("replay_kinds.csv", pd.DataFrame({"other": [1]}))
        Results(tmp_path).finish("tables")
    with pytest.raises(ValueError, match="holds tables that this version cannot draw"):
        draw_all(tmp_path)


def test_status_command(folder, tmp_path):
    done = replay("status", folder)
    assert (done.returncode, "Complete and undamaged" in done.stdout) == (0, True), done.stderr
    assert done.stdout.split("\n")[1].split() == ["deterministic_tree", "2", "of", "2", "0"]
    flip(folder / "logs" / "deterministic_tree" / "q_learning-0-0" / "steps.parquet")
    (folder / "tables.sha256").unlink()
    done = replay("status", folder)
    assert done.returncode == 1
    assert done.stdout.split("\n")[1].split() == ["deterministic_tree", "1", "of", "2", "1"]
    name = "logs/deterministic_tree/q_learning-0-0/steps.parquet"
    assert f"Damaged or missing: {name}" in done.stdout
    assert "Not made yet: tables" in done.stdout
    flip(folder / "manifest.json")
    done = replay("status", folder)
    assert done.returncode == 1
    assert "manifest.json is damaged" in " ".join(done.stderr.split())
    done = replay("status", tmp_path / "nowhere")
    assert done.returncode == 1
    assert "not a result folder" in " ".join(done.stderr.split())


@pytest.mark.parametrize("is_shown", [True, False])
def test_terminal_codes_of_a_manifest_do_not_reach_the_screen(
    tmp_path, capsys, monkeypatch, is_shown
):
    rewrite = "\x1b[2J\x9b31m\rmine"
    with Results(tmp_path).writing(MANIFEST | {"pieces": {"maze": 1}, "command": rewrite}):
        keep_a_piece(tmp_path)
    forge(tmp_path / "pieces" / "maze" / "0.sha256", f"pieces/{rewrite}".replace("\r", ""))
    monkeypatch.setattr("sys.stdout.isatty", lambda: is_shown)
    print_table(("group", rewrite), [("maze", rewrite)])
    print_text(rewrite)
    say(f"Error: {rewrite}")
    with pytest.raises(typer.Exit):
        logs.status(tmp_path)
    printed = "".join(capsys.readouterr())
    assert "maze" in printed
    assert not [code for code in ("\x1b[2J", "\x9b", "\r") if code in printed], printed


def test_two_commands_on_one_folder(tmp_path):
    folder = tmp_path / "results"
    with another_process_writing(folder):
        done = replay("reproduce", "--out", folder)
        assert done.returncode == 1
        assert "Another command is writing" in " ".join(done.stderr.split())
        assert "Traceback" not in done.stderr
        assert json.loads((folder / "manifest.json").read_text()) == MANIFEST
