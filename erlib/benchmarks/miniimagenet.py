"""miniImageNet from any of its three usual layouts, or a sample of it.

The 100 classes of Ravi & Larochelle's three parts are joined, and the images of each class are split 5 to 1: the first
500 of 600 train, the last 100 test (PROTOCOL, section 4). A label is the rank of the class's WordNet id.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from erlib.benchmarks import files
from erlib.benchmarks.images import ImageSet
from erlib.errors import ErlibError

FOLDERS = ("miniImagenet", "mini-imagenet", "miniimagenet", "miniImageNet")
PARTS = ("train", "val", "test")
FULL_PICKLE = "miniImageNet_full.pickle"  # the paper's first author's: arrays "images" and "labels"
PART_PICKLES = tuple(f"mini-imagenet-cache-{part}.pkl" for part in PARTS)  # "image_data" and "class_dict"
CLASSES, PER_CLASS = 100, 600
SIDE = 84  # pixels
SUFFIXES = (".jpg", ".jpeg", ".png")


def load(data: files.Folder = None, *, allow_sample: bool = False) -> ImageSet:
    """miniImageNet: 50,000 + 10,000 images [n, 84, 84, 3], labels 0 to 99, ordered by class.

    Image files are decoded once into the cache folder (1.3 GB for the whole set). A part of the data set is refused
    unless `allow_sample`; its numbers are not the paper's. `miniImageNet_full.pickle` keeps its own labels.
    """
    folder = _folder(data)
    pickles = _pickles(folder)
    images, labels = _unpickled(pickles) if pickles else list_images(folder)
    _check_classes(folder, labels)
    if is_sample(labels) and not allow_sample:
        raise ErlibError(
            f"{folder} is a {_size(labels)}; put the whole of miniImageNet there, or pass allow_sample=True in a test."
        )
    train, test = split(labels)
    order = np.concatenate([train, test])
    x = images[order] if pickles else files.decoded("miniimagenet", [images[i] for i in order], SIDE)
    x, y, n = torch.from_numpy(x), torch.from_numpy(labels[order]), len(train)
    return ImageSet(x[:n], y[:n], x[n:], y[n:])


def describe(data: files.Folder = None) -> str:
    """Where the data set is and whether it is whole; nothing is decoded, and no pickle is opened."""
    folder = _folder(data)
    if pickles := _pickles(folder):
        for path in pickles:
            files.verify(path, _digest(path))
        return f"{', '.join(path.name for path in pickles)} in {folder}, verified against the sha256 beside it"
    paths, labels = list_images(folder)
    _check_classes(folder, labels)
    for path in paths:
        with files.reading(path):
            path.stat()
    use = "too small to train on" if is_sample(labels) else "whole"
    return f"{_size(labels)} in {folder}, {use}; every listed image is there"


def is_sample(labels: np.ndarray) -> bool:
    """Is this anything but 600 images of each class?"""
    return (np.bincount(labels, minlength=CLASSES) != PER_CLASS).any()


def split(labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Indices of the training and of the test images: of each class the first five sixths, and the rest."""
    train, test = [], []
    for label in range(CLASSES):
        (own,) = np.nonzero(labels == label)
        cut = round(len(own) * 5 / 6)
        train.append(own[:cut])
        test.append(own[cut:])
    return np.concatenate(train), np.concatenate(test)


def list_images(folder: Path) -> tuple[list[Path], np.ndarray]:
    """The image files of a folder, in its own order, and their labels."""
    lists = [folder / f"{part}.csv" for part in PARTS]
    named = _from_lists(folder, lists) if any(path.exists() for path in lists) else _from_class_folders(folder)
    ids = sorted({wordnet_id for _, wordnet_id in named})
    rank = {wordnet_id: label for label, wordnet_id in enumerate(ids)}
    return [path for path, _ in named], np.array([rank[wordnet_id] for _, wordnet_id in named], np.int64)


def _from_lists(folder: Path, lists: Sequence[Path]) -> list[tuple[Path, str]]:
    named = []
    for path in lists:
        with files.reading(path), open(path, encoding="utf-8-sig", errors="replace", newline="") as file:
            rows = list(csv.DictReader(file))
        if not rows or not all(row.get("filename") and row.get("label") for row in rows):
            raise ErlibError(f"{path} has no rows of filename and label; fetch Ravi & Larochelle's list again.")
        named += [(folder / "images" / row["filename"], row["label"]) for row in rows]
    return named


def _from_class_folders(folder: Path) -> list[tuple[Path, str]]:
    named = []
    with files.reading(folder):
        for part in (folder, *(folder / part for part in PARTS)):
            classes = [path for path in sorted(part.glob("n*/")) if re.fullmatch(r"n\d{8}", path.name)]
            named += [(p, c.name) for c in classes for p in sorted(c.iterdir()) if p.suffix.lower() in SUFFIXES]
    if not named:
        raise ErlibError(
            f"{folder} holds neither train.csv, val.csv and test.csv, nor class folders such as n01532829, "
            f"nor {FULL_PICKLE} or {PART_PICKLES[0]}; put one of these layouts there."
        )
    return named


def _folder(data: files.Folder) -> Path:
    folder = files.find(*FOLDERS, data=data)
    if folder is None:
        page = "Ravi & Larochelle's page (github.com/twitter-research/meta-learning-lstm)"
        fetch = (
            f"the images from ImageNet (image-net.org) as images/*.jpg with train.csv, val.csv and test.csv from {page}"
        )
        raise files.missing("miniImageNet", data, fetch, FOLDERS[0])
    return folder


def _pickles(folder: Path) -> list[Path]:
    """The pickles to read, if the folder holds any; image files are preferred."""
    if (folder / "images").is_dir():
        return []
    if (folder / FULL_PICKLE).exists():
        return [folder / FULL_PICKLE]
    parts = [folder / name for name in PART_PICKLES]
    return parts if any(path.exists() for path in parts) else []


def _digest(path: Path) -> str:
    digest = files.stored_digest(path)
    if path.exists() and not re.fullmatch("[0-9a-f]{64}", digest):
        raise ErlibError(
            f"{path} has no known checksum; if you trust where it came from, run: sha256sum {path} > {path}.sha256"
        )
    return digest


def _unpickled(pickles: Sequence[Path]) -> tuple[np.ndarray, np.ndarray]:
    """All images and labels of the pickles; only arrays and plain containers can come out of them."""
    contents = {path: files.unpickle(path, _digest(path)) for path in pickles}
    try:
        if pickles[0].name == FULL_PICKLE:
            content = contents[pickles[0]]
            images, labels = np.asarray(content["images"]), np.asarray(content["labels"]).astype(np.int64)
        else:
            images, labels = _joined(list(contents.values()))
        as_bytes = images.astype(np.uint8, copy=False)
        if images.shape != (len(labels), SIDE, SIDE, 3) or labels.ndim != 1 or labels.min() < 0:
            raise ValueError(f"its images have the shape {images.shape}")
        if as_bytes is not images and not np.array_equal(as_bytes, images):
            raise ValueError("its pixels are not whole numbers from 0 to 255")
    except (KeyError, TypeError, ValueError, IndexError) as error:
        where = " + ".join(str(path) for path in pickles)
        raise ErlibError(f"{where} does not hold 84 x 84 RGB images ({error}); use another copy or layout.") from error
    return as_bytes, labels


def _joined(contents: list[dict[str, Any]]) -> tuple[np.ndarray, np.ndarray]:
    ids = sorted(wordnet_id for content in contents for wordnet_id in content["class_dict"])
    images = np.concatenate([content["image_data"] for content in contents])
    labels = np.full(len(images), -1, np.int64)
    start = 0
    for content in contents:
        for wordnet_id, own in content["class_dict"].items():
            labels[start + np.asarray(own, np.int64)] = ids.index(wordnet_id)
        start += len(content["image_data"])
    return images, labels


def _check_classes(folder: Path, labels: np.ndarray) -> None:
    counts = np.bincount(labels, minlength=CLASSES)
    if len(counts) != CLASSES or not counts.all():
        raise ErlibError(f"{folder} holds {np.count_nonzero(counts)} classes, not {CLASSES}; put all of them there.")


def _size(labels: np.ndarray) -> str:
    full = CLASSES * PER_CLASS
    return f"sample: {len(labels):,} of {full:,} images" if is_sample(labels) else f"{full:,} images"
