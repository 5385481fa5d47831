"""Checkpoints: states stored in a folder, from which an interrupted run resumes."""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import secrets
import stat
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from paribus._data.scan.listing import names_store, without_secret
from paribus._states import known_states
from paribus._states.codec import packed, unpacked
from paribus.errors import CheckpointError, OptionError

VERSION = 1
DIGEST = 32  # bytes of a digest, which is stored as the comment of the zip file so that NumPy can read it
COMMENT = DIGEST.to_bytes(2, "little")  # length of the comment in a zip file
NOTE_BYTES = 65_536  # maximum size of a file that identifies a run or a pass


@dataclass(frozen=True)
class Checkpoint:
    """A folder with one folder per pass, for the identity of the pass and the states of finished ranges.

    ``run`` is a random identifier, created with the folder, so that states of two runs are never mixed.
    """

    folder: Path
    run: str

    @classmethod
    def of(cls, folder: Any) -> Checkpoint:
        """Create the folder, or raise if that is not possible."""
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
        found = _read_or_create_json(path / "run.json", {"run": secrets.token_hex(16)})
        run = found.get("run")
        if not isinstance(run, str) or not run:
            raise CheckpointError(f"{path / 'run.json'} names no run; remove the folder to start over")
        return cls(path, run)

    def store(
        self, name: str, identity: Mapping[str, str], more: Mapping[str, Callable[..., Any]]
    ) -> KeptStates:
        """Return the store of one pass, or raise if the folder has states of another one.

        ``more`` are additional classes of its states.
        """
        folder = self.folder / name
        with _naming(folder):
            folder.mkdir(exist_ok=True)
        wanted = {"version": VERSION, "run": self.run, **identity}
        self._compare(_read_or_create_json(folder / "identity.json", wanted), wanted)
        key = hashlib.blake2b(json.dumps([name, wanted], sort_keys=True).encode(), digest_size=32).digest()
        return KeptStates(folder, key, {**known_states(), **more})

    def _compare(self, found: Mapping[str, Any], wanted: Mapping[str, Any]) -> None:
        """Raise if the identity of a pass differs from the stored one."""
        differing = [name for name, value in wanted.items() if found.get(name) != value]
        if differing:
            others = ", ".join(name for name in differing if name != "run")
            raise CheckpointError(
                f"checkpoint={os.fspath(self.folder)!r} belongs to another run"
                f"{others and f' (other {others})'}; use another folder, or remove this one to start over"
            )


@dataclass(frozen=True)
class KeptStates:
    """The stored states of one pass, with a file for each range of blocks.

    Each file ends with a digest of its bytes and its range. The digest depends on ``key``, which identifies
    the run, the pass, and all settings that influence its numbers. ``known`` are the classes of states.
    """

    folder: Path
    key: bytes
    known: Mapping[str, Callable[..., Any]]

    @property
    def begun(self) -> bool:
        """Whether an earlier run stored states."""
        with _naming(self.folder):
            return any(self.folder.glob("*.npz"))

    def contains(self, first: int, stop: int) -> bool:
        """Return whether the state of a range is stored."""
        with _naming(self._file(first, stop)):
            return self._file(first, stop).exists()

    def load(self, first: int, stop: int) -> Any:
        """Return the state of a range; the digest is checked before decoding."""
        file = self._file(first, stop)
        data = _read_regular_file(file)
        try:
            if not hmac.compare_digest(data[-DIGEST:], self._digest(first, stop, memoryview(data)[:-DIGEST])):
                raise CheckpointError("it was changed, or is of another run, pass or range")
            state = unpacked(data, self.known)
        except CheckpointError as error:
            raise CheckpointError(f"{file}: {error}; remove it to recompute it") from error
        return state

    def save(self, first: int, stop: int, state: Any) -> None:
        """Store a state atomically."""
        content = memoryview(packed(state))[: -len(COMMENT)]
        digest = self._digest(first, stop, content, COMMENT)
        _write_atomically(self._file(first, stop), content, COMMENT, digest)

    def _file(self, first: int, stop: int) -> Path:
        """Return the path of the state of a range."""
        return self.folder / f"{first:09d}-{stop:09d}.npz"

    def _digest(self, first: int, stop: int, *content: bytes | memoryview) -> bytes:
        """Return the keyed digest of a range and the bytes of its state."""
        digest = hashlib.blake2b(f"{first}-{stop}:".encode(), key=self.key, digest_size=DIGEST)
        for part in content:
            digest.update(part)
        return digest.digest()


@contextmanager
def _naming(file: Path) -> Iterator[None]:
    """Convert errors to `CheckpointError` with the name of the file or folder."""
    try:
        yield
    except (OSError, ValueError, MemoryError) as error:
        raise CheckpointError(
            f"{file} cannot be used: {error or type(error).__name__}; pass another folder to checkpoint=, "
            "or remove this one to start over"
        ) from error


def _read_regular_file(file: Path, most: int | None = None) -> bytes:
    """Return the bytes of a regular file; raise for pipes and devices, and above ``most`` bytes."""
    with _naming(file):
        found = file.stat()
        if not stat.S_ISREG(found.st_mode):
            raise ValueError("it is not a regular file")
        if most is not None and found.st_size > most:
            raise ValueError(f"it has {found.st_size:,} bytes where {most:,} are the most")
        return file.read_bytes()


def _read_or_create_json(file: Path, wanted: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the content of a JSON file, which is written first if it does not exist."""
    with _naming(file):
        known = file.exists()
    if not known:
        _write_atomically(file, json.dumps(wanted, indent=1).encode(), anew=True)
    try:
        found = json.loads(_read_regular_file(file, NOTE_BYTES))
    except (ValueError, RecursionError) as error:
        raise CheckpointError(f"{file} cannot be read: {error}; remove the folder to start over") from error
    return found if isinstance(found, dict) else {}


def _write_atomically(file: Path, *content: bytes | memoryview, anew: bool = False) -> None:
    """Write a temporary file and rename it, so that an interrupted run leaves no partial file.

    With ``anew``, a file that another process has written meanwhile is not replaced.
    """
    half = file.with_suffix(f".{secrets.token_hex(8)}.half")
    with _naming(file):
        try:
            with half.open("wb") as handle:
                handle.writelines(content)
                handle.flush()
                os.fsync(handle.fileno())
            if not (anew and _link_new(half, file)):
                half.replace(file)
        finally:
            half.unlink(missing_ok=True)


def _link_new(half: Path, file: Path) -> bool:
    """Link a temporary file to its name unless that exists; return whether the file system supports links."""
    try:
        os.link(half, file)
    except FileExistsError:
        return True
    except OSError:
        return False
    return True
