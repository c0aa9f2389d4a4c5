// Runs models as steps of the CPU driver, and compares them with the executor.
// Thread safety: pure functions. Ownership: values.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <random>
#include <vector>

#include "compiled_model.h"
#include "cpu/executor.h"
#include "ops/simd.h"

namespace halyard::cpudriver::testing {

struct Memory {
  std::vector<std::vector<uint8_t>> bytes;
  std::vector<cpu::Argument> arguments;
};

inline Memory memoryFor(const Model& model, const std::vector<uint32_t>& operands, bool isRandom) {
  Memory memory;
  std::mt19937 engine(3);
  memory.bytes.reserve(operands.size());
  for (const uint32_t index : operands) {
    const Operand& operand = model.main.operands[index];
    const size_t count = *knownElementCount(operand.dimensions);
    memory.bytes.emplace_back(count * elementSize(operand.type));
    std::vector<uint8_t>& bytes = memory.bytes.back();
    for (size_t i = 0; isRandom && i < count; ++i) {
      if (operand.type == OperandType::TENSOR_FLOAT32) {
        const float value = std::uniform_real_distribution<float>(-2, 2)(engine);
        std::memcpy(&bytes[i * sizeof value], &value, sizeof value);
      } else {
        bytes[i] = static_cast<uint8_t>(engine());
      }
    }
    // As if another process could write it.
    memory.arguments.push_back({bytes.data(), static_cast<uint32_t>(bytes.size()), {}, true});
  }
  return memory;
}

// `slack`: of floats, relative to the largest of them, or to 10.
inline void expectNear(const std::vector<uint8_t>& actual, const std::vector<uint8_t>& wanted,
                       OperandType type, float slack) {
  if (type != OperandType::TENSOR_FLOAT32) {
    EXPECT_EQ(actual, wanted);
    return;
  }
  std::vector<float> a(actual.size() / sizeof(float));
  std::vector<float> b(a.size());
  std::memcpy(a.data(), actual.data(), actual.size());
  std::memcpy(b.data(), wanted.data(), wanted.size());
  float largest = 10;
  for (const float value : b) largest = std::max(largest, std::abs(value));
  for (size_t i = 0; i < a.size(); ++i) ASSERT_NEAR(a[i], b[i], slack * largest) << i;
}

// Terms that are added in another order, and some of which cancel each other.
inline constexpr float kOtherOrder = 1e-6f;

// That the model becomes `steps` steps, and computes what the executor does.
inline void expectSteps(const std::shared_ptr<const Model>& model, size_t steps,
                        float slack = kOtherOrder) {
  const auto compiled = CompiledModel::compile(model, {});
  ASSERT_TRUE(compiled.ok()) << compiled.status().toString();
  ASSERT_NE(*compiled, nullptr);
  // Without 8 bit kernels for the processor there is less to fuse.
  if (ops::simdLevel() >= ops::SimdLevel::AVX512) {
    EXPECT_EQ((*compiled)->facts().steps, steps);
  }
  const auto executor = cpu::Executor::create(model, nullptr);
  ASSERT_TRUE(executor.ok()) << executor.status().toString();
  const Memory inputs = memoryFor(*model, model->main.inputIndexes, true);
  const Memory wanted = memoryFor(*model, model->main.outputIndexes, false);
  const hal::ExecutionResult right = (*executor)->execute(inputs.arguments, wanted.arguments, {});
  ASSERT_TRUE(right.status.ok()) << right.status.toString();
  for (int run = 0; run < 2; ++run) {
    const Memory outputs = memoryFor(*model, model->main.outputIndexes, false);
    const hal::ExecutionResult result = (*compiled)->run(inputs.arguments, outputs.arguments, {});
    ASSERT_TRUE(result.status.ok()) << result.status.toString();
    for (size_t i = 0; i < outputs.bytes.size(); ++i) {
      expectNear(outputs.bytes[i], wanted.bytes[i],
                 model->main.operands[model->main.outputIndexes[i]].type, slack);
    }
  }
}

}  // namespace halyard::cpudriver::testing
