"""The networks: initial values, sizes, and folding for evaluation."""

from __future__ import annotations

import math

import pytest
import torch
from torch import nn

from erlib.models import build


def made(name, outputs, seed=0, scheme="paper"):
    net = build(name, outputs)
    net.initialise(scheme, torch.Generator().manual_seed(seed))
    return net


@pytest.fixture(scope="module", autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def test_the_mlp_starts_from_a_cut_normal_and_biases_of_a_tenth():
    net = made("mlp", 10)
    assert [tuple(p.shape) for p in net.parameters()] == [(256, 784), (256,), (256, 256), (256,), (10, 256), (10,)]
    for layer in (net.fc1, net.fc2, net.fc):
        w = layer.weight.detach()
        assert torch.all(layer.bias == 0.1)
        assert w.abs().max() <= 0.2
    w = net.fc1.weight.detach().flatten()
    assert abs(w.mean()) < 0.001
    # A standard normal cut at 2 has the deviation 0.8796.
    assert float(w.std()) == pytest.approx(0.08796, rel=0.01)
    assert float((w.abs() < 0.1).float().mean()) == pytest.approx(0.6827 / 0.9545, abs=0.005)
    assert w.abs().max() > 0.199


def test_the_mlp_has_pytorchs_own_initialisation_as_a_switch():
    net = made("mlp", 10, scheme="pytorch")
    for layer in (net.fc1, net.fc2, net.fc):
        bound = 1 / math.sqrt(layer.in_features)
        for p in (layer.weight, layer.bias):
            assert p.abs().max() <= bound
        assert float(layer.weight.detach().std()) == pytest.approx(bound / math.sqrt(3), rel=0.05)


@pytest.mark.parametrize(("name", "own"), [("resnet18_reduced", 1e-3), ("resnet18", 1e-5)])
def test_batch_norm_has_the_networks_own_epsilon_or_the_one_given(name, own):
    for given, expected in ((None, own), (1e-4, 1e-4)):
        norms = [m for m in build(name, 10, given).modules() if isinstance(m, nn.BatchNorm2d)]
        assert {norm.eps for norm in norms} == {expected}


@pytest.mark.parametrize(("scheme", "power"), [("paper", 1), ("pytorch", 2)])
def test_convolutions_start_uniform_within_their_bound(scheme, power):
    net = made("resnet18_reduced", 100, scheme=scheme)
    convs = [m for m in net.modules() if isinstance(m, nn.Conv2d)]
    assert len(convs) == 20
    for conv in convs:
        bound = 1 / math.sqrt(conv.kernel_size[0] ** power * conv.in_channels)
        assert conv.bias is None
        assert conv.weight.abs().max() <= bound
        assert conv.weight.abs().max() > 0.97 * bound
        assert float(conv.weight.detach().std()) == pytest.approx(bound / math.sqrt(3), rel=0.1)
    for norm in (m for m in net.modules() if isinstance(m, nn.BatchNorm2d)):
        assert (norm.eps, norm.momentum) == (1e-3, 0.1)
        assert torch.all(norm.weight == 1)
        assert torch.all(norm.bias == 0)
        assert torch.all(norm.running_mean == 0)
        assert torch.all(norm.running_var == 1)
    assert net.fc.weight.abs().max() <= 1 / math.sqrt(160)
    assert net.fc.bias.abs().max() <= 1 / math.sqrt(160)


def test_the_reduced_resnet_has_the_right_size():
    def stage(inputs, maps, shortcut):
        convs = 9 * inputs * maps + 3 * 9 * maps * maps + (inputs * maps if shortcut else 0)
        return convs + 2 * maps * (5 if shortcut else 4)

    first = 27 * 20 + 40
    stages = stage(20, 20, False) + stage(20, 40, True) + stage(40, 80, True) + stage(80, 160, True)
    net = made("resnet18_reduced", 100)
    assert sum(p.numel() for p in net.parameters()) == first + stages + 160 * 100 + 100


@pytest.mark.parametrize("side", [32, 84])
def test_features_are_pooled_over_the_whole_map(side):
    net = made("resnet18_reduced", 100).eval()
    sizes = []
    net.layer4.register_forward_hook(lambda module, args, out: sizes.append(tuple(out.shape)))
    x = torch.randn(2, 3, side, side)
    with torch.no_grad():
        features = net.features(x)
        assert torch.equal(net.fc(features), net(x))
    assert features.shape == (2, 160)
    assert sizes[0] == (2, 160, -(-side // 8), -(-side // 8))


@pytest.mark.parametrize(("name", "side"), [("resnet18_reduced", 32), ("resnet18", 64)])
def test_folding_batch_norm_leaves_the_logits_and_the_original_alone(name, side):
    net = made(name, 20)
    random = torch.Generator().manual_seed(1)
    for norm in (m for m in net.modules() if isinstance(m, nn.BatchNorm2d)):  # as if it had been trained
        norm.running_mean.copy_(torch.randn(norm.running_mean.shape, generator=random) * 0.2)
        norm.running_var.copy_(torch.rand(norm.running_var.shape, generator=random) + 0.5)
        norm.weight.data.copy_(torch.rand(norm.weight.shape, generator=random) + 0.5)
        norm.bias.data.copy_(torch.randn(norm.bias.shape, generator=random) * 0.2)
    net.train()
    before = {key: value.clone() for key, value in net.state_dict().items()}
    x = torch.randn(4, 3, side, side, generator=random)
    with torch.no_grad():
        folded = net.for_evaluation()
        logits = folded(x)
        assert not any(isinstance(m, nn.BatchNorm2d) for m in folded.modules())
        assert net.training
        assert all(torch.equal(value, before[key]) for key, value in net.state_dict().items())
        expected = net.eval()(x)
    assert torch.allclose(logits, expected, atol=1e-4, rtol=1e-4)


def test_resnet18_is_torchvisions():
    from torchvision.models import resnet18

    theirs = resnet18(weights=None, num_classes=7)
    mine = made("resnet18", 7)
    assert list(mine.state_dict()) == list(theirs.state_dict())
    mine.load_state_dict(theirs.state_dict())
    x = torch.randn(2, 3, 64, 64, generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        assert torch.allclose(mine(x), theirs(x), atol=1e-5)  # both in train mode
        assert torch.allclose(mine.eval()(x), theirs.eval()(x), atol=1e-5)
    assert torch.equal(mine.bn1.running_mean, theirs.bn1.running_mean)


def test_initial_weights_depend_on_the_generator_alone():
    torch.manual_seed(0)
    first = made("resnet18_reduced", 10, seed=3)
    torch.manual_seed(1)
    state = torch.get_rng_state()
    second = made("resnet18_reduced", 10, seed=3)
    assert torch.equal(state, torch.get_rng_state())
    assert all(torch.equal(a, b) for a, b in zip(first.parameters(), second.parameters()))
    assert not torch.equal(first.conv1.weight, made("resnet18_reduced", 10, seed=4).conv1.weight)
