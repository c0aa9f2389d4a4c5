// Layers that round their input to bytes, against the reference kernels on input that is rounded
// before.
#include <cmath>
#include <limits>

#include "kernels/layers/layer_for_test.h"
#include "kernels/matrix/gemm_quant8.h"

namespace halyard::cpudriver::testing {
namespace {

using namespace ops::testing;
using enum OperandType;

constexpr ops::RoundingSteps kSteps = {-128, 127, 1e-30f};

// The result of the fused operations, one rounding after the other.
TestOperand rounded(const TestOperand& operand, size_t extent) {
  std::vector<float> values = operand.values<float>();
  for (size_t row = 0; row < values.size(); row += extent) {
    float low = 0;
    float high = 0;
    for (size_t i = row; i < row + extent; ++i) {
      low = std::min(low, values[i]);
      high = std::max(high, values[i]);
    }
    const float range = std::max(high - low, kSteps.smallestRange);
    const float perUnit = 255 / range;
    const volatile float lowest = low * perUnit;
    const float zeroPoint = std::floor(-127.5f - lowest);
    const float step = range / 255;
    for (size_t i = row; i < row + extent; ++i) {
      const volatile float units = values[i] * perUnit;
      const float whole = std::floor(units + 0.5f);
      values[i] = std::clamp(whole, -128 - zeroPoint, 127 - zeroPoint) * step;
    }
  }
  return TestOperand::of<float>(TENSOR_FLOAT32, operand.tensor.dims, values);
}

// Multiples of a step of each column, [columns][depth] however it is shaped.
TestOperand steppedFilter(RandomOperands& random, const Shape& dims) {
  std::vector<float> values;
  for (uint32_t column = 0; column < dims[0]; ++column) {
    const float step = random.realBetween(0.0001f, 0.01f);
    const int most = random.oneOf({127, 127, 90, 3, 0});
    for (size_t k = 0; k < elementsOf(dims) / dims[0]; ++k) {
      values.push_back(static_cast<float>(random.between(-most, most)) * step);
    }
  }
  return TestOperand::of<float>(TENSOR_FLOAT32, dims, values);
}

bool hasRealResults(ops::SimdLevel level) {
  if (!ops::hasSimdLevel(level)) return false;
  const Quant8Gemm* const gemm = quant8Gemm(level);
  return gemm != nullptr && gemm->hasReal();
}

// The case's first input is rounded in rows of `extent`.
void checkRounded(KernelCase test, size_t extent, const std::string& what) {
  std::vector<TestOperand> inputs = test.inputs;
  inputs[0] = rounded(inputs[0], extent);
  const Status status = runOperation(test.operation, inputs, test.outputs);
  ASSERT_TRUE(status.ok()) << status.toString() << "\n" << what;
  for (const ops::SimdLevel level : ops::kSimdLevels) {
    if (!hasRealResults(level)) continue;
    std::vector<ops::Tensor> tensors;
    for (size_t i = 0; i < test.inputs.size(); ++i) {
      tensors.push_back(test.inputs[i].tensor);
      if (i > 0) tensors.back().data = test.inputs[i].bytes.data();
    }
    const std::vector<ops::Tensor> outputs = {test.outputs[0].tensor};
    KernelSite site = {tensors, outputs, level};
    site.fused.rounding = RoundedRows{kSteps, extent};
    const auto kernel = makeKernel(*ops::definitionOf(test.operation), site);
    ASSERT_NE(kernel, nullptr) << what;
    expectSame(runKernel(*kernel, test)[0], test.outputs[0], test.slack, what);
    checkReleasedConstants(test, site, what);
    if (::testing::Test::HasFatalFailure()) return;
  }
}

KernelCase convCase(RandomOperands& random, const TestWindow& window, uint32_t batch,
                    uint32_t depth, uint32_t channels) {
  const auto size = [](int n) { return static_cast<uint32_t>(n); };
  KernelCase test;
  test.operation = OperationType::CONV_2D;
  test.inputs = {random.tensor(TENSOR_FLOAT32,
                               {batch, size(window.height.input), size(window.width.input), depth}),
                 steppedFilter(random, {channels, size(window.height.filter),
                                        size(window.width.filter), depth}),
                 random.tensor(TENSOR_FLOAT32, {channels})};
  window.appendPaddingAndStrides(test.inputs);
  test.inputs.push_back(TestOperand::int32(random.between(0, 3)));
  window.appendLayoutAndDilations(test.inputs);
  test.outputs = {TestOperand::output(TENSOR_FLOAT32)};
  test.slack = 0x1p-22 * window.height.filter * window.width.filter * depth;
  return test;
}

TEST(RoundedConvKernel, OfWholeImagesIsTheReference) {
  RandomOperands random(81);
  for (int round = 0; round < 120; ++round) {
    TestWindow window = randomWindow(random, /*mayDilate=*/true);
    window.nchw = false;
    const auto batch = random.oneOf<uint32_t>({1, 1, 2, 3});
    const auto depth = static_cast<uint32_t>(random.between(1, 20));
    KernelCase test =
        convCase(random, window, batch, depth, static_cast<uint32_t>(random.between(1, 70)));
    const size_t extent = elementsOf(test.inputs[0].tensor.dims) / batch;
    checkRounded(std::move(test), extent,
                 fmt::format("batch {}, depth {}, {}", batch, depth, window.text()));
    if (HasFatalFailure()) return;
  }
}

TEST(RoundedConvKernel, OfPixelsIsTheReference) {
  RandomOperands random(82);
  for (int round = 0; round < 60; ++round) {
    const auto depth = static_cast<uint32_t>(random.between(2, 200));
    const TestWindow window = sameWindow(random.between(1, 20), random.between(1, 20), 1, 1);
    checkRounded(convCase(random, window, 1, depth, static_cast<uint32_t>(random.between(1, 100))),
                 depth, fmt::format("depth {}, {}", depth, window.text()));
    if (HasFatalFailure()) return;
  }
}

KernelCase connectionCase(RandomOperands& random, uint32_t batch, uint32_t depth, uint32_t units) {
  KernelCase test;
  test.operation = OperationType::FULLY_CONNECTED;
  test.inputs = {random.tensor(TENSOR_FLOAT32, {batch, depth}),
                 steppedFilter(random, {units, depth}), random.tensor(TENSOR_FLOAT32, {units}),
                 TestOperand::int32(random.between(0, 3))};
  test.outputs = {TestOperand::output(TENSOR_FLOAT32)};
  test.slack = 0x1p-22 * depth;
  return test;
}

TEST(RoundedConnectionKernel, IsTheReference) {
  RandomOperands random(83);
  for (int round = 0; round < 60; ++round) {
    const auto batch = static_cast<uint32_t>(random.oneOf({1, 1, 2, 5, 14, 40, 300}));
    const auto depth = static_cast<uint32_t>(random.between(1, 300));
    const auto units = static_cast<uint32_t>(random.between(1, 100));
    checkRounded(connectionCase(random, batch, depth, units), depth,
                 fmt::format("{} x {} x {}", batch, depth, units));
    if (HasFatalFailure()) return;
  }
}

TEST(RoundedConnectionKernel, RowsThatAreNotFiniteGiveNaN) {
  RandomOperands random(84);
  constexpr size_t kDepth = 37;
  constexpr size_t kUnits = 20;
  KernelCase test = connectionCase(random, 30, kDepth, kUnits);
  test.inputs[3] = TestOperand::int32(1);
  std::vector<float> values = test.inputs[0].values<float>();
  values[3 * kDepth + 5] = std::numeric_limits<float>::quiet_NaN();
  values[7 * kDepth + 36] = -std::numeric_limits<float>::infinity();
  std::fill_n(values.begin() + 11 * kDepth, kDepth, 0.0f);
  test.inputs[0] = TestOperand::of<float>(TENSOR_FLOAT32, {30, kDepth}, values);
  ASSERT_TRUE(runOperation(test.operation, test.inputs, test.outputs).ok());
  for (const ops::SimdLevel level : ops::kSimdLevels) {
    if (!hasRealResults(level)) continue;
    std::vector<ops::Tensor> tensors;
    for (TestOperand& input : test.inputs) {
      tensors.push_back(input.tensor);
      if (tensors.size() > 1) tensors.back().data = input.bytes.data();
    }
    const std::vector<ops::Tensor> outputs = {test.outputs[0].tensor};
    KernelSite site = {tensors, outputs, level};
    site.fused.rounding = RoundedRows{kSteps, kDepth};
    const auto kernel = makeKernel(*ops::definitionOf(test.operation), site);
    ASSERT_NE(kernel, nullptr);
    TestOperand result = test.outputs[0];
    result.bytes = runKernel(*kernel, test)[0];
    const std::vector<float> results = result.values<float>();
    const std::vector<float> bias = test.inputs[2].values<float>();
    for (size_t i = 0; i < results.size(); ++i) {
      const size_t row = i / kUnits;
      EXPECT_EQ(std::isnan(results[i]), row == 3 || row == 7) << i;
      if (row == 11) {
        EXPECT_EQ(results[i], std::max(bias[i % kUnits], 0.0f));
      }
    }
  }
}

TEST(RoundedConnectionKernel, ThereIsNoneForWeightsThatAreNoMultiples) {
  RandomOperands random(85);
  KernelCase test = connectionCase(random, 2, 64, 8);
  test.inputs[1] = random.tensor(TENSOR_FLOAT32, {8, 64});
  ASSERT_TRUE(runOperation(test.operation, test.inputs, test.outputs).ok());
  std::vector<ops::Tensor> tensors;
  for (TestOperand& input : test.inputs) {
    tensors.push_back(input.tensor);
    if (tensors.size() > 1) tensors.back().data = input.bytes.data();
  }
  const std::vector<ops::Tensor> outputs = {test.outputs[0].tensor};
  KernelSite site = {tensors, outputs};
  site.fused.rounding = RoundedRows{kSteps, 64};
  EXPECT_EQ(makeKernel(*ops::definitionOf(test.operation), site), nullptr);
}

}  // namespace
}  // namespace halyard::cpudriver::testing
