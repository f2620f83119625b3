"""Safe files: written completely or not at all, by one process at a time, and with checksums.

A folder may come from somebody else. Its files are opened by `opened` and the functions that read,
or by another library after `check_file`, which refuse what could block or never end. A name that a
file holds becomes a path by `inside`, which stays in the folder, and a new file gets a `safe_name`.
"""

import hashlib
import os
import re
import shutil
import stat
import sys
import uuid
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from io import BufferedReader
from pathlib import Path
from typing import IO

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from replay.checks import check_fits, check_text, shown

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

_LEFTOVER = re.compile(r"\..+\.[0-9a-f]{32}")  # from `name_beside`
_CHECKSUM = re.compile(r"([0-9a-f]{64})  ([^\0\r\n]+)\n")
_NEVER = re.compile(r"^[a-zA-Z]:|[\x00-\x1f\x7f-\x9f\ud800-\udfff\\]")  # drives, controls
_UNSAFE = re.compile(r'[\x00-\x1f\x7f-\x9f\ud800-\udfff/\\:*?"<>|]|^[. ]+|[. ]+$')
_NAME_BYTES = 150  # of a name that becomes part of another; file systems allow 255
_MOST_BYTES = 64 << 30  # of a file of results, which takes about a minute to read
_HOLE_BYTES = 1 << 30
_HOLE_SHARE = 100  # a disk that compresses makes no table smaller by as much
_PARSED = 20  # memory of a parsed text, relative to its length
_TABLE = 10  # memory of a table, relative to its text
_BYTES = {"BOOLEAN": 1, "INT32": 4, "FLOAT": 4, "INT64": 8, "DOUBLE": 8}
_TEXT_BYTES = 16  # at least, of other values
_SHARED = 1 << 26  # bytes of texts that are worth counting
_COPIES = 2  # of a text, while a table is converted
_FORMULA = re.compile("(?='*[=+@\t\r-])")
_NO_FORMULA = re.compile("'(?='*[=+@\t\r-])")
_NO_WAIT = getattr(os, "O_NONBLOCK", 0)  # a pipe would wait for its writer; Windows has none
_NO_LINK = getattr(os, "O_NOFOLLOW", 0)
_KINDS = {stat.S_IFDIR: "folder", stat.S_IFIFO: "pipe", stat.S_IFLNK: "link"}


def check_path(name: str, path: object) -> Path:
    """Check the path of a file or folder."""
    if not isinstance(path, str | os.PathLike):
        raise TypeError(f"{name} must be the path of a file or folder, got {shown(path)}.")
    text = check_text(name, os.fspath(path))
    if not text or min(text) < " ":  # a line break, say, or NUL
        raise ValueError(f"{name} must be the path of a file or folder, got {shown(path)}.")
    return Path(text)


def inside(folder: str | os.PathLike[str], name: object) -> Path:
    """Turn a name that a file holds into a path inside a folder.

    Absolute names, ``..``, backslashes, drives, and what a link leads outside are refused.
    """
    root = Path(folder)
    if _is_inner(name):
        path = root / str(name)
        try:
            if path.resolve().is_relative_to(root.resolve()):
                return path
        except (OSError, RuntimeError):  # links in a circle
            pass
    raise ValueError(
        f"A file of {folder} must lie inside it, got {shown(name)}. Do not trust this folder."
    )


def _is_inner(name: object) -> bool:
    """Whether a name, links aside, leads into a folder."""
    return (
        isinstance(name, str)
        and not _NEVER.search(name)
        and {"", ".", ".."}.isdisjoint(name.split("/"))
    )


def safe_name(text: str) -> str:
    """Turn a text from data into the name of one file; two texts do not give the same name."""
    kept = _cut(_UNSAFE.sub("_", text))
    if text and kept == text:
        return text
    return f"{kept}-{hashlib.sha256(text.encode(errors='surrogatepass')).hexdigest()[:8]}"


def _cut(name: str) -> str:
    return name.encode()[:_NAME_BYTES].decode(errors="ignore")


def check_file(path: str | os.PathLike[str]) -> Path:
    """Check that a path leads to a file; a pipe could block, and a device never end."""
    path = check_path("path", path)
    try:
        found = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        raise FileNotFoundError(f"There is no file {path}.") from None
    except OSError as error:  # links in a circle, say
        raise type(error)(f"{path} cannot be opened: {error.strerror}.") from None
    _check_kind(path, found)
    return path


def _check_kind(path: Path, found: os.stat_result) -> None:
    if not stat.S_ISREG(found.st_mode):
        kind = _KINDS.get(stat.S_IFMT(found.st_mode), "device")
        raise OSError(f"{path} must be a file, but it is a {kind}. Put the file there instead.")


@contextmanager
def opened(path: str | os.PathLike[str]) -> Iterator[BufferedReader]:
    """Open a file for reading, after `check_file`."""
    path = check_file(path)
    with open(path, "rb", opener=lambda name, flags: os.open(name, flags | _NO_WAIT)) as file:
        _check_kind(path, os.fstat(file.fileno()))  # it may have changed since
        yield file


def read_file(path: str | os.PathLike[str]) -> bytes:
    """Read a whole file whose text is to be parsed, after `check_file` and if memory suffices."""
    with opened(path) as file:
        size = os.fstat(file.fileno()).st_size
        check_fits(_PARSED * size, f"the contents of {path}")
        return file.read(size)


@contextmanager
def opened_parquet(path: str | os.PathLike[str]) -> Iterator[pq.ParquetFile]:
    """Open a Parquet file, unless it claims more values than memory can hold.

    Equal values take no space in a file, so that a small one may claim any number of them.
    """
    with opened(path) as source, pq.ParquetFile(source, page_checksum_verification=True) as file:
        found = file.metadata
        groups = [found.row_group(number) for number in range(found.num_row_groups)]
        values = 0
        for place in range(found.num_columns):
            chunks, column = [group.column(place) for group in groups], file.schema.column(place)
            # A damaged one may claim less than none, which must not offset what others claim.
            width = _BYTES.get(column.physical_type, max(_TEXT_BYTES, column.length))
            values += width * sum(abs(each.num_values) for each in chunks)
            most = sum(abs(each.num_values * each.total_uncompressed_size) for each in chunks)
            if column.physical_type == "BYTE_ARRAY" and most > _SHARED:
                has_prefixes = any("DELTA_BYTE_ARRAY" in each.encodings for each in chunks)
                values += _COPIES * _text_bytes(path, column.path, has_prefixes)
        n_bytes = sum(abs(group.total_byte_size) for group in groups)
        check_fits(max(values, n_bytes), f"the contents of {path}")
        yield file


def _text_bytes(path: str | os.PathLike[str], column: str, has_prefixes: bool) -> int:
    """Count the bytes of texts; a file holds equal ones, or equal prefixes, only once."""
    n_bytes = 0
    with (
        opened(path) as source,
        pq.ParquetFile(
            source,
            read_dictionary=[] if has_prefixes else [column],
            page_checksum_verification=True,
        ) as file,
    ):
        for batch in file.iter_batches(64 if has_prefixes else 65_536, columns=[column]):
            texts = batch.column(0)
            while pa.types.is_nested(texts.type):
                texts = texts.flatten()
                texts = texts[0] if isinstance(texts, list) else texts
            held = texts.dictionary if pa.types.is_dictionary(texts.type) else texts
            lengths = pc.binary_length(held)
            if held is not texts:
                lengths = lengths.take(texts.indices)
            n_bytes += pc.sum(lengths.cast(pa.int64())).as_py() or 0
            check_fits(_COPIES * n_bytes, f"the texts of the column {column!r} of {path}")
    return n_bytes


def read_table(path: str | os.PathLike[str], texts: Iterable[str] = ()) -> pd.DataFrame:
    """Read a table, from ``.parquet`` or else CSV.

    The columns `texts` of a CSV file hold text, even if it is 001 or NA; an empty cell is missing.
    """
    path = check_file(path)
    try:
        if path.suffix == ".parquet":
            with opened_parquet(path), opened(path) as file:
                return pd.read_parquet(file)
        check_fits(_TABLE * path.stat().st_size, f"the contents of {path}")
        with opened(path) as file, warnings.catch_warnings():
            warnings.simplefilter("error", pd.errors.ParserWarning)  # rows longer than the header
            table = pd.read_csv(file, index_col=False)
            held = [name for name in texts if name in table]
            if held:
                file.seek(0)
                table[held] = pd.read_csv(
                    file, index_col=False, usecols=held, dtype=str, keep_default_na=False,
                    na_values=[""],
                )[held]  # fmt: skip
    except Exception as error:  # a damaged file may raise anything
        reason = " ".join(str(error).split())[:300].rstrip(".")
        raise ValueError(f"{path} cannot be read as a table ({reason}).") from error
    return _with_texts(table, _NO_FORMULA, "")


def write_csv(table: pd.DataFrame, path: str | os.PathLike[str] | IO[bytes]) -> None:
    """Write a table as CSV with twelve digits; equal tables give equal bytes.

    Columns with numbers from a million on have sixteen: times since 1970 need them.

    A text that a spreadsheet would compute, since it begins with ``=``, ``+``, ``-`` or ``@``,
    gets an apostrophe before it, which `read_table` removes.
    """
    plain = _with_texts(table, _FORMULA, "'")
    for name, values in plain.select_dtypes("float").items():
        if (values.abs() >= 1e6).any():
            digits = values.map("{:.16g}".format).where(values.notna())
            plain = plain.assign(**{str(name): digits})
    plain.to_csv(path, index=False, float_format="%.12g", lineterminator="\n")


def _with_texts(table: pd.DataFrame, pattern: re.Pattern[str], new: str) -> pd.DataFrame:
    """Replace a pattern at the beginning of texts."""
    for name in table.select_dtypes(exclude=["number", "bool"]):
        if any(isinstance(cell, str) and pattern.match(cell) for cell in table[name]):
            cells = [
                f"{new}{cell[found.end() :]}"
                if isinstance(cell, str) and (found := pattern.match(cell))
                else cell
                for cell in table[name]
            ]
            table = table.assign(**{str(name): cells})
    return table


def name_beside(path: Path) -> Path:
    """Return a temporary name beside a path, which nobody can foresee."""
    return path.with_name(f".{_cut(path.name)}.{uuid.uuid4().hex}")


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Write a file under a temporary name, and move it to its place when it is complete."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.is_dir() and not path.is_symlink():
        try:
            if path.samefile(os.curdir):  # the process would stand nowhere
                raise IsADirectoryError
            path.rmdir()  # if it is empty
        except OSError:
            message = f"{path} is to be written, but is a folder. Move it elsewhere."
            raise IsADirectoryError(message) from None
    beside = name_beside(path)
    beside.touch(exist_ok=False)  # refuses links, too
    try:
        yield beside
        with beside.open("rb+") as file:
            os.fsync(file.fileno())
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)


def write_checksums(listing: str | os.PathLike[str], files: Iterable[Path], root: Path) -> None:
    """Write a list of files with their SHA-256 digests, in the format of ``sha256sum``."""
    found = [(_digest(path), path.relative_to(root).as_posix()) for path in sorted(files)]
    with replacing(listing) as beside:
        beside.write_bytes(_listed(found).encode())


def damaged_files(listing: str | os.PathLike[str], root: Path) -> list[str]:
    """List the files that have changed since `write_checksums`, missing ones included.

    Links count as changed. A list with the name of a file that is not in the folder is damaged
    itself.
    """
    listing = Path(listing)
    own = listing.relative_to(root).as_posix()
    if _is_linked(root, own):
        return [own]
    try:
        text = read_file(listing).decode(errors="replace")
    except FileNotFoundError:
        raise
    except (OSError, ValueError):
        return [own]
    found = _CHECKSUM.findall(text)
    names = {name for _, name in found if _is_inner(name)}
    if text != _listed(found) or len(names) < len(found):  # a name twice would be read twice
        return [own]
    damaged = []
    for digest, name in found:
        try:
            status = (root / name).stat()
            # A large file with hardly any bytes on the disk takes hours to read.
            stored = 512 * getattr(status, "st_blocks", status.st_size)  # Windows does not tell
            is_hole = status.st_size > max(_HOLE_BYTES, _HOLE_SHARE * stored)
            is_large = status.st_size > _MOST_BYTES or is_hole
            if is_large or _is_linked(root, name) or digest != _digest(root / name):
                damaged.append(name)
        except OSError:
            damaged.append(name)
    return sorted(damaged)


def _is_linked(root: Path, name: str) -> bool:
    """Whether a file of a folder, or an inner folder that contains it, is a symbolic link."""
    path = root / name
    inner = [path, *(each for each in path.parents if each.is_relative_to(root) and each != root)]
    return any(each.is_symlink() for each in inner)


def _listed(found: Sequence[tuple[str, str]]) -> str:
    # The count reveals a listing that was cut off at the end of a line.
    lines = (f"{digest}  {name}\n" for digest, name in found)
    return f"# {len(found)} files\n{''.join(lines)}"


def _digest(path: Path) -> str:
    with opened(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def remove_leftovers(paths: Iterable[Path]) -> None:
    """Remove the temporary files and folders of killed processes."""
    for path in list(paths):
        if is_leftover(path):
            if path.is_dir() and not path.is_symlink():
                remove_folder(path)
            else:
                path.unlink(missing_ok=True)


def remove_folder(path: Path) -> None:
    """Remove a folder with all that it holds, if it exists; no link is followed."""
    try:
        with suppress(FileNotFoundError):
            shutil.rmtree(path)
    except RecursionError:
        raise OSError(
            f"{path} holds folders in folders without end, which no command made. Remove it."
        ) from None


def is_leftover(path: Path) -> bool:
    """Whether a file or folder is temporary: being written, or left by a killed process."""
    return bool(_LEFTOVER.fullmatch(path.name))


@contextmanager
def exclusive(path: str | os.PathLike[str]) -> Iterator[None]:
    """Hold a lock that only one process at a time can have.

    The operating system releases it when the process ends, however it ends.
    """
    path = Path(path)
    with suppress(FileNotFoundError):
        _check_kind(path, path.lstat())
    flags = os.O_RDWR | os.O_CREAT | _NO_WAIT | _NO_LINK
    with open(path, "ab", opener=lambda name, _: os.open(name, flags, 0o666)) as file:
        # Not a marker file, as lock libraries have it, which would outlive a killed process.
        if sys.platform == "win32":
            os.lseek(file.fileno(), 0, os.SEEK_SET)  # it locks from where the file stands
            try:
                msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
            except PermissionError as error:
                raise BlockingIOError(*error.args) from error
        else:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
