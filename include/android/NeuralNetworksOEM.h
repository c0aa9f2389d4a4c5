// SPDX-License-Identifier: Apache-2.0
//
// The codes that let a maker of devices add one operation and two operand types of its own.
// Thread safety: constants.
// Ownership: none.
//
// Deprecated since feature level 3: extensions (NeuralNetworksExtensions.h) do this better, since
// two makers cannot clash there.

#ifndef HALYARD_ANDROID_NEURAL_NETWORKS_OEM_H_
#define HALYARD_ANDROID_NEURAL_NETWORKS_OEM_H_

#ifdef __cplusplus
extern "C" {
#endif

/** Continues OperationCode. */
typedef enum {
  /** An operation known only to the driver; its operands are not checked. */
  ANEURALNETWORKS_OEM_OPERATION = 10000,
} OEMOperationCode;

/** Continues OperandCode. Scale and zero point of these types are not checked. */
typedef enum {
  /** A scalar of any size; the length given with its value tells which. */
  ANEURALNETWORKS_OEM_SCALAR = 10000,
  /** A tensor of bytes. */
  ANEURALNETWORKS_TENSOR_OEM_BYTE = 10001,
} OEMOperandCode;

#ifdef __cplusplus
}  // extern "C"
#endif

#endif  // HALYARD_ANDROID_NEURAL_NETWORKS_OEM_H_
