// Tests of copies between regularly spaced positions, and of the signatures of the operations built
// on them. They check the levels and ranks of the API's support matrix, and rules beyond types.
#include "ops/data_movement.h"

#include <map>

#include "ops/moves_for_test.h"

namespace halyard::ops::testing {
namespace {

using enum OperandType;
using enum OperationType;

TEST(CopyElements, TakesLoopsInAnyOrder) {
  // A transposed and mirrored matrix, repeated.
  InlineServices services;
  auto x = TestOperand::of<uint16_t>(TENSOR_FLOAT16, {2, 3}, {1, 2, 3, 4, 5, 6});
  x.tensor.data = x.bytes.data();
  std::vector<CopyLoop> loops = {{2, -3, 1}, {3, 1, 2}, {2, 0, 6}, {1, 99, 99}};
  const std::vector<uint16_t> expected = {0, 4, 1, 5, 2, 6, 3, 4, 1, 5, 2, 6, 3};
  for (size_t i = 0; i < loops.size(); ++i) {
    std::rotate(loops.begin(), loops.begin() + 1, loops.end());
    std::vector<uint16_t> result(13, 0);
    Tensor y = x.tensor;
    y.data = result.data();
    copyElements(services, x.tensor, 3, y, 1, loops);
    EXPECT_EQ(result, expected);
    loops.push_back({0, 1, 1});
    std::fill(result.begin(), result.end(), uint16_t{7});
    copyElements(services, x.tensor, 3, y, 1, loops);
    EXPECT_EQ(result, std::vector<uint16_t>(13, 7));
    loops.pop_back();
  }
}

TEST(CopyElements, SingleElement) {
  InlineServices services;
  auto x = TestOperand::of<float>(TENSOR_FLOAT32, {2}, {1, 2});
  x.tensor.data = x.bytes.data();
  float result = 0;
  Tensor y = x.tensor;
  y.data = &result;
  copyElements(services, x.tensor, 1, y, 0, {});
  EXPECT_EQ(result, 2);
}

struct Row {
  OperationType op;
  // Float32, float16, quant8, signed quant8, int32; 0: not supported.
  std::vector<int> levels;
  int minRank;
  int maxRank;                                   // 0: any
  std::vector<std::pair<uint32_t, int>> counts;  // empty: open
};

const Row kMatrix[] = {
    {DEPTH_TO_SPACE, {1, 3, 1, 4, 0}, 4, 4, {{2, 1}, {3, 3}}},
    {SPACE_TO_DEPTH, {1, 3, 1, 4, 0}, 4, 4, {{2, 1}, {3, 3}}},
    {BATCH_TO_SPACE_ND, {2, 3, 2, 4, 0}, 4, 4, {{2, 1}, {3, 3}}},
    {SPACE_TO_BATCH_ND, {2, 3, 2, 4, 0}, 4, 4, {{3, 1}, {4, 3}}},
    {SQUEEZE, {2, 3, 2, 4, 0}, 1, 4, {{2, 1}}},
    {STRIDED_SLICE, {2, 3, 2, 4, 0}, 1, 4, {{7, 1}}},
    {PAD, {2, 3, 2, 4, 0}, 1, 4, {{2, 1}}},
    {PAD_V2, {3, 3, 3, 4, 0}, 1, 4, {{3, 1}}},
    {CHANNEL_SHUFFLE, {3, 3, 3, 4, 0}, 1, 4, {{3, 1}}},
    {EXPAND_DIMS, {3, 3, 3, 4, 3}, 1, 0, {{2, 1}}},
    {GATHER, {3, 3, 3, 4, 3}, 1, 0, {{3, 1}}},
    {SLICE, {3, 3, 3, 4, 3}, 1, 0, {{3, 1}}},
    {SPLIT, {3, 3, 3, 4, 3}, 1, 0, {{3, 1}}},
    {TILE, {3, 3, 3, 4, 3}, 1, 0, {{2, 1}}},
    {PACK, {6, 6, 6, 6, 6}, 1, 0, {}},
    {MIRROR_PAD, {7, 7, 7, 7, 7}, 1, 0, {{3, 1}}},
    {REVERSE, {7, 7, 7, 7, 7}, 1, 8, {{2, 1}}},
    {EMBEDDING_LOOKUP, {1, 4, 3, 4, 3}, 2, 0, {{2, 1}}},
    {HASHTABLE_LOOKUP, {1, 0, 1, 0, 1}, 1, 0, {{3, 1}}},
};

Operand operandOfRank(OperandType type, size_t rank) {
  Operand operand;
  operand.type = type;
  if (!isScalarType(type)) operand.dimensions.assign(rank, 2);
  if (isQuant8Asymm(type)) operand.scale = 0.5f;
  return operand;
}

// A model of one operation.
struct Call {
  Model model;
  Operation operation;

  Operand& input(size_t i) { return model.main.operands[operation.inputs[i]]; }
  Operand& output(size_t i) { return model.main.operands[operation.outputs[i]]; }
  void add(OperandIndexes& list, const Operand& operand) {
    list.push_back(static_cast<uint32_t>(model.main.operands.size()));
    model.main.operands.push_back(operand);
  }
  Result<FeatureLevel> check() const {
    return checkSignature(definitionOf(operation.type)->signature,
                          OperationView(model, model.main, operation));
  }
  int level() const {
    const Result<FeatureLevel> level = check();
    return level.ok() ? static_cast<int>(*level) : 0;
  }
  void expectRefused(const std::string& text) const {
    ASSERT_FALSE(check().ok()) << text;
    EXPECT_EQ(check().status().code(), ResultCode::BAD_DATA);
    EXPECT_THAT(check().status().message(), ::testing::HasSubstr(text));
  }
};

// Uses the main type in every possible position; `rank` is that of the main input.
Call callOf(OperationType op, OperandType type, size_t rank, size_t count) {
  const Signature& signature = definitionOf(op)->signature;
  const TypeRow* row = &signature.rows[0];
  for (const TypeRow& candidate : signature.rows) {
    if (candidate.types[0] == type) row = &candidate;
  }
  Call call;
  call.operation.type = op;
  const auto make = [&](const OperandSpec& spec, bool isInput) {
    const bool isLikeInput = op == REVERSE || op == MIRROR_PAD;
    const size_t ofOutput = op == PACK ? rank + 1 : isLikeInput ? rank : std::min<size_t>(rank, 4);
    if (spec.column == 0) return operandOfRank(type, isInput ? rank : ofOutput);
    const OperandType other =
        spec.column < 0 ? spec.fixed : row->types[static_cast<size_t>(spec.column)];
    return operandOfRank(other, spec.ranks.empty() ? 1 : spec.ranks[0].max);
  };
  const std::vector<OperandSpec>& inputs = signature.forms[0].inputs;
  for (size_t i = 0; i < count; ++i) call.add(call.operation.inputs, make(inputs[i], true));
  for (const OperandSpec& spec : signature.outputs) {
    call.add(call.operation.outputs, make(spec, false));
  }
  return call;
}

Call plainCall(OperationType op, OperandType type) {
  return callOf(op, type, 4, definitionOf(op)->signature.forms[0].inputs.size());
}

TEST(DataMovementSignatures, FollowTheMatrix) {
  const OperandType types[] = {TENSOR_FLOAT32, TENSOR_FLOAT16, TENSOR_QUANT8_ASYMM,
                               TENSOR_QUANT8_ASYMM_SIGNED, TENSOR_INT32};
  for (const Row& row : kMatrix) {
    const size_t inputs = definitionOf(row.op)->signature.forms[0].inputs.size();
    const size_t fewest = row.counts.empty() ? inputs : row.counts[0].first;
    int lowest = 9;
    for (size_t t = 0; t < std::size(types); ++t) {
      EXPECT_EQ(callOf(row.op, types[t], 4, fewest).level(), row.levels[t])
          << operationTypeName(row.op) << " of " << operandTypeName(types[t]);
      if (row.levels[t] != 0) lowest = std::min(lowest, row.levels[t]);
    }
    for (OperandType type : {TENSOR_BOOL8, TENSOR_QUANT16_SYMM, TENSOR_QUANT8_SYMM}) {
      EXPECT_EQ(callOf(row.op, type, 4, fewest).level(), 0) << operationTypeName(row.op);
    }
    for (size_t rank = 1; rank <= 12; ++rank) {
      const int size = static_cast<int>(rank);
      const bool legal = size >= row.minRank && (row.maxRank == 0 || size <= row.maxRank);
      EXPECT_EQ(callOf(row.op, TENSOR_FLOAT32, rank, fewest).level() != 0,
                legal && row.levels[0] != 0)
          << operationTypeName(row.op) << " of rank " << rank;
    }
    for (const auto& [count, since] : row.counts) {
      EXPECT_EQ(callOf(row.op, TENSOR_FLOAT32, 4, count).level(), std::max(lowest, since))
          << operationTypeName(row.op) << " with " << count << " inputs";
    }
    Call call = callOf(row.op, TENSOR_FLOAT32, 4, inputs);
    call.add(call.operation.inputs, operandOfRank(INT32, 0));
    EXPECT_EQ(call.level(), 0) << operationTypeName(row.op);
    call.operation.inputs.resize(fewest - 1);
    EXPECT_EQ(call.level(), 0) << operationTypeName(row.op);
  }
}

TEST(DataMovementSignatures, BordersOfAZeroPoint) {
  for (OperationType op : {PAD, SPACE_TO_BATCH_ND}) {
    Call call = callOf(op, TENSOR_QUANT8_ASYMM, 4, op == PAD ? 2 : 3);
    EXPECT_EQ(call.level(), 2);
    call.input(0).zeroPoint = call.output(0).zeroPoint = 3;
    EXPECT_EQ(call.level(), 3);
  }
}

TEST(DataMovementSignatures, OutputsQuantisedLikeInputs) {
  for (OperationType op : {MIRROR_PAD, REVERSE, PACK}) {
    for (OperandType type : {TENSOR_QUANT8_ASYMM, TENSOR_QUANT8_ASYMM_SIGNED}) {
      Call call = plainCall(op, type);
      call.output(0).scale = 0.25f;
      call.expectRefused(
          "output has scale 0.25 and zero point 0, expected those of the input, 0.5 and 0");
      call.output(0).scale = 0.5f;
      call.output(0).zeroPoint = 1;
      call.expectRefused("output has scale 0.5 and zero point 1");
    }
  }
  Call call = plainCall(PACK, TENSOR_QUANT8_ASYMM);
  call.add(call.operation.inputs, call.input(1));
  EXPECT_EQ(call.level(), 6);
  call.input(2).scale = 0.125f;
  call.expectRefused("input 2: output has scale 0.5");
}

TEST(DataMovementSignatures, RepeatedTensorsOfPackFollowTheAxis) {
  Call call = plainCall(PACK, TENSOR_INT32);
  for (int i = 0; i < 20; ++i) call.add(call.operation.inputs, call.input(1));
  EXPECT_EQ(call.level(), 6);
  call.input(9).type = TENSOR_FLOAT32;
  call.expectRefused("input 9 (input) is TENSOR_FLOAT32, expected TENSOR_INT32");
  call = plainCall(PACK, TENSOR_INT32);
  std::swap(call.operation.inputs[0], call.operation.inputs[1]);
  call.expectRefused("input 0 (axis) is TENSOR_INT32, expected INT32");
}

TEST(DataMovementSignatures, SplitCountsItsOutputs) {
  Call call = plainCall(SPLIT, TENSOR_FLOAT32);
  call.add(call.operation.outputs, call.output(0));
  call.add(call.operation.outputs, call.output(0));
  EXPECT_EQ(call.level(), 3) << "the number of splits is not known";
  const auto setSplits = [&](int32_t splits) {
    call.input(2).lifetime = Lifetime::CONSTANT_COPY;
    call.input(2).location = appendConstant(call.model, &splits, sizeof(splits));
  };
  setSplits(3);
  EXPECT_EQ(call.level(), 3);
  for (int32_t splits : {2, 4, 0, -3, kIntMin}) {
    setSplits(splits);
    call.expectRefused(fmt::format("has 3 outputs, expected the number of splits, {}", splits));
  }
  // Other checks refuse a constant outside the model's values.
  call.input(2).location.offset = UINT32_MAX;
  EXPECT_EQ(call.level(), 3);
  call = plainCall(SPLIT, TENSOR_FLOAT32);
  call.add(call.operation.outputs, operandOfRank(TENSOR_INT32, 4));
  call.expectRefused("output 1 (output) is TENSOR_INT32, expected TENSOR_FLOAT32");
}

TEST(DataMovementSignatures, OmittedValues) {
  RandomOperands random(271);
  const TestOperand x = random.tensor(TENSOR_FLOAT32, {1, 2, 2, 4});
  const TestOperand omitted = TestOperand::omitted(TENSOR_INT32);
  for (OperationType op : {BATCH_TO_SPACE_ND, TILE, PAD, REVERSE}) {
    expectFailure(op, {x, omitted}, {outputLike(x)}, "has no value, but the operation needs it");
  }
  expectFailure(PAD_V2,
                {x, intTensor({4, 2}, {0, 0, 0, 0, 0, 0, 0, 0}), TestOperand::omitted(FLOAT32)},
                {outputLike(x)}, "has no value, but the operation needs it");
}

}  // namespace
}  // namespace halyard::ops::testing
