"""CUB-200-2011 in its official layout, or a sample of it in the same layout."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import torch

from erlib.benchmarks import files
from erlib.benchmarks.images import ImageSet
from erlib.errors import ErlibError

FOLDER = "CUB_200_2011"
ARCHIVE = f"{FOLDER}.tgz"
ARCHIVE_MD5 = "97eceeb196236b17998738112f37df78"
CLASSES = 200
TRAIN, TEST = 5994, 5794  # images of the whole set
SIDE = 224  # pixels


@dataclass(frozen=True)
class Listing:
    """What CUB's text files say: the images of the official split, and their labels from 0."""

    folder: Path
    train: list[tuple[Path, int]]
    test: list[tuple[Path, int]]

    @property
    def is_sample(self) -> bool:
        """Is this less than the whole data set?"""
        return (len(self.train), len(self.test)) != (TRAIN, TEST)

    def __str__(self) -> str:
        here = len(self.train) + len(self.test)
        return f"sample: {here:,} of {TRAIN + TEST:,} images" if self.is_sample else f"{TRAIN:,} + {TEST:,} images"


def load(data: files.Folder = None, *, allow_sample: bool = False) -> ImageSet:
    """CUB: 5,994 + 5,794 images [n, 224, 224, 3], labels 0 to 199, the official split.

    Images are stretched to 224 x 224 (PROTOCOL, section 5) and decoded once into the cache folder, 1.8 GB for the
    whole set. A part of the data set is refused unless `allow_sample`; its numbers are not the paper's.
    """
    listing = read_lists(files.find(FOLDER, data=data) or files.unpack(_archive(data), FOLDER, ARCHIVE_MD5))
    if listing.is_sample and not allow_sample:
        raise ErlibError(
            f"{listing.folder} is a {listing}; put all of CUB-200-2011 there, or pass allow_sample=True in a test."
        )
    paths, labels = zip(*listing.train, *listing.test, strict=True)
    x, y, n = torch.from_numpy(files.decoded("cub", paths, SIDE)), torch.tensor(labels), len(listing.train)
    return ImageSet(x[:n], y[:n], x[n:], y[n:])


def describe(data: files.Folder = None) -> str:
    """Where the data set is, whether it is whole, and that its lists and files agree; nothing is decoded."""
    folder = files.find(FOLDER, data=data)
    if folder is None:
        archive = _archive(data)
        files.verify(archive, ARCHIVE_MD5)
        return f"the archive {archive}, md5 verified; it is unpacked when it is first used"
    listing = read_lists(folder)
    for path, _ in listing.train + listing.test:
        with files.reading(path):
            path.stat()
    use = "too small to train on" if listing.is_sample else "whole"
    return f"{listing} in {folder}, {use}; the lists agree and every listed image is there"


def read_lists(folder: Path) -> Listing:
    """Read images.txt, image_class_labels.txt, train_test_split.txt and classes.txt, and check that they agree."""
    names = _table(folder / "images.txt")
    classes = _table(folder / "classes.txt")
    labels = _table(folder / "image_class_labels.txt")
    in_train = _table(folder / "train_test_split.txt")
    if len(classes) != CLASSES:
        raise ErlibError(f"{folder / 'classes.txt'} lists {len(classes)} classes, not {CLASSES}; unpack CUB again.")
    for other, name in ((labels, "image_class_labels.txt"), (in_train, "train_test_split.txt")):
        if other.keys() != names.keys():
            raise ErlibError(f"{folder / name} and images.txt list different images; unpack CUB again.")
    train: list[tuple[Path, int]] = []
    test: list[tuple[Path, int]] = []
    for number, name in names.items():
        if classes.get(labels[number]) != name.split("/")[0] or in_train[number] not in ("0", "1"):
            raise ErlibError(
                f"image {number} of {folder / 'images.txt'} contradicts the other lists; unpack CUB again."
            )
        example = (folder / "images" / name, int(labels[number]) - 1)
        (train if in_train[number] == "1" else test).append(example)
    return Listing(folder, train, test)


def _table(path: Path) -> dict[str, str]:
    with files.reading(path), open(path, encoding="utf-8", errors="replace") as file:
        rows = [line.split() for line in file if line.strip()]
    if not rows or any(len(row) != 2 for row in rows):
        raise ErlibError(f"{path} is not a list of 'number value' lines; unpack CUB again.")
    return dict(rows)


def _archive(data: files.Folder) -> Path:
    archive = files.find(ARCHIVE, data=data)
    if archive is None:
        page = "Caltech's page of CUB-200-2011 (www.vision.caltech.edu/datasets/cub_200_2011)"
        raise files.missing("CUB-200-2011", data, f"{ARCHIVE} from {page}")
    return archive
