// Tests of GATHER_ND against its mapping of coordinates.
#include <algorithm>

#include "ops/moves_for_test.h"

namespace halyard::ops::testing {
namespace {

using enum OperandType;

TEST(GatherNd, AgreesWithDefinition) {
  RandomOperands random(911);
  std::vector<OperandType> types = kFloatInt32AndQuant8;
  types.push_back(TENSOR_BOOL8);
  for (int round = 0; round < 30; ++round) {
    for (OperandType type : types) {
      const TestOperand x = anyTensor(random, type, randomShape(random, 1, 5, 4));
      const Shape& dims = x.tensor.dims;
      const auto length = static_cast<uint32_t>(random.between(1, static_cast<int>(dims.size())));
      const Shape tuples = randomShape(random, 0, 2, 3);
      std::vector<int32_t> indices;
      for (size_t i = 0; i < elementsOf(tuples); ++i) {
        for (uint32_t d = 0; d < length; ++d) {
          indices.push_back(random.between(0, static_cast<int>(dims[d]) - 1));
        }
      }
      Shape shape = tuples;
      shape.insert(shape.end(), dims.begin() + length, dims.end());
      const bool isScalar = shape.empty();
      if (isScalar) shape = {1};
      const TestOperand expected = moved(x, shape, [&](Coordinates at) -> MaybeCoordinates {
        if (isScalar) at.clear();
        const auto rest = at.begin() + static_cast<ptrdiff_t>(tuples.size());
        const size_t tuple = indexOf(Coordinates(at.begin(), rest), tuples);
        Coordinates source;
        for (uint32_t d = 0; d < length; ++d) {
          source.push_back(static_cast<size_t>(indices[tuple * length + d]));
        }
        source.insert(source.end(), rest, at.end());
        return source;
      });
      Shape list = tuples;
      list.push_back(length);
      expectResult(OperationType::GATHER_ND, {x, intTensor(list, indices)}, expected,
                   fmt::format("tuples of {}", length));
      if (HasFatalFailure()) return;
    }
  }
}

TEST(GatherNd, RefusesWhatLiesOutside) {
  RandomOperands random(912);
  const TestOperand x = random.tensor(TENSOR_QUANT8_ASYMM, {2, 4});
  const auto refuses = [&](const Shape& shape, const std::vector<int32_t>& indices,
                           const std::string& text) {
    expectFailure(OperationType::GATHER_ND, {x, intTensor(shape, indices)}, {outputLike(x)}, text);
  };
  refuses({2, 2}, {0, 0, 1, 4},
          "tuple 1 of indices has 4 at 1, expected 0 to 3 for dimension 1 of [2,4]");
  refuses({1, 1}, {-1}, "tuple 0 of indices has -1 at 0, expected 0 to 1 for dimension 0 of [2,4]");
  refuses({2, 1}, {0, kIntMin}, "tuple 1 of indices has -2147483648 at 0");
  refuses({1, 2}, {1, kIntMax}, "tuple 0 of indices has 2147483647 at 1");
  refuses({1, 3}, {0, 0, 0}, "indices [1,3] have tuples of 3, expected 1 to 2, the rank of");
  expectChecksOutputScale(OperationType::GATHER_ND, {x, intTensor({1, 1}, {0})}, x);
  // The shape does not depend on the indices' values.
  EXPECT_TRUE(inferenceOf(OperationType::GATHER_ND, {x, unknownValue(TENSOR_INT32, {3, 2})},
                          {outputLike(x)})
                  .ok());
}

}  // namespace
}  // namespace halyard::ops::testing
