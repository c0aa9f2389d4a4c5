"""Random cases of the operators that call other subgraphs."""
from flatbuffers import flexbuffers
import numpy as np

from operator_cases import ACTIVATIONS, case
from operator_models import QUANTISED, Graph

PASSED = ("f32", "f32", "f32", "i32", "i64", "i8", "u8", "i16", "bool")
BINARY = {"ADD": "AddOptions", "SUB": "SubOptions", "MUL": "MulOptions"}


def values_of(d, least=1, only=None):
    """The values that the operator passes: (tensor, type, shape, quantisation) of each."""
    values = []
    shape = d.shape(1, 4)
    for _ in range(d.between(least, 4)):
        type_ = only or d.pick(PASSED)
        index = d.maybe_constant(type_, shape)
        values.append((index, type_, shape, d.quantisation_of(index)))
    return values


def graph_of(values):
    """A subgraph with these values as inputs."""
    graph = Graph()
    for _, type_, shape, quantisation in values:
        graph.input(type_, shape, quantisation)
    return graph


def chain(d, graph, start, most=3):
    """Appends up to `most` operators to a value, and returns the last result."""
    last = start
    tensor = graph.tensors[start]
    type_, shape = tensor.type, tensor.shape
    quantisation = (tensor.scales[0], tensor.zero_points[0]) if tensor.scales else None
    if type_ in QUANTISED:
        most = min(most, 1)
    for _ in range(d.between(0, most)):
        result = graph.tensor(type_, shape, quantisation)
        others = [i for i in graph.inputs if graph.tensors[i].type == type_]
        other = graph.tensor(type_, shape, quantisation, d.values(type_, shape)) if d.coin() else (
            d.pick(others))
        if type_ == "bool":
            graph.operator(d.pick(("LOGICAL_AND", "LOGICAL_OR")), [last, other], result)
        elif type_ == "i64" or type_ in QUANTISED:
            graph.operator("RESHAPE", [last, graph.tensor("i32", [len(shape)], None, shape)],
                           result, "ReshapeOptions", newShape=shape)
        elif type_ == "f32" and d.coin():
            graph.operator(d.pick(("ABS", "NEG", "TANH")), [last], result)
        else:
            name = d.pick(tuple(BINARY))
            graph.operator(name, [last, other], result, BINARY[name],
                           fusedActivationFunction=d.pick(ACTIVATIONS) if type_ == "f32" else 0)
        last = result
    return last


@case("IF")
def branch(d, name):
    condition = d.tensor("bool", d.pick(([], [1])), constant=d.between(0, 5) == 0)
    values = values_of(d)
    graphs = [graph_of(values), graph_of(values)]
    for _ in range(d.between(1, 3)):
        chosen = d.between(0, len(values) - 1)
        for graph in graphs:
            graph.outputs.append(chain(d, graph, graph.inputs[chosen]))
        d.output(values[chosen][1], values[chosen][3])
    d.graphs = graphs
    d.operator(name, [condition] + [value[0] for value in values], "IfOptions",
               thenSubgraphIndex=1, elseSubgraphIndex=2)


@case("STABLEHLO_CASE")
def choice(d, name):
    count = d.between(2, 5)
    shape = d.pick(([], [1]))
    number = d.between(-1, count)
    index = d.ints([number] if shape else number, constant=d.between(0, 5) == 0)
    values = values_of(d, only=d.pick(PASSED))
    graphs = [graph_of(values) for _ in range(count)]
    for _ in range(d.between(1, 3)):
        chosen = d.between(0, len(values) - 1)
        for graph in graphs:
            graph.outputs.append(chain(d, graph, graph.inputs[chosen]))
        d.output(values[chosen][1], values[chosen][3])
    d.graphs = graphs
    d.operator(name, [index] + [value[0] for value in values],
               second_options="StablehloCaseOptions",
               branchSubgraphIndices=list(range(1, count + 1)))


@case("STABLEHLO_SHIFT_LEFT")
def shift_left(d, name):
    shape = d.shape()
    x = d.tensor("i32", shape, -1000, 1000)
    bits = d.maybe_constant("i32", shape, low=0, high=31)
    d.output("i32")
    d.operator(name, [x, bits], second_options="StablehloShiftLeftOptions")


@case("WHILE")
def loop(d, name):
    shape = d.pick(([], [1]))
    counter = d.ints([0] if shape else 0, constant=d.coin())
    values = [(counter, "i32", shape, None)] + values_of(d, least=0)
    condition, body = graph_of(values), graph_of(values)
    turns = condition.tensor("i32", shape, None, [d.between(0, 5)] if shape else d.between(0, 5))
    condition.outputs = [condition.operator("LESS", [0, turns], condition.tensor("bool", shape))]
    one = body.tensor("i32", shape, None, [1] if shape else 1)
    body.outputs = [body.operator("ADD", [0, one], body.tensor("i32", shape), "AddOptions")]
    for i in body.inputs[1:]:
        body.outputs.append(i if d.coin() else chain(d, body, i, 2))
    for _, type_, _, quantisation in values:
        d.output(type_, quantisation)
    d.graphs = [condition, body]
    d.operator(name, [value[0] for value in values], "WhileOptions", condSubgraphIndex=1,
               bodySubgraphIndex=2)


@case("STABLEHLO_COMPOSITE")
def composite(d, name):
    values = values_of(d)
    graph = graph_of(values)
    for _ in range(d.between(1, 3)):
        chosen = d.between(0, len(values) - 1)
        graph.outputs.append(chain(d, graph, graph.inputs[chosen]))
        d.output(values[chosen][1], values[chosen][3])
    d.graphs = [graph]
    d.operator(name, [value[0] for value in values],
               second_options="StableHLOCompositeOptions", name="odml.some",
               decompositionSubgraphIndex=1,
               compositeAttributes=np.frombuffer(flexbuffers.Dumps({}), np.uint8))


@case("STABLEHLO_REDUCE_WINDOW")
def reduce_window(d, name):
    shape = d.shape(1, 3)
    window = [d.between(1, max(1, size - 2)) for size in shape]
    functions = ("STABLEHLO_ADD", "STABLEHLO_MULTIPLY", "STABLEHLO_MINIMUM", "STABLEHLO_MAXIMUM")
    x = d.tensor("f32", shape)
    init = d.tensor("f32", [], constant=True)
    body = Graph()
    values = [body.input("f32", [], None), body.input("f32", [], None)]
    body.outputs = [body.operator(d.pick(functions), values, body.tensor("f32", []))]
    d.graphs = [body]
    d.output("f32")
    d.operator(name, [x, init], second_options="StablehloReduceWindowOptions",
               windowDimensions=window, windowStrides=[d.between(1, 2) for _ in shape],
               baseDilations=[d.between(1, 2) for _ in shape],
               windowDilations=[1 for _ in shape],
               padding=[d.between(-1, 2) if size > 2 else 0 for size in shape for _ in range(2)],
               bodySubgraphIndex=1)
