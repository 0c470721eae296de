"""`python -m erlib data`: which data sets are here, are they whole, and what to do about the others."""

from __future__ import annotations

from erlib.benchmarks import cifar100, cub, files, miniimagenet, mnist
from erlib.errors import ErlibError

DATA_SETS = {
    "mnist": lambda data: mnist.describe("mnist", data),
    "mnist-5k": lambda data: mnist.describe("mnist-5k", data),
    "cifar100": cifar100.describe,
    "miniimagenet": miniimagenet.describe,
    "cub": cub.describe,
    "toy": lambda data: "generated when it is used; needs no files",
}


def main(data: str | None = None) -> int:
    """Print the state of every data set, verifying the files there are; nothing is downloaded or decoded."""
    print("Searched, in this order: " + ", ".join(str(folder) for folder in files.search_path(data)))
    for name, describe in DATA_SETS.items():
        try:
            state, text = "found", describe(data)
        except files.MissingData as error:
            state, text = "missing", str(error)
        except ErlibError as error:
            state, text = "damaged", str(error)
        print(f"{name:13}{state:9}{text}")
    return 0
