"""Models built operation by operation."""
from __future__ import annotations

import dataclasses
import functools
import hashlib
import re
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple, Union

from . import _core
from ._model import Model
from ._tensors import bad_data


@dataclasses.dataclass(frozen=True)
class Operation:
    """An operation of NNAPI, or of the extension halyard.tflite."""

    name: str
    code: int
    is_of_extension: bool
    #: Each list of inputs that the operation takes: its name, and the names of the inputs.
    forms: Tuple[Tuple[str, Tuple[str, ...]], ...]
    outputs: Tuple[str, ...]
    _types: Tuple[Tuple[str, ...], ...] = dataclasses.field(repr=False)


@functools.lru_cache(maxsize=None)
def operations() -> Dict[str, Operation]:
    """All operations that halyard.Builder can add, by name."""
    def identifiers(names: List[str]) -> Tuple[str, ...]:
        return tuple(re.sub(r"\W", "_", name) for name in names)

    return {name: Operation(name, code, extension,
                            tuple((form, identifiers(inputs)) for form, inputs, _ in forms),
                            identifiers(outputs), tuple(tuple(types) for _, _, types in forms))
            for name, code, extension, forms, outputs in _core.operations()}


@functools.lru_cache(maxsize=None)
def _types() -> Dict[str, Tuple[int, bool, str]]:
    """By name: the code, whether it is a scalar, and the NumPy type."""
    return {name: (code, scalar, dtype) for name, code, scalar, dtype in _core.operand_types()}


# The type of a constant that is given as an array or a NumPy scalar.
_TENSORS = {"float32": "TENSOR_FLOAT32", "float16": "TENSOR_FLOAT16", "int32": "TENSOR_INT32",
            "bool": "TENSOR_BOOL8", "uint8": "TENSOR_QUANT8_ASYMM",
            "int8": "TENSOR_QUANT8_ASYMM_SIGNED", "int16": "TENSOR_QUANT16_SYMM",
            "uint16": "TENSOR_QUANT16_ASYMM"}
_SCALARS = {"float32": "FLOAT32", "float16": "FLOAT16", "int32": "INT32", "bool": "BOOL",
            "uint32": "UINT32"}


@dataclasses.dataclass(frozen=True)
class Operand:
    """A value in a model under construction. `shape` has None for a dimension that is not known."""

    builder: "Builder" = dataclasses.field(repr=False)
    index: int
    type: str
    shape: Tuple[Optional[int], ...]
    scale: float = 0.0
    zero_point: int = 0


class Builder:
    """Builds a model operation by operation. Each operation is a method, by its name in lower case:

        b = halyard.Builder()
        x = b.input("x", [1, 4])
        y = b.softmax(b.mul(x, numpy.float32([[2, 2, 2, 2]]), 0), 1.0)
        model = b.finish({"y": y})

    Arguments are operands, and constants as arrays, numbers and lists of integers. None leaves out
    an input that the operation does not need. IF and WHILE take models of other builders. Arguments
    may have the names that `halyard.operations()` shows. Each operation is checked at once:
    halyard.BadDataError names the input, its type, and the expected one.
    """

    def __init__(self) -> None:
        self._native = _core.Builder.create()
        self._inputs: List[Tuple[str, Operand]] = []
        # All that distinguishes this model from others, for the cache.
        self._digest = hashlib.sha256()

    def operand(self, type: str, shape: Sequence[Optional[int]] = (), *, scale: float = 0.0,
                zero_point: int = 0, scales: Optional[Sequence[float]] = None,
                channel: int = 0) -> Operand:
        """An operand without a value, such as an output with a quantisation of its own.

        scales: one for each channel, for TENSOR_QUANT8_SYMM_PER_CHANNEL; `channel` is the dimension.
        """
        if type not in _types():
            raise bad_data(f"no type of operands '{type}'; there are {', '.join(_types())}")
        dims = [extent or 0 for extent in shape]
        spec = _core.OperandSpec(_types()[type][0], dims, scale, zero_point)
        index = self._native.add_operand(spec)
        if scales is not None:
            self._native.set_scales(index, list(scales), channel)
        self._note("operand", type, dims, scale, zero_point, scales, channel)
        return Operand(self, index, type, tuple(extent or None for extent in dims), scale, zero_point)

    def input(self, name: str, shape: Sequence[Optional[int]], type: str = "TENSOR_FLOAT32", *,
              scale: float = 0.0, zero_point: int = 0) -> Operand:
        """An input of the model. None in `shape` is a dimension that each execution chooses."""
        if any(name == known for known, _ in self._inputs):
            raise bad_data(f"input '{name}' exists already")
        operand = self.operand(type, shape, scale=scale, zero_point=zero_point)
        self._inputs.append((name, operand))
        return operand

    def constant(self, value: Any, type: Optional[str] = None, *, scale: float = 0.0,
                 zero_point: int = 0, scales: Optional[Sequence[float]] = None,
                 channel: int = 0) -> Operand:
        """A constant. An array becomes a tensor, a number becomes a scalar; its bytes are copied."""
        import numpy as np

        if type is None:
            type = self._type_of(value)
        if type not in _types():
            raise bad_data(f"no type of operands '{type}'; there are {', '.join(_types())}")
        _, is_scalar, dtype = _types()[type]
        try:
            array = np.ascontiguousarray(value, dtype or None)
        except (OverflowError, TypeError, ValueError) as error:
            raise bad_data(f"a constant of {type}: {error}") from error
        shape = () if is_scalar else array.shape
        operand = self.operand(type, shape, scale=scale, zero_point=zero_point, scales=scales,
                               channel=channel)
        self._native.set_value(operand.index, array)
        self._note("value", operand.index, hashlib.sha256(array.data).hexdigest())
        return operand

    def omitted(self, type: str, shape: Sequence[Optional[int]] = ()) -> Operand:
        """An input of an operation that gets no value."""
        operand = self.operand(type, shape)
        self._native.omit(operand.index)
        self._note("omitted", operand.index)
        return operand

    def op(self, name: str, *inputs: Any, outputs: Optional[Sequence[Operand]] = None,
           **named: Any) -> Any:
        """Adds an operation by its name, such as "CONV_2D". Returns its output, or a tuple.

        outputs: operands of this builder. Without them, the types and shapes are those that the
            operation determines, and a quantised output has the quantisation of the first input of
            its type.
        """
        operation = operations().get(name)
        if operation is None:
            raise bad_data(f"no operation '{name}'; halyard.operations() lists all")
        values = self._ordered(operation, inputs, named)
        indexes = [self._operand(operation, i, value).index for i, value in enumerate(values)]
        if outputs is None:
            names = {code: each for each, (code, _, _) in _types().items()}
            outputs = [self.operand(names[spec.type], spec.dims, scale=spec.scale,
                                    zero_point=spec.zero_point)
                       for spec in self._native.results_of(operation.code, indexes)]
        results = [each.index for each in outputs]
        self._native.add_operation(operation.code, indexes, results)
        self._note("operation", operation.code, indexes, results)
        return outputs[0] if len(outputs) == 1 else tuple(outputs)

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("_") or name.upper() not in operations():
            raise AttributeError(f"halyard.Builder has no method and NNAPI no operation '{name}'")
        return functools.partial(self.op, name.upper())

    def finish(self, outputs: Union[Operand, Sequence[Operand], Mapping[str, Operand]], *,
               allow_fp16: bool = False) -> "BuiltModel":
        """Ends the model. Outputs have the names of the mapping, or output_0, output_1 ...

        allow_fp16: float32 may be computed with the range and precision of float16.
        """
        if isinstance(outputs, Operand):
            outputs = [outputs]
        if not isinstance(outputs, Mapping):
            outputs = {f"output_{i}": each for i, each in enumerate(outputs)}
        inputs = [operand.index for _, operand in self._inputs]
        results = [self._own(each).index for each in outputs.values()]
        self._native.finish(inputs, results, allow_fp16)
        self._note("finish", inputs, results, allow_fp16)
        return BuiltModel(self._native, [name for name, _ in self._inputs], list(outputs),
                          self._digest.digest())

    def _note(self, *parts: Any) -> None:
        self._digest.update(repr(parts).encode())

    def _own(self, operand: Operand) -> Operand:
        if not isinstance(operand, Operand):
            raise bad_data(f"{operand!r} is no operand")
        if operand.builder is not self:
            raise bad_data(f"operand #{operand.index} is of another builder")
        return operand

    def _type_of(self, value: Any) -> str:
        import numpy as np

        if isinstance(value, bool):
            return "BOOL"
        if isinstance(value, int):
            return "INT32"
        if isinstance(value, float):
            return "FLOAT32"
        if isinstance(value, (list, tuple)) and all(
                isinstance(each, int) and not isinstance(each, bool) for each in value):
            return "TENSOR_INT32"
        types = _SCALARS if isinstance(value, np.generic) else _TENSORS
        dtype = str(getattr(value, "dtype", type(value).__name__))
        if dtype not in types:
            raise bad_data(f"a constant of {dtype} needs a type; its elements may be "
                           f"{', '.join(types)}")
        return types[dtype]

    def _ordered(self, operation: Operation, inputs: Sequence[Any],
                 named: Mapping[str, Any]) -> List[Any]:
        """All inputs in the order of a form that has these names."""
        if not named:
            return list(inputs)
        for _, names in operation.forms:
            rest = names[len(inputs):len(inputs) + len(named)]
            if set(rest) == set(named):
                return [*inputs, *(named[name] for name in rest)]
        forms = "; or ".join(", ".join(names) for _, names in operation.forms)
        raise bad_data(f"{operation.name} with {len(inputs)} inputs and {', '.join(named)}: "
                       f"expected are, without gaps, {forms}")

    def _operand(self, operation: Operation, position: int, value: Any) -> Operand:
        if isinstance(value, Operand):
            return self._own(value)
        if isinstance(value, BuiltModel):
            operand = self.operand("MODEL")
            self._native.set_model(operand.index, value._builder)
            self._note("model", operand.index, value._digest)
            return operand
        expected = {types[position] for types in operation._types if position < len(types)}
        only = expected.pop() if len(expected) == 1 else ""
        if value is None:
            if not only:
                raise bad_data(f"{operation.name} input {position}: its type depends on other "
                               "inputs; use Builder.omitted")
            return self.omitted(only)
        # A number has the type that the operation takes, such as 1 for FLOAT32.
        number = isinstance(value, (int, float)) and not isinstance(value, bool)
        if number and only in ("FLOAT32", "FLOAT16", "INT32"):
            if only == "INT32" and not isinstance(value, int):
                raise bad_data(f"{operation.name} input {position}: {value}, expected an integer")
            return self.constant(value, only)
        return self.constant(value)


class BuiltModel(Model):
    """The model of a Builder."""

    def __init__(self, builder: _core.Builder, inputs: List[str], outputs: List[str],
                 digest: bytes) -> None:
        self._native = _core.graph_of(builder, inputs, outputs)
        self._builder = builder
        self._digest = digest
        super().__init__(self._native.describe(), "built model")

    def _graph(self, devices: List[str]) -> _core.Graph:
        return self._native

    def _token(self) -> bytes:
        return self._digest

    def __reduce__(self) -> Any:
        raise TypeError("a model of a Builder cannot be pickled: build it in each process")
