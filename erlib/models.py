"""The paper's three networks: an MLP, the reduced ResNet18 and ResNet18.

Each has `features(x)`, the representation before the classifier, and a linear classifier `fc` over all output units;
a task's head is a mask over those units.
"""

from __future__ import annotations

import copy
import math

import torch
from torch import Tensor, nn
from torch.nn.functional import relu
from torch.nn.utils.fusion import fuse_conv_bn_eval


class MLP(nn.Module):
    """784-256-256-outputs with ReLU, for MNIST."""

    eval_batch = 1000  # test images in one pass: about what a core's cache holds

    def __init__(self, outputs: int, inputs: int = 784, hidden: int = 256) -> None:
        super().__init__()
        self.fc1 = nn.Linear(inputs, hidden)
        self.fc2 = nn.Linear(hidden, hidden)
        self.fc = nn.Linear(hidden, outputs)

    def features(self, x: Tensor) -> Tensor:
        """The second hidden layer."""
        return relu(self.fc2(relu(self.fc1(x))))

    def forward(self, x: Tensor) -> Tensor:
        return self.fc(self.features(x))

    def for_evaluation(self) -> MLP:
        """Itself: there is nothing to fold."""
        return self

    def initialise(self, scheme: str, generator: torch.Generator) -> None:
        """Draw all weights: "paper" is the released code's truncated normal 0.1 with biases 0.1."""
        for layer in (self.fc1, self.fc2, self.fc):
            if scheme == "paper":
                nn.init.trunc_normal_(layer.weight, std=0.1, a=-0.2, b=0.2, generator=generator)
                nn.init.constant_(layer.bias, 0.1)
            else:
                _uniform(layer, 1 / math.sqrt(layer.in_features), generator)


class Block(nn.Module):
    """Two 3x3 convolutions with a shortcut, which is a 1x1 convolution where the shape changes."""

    def __init__(self, inputs: int, maps: int, stride: int, eps: float) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, maps, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(maps, eps=eps)
        self.conv2 = nn.Conv2d(maps, maps, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(maps, eps=eps)
        self.downsample = nn.Sequential()
        if stride != 1 or inputs != maps:
            self.downsample = nn.Sequential(
                nn.Conv2d(inputs, maps, 1, stride, bias=False), nn.BatchNorm2d(maps, eps=eps)
            )

    def forward(self, x: Tensor) -> Tensor:
        out = relu(self.bn1(self.conv1(x)), inplace=True)
        return relu(self.bn2(self.conv2(out)).add_(self.downsample(x)), inplace=True)


class ResNet18(nn.Module):
    """Four stages of two blocks, global average pooling, one linear layer. Parameter names are torchvision's."""

    eval_batch = 50

    def __init__(self, outputs: int, *, maps: int, eps: float, small_images: bool) -> None:
        super().__init__()
        kernel, stride, padding = (3, 1, 1) if small_images else (7, 2, 3)
        self.conv1 = nn.Conv2d(3, maps, kernel, stride, padding, bias=False)
        self.bn1 = nn.BatchNorm2d(maps, eps=eps)
        self.pool = nn.Identity() if small_images else nn.MaxPool2d(3, 2, 1)
        inputs = maps
        for stage in range(4):
            width = maps * 2**stage
            blocks = [Block(inputs, width, 1 if stage == 0 else 2, eps), Block(width, width, 1, eps)]
            setattr(self, f"layer{stage + 1}", nn.Sequential(*blocks))
            inputs = width
        self.fc = nn.Linear(inputs, outputs)

    def features(self, x: Tensor) -> Tensor:
        """The globally pooled maps of the last stage."""
        x = self.pool(relu(self.bn1(self.conv1(x)), inplace=True))
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return x.mean((2, 3))

    def forward(self, x: Tensor) -> Tensor:
        return self.fc(self.features(x))

    def for_evaluation(self) -> ResNet18:
        """A copy that uses the running averages, with batch norm folded into the convolutions."""
        net = copy.deepcopy(self).eval()
        for module in net.modules():
            for conv, norm in (("conv1", "bn1"), ("conv2", "bn2"), ("0", "1")):
                if isinstance(getattr(module, norm, None), nn.BatchNorm2d):
                    folded = fuse_conv_bn_eval(getattr(module, conv), getattr(module, norm))
                    setattr(module, conv, folded)
                    setattr(module, norm, nn.Identity())
        return net

    def initialise(self, scheme: str, generator: torch.Generator) -> None:
        """Draw all weights: "paper" uniform within 1/sqrt(side * inputs), "pytorch" within 1/sqrt(side^2 * inputs)."""
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                side = module.kernel_size[0] if scheme == "paper" else module.kernel_size[0] ** 2
                _uniform(module, 1 / math.sqrt(side * module.in_channels), generator)
            elif isinstance(module, nn.BatchNorm2d):
                module.reset_running_stats()
                nn.init.ones_(module.weight)
                nn.init.zeros_(module.bias)
        _uniform(self.fc, 1 / math.sqrt(self.fc.in_features), generator)


def _uniform(layer: nn.Module, bound: float, generator: torch.Generator) -> None:
    nn.init.uniform_(layer.weight, -bound, bound, generator=generator)
    if layer.bias is not None:
        nn.init.uniform_(layer.bias, -bound, bound, generator=generator)


def build(name: str, outputs: int, eps: float | None = None) -> MLP | ResNet18:
    """A network with its weights still undefined: "mlp", "resnet18_reduced" or "resnet18".

    `eps` is batch norm's; None: the released code's for the reduced one, torchvision's for the other.
    """
    with torch.device("meta"):
        if name == "mlp":
            net: MLP | ResNet18 = MLP(outputs)
        elif name == "resnet18_reduced":  # the released code's biased running variance is not copied
            net = ResNet18(outputs, maps=20, eps=eps or 1e-3, small_images=True)
        else:
            net = ResNet18(outputs, maps=64, eps=eps or 1e-5, small_images=False)
    return net.to_empty(device="cpu")
