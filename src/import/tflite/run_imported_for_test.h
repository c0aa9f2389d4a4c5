// Runs imported models on the CPU, for tests.
// Thread safety: pure functions. Ownership: results are values.
#pragma once

#include <memory>
#include <vector>

#include "cpu/executor.h"
#include "import/tflite/import_for_test.h"

namespace halyard::import {

// Returns the elements of an input: float i/2 - 1, the integer i - 1, or the byte 7 i + 100
// (wrapping) of the quantised types.
inline std::vector<uint8_t> rampInput(const ModelPort& port) {
  const uint32_t count = knownElementCount(port.dims).value_or(0);
  if (port.type == OperandType::TENSOR_FLOAT32) {
    std::vector<float> values;
    for (uint32_t i = 0; i < count; ++i) values.push_back(0.5f * static_cast<float>(i) - 1.0f);
    return bytesOf(values);
  }
  if (port.type == OperandType::TENSOR_INT32) {
    std::vector<int32_t> values;
    for (uint32_t i = 0; i < count; ++i) values.push_back(static_cast<int32_t>(i) - 1);
    return bytesOf(values);
  }
  std::vector<uint8_t> values;
  for (uint32_t i = 0; i < count; ++i) values.push_back(static_cast<uint8_t>(7 * i + 100));
  return values;
}

struct RunResult {
  Status status;
  std::vector<std::vector<uint8_t>> outputs;
  std::vector<Shape> dims;  // of the outputs
};

// Runs the model with these bytes as inputs, and these dimensions if the model leaves some open.
inline RunResult runWith(const Result<ImportedModel>& imported,
                         std::vector<std::vector<uint8_t>> inputs,
                         const std::vector<Shape>& inputDims = {}) {
  if (!imported.ok()) return {imported.status(), {}, {}};
  constexpr size_t kRoom = 4096;
  const auto model = std::make_shared<const Model>(imported->model);
  auto executor = cpu::Executor::create(model, nullptr);
  if (!executor.ok()) return {executor.status(), {}, {}};
  RunResult result;
  std::vector<cpu::Argument> in, out;
  for (size_t i = 0; i < inputs.size(); ++i) {
    in.push_back(
        {inputs[i].data(), inputs[i].size(), i < inputDims.size() ? inputDims[i] : Shape()});
  }
  for (const ModelPort& port : imported->outputs) {
    result.outputs.emplace_back(knownByteSize(port.type, port.dims).value_or(kRoom));
  }
  for (size_t i = 0; i < result.outputs.size(); ++i) {
    out.push_back({result.outputs[i].data(), result.outputs[i].size(), imported->outputs[i].dims});
  }
  const hal::ExecutionResult done = (*executor)->execute(in, out, {});
  result.status = done.status;
  for (size_t i = 0; i < result.outputs.size() && done.status.ok(); ++i) {
    result.dims.push_back(done.outputShapes[i].dimensions);
    result.outputs[i].resize(realByteSize(imported->outputs[i].type, result.dims[i]).value_or(0));
  }
  return result;
}

// Returns the bytes of every output.
inline std::vector<std::vector<uint8_t>> run(const Result<ImportedModel>& imported) {
  // Nothing after this could be checked.
  if (!imported.ok()) GTEST_LOG_(FATAL) << imported.status().toString();
  const auto model = std::make_shared<const Model>(imported->model);
  auto executor = cpu::Executor::create(model, nullptr);
  if (!executor.ok()) GTEST_LOG_(FATAL) << executor.status().toString();
  std::vector<std::vector<uint8_t>> inputs, outputs;
  std::vector<cpu::Argument> in, out;
  for (const ModelPort& port : imported->inputs) inputs.push_back(rampInput(port));
  for (const ModelPort& port : imported->outputs) {
    outputs.emplace_back(knownByteSize(port.type, port.dims).value_or(0));
  }
  for (auto& bytes : inputs) in.push_back({bytes.data(), bytes.size(), {}});
  for (auto& bytes : outputs) out.push_back({bytes.data(), bytes.size(), {}});
  const hal::ExecutionResult result = (*executor)->execute(in, out, {});
  EXPECT_TRUE(result.status.ok()) << result.status.toString();
  return outputs;
}

inline std::vector<std::vector<uint8_t>> run(const ModelWriter& writer) {
  return run(importModel(writer));
}

template <typename T>
std::vector<T> as(const std::vector<uint8_t>& bytes) {
  std::vector<T> values(bytes.size() / sizeof(T));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

}  // namespace halyard::import
