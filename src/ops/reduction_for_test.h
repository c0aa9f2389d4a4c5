// Reductions by coordinates, and every set of axes of random tensors, for tests of MEAN and the
// REDUCE_ operations.
// Thread safety: none needed.
// Ownership: none.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "ops/naive_for_test.h"

namespace halyard::ops::testing {

struct NaiveReduction {
  Shape keptShape;                           // with reduced dimensions as 1
  Shape removedShape;                        // without them
  std::vector<std::vector<double>> members;  // elements of each result
};

inline NaiveReduction naiveReduction(const TestOperand& x, const std::vector<bool>& reduced) {
  const Shape& dims = x.tensor.dims;
  NaiveReduction naive;
  for (size_t d = 0; d < dims.size(); ++d) {
    naive.keptShape.push_back(reduced[d] ? 1 : dims[d]);
    if (!reduced[d]) naive.removedShape.push_back(dims[d]);
  }
  if (naive.removedShape.empty()) naive.removedShape = {1};
  naive.members.resize(elementsOf(naive.keptShape));
  const std::vector<double> values = numbersOf(x);
  for (size_t i = 0; i < values.size(); ++i) {
    std::vector<size_t> at = coordinatesOf(i, dims);
    for (size_t d = 0; d < at.size(); ++d) {
      if (reduced[d]) at[d] = 0;
    }
    naive.members[indexOf(at, naive.keptShape)].push_back(values[i]);
  }
  return naive;
}

// Runs `op` on random tensors of every rank, with every set of axes; some axes are negative or
// listed twice. It uses every element of `keeps`, which are operands and whether they keep the
// reduced dimensions. Compares the results with `combine` of the elements of each.
inline void expectReductions(OperationType op, RandomOperands& random,
                             const std::function<TestOperand(const Shape&)>& input,
                             const std::vector<std::pair<TestOperand, bool>>& keeps,
                             const std::function<double(const std::vector<double>&)>& combine) {
  for (size_t rank = 1; rank <= 4; ++rank) {
    for (size_t set = 0; set < (size_t{1} << rank); ++set) {
      Shape dims(rank);
      for (uint32_t& d : dims) d = static_cast<uint32_t>(random.between(1, 11));
      const TestOperand x = input(dims);
      std::vector<int32_t> axes;
      std::vector<bool> reduced(rank);
      for (size_t d = 0; d < rank; ++d) {
        reduced[d] = ((set >> d) & 1) != 0;
        if (!reduced[d]) continue;
        const auto axis = static_cast<int32_t>(d);
        axes.push_back(random.coin() ? axis : axis - static_cast<int32_t>(rank));
        if (random.coin()) axes.push_back(axis);  // a repeated axis changes nothing
      }
      const std::string what =
          fmt::format("{} of {} {} over [{}]", operationTypeName(op),
                      operandTypeName(x.tensor.type), fmt::join(dims, "x"), fmt::join(axes, ","));
      const NaiveReduction naive = naiveReduction(x, reduced);
      std::vector<double> expected;
      for (const std::vector<double>& members : naive.members) expected.push_back(combine(members));
      for (const auto& [keep, keeping] : keeps) {
        std::vector<TestOperand> inputs = {x, intList(axes), keep};
        std::vector<TestOperand> outputs = {outputLike(x)};
        const Status status = runOperation(op, inputs, outputs);
        ASSERT_TRUE(status.ok()) << status.toString() << "\n" << what;
        EXPECT_EQ(outputs[0].tensor.dims, keeping ? naive.keptShape : naive.removedShape) << what;
        if (x.tensor.type == OperandType::TENSOR_BOOL8) {
          // The values are stored as 0 or 1.
          ASSERT_EQ(outputs[0].bytes, std::vector<uint8_t>(expected.begin(), expected.end()))
              << what;
        } else {
          expectReals(outputs[0], expected, what);
          if (::testing::Test::HasFatalFailure()) return;
        }
      }
    }
  }
}

}  // namespace halyard::ops::testing
