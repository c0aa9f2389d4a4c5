// Comparison of the device's results with those of the reference kernels.
// Thread safety: for tests, one thread. Ownership: none.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "accuracy/accuracy.h"
#include "halyard/driver/device.h"
#include "ops/testing/legal_case.h"

namespace halyard::vulkandriver::testing {

template <typename T>
hal::RequestArgument argumentFor(std::vector<T>& values) {
  hal::RequestArgument made;
  made.kind = hal::RequestArgument::Kind::POINTER;
  made.pointer = values.data();
  made.length = static_cast<uint32_t>(values.size() * sizeof(T));
  return made;
}

// Whether results are equal to the bit. Coordinates of 16 bits come from floats.
inline bool isExact(OperandType type) {
  return isQuant8Asymm(type) || type == OperandType::TENSOR_QUANT8_SYMM ||
         type == OperandType::TENSOR_QUANT16_SYMM;
}

// The outputs must be those of the reference kernel: bytes and states of 16 bits exactly, or within
// one between pixels. Floats and coordinates must be within the limits for devices.
inline void compare(const Model& model, const ops::testing::TestOperand& expected,
                    const std::vector<uint8_t>& actual) {
  const OperandType type = expected.tensor.type;
  // Sums of weighted pixels and peaks of parabolas are rounded in another way, which moves a tie.
  const OperationType operation = model.main.operations[0].type;
  const bool mayDiffer = operation == OperationType::RESIZE_BILINEAR ||
                         operation == OperationType::ROI_ALIGN ||
                         operation == OperationType::HEATMAP_MAX_KEYPOINT;
  if (isExact(type)) {
    for (size_t i = 0; i < actual.size() / elementSize(type); ++i) {
      const double difference = accuracy::elementNumber(type, actual, i) -
                                accuracy::elementNumber(type, expected.bytes, i);
      ASSERT_LE(std::abs(difference), mayDiffer ? 1 : 0) << "element " << i;
    }
    return;
  }
  const bool isRelaxed = model.relaxComputationFloat32toFloat16;
  const accuracy::Comparison comparison = accuracy::compareValues(
      type, accuracy::criteriaFor(type, accuracy::scopeOf(model), isRelaxed), expected.bytes,
      actual);
  ASSERT_FALSE(comparison.failed) << comparison.text;
}

// Whether the device takes the case, of which `made` is a model. Its results are then compared.
// Otherwise `refusal` gets the reason.
inline bool check(hal::Device& device, const Model& made, ops::testing::LegalCase& legal,
                  std::string* refusal = nullptr) {
  const Result<ValidModel> model = validated(made);
  if (!model.ok()) {
    if (refusal != nullptr) *refusal = model.status().toString();
    return false;
  }
  const auto supported = device.getSupportedOperations(*model);
  EXPECT_TRUE(supported.ok()) << supported.status().toString();
  if (!supported.ok() || !hal::supportsAll(*supported)) {
    if (refusal != nullptr) {
      *refusal = supported.ok() ? supported->front().reason : supported.status().toString();
    }
    return false;
  }
  const auto prepared = device.prepareModel(*model, {});
  EXPECT_TRUE(prepared.ok()) << prepared.status().toString();
  if (!prepared.ok()) return false;
  hal::Request request;
  const Subgraph& main = (*model)->main;
  for (const uint32_t input : main.inputIndexes) {
    request.inputs.push_back(argumentFor(legal.inputs[input].bytes));
  }
  std::vector<std::vector<uint8_t>> results;
  for (const auto& output : legal.outputs) {
    results.emplace_back(output.bytes.size(), uint8_t{0xa5});
  }
  for (auto& result : results) request.outputs.push_back(argumentFor(result));
  const hal::ExecutionResult result = (*prepared)->executeSynchronously(request, {});
  EXPECT_TRUE(result.status.ok()) << result.status.toString();
  for (size_t i = 0; i < results.size() && result.status.ok(); ++i) {
    if (std::ranges::find(legal.unspecifiedOutputs, i) != legal.unspecifiedOutputs.end()) continue;
    compare(**model, legal.outputs[i], results[i]);
  }
  return true;
}

}  // namespace halyard::vulkandriver::testing
