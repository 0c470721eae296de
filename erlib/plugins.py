"""Classes from outside the package: what a writer or a method must have, and what it must do while it trains.

A mistake is one sentence that names it and the remedy. erlib's own classes are never wrapped: they pay nothing.
"""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

from erlib.errors import ErlibError

if TYPE_CHECKING:
    from erlib.memory import Memory
    from erlib.methods import Method

_WRITER = ("write", "sample", "end_task", "class_counts", "state_dict", "load_state_dict")
_METHOD = ("observe", "end_task", "state_dict", "load_state_dict")
_CALLS = {"choose": ("key",), "write": ("x", "y", "t", "features"), "sample": ("count", "generator")}
_CALLS |= {"observe": ("x", "y", "t"), "end_task": ("t",)}
_MADE_WITH = {
    "erlib.memory.Memory": (("size", "classes", "shape"), ("generator", "replay_current", "distances", "device")),
    "erlib.methods.Method": (("net", "stream", "config"), ("memory", "read")),
}


def check_writer(cls: type, name: str) -> None:
    """Raise unless the class can be a writer."""
    from erlib.memory import Memory

    _check_verbs(cls, name, _WRITER, "erlib.memory.Memory")
    if cls.write is Memory.write and cls.choose is Memory.choose:
        raise ErlibError(
            f"class {cls.__name__} has neither write(x, y, t, features) nor choose(key) of its own; "
            f"add one of them before registering it as '{name}'."
        )


def check_method(cls: type, name: str, fields: tuple[str, ...], settings: tuple[str, ...]) -> None:
    """Raise unless the class can be a method that uses these settings."""
    from erlib.methods import Method

    _check_verbs(cls, name, _METHOD, "erlib.methods.Method")
    if cls.observe is Method.observe:
        raise ErlibError(
            f"class {cls.__name__} has no observe(x, y, t) of its own; add it before registering it as '{name}'."
        )
    for field in fields:
        if field not in settings:
            raise ErlibError(
                f"'{name}' names the field '{field}', which no run has; choose among {', '.join(settings)}."
            )


def _check_verbs(cls: type, name: str, verbs: tuple[str, ...], base: str) -> None:
    if not inspect.isclass(cls):
        raise ErlibError(f"'{name}' was given {cls!r}; register a class, such as one derived from {base}.")
    for verb in verbs:
        if not callable(getattr(cls, verb, None)):
            raise ErlibError(f"class {cls.__name__} has no {verb}(); add it, or derive the class from {base}.")
    given, options = _MADE_WITH[base]
    try:
        inspect.signature(cls).bind(*given, **dict.fromkeys(options))
    except TypeError:
        raise ErlibError(
            f"class {cls.__name__} cannot be made as {base.rsplit('.', 1)[1]}({', '.join(given)}, *, "
            f"{', '.join(options)}); define __init__(self, *args, **options), with super().__init__(*args, **options)."
        ) from None
    for verb, names in _CALLS.items():
        function = getattr(cls, verb, None)
        try:
            if function is not None:
                inspect.signature(function).bind(None, *names)
        except TypeError:
            raise ErlibError(
                f"{verb}() of class {cls.__name__} cannot take what it is given; define it as "
                f"{verb}(self, {', '.join(names)})."
            ) from None


def watch_writer(memory: Memory, name: str, size: int, shape: tuple[int, ...]) -> Memory:
    """A registered writer whose every write and every sample is looked at. Looks at shapes and counts alone."""
    for part in ("x", "y", "t", "events", "generator"):
        if not hasattr(memory, part):
            raise ErlibError(
                f"writer '{name}' has no {part}; derive its class from erlib.memory.Memory, and call "
                "super().__init__(*args, **options) in its __init__."
            )
    write, sample, choose = memory.write, memory.sample, getattr(memory, "choose", None)

    def checked_choose(key: Any) -> int | None:
        slot = choose(key)
        if slot is not None and not (isinstance(slot, int) and 0 <= slot < size):
            raise ErlibError(
                f"choose() of writer '{name}' returned {slot!r}, but the memory has the slots 0 to {size - 1}; "
                "return one of these, or None to let the example pass."
            )
        return slot

    def checked_write(x: Any, y: Any, t: int, features: Any = None) -> None:
        write(x, y, t, features)
        held = max(len(memory), len(memory.x), sum(memory.class_counts().values()))
        if held > size:
            raise ErlibError(
                f"writer '{name}' holds {held} examples in a memory of {size} slots; overwrite a slot instead of "
                "adding one."
            )
        for part, found, wanted in (
            ("x", memory.x, (size, *shape)),
            ("y", memory.y, (size,)),
            ("t", memory.t, (size,)),
        ):
            if tuple(found.shape) != wanted:
                raise ErlibError(
                    f"after write(), {part} of writer '{name}' has the shape {tuple(found.shape)} instead of {wanted}; "
                    "write into its slots and leave their number and shape as they are."
                )

    def checked_sample(count: int, generator: Any) -> Any:
        drawn = sample(count, generator)
        shapes = [tuple(part.shape) for part in drawn] if isinstance(drawn, tuple) else []
        n = shapes[0][0] if shapes and shapes[0] else -1
        if shapes != [(n, *shape), (n,), (n,)] or n > count:
            raise ErlibError(
                f"sample() of writer '{name}' returned {shapes or type(drawn).__name__} when asked for {count}; "
                f"return images, labels and tasks of up to {count}, each image of the shape {shape}."
            )
        return drawn

    memory.write, memory.sample = checked_write, checked_sample
    if choose is not None:
        memory.choose = checked_choose
    return memory


def watch_method(method: Method, name: str) -> Method:
    """A registered method whose every step is looked at."""
    observe = method.observe
    shapes = [parameter.shape for parameter in method.net.parameters()]

    def checked_observe(x: Any, y: Any, t: Any) -> None:
        try:
            observe(x, y, t)
        except AttributeError as error:
            if method.memory is None and "'NoneType'" in str(error):
                raise ErlibError(
                    f"method '{name}' uses a memory that it was not given; register it with fields=(\"memory\",)."
                ) from error
            raise
        if [parameter.shape for parameter in method.net.parameters()] != shapes:
            raise ErlibError(
                f"observe() of method '{name}' changed the shapes of the network's parameters; change their values, "
                "with descend(gradients) or in place."
            )

    method.observe = checked_observe
    return method
