"""Runs a case's model from its inputs to its outputs."""
import dataclasses

from . import (chance, detection, elementwise, image, movement, quantised_recurrent, recurrent,
               reduction, spectrum, tflite, windows)
from .operand import Refused, require

OPERATIONS = {}
for _family in (chance, detection, elementwise, image, movement, quantised_recurrent, recurrent,
                reduction, spectrum, tflite, windows):
    OPERATIONS.update(_family.OPERATIONS)
CONTROL_FLOW = ("IF", "WHILE")

# An endless loop ends by the clock in an implementation, by count here.
MOST_ITERATIONS = 10_000

# May be left out by value, by position; those of the others may not (A.7).
OMITTABLE = {
    "SQUEEZE": {1}, "TRANSPOSE": {1}, "LSH_PROJECTION": {2}, "SVDF": {3},
    "LSTM": {1, 5, 9, 10, 11, 12, 16, 17, 23, 24, 25, 26},
    "UNIDIRECTIONAL_SEQUENCE_LSTM": {1, 5, 9, 10, 11, 12, 16, 17, 24, 25, 26, 27},
    "BIDIRECTIONAL_SEQUENCE_LSTM": {1, 5, 9, 10, 11, 12, 16, 17, 18, 22, 26, 27, 28, 29, 33, 34,
                                    *range(39, 48), *range(53, 61)},
    "BIDIRECTIONAL_SEQUENCE_RNN": {9, 10, 11},
    "QUANTIZED_LSTM": {1, 5, 9, 10, 11, 12, 16, 17, 20, 21, 22, 23, 24, 25},
}

# May have inputs without elements at execution (A.6).
ZERO_SIZED = {
    "ADD", "SUB", "MUL", "DIV", "AVERAGE_POOL_2D", "L2_POOL_2D", "MAX_POOL_2D", "CONCATENATION",
    "CONV_2D", "DEPTHWISE_CONV_2D", "TRANSPOSE_CONV_2D", "FULLY_CONNECTED", "DEQUANTIZE",
    "QUANTIZE", "RELU", "RELU1", "RELU6", "LOGISTIC", "TANH", "HARD_SWISH", "SOFTMAX",
    "RESIZE_BILINEAR", "RESIZE_NEAREST_NEIGHBOR", "SLICE", "TRANSPOSE", "ROI_ALIGN",
    "AXIS_ALIGNED_BBOX_TRANSFORM", "BOX_WITH_NMS_LIMIT", "ELU", "QUANTIZED_MUL", "SHAPE",
}


def combine(declared, value, what):
    """The declared shape has to agree with the real one where it says something."""
    dims = declared.dims
    if not declared.is_tensor or not dims:
        return
    require(len(dims) == value.ndim and all(d in (0, n) for d, n in zip(dims, value.shape)),
            "{} has shape {}, declared {}", what, value.shape, dims)


class Interpreter:
    def __init__(self, case):
        self.case = case

    def run(self):
        """The stored elements of the main outputs."""
        main = self.case.main
        return self.run_subgraph(main, [main.operands[i].value for i in main.inputs])

    def run_subgraph(self, subgraph, arguments):
        values = [o.value if o.lifetime.startswith("CONSTANT") or o.lifetime == "SUBGRAPH"
                  else None for o in subgraph.operands]
        for index, value in zip(subgraph.inputs, arguments):
            values[index] = value
            if value is not None:
                combine(subgraph.operands[index], value, "an input")
        for name, inputs, outputs in self.in_order(subgraph):
            ins = [self.bound(subgraph.operands[i], values[i]) for i in inputs]
            outs = [subgraph.operands[o] for o in outputs]
            results = self.run_operation(name, ins, outs)
            require(len(results) >= len(outs), "{} outputs", len(outs))
            for index, out, value in zip(outputs, outs, results):
                combine(out, value, f"an output of {name}")
                self.case.shapes[id(out)] = tuple(value.shape)
                values[index] = value
        return [values[i] for i in subgraph.outputs]

    @staticmethod
    def in_order(subgraph):
        """Operations may be listed in any order that has no cycle."""
        made = {o for _, _, outputs in subgraph.operations for o in outputs}
        known, left = set(), list(subgraph.operations)
        while left:
            ready = [p for p in left if all(i in known or i not in made for i in p[1])]
            require(ready, "the operations depend on each other in a circle")
            for operation in ready:
                left.remove(operation)
                known.update(operation[2])
                yield operation

    @staticmethod
    def bound(operand, value):
        return None if value is None else dataclasses.replace(operand, value=value)

    def run_operation(self, name, ins, outs):
        for position, operand in enumerate(ins):
            require(operand is not None or position in OMITTABLE.get(name, ()),
                    "{}: input {} has no value", name, position)
        if name == "IF":
            require(ins[0].shape == (1,), "condition of shape {}", ins[0].shape)
            branch = self.referenced(ins[1] if ins[0].flag() else ins[2])
            return self.run_subgraph(branch, [i.value for i in ins[3:]])
        if name == "WHILE":
            return self.run_loop(ins, outs)
        require(name in OPERATIONS, "operation {}", name)
        if any(i is not None and i.is_tensor and i.value.size == 0 for i in ins):
            require(name in ZERO_SIZED or any(i is not None and i.rank == 1 and i.shape == (0,)
                                              for i in ins[1:]) and ins[0].value.size,
                    "{}: an input has no elements", name)
        return OPERATIONS[name](ins, outs)

    def referenced(self, operand):
        return self.case.referenced[int(operand.value.reshape(-1)[0])]

    def run_loop(self, ins, outs):
        condition, body = self.referenced(ins[0]), self.referenced(ins[1])
        values = [i.value for i in ins[2:]]
        carried = len(body.outputs)
        for _ in range(MOST_ITERATIONS):
            (go_on,) = self.run_subgraph(condition, values)
            require(go_on.shape == (1,), "condition of shape {}", go_on.shape)
            if not go_on[0]:
                return values[:len(outs)]
            values = self.run_subgraph(body, values) + values[carried:]
        raise Refused("the loop does not end")
