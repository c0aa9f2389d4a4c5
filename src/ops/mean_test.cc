// MEAN over every set of axes against sums by coordinates.
#include <gtest/gtest.h>

#include <algorithm>

#include "ops/naive_for_test.h"

namespace halyard::ops::testing {
namespace {

using enum OperandType;

struct Naive {
  Shape keptShape;     // with reduced dimensions as 1
  Shape removedShape;  // without them
  std::vector<double> means;
};

Naive naiveMean(const TestOperand& x, const std::vector<bool>& reduced) {
  const Shape& dims = x.tensor.dims;
  Naive naive;
  for (size_t d = 0; d < dims.size(); ++d) {
    naive.keptShape.push_back(reduced[d] ? 1 : dims[d]);
    if (!reduced[d]) naive.removedShape.push_back(dims[d]);
  }
  if (naive.removedShape.empty()) naive.removedShape = {1};
  naive.means.assign(elementsOf(naive.keptShape), 0);
  const std::vector<double> reals = realValues(x);
  for (size_t i = 0; i < reals.size(); ++i) {
    std::vector<size_t> at = coordinatesOf(i, dims);
    for (size_t d = 0; d < at.size(); ++d) {
      if (reduced[d]) at[d] = 0;
    }
    naive.means[indexOf(at, naive.keptShape)] += reals[i];
  }
  for (double& mean : naive.means) {
    mean *= static_cast<double>(naive.means.size()) / static_cast<double>(reals.size());
  }
  return naive;
}

TEST(Mean, AgreesWithDefinition) {
  RandomOperands random(71);
  for (OperandType type :
       {TENSOR_FLOAT32, TENSOR_FLOAT16, TENSOR_QUANT8_ASYMM, TENSOR_QUANT8_ASYMM_SIGNED}) {
    for (size_t rank = 1; rank <= 4; ++rank) {
      for (size_t set = 0; set < (size_t{1} << rank); ++set) {
        Shape dims(rank);
        for (uint32_t& d : dims) d = static_cast<uint32_t>(random.between(1, 11));
        const TestOperand x = random.tensor(type, dims);
        std::vector<int32_t> axes;
        std::vector<bool> reduced(rank);
        for (size_t d = 0; d < rank; ++d) {
          reduced[d] = ((set >> d) & 1) != 0;
          if (!reduced[d]) continue;
          const auto axis = static_cast<int32_t>(d);
          axes.push_back(random.coin() ? axis : axis - static_cast<int32_t>(rank));
          if (random.coin()) axes.push_back(axis);  // listing it twice changes nothing
        }
        const Naive naive = naiveMean(x, reduced);
        for (int keep : {0, 1, 7, -1}) {
          std::vector<TestOperand> inputs = {x, intList(axes), TestOperand::int32(keep)};
          std::vector<TestOperand> outputs = {outputLike(x)};
          const Status status = runOperation(OperationType::MEAN, inputs, outputs);
          ASSERT_TRUE(status.ok()) << status.toString();
          EXPECT_EQ(outputs[0].tensor.dims, keep > 0 ? naive.keptShape : naive.removedShape);
          expectReals(outputs[0], naive.means,
                      fmt::format("{} {} over [{}]", operandTypeName(type), fmt::join(dims, "x"),
                                  fmt::join(axes, ",")));
          if (HasFatalFailure()) return;
        }
      }
    }
  }
}

TEST(Mean, LongSumsStayPrecise) {
  // In single precision the sum would stop growing at 2^24.
  const uint32_t count = 1u << 25;
  std::vector<TestOperand> inputs = {
      TestOperand::of<float>(TENSOR_FLOAT32, {count}, std::vector<float>(count, 1.0f)),
      intList({0}), TestOperand::int32(0)};
  std::vector<TestOperand> outputs = {TestOperand::output(TENSOR_FLOAT32)};
  ASSERT_TRUE(runOperation(OperationType::MEAN, inputs, outputs).ok());
  EXPECT_EQ(outputs[0].tensor.dims, (Shape{1}));
  EXPECT_EQ(outputs[0].values<float>()[0], 1.0f);
}

TEST(Mean, Refuses) {
  RandomOperands random(72);
  const TestOperand x = random.tensor(TENSOR_FLOAT32, {2, 3});
  const auto refuses = [&](const std::vector<int32_t>& axes, const std::string& text) {
    expectFailure(OperationType::MEAN, {x, intList(axes), TestOperand::int32(0)}, {outputLike(x)},
                  text);
  };
  refuses({2}, "axis is 2, expected -2 to 1 for a tensor of rank 2");
  refuses({0, -3}, "axis is -3");
  expectFailure(OperationType::MEAN,
                {random.tensor(TENSOR_FLOAT32, {0, 3}), intList({0}), TestOperand::int32(0)},
                {outputLike(x)}, "zero-sized");
  expectFailure(OperationType::MEAN,
                {random.tensor(TENSOR_QUANT8_ASYMM, {3}), intList({0}), TestOperand::int32(0)},
                {TestOperand::output(TENSOR_QUANT8_ASYMM, 9, 0)}, "expected those of the input");
}

}  // namespace
}  // namespace halyard::ops::testing
