"""States kept in a folder, so that a run that was killed goes on where it was."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from paribus.errors import CheckpointError, OptionError
from paribus.states import known_states
from paribus.states.codec import packed, unpacked

VERSION = 1


@dataclass(frozen=True)
class Checkpoint:
    """A folder with one folder per pass, each with what it is a pass of and the states of finished ranges."""

    folder: Path

    @classmethod
    def of(cls, folder: Any) -> Checkpoint:
        """Make the folder, or refuse a file of that name."""
        if not isinstance(folder, (str, os.PathLike)):
            raise OptionError(f"checkpoint={folder!r} must be the path of a folder")
        path = Path(folder).expanduser()
        try:
            path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise OptionError(f"checkpoint={os.fspath(folder)!r} cannot be a folder: {error}") from error
        return cls(path)

    def keeper(
        self, name: str, identity: Mapping[str, str], more: Mapping[str, Callable[..., Any]]
    ) -> KeptStates:
        """Return the keeper of one pass, or refuse states of another; ``more`` are classes of its states."""
        folder = self.folder / name
        folder.mkdir(exist_ok=True)
        for half in folder.glob("*.half"):  # of runs that were killed while they wrote
            half.unlink()
        wanted = {"version": VERSION, **identity}
        file = folder / "identity.json"
        if file.exists():
            self._same(file, wanted)
        else:
            _written(file, json.dumps(wanted, indent=1).encode())
        return KeptStates(folder, {**known_states(), **more})

    def _same(self, file: Path, wanted: Mapping[str, Any]) -> None:
        try:
            found = json.loads(file.read_text())
        except ValueError as error:
            raise CheckpointError(
                f"{file} cannot be read: {error}; remove the folder to begin anew"
            ) from error
        same = found if isinstance(found, dict) else {}
        differing = [name for name, value in wanted.items() if same.get(name) != value]
        if differing:
            raise CheckpointError(
                f"checkpoint={os.fspath(self.folder)!r} was begun with other {' and '.join(differing)}; "
                "give another folder, or remove this one to begin anew"
            )


@dataclass(frozen=True)
class KeptStates:
    """The states of one pass, a file for each range of blocks."""

    folder: Path
    known: Mapping[str, Callable[..., Any]]

    def has(self, first: int, stop: int) -> bool:
        """Tell whether the state of a range was kept."""
        return self._file(first, stop).exists()

    def find(self, first: int, stop: int) -> Any:
        """Return the state of a range."""
        try:
            return unpacked(self._file(first, stop).read_bytes(), self.known)
        except CheckpointError as error:
            raise CheckpointError(
                f"{self._file(first, stop)}: {error}; remove it to compute it anew"
            ) from error

    def keep(self, first: int, stop: int, state: Any) -> None:
        """Write a state; it is there whole or not at all."""
        _written(self._file(first, stop), packed(state))

    def _file(self, first: int, stop: int) -> Path:
        return self.folder / f"{first:09d}-{stop:09d}.npz"


def _written(file: Path, data: bytes) -> None:
    """Write a file under another name and rename it, so that one that was killed leaves no half of it."""
    half = file.with_suffix(f".{os.getpid()}.half")
    with half.open("wb") as handle:
        handle.write(data)
        handle.flush()
        os.fsync(handle.fileno())
    half.replace(file)
