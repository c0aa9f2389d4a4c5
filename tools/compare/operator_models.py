"""Models of one TensorFlow Lite operator: random tensors, and the file that holds them. The operator
may call further subgraphs.

A case of operator_cases.py draws its tensors from a Draw and names the operator. model_bytes() makes
the file, with FlatBuffers and the schema of ai-edge-litert.
"""
import flatbuffers
import numpy as np
from ai_edge_litert import schema_py_generated as schema

# Short names of element types: NumPy's type, and TensorFlow Lite's name.
TYPES = {
    "f32": (np.float32, "FLOAT32"), "f16": (np.float16, "FLOAT16"), "i32": (np.int32, "INT32"),
    "u8": (np.uint8, "UINT8"), "i64": (np.int64, "INT64"), "bool": (np.bool_, "BOOL"),
    "i16": (np.int16, "INT16"), "c64": (np.complex64, "COMPLEX64"), "i8": (np.int8, "INT8"),
    "i4": (np.int8, "INT4"), "u32": (np.uint32, "UINT32"), "u16": (np.uint16, "UINT16"),
}
QUANTISED = ("i8", "u8", "i16")
LIMITS = {"i8": (-128, 127), "u8": (0, 255), "i16": (-32768, 32767), "i4": (-7, 7)}
IDENTIFIER = b"TFL3"
SCHEMA_VERSION = 3
LAST_NARROW_CODE = 127


class Tensor:
    """A tensor of the model. `scales`: one, or one for each index of `channel_dim`; none: not quantised."""

    def __init__(self, type_, shape, value=None, scales=(), zero_points=(), channel_dim=0,
                 constant=False):
        self.type, self.shape, self.value = type_, shape, value
        self.scales, self.zero_points, self.channel_dim = list(scales), list(zero_points), channel_dim
        self.constant = constant
        self.variable = False


def made_options(options, second_options, fields):
    """((a union's number, the options), (that of the second union, the options)); None for none."""
    kind = options or second_options
    if kind is None:
        return None, None
    made = getattr(schema, kind + "T")()
    for field, value in fields.items():
        assert hasattr(made, field), f"{kind} has no {field}"
        setattr(made, field, value)
    if options:
        return (getattr(schema.BuiltinOptions, options), made), None
    return None, (getattr(schema.BuiltinOptions2, second_options), made)


class Node:
    """An operator: its inputs (-1: left out), outputs and options."""

    def __init__(self, name, operands, outputs, options, second_options):
        self.name, self.operands, self.outputs = name, operands, outputs
        self.options, self.second_options = options, second_options


class Graph:
    """A further subgraph of a case, which its operator calls."""

    def __init__(self):
        self.tensors, self.inputs, self.outputs, self.nodes = [], [], [], []

    def tensor(self, type_, shape, quantisation=None, value=None):
        """A tensor; a constant if it has a value."""
        scales, points = ([quantisation[0]], [quantisation[1]]) if quantisation else ((), ())
        if value is not None:
            value = np.asarray(value, TYPES[type_][0])
        self.tensors.append(Tensor(type_, list(shape), value, scales, points,
                                   constant=value is not None))
        return len(self.tensors) - 1

    def input(self, type_, shape, quantisation=None):
        self.inputs.append(self.tensor(type_, shape, quantisation))
        return self.inputs[-1]

    def operator(self, name, operands, output, options=None, **fields):
        """Adds an operator with one output, and returns that."""
        first, second = made_options(options, None, fields)
        self.nodes.append(Node(name, list(operands), [output], first, second))
        return output


class Draw:
    """Draws the tensors and options of one case. The same seed gives the same case."""

    def __init__(self, seed):
        self.random = np.random.RandomState(seed)
        self.tensors, self.inputs, self.outputs = [], [], []
        self.name, self.options, self.second_options = None, None, None
        self.operands = []
        self.graphs = []  # further subgraphs, from number 1 on
        self.is_rounded = False  # the layer rounds its activations of floats to steps
        self.is_tabled = False  # the interpreter computes it by a table, several quanta off

    def between(self, low, high):
        return int(self.random.randint(low, high + 1))

    def coin(self):
        return bool(self.random.randint(2))

    def pick(self, choices):
        return choices[self.random.randint(len(choices))]

    def real(self, low, high):
        return float(np.float32(self.random.uniform(low, high)))

    def shape(self, lowest=1, highest=4, largest=5):
        """A shape of a random rank; one of its dimensions may be large."""
        shape = [self.between(1, largest) for _ in range(self.between(lowest, highest))]
        if shape and self.between(0, 5) == 0:
            shape[self.between(0, len(shape) - 1)] = self.pick([7, 8, 16, 17, 33])
        return shape

    def quantisation(self, type_, scale=None):
        """(scale, zero point) for a quantised type; None for others."""
        if type_ not in QUANTISED:
            return None
        low, high = LIMITS[type_]
        if scale is None:
            scale = self.real(0.002, 0.1) if type_ != "i16" else self.real(1e-5, 5e-4)
        return float(np.float32(scale)), 0 if type_ == "i16" else self.between(low, high)

    def values(self, type_, shape, low=-4.0, high=4.0):
        if type_ == "bool":
            return self.random.randint(0, 2, shape).astype(np.bool_)
        if type_ in LIMITS:
            least, most = LIMITS[type_]
            return self.random.randint(least, most + 1, shape).astype(TYPES[type_][0])
        if type_ == "c64":
            return (self.random.uniform(low, high, shape)
                    + 1j * self.random.uniform(low, high, shape)).astype(np.complex64)
        if type_ in ("f32", "f16"):
            return self.random.uniform(low, high, shape).astype(TYPES[type_][0])
        least = max(int(np.floor(low)), 0 if type_.startswith("u") else -2**31)
        return self.random.randint(least, int(np.ceil(high)) + 1, shape).astype(TYPES[type_][0])

    def add(self, tensor):
        self.tensors.append(tensor)
        return len(self.tensors) - 1

    def tensor(self, type_, shape, low=-4.0, high=4.0, quantisation=None, constant=False, value=None):
        """An input of the model, or a constant. 8 and 16 bits are quantised at random."""
        value = self.values(type_, shape, low, high) if value is None else np.asarray(value)
        if quantisation is None:
            quantisation = self.quantisation(type_)
        scales, points = ([quantisation[0]], [quantisation[1]]) if quantisation else ((), ())
        index = self.add(Tensor(type_, list(shape), value.astype(TYPES[type_][0]), scales, points,
                                constant=constant))
        if not constant:
            self.inputs.append(index)
        return index

    def maybe_constant(self, type_, shape, **how):
        return self.tensor(type_, shape, constant=self.between(0, 3) == 0, **how)

    def ints(self, values, type_="i32", constant=True):
        values = np.asarray(values)
        return self.tensor(type_, values.shape, value=values, constant=constant)

    def output(self, type_, quantisation=None):
        if quantisation is None:
            quantisation = self.quantisation(type_)
        scales, points = ([quantisation[0]], [quantisation[1]]) if quantisation else ((), ())
        index = self.add(Tensor(type_, None, None, scales, points))
        self.outputs.append(index)
        return index

    def variable(self, type_, shape, quantisation=None):
        """A tensor that keeps its value from one run to the next, and begins with zeros."""
        scales, points = ([quantisation[0]], [quantisation[1]]) if quantisation else ((), ())
        index = self.add(Tensor(type_, list(shape), None, scales, points))
        self.tensors[index].variable = True
        return index

    def quantisation_of(self, index):
        tensor = self.tensors[index]
        return (tensor.scales[0], tensor.zero_points[0]) if tensor.scales else None

    def like(self, index):
        """An output with the type and quantisation of a tensor."""
        return self.output(self.tensors[index].type, self.quantisation_of(index))

    def operator(self, name, operands, /, options=None, second_options=None, **fields):
        """Ends the case: the operator, its inputs (-1: left out) and options by field."""
        self.name, self.operands = name, list(operands)
        self.options, self.second_options = made_options(options, second_options, fields)


def builtin_codes():
    """The codes of all operators by name."""
    return {name: code for name, code in vars(schema.BuiltinOperator).items()
            if not name.startswith("_")}


def packed(tensor):
    """The bytes of a constant; two elements of 4 bits share a byte."""
    if tensor.type != "i4":
        return tensor.value.tobytes()
    nibbles = (tensor.value.reshape(-1).astype(np.uint8) & 15).tolist()
    nibbles += [0] * (len(nibbles) % 2)
    return bytes(low | high << 4 for low, high in zip(nibbles[::2], nibbles[1::2]))


def made_tensor(model, number, tensor):
    made = schema.TensorT()
    made.name, made.buffer = f"t{number}", 0
    made.shape = [] if tensor.shape is None else [int(d) for d in tensor.shape]
    made.type = getattr(schema.TensorType, TYPES[tensor.type][1])
    made.isVariable = tensor.variable
    if tensor.scales:
        made.quantization = schema.QuantizationParametersT()
        made.quantization.scale = tensor.scales
        made.quantization.zeroPoint = tensor.zero_points
        made.quantization.quantizedDimension = tensor.channel_dim
    if tensor.constant:
        buffer = schema.BufferT()
        buffer.data = np.frombuffer(packed(tensor), np.uint8)
        made.buffer = len(model.buffers)
        model.buffers.append(buffer)
    return made


def made_node(model, node, version):
    code = schema.OperatorCodeT()
    code.builtinCode = builtin_codes()[node.name]
    code.deprecatedBuiltinCode = min(code.builtinCode, LAST_NARROW_CODE)
    code.version = version
    model.operatorCodes.append(code)
    made = schema.OperatorT()
    made.opcodeIndex = len(model.operatorCodes) - 1
    made.inputs, made.outputs = node.operands, node.outputs
    if node.options:
        made.builtinOptionsType, made.builtinOptions = node.options
    if node.second_options:
        made.builtinOptions2Type, made.builtinOptions2 = node.second_options
    return made


def add_graph(model, graph, nodes, version=1):
    made = schema.SubGraphT()
    made.tensors = [made_tensor(model, *each) for each in enumerate(graph.tensors)]
    made.inputs, made.outputs = graph.inputs, graph.outputs
    made.operators = [made_node(model, node, version) for node in nodes]
    model.subgraphs.append(made)


def model_bytes(case, version=1):
    """The .tflite file. Outputs whose shape is not known yet get none."""
    model = schema.ModelT()
    model.version, model.description = SCHEMA_VERSION, ""
    model.operatorCodes, model.subgraphs = [], []
    model.buffers = [schema.BufferT()]
    node = Node(case.name, case.operands, case.outputs, case.options, case.second_options)
    add_graph(model, case, [node], version)
    for graph in case.graphs:
        add_graph(model, graph, graph.nodes)
    builder = flatbuffers.Builder(1024)
    builder.Finish(model.Pack(builder), IDENTIFIER)
    return bytes(builder.Output())
