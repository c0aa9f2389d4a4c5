"""Operands, the values they hold, and the passage between stored elements and real numbers."""
import dataclasses

import numpy as np

DTYPES = {
    "FLOAT32": "<f4", "INT32": "<i4", "UINT32": "<u4", "BOOL": "u1", "FLOAT16": "<f2",
    "TENSOR_FLOAT32": "<f4", "TENSOR_INT32": "<i4", "TENSOR_QUANT8_ASYMM": "u1",
    "TENSOR_QUANT16_SYMM": "<i2", "TENSOR_FLOAT16": "<f2", "TENSOR_BOOL8": "u1",
    "TENSOR_QUANT8_SYMM_PER_CHANNEL": "i1", "TENSOR_QUANT16_ASYMM": "<u2",
    "TENSOR_QUANT8_SYMM": "i1", "TENSOR_QUANT8_ASYMM_SIGNED": "i1", "SUBGRAPH": "<u4",
}
QUANTISED = {"TENSOR_QUANT8_ASYMM", "TENSOR_QUANT16_SYMM", "TENSOR_QUANT16_ASYMM",
             "TENSOR_QUANT8_SYMM", "TENSOR_QUANT8_ASYMM_SIGNED"}
FLOATS = {"TENSOR_FLOAT32", "TENSOR_FLOAT16", "FLOAT32", "FLOAT16"}


class Refused(Exception):
    """The model must not run: bad data or a failed operation."""


def require(condition, text, *values):
    if not condition:
        raise Refused(text.format(*values))


@dataclasses.dataclass(eq=False)
class Operand:
    """The type of a value; `value` holds its elements as stored, where it has one."""
    type: str
    dims: tuple = ()
    scale: float = 0.0
    zero_point: int = 0
    channel_dim: int | None = None
    channel_scales: tuple = ()
    lifetime: str = "TEMPORARY_VARIABLE"
    ignored: bool = False
    value: np.ndarray | None = None

    @property
    def dtype(self):
        return np.dtype(DTYPES[self.type])

    @property
    def is_tensor(self):
        return self.type.startswith("TENSOR_")

    @property
    def quantised(self):
        return self.type in QUANTISED

    @property
    def per_channel(self):
        return self.type == "TENSOR_QUANT8_SYMM_PER_CHANNEL"

    @property
    def shape(self):
        return self.value.shape

    @property
    def rank(self):
        return self.value.ndim

    def with_value(self, value):
        return dataclasses.replace(self, value=value, dims=tuple(value.shape))

    def scales(self):
        """Scale of each element, in a form that broadcasts over the value."""
        if not self.per_channel:
            return np.float64(self.scale)
        shape = [1] * self.rank
        shape[self.channel_dim] = -1
        return np.array(self.channel_scales, np.float64).reshape(shape)

    def real(self):
        """The elements as float64; integers and booleans as they are."""
        stored = self.value.astype(np.float64)
        if self.quantised or self.per_channel:
            return (stored - self.zero_point) * self.scales()
        return stored

    def corrected(self):
        """Quantised elements less their zero point, as int64."""
        return self.value.astype(np.int64) - self.zero_point

    def scalar(self):
        require(self.value is not None, "an operand has no value")
        require(self.value.size == 1, "a scalar has {} elements", self.value.size)
        return self.value.reshape(-1)[0].item()

    def flag(self):
        return self.scalar() != 0

    def ints(self):
        return [int(v) for v in self.value.reshape(-1)]

    def store(self, real):
        """Real numbers as elements of this operand's type: rounded once, saturated."""
        real = np.asarray(real)
        if self.quantised:
            return self.saturate(round_away(np.asarray(real, np.float64) / self.scale)
                                 + self.zero_point)
        if self.type in FLOATS:
            with np.errstate(over="ignore", under="ignore"):
                return real.astype(self.dtype)
        if self.type == "TENSOR_BOOL8":
            return real.astype(bool).astype(np.uint8)
        return real.astype(np.int64).astype(np.int32)

    def saturate(self, q):
        info = np.iinfo(self.dtype)
        return np.clip(np.nan_to_num(q, nan=info.max, posinf=info.max, neginf=info.min),
                       info.min, info.max).astype(self.dtype)


def round_away(x):
    """To the nearest integer, ties away from zero; as float64."""
    x = np.asarray(x, np.float64)
    return np.sign(x) * np.floor(np.abs(x) + 0.5)


def parameters(operand):
    return (operand.scale, operand.zero_point)


def same_parameters(*operands):
    """An operation that only moves elements needs the same scale and zero point everywhere."""
    for other in operands[1:]:
        require(parameters(operands[0]) == parameters(other),
                "scale and zero point are {}, expected {}", parameters(other),
                parameters(operands[0]))


def required_parameters(operand, unsigned=None, signed=None, u16=None):
    """Scale and zero point that the operation fixes, by the operand's type."""
    wanted = {"TENSOR_QUANT8_ASYMM": unsigned, "TENSOR_QUANT8_ASYMM_SIGNED": signed,
              "TENSOR_QUANT16_ASYMM": u16}.get(operand.type)
    require(wanted is None or parameters(operand) == wanted,
            "scale and zero point are {}, expected {}", parameters(operand), wanted)


def requantise(source, target):
    if parameters(source) == parameters(target):
        return source.value
    return target.saturate(round_away(source.real() / target.scale + target.zero_point))


def normal_axis(axis, rank, negatives=True):
    require((-rank if negatives else 0) <= axis < rank, "axis {} of rank {}", axis, rank)
    return axis + rank if axis < 0 else axis


def activate(code, real, out):
    """The fused activation on real numbers, then stored; quantised bounds as whole units."""
    require(code in (0, 1, 2, 3), "activation {}", code)
    low, high = {0: (-np.inf, np.inf), 1: (0, np.inf), 2: (-1, 1), 3: (0, 6)}[code]
    if not out.quantised:
        return out.store(np.clip(real, low, high))
    info = np.iinfo(out.dtype)
    q = round_away(np.asarray(real, np.float64) / out.scale) + out.zero_point
    return clamp_units(code, q, out, info)


def clamp_units(code, q, out, info=None):
    """A fused activation on stored elements of the output's scale and zero point."""
    require(code in (0, 1, 2, 3), "activation {}", code)
    info = info or np.iinfo(out.dtype)
    zero = out.zero_point
    low, high = info.min, info.max
    if code in (1, 3):
        low = max(low, zero)
    if code == 2:
        low = max(low, zero + int(round_away(-1 / out.scale)))
        high = min(high, zero + int(round_away(1 / out.scale)))
    if code == 3:
        high = min(high, zero + int(round_away(6 / out.scale)))
    return np.minimum(np.maximum(q, low), high).astype(out.dtype)


def to_nhwc(x, nchw):
    return np.moveaxis(x, 1, 3) if nchw else x


def from_nhwc(x, nchw):
    return np.moveaxis(x, 3, 1) if nchw else x
