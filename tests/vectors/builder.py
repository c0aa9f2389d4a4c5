"""Makes cases: short descriptions of operands, and the reference's results for them.

    c = Collection("floor")
    c.add("float32", "FLOOR", [real("F32", [[1.5, -0.5]])], [out("F32")])
"""
import zlib

import numpy as np

from reference.interpreter import Interpreter
from reference.model import Case, Subgraph
from reference.operand import FLOATS, Operand, Refused
from reference.signature import CODES, required_version

# The default scale and zero point of quantised tensors.
DEFAULTS = {"U8": (0.0625, 120), "S8": (0.0625, -8), "SYM8": (0.0625, 0), "SYM16": (0.0078125, 0),
            "U16": (0.125, 0)}
FLOAT_TYPES = ("F32", "F16")
QUANT_TYPES = ("U8", "S8")
DATA_TYPES = FLOAT_TYPES + QUANT_TYPES


def generator(text):
    """Random numbers that depend on the text alone; RandomState's streams are frozen."""
    return np.random.RandomState(zlib.crc32(text.encode()))


def grid(random, *shape, low=-2.0, high=2.0, step=0.0625):
    """Random multiples of the step: exact in float16, too, and short when compressed."""
    return random.randint(round(low / step), round(high / step) + 1, shape) * step


def spaced(random, *shape, step=0.0625, start=0.0):
    """Different multiples of the step in random order: no ties."""
    count = int(np.prod(shape))
    return (start + random.permutation(count) * step).reshape(shape)


def quant(type_, params=None):
    if params is not None:
        return params
    return DEFAULTS.get(type_, (0.0, 0))


def operand(type_, lifetime, params=None, dims=(), value=None):
    scale, zero = quant(type_, params)
    made = Operand(CODES[type_], tuple(dims), float(np.float32(scale)), zero, lifetime=lifetime)
    if value is not None:
        made.value = np.asarray(value).astype(made.dtype)
        made.dims = made.value.shape
    return made


def stored(type_, elements, params=None, const=False):
    """A tensor from its elements as they are stored."""
    lifetime = {False: "SUBGRAPH_INPUT", True: "CONSTANT_COPY"}.get(const, const)
    return operand(type_, lifetime, params, value=elements)


def real(type_, values, params=None, const=False):
    """A tensor of the type from real numbers, rounded to it."""
    made = operand(type_, "SUBGRAPH_INPUT", params)
    values = np.asarray(values, np.float64)
    if type_ == "I32":
        values = np.floor(values + 0.5)
    return stored(type_, made.store(values), params, const)


def const(type_, values, params=None):
    return real(type_, values, params, const=True)


def per_channel(elements, dim, scales, const=True):
    made = stored("PC8", elements, (0.0, 0), const)
    made.channel_dim, made.channel_scales = dim, tuple(float(np.float32(s)) for s in scales)
    return made


def scalar(type_, value, as_input=False):
    return operand(type_, "SUBGRAPH_INPUT" if as_input else "CONSTANT_COPY", (0.0, 0),
                   value=np.array(value))


def i32(value):
    return scalar("i32", value)


def flag(value):
    return scalar("bool", int(value))


def fs(main, value):
    """A float scalar of the precision of the main type."""
    return scalar("f16" if main == "F16" else "f32", value)


def ints(values, as_input=False, dims=None):
    """A constant TENSOR_INT32."""
    values = np.array(values, np.int32)
    return stored("I32", values if dims is None else values.reshape(dims), const=not as_input)


def none(type_, params=None, dims=(0,)):
    """Left out by the model."""
    return operand(type_, "NO_VALUE", params, dims)


def omitted(type_, params=None, dims=(0,)):
    """Left out by the execution."""
    return operand(type_, "SUBGRAPH_INPUT", params, dims)


def out(type_, params=None, dims=()):
    return operand(type_, "SUBGRAPH_OUTPUT", params, dims)


def temp(type_, params=None, dims=()):
    return operand(type_, "TEMPORARY_VARIABLE", params, dims)


def model(index):
    return operand("model", "SUBGRAPH", value=np.array(index))


def ignored(made):
    made.ignored = True
    return made


def subgraph(operations, inputs=None, outputs=None):
    """From operations (type, inputs, outputs) that name operands by the objects themselves.

    Inputs and outputs: in the order in which operations name them, unless given.
    """
    operands, indexes = [], {}

    def index(made):
        if id(made) not in indexes:
            indexes[id(made)] = len(operands)
            operands.append(made)
        return indexes[id(made)]

    for made in inputs or []:
        index(made)
    listed = [(name, [index(i) for i in ins], [index(o) for o in outs])
              for name, ins, outs in operations]

    def with_lifetime(lifetime):
        return [i for i, o in enumerate(operands) if o.lifetime == lifetime]

    return Subgraph(operands, listed,
                    [index(i) for i in inputs] if inputs else with_lifetime("SUBGRAPH_INPUT"),
                    [index(o) for o in outputs] if outputs else with_lifetime("SUBGRAPH_OUTPUT"))


class Collection:
    """The cases of one file."""

    def __init__(self, name):
        self.name = name
        self.cases = []

    def random(self, text):
        return generator(f"{self.name}/{text}")

    def add(self, name, operation, inputs, outputs, **options):
        return self.graph(name, [(operation, inputs, outputs)], **options)

    def fails(self, name, operation, inputs, outputs, **options):
        """Outputs need their dimensions: the refusal must not come from their lack."""
        return self.graph(name, [(operation, inputs, outputs)], fails=True, **options)

    def graph(self, name, operations, referenced=(), fails=False, relaxed=False, stated=True,
              multinomial_tolerance=0):
        """`stated`: whether the file says the HAL version, which it cannot where only a runtime,
        and no driver, can run the model."""
        main = subgraph(operations)
        case = Case(f"{self.name}_{name}", main, list(referenced), None, relaxed, fails,
                    multinomial_tolerance)
        assert main.inputs and main.outputs, f"{case.name}: no inputs, or no outputs"
        assert case.name not in {c.name for c in self.cases}, case.name
        try:
            version = required_version(case)
            results = Interpreter(case).run()
        except Refused as refusal:
            assert fails, f"{case.name}: {refusal}"
            case.refusal = str(refusal)
        else:
            assert not fails, f"{case.name} runs"
            case.hal = version if stated and not relaxed else None
            self.take_results(case, results)
        self.cases.append(case)
        return case

    def refusals(self, operation, make, keep=()):
        """Adds cases that every operation refuses. `make()` returns inputs and outputs of a case
        that runs. `keep`: variants that this operation allows."""
        ins, outs = make()
        results = Interpreter(Case("", subgraph([(operation, ins, outs)]))).run()
        dims = [r.shape for r in results]

        def shaped(made):
            for o, d in zip(made, dims):
                o.dims = d
            return made

        def variant(name, change):
            if name not in keep:
                inputs, outputs = make()
                self.fails(f"refused_{name}", operation, *change(inputs, shaped(outputs)))

        variant("too_many_inputs", lambda i, o: ([*i, i32(0), i32(0), i32(0), i32(0)], o))
        if len(ins) > 1:
            variant("too_few_inputs", lambda i, o: (i[:-1], o))
        variant("input_without_value", lambda i, o: (self.without_value(i), o))
        if all(o.is_tensor for o in outs) and dims[0]:
            wrong = (*dims[0][:-1], dims[0][-1] + 1)
            variant("output_shape", lambda i, o: (i, [self.reshaped(o[0], wrong), *o[1:]]))
            variant("output_type", lambda i, o: (i, [out("U16", (1.0, 0), dims[0]), *o[1:]]))

    @staticmethod
    def without_value(ins):
        first = next(i for i, o in enumerate(ins) if o.is_tensor)
        lost = ins[first]
        gone = Operand(lost.type, lost.dims, lost.scale, lost.zero_point, lost.channel_dim,
                       lost.channel_scales, "SUBGRAPH_INPUT")
        return [*ins[:first], gone, *ins[first + 1:]]

    @staticmethod
    def reshaped(made, dims):
        made.dims = dims
        return made

    @staticmethod
    def take_results(case, results):
        for index, value in zip(case.main.outputs, results):
            made = case.main.operands[index]
            made.value = np.ascontiguousarray(value).astype(made.dtype)
            made.dims = tuple(value.shape)
            if made.type in FLOATS and not made.ignored:
                assert np.isfinite(made.value).all(), f"{case.name}: not finite"
        # A case of HAL 1.0 must not leave shapes open.
        shapes = case.shapes
        for made in case.main.operands:
            if made.lifetime == "TEMPORARY_VARIABLE" and not made.dims and id(made) in shapes:
                made.dims = shapes[id(made)]


def zero_sized(main_type, dims, params=None, rest=1):
    """Operations that make a tensor without rows, and that tensor: a slice of size 0.

    `dims`: of the result without its leading 0.
    """
    x = real(main_type, np.ones((rest, *dims)), params)
    empty = temp(main_type, params)
    size = [0, *dims]
    return [("SLICE", [x, ints([0] * len(size)), ints(size)], [empty])], empty
