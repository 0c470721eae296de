"""Data files on disk: find them, verify them, fetch and unpack them, decode images once.

Whatever a user can mend ends as one ErlibError that names the file and the remedy. A file appears under its own
name only when it is whole; what was there before a failure is still there after it.
"""

from __future__ import annotations

import contextlib
import errno
import gzip
import hashlib
import http.client
import io
import os
import pickle
import tarfile
import tempfile
import urllib.request
import uuid
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from erlib.errors import ErlibError

Folder = str | os.PathLike[str] | None


class MissingData(ErlibError):
    """The data set is in none of the searched folders."""


def cache_folder() -> Path:
    """Where erlib keeps what it downloads and decodes: $XDG_CACHE_HOME/erlib, or ~/.cache/erlib."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "erlib"


def search_path(data: Folder = None) -> list[Path]:
    """The folders searched for data sets: `data` alone if given, else $ERLIB_DATA (if set) and the cache folder."""
    if data is not None:
        return [Path(data).expanduser()]
    named = os.environ.get("ERLIB_DATA")
    return [Path(named).expanduser(), cache_folder()] if named else [cache_folder()]


def download_folder(data: Folder = None) -> Path:
    """Where a download goes: `data` if given, else the cache folder."""
    return search_path(data)[0] if data is not None else cache_folder()


def find(*names: str, data: Folder = None) -> Path | None:
    """The first of the names (relative paths) that exists in a searched folder; earlier folders win."""
    for folder in search_path(data):
        if folder != cache_folder() and not folder.is_dir():
            raise MissingData(f"there is no data folder {folder}; create it, or name another (--data, ERLIB_DATA).")
    for path in (folder / name for folder in search_path(data) for name in names):
        with reading(path):
            if path.exists():
                return path
    return None


def missing(title: str, data: Folder, fetch: str, place: str = "") -> MissingData:
    """The error for a data set that was not found: where it was looked for, what to fetch and where to put it."""
    searched = " or ".join(str(folder) for folder in search_path(data))
    return MissingData(f"{title} is not in {searched}; fetch {fetch} and put it into {search_path(data)[0] / place}.")


@contextlib.contextmanager
def reading(path: Path) -> Iterator[None]:
    """Turn what can go wrong while `path` is read into a sentence."""
    try:
        yield
    except FileNotFoundError as error:
        raise ErlibError(f"{path} is missing; put it there, or remove {path.parent} and unpack it again.") from error
    except PermissionError as error:
        raise ErlibError(f"{path} may not be read by this user; change its permissions (chmod a+r).") from error
    except (EOFError, zlib.error, gzip.BadGzipFile, tarfile.TarError) as error:
        raise ErlibError(f"{path} is truncated or damaged; delete it and fetch it again.") from error
    except OSError as error:
        raise ErlibError(f"{path} cannot be read ({error.strerror or error}); check the disk that holds it.") from error


@contextlib.contextmanager
def _writing(path: Path) -> Iterator[None]:
    """Turn what can go wrong while `path` is written into a sentence."""
    try:
        yield
    except OSError as error:
        full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        why = "the disk is full" if full else error.strerror or error
        mend = "free some space" if full else "make its folder writable"
        raise ErlibError(
            f"{path} cannot be written ({why}); {mend}, or use another folder (--data, XDG_CACHE_HOME)."
        ) from error


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A temporary file beside `path` that takes its place when the block ends well, and is gone otherwise."""
    part = path.with_name(f".{path.name}.{uuid.uuid4().hex}.part")
    try:
        with _writing(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            yield part
            os.replace(part, path)
    finally:
        with contextlib.suppress(OSError):  # gone already, or its folder was never made
            part.unlink()


def _algorithm(digest: str) -> str:
    return "md5" if len(digest) == 32 else "sha256"


def has_digest(path: Path, digest: str) -> bool:
    """Does the file have this md5 or sha256 (told apart by length)?"""
    with reading(path), open(path, "rb") as file:
        return hashlib.file_digest(file, _algorithm(digest)).hexdigest() == digest


def verify(path: Path, digest: str) -> None:
    """Raise unless the file has this md5 or sha256."""
    if not has_digest(path, digest):
        raise ErlibError(f"{path} has the wrong {_algorithm(digest)} checksum; delete it and fetch it again.")


def read(path: Path, digest: str) -> bytes:
    """The verified content of a file; of a .gz file its unpacked content, which is what the checksum is of."""
    with reading(path), gzip.open(path) if path.suffix == ".gz" else open(path, "rb") as file:
        content = file.read()
    if hashlib.new(_algorithm(digest), content).hexdigest() != digest:
        raise ErlibError(f"{path} has the wrong {_algorithm(digest)} checksum; delete it and fetch it again.")
    return content


class _Unreachable(Exception):
    """A mirror failed."""


def _chunks(url: str) -> Iterator[bytes]:
    from tqdm.auto import tqdm

    try:
        with urllib.request.urlopen(url, timeout=30) as response:
            total = int(response.headers.get("Content-Length") or 0) or None
            with tqdm(total=total, unit="B", unit_scale=True, desc=url.rsplit("/", 1)[-1]) as bar:
                while chunk := response.read(1 << 20):
                    bar.update(len(chunk))
                    yield chunk
    except (OSError, http.client.HTTPException) as error:
        raise _Unreachable(f"{url}: {getattr(error, 'reason', None) or error}") from error


def download(urls: Sequence[str], digest: str, destination: Path) -> Path:
    """Fetch a file from the first mirror that has it with the right checksum."""
    reasons = []
    for url in urls:
        try:
            with replacing(destination) as part:
                with open(part, "wb") as file:
                    file.writelines(_chunks(url))
                if not has_digest(part, digest):
                    raise _Unreachable(f"{url}: wrong {_algorithm(digest)} checksum")
            return destination
        except _Unreachable as error:
            reasons.append(str(error))
    raise ErlibError(
        f"{destination.name} could not be downloaded ({'; '.join(reasons)}): "
        f"fetch {urls[0]} on a machine that can reach it and put it at {destination}."
    )


def unpack(archive: Path, folder: str, digest: str) -> Path:
    """Unpack one folder of a verified tar archive beside the archive, whole or not at all."""
    verify(archive, digest)
    destination = archive.parent / folder
    with _writing(destination), tempfile.TemporaryDirectory(dir=archive.parent, prefix=".unpack-") as part:
        try:
            with tarfile.open(archive) as tar:
                tar.extractall(part, filter="data")
        except (tarfile.TarError, EOFError, zlib.error) as error:
            raise ErlibError(f"{archive} is truncated or damaged; delete it and fetch it again.") from error
        if not (Path(part) / folder).is_dir():
            raise ErlibError(f"{archive} holds no folder {folder}; delete it and fetch the official archive.")
        try:
            os.replace(Path(part) / folder, destination)
        except OSError:
            if not destination.is_dir():  # else it was there, or another process was faster
                raise
    return destination


def _dtype(code: str, align: Any = False, copy: Any = False) -> np.dtype:
    return np.dtype(code, bool(align), bool(copy))  # NumPy 2.4 warns of the 0 and 1 in old pickles


def _safe_globals() -> dict[tuple[str, str], Any]:
    import _codecs

    reconstruct, frombuffer = np.empty(0).__reduce__()[0], np.empty(0).__reduce_ex__(5)[0]
    table: dict[tuple[str, str], Any] = {("numpy", "dtype"): _dtype, ("numpy", "ndarray"): np.ndarray}
    table[("_codecs", "encode")] = _codecs.encode
    for core in ("numpy.core", "numpy._core"):
        table[(f"{core}.multiarray", "_reconstruct")] = reconstruct
        table[(f"{core}.numeric", "_frombuffer")] = frombuffer
    return table


class _ArraysOnly(pickle.Unpickler):
    """Builds containers, numbers, strings and NumPy arrays; a pickle that asks for anything else is refused."""

    def find_class(self, module: str, name: str) -> Any:
        try:
            return _safe_globals()[module, name]
        except KeyError:
            raise pickle.UnpicklingError(f"it asks for {module}.{name}") from None


def unpickle(path: Path, digest: str) -> Any:
    """The content of a verified pickle of plain containers and arrays; nothing else in it can run."""
    verify(path, digest)
    try:
        with reading(path), open(path, "rb") as file:
            return _ArraysOnly(file, encoding="latin1").load()
    except ErlibError:
        raise
    except Exception as error:  # a hostile or broken pickle can raise anything
        raise ErlibError(f"{path} is no pickle of arrays ({error}); delete it and fetch the official one.") from error


def decoded(name: str, images: Sequence[Path], side: int) -> np.ndarray:
    """The images as RGB, uint8 [n, side, side, 3], resized bilinearly without keeping their aspect.

    They are decoded once, into the cache folder; from then on the verified cache file is mapped into memory, so that
    several processes share it. Its name depends on the names and sizes of the images: other files are decoded anew.
    """
    fingerprint = hashlib.sha256(f"{side}\n".encode())
    for path in images:
        with reading(path):
            fingerprint.update(f"{path.parent.name}/{path.name} {path.stat().st_size}\n".encode())
    cache = cache_folder() / "decoded" / f"{name}-{fingerprint.hexdigest()[:16]}.npy"
    if not (cache.exists() and has_digest(cache, stored_digest(cache))):
        _decode(images, side, cache)
    return np.load(cache, mmap_mode="c")


def stored_digest(path: Path) -> str:
    """The checksum in `<path>.sha256`, in the form that sha256sum writes; empty if there is none."""
    beside = Path(f"{path}.sha256")
    if not beside.exists():
        return ""
    with reading(beside), open(beside, encoding="ascii", errors="replace") as file:
        return file.read(64).lower()


def _decode(images: Sequence[Path], side: int, cache: Path) -> None:
    from tqdm.auto import tqdm

    shape = (len(images), side, side, 3)
    with replacing(cache) as part:
        with open(part, "wb") as file:
            header = {"descr": "|u1", "fortran_order": False, "shape": shape}
            np.lib.format.write_array_header_1_0(file, header)
            bar = tqdm(images, desc=f"decoding {cache.stem}", unit=" images")
            file.writelines(_pixels(path, side) for path in bar)
        with open(part, "rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        with replacing(Path(f"{cache}.sha256")) as beside, open(beside, "w") as file:
            file.write(f"{digest}  {cache.name}\n")


def _pixels(path: Path, side: int) -> bytes:
    from PIL import Image

    with reading(path), open(path, "rb") as file:
        content = io.BytesIO(file.read())
    try:
        with Image.open(content) as image:
            image = image.convert("RGB")
    except (OSError, SyntaxError, ValueError) as error:
        raise ErlibError(f"{path} cannot be decoded; fetch this image again, or unpack its data set again.") from error
    return (image if image.size == (side, side) else image.resize((side, side), Image.Resampling.BILINEAR)).tobytes()
