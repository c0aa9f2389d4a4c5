// SPDX-License-Identifier: Apache-2.0
//
// The extension "halyard.tflite", as a C99 header: operations of TensorFlow Lite for which NNAPI
// needs up to nineteen, or one for each step of a sequence. Halyard's importer uses them where
// every device that a model is compiled for offers the extension (ask
// ANeuralNetworksDevice_getExtensionSupport), and operations of the API elsewhere, with the same
// results. The runtime's own CPU device and halyard-cpu offer it. It has no operand types of its
// own.
//
// An application gets an operation's type from ANeuralNetworksModel_getExtensionOperationType. In a
// driver it is a halyard::OperationType, and its operands have been checked like those of the API's
// operations. The prefix of this extension is 0x7fff in every process, and no other extension's.

#ifndef HALYARD_TFLITE_EXTENSION_H_
#define HALYARD_TFLITE_EXTENSION_H_

#define HALYARD_TFLITE_EXTENSION "halyard.tflite"

enum {
  /**
   * Rounds each row of a tensor to the 256 steps of a byte, from its least to its greatest value:
   * what dynamic-range quantisation makes of the input of a layer with weights of 8 bits.
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
  HALYARD_TFLITE_QUANTIZED_SEQUENCE_LSTM = 1
};

#endif  // HALYARD_TFLITE_EXTENSION_H_
