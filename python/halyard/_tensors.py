"""Inputs and outputs of a model: their types, and the conversion of values."""
from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, Optional, Tuple

from ._errors import BadDataError, Status

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def bad_data(text: str) -> BadDataError:
    return BadDataError(Status.BAD_DATA, text)


@dataclasses.dataclass(frozen=True)
class Tensor:
    """One input or output of a model.

    ``shape`` has None for a dimension that the model leaves open; it is None if even the rank is
    open. ``dtype`` is the NumPy type of its arrays. A quantised value q stands for the real number
    ``(q - zero_point) * scale``.
    """

    name: str
    type: str
    dtype: str
    shape: Optional[Tuple[Optional[int], ...]]
    scale: float
    zero_point: int
    #: The type of the elements within Halyard, if it is not ``dtype``: int32 for int64, and pairs of
    #: float32 for complex64.
    _stored: str = dataclasses.field(default="", repr=False)

    @property
    def is_exact(self) -> bool:
        """Whether the model fixes every dimension."""
        return self.shape is not None and None not in self.shape

    @property
    def quantised(self) -> bool:
        return self.scale != 0

    def __str__(self) -> str:
        extents = "[...]" if self.shape is None else str(
            [extent if extent is not None else "?" for extent in self.shape]).replace("'", "")
        quantisation = f", scale {self.scale:g}, zero point {self.zero_point}" if self.scale else ""
        return f'"{self.name}" {self.dtype}{extents}{quantisation}'

    def quantise(self, real: Any) -> "NDArray[Any]":
        """The quantised array for an array of real numbers."""
        import numpy as np

        if not self.quantised:
            raise bad_data(f"{self} is not quantised")
        limits = np.iinfo(self.dtype)
        steps = np.round(np.asarray(real, np.float64) / self.scale) + self.zero_point
        return np.clip(steps, limits.min, limits.max).astype(self.dtype)

    def dequantise(self, values: Any) -> "NDArray[np.float32]":
        """The real numbers of a quantised array."""
        import numpy as np

        if not self.quantised:
            raise bad_data(f"{self} is not quantised")
        return ((np.asarray(values, np.int32) - self.zero_point) * np.float32(self.scale)).astype(
            np.float32)

    def _from_bytes(self, value: bytes) -> "NDArray[Any]":
        """A read-only array of these bytes."""
        import numpy as np

        assert self.is_exact and self.shape is not None
        return np.frombuffer(value, self.dtype).reshape(self.shape)  # type: ignore[arg-type]

    def _prepared(self, value: Any) -> "NDArray[Any]":
        """The value as a contiguous array of the stored type; the value itself where possible."""
        import numpy as np

        array = self._as_array(value)
        if self.shape is not None and not self._fits(array.shape):
            raise bad_data(f"input {self}: the array has the shape {list(array.shape)}")
        if not self._stored:
            return np.ascontiguousarray(array) if array.ndim else array
        if self._stored == "f4":  # complex numbers as pairs
            return np.ascontiguousarray(array).view(np.float32)
        narrow = array.astype(self._stored, order="C")
        if not np.array_equal(narrow, array):
            worst = array[narrow != array].flat[0]
            raise bad_data(f"input {self}: {worst} needs more than the 32 bits of NNAPI's integers")
        return narrow

    def _as_array(self, value: Any) -> "NDArray[Any]":
        import numpy as np

        if isinstance(value, np.ndarray):
            array = value
        elif hasattr(value, "__dlpack__"):
            try:
                array = np.from_dlpack(value)
            except (BufferError, RuntimeError, TypeError) as error:
                raise bad_data(f"input {self}: its DLPack memory cannot be used: {error}") from error
        elif isinstance(value, (bytes, bytearray)):
            raise bad_data(f"input {self}: bytes have no shape; use numpy.frombuffer")
        elif isinstance(value, memoryview) or hasattr(value, "__buffer__") or isinstance(
                value, np.generic):
            array = np.asarray(value)
        else:  # numbers and lists have no type of their own
            try:
                array = np.asarray(value, self.dtype)
            except (OverflowError, TypeError, ValueError) as error:
                raise bad_data(f"input {self}: {error}") from error
        accepted = (self.dtype, self._stored) if self._stored == "i4" else (self.dtype,)
        if array.dtype not in [np.dtype(each) for each in accepted]:
            raise bad_data(f"input {self}: the array has elements of type {array.dtype}, expected "
                           f"{' or '.join(np.dtype(each).name for each in accepted if each)}")
        return array

    def _fits(self, shape: Tuple[int, ...]) -> bool:
        assert self.shape is not None
        return len(shape) == len(self.shape) and all(
            wanted is None or wanted == found for wanted, found in zip(self.shape, shape))

    def _stored_shape(self, shape: Tuple[int, ...]) -> Tuple[int, ...]:
        return (*shape[:-1], shape[-1] * 2) if self._stored == "f4" else shape

    def _result(self, stored: "NDArray[Any]") -> "NDArray[Any]":
        """An array of ``dtype`` from an array of the stored type."""
        import numpy as np

        if not self._stored:
            return stored
        return stored.view(np.complex64) if self._stored == "f4" else stored.astype(self.dtype)


def tensor_from(port: Tuple[str, str, str, str, Optional[Tuple[int, ...]], float, int]) -> Tensor:
    """A Tensor from a tuple of the native module."""
    name, kind, dtype, file_dtype, dims, scale, zero_point = port
    shape = None if dims is None else tuple(extent or None for extent in dims)
    if file_dtype == "c8" and shape:
        shape = (*shape[:-1], shape[-1] // 2 if shape[-1] else None)
    return Tensor(name, kind, file_dtype or dtype, shape, scale, zero_point,
                  dtype if file_dtype else "")
