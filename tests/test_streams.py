"""Streams: paired for all methods, drawn from a seed, seen through the right pixel map and normalisation."""

from __future__ import annotations

from itertools import chain

import numpy as np
import pytest
import torch
from PIL import Image

from erlib.benchmarks import make
from erlib.benchmarks import toy as toy_set
from erlib.benchmarks.images import ImageSet
from erlib.benchmarks.make import make_stream, rotation
from erlib.config import paper_config
from erlib.errors import ErlibError


@pytest.fixture(scope="module", autouse=True)
def small_toy():
    """The toy images, fewer and smaller: made in a moment."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {"SIDE": 16, "TRAIN": 12, "TEST": 4}.items():
            patch.setattr(toy_set, name, value)
        make.load.cache_clear()
        yield
    make.load.cache_clear()


def mnist(method="finetune", benchmark="permuted_mnist", **changes):
    values = {"source": "mnist-5k", "examples_per_task": 60, "test_examples": 40} | changes
    return paper_config(benchmark, method, **values)


def toy(method="finetune", benchmark="split_cifar", **changes):
    return paper_config(benchmark, method, **({"source": "toy"} | changes))


def content(stream):
    """All that a method can see of a stream, in order."""
    return [(task.classes, *task.train.rows(slice(None)), *task.test.rows(slice(None))) for task in stream.tasks]


def same(a, b):
    return all(
        torch.equal(x, y) if isinstance(x, torch.Tensor) else x == y
        for mine, theirs in zip(content(a), content(b), strict=True)
        for x, y in zip(mine, theirs, strict=True)
    )


CELLS = [("ewc", {}), ("agem", {}), ("mer", {}), ("multitask", {}), ("er", {"memory": "kmeans"})]


@pytest.mark.parametrize(("method", "settings"), CELLS)
def test_the_same_seed_gives_every_method_the_same_stream(method, settings):
    assert same(make_stream(mnist(tasks=3, seed=5)), make_stream(mnist(method, tasks=3, seed=5, **settings)))
    assert same(make_stream(toy(tasks=2, seed=5)), make_stream(toy(method, tasks=2, seed=5, **settings)))


def test_another_seed_gives_another_stream():
    assert not same(make_stream(mnist(tasks=2)), make_stream(mnist(tasks=2, seed=1)))
    assert not same(make_stream(toy(tasks=2)), make_stream(toy(tasks=2, seed=1)))


def test_draws_from_other_generators_do_not_move_the_stream():
    before = make_stream(mnist(tasks=2))
    torch.manual_seed(99)
    torch.rand(1000)
    state = torch.get_rng_state()
    assert same(before, make_stream(mnist(tasks=2)))
    assert torch.equal(state, torch.get_rng_state())


# -- Permuted MNIST ----------------------------------------


def test_every_task_has_a_permutation_of_its_own_the_first_included():
    tasks = make_stream(mnist()).tasks
    assert len(tasks) == 20
    sources = [task.train.source for task in tasks]
    assert all(torch.equal(source.sort().values, torch.arange(784)) for source in sources)
    assert len({tuple(source.tolist()) for source in sources}) == 20
    assert not torch.equal(sources[0], torch.arange(784))
    for task in tasks:
        assert torch.equal(task.train.source, task.test.source)


def test_images_are_the_permuted_originals_with_their_labels():
    images = make.load("mnist-5k", "permuted_mnist", None)
    stream = make_stream(mnist(tasks=3, test_examples=None))
    for task in stream.tasks:
        for part, x, y in ((task.train, images.x_train, images.y_train), (task.test, images.x_test, images.y_test)):
            batches = list(part.batches(16))
            got = torch.cat([b[0] for b in batches])
            assert torch.equal(got, x[part.index][:, part.source])
            assert torch.equal(torch.cat([b[1] for b in batches]), y[part.index])
    assert torch.equal(stream.tasks[0].test.index, torch.arange(len(images.y_test)))  # test order is fixed


def test_examples_are_distinct_within_a_task_and_drawn_anew_for_each():
    tasks = make_stream(mnist(tasks=3, examples_per_task=400)).tasks
    chosen = [tuple(task.train.index.tolist()) for task in tasks]
    assert all(len(set(index)) == 400 for index in chosen)
    assert len(set(chosen)) == 3
    assert len(set(chosen[0]) & set(chosen[1])) > 0  # independent draws of 400 of 4,000 overlap


def test_cv_and_ev_permutations_differ():
    streams = [make_stream(mnist(tasks=3, stream=name)).tasks for name in ("cv", "ev")]
    sources = {tuple(task.train.source.tolist()) for tasks in streams for task in tasks}
    assert len(sources) == 6


def test_pixels_are_divided_by_255_and_nothing_else():
    stream = make_stream(mnist(tasks=1))
    x, _ = stream.tasks[0].train.rows(slice(None))
    assert torch.allclose(stream.normalise(x), x.double().div(255).float())
    assert stream.normalise(torch.tensor([[0, 255]], dtype=torch.uint8)).tolist() == [[0.0, pytest.approx(1.0)]]


def test_heads_are_shared_by_default_and_separate_on_request():
    shared, separate = make_stream(mnist(tasks=3)), make_stream(mnist(tasks=3, head="per_task"))
    assert (shared.outputs, shared.heads()) == (10, None)
    assert separate.outputs == 30
    assert torch.equal(separate.heads().nonzero()[:, 0], torch.arange(3).repeat_interleave(10))
    for task in separate.tasks:
        assert set((task.train.labels // 10).tolist()) == {task.id} == set((task.test.labels // 10).tolist())
        assert task.classes == list(range(10 * task.id, 10 * task.id + 10))
    assert same_images(shared, separate)


def same_images(a, b):
    return all(
        torch.equal(x.train.rows(slice(None))[0], y.train.rows(slice(None))[0]) for x, y in zip(a.tasks, b.tasks)
    )


def test_the_first_5000_images_of_mnist_are_left_out(monkeypatch):
    """The released code's split: 5,000 to validate, 55,000 to train."""
    x = torch.arange(5200).view(-1, 1).expand(-1, 784)
    fake = ImageSet(
        (x // 5000).to(torch.uint8), torch.zeros(5200, dtype=torch.int64), x[:9].byte(), torch.zeros(9).long()
    )
    monkeypatch.setattr(make, "load", lambda *args: fake)
    stream = make_stream(mnist(source="mnist", tasks=2, examples_per_task=200, test_examples=None))
    for task in stream.tasks:
        assert torch.all(task.train.rows(slice(None))[0] == 1)
        assert len(set(task.train.index.tolist())) == 200


# -- MNIST rotation ----------------------------------------


@pytest.mark.parametrize("angle", [0, 7, 10, 20, 33.3, 45, 60, 90, 135, 180, 270, -30, 400])
def test_the_rotation_map_is_pils_nearest_rotation(angle):
    source, keep = rotation(angle)
    random = np.random.default_rng(0)
    for _ in range(5):
        image = random.integers(1, 256, (28, 28), dtype=np.uint8)  # no black inside: the fill must be black
        expected = np.asarray(Image.fromarray(image).rotate(angle)).ravel()
        got = image.ravel()[source.numpy()] * keep.numpy()
        assert np.array_equal(got, expected)


def test_task_1_is_upright_and_task_2_turned():
    images = make.load("mnist-5k", "rotated_mnist", None)
    config = mnist(benchmark="rotated_mnist", angle=40.0, second_examples=30)
    upright, turned = make_stream(config).tasks
    assert (len(upright.train), len(turned.train)) == (60, 30)
    assert torch.equal(upright.train.rows(slice(None))[0], images.x_train[upright.train.index])
    for part, x in ((turned.train, images.x_train[turned.train.index]), (turned.test, images.x_test)):
        batches = torch.cat([b for b, _ in part.batches(7)])
        originals = x if part is turned.train else x[torch.arange(40) * len(x) // 40]
        for got, image in zip(batches, originals, strict=True):
            expected = np.asarray(Image.fromarray(image.view(28, 28).numpy()).rotate(40.0))
            assert np.array_equal(got.view(28, 28).numpy(), expected)


def test_the_angle_does_not_move_task_1():
    first, second = (make_stream(mnist(benchmark="rotated_mnist", angle=a)).tasks for a in (10.0, 80.0))
    assert torch.equal(first[0].train.index, second[0].train.index)
    assert torch.equal(first[1].train.index, second[1].train.index)


# -- Split benchmarks ----------------------------------------


@pytest.mark.parametrize(("benchmark", "width"), [("split_cifar", 5), ("split_miniimagenet", 5), ("split_cub", 10)])
def test_cv_is_a_fixed_block_of_labels_and_ev_shuffles_the_others(benchmark, width):
    cv = [[task.classes for task in make_stream(toy(benchmark=benchmark, stream="cv", seed=s)).tasks] for s in (0, 1)]
    assert cv[0] == cv[1]
    assert sorted(chain(*cv[0])) == list(range(3 * width))
    ev = [[task.classes for task in make_stream(toy(benchmark=benchmark, seed=s)).tasks] for s in (0, 1, 0)]
    assert ev[0] == ev[2] != ev[1]
    for order in ev:
        assert [len(classes) for classes in order] == [width] * 17
        assert sorted(chain(*order)) == list(range(3 * width, 20 * width))


def test_a_split_task_holds_all_examples_of_its_classes_once_shuffled():
    images = make.load("toy", "split_cifar", None)
    stream = make_stream(toy())
    for task in stream.tasks:
        for part, y in ((task.train, images.y_train), (task.test, images.y_test)):
            expected = torch.isin(y, torch.tensor(task.classes)).nonzero().flatten()
            assert torch.equal(part.index.sort().values, expected)
            assert torch.equal(part.labels, y[part.index])
        assert not torch.equal(task.train.index, task.train.index.sort().values)
    heads = stream.heads()
    assert heads.shape == (17, 100)
    for task in stream.tasks:
        assert sorted(task.classes) == heads[task.id].nonzero().flatten().tolist()


def test_split_cifar_subtracts_the_mean_training_image():
    images = make.load("toy", "split_cifar", None)
    stream = make_stream(toy(tasks=1))
    x, _ = stream.tasks[0].test.rows(slice(0, 8))
    mean = images.x_train.numpy().astype(np.float64).mean(0) / 255  # over all classes, CV and EV
    expected = (x.numpy() / 255.0 - mean).transpose(0, 3, 1, 2)
    got = stream.normalise(x)
    assert got.is_contiguous(memory_format=torch.channels_last)
    np.testing.assert_allclose(got.numpy(), expected, atol=1e-6)
    assert x.dtype == torch.uint8  # the stored images stay as they are
    plain = make_stream(toy(tasks=1, centred=False)).normalise(x)
    np.testing.assert_allclose(plain.numpy(), (x.numpy() / 255.0).transpose(0, 3, 1, 2), atol=1e-6)


@pytest.mark.parametrize(("benchmark", "source"), [("split_miniimagenet", "miniimagenet"), ("split_cub", "cub")])
def test_the_others_use_imagenets_mean_and_deviation(monkeypatch, benchmark, source):
    images = make.load("toy", benchmark, None)
    monkeypatch.setattr(make, "load", lambda *args: images)
    stream = make_stream(toy(benchmark=benchmark, source=source, tasks=1))
    x, _ = stream.tasks[0].train.rows(slice(0, 8))
    expected = (x.numpy() / 255.0 - [0.485, 0.456, 0.406]) / [0.229, 0.224, 0.225]
    np.testing.assert_allclose(stream.normalise(x).numpy(), expected.transpose(0, 3, 1, 2), atol=1e-5)


# -- How many ----------------------------------------


@pytest.mark.parametrize("count", [1, 7, 100, 1000])
def test_test_images_are_evenly_spaced(count):
    images = make.load("mnist-5k", "permuted_mnist", None)
    task = make_stream(mnist(tasks=1, test_examples=count)).tasks[0]
    chosen = torch.tensor([i * 1000 // count for i in range(count)])
    x, y = task.test.rows(slice(None))
    assert torch.equal(x, images.x_test[chosen][:, task.test.source])
    assert torch.equal(y, images.y_test[chosen])


@pytest.mark.parametrize("changes", [{"examples_per_task": 4001}, {"test_examples": 1001}])
def test_more_than_there_is_gets_one_sentence(changes):
    with pytest.raises(ErlibError, match="'mnist-5k' has"):
        make_stream(mnist(tasks=1, **changes))


def test_a_toy_image_set_is_always_the_same():
    first, second = toy_set.load(4), toy_set.load(4)
    assert torch.equal(first.x_train, second.x_train)
    assert first.x_train.shape == (48, 16, 16, 3)
    assert first.y_test.bincount().tolist() == [4] * 4
