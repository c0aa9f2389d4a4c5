// Tests of the call that refuses an invalid operation. addOperation refuses operations that make
// the model invalid. The computation refuses values that are needed only there. Published
// conformance tests have the same codes.
#include <vector>

#include <fmt/format.h>

#include "api/api_for_test.h"

namespace halyard::api::testing {
namespace {

constexpr int32_t kFloat = ANEURALNETWORKS_TENSOR_FLOAT32;
constexpr int32_t kInts = ANEURALNETWORKS_TENSOR_INT32;

// A model for references: x -> relu(x), with two floats.
client::Model branch(int inputs, int outputs, int32_t type = kFloat,
                     std::vector<uint32_t> dims = {2}) {
  auto model = newModel();
  std::vector<uint32_t> in;
  std::vector<uint32_t> out;
  for (int i = 0; i < inputs; ++i) in.push_back(static_cast<uint32_t>(i));
  for (int i = 0; i < outputs; ++i) out.push_back(static_cast<uint32_t>(inputs + i));
  for (int i = 0; i < inputs + outputs; ++i) EXPECT_NN_OK(model.addOperand(type, dims));
  for (const uint32_t each : out) {
    EXPECT_NN_OK(model.addOperation(ANEURALNETWORKS_RELU, {0}, {each}));
  }
  EXPECT_NN_OK(model.identifyInputsAndOutputs(in, out));
  EXPECT_NN_OK(model.finish());
  return model;
}

// Two values -> whether they are equal. The result has the shape [1], or another one.
client::Model condition(int inputs, int32_t type = ANEURALNETWORKS_TENSOR_BOOL8,
                        std::vector<uint32_t> dims = {1}) {
  auto model = newModel();
  std::vector<uint32_t> in;
  for (int i = 0; i < inputs; ++i) {
    in.push_back(static_cast<uint32_t>(i));
    EXPECT_NN_OK(model.addOperand(kFloat, {2}));
  }
  const auto out = static_cast<uint32_t>(inputs);
  EXPECT_NN_OK(model.addOperand(type, dims));
  if (type == ANEURALNETWORKS_TENSOR_BOOL8) {
    EXPECT_NN_OK(model.addOperation(ANEURALNETWORKS_EQUAL, {0, 0}, {out}));
  } else {
    EXPECT_NN_OK(model.addOperation(ANEURALNETWORKS_RELU, {0}, {out}));
  }
  EXPECT_NN_OK(model.identifyInputsAndOutputs(in, {out}));
  EXPECT_NN_OK(model.finish());
  return model;
}

// IF of a condition, two models, `inputs` values and `outputs` results of two floats.
int addIf(ANeuralNetworksModel* model, const ANeuralNetworksModel* thenModel,
          const ANeuralNetworksModel* elseModel, int inputs, int outputs) {
  EXPECT_NN_OK(client::addOperand(model, ANEURALNETWORKS_TENSOR_BOOL8, {1}));
  for (int i = 0; i < 2; ++i) EXPECT_NN_OK(client::addOperand(model, ANEURALNETWORKS_MODEL));
  EXPECT_NN_OK(ANeuralNetworksModel_setOperandValueFromModel(model, 1, thenModel));
  EXPECT_NN_OK(ANeuralNetworksModel_setOperandValueFromModel(model, 2, elseModel));
  std::vector<uint32_t> in = {0, 1, 2};
  std::vector<uint32_t> out;
  for (int i = 0; i < inputs + outputs; ++i) {
    EXPECT_NN_OK(client::addOperand(model, kFloat, {2}));
    (i < inputs ? in : out).push_back(static_cast<uint32_t>(3 + i));
  }
  return client::addOperation(model, ANEURALNETWORKS_IF, in, out);
}

int addWhile(ANeuralNetworksModel* model, const ANeuralNetworksModel* conditionModel,
             const ANeuralNetworksModel* body, int inputs, int outputs) {
  for (int i = 0; i < 2; ++i) EXPECT_NN_OK(client::addOperand(model, ANEURALNETWORKS_MODEL));
  EXPECT_NN_OK(ANeuralNetworksModel_setOperandValueFromModel(model, 0, conditionModel));
  EXPECT_NN_OK(ANeuralNetworksModel_setOperandValueFromModel(model, 1, body));
  std::vector<uint32_t> in = {0, 1};
  std::vector<uint32_t> out;
  for (int i = 0; i < inputs + outputs; ++i) {
    EXPECT_NN_OK(client::addOperand(model, kFloat, {2}));
    (i < inputs ? in : out).push_back(static_cast<uint32_t>(2 + i));
  }
  return client::addOperation(model, ANEURALNETWORKS_WHILE, in, out);
}

TEST(OperationCodes, IfFitsItsModelsWhenItIsAdded) {
  const auto one = branch(1, 1);
  EXPECT_NN_OK(addIf(newModel().get(), one.get(), one.get(), 1, 1));
  EXPECT_NN_ERROR(addIf(newModel().get(), one.get(), one.get(), 2, 1), ANEURALNETWORKS_BAD_DATA,
                  "the then-model has 1 inputs, expected 2");
  EXPECT_NN_ERROR(addIf(newModel().get(), one.get(), branch(2, 1).get(), 1, 1),
                  ANEURALNETWORKS_BAD_DATA, "the else-model has 2 inputs, expected 1");
  EXPECT_NN_ERROR(addIf(newModel().get(), one.get(), branch(1, 2).get(), 1, 1),
                  ANEURALNETWORKS_BAD_DATA, "the else-model has 2 outputs, expected 1");
  EXPECT_NN_ERROR(
      addIf(newModel().get(), branch(1, 1, ANEURALNETWORKS_TENSOR_FLOAT16).get(), one.get(), 1, 1),
      ANEURALNETWORKS_BAD_DATA, "input 0 of the then-model is TENSOR_FLOAT16");
  EXPECT_NN_ERROR(addIf(newModel().get(), one.get(), branch(1, 1, kFloat, {3}).get(), 1, 1),
                  ANEURALNETWORKS_BAD_DATA, "input 0 of the else-model is TENSOR_FLOAT32[3]");
}

TEST(OperationCodes, WhileFitsItsModelsWhenItIsAdded) {
  const auto body = branch(1, 1);
  const auto goOn = condition(1);
  EXPECT_NN_OK(addWhile(newModel().get(), goOn.get(), body.get(), 1, 1));
  EXPECT_NN_ERROR(addWhile(newModel().get(), condition(2).get(), body.get(), 1, 1),
                  ANEURALNETWORKS_BAD_DATA, "the condition model has 2 inputs, expected 1");
  EXPECT_NN_ERROR(addWhile(newModel().get(), goOn.get(), branch(2, 1).get(), 1, 1),
                  ANEURALNETWORKS_BAD_DATA, "the body model has 2 inputs, expected 1");
  EXPECT_NN_ERROR(addWhile(newModel().get(), goOn.get(), branch(1, 2).get(), 1, 1),
                  ANEURALNETWORKS_BAD_DATA, "the body model has 2 outputs, expected 1 to 1");
  EXPECT_NN_ERROR(addWhile(newModel().get(), condition(1, kFloat, {2}).get(), body.get(), 1, 1),
                  ANEURALNETWORKS_BAD_DATA,
                  "output 0 of the condition model is TENSOR_FLOAT32[2], expected TENSOR_BOOL8[1]");
  EXPECT_NN_ERROR(addWhile(newModel().get(), goOn.get(), branch(1, 1, kFloat, {3}).get(), 1, 1),
                  ANEURALNETWORKS_BAD_DATA, "input 0 of the body model is TENSOR_FLOAT32[3]");
}

// An earlier model of the operand is not checked and is not part of the finished model.
TEST(OperationCodes, TheLastModelOfAnOperandCounts) {
  const auto wrong = branch(2, 1);
  const auto right = branch(1, 1);
  const auto model = newModel();
  EXPECT_NN_ERROR(addIf(model.get(), wrong.get(), wrong.get(), 1, 1), ANEURALNETWORKS_BAD_DATA,
                  "the then-model has 2 inputs");
  for (uint32_t operand : {1, 2}) {
    EXPECT_NN_OK(model.setOperandValueFromModel(static_cast<int32_t>(operand), right.get()));
  }
  EXPECT_NN_OK(model.addOperation(ANEURALNETWORKS_IF, {0, 1, 2, 3}, {4}));
  EXPECT_NN_OK(model.identifyInputsAndOutputs({0, 3}, {4}));
  EXPECT_NN_OK(model.finish());
  const auto compilation = compileFor(model.get(), deviceNamed(kCpuDevice));
  const auto execution = newExecution(compilation.get());
  const bool taken = true;
  const float in[] = {-1, 3};
  float out[2] = {};
  EXPECT_NN_OK(execution.setInput(0, nullptr, &taken, 1));
  EXPECT_NN_OK(execution.setInput(1, nullptr, in, sizeof in));
  EXPECT_NN_OK(execution.setOutput(0, nullptr, out, sizeof out));
  EXPECT_NN_OK(execution.compute());
  EXPECT_EQ(out[0], 0);
  EXPECT_EQ(out[1], 3);

  // finish() checks a model that is set after addOperation.
  const auto changed = newModel();
  EXPECT_NN_OK(addIf(changed.get(), right.get(), right.get(), 1, 1));
  EXPECT_NN_OK(changed.setOperandValueFromModel(2, wrong.get()));
  EXPECT_NN_OK(changed.identifyInputsAndOutputs({0, 3}, {4}));
  EXPECT_NN_ERROR(changed.finish(), ANEURALNETWORKS_BAD_DATA, "the else-model has 2 inputs");
}

int addPack(std::vector<std::vector<uint32_t>> inputs, std::vector<uint32_t> output, int32_t axis) {
  const auto model = newModel();
  EXPECT_NN_OK(model.addOperand(ANEURALNETWORKS_INT32));
  EXPECT_NN_OK(model.setOperandValue(0, &axis, sizeof axis));
  std::vector<uint32_t> in = {0};
  for (const auto& dims : inputs) {
    in.push_back(static_cast<uint32_t>(in.size()));
    EXPECT_NN_OK(model.addOperand(kFloat, dims));
  }
  EXPECT_NN_OK(model.addOperand(kFloat, output));
  return model.addOperation(ANEURALNETWORKS_PACK, in, {static_cast<uint32_t>(inputs.size() + 1)});
}

TEST(OperationCodes, PackIsCheckedWhenItIsAdded) {
  EXPECT_NN_OK(addPack({{2, 3}, {2, 3}}, {2, 3, 2}, 2));
  EXPECT_NN_OK(addPack({{}, {}}, {}, 7));  // no dimension is known
  EXPECT_NN_ERROR(addPack({{2, 3}, {2}}, {2, 2, 3}, 0), ANEURALNETWORKS_BAD_DATA,
                  "input 2 has rank 1 [2]");
  EXPECT_NN_ERROR(addPack({{2, 3}, {2, 3}}, {2, 3}, 0), ANEURALNETWORKS_BAD_DATA, "has rank 2");
  EXPECT_NN_ERROR(addPack({{2, 3}, {2, 3}}, {2, 2, 3}, 3), ANEURALNETWORKS_BAD_DATA,
                  "axis is 3, expected 0 to 2");
  EXPECT_NN_ERROR(addPack({{2, 3}, {2, 3}}, {}, -1), ANEURALNETWORKS_BAD_DATA, "axis is -1");
  EXPECT_NN_ERROR(addPack({{}, {}}, {2, 2, 3}, 3), ANEURALNETWORKS_BAD_DATA, "axis is 3");
}

int addReverse(std::vector<uint32_t> input, std::vector<uint32_t> output, int32_t axis) {
  const auto model = newModel();
  EXPECT_NN_OK(model.addOperand(kFloat, input));
  EXPECT_NN_OK(model.addOperand(kInts, {1}));
  EXPECT_NN_OK(model.addOperand(kFloat, output));
  EXPECT_NN_OK(model.setOperandValue(1, &axis, sizeof axis));
  return model.addOperation(ANEURALNETWORKS_REVERSE, {0, 1}, {2});
}

TEST(OperationCodes, ReverseIsCheckedWhenItIsAdded) {
  EXPECT_NN_OK(addReverse({2, 3}, {2, 3}, 1));
  EXPECT_NN_OK(addReverse({}, {}, 7));
  EXPECT_NN_ERROR(addReverse({2, 3}, {2, 3, 1}, 1), ANEURALNETWORKS_BAD_DATA,
                  "output has rank 3 [2,3,1], expected that of the input, 2 [2,3]");
  EXPECT_NN_ERROR(addReverse({2, 3}, {}, 2), ANEURALNETWORKS_BAD_DATA,
                  "axis is 2, expected 0 to 1");
  EXPECT_NN_ERROR(addReverse({}, {2, 3}, -1), ANEURALNETWORKS_BAD_DATA, "axis is -1");
}

TEST(OperationCodes, MirrorPadKeepsTheRankWhenItIsAdded) {
  for (const bool fits : {true, false}) {
    const auto model = newModel();
    const std::vector<uint32_t> dims = {2, 3};
    EXPECT_NN_OK(model.addOperand(kFloat, dims));
    EXPECT_NN_OK(model.addOperand(kInts, {2, 2}));
    EXPECT_NN_OK(model.addOperand(ANEURALNETWORKS_INT32));
    EXPECT_NN_OK(model.addOperand(kFloat, fits ? dims : std::vector<uint32_t>{2, 3, 1}));
    const int added = model.addOperation(ANEURALNETWORKS_MIRROR_PAD, {0, 1, 2}, {3});
    EXPECT_EQ(added, fits ? ANEURALNETWORKS_NO_ERROR : ANEURALNETWORKS_BAD_DATA);
  }
}

// Builds models that are accepted and whose computation fails.
class Refused {
 public:
  Refused() : model_(newModel()) {}

  uint32_t operand(int32_t type, std::vector<uint32_t> dims = {}, float scale = 0,
                   int32_t zero = 0) {
    EXPECT_NN_OK(model_.addOperand(type, std::move(dims), scale, zero));
    return count_++;
  }
  template <typename T>
  uint32_t constant(int32_t type, std::vector<uint32_t> dims, std::vector<T> values) {
    const uint32_t index = operand(type, std::move(dims));
    EXPECT_NN_OK(model_.setOperandValue(static_cast<int32_t>(index), values.data(),
                                        values.size() * sizeof(T)));
    return index;
  }
  uint32_t input(int32_t type, std::vector<uint32_t> dims, float scale = 0, int32_t zero = 0) {
    inputs_.push_back(operand(type, std::move(dims), scale, zero));
    return inputs_.back();
  }
  uint32_t output(int32_t type, std::vector<uint32_t> dims, float scale = 0, int32_t zero = 0) {
    outputs_.push_back(operand(type, std::move(dims), scale, zero));
    return outputs_.back();
  }

  // Each argument has `bytes` bytes.
  void expect(int32_t operation, std::vector<uint32_t> inputs, size_t bytes,
              const std::string& reason) {
    EXPECT_NN_OK(model_.addOperation(operation, std::move(inputs), outputs_));
    EXPECT_NN_OK(model_.identifyInputsAndOutputs(inputs_, outputs_));
    EXPECT_NN_OK(model_.finish());
    const auto compilation = compileFor(model_.get(), deviceNamed(kCpuDevice));
    const auto execution = newExecution(compilation.get());
    std::vector<uint8_t> buffer(bytes);
    for (size_t i = 0; i < inputs_.size(); ++i) {
      EXPECT_NN_OK(execution.setInput(static_cast<int32_t>(i), nullptr, buffer.data(), bytes));
    }
    for (size_t i = 0; i < outputs_.size(); ++i) {
      EXPECT_NN_OK(execution.setOutput(static_cast<int32_t>(i), nullptr, buffer.data(), bytes));
    }
    EXPECT_NN_ERROR(execution.compute(), ANEURALNETWORKS_OP_FAILED, reason);
  }

 private:
  client::Model model_;
  std::vector<uint32_t> inputs_;
  std::vector<uint32_t> outputs_;
  uint32_t count_ = 0;
};

TEST(OperationCodes, AnotherQuantisationOfUnitRangesFailsWhenComputed) {
  for (const int32_t type :
       {ANEURALNETWORKS_TENSOR_QUANT8_ASYMM, ANEURALNETWORKS_TENSOR_QUANT8_ASYMM_SIGNED}) {
    for (const int32_t operation : {ANEURALNETWORKS_TANH, ANEURALNETWORKS_LOGISTIC,
                                    ANEURALNETWORKS_SOFTMAX, ANEURALNETWORKS_L2_NORMALIZATION}) {
      SCOPED_TRACE(fmt::format("operation {}, type {}", operation, type));
      Refused refused;
      std::vector<uint32_t> inputs = {refused.input(type, {2, 2}, 0.5F)};
      refused.output(type, {2, 2}, 0.5F, 1);
      if (operation == ANEURALNETWORKS_SOFTMAX) {
        inputs.push_back(refused.constant<float>(ANEURALNETWORKS_FLOAT32, {}, {1}));
      }
      refused.expect(operation, inputs, 4, "output has scale 0.5 and zero point 1, expected 1/");
    }
  }
}

TEST(OperationCodes, PaddingsOfAnotherRankFailWhenComputed) {
  for (const int32_t operation : {ANEURALNETWORKS_PAD, ANEURALNETWORKS_PAD_V2}) {
    Refused refused;
    std::vector<uint32_t> inputs = {refused.input(kFloat, {1, 2}),
                                    refused.constant<int32_t>(kInts, {4}, {0, 0, 0, 0})};
    if (operation == ANEURALNETWORKS_PAD_V2) {
      inputs.push_back(refused.constant<float>(ANEURALNETWORKS_FLOAT32, {}, {1}));
    }
    refused.output(kFloat, {1, 2});
    refused.expect(operation, inputs, 8, "the shape of paddings is [4], expected [2,2]");
  }
  Refused refused;
  const std::vector<uint32_t> inputs = {refused.input(kFloat, {1, 2, 2, 1}),
                                        refused.constant<int32_t>(kInts, {2}, {1, 1}),
                                        refused.constant<int32_t>(kInts, {4}, {0, 0, 0, 0})};
  refused.output(kFloat, {1, 2, 2, 1});
  refused.expect(ANEURALNETWORKS_SPACE_TO_BATCH_ND, inputs, 16, "the shape of paddings is [4]");
}

TEST(OperationCodes, RecurrentOutputsOfAnotherRankFailWhenComputed) {
  Refused refused;
  const std::vector<uint32_t> inputs = {refused.input(kFloat, {2, 1, 2}),
                                        refused.constant<float>(kFloat, {2, 2}, {1, 0, 0, 1}),
                                        refused.constant<float>(kFloat, {2, 2}, {1, 0, 0, 1}),
                                        refused.constant<float>(kFloat, {2}, {0, 0}),
                                        refused.constant<float>(kFloat, {1, 2}, {0, 0}),
                                        refused.constant<int32_t>(ANEURALNETWORKS_INT32, {}, {0}),
                                        refused.constant<int32_t>(ANEURALNETWORKS_INT32, {}, {1})};
  refused.output(kFloat, {2, 2});
  refused.expect(ANEURALNETWORKS_UNIDIRECTIONAL_SEQUENCE_RNN, inputs, 16,
                 "output 0 (operand #7): its dimensions are [2,1,2], declared [2,2]");
}

}  // namespace
}  // namespace halyard::api::testing
