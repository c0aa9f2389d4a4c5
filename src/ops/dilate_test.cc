// Tests of DILATE against the places of all elements.
#include "ops/moves_for_test.h"

namespace halyard::ops::testing {
namespace {

using enum OperandType;

TEST(Dilate, PutsElementsInBetween) {
  RandomOperands random(3471);
  for (int round = 0; round < 60; ++round) {
    for (const OperandType type : kFloatInt32AndQuant8) {
      const TestOperand x = anyTensor(random, type, randomShape(random, 1, 5, 4));
      TestOperand fill = anyTensor(random, type, {1});
      fill.tensor.scale = x.tensor.scale;
      fill.tensor.zeroPoint = x.tensor.zeroPoint;
      Shape dims = x.tensor.dims;
      std::vector<int32_t> steps;
      for (uint32_t& d : dims) {
        steps.push_back(random.between(1, 3));
        d = (d - 1) * static_cast<uint32_t>(steps.back()) + 1;
      }
      const auto sourceOf = [&](Coordinates at) -> MaybeCoordinates {
        for (size_t d = 0; d < at.size(); ++d) {
          if (at[d] % static_cast<size_t>(steps[d]) != 0) return std::nullopt;
          at[d] /= static_cast<size_t>(steps[d]);
        }
        return at;
      };
      expectResult(OperationType::DILATE, {x, intList(steps), fill},
                   moved(x, dims, sourceOf, fill.bytes));
    }
  }
}

}  // namespace
}  // namespace halyard::ops::testing
