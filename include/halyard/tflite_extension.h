// SPDX-License-Identifier: Apache-2.0
//
// The extension "halyard.tflite", as a C99 header. It has operations of TensorFlow Lite of two
// kinds. For the first kind, NNAPI needs up to nineteen operations, or one for each step of a
// sequence. Halyard's importer uses them if every device of the compilation offers the extension
// (ask ANeuralNetworksDevice_getExtensionSupport). Otherwise it uses operations of the API, with
// the same results. NNAPI cannot express the second kind. The importer uses them if at least one
// device offers the extension. The runtime's own CPU device and halyard-cpu offer it. It has no
// operand types of its own.
//
// Operations are added at the end; the meaning of an operation does not change. A device that was
// built before an operation was added offers the extension and does not support that operation.
//
// An application gets an operation's type from ANeuralNetworksModel_getExtensionOperationType. In a
// driver it is a halyard::OperationType, and its operands have been checked like those of the API's
// operations. The prefix of this extension is 0x7fff in every process, and no other extension's.

#ifndef HALYARD_TFLITE_EXTENSION_H_
#define HALYARD_TFLITE_EXTENSION_H_

#define HALYARD_TFLITE_EXTENSION "halyard.tflite"

enum {
  /**
   * Rounds each row of a tensor to the 256 steps of a byte, from its least to its greatest value.
   * Dynamic-range quantisation does this with the input of a layer with weights of 8 bits.
   *
   * Inputs:
   *   0: input, TENSOR_FLOAT32 of rank 1 to 4.
   *   1: axis, INT32, 0 to rank - 1. The dimensions from there on are a row; those before it count
   *      rows.
   * Outputs:
   *   0: output, TENSOR_FLOAT32 of the input's dimensions.
   *
   * With low = min(0, row), high = max(0, row), range = max(high - low, 1e-30), and every result
   * rounded to float32:
   *
   *   perUnit = 255 / range
   *   zeroPoint = floor((-128 + 0.5) - low * perUnit)
   *   y = clamp(floor(x * perUnit + 0.5), -128 - zeroPoint, 127 - zeroPoint) * (range / 255)
   *
   * A row with a value that is not finite, or whose range is not, becomes NaN. y / (range / 255) +
   * zeroPoint is a signed byte: a driver may multiply bytes in the layer that reads y.
   */
  HALYARD_TFLITE_ROUND_TO_DYNAMIC_RANGE = 0,

  /**
   * ANEURALNETWORKS_QUANTIZED_LSTM along a sequence, in the same integer arithmetic.
   *
   * Inputs:
   *   0: input, TENSOR_QUANT8_ASYMM_SIGNED, [steps, batch, size] with time_major, otherwise
   *      [batch, steps, size].
   *   1 to 31: as those of ANEURALNETWORKS_QUANTIZED_LSTM; the states, 18 and 19, are what the
   *      first step begins with.
   *   32: time_major, BOOL.
   * Outputs:
   *   0: output, TENSOR_QUANT8_ASYMM_SIGNED with scale and zero point of input 18, [steps, batch,
   *      output size] or [batch, steps, output size]: the hidden values of all steps.
   */
  HALYARD_TFLITE_QUANTIZED_SEQUENCE_LSTM = 1,

  /**
   * Elements or slices of a tensor, each chosen by a tuple of indices into its first dimensions.
   *
   * Inputs:
   *   0: input, TENSOR_FLOAT32, _FLOAT16, _INT32, _QUANT8_ASYMM, _QUANT8_ASYMM_SIGNED or _BOOL8, of
   *      dimensions [d0, ..., dn-1].
   *   1: indices, TENSOR_INT32, [..., k] with 1 <= k <= n: tuples of k indices, of which number i
   *      lies in 0 to di - 1. An execution with any other index fails.
   * Outputs:
   *   0: output, of the input's type, scale and zero point: the dimensions of the indices without
   *      the last, and behind them [dk, ..., dn-1]; [1] where these are none.
   */
  HALYARD_TFLITE_GATHER_ND = 2,

  /**
   * ANEURALNETWORKS_MUL of two 8 bit tensors, broadcast, into an output of any scale.
   *
   * Inputs:
   *   0: a, TENSOR_QUANT8_ASYMM or TENSOR_QUANT8_ASYMM_SIGNED.
   *   1: b, of the same type.
   *   2: activation, INT32, a fuse code.
   * Outputs:
   *   0: output, of the same type.
   *
   * ratio = scale of a * scale of b / scale of the output, each step rounded to float32, must be
   * finite. It is written as m * 2^(e - 31), with 2^30 <= m < 2^31. m is rounded to the nearest
   * integer, ties away from zero. If e < -31, m = 0. With p = (a - zero point of a) * (b - zero
   * point of b):
   *
   *   s = p * 2^max(e, 0), or the nearest 32 bit integer
   *   h = floor(s * m / 2^31 + 1/2)
   *   q = h / 2^max(-e, 0), to nearest, ties away from zero
   *   output = clamp(q + zero point of the output)
   *
   * clamp keeps to the range of the type and of the activation.
   */
  HALYARD_TFLITE_QUANTIZED_MUL = 3,

  /**
   * The dimensions of a tensor as they are at execution.
   *
   * Inputs:
   *   0: input, of any type that ANEURALNETWORKS_RANK takes.
   * Outputs:
   *   0: output, TENSOR_INT32, [rank of the input].
   */
  HALYARD_TFLITE_SHAPE = 4,

  /**
   * The discrete Fourier transform of real images along their last two dimensions. A complex number
   * is two floats side by side, real and imaginary part.
   *
   * Inputs:
   *   0: input, TENSOR_FLOAT32, [..., rows, columns].
   *   1: fft_length, TENSOR_INT32, [2]: height and width, powers of two. The input is cut off, or
   *      continued with zeros, to that size.
   * Outputs:
   *   0: output, TENSOR_FLOAT32, [..., height, (width / 2 + 1) * 2]:
   *
   *   y(v, u) = sum over i, j of x(i, j) * exp(-2 pi sqrt(-1) * (v i / height + u j / width))
   */
  HALYARD_TFLITE_RFFT2D = 5,

  /**
   * Magnitude, real and imaginary part of complex numbers.
   *
   * Inputs:
   *   0: input, TENSOR_FLOAT32, [..., 2 n]: n complex numbers, real and imaginary part of each.
   * Outputs:
   *   0: output, TENSOR_FLOAT32, [..., n].
   */
  HALYARD_TFLITE_COMPLEX_ABS = 6,
  HALYARD_TFLITE_REAL = 7,
  HALYARD_TFLITE_IMAG = 8,

  /**
   * The cosine of each element.
   *
   * Inputs:
   *   0: input, TENSOR_FLOAT32 or _FLOAT16.
   * Outputs:
   *   0: output, of the input's type and dimensions.
   */
  HALYARD_TFLITE_COS = 9,

  /**
   * Each element rounded to the nearest integer; of two, to the even one. Operands as for COS.
   */
  HALYARD_TFLITE_ROUND = 10,

  /**
   * The Gaussian error linear unit.
   *
   * Inputs:
   *   0: input, TENSOR_FLOAT32 or _FLOAT16.
   *   1: approximate, BOOL.
   * Outputs:
   *   0: output, of the input's type and dimensions: x / 2 * (1 + erf(x / sqrt(2))), or with
   *      approximate, x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3))).
   */
  HALYARD_TFLITE_GELU = 11,

  /**
   * Functions of two tensors, broadcast as by ANEURALNETWORKS_ADD, into an output of their type.
   *
   * Inputs:
   *   0: a, of a type of the table.
   *   1: b, of the same type.
   * Outputs:
   *   0: output, of the same type.
   *
   *   ATAN2          TENSOR_FLOAT32, _FLOAT16           the angle of the point (b, a)
   *   FLOOR_MOD      TENSOR_FLOAT32, _FLOAT16, _INT32   a - floor(a / b) * b; an integer a where b
   *                                                     is 0
   *   TRUNCATED_DIV  TENSOR_INT32                       a / b rounded towards 0; 0 where b is 0
   *   BITWISE_XOR    TENSOR_INT32                       a exclusive-or b, bit by bit
   *   RIGHT_SHIFT    TENSOR_INT32                       floor(a / 2^b), with b kept to 0 to 31
   */
  HALYARD_TFLITE_ATAN2 = 12,
  HALYARD_TFLITE_FLOOR_MOD = 13,
  HALYARD_TFLITE_TRUNCATED_DIV = 14,
  HALYARD_TFLITE_BITWISE_XOR = 15,
  HALYARD_TFLITE_RIGHT_SHIFT = 16,

  /**
   * ANEURALNETWORKS_SELECT of three tensors that are broadcast to one shape.
   *
   * Inputs:
   *   0: condition, TENSOR_BOOL8.
   *   1: x, TENSOR_FLOAT32, _FLOAT16, _INT32, _QUANT8_ASYMM, _QUANT8_ASYMM_SIGNED or _BOOL8.
   *   2: y, of the same type, scale and zero point.
   * Outputs:
   *   0: output, of the same type, scale and zero point: x where the condition is true, otherwise
   *      y.
   */
  HALYARD_TFLITE_SELECT_V2 = 17,

  /**
   * For each element, the sum of the elements up to it along an axis.
   *
   * Inputs:
   *   0: input, TENSOR_FLOAT32, _FLOAT16 or _INT32. Integers wrap around.
   *   1: axis, INT32, -rank to rank - 1.
   *   2: exclusive, BOOL: the element itself does not count.
   *   3: reverse, BOOL: the sums are those from the element to the end.
   * Outputs:
   *   0: output, of the input's type and dimensions.
   */
  HALYARD_TFLITE_CUMSUM = 18,

  /**
   * A tensor of zeros, to which elements or slices are added at places that tuples of indices name.
   *
   * Inputs:
   *   0: indices, TENSOR_INT32, [..., k] with 1 <= k <= n: number i of a tuple lies in 0 to di - 1.
   *      An execution with any other index fails.
   *   1: updates, TENSOR_FLOAT32, _FLOAT16 or _INT32: the dimensions of the indices without the
   *      last, and behind them [dk, ..., dn-1]. Integers wrap around.
   *   2: shape, TENSOR_INT32, [n]: the dimensions d0 to dn-1 of the output, at least 1.
   * Outputs:
   *   0: output, of the type of the updates.
   */
  HALYARD_TFLITE_SCATTER_ND = 19,

  /**
   * The sum, product, maximum or minimum of all slices of a tensor that have the same number.
   *
   * Inputs:
   *   0: data, TENSOR_FLOAT32 or _INT32. Integers wrap around.
   *   1: segments, TENSOR_INT32: the numbers of the slices. Its dimensions are the first ones of
   *      the data. A slice with a negative number does not count. An execution with a number that
   *      is not below input 2 fails.
   *   2: number of segments, INT32, at least 1.
   * Outputs:
   *   0: output, of the type of the data: the number of segments, and behind it the data's other
   *      dimensions. A segment without slices is 0, 1, the least or the greatest finite value.
   */
  HALYARD_TFLITE_UNSORTED_SEGMENT_SUM = 20,
  HALYARD_TFLITE_UNSORTED_SEGMENT_PROD = 21,
  HALYARD_TFLITE_UNSORTED_SEGMENT_MAX = 22,
  HALYARD_TFLITE_UNSORTED_SEGMENT_MIN = 23,

  /**
   * A tensor with a part replaced.
   *
   * Inputs:
   *   0: operand, TENSOR_FLOAT32, _FLOAT16, _INT32, _QUANT8_ASYMM, _QUANT8_ASYMM_SIGNED or _BOOL8.
   *   1: update, of the same type, scale, zero point and rank, in no dimension larger.
   *   2: starts, TENSOR_INT32, [rank]: the place of the update. A start below 0, or behind the last
   *      place where the update fits, becomes the nearest place.
   * Outputs:
   *   0: output, like the operand.
   */
  HALYARD_TFLITE_DYNAMIC_UPDATE_SLICE = 24,

  /**
   * The coordinates of all elements that are not zero, or true, in order.
   *
   * Inputs:
   *   0: condition, TENSOR_FLOAT32, _INT32 or _BOOL8, of rank 1 or more.
   * Outputs:
   *   0: output, TENSOR_INT32, [number of these elements, rank of the input].
   */
  HALYARD_TFLITE_WHERE = 25,

  /**
   * Reverses the beginning of each sequence of a batch.
   *
   * Inputs:
   *   0: input, of a type of SELECT_V2.
   *   1: lengths, TENSOR_INT32, [size of the batch]: how many elements of each sequence are
   *      reversed. The others stay.
   *   2: axis of the sequence, INT32, -rank to rank - 1.
   *   3: axis of the batch, INT32, another one.
   * Outputs:
   *   0: output, like the input.
   */
  HALYARD_TFLITE_REVERSE_SEQUENCE = 26,

  /**
   * For each element, how many of the boundaries are not above it.
   *
   * Inputs:
   *   0: input, TENSOR_FLOAT32 or _INT32. Integers are compared as floats.
   *   1: boundaries, TENSOR_FLOAT32, [n], ascending.
   * Outputs:
   *   0: output, TENSOR_INT32 of the input's dimensions: 0 to n.
   */
  HALYARD_TFLITE_BUCKETIZE = 27,

  /**
   * The real values of 16-bit activations: scale * q.
   *
   * Inputs:
   *   0: input, TENSOR_QUANT16_SYMM.
   * Outputs:
   *   0: output, TENSOR_FLOAT32 of the input's dimensions.
   */
  HALYARD_TFLITE_DEQUANTIZE_16 = 28,

  /**
   * Real values as 16-bit activations: x / scale, rounded to nearest, ties away from zero, and
   * clamped to -32768 and 32767. NaN becomes -32768.
   *
   * Inputs:
   *   0: input, TENSOR_FLOAT32.
   * Outputs:
   *   0: output, TENSOR_QUANT16_SYMM of the input's dimensions.
   */
  HALYARD_TFLITE_QUANTIZE_16 = 29,

  /**
   * The boxes that stay when each one removes those of a lower score that overlap it.
   *
   * Inputs:
   *   0: boxes, TENSOR_FLOAT32, [n, 4]: two opposite corners, y1, x1, y2, x2.
   *   1: scores, TENSOR_FLOAT32, [n].
   *   2: limit, INT32, at least 1: how many boxes stay at most.
   *   3: IoU threshold, FLOAT32.
   *   4: score threshold, FLOAT32. Only boxes with a greater score are candidates.
   *   5: sigma, FLOAT32.
   * Outputs:
   *   0: indices, TENSOR_INT32, [limit]: the boxes that stay, 0 behind the last.
   *   1: kept scores, TENSOR_FLOAT32, [limit]: their scores, 0 behind the last.
   *   2: count, TENSOR_INT32, [1]: how many stay.
   *
   * The candidate with the greatest score stays; of equal ones, the first. r is the intersection
   * over the union of its box and another candidate's, or 0 if one of them has no area. The other
   * one is removed if r is at least the IoU threshold. Otherwise, with a positive sigma, its score
   * is multiplied by exp(-r^2 / (2 sigma)). A candidate whose score does not exceed the score
   * threshold is removed. This repeats with the candidates that are left.
   */
  HALYARD_TFLITE_NON_MAX_SUPPRESSION = 30,

  /**
   * The distinct elements of a list, in the order of their first occurrence.
   *
   * Inputs:
   *   0: input, TENSOR_FLOAT32 or _INT32, [n].
   * Outputs:
   *   0: values, of the input's type, [number of distinct elements]. Each NaN is distinct.
   *   1: places, TENSOR_INT32, [n]: values[places[i]] is element i.
   */
  HALYARD_TFLITE_UNIQUE = 31,

  /**
   * A tensor with equal elements put in between its own.
   *
   * Inputs:
   *   0: input, of a type of SELECT_V2.
   *   1: steps, TENSOR_INT32, [rank], at least 1: the distance in the output of elements that are
   *      neighbours in the input.
   *   2: fill, one element of the input's type, scale and zero point: the elements in between.
   * Outputs:
   *   0: output, like the input, of (d - 1) * step + 1 elements in each dimension.
   */
  HALYARD_TFLITE_DILATE = 32,

  /**
   * A window slides along all dimensions of a tensor, and its elements are combined.
   *
   * Inputs:
   *   0: input, TENSOR_FLOAT32, _FLOAT16, _INT32 or _BOOL8.
   *   1: init, one element of the same type. It is combined with each window.
   *   2: window, TENSOR_INT32, [rank], at least 1: how many elements it takes in each dimension.
   *   3: strides, TENSOR_INT32, [rank], at least 1: the distance of neighbouring windows.
   *   4: dilations, TENSOR_INT32, [rank], at least 1: the distance of neighbours in a window.
   *   5: function, INT32: 1 sum, 2 product, 3 minimum or 4 maximum of numbers; 5 all or 6 any of
   *      booleans. Integers wrap around.
   * Outputs:
   *   0: output, of the input's type: (d - (window - 1) * dilation - 1) / stride + 1 elements,
   *      rounded down, in each dimension.
   */
  HALYARD_TFLITE_REDUCE_WINDOW = 33,

  /**
   * The convolution of volumes.
   *
   * Inputs:
   *   0: input, TENSOR_FLOAT32 or _FLOAT16, [batch, depth, height, width, channels].
   *   1: filter, of the same type, [depth, height, width, channels, output channels].
   *   2: bias, of the same type, [output channels].
   *   3: paddings, TENSOR_INT32, [3, 2], at least 0: zeros before and behind the input's depth,
   *      height and width.
   *   4: strides, TENSOR_INT32, [3], at least 1.
   *   5: dilations, TENSOR_INT32, [3], at least 1.
   *   6: activation, INT32, a fuse code.
   * Outputs:
   *   0: output, of the same type, [batch, depth, height, width, output channels], with
   *      (d + paddings - (filter - 1) * dilation - 1) / stride + 1 elements, rounded down, in its
   *      depth, height and width.
   */
  HALYARD_TFLITE_CONV_3D = 34,

  /**
   * The transposed convolution of volumes. Element (z, y, x) of the input, times the filter, is
   * added to the output from (z, y, x) * strides - paddings on.
   *
   * Inputs:
   *   0, 2 to 6: as those of CONV_3D. The paddings are those of the output.
   *   1: filter, [depth, height, width, output channels, channels].
   *   7: output size, TENSOR_INT32, [3]: depth, height and width of the output. The CONV_3D of a
   *      tensor of this size must have the input's depth, height and width.
   * Outputs:
   *   0: output, of the same type, [batch, depth, height, width, output channels].
   */
  HALYARD_TFLITE_CONV_3D_TRANSPOSE = 35,

  /**
   * a * 2^b, of which the lower 32 bits are kept; 0 unless b is 0 to 31. Operands as for
   * RIGHT_SHIFT.
   */
  HALYARD_TFLITE_LEFT_SHIFT = 36
};

#endif  // HALYARD_TFLITE_EXTENSION_H_
