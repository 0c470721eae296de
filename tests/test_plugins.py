"""Classes from outside the package: a mistake is one sentence, a changed line is another run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import nbformat
import pytest
import torch

from erlib import ErlibError, paper_config, register_memory, register_method, registry, run
from erlib.memory import Memory
from erlib.memory.ring import Ring
from erlib.methods import Method

SMALL: dict[str, Any] = {"source": "mnist-5k", "tasks": 2, "examples_per_task": 40, "test_examples": 20}


@pytest.fixture(autouse=True)
def tidy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever a test registers is forgotten after it."""
    monkeypatch.setattr(registry, "METHODS", dict(registry.METHODS))
    monkeypatch.setattr(registry, "MEMORIES", dict(registry.MEMORIES))


def trained(memory: str = "ring", method: str = "er") -> Any:
    return run(paper_config("permuted_mnist", method, memory=memory, samples_per_class=1, **SMALL))


class Good(Memory):
    def choose(self, key: Any) -> int:
        return 0


class Replays(Method):
    def observe(self, x: Any, y: Any, t: Any) -> None:
        self.descend(self.gradients(x, y, t))
        self.memory.write(x, y, t)


class NothingOfItsOwn(Memory):
    pass


class NoWrite:
    sample = end_task = class_counts = state_dict = load_state_dict = lambda self: None


class OddWrite(Memory):
    def write(self, x: Any) -> None:
        pass


class OddInit(Memory):
    def __init__(self, size: int) -> None:
        super().__init__(size, 1, (1,), generator=torch.Generator(), replay_current=True)

    choose = Good.choose


class NoObserve(Method):
    pass


class OddObserve(Method):
    def observe(self, batch: Any) -> None:
        pass


@pytest.mark.parametrize(
    ("register", "sentence"),
    [
        (
            lambda: register_memory("mine")(NoWrite),
            "class NoWrite has no write(); add it, or derive the class from erlib",
        ),
        (
            lambda: register_memory("mine")(NothingOfItsOwn),
            "neither write(x, y, t, features) nor choose(key) of its own",
        ),
        (lambda: register_memory("mine")(OddWrite), "define it as write(self, x, y, t, features)."),
        (lambda: register_memory("mine")(OddInit), "define __init__(self, *args, **options), with super()"),
        (lambda: register_memory("mine")(print), "register a class, such as one derived from erlib.memory.Memory."),
        (
            lambda: register_memory("ring")(Good),
            "'ring' is one of erlib's own names; register the class under another.",
        ),
        (lambda: register_method("mine")(NoObserve), "class NoObserve has no observe(x, y, t) of its own"),
        (lambda: register_method("mine")(OddObserve), "define it as observe(self, x, y, t)."),
        (lambda: register_method("mine", fields=("memroy",))(Replays), "the field 'memroy', which no run has; choose"),
    ],
)
def test_a_class_that_cannot_work_is_refused_when_it_is_registered(register: Callable[[], Any], sentence: str) -> None:
    before = (dict(registry.METHODS), dict(registry.MEMORIES))
    with pytest.raises(ErlibError) as caught:
        register()
    assert sentence in str(caught.value)
    assert "\n" not in str(caught.value)
    assert before == (registry.METHODS, registry.MEMORIES)


class Grows(Ring):
    def write(self, x: Any, y: Any, t: int, features: Any = None) -> None:
        self.x, self.y = torch.cat((self.x, x)), torch.cat((self.y, y))
        self.t = torch.cat((self.t, torch.full_like(y, t)))


class Transposes(Ring):
    def write(self, x: Any, y: Any, t: int, features: Any = None) -> None:
        super().write(x, y, t)
        self.x = self.x.reshape(len(self.x), -1)[:, :100]


class PointsOutside(Memory):
    def choose(self, key: Any) -> int:
        return self.size


class DrawsPairs(Ring):
    def sample(self, count: int, generator: Any) -> Any:
        x, y, _ = super().sample(count, generator)
        return x, y


class DrawsTooMany(Ring):
    def sample(self, count: int, generator: Any) -> Any:
        return self.x, self.y, self.t


class ForgetsSuper(Memory):
    def __init__(self, *args: Any, **options: Any) -> None:
        pass

    choose = Good.choose


@pytest.mark.parametrize(
    ("writer", "sentence"),
    [
        (Grows, "writer 'mine' holds 30 examples in a memory of 20 slots; overwrite a slot instead of adding one."),
        (Transposes, "x of writer 'mine' has the shape (20, 100) instead of (20, 784); write into its slots"),
        (PointsOutside, "choose() of writer 'mine' returned 20, but the memory has the slots 0 to 19; return one of"),
        (DrawsPairs, "return images, labels and tasks of up to 10, each image of the shape (784,)."),
        (
            DrawsTooMany,
            "sample() of writer 'mine' returned [(20, 784), (20,), (20,)] when asked for 10; return",
        ),
        (ForgetsSuper, "writer 'mine' has no x; derive its class from erlib.memory.Memory, and call super()"),
    ],
)
def test_a_writer_that_does_wrong_is_stopped_with_one_sentence(writer: type, sentence: str) -> None:
    register_memory("mine")(writer)
    with pytest.raises(ErlibError) as caught:
        trained("mine")
    assert sentence in str(caught.value)
    assert "\n" not in str(caught.value)


class Shrinks(Method):
    def observe(self, x: Any, y: Any, t: Any) -> None:
        self.params[0].data = self.params[0].data[:1]


def test_a_method_that_does_wrong_is_stopped_with_one_sentence() -> None:
    register_method("mine")(Replays)
    with pytest.raises(ErlibError, match=r'not given; register it with fields=\("memory",\)\.$'):
        run(paper_config("permuted_mnist", "mine", **SMALL))
    register_method("mine")(Shrinks)
    with pytest.raises(ErlibError, match="changed the shapes of the network's parameters; change their values"):
        run(paper_config("permuted_mnist", "mine", **SMALL))


def test_watching_changes_no_number() -> None:
    class Same(Ring):
        """The ring itself."""

    register_memory("same")(Same)
    assert trained("same").accuracy == trained("ring").accuracy


def test_memory_brings_its_settings_along() -> None:
    register_method("mine", fields=("memory",))(Replays)
    assert paper_config("permuted_mnist", "mine", memory="kmeans", **SMALL).distances == "current"
    assert paper_config("permuted_mnist", "mine", memory="ring", **SMALL).replay_batch == 10


NOTEBOOK = """
import erlib
from erlib.memory import Memory
from erlib.memory.ring import Ring

class Base(Ring):
    order = {order}

@erlib.register_memory("mine")
class Mine(Base):
    limit = {limit}

erlib.paper_config("permuted_mnist", "er", memory="mine").run_id
"""


def test_a_changed_cell_is_another_run() -> None:
    """The same cell run again, with one line changed, in one kernel; the class has not even a function."""
    from nbclient import NotebookClient

    cells = [(1, 1), (1, 1), (1, 2), (2, 2), (1, 1)]
    cells = [nbformat.v4.new_code_cell(NOTEBOOK.format(order=order, limit=limit)) for order, limit in cells]
    notebook = nbformat.v4.new_notebook(cells=cells)
    NotebookClient(notebook, kernel_name="python3").execute()
    first, again, changed, base_changed, back = (cell.outputs[0]["data"]["text/plain"] for cell in notebook.cells)
    assert first == again == back
    assert len({first, changed, base_changed}) == 3


def test_a_class_without_a_source_is_refused() -> None:
    names: dict[str, Any] = {"__name__": "nowhere", "Ring": Ring}
    exec("class Mine(Ring):\n    limit = 1", names)
    with pytest.raises(ErlibError, match="the source of 'mine' cannot be read"):
        register_memory("mine")(names["Mine"])
