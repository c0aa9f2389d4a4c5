"""Makes a detector with an input of 320 x 320 from one of 300 x 300 with the same weights.

    python ssd_320.py coco_ssd_mobilenet_v1_quant.tflite ssd_320.tflite

Only the first grid of boxes changes: it has 20 x 20 cells in place of 19 x 19.
"""
import sys

import flatbuffers
import numpy as np
from ai_edge_litert import schema_py_generated as schema

SIZE, CELLS, OLD_CELLS, BOXES = 320, 20, 19, 3


def padded(extent, stride):
    return -(-extent // stride)


def move_operator(graph, buffers, operator, options):
    """Gives the output of an operator the shape that follows from its inputs."""
    first = graph.tensors[operator.inputs[0]]
    output = graph.tensors[operator.outputs[0]]
    if isinstance(options, (schema.Conv2DOptionsT, schema.DepthwiseConv2DOptionsT)):
        assert options.padding == schema.Padding.SAME
        output.shape = [1, padded(first.shape[1], options.strideH), padded(first.shape[2], options.strideW),
                        output.shape[3]]
    elif isinstance(options, schema.ConcatenationOptionsT):
        output.shape = [*output.shape]
        output.shape[1] = sum(graph.tensors[each].shape[1] for each in operator.inputs)
    elif isinstance(options, schema.ReshapeOptionsT):
        rest = int(np.prod(output.shape)) // output.shape[1]
        output.shape = [1, int(np.prod(first.shape)) // rest, *output.shape[2:]]
        options.newShape = output.shape
        buffers[graph.tensors[operator.inputs[1]].buffer].data = np.array(output.shape, np.int32).view(np.uint8)
    elif operator.builtinOptionsType == schema.BuiltinOptions.NONE and not operator.customOptions:
        output.shape = first.shape


def move_anchors(graph, buffers, operator):
    """Rows of centre y, centre x, height and width, in shares of the picture."""
    tensor = graph.tensors[operator.inputs[2]]
    stored = {schema.TensorType.UINT8: np.uint8, schema.TensorType.FLOAT32: np.float32}[tensor.type]
    rows = np.frombuffer(bytes(buffers[tensor.buffer].data), stored).reshape(-1, 4)
    scale = tensor.quantization.scale[0] if stored is np.uint8 else 1
    zero = tensor.quantization.zeroPoint[0] if stored is np.uint8 else 0
    first = np.repeat(rows[None, :BOXES], CELLS * CELLS, axis=0)
    centres = (np.arange(CELLS) + 0.5) / CELLS / scale + zero
    y, x = np.meshgrid(centres, centres, indexing="ij")
    first[:, :, 0] = (np.rint(y) if stored is np.uint8 else y).reshape(-1, 1)
    first[:, :, 1] = (np.rint(x) if stored is np.uint8 else x).reshape(-1, 1)
    rest = rows[OLD_CELLS * OLD_CELLS * BOXES:]
    # The first cell's boxes of the old grid have the sizes of all.
    moved = np.concatenate([first.reshape(-1, 4), rest])
    tensor.shape = list(moved.shape)
    buffers[tensor.buffer].data = np.ascontiguousarray(moved).view(np.uint8).reshape(-1)


def main():
    source, target = sys.argv[1:]
    with open(source, "rb") as file:
        model = schema.ModelT.InitFromObj(schema.Model.GetRootAs(file.read(), 0))
    graph = model.subgraphs[0]
    graph.tensors[graph.inputs[0]].shape = [1, SIZE, SIZE, 3]
    for operator in graph.operators:
        if model.operatorCodes[operator.opcodeIndex].customCode:
            move_anchors(graph, model.buffers, operator)
        else:
            move_operator(graph, model.buffers, operator, operator.builtinOptions)
    builder = flatbuffers.Builder(1 << 23)
    builder.Finish(model.Pack(builder), b"TFL3")
    with open(target, "wb") as file:
        file.write(builder.Output())


if __name__ == "__main__":
    main()
