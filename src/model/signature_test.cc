// Tests of checkSignature for all operations: the accepted operands, their first feature level, and
// the error texts for other operands.
#include "model/signature.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "ops/operation.h"

namespace halyard::ops {
namespace {

using ::testing::HasSubstr;
using enum OperandType;
using enum OperationType;

// An operation with its operands, as in a model.
struct Call {
  OperationType type;
  std::vector<Operand> inputs;
  std::vector<Operand> outputs;
};

Result<FeatureLevel> check(const Call& call) {
  Model model;
  Operation operation;
  operation.type = call.type;
  for (const Operand& operand : call.inputs) {
    operation.inputs.push_back(static_cast<uint32_t>(model.main.operands.size()));
    model.main.operands.push_back(operand);
  }
  for (const Operand& operand : call.outputs) {
    operation.outputs.push_back(static_cast<uint32_t>(model.main.operands.size()));
    model.main.operands.push_back(operand);
  }
  return checkSignature(definitionOf(call.type)->signature,
                        OperationView(model, model.main, operation));
}

int levelOf(const Call& call) {
  const Result<FeatureLevel> level = check(call);
  EXPECT_TRUE(level.ok()) << operationTypeName(call.type) << ": " << level.status().toString();
  return level.ok() ? static_cast<int>(*level) : 0;
}

void expectRefused(const Call& call, const std::string& text) {
  const Result<FeatureLevel> level = check(call);
  ASSERT_FALSE(level.ok()) << operationTypeName(call.type) << ", expected: " << text;
  EXPECT_EQ(level.status().code(), ResultCode::BAD_DATA);
  EXPECT_THAT(level.status().message(), HasSubstr(text)) << operationTypeName(call.type);
}

Operand operand(OperandType type, size_t rank = 4) {
  Operand result;
  result.type = type;
  if (isScalarType(type)) return result;
  result.dimensions.assign(rank, 2);
  const OperandTypeTraits* traits = operandTypeTraits(type);
  if (traits != nullptr && traits->scale == ScaleRule::POSITIVE) result.scale = 0.5f;
  return result;
}

// Returns the rank that an operand may have at the lowest level.
size_t plainRank(const OperandSpec& spec) {
  const RankRule* best = nullptr;
  for (const RankRule& rule : spec.ranks) {
    if (best == nullptr || rule.since <= best->since) best = &rule;
  }
  return best == nullptr ? 2 : best->max;
}

Operand operandFor(OperationType op, const OperandSpec& spec, const TypeRow& row) {
  const OperandType type =
      spec.column < 0 ? spec.fixed : row.types[static_cast<size_t>(spec.column)];
  Operand result = operand(type, plainRank(spec));
  if (type == TENSOR_QUANT8_SYMM_PER_CHANNEL) {
    result.extraParams = SymmPerChannelQuantParams{{0.5f, 0.5f}, op == DEPTHWISE_CONV_2D ? 3u : 0u};
  }
  return result;
}

size_t fewestOutputs(const Signature& signature) {
  size_t fewest = signature.outputs.size();
  for (const CountRule& rule : signature.outputCounts) {
    fewest = std::min<size_t>(fewest, rule.count);
  }
  return fewest;
}

// Returns a call of the form with `count` inputs, at the lowest level that these allow.
Call legalCall(OperationType op, const Form& form, const TypeRow& row, size_t count) {
  const Signature& signature = definitionOf(op)->signature;
  Call call{op, {}, {}};
  for (size_t i = 0; i < count; ++i) {
    call.inputs.push_back(operandFor(op, form.inputs[i], row));
  }
  for (size_t i = 0; i < fewestOutputs(signature); ++i) {
    call.outputs.push_back(operandFor(op, signature.outputs[i], row));
  }
  if (op == PACK) call.outputs[0].dimensions.push_back(2);
  // Results between 0 and 1 have a fixed quantisation.
  if ((op == LOGISTIC || op == SOFTMAX) && isQuant8Asymm(call.outputs[0].type)) {
    call.outputs[0].scale = 1.0f / 256;
    call.outputs[0].zeroPoint = call.outputs[0].type == TENSOR_QUANT8_ASYMM ? 0 : -128;
  }
  // Results between -1 and 1 have another fixed quantisation.
  if ((op == TANH || op == L2_NORMALIZATION) && isQuant8Asymm(call.outputs[0].type)) {
    call.outputs[0].scale = 1.0f / 128;
    call.outputs[0].zeroPoint = call.outputs[0].type == TENSOR_QUANT8_ASYMM ? 128 : 0;
  }
  return call;
}

// Returns the row that starts with these types.
const TypeRow& rowOf(OperationType op, const std::vector<OperandType>& types) {
  for (const TypeRow& row : definitionOf(op)->signature.rows) {
    if (std::equal(types.begin(), types.end(), row.types.begin())) return row;
  }
  ADD_FAILURE() << operationTypeName(op) << " does not take " << operandTypeName(types[0]);
  return definitionOf(op)->signature.rows[0];
}

size_t fewestInputs(const Form& form) {
  size_t fewest = form.inputs.size();
  for (const CountRule& rule : form.counts) fewest = std::min<size_t>(fewest, rule.count);
  return fewest;
}

// Returns a call with few inputs and type rows that start with `types`.
Call simpleCall(OperationType op, const std::vector<OperandType>& types) {
  const Form& form = definitionOf(op)->signature.forms[0];
  return legalCall(op, form, rowOf(op, types), fewestInputs(form));
}

std::vector<OperationType> definedOperations() {
  std::vector<OperationType> result;
  for (int code = 0; isBaseOperation(static_cast<OperationType>(code)); ++code) {
    result.push_back(static_cast<OperationType>(code));
  }
  return result;
}

// Calls `visit` with a legal call of every form, type row and length of every operation.
template <typename Visit>
void forEachLegalCall(Visit visit) {
  for (OperationType op : definedOperations()) {
    const Signature& signature = definitionOf(op)->signature;
    for (const Form& form : signature.forms) {
      for (const TypeRow& row : signature.rows) {
        std::vector<CountRule> counts = form.counts;
        if (counts.empty()) {
          counts = {{static_cast<uint32_t>(form.inputs.size()), FeatureLevel::FL1}};
        }
        for (const CountRule& rule : counts) {
          visit(legalCall(op, form, row, rule.count), form, std::max(row.since, rule.since));
        }
      }
    }
  }
}

// Returns whether exactly one form of the operation can have as many inputs as the call.
bool isOnlyForm(const Call& call) {
  size_t forms = 0;
  for (const Form& form : definitionOf(call.type)->signature.forms) {
    forms += form.counts.empty() ||
             std::any_of(form.counts.begin(), form.counts.end(),
                         [&](const CountRule& rule) { return rule.count == call.inputs.size(); });
  }
  return forms == 1;
}

TEST(Signature, AcceptsWhatItSays) {
  size_t calls = 0;
  forEachLegalCall([&](const Call& call, const Form&, FeatureLevel level) {
    EXPECT_EQ(levelOf(call), static_cast<int>(level))
        << operationTypeName(call.type) << " of " << operandTypeName(call.inputs[0].type)
        << " with " << call.inputs.size() << " inputs";
    ++calls;
  });
  EXPECT_GT(calls, 100u);
}

TEST(Signature, NamesThePositionOfAWrongType) {
  forEachLegalCall([&](const Call& call, const Form& form, FeatureLevel) {
    for (size_t i = 0; i < call.inputs.size(); ++i) {
      Call wrong = call;
      wrong.inputs[i] = operand(OEM_SCALAR);
      // If several forms have this length, the error cannot tell which one the call means.
      expectRefused(wrong, isOnlyForm(call) ? fmt::format("input {} ({}) is OEM_SCALAR, expected ",
                                                          i, form.inputs[i].name)
                                            : fmt::format("input {} (", i));
    }
    for (size_t i = 0; i < call.outputs.size(); ++i) {
      Call wrong = call;
      wrong.outputs[i] = operand(OEM_SCALAR);
      expectRefused(wrong, fmt::format("output {} ({}) is OEM_SCALAR, expected ", i,
                                       definitionOf(call.type)->signature.outputs[i].name));
      expectRefused(wrong, operandTypeName(call.outputs[i].type));
    }
  });
}

TEST(Signature, NamesThePositionOfAWrongRank) {
  forEachLegalCall([&](const Call& call, const Form& form, FeatureLevel) {
    for (size_t i = 0; i < call.inputs.size(); ++i) {
      if (form.inputs[i].ranks.empty()) continue;
      if (form.inputs[i].rankIsOfComputation) continue;
      size_t tooMany = 6;
      for (const RankRule& rule : form.inputs[i].ranks) {
        tooMany = std::max<size_t>(tooMany, rule.max + size_t{1});
      }
      Call wrong = call;
      wrong.inputs[i].dimensions.assign(tooMany, 2);
      expectRefused(
          wrong, fmt::format("input {} ({}) has rank {} {}, expected rank ", i, form.inputs[i].name,
                             tooMany, shapeText(wrong.inputs[i].dimensions)));
      // An unknown rank fits every rule.
      Call open = call;
      open.inputs[i].dimensions.clear();
      EXPECT_TRUE(check(open).ok()) << operationTypeName(call.type) << " input " << i;
    }
  });
}

TEST(Signature, CountsOutputs) {
  forEachLegalCall([&](const Call& call, const Form&, FeatureLevel) {
    const bool repeated = definitionOf(call.type)->signature.repeatedOutput >= 0;
    const size_t most = definitionOf(call.type)->signature.outputs.size();
    Call more = call;
    more.outputs.resize(most + 1, more.outputs.back());
    if (repeated) {
      EXPECT_TRUE(check(more).ok()) << operationTypeName(call.type);
    } else {
      expectRefused(more,
                    fmt::format("has {} outputs, expected {}", most + 1, call.outputs.size()));
    }
    Call none = call;
    none.outputs.clear();
    expectRefused(none, fmt::format("has 0 outputs, expected {}{}", repeated ? "at least " : "",
                                    call.outputs.size()));
  });
}

TEST(Signature, CountsInputs) {
  const std::vector<std::pair<OperationType, std::string>> takes = {
      {ADD, "takes 3 inputs"},
      {AVERAGE_POOL_2D, "takes 7, 8, 10 or 11 inputs"},
      {CONV_2D, "takes 7, 8, 10, 11 or 13 inputs"},
      {DEPTHWISE_CONV_2D, "takes 8, 9, 11, 12 or 14 inputs"},
      {DEQUANTIZE, "takes 1 input"},
      {FULLY_CONNECTED, "takes 4 inputs"},
      {LOGISTIC, "takes 1 input"},
      {MAX_POOL_2D, "takes 7, 8, 10 or 11 inputs"},
      {MUL, "takes 3 inputs"},
      {RELU, "takes 1 input"},
      {RELU1, "takes 1 input"},
      {RELU6, "takes 1 input"},
      {RESHAPE, "takes 2 inputs"},
      {RESIZE_BILINEAR, "takes 3, 4, 5 or 6 inputs"},
      {SOFTMAX, "takes 2 or 3 inputs"},
      {MEAN, "takes 3 inputs"},
      {PAD, "takes 2 inputs"},
      {SUB, "takes 3 inputs"},
      {TRANSPOSE, "takes 2 inputs"},
      {DETECTION_POSTPROCESSING, "takes 14 inputs"},
      {QUANTIZE, "takes 1 input"},
  };
  for (const auto& [op, text] : takes) {
    const Signature& signature = definitionOf(op)->signature;
    Call call =
        legalCall(op, signature.forms[0], signature.rows[0], fewestInputs(signature.forms[0]));
    const size_t fewest = call.inputs.size();
    call.inputs.pop_back();
    expectRefused(call, fmt::format("{}, has {}", text, fewest - 1));
    call.inputs.resize(15, operand(INT32));
    expectRefused(call, text + ", has 15");
  }
}

struct TypeLevels {
  OperationType op;
  std::vector<std::pair<std::vector<OperandType>, int>> levels;
};

// The feature levels by main type, as in the support matrix of the API.
TEST(Signature, LevelsOfTypes) {
  const TypeLevels table[] = {
      {ADD,
       {{{TENSOR_FLOAT32}, 1},
        {{TENSOR_FLOAT16}, 3},
        {{TENSOR_QUANT8_ASYMM}, 1},
        {{TENSOR_QUANT8_ASYMM_SIGNED}, 4},
        {{TENSOR_INT32}, 4}}},
      {MUL,
       {{{TENSOR_FLOAT32}, 1},
        {{TENSOR_FLOAT16}, 3},
        {{TENSOR_QUANT8_ASYMM}, 1},
        {{TENSOR_QUANT8_ASYMM_SIGNED}, 4},
        {{TENSOR_INT32}, 4}}},
      {SUB,
       {{{TENSOR_FLOAT32}, 2},
        {{TENSOR_FLOAT16}, 3},
        {{TENSOR_QUANT8_ASYMM}, 3},
        {{TENSOR_QUANT8_ASYMM_SIGNED}, 4},
        {{TENSOR_INT32}, 4}}},
      {RESHAPE,
       {{{TENSOR_FLOAT32}, 1},
        {{TENSOR_FLOAT16}, 3},
        {{TENSOR_QUANT8_ASYMM}, 1},
        {{TENSOR_QUANT8_ASYMM_SIGNED}, 4},
        {{TENSOR_INT32}, 6}}},
      {RESIZE_BILINEAR,
       {{{TENSOR_FLOAT32}, 1},
        {{TENSOR_FLOAT16}, 3},
        {{TENSOR_QUANT8_ASYMM}, 3},
        {{TENSOR_QUANT8_ASYMM_SIGNED}, 4}}},
      {CONV_2D,
       {{{TENSOR_FLOAT32}, 1},
        {{TENSOR_FLOAT16}, 3},
        {{TENSOR_QUANT8_ASYMM, TENSOR_QUANT8_ASYMM}, 1},
        {{TENSOR_QUANT8_ASYMM, TENSOR_QUANT8_SYMM_PER_CHANNEL}, 3},
        {{TENSOR_QUANT8_ASYMM_SIGNED, TENSOR_QUANT8_ASYMM_SIGNED}, 4},
        {{TENSOR_QUANT8_ASYMM_SIGNED, TENSOR_QUANT8_SYMM_PER_CHANNEL}, 4}}},
      {DEPTHWISE_CONV_2D,
       {{{TENSOR_FLOAT32}, 1},
        {{TENSOR_FLOAT16}, 3},
        {{TENSOR_QUANT8_ASYMM, TENSOR_QUANT8_ASYMM}, 1},
        {{TENSOR_QUANT8_ASYMM, TENSOR_QUANT8_SYMM_PER_CHANNEL}, 3},
        {{TENSOR_QUANT8_ASYMM_SIGNED, TENSOR_QUANT8_ASYMM_SIGNED}, 4},
        {{TENSOR_QUANT8_ASYMM_SIGNED, TENSOR_QUANT8_SYMM_PER_CHANNEL}, 4}}},
      {DEQUANTIZE,
       {{{TENSOR_QUANT8_ASYMM, TENSOR_FLOAT32}, 1},
        {{TENSOR_QUANT8_ASYMM, TENSOR_FLOAT16}, 3},
        {{TENSOR_QUANT8_SYMM, TENSOR_FLOAT32}, 3},
        {{TENSOR_QUANT8_SYMM, TENSOR_FLOAT16}, 3},
        {{TENSOR_QUANT8_SYMM_PER_CHANNEL, TENSOR_FLOAT32}, 3},
        {{TENSOR_QUANT8_SYMM_PER_CHANNEL, TENSOR_FLOAT16}, 3},
        {{TENSOR_QUANT8_ASYMM_SIGNED, TENSOR_FLOAT32}, 4},
        {{TENSOR_QUANT8_ASYMM_SIGNED, TENSOR_FLOAT16}, 4}}},
      {QUANTIZE,
       {{{TENSOR_FLOAT32, TENSOR_QUANT8_ASYMM}, 3},
        {{TENSOR_FLOAT16, TENSOR_QUANT8_ASYMM}, 3},
        {{TENSOR_FLOAT32, TENSOR_QUANT8_ASYMM_SIGNED}, 4},
        {{TENSOR_FLOAT16, TENSOR_QUANT8_ASYMM_SIGNED}, 4}}},
      {DETECTION_POSTPROCESSING, {{{TENSOR_FLOAT32}, 3}, {{TENSOR_FLOAT16}, 3}}},
  };
  for (const TypeLevels& entry : table) {
    EXPECT_EQ(definitionOf(entry.op)->signature.rows.size(), entry.levels.size())
        << operationTypeName(entry.op);
    for (const auto& [types, level] : entry.levels) {
      EXPECT_EQ(levelOf(simpleCall(entry.op, types)), level)
          << operationTypeName(entry.op) << " of " << operandTypeName(types[0]);
    }
  }
}

// Operations whose float and quant8 types mostly came at the same level.
TEST(Signature, LevelsOfCommonTypes) {
  for (const auto& [op, first] : std::vector<std::pair<OperationType, int>>{{AVERAGE_POOL_2D, 1},
                                                                            {MAX_POOL_2D, 1},
                                                                            {FULLY_CONNECTED, 1},
                                                                            {CONCATENATION, 1},
                                                                            {LOGISTIC, 1},
                                                                            {RELU, 1},
                                                                            {RELU1, 1},
                                                                            {RELU6, 1},
                                                                            {SOFTMAX, 1},
                                                                            {MEAN, 2},
                                                                            {PAD, 2},
                                                                            {TRANSPOSE, 2}}) {
    EXPECT_EQ(levelOf(simpleCall(op, {TENSOR_FLOAT32})), first) << operationTypeName(op);
    EXPECT_EQ(levelOf(simpleCall(op, {TENSOR_QUANT8_ASYMM})), first) << operationTypeName(op);
    EXPECT_EQ(levelOf(simpleCall(op, {TENSOR_FLOAT16})), 3) << operationTypeName(op);
    EXPECT_EQ(levelOf(simpleCall(op, {TENSOR_QUANT8_ASYMM_SIGNED})), 4) << operationTypeName(op);
    Call wrong = simpleCall(op, {TENSOR_FLOAT32});
    wrong.inputs[0] = operand(TENSOR_INT32);
    expectRefused(wrong,
                  "is TENSOR_INT32, expected TENSOR_FLOAT16, TENSOR_FLOAT32, "
                  "TENSOR_QUANT8_ASYMM or TENSOR_QUANT8_ASYMM_SIGNED");
  }
}

struct InputLevels {
  OperationType op;
  std::vector<OperandType> rest;  // the types after the tensors
  int level;                      // 0: refused
};

// Lengths and forms, in the order of the API's tables of inputs.
TEST(Signature, LevelsOfForms) {
  const auto ints = [](size_t count) { return std::vector<OperandType>(count, INT32); };
  const auto with = [](std::vector<OperandType> head, std::vector<OperandType> tail) {
    head.insert(head.end(), tail.begin(), tail.end());
    return head;
  };
  const InputLevels table[] = {
      {MAX_POOL_2D, ints(6), 1},                // implicit
      {MAX_POOL_2D, with(ints(6), {BOOL}), 3},  // implicit, with layout
      {MAX_POOL_2D, ints(9), 1},                // explicit
      {MAX_POOL_2D, with(ints(9), {BOOL}), 3},  // explicit, with layout
      {MAX_POOL_2D, ints(7), 0},
      {MAX_POOL_2D, ints(8), 0},
      {CONV_2D, ints(4), 1},
      {CONV_2D, with(ints(4), {BOOL}), 3},
      {CONV_2D, with(ints(4), {BOOL, INT32}), 0},  // one dilation is not enough
      {CONV_2D, with(ints(4), {BOOL, INT32, INT32}), 3},
      {CONV_2D, ints(7), 1},
      {CONV_2D, with(ints(7), {BOOL}), 3},
      {CONV_2D, with(ints(7), {BOOL, INT32}), 0},
      {CONV_2D, with(ints(7), {BOOL, INT32, INT32}), 3},
      {DEPTHWISE_CONV_2D, ints(5), 1},
      {DEPTHWISE_CONV_2D, with(ints(5), {BOOL}), 3},
      {DEPTHWISE_CONV_2D, with(ints(5), {BOOL, INT32, INT32}), 3},
      {DEPTHWISE_CONV_2D, ints(8), 1},
      {DEPTHWISE_CONV_2D, with(ints(8), {BOOL}), 3},
      {DEPTHWISE_CONV_2D, with(ints(8), {BOOL, INT32}), 0},
      {DEPTHWISE_CONV_2D, with(ints(8), {BOOL, INT32, INT32}), 3},
      {RESIZE_BILINEAR, ints(2), 1},
      {RESIZE_BILINEAR, {FLOAT32, FLOAT32}, 3},
      {RESIZE_BILINEAR, {INT32, FLOAT32}, 0},
      {RESIZE_BILINEAR, {FLOAT16, FLOAT16}, 0},  // for a float32 image
      {RESIZE_BILINEAR, with(ints(2), {BOOL}), 3},
      {RESIZE_BILINEAR, with(ints(2), {BOOL, BOOL}), 4},
      {RESIZE_BILINEAR, with(ints(2), {BOOL, BOOL, BOOL}), 4},
      {SOFTMAX, {FLOAT32}, 1},
      {SOFTMAX, {FLOAT32, INT32}, 3},
      {SOFTMAX, {FLOAT16}, 0},
  };
  for (const InputLevels& entry : table) {
    Call call = simpleCall(entry.op, {TENSOR_FLOAT32});
    while (isScalarType(call.inputs.back().type)) call.inputs.pop_back();
    for (OperandType type : entry.rest) call.inputs.push_back(operand(type));
    if (entry.level == 0) {
      EXPECT_FALSE(check(call).ok())
          << operationTypeName(entry.op) << " with " << call.inputs.size() << " inputs";
    } else {
      EXPECT_EQ(levelOf(call), entry.level)
          << operationTypeName(entry.op) << " with " << call.inputs.size() << " inputs";
    }
  }
}

TEST(Signature, LevelsOfRanks) {
  const auto levelAtRank = [](OperationType op, size_t rank) {
    Call call = simpleCall(op, {TENSOR_FLOAT32});
    call.inputs[0].dimensions.assign(rank, 2);
    const Result<FeatureLevel> level = check(call);
    return level.ok() ? static_cast<int>(*level) : 0;
  };
  const std::vector<int> softmax = {3, 1, 3, 1, 0};
  const std::vector<int> anyUpTo4 = {1, 1, 1, 1, 0};
  for (size_t rank = 1; rank <= 5; ++rank) {
    EXPECT_EQ(levelAtRank(SOFTMAX, rank), softmax[rank - 1]) << "rank " << rank;
    for (OperationType op : {ADD, MUL, LOGISTIC, RELU6, RESHAPE, CONCATENATION}) {
      EXPECT_EQ(levelAtRank(op, rank), anyUpTo4[rank - 1])
          << operationTypeName(op) << " of rank " << rank;
    }
    for (OperationType op : {MEAN, PAD, TRANSPOSE}) {
      EXPECT_EQ(levelAtRank(op, rank), rank <= 4 ? 2 : 0)
          << operationTypeName(op) << " of rank " << rank;
    }
    EXPECT_EQ(levelAtRank(QUANTIZE, rank), 3) << "rank " << rank;
    EXPECT_EQ(levelAtRank(CONV_2D, rank), rank == 4 ? 1 : 0) << "rank " << rank;
    EXPECT_EQ(levelAtRank(FULLY_CONNECTED, rank), rank >= 2 && rank <= 4 ? 1 : 0);
  }
  Call call = simpleCall(CONV_2D, {TENSOR_FLOAT32});
  call.inputs[0].dimensions = {2, 0, 2};
  expectRefused(call, "input 0 (input) has rank 3 [2,?,2], expected rank 4");
  call = simpleCall(SOFTMAX, {TENSOR_FLOAT32});
  call.inputs[0].dimensions.assign(5, 1);
  expectRefused(call, "has rank 5 [1,1,1,1,1], expected rank 2, 4 or 1 to 4");
}

TEST(Signature, TypesMustFitTogether) {
  Call call = simpleCall(ADD, {TENSOR_FLOAT32});
  call.inputs[1] = operand(TENSOR_QUANT8_ASYMM);
  expectRefused(call, "input 1 (b) is TENSOR_QUANT8_ASYMM, expected TENSOR_FLOAT32");
  call = simpleCall(ADD, {TENSOR_FLOAT32});
  call.outputs[0] = operand(TENSOR_FLOAT16);
  expectRefused(call, "output 0 (output) is TENSOR_FLOAT16, expected TENSOR_FLOAT32");
  call = simpleCall(DEQUANTIZE, {TENSOR_QUANT8_ASYMM});
  call.outputs[0] = operand(TENSOR_INT32);
  expectRefused(call,
                "output 0 (output) is TENSOR_INT32, expected TENSOR_FLOAT16 or "
                "TENSOR_FLOAT32");
  call = simpleCall(CONV_2D, {TENSOR_QUANT8_ASYMM, TENSOR_QUANT8_ASYMM});
  call.inputs[1] = operand(TENSOR_QUANT8_ASYMM_SIGNED);
  expectRefused(call,
                "input 1 (filter) is TENSOR_QUANT8_ASYMM_SIGNED, expected "
                "TENSOR_QUANT8_ASYMM or TENSOR_QUANT8_SYMM_PER_CHANNEL");
  call = simpleCall(DETECTION_POSTPROCESSING, {TENSOR_FLOAT16});
  call.inputs[11] = operand(FLOAT32);
  expectRefused(call, "input 11 (score threshold) is FLOAT32, expected FLOAT16");
}

TEST(Signature, RepeatedInputs) {
  const TypeRow& row = rowOf(CONCATENATION, {TENSOR_FLOAT32});
  const Form& form = definitionOf(CONCATENATION)->signature.forms[0];
  Call call = legalCall(CONCATENATION, form, row, 2);
  for (int more = 0; more < 40; ++more) {
    EXPECT_EQ(levelOf(call), 1);
    call.inputs.insert(call.inputs.begin(), call.inputs[0]);
  }
  call.inputs[7] = operand(TENSOR_QUANT8_ASYMM);
  expectRefused(call, "input 7 (input) is TENSOR_QUANT8_ASYMM, expected TENSOR_FLOAT32");
  call.inputs.resize(7);
  expectRefused(call, "input 6 (axis) is TENSOR_FLOAT32, expected INT32");
  call.inputs.resize(1);
  expectRefused(call, "takes at least 2 inputs, has 1");
  call.inputs = {operand(INT32)};
  expectRefused(call, "takes at least 2 inputs, has 1");
}

TEST(Signature, ProductsNeedACoarserScale) {
  for (OperandType type : {TENSOR_QUANT8_ASYMM, TENSOR_QUANT8_ASYMM_SIGNED}) {
    Call call = simpleCall(MUL, {type});
    call.outputs[0].scale = 0.25f;  // each input has 0.5
    expectRefused(call, "output has scale 0.25, expected more than 0.25");
    call.outputs[0].scale = 0.2501f;
    EXPECT_TRUE(check(call).ok());
    call.type = ADD;
    call.outputs[0].scale = 0.01f;
    EXPECT_TRUE(check(call).ok());
  }
}

TEST(Signature, QuantisationMayNeedAHigherLevel) {
  Call call = simpleCall(PAD, {TENSOR_QUANT8_ASYMM});
  EXPECT_EQ(levelOf(call), 2);
  call.inputs[0].zeroPoint = call.outputs[0].zeroPoint = 3;
  EXPECT_EQ(levelOf(call), 3);

  call = simpleCall(CONCATENATION, {TENSOR_QUANT8_ASYMM});
  call.inputs.insert(call.inputs.begin(), call.inputs[0]);
  EXPECT_EQ(levelOf(call), 1);
  call.inputs[1].zeroPoint = 1;
  EXPECT_EQ(levelOf(call), 3);
  call.inputs[1].zeroPoint = 0;
  call.inputs[0].scale = 0.25f;
  EXPECT_EQ(levelOf(call), 3);

  for (OperationType op : {CONV_2D, DEPTHWISE_CONV_2D}) {
    call = simpleCall(op, {TENSOR_QUANT8_ASYMM, TENSOR_QUANT8_ASYMM});
    EXPECT_EQ(levelOf(call), 1);
    call.outputs[0].scale = 0.25f;
    EXPECT_EQ(levelOf(call), 3) << operationTypeName(op);
  }
}

// Only the computation needs the fixed quantisation of results in a limited range.
TEST(Signature, UnitRangesMayDeclareAnotherQuantisation) {
  for (OperationType op : {LOGISTIC, SOFTMAX, TANH, L2_NORMALIZATION}) {
    for (OperandType type : {TENSOR_QUANT8_ASYMM, TENSOR_QUANT8_ASYMM_SIGNED}) {
      Call call = simpleCall(op, {type});
      call.outputs[0].scale = 0.5f;
      call.outputs[0].zeroPoint = 5;
      EXPECT_TRUE(check(call).ok()) << operationTypeName(op);
    }
  }
}

TEST(Signature, RanksOfListsStatesAndOutputsAreOfComputation) {
  forEachLegalCall([&](const Call& call, const Form& form, FeatureLevel) {
    for (size_t i = 0; i < call.inputs.size(); ++i) {
      const bool isList = form.inputs[i].fixed == TENSOR_INT32 && form.inputs[i].column == -1;
      if (!form.inputs[i].rankIsOfComputation) continue;
      EXPECT_TRUE(i > 0 || isList) << operationTypeName(call.type);
      Call other = call;
      other.inputs[i].dimensions = {1, 1, 1, 1, 1};
      EXPECT_TRUE(check(other).ok()) << operationTypeName(call.type) << " input " << i;
    }
  });
  Call lstm = simpleCall(BIDIRECTIONAL_SEQUENCE_LSTM, {TENSOR_FLOAT32});
  lstm.inputs[36].dimensions = {4};
  EXPECT_TRUE(check(lstm).ok());
  for (OperationType op : {BIDIRECTIONAL_SEQUENCE_RNN, UNIDIRECTIONAL_SEQUENCE_RNN}) {
    Call call = simpleCall(op, {TENSOR_FLOAT32});
    for (Operand& output : call.outputs) output.dimensions = {2, 2};
    EXPECT_TRUE(check(call).ok()) << operationTypeName(op);
  }
}

TEST(Signature, FiltersHaveTheirScalesAlongTheOutputChannels) {
  Call call = simpleCall(CONV_2D, {TENSOR_QUANT8_ASYMM, TENSOR_QUANT8_SYMM_PER_CHANNEL});
  call.inputs[1].extraParams = SymmPerChannelQuantParams{{0.5f, 0.5f}, 3};
  expectRefused(call, "filter has its scales along dimension 3, expected dimension 0");
  call = simpleCall(DEPTHWISE_CONV_2D, {TENSOR_QUANT8_ASYMM, TENSOR_QUANT8_SYMM_PER_CHANNEL});
  call.inputs[1].extraParams = SymmPerChannelQuantParams{{0.5f, 0.5f}, 0};
  expectRefused(call, "filter has its scales along dimension 0, expected dimension 3");
  call.inputs[1].extraParams = std::monostate();
  expectRefused(call, "no per-channel");
}

}  // namespace
}  // namespace halyard::ops
