"""Files and folders from somebody else: nothing outside is touched, and nothing hangs."""

import os
import stat
from contextlib import chdir
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from malformed import limited
from pyarrow import parquet as pq

from replay.checks import values
from replay.files import (
    check_file,
    damaged_files,
    exclusive,
    inside,
    is_leftover,
    opened,
    read_file,
    read_table,
    replacing,
    safe_name,
    write_checksums,
    write_csv,
)

needs_pipes = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no named pipes")


@pytest.mark.parametrize(
    "name",
    [
        "../thesis.txt", "/etc/passwd", "a/../../thesis.txt", "..", ".", "", "a//b", "a/./b",
        "..\\thesis.txt", "C:/thesis.txt", "C:thesis.txt", "a\nb", "a\0b", "\x1b[2J", "\ud800",
        None, 5, ["a"], b"a", "out/thesis.txt", "circle/a", "thesis",
    ],
)  # fmt: skip
def test_names_that_lead_outside_are_refused(tmp_path, name):
    folder = tmp_path / "results"
    folder.mkdir()
    (tmp_path / "thesis.txt").write_text("mine")
    (folder / "out").symlink_to(tmp_path)
    (folder / "thesis").symlink_to(tmp_path / "thesis.txt")
    (folder / "circle").symlink_to(folder / "circle")
    with pytest.raises(ValueError, match="must lie inside it, got"):
        inside(folder, name)


def test_names_inside_are_taken_also_where_the_folder_itself_is_a_link(tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "results").symlink_to(tmp_path / "elsewhere")
    for name in ("a", "a/b.csv", "..a", "a..", "a b", "é", "logs/maze/dyna_q-0-0"):
        assert inside(tmp_path / "results", name) == tmp_path / "results" / name


@given(st.text(max_size=300))
def test_any_text_gives_the_safe_name_of_one_visible_file(text):
    name = safe_name(text)
    assert inside("results", name) == Path("results") / name
    assert Path(name).name == name
    assert not name.startswith(".")
    assert len(f"{name}.png".encode()) < 200
    assert not set(name) & set('/\\:*?"<>|')


@given(st.lists(st.text("ab/.", max_size=5), unique=True, max_size=10))
def test_different_texts_give_different_names(texts):
    assert len({safe_name(text) for text in texts}) == len(texts)


@pytest.mark.parametrize("name", ["maze", "D1+D2", "rat 1 (left)", "replay_events_maze", "Émile"])
def test_names_that_are_safe_stay(name):
    assert safe_name(name) == name


def special(kind, path):
    """Put something that is no file in the place of one."""
    if kind == "folder":
        path.mkdir()
    elif kind == "pipe":
        os.mkfifo(path)
    elif kind == "device":
        path.symlink_to("/dev/zero")
    else:
        path.symlink_to(path)


@needs_pipes
@pytest.mark.parametrize("kind", ["folder", "pipe", "device", "circle"])
def test_what_is_no_file_is_not_opened(tmp_path, kind):
    path = tmp_path / "world.json"
    special(kind, path)
    for read in (check_file, read_file, lambda path: opened(path).__enter__()):
        with limited(5), pytest.raises(OSError, match=r"world\.json"):
            read(path)


def test_a_file_that_memory_cannot_hold_is_refused_before_it_is_read(tmp_path):
    path = tmp_path / "world.json"
    with path.open("wb") as file:
        file.truncate(1 << 42)  # a hole, which takes no space on the disk
    with pytest.raises(ValueError, match=r"no room for the contents of .*world\.json"):
        read_file(path)
    write_checksums(tmp_path / "list.sha256", [], tmp_path)
    listing = (tmp_path / "list.sha256").read_text().replace("0 files", "1 files")
    (tmp_path / "list.sha256").write_text(f"{listing}{'0' * 64}  world.json\n")
    with limited(5):
        assert damaged_files(tmp_path / "list.sha256", tmp_path) == ["world.json"]


def test_a_list_that_takes_hours_to_check_is_damaged(tmp_path):
    """Files of gigabytes that take no space on the disk, or a name again and again."""
    root, listing = tmp_path, tmp_path / "list.sha256"
    names = [f"{number}.csv" for number in range(40)]
    for name in names:
        with (root / name).open("wb") as file:
            file.truncate(30 << 30)
    forge(listing, *names)
    with limited(5):
        assert damaged_files(listing, root) == sorted(names)
    (root / "0.csv").write_bytes(bytes(1 << 20))
    forge(listing, *["0.csv"] * 10_000)
    with limited(5):
        assert damaged_files(listing, root) == ["list.sha256"]


def test_cells_stay_in_their_columns(tmp_path):
    """Without a rule, pandas takes the first of too many cells for names of rows."""
    path = tmp_path / "moves.csv"
    path.write_text("time,state\n0.5,3,\n0.6,4,\n")  # as programs write that end each cell
    assert read_table(path).to_dict("list") == {"time": [0.5, 0.6], "state": [3, 4]}
    path.write_text("time,state\n0.5,3,7\n0.6,4,8\n")
    with pytest.raises(ValueError, match="cannot be read as a table"):
        read_table(path)


def forge(listing, *names):
    lines = "".join(f"{'0' * 64}  {name}\n" for name in names)
    listing.write_text(f"# {len(names)} files\n{lines}")


@needs_pipes
def test_a_list_of_checksums_opens_only_files_of_its_folder(tmp_path):
    folder, listing = tmp_path / "results", tmp_path / "results" / "tables.sha256"
    folder.mkdir()
    for name in ("../thesis.txt", "/dev/zero", "a\\b"):
        forge(listing, name)
        with limited(5):
            assert damaged_files(listing, folder) == ["tables.sha256"]
    os.mkfifo(folder / "pipe.csv")
    (folder / "zero.csv").symlink_to("/dev/zero")
    forge(listing, "pipe.csv", "zero.csv", "missing.csv")
    with limited(5):
        assert damaged_files(listing, folder) == ["missing.csv", "pipe.csv", "zero.csv"]
    listing.unlink()
    os.mkfifo(listing)
    with limited(5):
        assert damaged_files(listing, folder) == ["tables.sha256"]


def test_temporary_names_cannot_be_foreseen_and_follow_no_link(tmp_path, monkeypatch):
    victim = tmp_path / "thesis.txt"
    victim.write_text("mine")
    with replacing(tmp_path / "page.html") as one, replacing(tmp_path / "page.html") as other:
        assert one != other
        assert str(os.getpid()) not in one.name.split(".")
        assert is_leftover(one)
    beside = tmp_path / f".page.html.{'0' * 32}"
    monkeypatch.setattr("replay.files.name_beside", lambda path: beside)
    beside.symlink_to(victim)
    with pytest.raises(FileExistsError), replacing(tmp_path / "page.html") as taken:
        taken.write_text("theirs")
    assert victim.read_text() == "mine"


def test_a_replaced_file_has_the_rights_of_a_new_one(tmp_path):
    with replacing(tmp_path / "one") as beside:
        beside.write_text("")
    (tmp_path / "other").write_text("")
    one, other = (stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("one", "other"))
    assert one == other


def test_a_long_name_leaves_room_for_the_temporary_one(tmp_path):
    for name in ("x" * 255, "é" * 127):
        with replacing(tmp_path / name) as beside:
            beside.write_text("all of it")
        assert [path.name for path in tmp_path.iterdir()] == [name]
        (tmp_path / name).unlink()


def test_a_folder_is_not_replaced_by_a_file(tmp_path):
    (tmp_path / "page.html" / "mine").mkdir(parents=True)
    with (
        pytest.raises(IsADirectoryError, match="is to be written, but is a folder"),
        replacing(tmp_path / "page.html"),
    ):
        pass


@pytest.mark.parametrize("name", [".", "../here"])
def test_where_the_process_stands_is_never_replaced(tmp_path, name):
    (tmp_path / "here").mkdir()
    with (
        chdir(tmp_path / "here"),
        pytest.raises(IsADirectoryError, match="is to be written, but is a folder"),
        replacing(name),
    ):
        pass
    assert [path.name for path in tmp_path.iterdir()] == ["here"]
    assert not list((tmp_path / "here").iterdir())


@needs_pipes
def test_a_lock_is_a_file_of_its_own(tmp_path):
    lock, victim = tmp_path / ".lock", tmp_path / "elsewhere"
    for put in (lambda: os.mkfifo(lock), lambda: lock.symlink_to(victim)):
        put()
        with limited(5), pytest.raises(OSError, match=r"\.lock must be a file"), exclusive(lock):
            pass
        lock.unlink()
    assert not victim.exists()


def test_texts_are_the_same_after_writing_and_reading(tmp_path):
    names = ["001", "NA", "null", "1e5", "=2+3", "+1", "-x", "@a", "'=b", "'c", "\t=d", 'e,"f"']
    table = pd.DataFrame({"animal": names, "found": names[::-1], "value": np.arange(12) - 6.5})
    table.loc[3, "animal"] = None
    write_csv(table, tmp_path / "table.csv")
    again = read_table(tmp_path / "table.csv", ["animal", "unknown"])
    assert again["animal"].fillna("").tolist() == [*names[:3], "", *names[4:]]
    assert again["found"].tolist()[:9] == names[:2:-1]  # as a column that is not known to be text
    assert again["value"].tolist() == table["value"].tolist()
    begun = [line[:2] for line in (tmp_path / "table.csv").read_text().splitlines()]
    assert begun[5:11] == ["'=", "'+", "'-", "'@", "''", "'c"]


def test_texts_that_rows_share_are_counted_for_each_row(tmp_path):
    text, path = "x" * 1_000_000, tmp_path / "bomb.parquet"
    shared = pa.DictionaryArray.from_arrays(np.zeros(20_000, np.int32), [text])
    pq.write_table(pa.table({"note": shared}), path, compression="zstd", store_schema=False)
    assert path.stat().st_size < 10_000
    with limited(20), pytest.raises(ValueError, match=r"no room for .* it needs .* GB of memory"):
        read_table(path)


@pytest.mark.parametrize("within", ["column", "list", "prefixes"])
def test_texts_are_counted_as_they_are(within, tmp_path, monkeypatch):
    path = tmp_path / "table.parquet"
    texts = pa.array(["x" * 199_999 + letter for letter in "ab" * 200])  # of 80 MB, held twice
    if within == "list":
        texts = pa.ListArray.from_arrays(np.arange(0, 401, 2, dtype=np.int32), texts)
    kept = {"column_encoding": {"note": "DELTA_BYTE_ARRAY"}} if within == "prefixes" else {}
    table = pa.table({"note": texts})
    pq.write_table(table, path, compression="zstd", use_dictionary=within != "prefixes", **kept)
    assert path.stat().st_size < 300_000
    monkeypatch.setattr(values, "_memory_bytes", lambda: 159e6)
    with pytest.raises(ValueError, match="no room for the texts of the column 'note"):
        read_table(path)
    monkeypatch.setattr(values, "_memory_bytes", lambda: 161e6)
    assert len(read_table(path)) == len(table)
