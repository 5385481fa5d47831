"""States kept in a folder, so that a run that was killed goes on where it was."""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import platform
import secrets
import stat
import time
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from paribus._data.scan.listing import names_store, without_secret
from paribus._states import known_states
from paribus._states.codec import packed, unpacked
from paribus.errors import CheckpointError, OptionError

VERSION = 3
DIGEST = 32  # bytes of a digest; it is the comment of a zip file, so that NumPy still reads the state
COMMENT = DIGEST.to_bytes(2, "little")  # how a zip file says how long its comment is
MACHINE = f"{zlib.crc32(platform.node().encode()):08x}"  # in the names of files while they are written
DAY = 86_400  # seconds after which no file is still being written, wherever that was
NOTE_BYTES = 65_536  # of a file that says what a folder is of, at most


@dataclass(frozen=True)
class Checkpoint:
    """A folder with one folder per pass, each with what it is a pass of and the states of finished ranges.

    ``run`` is drawn when the folder is made: states of two runs are not mixed, however alike these are.
    """

    folder: Path
    run: str

    @classmethod
    def of(cls, folder: Any) -> Checkpoint:
        """Make the folder, or refuse a file of that name."""
        if not isinstance(folder, (str, os.PathLike)):
            raise OptionError(f"checkpoint={folder!r} must be the path of a folder")
        if names_store(folder):
            raise OptionError(
                f"checkpoint={without_secret(str(folder))!r} is an address, and a checkpoint is a folder on "
                "a disk; pass a local path, or one of a disk that outlives this machine"
            )
        try:
            path = Path(folder).expanduser()
            path.mkdir(parents=True, exist_ok=True)
        except (OSError, ValueError, TypeError, RuntimeError) as error:  # a null byte, no home, a file
            raise OptionError(f"checkpoint={str(folder)!r} cannot be a folder: {error}") from error
        found = _noted(path / "run.json", {"run": secrets.token_hex(16)})
        run = found.get("run")
        if not isinstance(run, str) or not run:
            raise CheckpointError(f"{path / 'run.json'} names no run; remove the folder to start over")
        return cls(path, run)

    def store(
        self, name: str, identity: Mapping[str, str], more: Mapping[str, Callable[..., Any]]
    ) -> KeptStates:
        """Return the store of one pass, or refuse states of another; ``more`` are classes of its states."""
        folder = self.folder / name
        with _naming(folder):
            folder.mkdir(exist_ok=True)
            for half in folder.glob("*.half"):
                if _abandoned(half):
                    half.unlink(missing_ok=True)
        wanted = {"version": VERSION, "run": self.run, **identity}
        self._compare(_noted(folder / "identity.json", wanted), wanted)
        key = hashlib.blake2b(json.dumps([name, wanted], sort_keys=True).encode(), digest_size=32).digest()
        return KeptStates(folder, key, {**known_states(), **more})

    def _compare(self, found: Mapping[str, Any], wanted: Mapping[str, Any]) -> None:
        differing = [name for name, value in wanted.items() if found.get(name) != value]
        if differing:
            others = ", ".join(name for name in differing if name != "run")
            raise CheckpointError(
                f"checkpoint={os.fspath(self.folder)!r} belongs to another run"
                f"{others and f' (other {others})'}; use another folder, or remove this one to start over"
            )


@dataclass(frozen=True)
class KeptStates:
    """The states of one pass, a file for each range of blocks.

    Each file ends in a digest of its bytes and its range under ``key``, which stands for the run, the pass
    and all that decides its numbers.
    """

    folder: Path
    key: bytes
    known: Mapping[str, Callable[..., Any]]

    @property
    def begun(self) -> bool:
        """Whether states were kept by an earlier run."""
        with _naming(self.folder):
            return any(self.folder.glob("*.npz"))

    def contains(self, first: int, stop: int) -> bool:
        """Return whether the state of a range is stored."""
        with _naming(self._file(first, stop)):
            return self._file(first, stop).exists()

    def load(self, first: int, stop: int) -> Any:
        """Return the state of a range; nothing is decoded before its digest is found right."""
        file = self._file(first, stop)
        data = _content(file)
        try:
            if not hmac.compare_digest(data[-DIGEST:], self._digest(first, stop, memoryview(data)[:-DIGEST])):
                raise CheckpointError("it was changed, or is of another run, pass or range")
            state = unpacked(data, self.known)
        except CheckpointError as error:
            raise CheckpointError(f"{file}: {error}; remove it to recompute it") from error
        return state

    def save(self, first: int, stop: int, state: Any) -> None:
        """Write a state; it is there whole or not at all."""
        content = memoryview(packed(state))[: -len(COMMENT)]
        digest = self._digest(first, stop, content, COMMENT)
        _write(self._file(first, stop), content, COMMENT, digest)

    def _file(self, first: int, stop: int) -> Path:
        return self.folder / f"{first:09d}-{stop:09d}.npz"

    def _digest(self, first: int, stop: int, *content: bytes | memoryview) -> bytes:
        digest = hashlib.blake2b(f"{first}-{stop}:".encode(), key=self.key, digest_size=DIGEST)
        for part in content:
            digest.update(part)
        return digest.digest()


@contextmanager
def _naming(file: Path) -> Iterator[None]:
    """Say which file or folder could not be used, and what to do."""
    try:
        yield
    except (OSError, ValueError, MemoryError) as error:
        raise CheckpointError(
            f"{file} cannot be used: {error or type(error).__name__}; pass another folder to checkpoint=, "
            "or remove this one to start over"
        ) from error


def _content(file: Path, most: int | None = None) -> bytes:
    """Return what a file holds: a pipe or device would never end."""
    with _naming(file):
        found = file.stat()
        if not stat.S_ISREG(found.st_mode):
            raise ValueError("it is not a regular file")
        if most is not None and found.st_size > most:
            raise ValueError(f"it has {found.st_size:,} bytes where {most:,} are the most")
        return file.read_bytes()


def _noted(file: Path, wanted: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return what a file says; one that is not there is written."""
    with _naming(file):
        known = file.exists()
    if not known:
        _write(file, json.dumps(wanted, indent=1).encode(), anew=True)
    try:
        found = json.loads(_content(file, NOTE_BYTES))
    except (ValueError, RecursionError) as error:
        raise CheckpointError(f"{file} cannot be read: {error}; remove the folder to start over") from error
    return found if isinstance(found, dict) else {}


def _write(file: Path, *content: bytes | memoryview, anew: bool = False) -> None:
    """Write a file under another name and rename it, so that one that was killed leaves no half of it.

    ``anew`` leaves one alone that another process wrote meanwhile.
    """
    half = file.with_suffix(f".{MACHINE}-{os.getpid()}.half")
    with _naming(file):
        try:
            with half.open("wb") as handle:
                handle.writelines(content)
                handle.flush()
                os.fsync(handle.fileno())
            if not (anew and _linked(half, file)):
                half.replace(file)
        finally:
            half.unlink(missing_ok=True)


def _abandoned(half: Path) -> bool:
    """Return whether a half was left by a run that was killed; another one may be writing it just now."""
    import psutil

    machine, _, process = half.stem.rpartition(".")[2].partition("-")
    if machine == MACHINE and process.isdecimal():
        return not psutil.pid_exists(int(process))
    try:
        return time.time() - half.stat().st_mtime > DAY  # it may be of another machine
    except FileNotFoundError:
        return False


def _linked(half: Path, file: Path) -> bool:
    """Give a file its name unless there is one; return whether this file system can do that."""
    try:
        os.link(half, file)
    except FileExistsError:
        return True
    except OSError:
        return False
    return True
