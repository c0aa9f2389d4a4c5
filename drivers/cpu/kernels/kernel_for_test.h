// Runs a kernel of the driver and the reference kernel on the same operands, and compares.
// Thread safety: none needed.
// Ownership: operands own their bytes.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "kernel_list.h"
#include "kernels/matrix/gemm_half.h"
#include "ops/random_for_test.h"

namespace halyard::cpudriver::testing {

using ops::testing::RandomOperands;
using ops::testing::TestOperand;

inline constexpr int kAllLevels = std::size(ops::kSimdLevels);

// Tensors `inputs`, of which the first `variables` are no constants at compilation.
struct KernelCase {
  OperationType operation;
  std::vector<TestOperand> inputs;
  std::vector<TestOperand> outputs;  // as runOperation wants them
  size_t variables = 1;
  double slack = 0;  // for floats, absolute
};

// Runs `kernel` on the case's inputs, and returns the outputs. Bytes that it does not write are
// 0xa5.
inline std::vector<std::vector<uint8_t>> runKernel(const Kernel& kernel, KernelCase& test,
                                                   ops::KernelServices& services) {
  std::vector<void*> data;
  std::vector<uint32_t> inputs;
  std::vector<uint32_t> outputs;
  for (TestOperand& input : test.inputs) {
    inputs.push_back(static_cast<uint32_t>(data.size()));
    // Memory that ends with the operand, so that AddressSanitizer sees reads behind it.
    data.push_back(input.bytes.data());
  }
  std::vector<std::vector<uint8_t>> results;
  for (const TestOperand& output : test.outputs) {
    results.emplace_back(output.bytes.size(), uint8_t{0xa5});
  }
  for (std::vector<uint8_t>& result : results) {
    outputs.push_back(static_cast<uint32_t>(data.size()));
    data.push_back(result.data());
  }
  const Status status = kernel.run({data.data(), inputs, outputs}, services);
  EXPECT_TRUE(status.ok()) << status.toString();
  return results;
}
inline std::vector<std::vector<uint8_t>> runKernel(const Kernel& kernel, KernelCase& test) {
  ops::testing::InlineServices services;
  return runKernel(kernel, test, services);
}

inline void expectSame(const std::vector<uint8_t>& actual, const TestOperand& expected,
                       double slack, const std::string& what) {
  if (expected.tensor.type != OperandType::TENSOR_FLOAT32) {
    ASSERT_EQ(actual, expected.bytes) << what;
    return;
  }
  const auto wanted = expected.values<float>();
  TestOperand got = expected;
  got.bytes = actual;
  const auto values = got.values<float>();
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (std::isnan(wanted[i])) {
      ASSERT_TRUE(std::isnan(values[i])) << what << ", element " << i;
      continue;
    }
    const double tolerance = slack + 1e-6 * std::abs(static_cast<double>(wanted[i]));
    ASSERT_NEAR(values[i], wanted[i], tolerance) << what << ", element " << i;
  }
}

// The slack of results that may be computed in float16: sixteen of its steps at the largest sum. An
// activation may hide that. Sums of some hundred products of the tests' inputs reach 8 and more.
inline double halfSlack(const TestOperand& expected) {
  if (expected.tensor.type != OperandType::TENSOR_FLOAT32) return 0;
  double largest = 8;
  for (const float value : expected.values<float>()) {
    if (std::isfinite(value)) largest = std::max(largest, std::abs(static_cast<double>(value)));
  }
  return 16 * largest / 1024;
}

// Counts the pieces that kernels pack, and remembers the constants that they release.
class PackingWatch final : public Packing {
 public:
  Bytes get(size_t bytes, const Write& write) override {
    ++pieces_;
    return makeHere(bytes, write);
  }
  void release(const void* data) override { released_.insert(data); }
  void endStep(bool /*hasKernel*/, const std::vector<const void*>& /*constants*/) override {}

  size_t pieces() const { return pieces_; }
  bool isReleased(const void* data) const { return released_.contains(data); }

 private:
  size_t pieces_ = 0;
  std::set<const void*> released_;
};

// Results do not change when the constants that a kernel has released lose their bytes.
inline void checkReleasedConstants(const KernelCase& test, KernelSite site,
                                   const std::string& what) {
  KernelCase stripped = test;
  std::vector<ops::Tensor> inputs(site.inputs.begin(), site.inputs.end());
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].data != nullptr) inputs[i].data = stripped.inputs[i].bytes.data();
  }
  site.inputs = inputs;
  PackingWatch packing;
  site.packing = &packing;
  const auto kernel = makeKernel(*ops::definitionOf(test.operation), site);
  ASSERT_NE(kernel, nullptr) << what;
  const auto expected = runKernel(*kernel, stripped);
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!packing.isReleased(inputs[i].data)) continue;
    std::ranges::fill(stripped.inputs[i].bytes, uint8_t{0x6d});
  }
  EXPECT_EQ(runKernel(*kernel, stripped), expected) << what << ", without released constants";
}

// Compares for every level that this processor has, with float16 where it has arithmetic for that,
// too. At least `needed` of them must have a kernel,
// or all if there are fewer.
inline void checkKernel(KernelCase test, int needed, const std::string& what) {
  const Status status = ops::testing::runOperation(test.operation, test.inputs, test.outputs);
  ASSERT_TRUE(status.ok()) << status.toString() << "\n" << what;
  int levels = 0;
  int kernels = 0;
  for (const ops::SimdLevel level : ops::kSimdLevels) {
    if (!ops::hasSimdLevel(level)) continue;
    ++levels;
    std::vector<ops::Tensor> inputs;
    std::vector<ops::Tensor> outputs;
    for (size_t i = 0; i < test.inputs.size(); ++i) {
      inputs.push_back(test.inputs[i].tensor);
      if (i >= test.variables) inputs.back().data = test.inputs[i].bytes.data();
    }
    for (const TestOperand& output : test.outputs) outputs.push_back(output.tensor);
    KernelSite site = {inputs, outputs, level};
    const auto kernel = makeKernel(*ops::definitionOf(test.operation), site);
    if (kernel == nullptr) continue;
    ++kernels;
    const auto results = runKernel(*kernel, test);
    for (size_t i = 0; i < results.size(); ++i) {
      expectSame(results[i], test.outputs[i], test.slack,
                 what + fmt::format(", level {}, output {}", static_cast<int>(level), i));
      if (::testing::Test::HasFatalFailure()) return;
    }
    checkReleasedConstants(test, site, what);
    if (::testing::Test::HasFatalFailure()) return;
    if (halfGemm(level) == nullptr) continue;
    site.isRelaxed = true;
    const auto relaxed = makeKernel(*ops::definitionOf(test.operation), site);
    ASSERT_NE(relaxed, nullptr) << what;
    const auto near = runKernel(*relaxed, test);
    for (size_t i = 0; i < near.size(); ++i) {
      expectSame(near[i], test.outputs[i], test.slack + halfSlack(test.outputs[i]),
                 what + fmt::format(", relaxed, level {}, output {}", static_cast<int>(level), i));
      if (::testing::Test::HasFatalFailure()) return;
    }
  }
  EXPECT_GE(kernels, std::min(needed, levels)) << what;
}

}  // namespace halyard::cpudriver::testing
