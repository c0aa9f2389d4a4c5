"""The operands of each operation, and the feature level of each form.

A row is an operation. It has the types of the main operand with the level of each, and the
operands in order. Then come the allowed numbers of operands with the level of each, the results,
and the ranks of the main operand. In the lists of operands, T is the type of the main operand, and
fs a scalar of its precision. B is a box (T, or U16 when T is quantised). * is the last operand
repeated, and A|B is one of two.
"""
from .operand import require
from .windows import is_explicit

CODES = {
    "F32": "TENSOR_FLOAT32", "F16": "TENSOR_FLOAT16", "I32": "TENSOR_INT32",
    "U8": "TENSOR_QUANT8_ASYMM", "S8": "TENSOR_QUANT8_ASYMM_SIGNED", "B8": "TENSOR_BOOL8",
    "SYM8": "TENSOR_QUANT8_SYMM", "PC8": "TENSOR_QUANT8_SYMM_PER_CHANNEL",
    "SYM16": "TENSOR_QUANT16_SYMM", "U16": "TENSOR_QUANT16_ASYMM", "f32": "FLOAT32",
    "f16": "FLOAT16", "i32": "INT32", "u32": "UINT32", "bool": "BOOL", "model": "SUBGRAPH",
}
SHORT = {long: short for short, long in CODES.items()}
TYPE_SINCE = {"F16": 3, "B8": 3, "SYM8": 3, "PC8": 3, "SYM16": 3, "U16": 3, "f16": 3, "bool": 3,
              "S8": 4, "model": 4}
HAL_VERSION = {1: "1.0", 2: "1.1", 3: "1.2", 4: "1.3", 5: "1.3", 6: "2.1", 7: "2.2"}
ANY_RANK = (1, 99)


def types(text):
    """'F32:1 F16:3' as a table."""
    return {t.split(":")[0]: int(t.split(":")[1]) for t in text.split()}


FLOAT1, FLOAT3 = "F32:1 F16:3", "F32:3 F16:3"
ALL1, ALL2 = "F32:1 F16:3 U8:1 S8:4", "F32:2 F16:3 U8:2 S8:4"
ALL3 = "F32:3 F16:3 U8:3 S8:4"
ALL3I = ALL3 + " I32:3"
ALL6, ALL7 = ("F32:{0} F16:{0} U8:{0} S8:{0} I32:{0}".format(n) for n in (6, 7))
POOL = {7: 1, 8: 3, 10: 1, 11: 3}

# name: (types of T, operands, {number of operands: since}, results, (lowest, highest rank))
TABLE = {
    "ADD": (ALL1 + " I32:4", "T T i32", {3: 1}, "T", (1, 4)),
    "MUL": (ALL1 + " I32:4", "T T i32", {3: 1}, "T", (1, 4)),
    "SUB": ("F32:2 F16:3 U8:3 S8:4 I32:4", "T T i32", {3: 2}, "T", (1, 4)),
    "DIV": ("F32:2 F16:3 I32:4", "T T i32", {3: 2}, "T", (1, 4)),
    "AVERAGE_POOL_2D": (ALL1, None, POOL, "T", (4, 4)),
    "MAX_POOL_2D": (ALL1, None, POOL, "T", (4, 4)),
    "L2_POOL_2D": (FLOAT1, None, POOL, "T", (4, 4)),
    "CONV_2D": (ALL1, None, {7: 1, 8: 3, 10: 1, 11: 3, 13: 3}, "T", (4, 4)),
    "DEPTHWISE_CONV_2D": (ALL1, None, {8: 1, 9: 3, 11: 1, 12: 3, 14: 3}, "T", (4, 4)),
    "GROUPED_CONV_2D": (ALL3, None, {9: 3, 12: 3}, "T", (4, 4)),
    "TRANSPOSE_CONV_2D": (ALL3, None, {9: 3, 11: 3}, "T", (4, 4)),
    "DEPTH_TO_SPACE": (ALL1, "T i32 bool", {2: 1, 3: 3}, "T", (4, 4)),
    "SPACE_TO_DEPTH": (ALL1, "T i32 bool", {2: 1, 3: 3}, "T", (4, 4)),
    "DEQUANTIZE": ("U8:1 S8:4 SYM8:3 PC8:3", "T", {1: 1}, "F32|F16", (1, 4)),
    "EMBEDDING_LOOKUP": ("F32:1 I32:3 U8:3 F16:4 S8:4", "I32 T", {2: 1}, "T", (2, 99)),
    "HASHTABLE_LOOKUP": ("F32:1 I32:1 U8:1", "I32 I32 T", {3: 1}, "T U8", ANY_RANK),
    "FLOOR": (FLOAT1, "T", {1: 1}, "T", (1, 4)),
    "FULLY_CONNECTED": (ALL1, "T T F32|F16|I32 i32", {4: 1}, "T", (2, 4)),
    "L2_NORMALIZATION": ("F32:1 F16:3 U8:3 S8:4", "T i32", {1: 1, 2: 3}, "T", (1, 4)),
    "LOCAL_RESPONSE_NORMALIZATION": (FLOAT1, "T i32 fs fs fs i32", {5: 1, 6: 3}, "T", (1, 4)),
    "LOGISTIC": (ALL1, "T", {1: 1}, "T", (1, 4)),
    "TANH": ("F32:1 F16:3 U8:3 S8:4", "T", {1: 1}, "T", (1, 4)),
    "RELU": (ALL1, "T", {1: 1}, "T", (1, 4)),
    "RELU1": (ALL1, "T", {1: 1}, "T", (1, 4)),
    "RELU6": (ALL1, "T", {1: 1}, "T", (1, 4)),
    "LSH_PROJECTION": (FLOAT1, "T F32|F16|I32|U8 T i32", {4: 1}, "I32", ANY_RANK),
    "LSTM": (FLOAT1, "T " * 20 + "i32 fs fs T T T T", {23: 1, 27: 3}, "T T T T", (2, 2)),
    "RESHAPE": (ALL1 + " I32:6", "T I32", {2: 1}, "T", (1, 4)),
    "RESIZE_BILINEAR": ("F32:1 F16:3 U8:3 S8:4", "T i32|fs i32|fs bool bool bool",
                        {3: 1, 4: 3, 5: 4, 6: 4}, "T", (4, 4)),
    "RESIZE_NEAREST_NEIGHBOR": (ALL3, "T i32|fs i32|fs bool bool bool", {4: 3, 5: 4, 6: 4}, "T",
                                (4, 4)),
    "RNN": (FLOAT1, "T T T T T i32", {6: 1}, "T T", (2, 2)),
    "SOFTMAX": (ALL1, "T fs i32", {2: 1, 3: 3}, "T", (1, 4)),
    "SVDF": (FLOAT1, "T T T T T i32 i32", {7: 1}, "T T", (2, 2)),
    "BATCH_TO_SPACE_ND": (ALL2, "T I32 bool", {2: 2, 3: 3}, "T", (4, 4)),
    "SPACE_TO_BATCH_ND": (ALL2, "T I32 I32 bool", {3: 2, 4: 3}, "T", (4, 4)),
    "MEAN": (ALL2, "T I32 i32", {3: 2}, "T", (1, 4)),
    "PAD": (ALL2, "T I32", {2: 2}, "T", (1, 4)),
    "PAD_V2": (ALL3, "T I32 value", {3: 3}, "T", (1, 4)),
    "SQUEEZE": (ALL2, "T I32", {2: 2}, "T", (1, 4)),
    "STRIDED_SLICE": (ALL2, "T I32 I32 I32 i32 i32 i32", {7: 2}, "T", (1, 4)),
    "TRANSPOSE": (ALL2, "T I32", {2: 2}, "T", (1, 4)),
    "ABS": (FLOAT3 + " I32:4", "T", {1: 3}, "T", ANY_RANK),
    "EXP": (FLOAT3, "T", {1: 3}, "T", ANY_RANK),
    "LOG": (FLOAT3, "T", {1: 3}, "T", ANY_RANK),
    "NEG": (FLOAT3 + " I32:3", "T", {1: 3}, "T", ANY_RANK),
    "RSQRT": (FLOAT3 + " U8:7 S8:7", "T", {1: 3}, "T", ANY_RANK),
    "SIN": (FLOAT3, "T", {1: 3}, "T", ANY_RANK),
    "SQRT": (FLOAT3, "T", {1: 3}, "T", ANY_RANK),
    "ARGMAX": (ALL3I, "T i32", {2: 3}, "I32", ANY_RANK),
    "ARGMIN": (ALL3I, "T i32", {2: 3}, "I32", ANY_RANK),
    "AXIS_ALIGNED_BBOX_TRANSFORM": (FLOAT3 + " U16:3", "T F32|F16|U8|S8 I32 T", {4: 3}, "T",
                                    (2, 2)),
    "BIDIRECTIONAL_SEQUENCE_LSTM": (FLOAT3, "T " * 48 + "i32 fs fs bool bool" + " T" * 8, {61: 3},
                                    "T *", (3, 3)),
    "BIDIRECTIONAL_SEQUENCE_RNN": (FLOAT3, "T " * 12 + "i32 bool bool", {15: 3}, "T *", (3, 3)),
    "BOX_WITH_NMS_LIMIT": (ALL3, "T B I32 fs i32 i32 fs fs fs", {9: 3}, "T B I32 I32", (2, 2)),
    "CAST": ("F32:3 F16:3 I32:3 U8:3 S8:4 B8:4 U16:4 SYM16:4 SYM8:4", "T", {1: 3},
             "F32|F16|I32|U8|S8|B8|U16|SYM16|SYM8", ANY_RANK),
    "CHANNEL_SHUFFLE": (ALL3, "T i32 i32", {3: 3}, "T", (1, 4)),
    "DETECTION_POSTPROCESSING": (FLOAT3, "T T T fs fs fs fs bool i32 i32 i32 fs fs bool", {14: 3},
                                 "T T I32 I32", (3, 3)),
    "EXPAND_DIMS": (ALL3I, "T i32", {2: 3}, "T", ANY_RANK),
    "GATHER": (ALL3I, "T i32 I32", {3: 3}, "T", ANY_RANK),
    "GENERATE_PROPOSALS": (ALL3, "T T F32|F16|SYM16 B fs fs i32 i32 fs fs bool", {11: 3},
                           "T B I32", (4, 4)),
    "HEATMAP_MAX_KEYPOINT": (ALL3, "T B bool", {3: 3}, "T B", (4, 4)),
    "INSTANCE_NORMALIZATION": (FLOAT3, "T fs fs fs bool", {5: 3}, "T", (4, 4)),
    "LOGICAL_AND": ("B8:3", "T T", {2: 3}, "T", ANY_RANK),
    "LOGICAL_OR": ("B8:3", "T T", {2: 3}, "T", ANY_RANK),
    "LOGICAL_NOT": ("B8:3", "T", {1: 3}, "T", ANY_RANK),
    "LOG_SOFTMAX": (FLOAT3, "T fs i32", {3: 3}, "T", ANY_RANK),
    "MAXIMUM": (ALL3I, "T T", {2: 3}, "T", ANY_RANK),
    "MINIMUM": (ALL3I, "T T", {2: 3}, "T", ANY_RANK),
    "POW": (FLOAT3, "T T", {2: 3}, "T", ANY_RANK),
    "PRELU": (ALL3, "T T", {2: 3}, "T", ANY_RANK),
    "QUANTIZE": (FLOAT3, "T", {1: 3}, "U8|S8", ANY_RANK),
    "QUANTIZED_16BIT_LSTM": ("U8:3", "T " * 9 + "I32 I32 I32 I32 SYM16 T", {15: 3}, "SYM16 T",
                             (2, 2)),
    "RANDOM_MULTINOMIAL": (FLOAT3, "T i32 I32", {3: 3}, "I32", (2, 2)),
    "REDUCE_ALL": ("B8:3", "T I32 bool", {3: 3}, "T", (1, 4)),
    "REDUCE_ANY": ("B8:3", "T I32 bool", {3: 3}, "T", (1, 4)),
    "REDUCE_MAX": (ALL3, "T I32 bool", {3: 3}, "T", (1, 4)),
    "REDUCE_MIN": (ALL3, "T I32 bool", {3: 3}, "T", (1, 4)),
    "REDUCE_PROD": (FLOAT3, "T I32 bool", {3: 3}, "T", (1, 4)),
    "REDUCE_SUM": (FLOAT3, "T I32 bool", {3: 3}, "T", (1, 4)),
    "ROI_ALIGN": (ALL3, "T B I32 i32 i32 fs fs i32 i32 bool", {10: 3}, "T", (4, 4)),
    "ROI_POOLING": (ALL3, "T B I32 i32 i32 fs fs bool", {8: 3}, "T", (4, 4)),
    "SELECT": (ALL3I, "B8 T T", {3: 3}, "T", ANY_RANK),
    "SLICE": (ALL3I, "T I32 I32", {3: 3}, "T", ANY_RANK),
    "SPLIT": (ALL3I, "T i32 i32", {3: 3}, "T *", ANY_RANK),
    "TILE": (ALL3I, "T I32", {2: 3}, "T", ANY_RANK),
    "TOPK_V2": (ALL3I, "T i32", {2: 3}, "T I32", ANY_RANK),
    "UNIDIRECTIONAL_SEQUENCE_LSTM": (FLOAT3, "T " * 20 + "i32 fs fs bool T T T T", {28: 3}, "T *",
                                     (3, 3)),
    "UNIDIRECTIONAL_SEQUENCE_RNN": (FLOAT3, "T T T T T i32 i32", {7: 3}, "T *", (3, 3)),
    "QUANTIZED_LSTM": ("S8:4", "T " + "SYM8 " * 8 + "SYM16 " * 3 + "I32 " * 4 + "SYM8 I32 T "
                       + "SYM16 " * 5 + "f32 " * 6 + "i32 f32", {32: 4}, "T SYM16 T", (2, 2)),
    "ELU": ("F32:4 F16:4", "T fs", {2: 4}, "T", ANY_RANK),
    "HARD_SWISH": ("F32:4 F16:4 U8:4 S8:4", "T", {1: 4}, "T", ANY_RANK),
    "FILL": ("F32:4 F16:4 I32:4", "I32 f32|f16|i32", {2: 4}, "T", ANY_RANK),
    "RANK": ("F32:4 F16:4 I32:4 U8:4 S8:4 B8:4 SYM16:4 U16:4 SYM8:4 PC8:4", "T", {1: 4}, "i32",
             ANY_RANK),
    "BATCH_MATMUL": ("F32:6 F16:6 S8:6 I32:6", "T T bool bool", {4: 6}, "T", (2, 4)),
    "PACK": (ALL6, "i32 T *", None, "T", ANY_RANK),
    "MIRROR_PAD": (ALL7, "T I32 i32", {3: 7}, "T", ANY_RANK),
    "REVERSE": (ALL7, "T I32", {2: 7}, "T", (1, 8)),
    "CONCATENATION": (ALL1, None, None, "T", (1, 4)),
    # Of the extension halyard.tflite.
    "GATHER_ND": (ALL3I + " B8:3", "T I32", {2: 3}, "T", ANY_RANK),
    "QUANTIZED_MUL": ("U8:3 S8:4", "T T i32", {3: 3}, "T", ANY_RANK),
    "RFFT2D": ("F32:3", "T I32", {2: 3}, "F32", ANY_RANK),
    "COMPLEX_ABS": ("F32:3", "T", {1: 3}, "T", ANY_RANK),
    "REAL": ("F32:3", "T", {1: 3}, "T", ANY_RANK),
    "IMAG": ("F32:3", "T", {1: 3}, "T", ANY_RANK),
    "COS": (FLOAT3, "T", {1: 3}, "T", ANY_RANK),
    "ROUND": (FLOAT3, "T", {1: 3}, "T", ANY_RANK),
    "GELU": (FLOAT3, "T bool", {2: 3}, "T", ANY_RANK),
    "ATAN2": (FLOAT3, "T T", {2: 3}, "T", ANY_RANK),
    "FLOOR_MOD": (FLOAT3 + " I32:3", "T T", {2: 3}, "T", ANY_RANK),
    "TRUNCATED_DIV": ("I32:3", "T T", {2: 3}, "T", ANY_RANK),
    "BITWISE_XOR": ("I32:3", "T T", {2: 3}, "T", ANY_RANK),
    "RIGHT_SHIFT": ("I32:3", "T T", {2: 3}, "T", ANY_RANK),
    "LEFT_SHIFT": ("I32:3", "T T", {2: 3}, "T", ANY_RANK),
    "UNIQUE": ("F32:3 I32:3", "T", {1: 3}, "T I32", ANY_RANK),
    "DILATE": (ALL3I + " B8:3", "T I32 T", {3: 3}, "T", ANY_RANK),
    "REDUCE_WINDOW": (FLOAT3 + " I32:3 B8:3", "T T I32 I32 I32 i32", {6: 3}, "T", ANY_RANK),
    "CONV_3D": (FLOAT3, "T T T I32 I32 I32 i32", {7: 3}, "T", ANY_RANK),
    "CONV_3D_TRANSPOSE": (FLOAT3, "T T T I32 I32 I32 i32 I32", {8: 3}, "T", ANY_RANK),
    "CUMSUM": (FLOAT3 + " I32:3", "T i32 bool bool", {4: 3}, "T", ANY_RANK),
    "SELECT_V2": (ALL3I + " B8:3", "B8 T T", {3: 3}, "T", ANY_RANK),
    "SCATTER_ND": (FLOAT3 + " I32:3", "I32 T I32", {3: 3}, "T", ANY_RANK),
    "WHERE": ("F32:3 I32:3 B8:3", "T", {1: 3}, "I32", ANY_RANK),
    "DEQUANTIZE_16": ("SYM16:3", "T", {1: 3}, "F32", ANY_RANK),
    "QUANTIZE_16": ("F32:3", "T", {1: 3}, "SYM16", ANY_RANK),
    "NON_MAX_SUPPRESSION": ("F32:3", "T T i32 f32 f32 f32", {6: 3}, "I32 T I32", ANY_RANK),
    "BUCKETIZE": ("F32:3 I32:3", "T F32", {2: 3}, "I32", ANY_RANK),
    "DYNAMIC_UPDATE_SLICE": (ALL3I + " B8:3", "T T I32", {3: 3}, "T", ANY_RANK),
    "REVERSE_SEQUENCE": (ALL3I + " B8:3", "T I32 i32 i32", {4: 3}, "T", ANY_RANK),
}
for _name in ("SUM", "PROD", "MAX", "MIN"):
    TABLE[f"UNSORTED_SEGMENT_{_name}"] = ("F32:3 I32:3", "T I32 i32", {3: 3}, "T", ANY_RANK)
TABLE["SHAPE"] = (TABLE["RANK"][0], "T", {1: 4}, "I32", ANY_RANK)
for _name in ("EQUAL", "NOT_EQUAL", "LESS", "LESS_EQUAL", "GREATER", "GREATER_EQUAL"):
    TABLE[_name] = (ALL3I + " B8:3", "T T", {2: 3}, "B8", ANY_RANK)
RESULT_COUNTS = {
    "UNIDIRECTIONAL_SEQUENCE_LSTM": {1: 3, 3: 4}, "UNIDIRECTIONAL_SEQUENCE_RNN": {1: 3, 2: 4},
    "BIDIRECTIONAL_SEQUENCE_LSTM": {1: 3, 2: 3, 5: 4, 6: 4},
    "BIDIRECTIONAL_SEQUENCE_RNN": {1: 3, 2: 3, 3: 4, 4: 4},
}


def window_pattern(name, ins):
    if name.endswith("POOL_2D"):
        return "T" + " i32" * (9 if is_explicit(name, ins) else 6) + " bool"
    middle = {"CONV_2D": 0, "TRANSPOSE_CONV_2D": 0}.get(name, 1)
    scalars = (6 if is_explicit(name, ins) else 3) + middle + 1
    head = "T F32|F16|U8|S8|PC8 F32|F16|I32"
    if name == "TRANSPOSE_CONV_2D" and not is_explicit(name, ins):
        head += " I32"
    return head + " i32" * scalars + " bool i32 i32"


def short(operand):
    return SHORT[operand.type]


def matches(operand, token, main):
    quantised = main in ("U8", "S8", "U16")
    names = {"T": main, "fs": "f16" if main == "F16" else "f32", "B": "U16" if quantised else main,
             "value": {"F32": "f32", "F16": "f16"}.get(main, "i32")}
    return short(operand) in [names.get(t, t) for t in token.split("|")]


def spread(pattern, count):
    tokens = pattern.split()
    if tokens[-1] == "*":
        tokens = tokens[:-1] + [tokens[-2]] * (count - len(tokens) + 1)
    return tokens


def check_operand(operand):
    if operand.quantised:
        low, high = {"TENSOR_QUANT8_ASYMM": (0, 255), "TENSOR_QUANT16_ASYMM": (0, 65535),
                     "TENSOR_QUANT8_ASYMM_SIGNED": (-128, 127)}.get(operand.type, (0, 0))
        require(operand.scale > 0 and low <= operand.zero_point <= high,
                "{} with scale {}, zero point {}", operand.type, operand.scale,
                operand.zero_point)
    else:
        require(operand.zero_point == 0 and (operand.scale == 0 or
                                             operand.type == "TENSOR_INT32" and operand.scale > 0),
                "{} with scale {}", operand.type, operand.scale)
    if operand.per_channel:
        require(operand.channel_dim is not None and operand.channel_dim < len(operand.dims)
                and len(operand.channel_scales) == operand.dims[operand.channel_dim]
                and min(operand.channel_scales) > 0, "per-channel parameters")
    else:
        require(operand.channel_dim is None, "{} with per-channel parameters", operand.type)
    return TYPE_SINCE.get(short(operand), 1)


def filter_fits(x, w, bias):
    main = short(x)
    if main in ("F32", "F16"):
        return short(w) == main and short(bias) == main
    return short(w) in (main, "PC8") and short(bias) == "I32"


def special_level(name, ins, outs):
    """The level from conditions beside types and counts. Refuses invalid relations."""
    level, main = 1, short(ins[0])
    if name in ("CONV_2D", "DEPTHWISE_CONV_2D", "GROUPED_CONV_2D", "TRANSPOSE_CONV_2D",
                "FULLY_CONNECTED"):
        require(filter_fits(*ins[:3]), "{}: types of filter and bias", name)
        if main == "U8" and short(ins[1]) == "U8" and outs[0].scale <= ins[0].scale * ins[1].scale:
            level = 3
        if name != "FULLY_CONNECTED":
            require(len(ins[1].dims) in (0, 4), "{}: rank of the filter", name)
    if name == "CONCATENATION" and main == "U8":
        if any((i.scale, i.zero_point) != (outs[0].scale, outs[0].zero_point) for i in ins[:-1]):
            level = 3
    rank = len(ins[0].dims)
    if name in ("L2_NORMALIZATION", "LOCAL_RESPONSE_NORMALIZATION") and rank not in (0, 4):
        level = 3
    if name == "SOFTMAX" and rank not in (0, 2, 4):
        level = 3
    if name in ("PAD", "SPACE_TO_BATCH_ND") and main == "U8" and ins[0].zero_point != 0:
        level = 3
    if name == "RESIZE_BILINEAR" and short(ins[1]) != "i32":
        level = 3
    if name == "LSH_PROJECTION" and ins[3].value is not None and ins[3].scalar() == 3:
        level = 3
    linked = {"BIDIRECTIONAL_SEQUENCE_LSTM": (39, range(40, 48)),
              "BIDIRECTIONAL_SEQUENCE_RNN": (9, (10, 11))}.get(name)
    if linked and given(ins[linked[0]]) and not any(given(ins[i]) for i in linked[1]):
        level = 4
    if name == "CAST" and main != short(outs[0]):
        require({main, short(outs[0])} <= {"F32", "F16", "I32", "U8"}, "cast of {} to {}", main,
                short(outs[0]))
    return level


def given(operand):
    """Whether a value is there, as far as the model says: inputs may be left out later."""
    return operand.lifetime != "NO_VALUE"


def operation_level(name, ins, outs):
    """The feature level that brought this form of the operation."""
    require(name in TABLE, "operation {}", name)
    main_types, pattern, counts, results, ranks = TABLE[name]
    main_types = types(main_types)
    level = 1
    if counts:
        require(len(ins) in counts, "{} has {} inputs", name, len(ins))
        level = counts[len(ins)]
    if name == "CONCATENATION":
        require(len(ins) >= 2, "{} has {} inputs", name, len(ins))
        pattern = "T " * (len(ins) - 1) + "i32"
    pattern = pattern or window_pattern(name, ins)
    tokens = spread(pattern, len(ins))
    require(name != "PACK" or len(ins) >= 2, "{} has {} inputs", name, len(ins))
    result_tokens = spread(results, len(outs))
    if name in RESULT_COUNTS:
        require(len(outs) in RESULT_COUNTS[name], "{} has {} outputs", name, len(outs))
        level = max(level, RESULT_COUNTS[name][len(outs)])
    require(len(outs) == len(result_tokens), "{} has {} outputs", name, len(outs))
    main = ins[tokens.index("T")] if "T" in tokens else outs[0]
    require(short(main) in main_types, "{} of {}", name, main.type)
    level = max(level, main_types[short(main)])
    for operand, token in [*zip(ins, tokens), *zip(outs, result_tokens)]:
        require(matches(operand, token, short(main)), "{}: {} where {} belongs", name,
                operand.type, token)
        level = max(level, check_operand(operand))
    if name != "FILL":
        inputs = [main] if name != "CONCATENATION" else ins[:-1]
        require(all(not i.dims or ranks[0] <= len(i.dims) <= ranks[1] for i in inputs),
                "{} of rank {}", name, len(main.dims))
    if name == "FILL":
        require(short(ins[1]) == {"F32": "f32", "F16": "f16", "I32": "i32"}[short(main)],
                "{}: value of type {}", name, ins[1].type)
    return max(level, special_level(name, ins, outs))


def agree(a, b, what):
    """The operand inside a referenced model against the one outside."""
    require(a.type == b.type and a.scale == b.scale and a.zero_point == b.zero_point
            and (a.channel_dim, a.channel_scales) == (b.channel_dim, b.channel_scales),
            "{}: {} against {}", what, a.type, b.type)
    require(not a.dims or not b.dims or len(a.dims) == len(b.dims)
            and all(m == n or 0 in (m, n) for m, n in zip(a.dims, b.dims)),
            "{}: {} against {}", what, a.dims, b.dims)


def control_flow_level(case, name, ins, outs):
    def model_of(operand):
        require(short(operand) == "model", "{}: {} where a model belongs", name, operand.type)
        subgraph = case.referenced[int(operand.value.reshape(-1)[0])]
        return ([subgraph.operands[i] for i in subgraph.inputs],
                [subgraph.operands[o] for o in subgraph.outputs])

    require(len(ins) >= 3 and len(outs) >= 1, "{} has {} inputs, {} outputs", name, len(ins),
            len(outs))
    if name == "IF":
        require(short(ins[0]) == "B8" and ins[0].dims in ((), (1,)), "condition")
        for inner, results in (model_of(ins[1]), model_of(ins[2])):
            require(len(inner) == len(ins) - 3 and len(results) == len(outs), "branch")
            for a, b in [*zip(inner, ins[3:]), *zip(results, outs)]:
                agree(a, b, name)
        return 4
    (condition_in, condition_out), (body_in, body_out) = model_of(ins[0]), model_of(ins[1])
    require(len(condition_in) == len(body_in) == len(ins) - 2, "{}: inputs of its models", name)
    require(len(condition_out) == 1 and short(condition_out[0]) == "B8"
            and condition_out[0].dims in ((), (1,)), "condition")
    require(len(outs) <= len(body_out) <= len(body_in), "{}: outputs of the body", name)
    for a, b in [*zip(condition_in, ins[2:]), *zip(body_in, ins[2:]), *zip(body_out, body_in),
                 *zip(outs, body_out)]:
        agree(a, b, name)
    return 4


def required_level(case):
    level = 1
    for subgraph in [case.main, *case.referenced]:
        for operand in subgraph.operands:
            level = max(level, check_operand(operand))
        for name, inputs, outputs in subgraph.operations:
            ins = [subgraph.operands[i] for i in inputs]
            outs = [subgraph.operands[o] for o in outputs]
            if name in ("IF", "WHILE"):
                level = max(level, control_flow_level(case, name, ins, outs))
            else:
                level = max(level, operation_level(name, ins, outs))
    return level


def required_version(case):
    """The lowest HAL version that has everything in the model."""
    return HAL_VERSION[required_level(case)]
