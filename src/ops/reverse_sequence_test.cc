// Tests of REVERSE_SEQUENCE against its mapping of coordinates.
#include "ops/moves_for_test.h"

namespace halyard::ops::testing {
namespace {

using enum OperandType;

TEST(ReverseSequence, ReversesTheBeginnings) {
  RandomOperands random(981);
  std::vector<OperandType> types = kFloatInt32AndQuant8;
  types.push_back(TENSOR_BOOL8);
  for (int round = 0; round < 30; ++round) {
    for (const OperandType type : types) {
      const TestOperand x = anyTensor(random, type, randomShape(random, 2, 5, 4));
      const Shape& dims = x.tensor.dims;
      const int rank = static_cast<int>(dims.size());
      const int sequence = random.between(0, rank - 1);
      const int batch = (sequence + random.between(1, rank - 1)) % rank;
      const auto s = static_cast<size_t>(sequence);
      const auto b = static_cast<size_t>(batch);
      std::vector<int32_t> lengths(dims[b]);
      for (int32_t& length : lengths) length = random.between(0, static_cast<int>(dims[s]));
      const TestOperand expected = moved(x, dims, [&](Coordinates at) -> MaybeCoordinates {
        const auto length = static_cast<size_t>(lengths[at[b]]);
        if (at[s] < length) at[s] = length - 1 - at[s];
        return at;
      });
      expectResult(
          OperationType::REVERSE_SEQUENCE,
          {x, intList(lengths), TestOperand::int32(sequence - rank), TestOperand::int32(batch)},
          expected);
      if (HasFatalFailure()) return;
    }
  }
}

TEST(ReverseSequence, RefusesWrongAxesAndLengths) {
  RandomOperands random(982);
  const TestOperand x = random.tensor(TENSOR_QUANT8_ASYMM, {2, 3});
  const auto refuses = [&](const std::vector<int32_t>& lengths, int32_t sequence, int32_t batch,
                           const std::string& text) {
    expectFailure(OperationType::REVERSE_SEQUENCE,
                  {x, intList(lengths), TestOperand::int32(sequence), TestOperand::int32(batch)},
                  {outputLike(x)}, text);
  };
  refuses({1, 4}, 1, 0, "length 4 of sequence 1, expected 0 to 3");
  refuses({1, -1}, 1, 0, "length -1 of sequence 1");
  refuses({1}, 1, 0, "lengths");
  refuses({1, 1}, 0, -2, "axis 0 is that of the sequence and that of the batch");
  refuses({1, 1}, 2, 0, "axis of the sequence: axis is 2");
  expectChecksOutputScale(OperationType::REVERSE_SEQUENCE,
                          {x, intList({1, 2}), TestOperand::int32(1), TestOperand::int32(0)}, x);
}

}  // namespace
}  // namespace halyard::ops::testing
