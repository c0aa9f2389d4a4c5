// Tests of recurrent layers against their formulas, with values by hand.
#include <cmath>

#include "import/tflite/single_operator_for_test.h"

namespace halyard::import {
namespace {

using flatbuffers::FlatBufferBuilder;
using ::testing::ElementsAre;
using ::testing::FloatNear;
using ::testing::HasSubstr;
using Op = tfl::BuiltinOperator;
using Opt = tfl::BuiltinOptions;
using Type = tfl::TensorType;
using Activation = tfl::ActivationFunctionType;

int32_t weights(SingleOperator& single, std::vector<int32_t> shape,
                const std::vector<float>& values) {
  return single.constant(Type::FLOAT32, std::move(shape), bytesOf(values));
}

int32_t state(SingleOperator& single, std::vector<int32_t> shape) {
  const int32_t index = weights(single, std::move(shape), {});
  single.writer.tensors[static_cast<size_t>(index)].isVariable = true;
  return index;
}

// The operands of a cell with two inputs and one unit.
std::vector<int32_t> cell(SingleOperator& single) {
  return {weights(single, {1, 2}, {0.5f, -1}), weights(single, {1, 1}, {2}),
          weights(single, {1}, {0.25f}), state(single, {1, 1})};
}

TEST(RecurrentOperators, RnnBeginsWithZeros) {
  SingleOperator single;
  std::vector<int32_t> inputs = {single.floats({1, 2}, {3, 1})};
  for (const int32_t operand : cell(single)) inputs.push_back(operand);
  single.writer.node(
      Op::RNN, inputs, {single.output(Type::FLOAT32, {1, 1})}, Opt::RNNOptions,
      [](FlatBufferBuilder& b) { return tfl::CreateRNNOptions(b, Activation::RELU); });
  // 0.5 * 3 - 1 + 0.25
  EXPECT_THAT(single.floatOutput(), ElementsAre(0.75f));
}

TEST(RecurrentOperators, SequenceRnnRemembers) {
  SingleOperator single;
  std::vector<int32_t> inputs = {single.floats({1, 2, 2}, {3, 1, 0, 0})};
  for (const int32_t operand : cell(single)) inputs.push_back(operand);
  single.writer.node(Op::UNIDIRECTIONAL_SEQUENCE_RNN, inputs,
                     {single.output(Type::FLOAT32, {1, 2, 1})}, Opt::SequenceRNNOptions,
                     [](FlatBufferBuilder& b) {
                       return tfl::CreateSequenceRNNOptions(b, false, Activation::NONE);
                     });
  EXPECT_THAT(single.floatOutput(), ElementsAre(0.75f, 1.75f));
}

// With the cell above in both directions. `isMerged`: one output with the values of both.
void addBidirectionalRnn(SingleOperator& single, bool isMerged) {
  std::vector<int32_t> inputs = {single.floats({1, 2, 2}, {3, 1, 0, 0})};
  for (int direction = 0; direction < 2; ++direction) {
    for (const int32_t operand : cell(single)) inputs.push_back(operand);
  }
  inputs.insert(inputs.end(), {-1, -1, -1});
  std::vector<int32_t> outputs = {single.output(Type::FLOAT32)};
  if (!isMerged) outputs.push_back(single.output(Type::FLOAT32));
  single.writer.node(Op::BIDIRECTIONAL_SEQUENCE_RNN, inputs, outputs,
                     Opt::BidirectionalSequenceRNNOptions, [isMerged](FlatBufferBuilder& b) {
                       return tfl::CreateBidirectionalSequenceRNNOptions(b, false, Activation::NONE,
                                                                         isMerged);
                     });
}

TEST(RecurrentOperators, BidirectionalRnnRunsBothWays) {
  for (const bool isMerged : {false, true}) {
    SingleOperator single;
    addBidirectionalRnn(single, isMerged);
    const std::vector<std::vector<uint8_t>> found = single.outputs();
    if (isMerged) {
      EXPECT_THAT(as<float>(found[0]), ElementsAre(0.75f, 1.25f, 1.75f, 0.25f));
    } else {
      EXPECT_THAT(as<float>(found[0]), ElementsAre(0.75f, 1.75f));
      EXPECT_THAT(as<float>(found[1]), ElementsAre(1.25f, 0.25f));
    }
  }
}

// Two executions with the states between them, in both forms of the outputs.
TEST(RecurrentOperators, BidirectionalRnnKeepsItsStates) {
  for (const bool isMerged : {false, true}) {
    SingleOperator single;
    addBidirectionalRnn(single, isMerged);
    Result<ImportedModel> imported =
        importTflite(single.writer.bytes(), {.states = StateUse::OF_TENSORS});
    ASSERT_TRUE(imported.ok()) << imported.status().toString();
    ASSERT_EQ(imported->states.size(), 2u);
    std::vector<std::vector<uint8_t>> values = {bytesOf<float>({3, 1, 0, 0})};
    for (const ModelState& state : imported->states) {
      imported->inputs.push_back(state.port);
      imported->outputs.push_back(state.port);
      values.push_back(state.first);
    }
    RunResult result = runWith(imported, values);
    ASSERT_TRUE(result.status.ok()) << result.status.toString();
    const size_t states = isMerged ? 1 : 2;  // behind the outputs
    // Forward 0.75 and 1.75, backward 0.25 and 1.25.
    EXPECT_THAT(as<float>(result.outputs[states]), ElementsAre(1.75f));
    EXPECT_THAT(as<float>(result.outputs[states + 1]), ElementsAre(1.25f));
    result = runWith(imported, {values[0], result.outputs[states], result.outputs[states + 1]});
    ASSERT_TRUE(result.status.ok()) << result.status.toString();
    // Forward 0.75 + 2 * 1.75 and 0.25 + 2 * 4.25, backward 0.25 + 2 * 1.25 and 0.75 + 2 * 2.75.
    if (isMerged) {
      EXPECT_THAT(as<float>(result.outputs[0]), ElementsAre(4.25f, 6.25f, 8.75f, 2.75f));
    } else {
      EXPECT_THAT(as<float>(result.outputs[0]), ElementsAre(4.25f, 8.75f));
      EXPECT_THAT(as<float>(result.outputs[1]), ElementsAre(6.25f, 2.75f));
    }
  }
}

// All weights are 0, so that every gate is 0.5 and the new value is the tangent of its bias.
TEST(RecurrentOperators, BidirectionalLstmKeepsItsStates) {
  SingleOperator single;
  std::vector<int32_t> inputs = {single.floats({1, 1, 1}, {3})};
  for (const float bias : {1.0f, -2.0f}) {
    for (int i = 0; i < 8; ++i) inputs.push_back(weights(single, {1, 1}, {0}));
    inputs.insert(inputs.end(), {-1, -1, -1});
    for (const float value : {0.0f, 0.0f, bias, 0.0f}) {
      inputs.push_back(weights(single, {1}, {value}));
    }
    inputs.insert(inputs.end(), {-1, -1});
  }
  for (int i = 0; i < 4; ++i) inputs.push_back(state(single, {1, 1}));
  inputs.resize(48, -1);
  const std::vector<int32_t> outputs = {single.output(Type::FLOAT32), single.output(Type::FLOAT32)};
  single.writer.node(Op::BIDIRECTIONAL_SEQUENCE_LSTM, inputs, outputs,
                     Opt::BidirectionalSequenceLSTMOptions, [](FlatBufferBuilder& b) {
                       return tfl::CreateBidirectionalSequenceLSTMOptions(b, Activation::TANH);
                     });
  Result<ImportedModel> imported =
      importTflite(single.writer.bytes(), {.states = StateUse::OF_TENSORS});
  ASSERT_TRUE(imported.ok()) << imported.status().toString();
  ASSERT_EQ(imported->states.size(), 4u);
  std::vector<std::vector<uint8_t>> values = {bytesOf<float>({3})};
  for (const ModelState& state : imported->states) {
    imported->inputs.push_back(state.port);
    imported->outputs.push_back(state.port);
    values.push_back(state.first);
  }
  float share = 0;  // of the new value in the cell
  for (int execution = 0; execution < 3; ++execution) {
    share = 0.5f * share + 0.5f;
    const RunResult result = runWith(imported, values);
    ASSERT_TRUE(result.status.ok()) << result.status.toString();
    for (const size_t direction : {0, 1}) {
      const float cell = share * std::tanh(direction == 0 ? 1.0f : -2.0f);
      const float hidden = 0.5f * std::tanh(cell);
      const auto valueOf = [&](size_t i) { return as<float>(result.outputs[i])[0]; };
      EXPECT_NEAR(valueOf(direction), hidden, 1e-5f);
      EXPECT_NEAR(valueOf(2 + 2 * direction), hidden, 1e-5f);
      EXPECT_NEAR(valueOf(3 + 2 * direction), cell, 1e-5f);
    }
    for (size_t i = 0; i < 4; ++i) values[1 + i] = result.outputs[2 + i];
  }
}

TEST(RecurrentOperators, SvdfOfAFirstStep) {
  SingleOperator single;
  const int32_t x = single.floats({1, 2}, {3, 1});
  const int32_t features = weights(single, {1, 2}, {1, 2});
  const int32_t time = weights(single, {1, 2}, {10, 0.5f});
  const int32_t memory = state(single, {1, 2});
  single.writer.node(Op::SVDF, {x, features, time, -1, memory},
                     {single.output(Type::FLOAT32, {1, 1})}, Opt::SVDFOptions,
                     [](FlatBufferBuilder& b) { return tfl::CreateSVDFOptions(b, 1); });
  // The newest value, 3 + 2, has the last weight. The memory before it is 0.
  EXPECT_THAT(single.floatOutput(), ElementsAre(2.5f));
}

SingleOperator lstm(tfl::LSTMKernelType kernel) {
  SingleOperator single;
  std::vector<int32_t> inputs = {single.floats({1, 1}, {1})};
  for (const float weight : {1.0f, 0.0f, 2.0f, 0.5f}) {
    inputs.push_back(weights(single, {1, 1}, {weight}));
  }
  for (int gate = 0; gate < 4; ++gate) inputs.push_back(weights(single, {1, 1}, {0}));
  inputs.insert(inputs.end(), {-1, -1, -1});
  for (int gate = 0; gate < 4; ++gate) inputs.push_back(weights(single, {1}, {0}));
  inputs.insert(inputs.end(), {-1, -1, state(single, {1, 1}), state(single, {1, 1})});
  single.writer.node(Op::LSTM, inputs, {single.output(Type::FLOAT32, {1, 1})}, Opt::LSTMOptions,
                     [kernel](FlatBufferBuilder& b) {
                       return tfl::CreateLSTMOptions(b, Activation::TANH, 0, 0, kernel);
                     });
  return single;
}

TEST(RecurrentOperators, LstmOfAFirstStep) {
  const auto sigmoid = [](double x) { return 1 / (1 + std::exp(-x)); };
  const double memory = sigmoid(1) * std::tanh(2.0);
  const auto expected = static_cast<float>(sigmoid(0.5) * std::tanh(memory));
  EXPECT_THAT(lstm(tfl::LSTMKernelType::FULL).floatOutput(),
              ElementsAre(FloatNear(expected, 1e-6f)));
  EXPECT_THAT(lstm(tfl::LSTMKernelType::BASIC).refusal(), HasSubstr("the kernel BASIC"));
}

}  // namespace
}  // namespace halyard::import
