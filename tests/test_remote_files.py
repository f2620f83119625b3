"""NWB files that are read over the network, from a server of byte ranges on this machine."""

import gc
import json
import sys
import time
import tomllib
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event, Thread
from urllib.parse import parse_qs, urlsplit

import h5py
import numpy as np
import pytest
from commands import replay

from analyses.recordings.readers import read_recording, remote_files
from analyses.recordings.readers.contents import describe_file
from analyses.recordings.readers.nwb_files import read_nwb
from analyses.recordings.readers.track_graphs import read_track

layouts = pytest.importorskip("nwb_layouts", reason="pynwb is not installed")
remfile = pytest.importorskip("remfile", reason="remfile is not installed")

PATH = "sub-1/sub-1_behavior+ecephys.nwb"
ADDRESS = f"dandi:000978/{PATH}"


class Handler(BaseHTTPRequestHandler):
    """What the DANDI archive answers: its list of assets, a redirection, and ranges of bytes."""

    def log_message(self, *_):
        pass

    def answer(self, status, body=b"", **headers):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
        self.server.moved += len(body)

    def do_GET(self):
        where, own = urlsplit(self.path), self.server
        if where.path.endswith("/versions/draft/assets/"):
            wanted = parse_qs(where.query)["path"][0]
            found = [{"asset_id": "a1", "path": PATH}] if PATH.startswith(wanted) else []
            return self.answer(200, json.dumps({"results": found}).encode())
        if where.path.endswith("/assets/a1/download/"):
            return self.answer(302, Location=f"{own.url}/blobs/b1?signature=short")
        if own.moved > own.most and not own.cuts:
            return self.answer(403)
        etag = f'"{own.version}"'
        if self.headers.get("If-Match", etag) != etag:
            return self.answer(412)
        if own.without_ranges:
            return self.answer(200, b"all of it", ETag=etag)
        first, last = 0, len(own.content) - 1
        given = self.headers.get("Range")
        if given is None:  # asked for its length only
            self.send_response(200)
            self.send_header("Content-Length", str(len(own.content)))
            return self.end_headers()
        first, last = map(int, given.removeprefix("bytes=").split("-"))
        if own.answers is not None and last > 0:
            return own.answers(self, first, last)
        if own.moved > own.most:  # the connection ends in the middle of the range
            self.send_response(206)
            self.send_header("Content-Length", str(last + 1 - first))
            self.end_headers()
            self.wfile.write(own.content[first : (first + last) // 2])
            self.close_connection = True
            return None
        return self.answer(206, own.content[first : last + 1], ETag=etag)


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    return layouts.jadhav(tmp_path_factory.mktemp("remote") / "JS14.nwb", n_samples=100_000)


@pytest.fixture
def server(written, monkeypatch, tmp_path):
    own = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    own.url = f"http://127.0.0.1:{own.server_port}"
    own.content, own.version = written.read_bytes(), "one"
    own.moved, own.most, own.without_ranges, own.cuts = 0, np.inf, False, False
    own.answers = None
    Thread(target=own.serve_forever, daemon=True).start()
    monkeypatch.setattr(remote_files, "_ARCHIVE", f"{own.url}/api")
    monkeypatch.setattr(remote_files.platformdirs, "user_cache_path", lambda *_, **__: tmp_path)
    yield own
    own.shutdown()
    own.server_close()


def test_a_file_of_dandi_is_read_where_it_is(server, written):
    here, there = read_recording(written, layouts.TRACK), read_recording(ADDRESS, layouts.TRACK)
    assert there.digest() == here.digest()
    assert there.origin["asset"] == "a1"
    assert there.origin["address"] == ADDRESS
    assert server.moved < 0.3 * len(server.content)  # the field potential stays where it is
    once = server.moved
    read_recording(ADDRESS, layouts.TRACK)
    assert server.moved < once + 1000  # all was kept
    said = [
        line.replace(written.name, remote_files.name_of(ADDRESS)) for line in describe_file(written)
    ]
    assert describe_file(ADDRESS)[:-1] == said[:-1]
    shown = replay("recording", ADDRESS, "--inspect").stdout
    assert f"replay recording {ADDRESS}" in " ".join(shown.split())


@pytest.mark.parametrize("cuts", [False, True], ids=["refused", "cut"])
def test_an_interrupted_reading_goes_on_where_it_was(server, cuts, monkeypatch):
    monkeypatch.setattr(time, "sleep", lambda _: None)  # before each of eight attempts
    server.most, server.cuts = 250_000, cuts
    reason = "more expected" if cuts else "403"
    with pytest.raises(OSError, match=f"broke off.*{reason}.*Run the same again: what has arrived"):
        read_recording(ADDRESS, layouts.TRACK)
    first, server.most = server.moved, np.inf
    found = read_recording(ADDRESS, layouts.TRACK)
    second, server.moved = server.moved - first, 0
    for kept in list((remote_files.platformdirs.user_cache_path() / "remote").rglob("*")):
        if kept.is_file():
            kept.unlink()
    assert read_recording(ADDRESS, layouts.TRACK).digest() == found.digest()
    assert second < server.moved - 100_000


class Lost:
    """Garbage that needs the lock of h5py when it is collected, as what pynwb leaves does."""

    def __init__(self):
        self.itself = self

    def __del__(self):
        with h5py._objects.phil:
            pass


def test_a_thread_that_collects_garbage_does_not_wait_for_the_reader(server, monkeypatch):
    def answer(handler, first, last):
        Lost()
        if gc.isenabled():  # what any allocation may do
            gc.collect()
        return handler.answer(206, server.content[first : last + 1], ETag='"one"')

    server.answers = answer
    monkeypatch.setattr("remfile.RemFile._num_request_retries", 0)
    monkeypatch.setattr(remote_files, "_WAIT", 5.0)
    read_recording(ADDRESS, layouts.TRACK)
    assert gc.isenabled()


def test_states_of_a_file_are_never_mixed(server, tmp_path):
    read_recording(ADDRESS, layouts.TRACK)
    server.content = layouts.huszar(tmp_path / "other.nwb").read_bytes()
    server.version = "two"
    found = read_recording(ADDRESS, layouts.TRACK | {"run_epochs": [layouts.RUN]})
    assert found.origin["identifier"] == "e13"
    server.version = "three"
    remote = remote_files.find_remote(ADDRESS)
    server.version = "four"
    with pytest.raises(OSError, match=r"broke off: .* the file was changed meanwhile.*412"):
        read_nwb(remote)


def test_what_cannot_be_read_is_told(server, monkeypatch):
    url = f"{server.url}/blobs/b1"
    with pytest.raises(
        ValueError, match=r"Dandiset 000978 \(draft\) has no file sub-2/x.nwb: copy"
    ):
        read_recording("dandi:000978/sub-2/x.nwb")
    with pytest.raises(
        ValueError, match="is named by its dandiset and path, such as dandi:000978/"
    ):
        read_recording("dandi:978/x.nwb")
    with pytest.raises(OSError, match=r"cannot be reached \(.*refused.*\). Is there a network"):
        read_recording("http://127.0.0.1:9/x.nwb")
    server.content = b"no file of HDF5" * 100
    server.version = "four"
    with pytest.raises(OSError, match="broke off: the network failed, the file was changed"):
        read_recording(url, layouts.TRACK)
    monkeypatch.setitem(sys.modules, "remfile", None)
    with pytest.raises(
        ImportError, match=r"needs remfile: pip install 'hippocampal-replay\[stream"
    ):
        read_recording(url, layouts.TRACK)
    server.without_ranges = True
    with pytest.raises(ValueError, match=r"gives no parts of a file.*download the file"):
        read_recording(url)


def kept_files(tmp_path):
    return sorted(path for path in (tmp_path / "remote").rglob("*") if path.is_file())


def test_kept_ranges_that_changed_are_moved_again(server, tmp_path):
    digest = read_recording(ADDRESS, layouts.TRACK).digest()
    once = server.moved
    for path in kept_files(tmp_path):
        content = path.read_bytes()
        half = len(content) // 2
        path.write_bytes(content[:half] + bytes(4000) + content[half + 4000 :])
    assert read_recording(ADDRESS, layouts.TRACK).digest() == digest
    assert server.moved > once + 0.9 * once


def test_wrong_bytes_of_a_server_are_not_kept(server, written, tmp_path):
    digest = read_recording(written, layouts.TRACK).digest()
    content = server.content
    server.content = content[:8] + bytes(len(content) - 8)
    with pytest.raises(OSError, match="or it is damaged") as caught:
        read_recording(ADDRESS, layouts.TRACK)
    assert str(tmp_path / "remote") in str(caught.value)
    assert not kept_files(tmp_path)
    server.content = content
    assert read_recording(ADDRESS, layouts.TRACK).digest() == digest


def drips(handler, first, last):
    handler.send_response(206)
    handler.send_header("Content-Length", str(last + 1 - first))
    handler.end_headers()
    for _ in range(8):
        handler.wfile.write(b"a")
        handler.server.waited.wait(0.1)
    handler.close_connection = True


def never_ends(handler, first, last):
    handler.send_response(206)
    handler.end_headers()
    handler.close_connection = True
    for _ in range(200):
        handler.wfile.write(bytes(100_000))


@pytest.mark.parametrize(
    ("answers", "reason"),
    [(drips, "no whole answer within 0 s"), (never_ends, "more than the .* bytes that were asked")],
)
def test_an_answer_ends(server, answers, reason, monkeypatch):
    remote = remote_files.find_remote(ADDRESS)
    server.answers, server.waited = answers, Event()
    monkeypatch.setattr(remote_files, "_WAIT", 0.2)
    monkeypatch.setattr(remote_files, "_SLOWEST", 1e9)
    monkeypatch.setattr("remfile.RemFile._num_request_retries", 0)
    begin = time.monotonic()
    with pytest.raises(OSError, match=f"broke off.*{reason}"):
        read_nwb(remote)
    assert time.monotonic() - begin < 5
    server.waited.set()


def test_public_recordings_are_named_as_they_are_read():
    text = (Path(__file__).parents[1] / "data" / "datasets.toml").read_text("utf-8")
    known = tomllib.loads(text)["dataset"]
    assert [each["id"] for each in known] == ["000978", "000447", "000044", "000552"]
    for each in known:
        for asset in each["assets"]:
            address = f"dandi:{each['id']}@{each['version']}/{asset}"
            assert remote_files._ASSET.fullmatch(address)
            assert remote_files.name_of(address) == asset.split("/")[1]
        for track in each["tracks"]:
            assert read_track(track["graph"]).number_of_edges() == 1
