"""Compiled models, and their executions."""
from __future__ import annotations

import collections
import os
from typing import (TYPE_CHECKING, Any, Dict, Iterable, Iterator, List, Mapping, Optional, Sequence,
                    Tuple, Union)

from . import _core
from ._memory import Event, Memory, MemoryPart, native_argument
from ._report import Explanation, Profile, Report
from ._tensors import Tensor, bad_data

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ._async import Run
    from ._model import Model

    Values = Union[Mapping[str, Any], Sequence[Any]]
    Results = Dict[str, NDArray[Any]]

# The space for an output of unknown size: it grows from here until the output fits.
_FIRST_BYTES = 64 << 10
_MOST_BYTES = 1 << 30

class _Output:
    """The array of one output, which grows if the model does not tell its size."""

    def __init__(self, tensor: Tensor, given: Any) -> None:
        import numpy as np

        self.tensor = tensor
        self.given = given
        self.stored: Any = given
        if isinstance(given, (Memory, MemoryPart)):
            return
        dtype = np.dtype(tensor._stored or tensor.dtype)
        if given is not None:
            self._check(given)
        if given is not None and not tensor._stored:
            return
        if tensor.is_exact:
            assert tensor.shape is not None
            self.stored = np.empty(tensor._stored_shape(tensor.shape), dtype)  # type: ignore[arg-type]
        else:
            self.stored = np.empty(_FIRST_BYTES // dtype.itemsize, dtype)

    def _check(self, array: Any) -> None:
        import numpy as np

        if not isinstance(array, np.ndarray) or array.dtype != np.dtype(self.tensor.dtype):
            raise bad_data(f"output {self.tensor}: out is {_kind(array)}, expected an array of "
                           f"{np.dtype(self.tensor.dtype).name}")
        if not array.flags.c_contiguous or not array.flags.writeable:
            raise bad_data(f"output {self.tensor}: out must be contiguous and writable")
        if self.tensor.shape is not None and not self.tensor._fits(array.shape):
            raise bad_data(f"output {self.tensor}: out has the shape {list(array.shape)}")

    def grow(self, dims: Tuple[int, ...]) -> bool:
        """Whether the array has grown. `dims` are those known so far."""
        import numpy as np

        if self.tensor.is_exact or self.stored is self.given:
            return False
        count = 1
        for extent in dims:
            count *= extent
        count = count or self.stored.size * 2
        if count <= self.stored.size or count * self.stored.itemsize > _MOST_BYTES:
            return False
        self.stored = np.empty(count, self.stored.dtype)
        return True

    def result(self, dims: Optional[Tuple[int, ...]]) -> Any:
        if isinstance(self.given, (Memory, MemoryPart)):
            return self.given
        stored = self.stored
        if dims is not None:
            count = 1
            for extent in dims:
                count *= extent
            part = stored.reshape(-1)[:count].reshape(dims)
            stored = part if part.nbytes * 2 >= stored.nbytes or self.given is not None else part.copy()
        result = self.tensor._result(stored)
        if self.given is None or self.given is self.stored:
            return result
        return self._given_with(result, dims is None)

    def _given_with(self, result: Any, is_exact: bool) -> Any:
        """The given array with the converted elements, or its leading part that has them."""
        if result.size > self.given.size:
            from ._errors import OutputSizeError, Status

            raise OutputSizeError(
                Status.OUTPUT_INSUFFICIENT_SIZE,
                f"output {self.tensor}: out has {self.given.size} elements, expected at least "
                f"{result.size}")
        part = self.given.reshape(-1)[:result.size].reshape(result.shape)
        part[...] = result
        return self.given if is_exact else part


def _kind(value: Any) -> str:
    dtype = getattr(value, "dtype", None)
    return f"{type(value).__name__} of {dtype}" if dtype is not None else type(value).__name__


class Compiled:
    """A compiled model. Any thread may run it, and several may at the same time.

    A child of a fork cannot use it (halyard.BadStateError), and compiles again. With the start
    method "spawn" or "forkserver", multiprocessing can send it to a process, which compiles it.
    """

    def __init__(self, model: "Model", native: _core.Compiled, options: Dict[str, Any]) -> None:
        import numpy as np

        self.model = model
        self.inputs = model.inputs
        self.outputs = model.outputs
        self._native = native
        self._options = options
        self._positions = {each.name: i for i, each in enumerate(self.inputs)}
        self._output_positions = {each.name: i for i, each in enumerate(self.outputs)}
        tensors = (*self.inputs, *self.outputs)
        self._exact = all(each.is_exact for each in tensors)
        # The arrays of a model without open dimensions and conversions, for the usual case.
        self._plain: Optional[Tuple[List[Any], List[Any]]] = None
        if self._exact and not any(each._stored for each in tensors):
            self._plain = ([(each.shape, np.dtype(each.dtype)) for each in self.inputs],
                           [(each.shape, np.dtype(each.dtype)) for each in self.outputs])
        self._ndarray, self._empty = np.ndarray, np.empty

    # Executions.

    def __call__(self, *values: Any, **named: Any) -> Any:
        """Runs the model once, with inputs in their order or by name.

        Returns the array of the only output, or a tuple of all. Inputs are NumPy arrays, objects
        with DLPack (torch, jax) or the buffer protocol, or numbers and lists. Their type and shape
        are those of `inputs`. Contiguous arrays are not copied.
        """
        results = self._execute(self._in_order(values, named or None), None, 0)
        return results[0] if len(results) == 1 else tuple(results)

    def run(self, inputs: "Values", *, out: "Optional[Values]" = None,
            timeout: Optional[float] = None) -> "Results":
        """Runs the model once. Returns the outputs by name.

        inputs: by name, or in their order. A value may also be halyard.Memory. None leaves out an
            input that the model does not need.
        out: arrays or memories for outputs, which are filled in place.
        timeout: the limit in seconds; halyard.DeadlineError follows. Needs a model that was
            compiled for exactly one device.
        """
        from ._model import nanoseconds

        results = self._execute(self._arranged(inputs), out, nanoseconds(timeout))
        return {each.name: result for each, result in zip(self.outputs, results)}

    def run_async(self, inputs: "Values", *, out: "Optional[Values]" = None,
                  timeout: Optional[float] = None) -> "Run":
        """As run, in another thread. The result is a Future, and asyncio can await it.

        The arrays must not change until it is done.
        """
        from ._async import start

        return start(lambda: self.run(inputs, out=out, timeout=timeout))

    def batch(self, inputs: "Iterable[Values]", *, parallel: int = 2) -> "Iterator[Results]":
        """Runs the model for each of many inputs, `parallel` at a time. Results keep the order."""
        if parallel < 1:
            raise bad_data(f"{parallel} executions at a time, expected 1 or more")
        running: "collections.deque[Run]" = collections.deque()
        for each in inputs:
            running.append(self.run_async(each))
            if len(running) >= parallel:
                yield running.popleft().result()
        while running:
            yield running.popleft().result()

    def bind(self, inputs: "Values", *, out: "Optional[Values]" = None) -> "Binding":
        """Fixes the arrays of inputs and outputs, for executions of the least overhead.

        Change the arrays in place between runs. Every dimension of the model must be known, and an
        input must need no conversion.
        """
        return Binding(self, inputs, out)

    def stream(self) -> "Stream":
        """A sequence of executions that keeps the states of the model, from their first values on.

        The model needs halyard.load(path, states=True). A model may have several streams.
        """
        return Stream(self)

    def start(self, inputs: "Values", *, out: "Optional[Values]" = None,
              wait_for: Sequence[Event] = (), timeout: Optional[float] = None) -> Event:
        """Starts an execution as soon as the events `wait_for` are signaled (fences).

        Returns its event; `event.results()` waits, and has the outputs by name. timeout: seconds
        from the last of `wait_for` on. Every dimension of an output must be known.
        """
        from ._model import nanoseconds

        arguments = self._arranged(inputs)
        outputs = self._spaces(out)
        request = self._request(arguments, outputs, False, 0)
        native = request.start([each._native for each in wait_for], nanoseconds(timeout))

        def results() -> "Results":
            return {each.tensor.name: each.result(None) for each in outputs}

        return Event(native, results)

    def device_memory(self, *, inputs: Iterable[str] = (), outputs: Iterable[str] = (),
                      shape: Sequence[int] = ()) -> Memory:
        """Memory of a device, for a value that stays there between executions.

        inputs, outputs: the names of the inputs and outputs that it will be used for. Copy to and
        from it with halyard.Memory.
        """
        def roles(names: Iterable[str], tensors: Dict[str, int], what: str) -> List[Tuple[int, float]]:
            return [(_position(tensors, name, what), 1.0) for name in names]

        return Memory(self._native.device_memory(
            roles(inputs, self._positions, "input"),
            roles(outputs, self._output_positions, "output"), list(shape)))

    # Decisions and times.

    def report(self) -> Report:
        """The decisions of the compilation, with reasons, measured times and events."""
        return Report(self._native.report())

    def explain(self, all: bool = False) -> Explanation:
        """The report as a text, as of `halyard explain`. all: every operation and reason."""
        return self.report().explain(all)

    @property
    def devices(self) -> Tuple[str, ...]:
        """The devices that compute the model."""
        return tuple(dict.fromkeys(each["device"] for each in self.report()["partitions"]))

    def profile(self, inputs: "Optional[Values]" = None, *, runs: int = 20, warm_up: int = 3,
                trace: "Union[str, os.PathLike[str], None]" = None) -> Profile:
        """Runs the model, and shows the time of each operation and of the way to the device.

        inputs: random values without it. trace: writes a file for ui.perfetto.dev.
        """
        from ._trace import Trace

        if runs < 1:
            raise bad_data(f"{runs} runs, expected 1 or more")
        arguments = self._arranged(self._random() if inputs is None else inputs)
        slices = (self.model.operation_count + 64) * (runs + warm_up + 1) * 2 + 1000
        with Trace(trace, slices):
            for _ in range(warm_up + runs):
                self._execute(arguments, None, 0)
        return Profile(self._native.profile(), runs, warm_up)

    def __reduce__(self) -> Any:
        return _compile_again, (self.model, self._options)

    def __repr__(self) -> str:
        return f"<halyard.Compiled {self.model.name} on {', '.join(self.devices)}>"

    def _repr_html_(self) -> str:
        return self.model._repr_html_() + self.report()._repr_html_()

    # Arguments.

    def _arranged(self, values: "Values") -> List[Any]:
        """The values in the order of the inputs."""
        if isinstance(values, Mapping):
            return self._in_order((), values)
        if not isinstance(values, (list, tuple)):
            raise bad_data(f"inputs are {_kind(values)}, expected a mapping or a list")
        return self._in_order(values, None)

    def _in_order(self, values: Sequence[Any], named: Optional[Mapping[str, Any]]) -> List[Any]:
        return arranged(self.inputs, self._positions, values, named)

    def _spaces(self, out: "Optional[Values]") -> List[_Output]:
        given: List[Any] = [None] * len(self.outputs)
        if isinstance(out, Mapping):
            for name, value in out.items():
                given[_position(self._output_positions, name, "output")] = value
        elif out is not None:
            if len(out) != len(self.outputs):
                raise bad_data(f"out has {len(out)} values, expected {len(self.outputs)}")
            given = list(out)
        return [_Output(tensor, value) for tensor, value in zip(self.outputs, given)]

    def _request(self, arguments: List[Any], outputs: List[_Output], reusable: bool,
                 timeout_ns: int) -> _core.Request:
        prepared: List[Any] = []
        dims: List[Optional[Tuple[int, ...]]] = []
        for tensor, value in zip(self.inputs, arguments):
            if value is None or isinstance(value, (Memory, MemoryPart)):
                prepared.append(native_argument(value))
                dims.append(None)
                continue
            array = tensor._prepared(value)
            prepared.append(array)
            dims.append(None if tensor.is_exact else array.shape)
        return _core.make_request(self._native, prepared, None if self._exact else dims,
                                  [native_argument(each.stored) for each in outputs], reusable,
                                  timeout_ns)

    def _needs_nothing(self, arguments: List[Any]) -> bool:
        """Whether all arguments are contiguous arrays of a model without open dimensions."""
        return self._plain is not None and all(
            type(value) is self._ndarray and value.shape == shape and value.dtype == dtype and
            value.flags.c_contiguous for value, (shape, dtype) in zip(arguments, self._plain[0]))

    def _execute(self, arguments: List[Any], out: "Optional[Values]", timeout_ns: int) -> List[Any]:
        if out is None and self._plain and self._needs_nothing(arguments):
            results = [self._empty(shape, dtype) for shape, dtype in self._plain[1]]
            _core.make_request(self._native, arguments, None, results, False, timeout_ns).compute()
            return results
        outputs = self._spaces(out)
        request = self._request(arguments, outputs, False, timeout_ns)
        while not request.compute():
            grown = [each.grow(request.output_dims(i)) for i, each in enumerate(outputs)]
            if not any(grown):
                from ._errors import OutputSizeError, Status

                raise OutputSizeError(Status.OUTPUT_INSUFFICIENT_SIZE,
                                      "an output needs more space than out has, or than 1 GiB")
            request = self._request(arguments, outputs, False, timeout_ns)
        if self._exact:
            return [each.result(None) for each in outputs]
        return [each.result(None if each.tensor.is_exact else request.output_dims(i))
                for i, each in enumerate(outputs)]

    def _random(self) -> List[Any]:
        import numpy as np

        generator = np.random.default_rng(1)
        values = []
        for tensor in self.inputs:
            if tensor.shape is None:
                raise bad_data(f"input {tensor}: its rank is open, so it needs a value")
            shape = [extent or 1 for extent in tensor.shape]
            dtype = np.dtype(tensor.dtype)
            if dtype.kind in "fc":
                values.append(generator.uniform(-1, 1, shape).astype(dtype))
            else:
                most = 255 if tensor.quantised and dtype.itemsize == 1 else 1
                values.append(generator.integers(0, most, shape, endpoint=True).astype(dtype))
        return values


class Binding:
    """An execution with fixed arrays, which may run any number of times."""

    def __init__(self, compiled: Compiled, inputs: "Values", out: "Optional[Values]") -> None:
        if not compiled._exact:
            raise bad_data("bind needs a model whose dimensions are all known")
        arguments = compiled._arranged(inputs)
        for tensor, value in zip(compiled.inputs, arguments):
            if value is None or isinstance(value, (Memory, MemoryPart)):
                continue
            if tensor._prepared(value) is not value:
                raise bad_data(f"input {tensor}: bind needs a contiguous NumPy array of this type")
        for tensor in compiled.outputs:
            if tensor._stored:
                raise bad_data(f"output {tensor}: bind cannot convert its elements")
        self._outputs = compiled._spaces(out)
        self._request = compiled._request(arguments, self._outputs, True, 0)
        self.outputs = {each.tensor.name: each.stored for each in self._outputs}

    def run(self) -> "Results":
        """Runs once more. Returns `outputs`, whose arrays it has filled in place."""
        self._request.compute()
        return self.outputs


class Stream:
    """Executions in sequence: each one begins with the states that the one before has left.

    One thread at a time may use it; threads with a stream each share the compiled model. After an
    error the states are those from before the execution.
    """

    def __init__(self, compiled: Compiled) -> None:
        if not compiled.model.states:
            raise bad_data(f"{compiled.model.name} has no states; a file with variables needs "
                           "halyard.load(path, states=True)")
        count = len(compiled.model.states)
        self.inputs = compiled.inputs[:-count]
        self.outputs = compiled.outputs[:-count]
        self._compiled = compiled
        self._positions = {each.name: i for i, each in enumerate(self.inputs)}
        self.reset()

    def reset(self) -> None:
        """Gives the states their first values again."""
        self._states: List[Any] = list(self._compiled.model.states.values())

    @property
    def states(self) -> "Results":
        """The current values of the states by name; read-only arrays."""
        return dict(zip(self._compiled.model.states, self._states))

    def __call__(self, *values: Any, **named: Any) -> Any:
        """As Compiled.__call__, without the states."""
        results = self._run(arranged(self.inputs, self._positions, values, named or None))
        return results[0] if len(results) == 1 else tuple(results)

    def run(self, inputs: "Values") -> "Results":
        """Runs the model once. Returns the outputs by name, without the states."""
        if isinstance(inputs, Mapping):
            values = arranged(self.inputs, self._positions, (), inputs)
        else:
            values = arranged(self.inputs, self._positions, inputs, None)
        return {each.name: result for each, result in zip(self.outputs, self._run(values))}

    def _run(self, values: List[Any]) -> List[Any]:
        results = self._compiled._execute(values + self._states, None, 0)
        self._states = results[len(self.outputs):]
        for each in self._states:
            each.flags.writeable = False
        return results[:len(self.outputs)]


_MISSING = object()


def arranged(tensors: Sequence[Tensor], positions: Dict[str, int], values: Sequence[Any],
             named: Optional[Mapping[str, Any]]) -> List[Any]:
    """The values in the order of the inputs `tensors`."""
    in_order: List[Any] = list(values)
    if named is not None:
        in_order += [_MISSING] * (len(tensors) - len(in_order))
        for name, value in named.items():
            position = _position(positions, name, "input")
            if in_order[position] is not _MISSING:
                raise bad_data(f"input '{name}' is given twice")
            in_order[position] = value
    missing = [str(each) for each, value in zip(tensors, in_order) if value is _MISSING]
    if missing:
        raise bad_data(f"no value for input {', '.join(missing)}")
    if len(in_order) != len(tensors):
        raise bad_data(f"{len(in_order)} inputs, expected {len(tensors)}: "
                       f"{', '.join(map(str, tensors))}")
    return in_order


def _position(positions: Dict[str, int], name: str, what: str) -> int:
    if name not in positions:
        raise bad_data(f"no {what} '{name}'; the model has {', '.join(positions)}")
    return positions[name]


def _compile_again(model: "Model", options: Dict[str, Any]) -> Compiled:
    return model.compile(**options)
