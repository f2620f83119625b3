"""The folder of a reproduction: what was asked for, what is done, and the tables made of it.

==============================  ============================================================
``manifest.json``               versions, sizes, seeds and parameters: enough to make it again
``pieces/EXPERIMENT/N.parquet`` one world: reward rates and counts of replay, every run in it
``logs/EXPERIMENT/RUN/``        whole event logs of the runs that were kept, with their sequences
``mdps/EXPERIMENT.json``        the first world of each experiment
``*.csv, *.parquet``            the tables made of all pieces
``figures/``                    the figures made of these tables
==============================  ============================================================

Each file is written beside its place and moved there, so an interrupted reproduction goes on where
it stopped.
"""

import json
from pathlib import Path
from typing import Any

import pandas as pd

from replay.files import replacing

__all__ = ["Results"]


class Results:
    """A result folder.

    Parameters
    ----------
    folder : path
        Where it is, or will be.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     results = Results(Path(folder) / "results")
    ...     results.begin({"seed": 0})
    ...     results.manifest()
    {'seed': 0}
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)

    def begin(self, manifest: dict[str, Any]) -> None:
        """Take possession of the folder, or go on with what it holds.

        Parameters
        ----------
        manifest : dict
            What is to be made; goes into JSON.

        Raises
        ------
        FileExistsError
            If the folder holds something else.
        """
        path = self.folder / "manifest.json"
        if path.exists():
            held = self.manifest()
            if held != json.loads(json.dumps(manifest)):
                raise FileExistsError(
                    f"{self.folder} holds another run ({_difference(held, manifest)}). "
                    "Choose another folder with --out, or remove this one."
                )
        elif self.folder.exists() and (not self.folder.is_dir() or any(self.folder.iterdir())):
            raise FileExistsError(
                f"{self.folder} exists already and holds no results. Choose another folder with "
                "--out."
            )
        else:
            with replacing(path) as beside:
                beside.write_text(json.dumps(manifest, indent=1) + "\n")

    def manifest(self) -> dict[str, Any]:
        """Read what is made here.

        Raises
        ------
        FileNotFoundError
            If this is no result folder.
        ValueError
            If the manifest is damaged.
        """
        path = self.folder / "manifest.json"
        if not path.is_file():
            raise FileNotFoundError(
                f"{self.folder} is no result folder: it has no manifest.json. Make one with "
                f"replay reproduce --out {self.folder}."
            )
        try:
            return json.loads(path.read_text())
        except ValueError as error:
            raise ValueError(f"{path} is damaged ({error}). Make the results again.") from error

    def piece(self, experiment: str, index: int) -> Path:
        """Name the file of one world."""
        return self.folder / "pieces" / experiment / f"{index}.parquet"

    def log(self, experiment: str, learner: str, index: int, run: int) -> Path:
        """Name the folder of one whole event log."""
        return self.folder / "logs" / experiment / f"{learner}-{index}-{run}"

    def read_piece(self, experiment: str, index: int) -> pd.DataFrame:
        """Read what came of one world.

        Raises
        ------
        ValueError
            If the file is damaged.
        """
        path = self.piece(experiment, index)
        try:
            return pd.read_parquet(path)
        except (OSError, ValueError) as error:
            raise ValueError(
                f"{path} is damaged ({error}). Remove it and run the same command again: only this "
                "piece is made anew."
            ) from error

    def logs(self, experiment: str) -> list[Path]:
        """Name the folders of all event logs of an experiment."""
        return sorted((self.folder / "logs" / experiment).glob("[!.]*"))

    def write(self, name: str, table: pd.DataFrame) -> None:
        """Write a table, as CSV or parquet by its name."""
        with replacing(self.folder / name) as beside:
            write_table(table, beside, csv=name.endswith(".csv"))

    def read(self, name: str) -> pd.DataFrame:
        """Read a table.

        Raises
        ------
        FileNotFoundError
            If it has not been made.
        """
        path = self.folder / name
        if not path.is_file():
            raise FileNotFoundError(
                f"{path} is missing: the run was interrupted, or kept no log. Run replay reproduce "
                "with the same options again to go on."
            )
        return pd.read_csv(path) if name.endswith(".csv") else pd.read_parquet(path)


def write_table(table: pd.DataFrame, path: Path, csv: bool = False) -> None:
    """Write a table so that the same table gives the same bytes."""
    if csv:
        table.to_csv(path, index=False, float_format="%.12g", lineterminator="\n")
    else:
        table.to_parquet(path, index=False, compression="zstd")


def _difference(held: dict[str, Any], wanted: dict[str, Any], where: str = "") -> str:
    wanted = json.loads(json.dumps(wanted))
    for key in {**held, **wanted}:
        one, other = held.get(key), wanted.get(key)
        if one != other:
            if isinstance(one, dict) and isinstance(other, dict):
                return _difference(one, other, f"{where}{key} ")
            return f"{where}{key} is {one} there and {other} here"
    return "equal"
