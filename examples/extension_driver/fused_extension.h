// The extension com.example.fused: the definitions that its driver and its applications share. C99.
// Thread safety: none needed. Ownership: none.
//
// Numbers are those of the extension. The API puts a prefix in front of them, which differs from
// one process to the next; only the name stays the same.
#ifndef EXAMPLE_FUSED_EXTENSION_H_
#define EXAMPLE_FUSED_EXTENSION_H_

#include <stdint.h>

#define FUSED_EXTENSION_NAME "com.example.fused"

// Operand types.
enum {
  // A tensor whose elements are FusedBlocks: 32 neighbouring values of the last dimension, with a
  // scale
  // of their own. [2, 64] values are [2, 2] blocks. Extension data: a FusedBlockFormat, or none for
  // 8
  // bits.
  FUSED_TENSOR_QUANT_BLOCK = 0,
  // A scalar, a FusedSoftmaxParams.
  FUSED_SOFTMAX_PARAMS = 1,
};

// Operations.
enum {
  // 0: TENSOR_FLOAT32 [rows, 32 * n]
  // -> 0: FUSED_TENSOR_QUANT_BLOCK [rows, n], whose format says how many bits are used.
  FUSED_QUANTIZE_BLOCKS = 0,
  // out = softmax(beta * values / temperature) within each row.
  // 0: FUSED_TENSOR_QUANT_BLOCK [rows, n]; 1: FUSED_SOFTMAX_PARAMS, constant
  // -> 0: TENSOR_FLOAT32 [rows, 32 * n]
  FUSED_SCALED_SOFTMAX = 1,
};

// Attributes. Each is a float.
enum {
  // Of a compilation: values are clamped to +-limit before the softmax. None: they are not.
  FUSED_LIMIT = 0,
  // Of an execution: more than 0; 1 when it is not given.
  FUSED_TEMPERATURE = 1,
};

#define FUSED_BLOCK_VALUES 32

typedef struct {
  float scale;
  int8_t values[FUSED_BLOCK_VALUES];  // real value = scale * value
} FusedBlock;

typedef struct {
  uint8_t bits;  // 2 to 8: values are from -(2^(bits-1) - 1) to 2^(bits-1) - 1
} FusedBlockFormat;

typedef struct {
  float beta;
  uint32_t columns;  // results behind so many are 0 and count for nothing; 0: all columns count
} FusedSoftmaxParams;

#endif  // EXAMPLE_FUSED_EXTENSION_H_
