"""ImageNet weights for Split CUB: torchvision's ResNet18 file, verified, read as weights only."""

from __future__ import annotations

import hashlib
from pathlib import Path

import torch

from erlib.benchmarks.files import search_path
from erlib.errors import ErlibError
from erlib.models import ResNet18

FILE = "resnet18-f37072fd.pth"  # the name carries the first digits of its sha256, as torch.hub checks them


def load_pretrained(net: ResNet18, data: str | Path | None = None) -> None:
    """Give the network ImageNet's weights and batch-norm averages; its classifier stays new, with biases of 0."""
    weights = torch.load(_find(data), weights_only=True, map_location="cpu")
    weights["fc.weight"] = net.fc.weight.detach()
    weights["fc.bias"] = torch.zeros_like(net.fc.bias)
    net.load_state_dict(weights)


def _find(data: str | Path | None) -> Path:
    hub = Path(torch.hub.get_dir()) / "checkpoints"
    for folder in (*search_path(data), hub):
        path = folder / FILE
        if path.is_file():
            _verify(path)
            return path
    return _download(hub / FILE)


def _verify(path: Path) -> None:
    with open(path, "rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    if not digest.startswith(FILE.split("-")[1].split(".")[0]):
        raise ErlibError(f"{path} is damaged: its checksum is wrong; delete it and fetch torchvision's {FILE} again.")


def _download(path: Path) -> Path:
    from torchvision.models import ResNet18_Weights

    path.parent.mkdir(parents=True, exist_ok=True)
    prefix = FILE.split("-")[1].split(".")[0]
    try:
        torch.hub.download_url_to_file(ResNet18_Weights.IMAGENET1K_V1.url, str(path), prefix, progress=True)
    except (OSError, RuntimeError) as error:
        raise ErlibError(
            f"the ImageNet weights of ResNet18 are not on this machine and could not be fetched ({error}); put "
            f"torchvision's file {FILE} into {path.parent} or into the data folder."
        ) from error
    return path
