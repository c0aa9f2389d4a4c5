"""The files of a job of halyard.ray: numbered parts, each whole or absent, and a description."""
from __future__ import annotations

import contextlib
import dataclasses
import fcntl
import json
import os
import pathlib
import socket
import zipfile
from typing import TYPE_CHECKING, Any, Callable, Dict, Iterator, List, Mapping, Tuple

from ._tensors import bad_data

if TYPE_CHECKING:
    from numpy.typing import NDArray

Reader = Callable[[int, int], Mapping[str, Any]]
_VERSION = 1


@dataclasses.dataclass(frozen=True)
class Job:
    """The results of a model over many rows, in a folder. `halyard.ray.run_job` makes them.

    Its part n is the file part-n.npz, with an array for each output and a row for each input row.
    """

    folder: pathlib.Path
    rows: int
    rows_per_part: int
    #: The SHA-256 of the model's file.
    model: str
    #: Whether float32 may be computed with the range and precision of float16.
    allow_fp16: bool = False

    def __post_init__(self) -> None:
        if self.rows < 1 or self.rows_per_part < 1:
            raise bad_data(f"{self.rows} rows in parts of {self.rows_per_part}, expected 1 or more of both")

    @property
    def parts(self) -> int:
        """The number of all parts."""
        return -(-self.rows // self.rows_per_part)

    def rows_of(self, part: int) -> Tuple[int, int]:
        """The first row of a part, and the one behind its last."""
        start = part * self.rows_per_part
        return start, min(start + self.rows_per_part, self.rows)

    def path(self, part: int) -> pathlib.Path:
        return self.folder / f"part-{part:08}.npz"

    def missing(self) -> List[int]:
        """The parts that are not there."""
        return [part for part in range(self.parts) if not self.path(part).exists()]

    def write(self, part: int, outputs: "Mapping[str, NDArray[Any]]") -> None:
        """Writes a part. It appears under its name by a rename, when all bytes are on the disk."""
        import numpy as np

        start, stop = self.rows_of(part)
        for name, array in outputs.items():
            if len(array) != stop - start:
                raise bad_data(f"part {part}: output '{name}' has {len(array)} rows, expected {stop - start}: "
                               f"does the reader give the rows {start} to {stop - 1}?")
        # Two workers may compute the same part, if Ray has lost one of them only from sight.
        temporary = self.folder / f".part-{part:08}-{socket.gethostname()}-{os.getpid()}.tmp"
        with open(temporary, "wb") as file:
            # As np.savez, whose own arguments take some names.
            with zipfile.ZipFile(file, "w") as parts:
                for name, array in outputs.items():
                    with parts.open(f"{name}.npy", "w", force_zip64=True) as entry:
                        np.lib.format.write_array(entry, np.asanyarray(array), allow_pickle=False)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, self.path(part))
        folder = os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)

    @contextlib.contextmanager
    def opened(self) -> Iterator[None]:
        """Makes the folder, or checks that it is of the same job, and keeps other runs out."""
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self.folder / "job.json"
        with open(path, "a+", encoding="utf-8") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise bad_data(f"{path}: another run of the job is working in this folder") from None
            file.seek(0)
            text = file.read()
            if text:
                self._compare(path, text)
            else:
                file.write(json.dumps(self._description(), indent=1) + "\n")
                file.flush()
                os.fsync(file.fileno())
            for left in self.folder.glob(".part-*.tmp"):
                left.unlink(missing_ok=True)
            yield

    def _description(self) -> Dict[str, Any]:
        return {"version": _VERSION, "rows": self.rows, "rows_per_part": self.rows_per_part,
                "model_sha256": self.model, "allow_fp16": self.allow_fp16}

    def _compare(self, path: pathlib.Path, text: str) -> None:
        try:
            found = json.loads(text)
        except json.JSONDecodeError as error:
            raise bad_data(f"{path}: no description of a job: {error}; remove the folder to begin again") from None
        if isinstance(found, dict):
            found.setdefault("allow_fp16", False)  # earlier versions did not write it
        for name, expected in self._description().items():
            value = found.get(name) if isinstance(found, dict) else None
            if value != expected:
                raise bad_data(f"{path}: {name} is {value!r}, and this call has {expected!r}; a folder has the "
                               "results of one job")

    def results(self) -> "Iterator[Dict[str, NDArray[Any]]]":
        """The outputs of each part, in the order of the rows."""
        import numpy as np

        missing = self.missing()
        if missing:
            raise bad_data(f"{self.path(missing[0])} is missing, and {len(missing)} of {self.parts} parts in all; "
                           "run the job again")
        for part in range(self.parts):
            with np.load(self.path(part), allow_pickle=False) as arrays:
                yield {name: arrays[name] for name in arrays.files}
