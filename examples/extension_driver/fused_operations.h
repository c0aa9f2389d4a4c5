// The operations of the extension com.example.fused: their checks and their computation. Thread
// safety: pure functions over immutable steps. Ownership: a step owns all it has.
#pragma once

#include <halyard/driver/driver.h>

#include <optional>

#include "fused_extension.h"

namespace example {

// One operation, ready to run. Operands by their index in the model.
struct Step {
  bool isSoftmax = false;  // else the quantisation
  uint32_t input = 0;
  uint32_t output = 0;
  uint32_t rows = 0;
  uint32_t blocks = 0;    // in each row
  int32_t largest = 127;  // of quantised values
  FusedSoftmaxParams params = {};
  std::optional<float> limit;
};

// The prefix that the model gives to com.example.fused; nullopt: the model does not use the
// extension.
std::optional<uint16_t> prefixOf(const halyard::Model& model);

// The step of an operation, or the reason why it is invalid. Halyard does not check an extension's
// operations: neither the number of their operands nor their types, dimensions or data.
halyard::Result<Step> makeStep(const halyard::Model& model, size_t index);

// Bytes of a value of the operand, as far as this extension and TENSOR_FLOAT32 go.
size_t byteSize(const halyard::Model& model, uint32_t operand);

void quantizeBlocks(const Step& step, const float* in, FusedBlock* out);
void scaledSoftmax(const Step& step, float temperature, const FusedBlock* in, float* out);

}  // namespace example
