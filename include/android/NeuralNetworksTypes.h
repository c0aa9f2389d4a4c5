// SPDX-License-Identifier: Apache-2.0
//
// The types, enumerations and structures of the Neural Networks API (NNAPI), as a C99 header.
// Thread safety: plain data; NeuralNetworks.h has the rules for objects. Ownership: nothing that a
// structure declared here points to has to outlive the call it is passed to.
//
// Every value in this file is part of the binary interface and never changes.

#ifndef HALYARD_ANDROID_NEURAL_NETWORKS_TYPES_H_
#define HALYARD_ANDROID_NEURAL_NETWORKS_TYPES_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * The results of API functions. A function may return any of these; everything but
 * ANEURALNETWORKS_NO_ERROR is a failure. halyard_lastErrorText() (include/halyard/halyard.h) tells
 * the reason in words.
 */
typedef enum {
  /** The call succeeded. */
  ANEURALNETWORKS_NO_ERROR = 0,
  /** Memory for the call could not be allocated. */
  ANEURALNETWORKS_OUT_OF_MEMORY = 1,
  /** Historical; this runtime does not return it. */
  ANEURALNETWORKS_INCOMPLETE = 2,
  /** A pointer that must not be NULL was NULL. */
  ANEURALNETWORKS_UNEXPECTED_NULL = 3,
  /** An argument, the model or the arguments of an execution are not valid. */
  ANEURALNETWORKS_BAD_DATA = 4,
  /** The work was accepted and then failed, in the runtime or in a driver. */
  ANEURALNETWORKS_OP_FAILED = 5,
  /** The object is not in a state that allows the call, e.g. a finished model is modified. */
  ANEURALNETWORKS_BAD_STATE = 6,
  /** A file descriptor or hardware buffer could not be mapped into memory. */
  ANEURALNETWORKS_UNMAPPABLE = 7,
  /** The buffer given for an output is too small for the result; its shape can be queried. */
  ANEURALNETWORKS_OUTPUT_INSUFFICIENT_SIZE = 8,
  /** The device cannot be used at the moment. */
  ANEURALNETWORKS_UNAVAILABLE_DEVICE = 9,
  /** The deadline passed; trying again may succeed. Since feature level 4. */
  ANEURALNETWORKS_MISSED_DEADLINE_TRANSIENT = 10,
  /** The deadline cannot be met; trying again with the same one is futile. Since level 4. */
  ANEURALNETWORKS_MISSED_DEADLINE_PERSISTENT = 11,
  /** The driver is short of a resource for now; trying again may succeed. Since level 4. */
  ANEURALNETWORKS_RESOURCE_EXHAUSTED_TRANSIENT = 12,
  /** The task needs more of a resource than the driver has. Since feature level 4. */
  ANEURALNETWORKS_RESOURCE_EXHAUSTED_PERSISTENT = 13,
  /** The driver's process died; see ANeuralNetworksDevice_wait. Since feature level 4. */
  ANEURALNETWORKS_DEAD_OBJECT = 14,
} ResultCode;

/**
 * The types of operands, i.e. of the values a model works on. A scalar has no dimensions, a tensor
 * has at least one (a rank of 0 in ANeuralNetworksOperandType means "rank not known yet").
 *
 * In a quantized type the stored integer q stands for the real number (q - zeroPoint) * scale. For
 * every type not said to be quantized, scale and zeroPoint must both be 0.
 *
 * Values from 0x10000 upwards are types of vendor extensions: see NeuralNetworksExtensions.h.
 */
typedef enum {
  /** Scalar, IEEE 754 binary32. */
  ANEURALNETWORKS_FLOAT32 = 0,
  /** Scalar, signed 32-bit integer. */
  ANEURALNETWORKS_INT32 = 1,
  /** Scalar, unsigned 32-bit integer. */
  ANEURALNETWORKS_UINT32 = 2,
  /** Tensor of IEEE 754 binary32. */
  ANEURALNETWORKS_TENSOR_FLOAT32 = 3,
  /** Tensor of signed 32-bit integers; as the bias of a quantized operation it has a scale. */
  ANEURALNETWORKS_TENSOR_INT32 = 4,
  /** Quantized tensor of uint8_t; scale > 0, zeroPoint in [0, 255]. */
  ANEURALNETWORKS_TENSOR_QUANT8_ASYMM = 5,
  /** Scalar of one byte: zero is false, any other value is true. Since feature level 3. */
  ANEURALNETWORKS_BOOL = 6,
  /** Quantized tensor of int16_t; scale > 0, zeroPoint 0. Since feature level 3. */
  ANEURALNETWORKS_TENSOR_QUANT16_SYMM = 7,
  /** Tensor of IEEE 754 binary16. Since feature level 3. */
  ANEURALNETWORKS_TENSOR_FLOAT16 = 8,
  /** Tensor of bytes: zero is false, any other value is true. Since feature level 3. */
  ANEURALNETWORKS_TENSOR_BOOL8 = 9,
  /** Scalar, IEEE 754 binary16. Since feature level 3. */
  ANEURALNETWORKS_FLOAT16 = 10,
  /**
   * Quantized tensor of int8_t with a scale for each index of one dimension: a value is
   * q * scales[index]. The scales come from
   * ANeuralNetworksModel_setOperandSymmPerChannelQuantParams; the scale and the zeroPoint of the
   * operand itself are 0. Since feature level 3.
   */
  ANEURALNETWORKS_TENSOR_QUANT8_SYMM_PER_CHANNEL = 11,
  /** Quantized tensor of uint16_t; scale > 0, zeroPoint in [0, 65535]. Since feature level 3. */
  ANEURALNETWORKS_TENSOR_QUANT16_ASYMM = 12,
  /** Quantized tensor of int8_t; scale > 0, zeroPoint 0. Since feature level 3. */
  ANEURALNETWORKS_TENSOR_QUANT8_SYMM = 13,
  /** Quantized tensor of int8_t; scale > 0, zeroPoint in [-128, 127]. Since feature level 4. */
  ANEURALNETWORKS_TENSOR_QUANT8_ASYMM_SIGNED = 14,
  /** A reference to another model, for ANEURALNETWORKS_IF and _WHILE. Since feature level 4. */
  ANEURALNETWORKS_MODEL = 15,
} OperandCode;

/**
 * The operations. Each comment names the inputs in their order ("[x]": x may be left out) and the
 * feature level that brought the operation in. The operand types, shapes and limits of each are in
 * its signature in Halyard's source, src/ops. A call that does not fit is refused with a text that
 * names the expected values (halyard/halyard.h).
 *
 * Image tensors are laid out [batch, height, width, channels] (NHWC). The input "nchw" is a BOOL
 * which, when true, says that they are [batch, channels, height, width] instead. "Pads" stands for
 * the four inputs left, right, top, bottom, and "scheme" for one input holding a PaddingCode. With
 * "pads|scheme", either form is accepted, and the number and types of the inputs distinguish them.
 * "Activation" is a FuseCode.
 */
typedef enum {
  /** Level 1. Element-wise sum, broadcasting. Inputs: a, b, activation. */
  ANEURALNETWORKS_ADD = 0,
  /**
   * Level 1. Mean of each window of an image. Inputs: image, pads|scheme, stride width and height,
   * filter width and height, activation, [nchw].
   */
  ANEURALNETWORKS_AVERAGE_POOL_2D = 1,
  /** Level 1. Joins tensors along one axis. Inputs: one or more tensors, then the axis. */
  ANEURALNETWORKS_CONCATENATION = 2,
  /**
   * Level 1. 2-D convolution. Inputs: image, filter [out, height, width, in], bias [out],
   * pads|scheme, stride width and height, activation, [nchw], [dilation width and height].
   */
  ANEURALNETWORKS_CONV_2D = 3,
  /**
   * Level 1. Convolves each channel with filters of its own. Inputs: image, filter
   * [1, height, width, out], bias [out], pads|scheme, stride width and height, depth multiplier,
   * activation, [nchw], [dilation width and height].
   */
  ANEURALNETWORKS_DEPTHWISE_CONV_2D = 4,
  /** Level 1. Spreads channels out into blocks of pixels. Inputs: image, block size, [nchw]. */
  ANEURALNETWORKS_DEPTH_TO_SPACE = 5,
  /** Level 1. Turns a quantized tensor into floating point. Inputs: tensor. */
  ANEURALNETWORKS_DEQUANTIZE = 6,
  /** Level 1. Picks rows of a table by index. Inputs: indices, table. */
  ANEURALNETWORKS_EMBEDDING_LOOKUP = 7,
  /** Level 1. Rounds every element down. Inputs: tensor. */
  ANEURALNETWORKS_FLOOR = 8,
  /**
   * Level 1. Dense layer; the input is flattened to [batch, in]. Inputs: tensor, weights
   * [out, in], bias [out], activation.
   */
  ANEURALNETWORKS_FULLY_CONNECTED = 9,
  /**
   * Level 1. Picks rows of a table by key; a second output says which keys were found. Inputs:
   * keys to look up, the table's keys in ascending order, the table's rows.
   */
  ANEURALNETWORKS_HASHTABLE_LOOKUP = 10,
  /** Level 1. Scales vectors along an axis to Euclidean length 1. Inputs: tensor, [axis]. */
  ANEURALNETWORKS_L2_NORMALIZATION = 11,
  /** Level 1. Root mean square of each window of an image. Inputs: as AVERAGE_POOL_2D. */
  ANEURALNETWORKS_L2_POOL_2D = 12,
  /**
   * Level 1. Divides each element by a power of the energy of its neighbors along an axis. Inputs:
   * tensor, radius, bias, alpha, beta, [axis].
   */
  ANEURALNETWORKS_LOCAL_RESPONSE_NORMALIZATION = 13,
  /** Level 1. 1 / (1 + exp(-x)). Inputs: tensor. */
  ANEURALNETWORKS_LOGISTIC = 14,
  /**
   * Level 1. Locality-sensitive hash of the input into bits. Inputs: hash functions, tensor,
   * weights (may be omitted), projection type.
   */
  ANEURALNETWORKS_LSH_PROJECTION = 15,
  /**
   * Level 1. One time step of an LSTM, with optional coupled gates, peepholes, projection and layer
   * normalization. Inputs: 23, or 27 with layer normalization; outputs: scratch, hidden state, cell
   * state, output.
   */
  ANEURALNETWORKS_LSTM = 16,
  /** Level 1. Largest element of each window of an image. Inputs: as AVERAGE_POOL_2D. */
  ANEURALNETWORKS_MAX_POOL_2D = 17,
  /** Level 1. Element-wise product, broadcasting. Inputs: a, b, activation. */
  ANEURALNETWORKS_MUL = 18,
  /** Level 1. max(0, x). Inputs: tensor. */
  ANEURALNETWORKS_RELU = 19,
  /** Level 1. x limited to [-1, 1]. Inputs: tensor. */
  ANEURALNETWORKS_RELU1 = 20,
  /** Level 1. x limited to [0, 6]. Inputs: tensor. */
  ANEURALNETWORKS_RELU6 = 21,
  /**
   * Level 1. Gives the same elements another shape. Inputs: tensor, shape; one entry of the shape
   * may be -1 and is then worked out.
   */
  ANEURALNETWORKS_RESHAPE = 22,
  /**
   * Level 1. Scales images with bilinear interpolation. Inputs: image, output width and height (or
   * width and height factors), [nchw], [align corners], [half pixel centers].
   */
  ANEURALNETWORKS_RESIZE_BILINEAR = 23,
  /**
   * Level 1. One time step of a basic recurrent layer. Inputs: tensor, weights, recurrent weights,
   * bias, hidden state, activation; outputs: hidden state, output.
   */
  ANEURALNETWORKS_RNN = 24,
  /** Level 1. exp(beta * x), normalized to a sum of 1 along an axis. Inputs: tensor, beta, [axis].
   */
  ANEURALNETWORKS_SOFTMAX = 25,
  /** Level 1. Gathers blocks of pixels into channels. Inputs: image, block size, [nchw]. */
  ANEURALNETWORKS_SPACE_TO_DEPTH = 26,
  /**
   * Level 1. One time step of a dense layer factored by singular value decomposition, with a
   * memory. Inputs: tensor, feature weights, time weights, bias (may be omitted), state, rank,
   * activation; outputs: state, output.
   */
  ANEURALNETWORKS_SVDF = 27,
  /** Level 1. Hyperbolic tangent. Inputs: tensor. */
  ANEURALNETWORKS_TANH = 28,

  /** Level 2. Spreads the batch out into blocks of pixels. Inputs: image, block sizes, [nchw]. */
  ANEURALNETWORKS_BATCH_TO_SPACE_ND = 29,
  /**
   * Level 2. Element-wise quotient, broadcasting; integers round down. Inputs: a, b, activation.
   */
  ANEURALNETWORKS_DIV = 30,
  /** Level 2. Mean over some axes. Inputs: tensor, axes, keep dims (INT32). */
  ANEURALNETWORKS_MEAN = 31,
  /** Level 2. Surrounds a tensor with zeros. Inputs: tensor, paddings [rank, 2]. */
  ANEURALNETWORKS_PAD = 32,
  /**
   * Level 2. Pads with zeros, then moves blocks of pixels into the batch. Inputs: image, block
   * sizes, paddings [2, 2], [nchw].
   */
  ANEURALNETWORKS_SPACE_TO_BATCH_ND = 33,
  /** Level 2. Drops dimensions of size 1. Inputs: tensor, axes (may be omitted: all of them). */
  ANEURALNETWORKS_SQUEEZE = 34,
  /**
   * Level 2. Cuts a regularly spaced part out of a tensor. Inputs: tensor, begin, end, strides,
   * begin mask, end mask, shrink axis mask.
   */
  ANEURALNETWORKS_STRIDED_SLICE = 35,
  /** Level 2. Element-wise difference a - b, broadcasting. Inputs: a, b, activation. */
  ANEURALNETWORKS_SUB = 36,
  /** Level 2. Reorders the dimensions. Inputs: tensor, permutation (may be omitted). */
  ANEURALNETWORKS_TRANSPOSE = 37,

  /** Level 3. Absolute value. Inputs: tensor. */
  ANEURALNETWORKS_ABS = 38,
  /** Level 3. Index of the largest element along an axis. Inputs: tensor, axis. */
  ANEURALNETWORKS_ARGMAX = 39,
  /** Level 3. Index of the smallest element along an axis. Inputs: tensor, axis. */
  ANEURALNETWORKS_ARGMIN = 40,
  /**
   * Level 3. Moves and scales boxes by predicted deltas and clips them to the image. Inputs: boxes,
   * deltas, batch index of each box, image sizes.
   */
  ANEURALNETWORKS_AXIS_ALIGNED_BBOX_TRANSFORM = 41,
  /**
   * Level 3. An LSTM over a whole sequence in both directions. Inputs: 61, the cell's being those
   * of LSTM for each direction; outputs: one per direction or both merged, [final states].
   */
  ANEURALNETWORKS_BIDIRECTIONAL_SEQUENCE_LSTM = 42,
  /**
   * Level 3. A basic recurrent layer over a whole sequence in both directions. Inputs: 15; outputs:
   * one per direction or both merged, [final states].
   */
  ANEURALNETWORKS_BIDIRECTIONAL_SEQUENCE_RNN = 43,
  /**
   * Level 3. Picks the best boxes of each class by (soft) non-maximum suppression. Inputs: scores,
   * boxes, batch index of each box, score threshold, most detections, kernel (0 hard, 1 linear,
   * 2 Gaussian), IoU threshold, sigma, score threshold after suppression.
   */
  ANEURALNETWORKS_BOX_WITH_NMS_LIMIT = 44,
  /** Level 3. Converts the stored numbers to the output's type. Inputs: tensor. */
  ANEURALNETWORKS_CAST = 45,
  /** Level 3. Interleaves the groups of an axis. Inputs: tensor, number of groups, axis. */
  ANEURALNETWORKS_CHANNEL_SHUFFLE = 46,
  /**
   * Level 3. Decodes boxes against anchors and suppresses overlapping ones. Inputs 0 to 2: scores,
   * deltas, anchors. 3 to 6: scales (dy, dx, dh, dw). 7 to 10: regular NMS, most detections, most
   * classes per detection, most detections per class. 11 to 13: score threshold, IoU threshold,
   * background in labels.
   */
  ANEURALNETWORKS_DETECTION_POSTPROCESSING = 47,
  /** Level 3. a == b, broadcasting, to TENSOR_BOOL8. Inputs: a, b. */
  ANEURALNETWORKS_EQUAL = 48,
  /** Level 3. e to the power x. Inputs: tensor. */
  ANEURALNETWORKS_EXP = 49,
  /** Level 3. Inserts a dimension of size 1. Inputs: tensor, axis. */
  ANEURALNETWORKS_EXPAND_DIMS = 50,
  /** Level 3. Picks slices along an axis by index. Inputs: tensor, axis, indices. */
  ANEURALNETWORKS_GATHER = 51,
  /**
   * Level 3. Turns scores and deltas on a grid of anchors into region proposals. Inputs: scores,
   * deltas, anchors, image sizes, height and width stride, most boxes before and after
   * suppression, IoU threshold, smallest size, nchw.
   */
  ANEURALNETWORKS_GENERATE_PROPOSALS = 52,
  /** Level 3. a > b, broadcasting, to TENSOR_BOOL8. Inputs: a, b. */
  ANEURALNETWORKS_GREATER = 53,
  /** Level 3. a >= b, broadcasting, to TENSOR_BOOL8. Inputs: a, b. */
  ANEURALNETWORKS_GREATER_EQUAL = 54,
  /**
   * Level 3. Convolution of groups of channels. Inputs: image, filter
   * [out, height, width, in / groups], bias, pads|scheme, stride width and height, groups,
   * activation, nchw.
   */
  ANEURALNETWORKS_GROUPED_CONV_2D = 55,
  /**
   * Level 3. Finds the peak of each heat map to less than a pixel. Inputs: heat maps, boxes, nchw;
   * outputs: scores, positions.
   */
  ANEURALNETWORKS_HEATMAP_MAX_KEYPOINT = 56,
  /**
   * Level 3. Normalizes each channel of each image to mean beta and deviation gamma. Inputs: image,
   * gamma, beta, epsilon, nchw.
   */
  ANEURALNETWORKS_INSTANCE_NORMALIZATION = 57,
  /** Level 3. a < b, broadcasting, to TENSOR_BOOL8. Inputs: a, b. */
  ANEURALNETWORKS_LESS = 58,
  /** Level 3. a <= b, broadcasting, to TENSOR_BOOL8. Inputs: a, b. */
  ANEURALNETWORKS_LESS_EQUAL = 59,
  /** Level 3. Natural logarithm. Inputs: tensor. */
  ANEURALNETWORKS_LOG = 60,
  /** Level 3. a and b, broadcasting, of TENSOR_BOOL8. Inputs: a, b. */
  ANEURALNETWORKS_LOGICAL_AND = 61,
  /** Level 3. not a, of TENSOR_BOOL8. Inputs: a. */
  ANEURALNETWORKS_LOGICAL_NOT = 62,
  /** Level 3. a or b, broadcasting, of TENSOR_BOOL8. Inputs: a, b. */
  ANEURALNETWORKS_LOGICAL_OR = 63,
  /** Level 3. Logarithm of SOFTMAX. Inputs: tensor, beta, axis. */
  ANEURALNETWORKS_LOG_SOFTMAX = 64,
  /** Level 3. The larger of a and b, broadcasting. Inputs: a, b. */
  ANEURALNETWORKS_MAXIMUM = 65,
  /** Level 3. The smaller of a and b, broadcasting. Inputs: a, b. */
  ANEURALNETWORKS_MINIMUM = 66,
  /** Level 3. -x. Inputs: tensor. */
  ANEURALNETWORKS_NEG = 67,
  /** Level 3. a != b, broadcasting, to TENSOR_BOOL8. Inputs: a, b. */
  ANEURALNETWORKS_NOT_EQUAL = 68,
  /** Level 3. Surrounds a tensor with a value. Inputs: tensor, paddings [rank, 2], value. */
  ANEURALNETWORKS_PAD_V2 = 69,
  /** Level 3. a to the power b, broadcasting. Inputs: base, exponent. */
  ANEURALNETWORKS_POW = 70,
  /** Level 3. x where x >= 0, alpha * x elsewhere, broadcasting. Inputs: tensor, alpha. */
  ANEURALNETWORKS_PRELU = 71,
  /** Level 3. Turns floating point into the output's quantized type. Inputs: tensor. */
  ANEURALNETWORKS_QUANTIZE = 72,
  /**
   * Level 3. One time step of an LSTM with 8-bit weights and a 16-bit cell state. Inputs: tensor,
   * 4 input weights, 4 recurrent weights, 4 biases, cell state, output of the step before.
   */
  ANEURALNETWORKS_QUANTIZED_16BIT_LSTM = 73,
  /** Level 3. Draws class indices at random. Inputs: log-probabilities, samples, seeds [2]. */
  ANEURALNETWORKS_RANDOM_MULTINOMIAL = 74,
  /** Level 3. Logical and over some axes. Inputs: tensor, axes, keep dims (BOOL). */
  ANEURALNETWORKS_REDUCE_ALL = 75,
  /** Level 3. Logical or over some axes. Inputs: tensor, axes, keep dims (BOOL). */
  ANEURALNETWORKS_REDUCE_ANY = 76,
  /** Level 3. Largest element over some axes. Inputs: tensor, axes, keep dims (BOOL). */
  ANEURALNETWORKS_REDUCE_MAX = 77,
  /** Level 3. Smallest element over some axes. Inputs: tensor, axes, keep dims (BOOL). */
  ANEURALNETWORKS_REDUCE_MIN = 78,
  /** Level 3. Product over some axes. Inputs: tensor, axes, keep dims (BOOL). */
  ANEURALNETWORKS_REDUCE_PROD = 79,
  /** Level 3. Sum over some axes. Inputs: tensor, axes, keep dims (BOOL). */
  ANEURALNETWORKS_REDUCE_SUM = 80,
  /**
   * Level 3. Resamples regions of a feature map to one size, by interpolation. Inputs: feature map,
   * boxes, batch index of each box, output height and width, height and width ratio, samples in
   * height and width, nchw.
   */
  ANEURALNETWORKS_ROI_ALIGN = 81,
  /**
   * Level 3. Pools regions of a feature map to one size, by maximum. Inputs: feature map, boxes,
   * batch index of each box, output height and width, height and width ratio, nchw.
   */
  ANEURALNETWORKS_ROI_POOLING = 82,
  /** Level 3. 1 / sqrt(x). Inputs: tensor. */
  ANEURALNETWORKS_RSQRT = 83,
  /** Level 3. a where the condition holds, else b; no broadcasting. Inputs: condition, a, b. */
  ANEURALNETWORKS_SELECT = 84,
  /** Level 3. Sine of an angle in radians. Inputs: tensor. */
  ANEURALNETWORKS_SIN = 85,
  /** Level 3. Cuts a box out of a tensor. Inputs: tensor, begin, size (-1: up to the end). */
  ANEURALNETWORKS_SLICE = 86,
  /** Level 3. Cuts an axis into equal parts, one output each. Inputs: tensor, axis, parts. */
  ANEURALNETWORKS_SPLIT = 87,
  /** Level 3. Square root. Inputs: tensor. */
  ANEURALNETWORKS_SQRT = 88,
  /** Level 3. Repeats a tensor along its dimensions. Inputs: tensor, multiples [rank]. */
  ANEURALNETWORKS_TILE = 89,
  /**
   * Level 3. The k largest elements of each row of the last dimension, with their indices. Inputs:
   * tensor, k; outputs: values, indices.
   */
  ANEURALNETWORKS_TOPK_V2 = 90,
  /**
   * Level 3. Transposed ("backward") convolution. Inputs: image, filter [out, height, width, in],
   * bias, pads | output shape and scheme, stride width and height, activation, nchw.
   */
  ANEURALNETWORKS_TRANSPOSE_CONV_2D = 91,
  /**
   * Level 3. An LSTM over a whole sequence. Inputs: those of LSTM and, before the layer
   * normalization weights, whether the sequence is time-major; outputs: output, [final states].
   */
  ANEURALNETWORKS_UNIDIRECTIONAL_SEQUENCE_LSTM = 92,
  /**
   * Level 3. A basic recurrent layer over a whole sequence. Inputs: those of RNN, time-major
   * (INT32, 0 or 1); outputs: output, [final state].
   */
  ANEURALNETWORKS_UNIDIRECTIONAL_SEQUENCE_RNN = 93,
  /**
   * Level 3. Scales images by repeating or dropping pixels. Inputs: image, output width and height
   * (or width and height factors), nchw, [align corners], [half pixel centers].
   */
  ANEURALNETWORKS_RESIZE_NEAREST_NEIGHBOR = 94,

  /**
   * Level 4. One time step of an LSTM with 8-bit weights, inputs and outputs and a 16-bit cell
   * state. Inputs: 32, as LSTM with the scales of the intermediate results; outputs: hidden state,
   * cell state, output.
   */
  ANEURALNETWORKS_QUANTIZED_LSTM = 95,
  /**
   * Level 4. Runs one of two models. Inputs: condition (TENSOR_BOOL8 [1]), model if true, model if
   * false, the inputs of either.
   */
  ANEURALNETWORKS_IF = 96,
  /**
   * Level 4. Runs a body model as long as a condition model yields true; subject to
   * ANeuralNetworksExecution_setLoopTimeout. Inputs: condition model, body model, initial values of
   * the carried variables (outputs first), values that stay constant.
   */
  ANEURALNETWORKS_WHILE = 97,
  /** Level 4. x where x > 0, alpha * (exp(x) - 1) elsewhere. Inputs: tensor, alpha. */
  ANEURALNETWORKS_ELU = 98,
  /** Level 4. x * (x + 3 limited to [0, 6]) / 6. Inputs: tensor. */
  ANEURALNETWORKS_HARD_SWISH = 99,
  /** Level 4. A tensor of one repeated value. Inputs: dimensions, value. */
  ANEURALNETWORKS_FILL = 100,
  /** Level 4. The number of dimensions, as an INT32 scalar. Inputs: tensor. */
  ANEURALNETWORKS_RANK = 101,

  /**
   * Level 6. Products of the matrices in the last two dimensions. Inputs: a, b, transpose a (BOOL),
   * transpose b (BOOL).
   */
  ANEURALNETWORKS_BATCH_MATMUL = 102,
  /** Level 6. Stacks tensors of one shape along a new axis. Inputs: axis, one or more tensors. */
  ANEURALNETWORKS_PACK = 103,

  /**
   * Level 7. Surrounds a tensor with its own reflection. Inputs: tensor, paddings [rank, 2], mode
   * (0 reflect: without the edge, 1 symmetric: with the edge).
   */
  ANEURALNETWORKS_MIRROR_PAD = 104,
  /** Level 7. Reverses the order along an axis. Inputs: tensor, axis (TENSOR_INT32 [1]). */
  ANEURALNETWORKS_REVERSE = 105,
} OperationCode;

/** Activation functions that many operations can apply to their result. */
typedef enum {
  /** The result as it is. */
  ANEURALNETWORKS_FUSED_NONE = 0,
  /** max(0, x). */
  ANEURALNETWORKS_FUSED_RELU = 1,
  /** x limited to [-1, 1]. */
  ANEURALNETWORKS_FUSED_RELU1 = 2,
  /** x limited to [0, 6]. */
  ANEURALNETWORKS_FUSED_RELU6 = 3,
} FuseCode;

/** How the borders of an image are padded when the pads are not given one by one. */
typedef enum {
  /**
   * Pads so that the output has ceil(input / stride) elements. The windows need
   * (output - 1) * stride + (filter - 1) * dilation + 1 elements. The total padding is
   * max(0, needed - input). total / 2 goes to the front, the rest to the end.
   */
  ANEURALNETWORKS_PADDING_SAME = 1,
  /** No padding: only windows that lie wholly inside the image are used. */
  ANEURALNETWORKS_PADDING_VALID = 2,
} PaddingCode;

/** The aim of the choice of devices. */
typedef enum {
  /** Little energy; for work in the background or now and then. */
  ANEURALNETWORKS_PREFER_LOW_POWER = 0,
  /** A single answer as soon as possible; the default. */
  ANEURALNETWORKS_PREFER_FAST_SINGLE_ANSWER = 1,
  /** High throughput over many executions in a row, e.g. the frames of a camera. */
  ANEURALNETWORKS_PREFER_SUSTAINED_SPEED = 2,
} PreferenceCode;

/** The kind of hardware of a device. */
typedef enum {
  /** The driver does not say (drivers of feature levels 1 and 2). */
  ANEURALNETWORKS_DEVICE_UNKNOWN = 0,
  /** Another kind than those below, or a mixture of them. */
  ANEURALNETWORKS_DEVICE_OTHER = 1,
  /** A central processing unit, one core or many. */
  ANEURALNETWORKS_DEVICE_CPU = 2,
  /** A graphics processor. */
  ANEURALNETWORKS_DEVICE_GPU = 3,
  /** Hardware made for neural networks or signal processing: NPU, DSP, TPU. */
  ANEURALNETWORKS_DEVICE_ACCELERATOR = 4,
} DeviceTypeCode;

/**
 * Feature levels of the runtime and of devices. The values only grow; compare them with < and >=.
 * Up to level 5 they are the Android API level that introduced them.
 */
typedef enum {
  /** First version: 29 operations; HAL 1.0. */
  ANEURALNETWORKS_FEATURE_LEVEL_1 = 27,
  /** 9 more operations, relaxed float32; HAL 1.1. */
  ANEURALNETWORKS_FEATURE_LEVEL_2 = 28,
  /** 57 more operations, device selection, caching, bursts, extensions; HAL 1.2. */
  ANEURALNETWORKS_FEATURE_LEVEL_3 = 29,
  /** 7 more operations, control flow, memory domains, fences, deadlines; HAL 1.3. */
  ANEURALNETWORKS_FEATURE_LEVEL_4 = 30,
  /** Reusable executions, preferred alignment and padding. */
  ANEURALNETWORKS_FEATURE_LEVEL_5 = 31,
  /** BATCH_MATMUL and PACK. */
  ANEURALNETWORKS_FEATURE_LEVEL_6 = 1000006,
  /** MIRROR_PAD and REVERSE. */
  ANEURALNETWORKS_FEATURE_LEVEL_7 = 1000007,
  /** Extension attributes of compilations and executions. */
  ANEURALNETWORKS_FEATURE_LEVEL_8 = 1000008,
} FeatureLevelCode;

/** Which time ANeuralNetworksExecution_getDuration reports; all are in nanoseconds. */
typedef enum {
  /** Time on the hardware itself, without the driver and without waiting. */
  ANEURALNETWORKS_DURATION_ON_HARDWARE = 0,
  /** Time in the driver, hardware included, without the transport to it. */
  ANEURALNETWORKS_DURATION_IN_DRIVER = 1,
  /** As ON_HARDWARE, counted from when the last dependency was signaled. Since level 4. */
  ANEURALNETWORKS_FENCED_DURATION_ON_HARDWARE = 2,
  /** As IN_DRIVER, counted from when the last dependency was signaled. Since level 4. */
  ANEURALNETWORKS_FENCED_DURATION_IN_DRIVER = 3,
} DurationCode;

/** How urgent the executions of a compilation are among all the work of one application. */
typedef enum {
  /** May wait for everything else. */
  ANEURALNETWORKS_PRIORITY_LOW = 90,
  /** Ordinary. */
  ANEURALNETWORKS_PRIORITY_MEDIUM = 100,
  /** Goes first. */
  ANEURALNETWORKS_PRIORITY_HIGH = 110,
  /** The priority of a compilation without a call that sets one. */
  ANEURALNETWORKS_PRIORITY_DEFAULT = ANEURALNETWORKS_PRIORITY_MEDIUM,
} PriorityCode;

/**
 * The kind of values in the inputs, or in the outputs, of a model. For the diagnostic callbacks of
 * NeuralNetworksSupportLibraryImpl.h. Since feature level 5.
 */
typedef enum {
  /** Historical; this runtime does not report it. */
  ANNDIAG_DATA_CLASS_UNKNOWN = 0,
  /** Only values outside of the classes below, such as integers and booleans. */
  ANNDIAG_DATA_CLASS_OTHER = 1,
  /** TENSOR_FLOAT32. Values of class OTHER do not count. The same holds below. */
  ANNDIAG_DATA_CLASS_FLOAT32 = 2,
  /** TENSOR_FLOAT16. */
  ANNDIAG_DATA_CLASS_FLOAT16 = 3,
  /** Quantized tensors. */
  ANNDIAG_DATA_CLASS_QUANT = 4,
  /** Several of the three classes above. */
  ANNDIAG_DATA_CLASS_MIXED = 5,
} ANeuralNetworksDiagnosticDataClass;

/** The way in which an execution was started. For the same callbacks. Since feature level 5. */
typedef enum {
  /** Historical; this runtime does not report it. */
  ANNDIAG_EXECUTION_MODE_UNKNOWN = 0,
  /** ANeuralNetworksExecution_startCompute. */
  ANNDIAG_EXECUTION_MODE_ASYNC = 1,
  /** ANeuralNetworksExecution_compute. */
  ANNDIAG_EXECUTION_MODE_SYNC = 2,
  /** ANeuralNetworksExecution_burstCompute. */
  ANNDIAG_EXECUTION_MODE_BURST = 3,
  /** ANeuralNetworksExecution_startComputeWithDependencies. */
  ANNDIAG_EXECUTION_MODE_ASYNC_WITH_DEPS = 4,
} ANeuralNetworksDiagnosticExecutionMode;

/** Sizes in bytes. */
enum {
  /**
   * ANeuralNetworksModel_setOperandValue copies values up to this size at once; of larger ones it
   * keeps the pointer.
   */
  ANEURALNETWORKS_MAX_SIZE_OF_IMMEDIATELY_COPIED_VALUES = 128,
};

/** Sizes in bytes. */
enum {
  /** The length of the token of ANeuralNetworksCompilation_setCaching. */
  ANEURALNETWORKS_BYTE_SIZE_OF_CACHE_TOKEN = 32,
};

/*
 * The objects of the API. Each comment has the states of an object, the necessary lifetimes, and
 * the rules for several threads. A call that an object's state does not allow returns
 * ANEURALNETWORKS_BAD_STATE and changes nothing. No object may be freed while another thread uses
 * it.
 */

/**
 * A graph of operations on operands: inputs, outputs, constants and intermediate results.
 *
 * States: being built, until ANeuralNetworksModel_finish makes it finished or, when it is not
 * valid, invalid; both are final. Only the lack of memory leaves it as it was, to be finished once
 * more. Compilations, questions about devices, and other models take finished models only.
 *
 * Lifetime: outlives its compilations and the models that refer to it. Until it is freed, the
 * memories and the constants above 128 bytes that were given to it stay where they are, unchanged.
 *
 * Threads: built by one at a time; a finished model may be used by any number.
 */
typedef struct ANeuralNetworksModel ANeuralNetworksModel;

/**
 * A finished model made ready to run on one or more devices.
 *
 * States: created, until ANeuralNetworksCompilation_finish makes it finished, with a plan or, when
 * that has failed, without; it is finished once. Executions, bursts and the questions about
 * alignment and padding need a plan.
 *
 * Lifetime: outlives its executions, its bursts, and the memory descriptors that have a role of it.
 *
 * Threads: set up and finished by one at a time; once finished it may be used by any number.
 */
typedef struct ANeuralNetworksCompilation ANeuralNetworksCompilation;

/**
 * The inputs and outputs of one run of a compilation, and the run itself.
 *
 * States: in preparation, until a computation begins; being computed, until it has ended; computed.
 * Arguments and settings are for preparation only, results for a computed execution only. A
 * reusable one goes from computed to being computed any number of times, and any other once. A
 * failure before the computation itself, such as an argument that was never set, also ends it as
 * computed, with a failure. A fenced computation has ended when its event was waited for or freed.
 *
 * Lifetime: outlives the wait for its event. Its buffers and memories stay until it is freed. To
 * free it while it is being computed does nothing, and loses it.
 *
 * Threads: prepared by one at a time. Of computations that begin at once exactly one proceeds, the
 * others get ANEURALNETWORKS_BAD_STATE; results may be asked for at any time. Different executions
 * are independent of each other.
 */
typedef struct ANeuralNetworksExecution ANeuralNetworksExecution;

/**
 * A series of executions of one compilation that follow each other closely.
 *
 * States: free, or executing; an execution that comes then gets ANEURALNETWORKS_BAD_STATE.
 *
 * Lifetime: once no execution runs in it, it may be freed before or after the executions and
 * memories that were used with it.
 *
 * Threads: any may execute in it, one at a time.
 */
typedef struct ANeuralNetworksBurst ANeuralNetworksBurst;

/**
 * Something to wait for: the end of an asynchronous execution, or a sync fence.
 *
 * States: pending, then over, with a result that stays the same.
 *
 * Lifetime: freeing it waits for its end first. It may go before the executions that depend on it,
 * once those have been started.
 *
 * Threads: any number may wait for it, and depend on it, at once.
 */
typedef struct ANeuralNetworksEvent ANeuralNetworksEvent;

/**
 * A place where a model can run.
 *
 * States: none to be seen, but that calls fail with ANEURALNETWORKS_DEAD_OBJECT when its driver has
 * died; ANeuralNetworksDevice_wait returns when there is a new one.
 *
 * Lifetime: owned by the runtime and valid until the process ends; never freed.
 *
 * Threads: any number.
 */
typedef struct ANeuralNetworksDevice ANeuralNetworksDevice;

/**
 * A region of memory that holds constants, inputs or outputs.
 *
 * States: memory made from a descriptor is uninitialised until an execution or
 * ANeuralNetworksMemory_copy has written to it with success, and again after one that has failed.
 * Any other memory counts as initialised.
 *
 * Lifetime: outlives the models, executions and bursts that use it. A hardware buffer outlives the
 * memory made from it, a file descriptor is duplicated, and a descriptor may go at once.
 *
 * Threads: any number may read, in executions and copies. While one writes, no other may use it.
 */
typedef struct ANeuralNetworksMemory ANeuralNetworksMemory;

/**
 * The future uses of a memory, so that a device can allocate it in its own way.
 *
 * States: being built, then finished. Memories are made from finished ones.
 *
 * Lifetime: the compilations of its roles outlive it; memories made from it do not need it.
 *
 * Threads: built by one at a time; a finished descriptor may be used by any number.
 */
typedef struct ANeuralNetworksMemoryDesc ANeuralNetworksMemoryDesc;

/** An OperationCode, or the code of an extension's operation. */
typedef int32_t ANeuralNetworksOperationType;

/** The type and the shape of an operand. */
typedef struct ANeuralNetworksOperandType {
  /** An OperandCode, or the code of an extension's type. */
  int32_t type;

  /**
   * The number of dimensions. 0 for a scalar; 0 for a tensor means that its rank is not known yet
   * (since feature level 3).
   */
  uint32_t dimensionCount;

  /**
   * The sizes of the dimensions: an array of dimensionCount entries, NULL exactly when
   * dimensionCount is 0. An entry of 0 is a size that is not known yet.
   */
  const uint32_t* dimensions;

  /** The real value of one step of a quantized type; 0 for types that are not quantized. */
  float scale;

  /** The integer that stands for the real value 0; 0 for types without a zero point. */
  int32_t zeroPoint;
} ANeuralNetworksOperandType;

/** The scales of an operand of type ANEURALNETWORKS_TENSOR_QUANT8_SYMM_PER_CHANNEL. */
typedef struct ANeuralNetworksSymmPerChannelQuantParams {
  /** The dimension along which each index has a scale of its own; less than the rank. */
  uint32_t channelDim;

  /** The number of scales: the size of that dimension. */
  uint32_t scaleCount;

  /** The scales, all greater than 0: an array of scaleCount entries. */
  const float* scales;
} ANeuralNetworksSymmPerChannelQuantParams;

#ifdef __cplusplus
}  // extern "C"
#endif

#endif  // HALYARD_ANDROID_NEURAL_NETWORKS_TYPES_H_
