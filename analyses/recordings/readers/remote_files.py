"""Files that are read where they are.

Of an NWB file at an address, or in the DANDI archive, only the ranges of bytes that are asked for
are moved: the description of the file, positions, spike times and tables, but no field potential
that is not used. Each range is kept in a file of its own, which is written completely or not at
all, so that an interrupted reading goes on where it was. They are kept for one state of the file:
if that changes, it is read anew, and states are never mixed. Each has a digest, and what could not
be read is not kept.
"""

from __future__ import annotations

import gc
import hashlib
import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from http.client import HTTPException
from pathlib import Path, PurePosixPath
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any, NamedTuple
from urllib.error import HTTPError
from urllib.parse import quote, urlsplit
from urllib.request import Request, urlopen

import platformdirs

from replay.checks import shown
from replay.files import replacing

_ARCHIVE = "https://api.dandiarchive.org/api"
_ASSET = re.compile(r"dandi:(\d{6})(?:@([\w.]+))?/(.+\.nwb)")
_WAIT = 30.0  # s
_SLOWEST = 10_000  # bytes a second
_DIGEST = 32  # bytes
_LONGEST = 1 << 22  # bytes of a description


class Remote(NamedTuple):
    """A file at an address."""

    name: str  # the name of the file
    url: str  # where its bytes are
    # the header of a request, and its value, by which the server tells whether the content is still
    # the same
    same: tuple[str, str]
    # the address that was given, and for a file of DANDI its asset and version
    origin: dict[str, str]


def is_address(source: object) -> bool:
    """Tell an address from a path.

    Examples
    --------
    >>> is_address("dandi:000978/sub-1/sub-1.nwb"), is_address("sub-1.nwb")
    (True, False)
    """
    return isinstance(source, str) and source.startswith(("dandi:", "http://", "https://"))


def name_of(address: str) -> str:
    """Return the name of the file at an address.

    Examples
    --------
    >>> name_of("https://somewhere.org/rat%201.nwb?download=1")
    'rat%201.nwb'
    """
    return PurePosixPath(urlsplit(address).path).name


def find_remote(address: str) -> Remote:
    """Find the file at an address, and ask its server for a first byte."""
    origin = {"address": address}
    url = address
    if address.startswith("dandi:"):
        found = _ASSET.fullmatch(address)
        if found is None:
            raise ValueError(
                "A file of DANDI is named by its dandiset and path, such as "
                "dandi:000978/sub-1/sub-1_behavior+ecephys.nwb, or dandi:000978@VERSION/...; got "
                f"{shown(address)}."
            )
        number, version, path = found.group(1), found.group(2) or "draft", found.group(3)
        where = f"{_ARCHIVE}/dandisets/{number}/versions/{version}/assets/?path={quote(path)}"
        _, listed = _asked(Request(where), address, _LONGEST)
        try:
            assets = [each for each in json.loads(listed)["results"] if each["path"] == path]
        except (LookupError, TypeError, ValueError):
            raise OSError(
                f"{urlsplit(_ARCHIVE).netloc} gave no list of files for {address}. Try again later."
            ) from None
        if not assets:
            raise ValueError(
                f"Dandiset {number} ({version}) has no file {path}: copy its path from its page, "
                f"dandiarchive.org/dandiset/{number}."
            )
        asset = str(assets[0]["asset_id"])
        url = f"{_ARCHIVE}/assets/{asset}/download/"
        origin |= {"asset": asset, "version": version}
    answer, _ = _asked(Request(url, headers={"Range": "bytes=0-0"}), address)
    same = "If-Match", str(answer.headers.get("ETag"))
    if not same[1].startswith('"'):  # none, or one that need not change with the content
        same = "If-Unmodified-Since", str(answer.headers.get("Last-Modified", ""))
    if answer.status != 206 or not same[1]:
        raise ValueError(
            f"The server of {address} gives no parts of a file, or does not tell whether it "
            "has changed: download the file, and name it instead."
        )
    final = urlsplit(answer.url)
    if "asset" in origin:
        final = final._replace(query="")  # a signature, which ends soon and is not needed
    return Remote(name_of(address), final.geturl(), same, {**origin, "content": same[1]})


def _asked(request: Request, address: str, most: int = 0) -> tuple[Any, bytes]:
    """Return the answer of a server, and its first bytes."""

    def ask() -> tuple[Any, bytes]:
        try:
            with urlopen(request, timeout=_WAIT) as answer:
                return answer, answer.read(most)
        except HTTPError as error:
            error.close()
            raise

    try:
        answer: tuple[Any, bytes] = _soon(ask, _WAIT)
        return answer
    except (OSError, HTTPException, ValueError) as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise OSError(
            f"{address} cannot be reached ({reason}). Is there a network, and is the address "
            "right? A file on this machine needs none."
        ) from None


def _soon(ask: Callable[[], Any], seconds: float) -> Any:
    """Call a function that asks a server, which may send a byte now and then for ever."""
    found = SimpleQueue[tuple[Any, Exception | None]]()

    def call() -> None:
        try:
            found.put((ask(), None))
        except Exception as error:  # raised below
            found.put((None, error))

    Thread(target=call, daemon=True).start()
    try:
        answer, error = found.get(timeout=seconds)
    except Empty:
        raise TimeoutError(f"no whole answer within {seconds:.0f} s") from None
    if error is not None:
        raise error
    return answer


def _range(get: Callable[..., Any], url: str, headers: dict[str, str]) -> Any:
    """Ask for a range of bytes, and take no more than these."""
    first, last = map(int, headers["Range"].removeprefix("bytes=").split("-"))
    n_bytes = last + 1 - first

    def ask() -> Any:
        answer, content = get(url, headers=headers, timeout=_WAIT, stream=True), b""
        with answer:
            # In parts, so that a server that sends on and on is stopped.
            for part in answer.iter_content(max(n_bytes // 8, 1)):
                content += part
                if len(content) > n_bytes:
                    raise OSError(f"more than the {n_bytes:,} bytes that were asked for")
        answer._content = content
        return answer

    return _soon(ask, _WAIT + n_bytes / _SLOWEST)


class _Kept:
    """The ranges that were moved, as files of a folder; what `remfile` expects of its cache.

    Each file begins with the digest of what follows.
    """

    def __init__(self, folder: Path) -> None:
        self.folder, self.moved, self.is_waiting = folder, list[Path](), False

    def _path(self, key: str) -> Path:
        return self.folder / hashlib.sha256(key.encode()).hexdigest()

    def get(self, key: str) -> bytes | None:
        """Return the bytes of a range, if they were moved before and have not changed."""
        path = self._path(key)
        if path.exists():
            content = path.read_bytes()
            if hashlib.sha256(content[_DIGEST:]).digest() == content[:_DIGEST]:
                return content[_DIGEST:]
        self.is_waiting = True
        return None

    def set(self, key: str, value: bytes) -> None:
        """Keep the bytes of a range."""
        path, self.is_waiting = self._path(key), False
        with replacing(path) as beside:
            beside.write_bytes(hashlib.sha256(value).digest() + value)
        self.moved.append(path)


def kept_folder(remote: Remote) -> Path:
    """Return the folder in which the ranges of a file are kept."""
    folder = platformdirs.user_cache_path("hippocampal-replay", appauthor=False) / "remote"
    return folder / hashlib.sha256(f"{remote.url} {remote.same}".encode()).hexdigest()


@contextmanager
def opened_remote(remote: Remote) -> Iterator[Any]:
    """Open a file at an address, as an object that reads its ranges.

    What a reading moved is kept if it succeeds, or if the network fails.
    """
    try:
        import remfile
    except ImportError:
        raise ImportError(
            f"Reading {remote.name} where it is needs remfile: pip install "
            "'hippocampal-replay[streaming]'. Or download the file, and name it instead."
        ) from None
    kept = _Kept(kept_folder(remote))
    answer, _ = _asked(Request(remote.url, headers=dict([remote.same])), remote.name)
    size = int(answer.headers["Content-Length"])
    file = remfile.File(remote.url, disk_cache=kept, _size=size)
    file.session.headers.update([remote.same])
    file.session.get = partial(_range, file.session.get)
    # This thread holds the lock of h5py while another brings a range. If that one collects garbage
    # with a file of HDF5 in it, it waits for the lock, and both wait for ever.
    was_collecting = gc.isenabled()
    gc.disable()
    try:
        yield file
    except Exception:
        if not kept.is_waiting:
            for path in kept.moved:
                path.unlink(missing_ok=True)
        raise
    finally:
        if was_collecting:
            gc.enable()
        file.session.close()
