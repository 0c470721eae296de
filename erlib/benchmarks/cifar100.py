"""CIFAR-100 from its official python pickles."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch

from erlib.benchmarks import files
from erlib.benchmarks.images import ImageSet

FOLDER = "cifar-100-python"
ARCHIVE = f"{FOLDER}.tar.gz"
ARCHIVE_MD5 = "eb9058c3a382ffc7106e4002c42a8d85"
MD5 = {
    "train": "16019d7e3df5f24257cddd939b257f8d",
    "test": "f0ef6b0ae62326f3e7ffdfab6717acfc",
    "meta": "7973b15100ade9c7d40fb424638fde48",
}


def load(data: files.Folder = None, *, download: bool = True) -> ImageSet:
    """CIFAR-100: 50,000 + 10,000 images [n, 32, 32, 3], with the 100 fine labels.

    An archive that was fetched by hand is unpacked beside itself; without one the archive is downloaded.
    """
    folder = files.find(FOLDER, data=data)
    if folder is None:
        archive = files.find(ARCHIVE, data=data) or _fetch(data, download)
        folder = files.unpack(archive, FOLDER, ARCHIVE_MD5)
    return ImageSet(*_read(folder / "train"), *_read(folder / "test"))


def describe(data: files.Folder = None) -> str:
    """Where the data set is and that it is whole; raises what `load` would raise, and never downloads or unpacks."""
    folder = files.find(FOLDER, data=data)
    if folder is None:
        archive = files.find(ARCHIVE, data=data) or _fetch(data, download=False)
        files.verify(archive, ARCHIVE_MD5)
        return f"the archive {archive}, md5 verified; it is unpacked when it is first used"
    for name, md5 in MD5.items():
        files.verify(folder / name, md5)
    return f"50,000 + 10,000 images in {folder}, md5 verified"


def _fetch(data: files.Folder, download: bool) -> Path:
    if not download:
        page = "Alex Krizhevsky's CIFAR page (www.cs.toronto.edu/~kriz/cifar.html)"
        raise files.missing("CIFAR-100", data, f"{ARCHIVE} from {page}")
    from torchvision.datasets import CIFAR100

    return files.download([CIFAR100.url], ARCHIVE_MD5, files.download_folder(data) / ARCHIVE)


def _read(path: Path) -> tuple[torch.Tensor, torch.Tensor]:
    content = files.unpickle(path, MD5[path.name])
    pixels = np.ascontiguousarray(content["data"].reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1))
    return torch.from_numpy(pixels), torch.tensor(content["fine_labels"])
