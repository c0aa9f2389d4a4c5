// Tests of models that pass through the public C API, on the CPU device of the runtime.
#include "client/session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstring>

#include "client/status.h"

namespace halyard::client {
namespace {

using halyard::Model;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

Operand operandOf(OperandType type, Shape dims, Lifetime lifetime) {
  Operand operand;
  operand.type = type;
  operand.dimensions = std::move(dims);
  operand.lifetime = lifetime;
  return operand;
}

// output = input + constant, with floats [1, width]. `output` may have unknown dimensions.
Model addModel(uint32_t width, Shape output) {
  Model model;
  const std::vector<float> constant(width, 10.0f);
  const int32_t noActivation = 0;
  model.main.operands = {
      operandOf(OperandType::TENSOR_FLOAT32, {1, width}, Lifetime::SUBGRAPH_INPUT),
      operandOf(OperandType::TENSOR_FLOAT32, {1, width}, Lifetime::CONSTANT_COPY),
      operandOf(OperandType::INT32, {}, Lifetime::CONSTANT_COPY),
      operandOf(OperandType::TENSOR_FLOAT32, std::move(output), Lifetime::SUBGRAPH_OUTPUT),
  };
  model.main.operands[1].location = appendConstant(model, constant.data(), width * sizeof(float));
  model.main.operands[2].location = appendConstant(model, &noActivation, sizeof noActivation);
  model.main.operations = {{OperationType::ADD, {0, 1, 2}, {3}}};
  model.main.inputIndexes = {0};
  model.main.outputIndexes = {3};
  return model;
}

const ANeuralNetworksDevice* referenceDevice() {
  const auto devices = allDevices();
  EXPECT_TRUE(devices.ok()) << devices.status().toString();
  if (!devices.ok() || devices->empty()) return nullptr;
  EXPECT_EQ(devices->back().name, "nnapi-reference");
  return devices->back().handle;
}

std::vector<uint8_t> bytesOf(const std::vector<float>& values) {
  std::vector<uint8_t> bytes(values.size() * sizeof(float));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

std::vector<float> floatsOf(const Output& output) {
  std::vector<float> values(output.bytes.size() / sizeof(float));
  std::memcpy(values.data(), output.bytes.data(), output.bytes.size());
  return values;
}

Result<Computation> run(const Model& model, const std::vector<float>& input, Shape dims = {}) {
  auto session = Session::create(std::make_shared<const Model>(model));
  if (!session.ok()) return session.takeStatus();
  HALYARD_RETURN_IF_ERROR((*session)->compile(referenceDevice()));
  const std::vector<uint8_t> bytes = bytesOf(input);
  const Input argument{bytes, std::move(dims), false};
  return (*session)->execute({&argument, 1});
}

TEST(Session, RunsAModel) {
  const auto result = run(addModel(3, {1, 3}), {1, 2, 3});
  ASSERT_TRUE(result.ok()) << result.status().toString();
  ASSERT_EQ(result->outputs.size(), 1u);
  EXPECT_THAT(result->outputs[0].dimensions, ElementsAre(1, 3));
  EXPECT_THAT(floatsOf(result->outputs[0]), ElementsAre(11, 12, 13));
  EXPECT_EQ(result->attempts, 1);
  EXPECT_GT(result->duration.count(), 0);
}

TEST(Session, RunsOneCompilationTwice) {
  auto session = Session::create(std::make_shared<const Model>(addModel(1, {1, 1})));
  ASSERT_TRUE(session.ok()) << session.status().toString();
  ASSERT_TRUE((*session)->compile(nullptr).ok());
  for (const float value : {1.0f, 5.0f}) {
    const std::vector<uint8_t> bytes = bytesOf({value});
    const Input argument{bytes, {}, false};
    const auto result = (*session)->execute({&argument, 1});
    ASSERT_TRUE(result.ok()) << result.status().toString();
    EXPECT_THAT(floatsOf(result->outputs[0]), ElementsAre(value + 10));
  }
}

TEST(Session, GrowsOutputsOfUnknownSize) {
  constexpr uint32_t kWidth = 40000;  // in elements; 160 kB, more than the first buffer
  for (const Shape& output : {Shape{0, 0}, Shape{}}) {
    const auto result = run(addModel(kWidth, output), std::vector<float>(kWidth, 1.0f));
    ASSERT_TRUE(result.ok()) << result.status().toString();
    EXPECT_EQ(result->attempts, 2);
    EXPECT_THAT(result->outputs[0].dimensions, ElementsAre(1, kWidth));
    EXPECT_EQ(floatsOf(result->outputs[0]), std::vector<float>(kWidth, 11.0f));
  }
  const auto small = run(addModel(3, {0, 3}), {1, 2, 3});
  ASSERT_TRUE(small.ok()) << small.status().toString();
  EXPECT_EQ(small->attempts, 1);
  EXPECT_THAT(floatsOf(small->outputs[0]), ElementsAre(11, 12, 13));
}

TEST(Session, PassesInputDimensions) {
  Model model = addModel(3, {0, 0});
  model.main.operands[0].dimensions = {0, 3};
  EXPECT_FALSE(run(model, {1, 2, 3}).ok());
  const auto result = run(model, {1, 2, 3, 4, 5, 6}, {2, 3});
  ASSERT_TRUE(result.ok()) << result.status().toString();
  EXPECT_THAT(result->outputs[0].dimensions, ElementsAre(2, 3));
  EXPECT_THAT(floatsOf(result->outputs[0]), ElementsAre(11, 12, 13, 14, 15, 16));
}

TEST(Session, PassesConstantsOfPools) {
  Model model = addModel(3, {1, 3});
  const auto pool = SharedMemory::create(64, "test");
  ASSERT_TRUE(pool.ok());
  auto mapping = (*pool)->map();
  ASSERT_TRUE(mapping.ok());
  const float values[] = {100, 200, 300};
  std::memcpy(mapping->data() + 16, values, sizeof values);
  model.pools = {*pool};
  model.main.operands[1].lifetime = Lifetime::CONSTANT_REFERENCE;
  model.main.operands[1].location = {0, 16, sizeof values};
  const auto result = run(model, {1, 2, 3});
  ASSERT_TRUE(result.ok()) << result.status().toString();
  EXPECT_THAT(floatsOf(result->outputs[0]), ElementsAre(101, 202, 303));
  model.main.operands[1].location.poolIndex = 1;
  EXPECT_THAT(run(model, {1, 2, 3}).status().message(), HasSubstr("pool #1 of 1"));
  model.main.operands[1].location = {0, 60, sizeof values};
  EXPECT_EQ(run(model, {1, 2, 3}).status().code(), ResultCode::BAD_DATA);
}

TEST(Session, PassesPerChannelScales) {
  // A 1x1 convolution of 2 input channels with the value 1 into 2 output channels.
  Model model;
  const int8_t filter[] = {1, 2, 3, 4};
  const int32_t bias[] = {0, 0};
  const int32_t numbers[] = {1, 0};  // padding SAME or stride; activation
  Operand input =
      operandOf(OperandType::TENSOR_QUANT8_ASYMM, {1, 1, 1, 2}, Lifetime::SUBGRAPH_INPUT);
  input.scale = 1;
  Operand weights =
      operandOf(OperandType::TENSOR_QUANT8_SYMM_PER_CHANNEL, {2, 1, 1, 2}, Lifetime::CONSTANT_COPY);
  weights.location = appendConstant(model, filter, sizeof filter);
  weights.extraParams = SymmPerChannelQuantParams{{1.0f, 2.0f}, 0};
  Operand biases = operandOf(OperandType::TENSOR_INT32, {2}, Lifetime::CONSTANT_COPY);
  biases.location = appendConstant(model, bias, sizeof bias);
  Operand one = operandOf(OperandType::INT32, {}, Lifetime::CONSTANT_COPY);
  one.location = appendConstant(model, &numbers[0], 4);
  Operand zero = one;
  zero.location = appendConstant(model, &numbers[1], 4);
  Operand output =
      operandOf(OperandType::TENSOR_QUANT8_ASYMM, {1, 1, 1, 2}, Lifetime::SUBGRAPH_OUTPUT);
  output.scale = 0.5f;
  model.main.operands = {input, weights, biases, one, zero, output};
  model.main.operations = {{OperationType::CONV_2D, {0, 1, 2, 3, 3, 3, 4}, {5}}};
  model.main.inputIndexes = {0};
  model.main.outputIndexes = {5};
  auto session = Session::create(std::make_shared<const Model>(model));
  ASSERT_TRUE(session.ok()) << session.status().toString();
  ASSERT_TRUE((*session)->compile(referenceDevice()).ok());
  const std::vector<uint8_t> bytes = {1, 1};
  const Input argument{bytes, {}, false};
  const auto result = (*session)->execute({&argument, 1});
  ASSERT_TRUE(result.ok()) << result.status().toString();
  // (1 + 2) * 1 and (3 + 4) * 2, in quanta of 0.5.
  EXPECT_THAT(result->outputs[0].bytes, ElementsAre(6, 28));
}

TEST(Session, TellsWhatTheRuntimeSaid) {
  Model wrong = addModel(3, {1, 4});
  const Status finished = run(wrong, {1, 2, 3}).takeStatus();
  EXPECT_NE(finished.code(), ResultCode::NO_ERROR);
  EXPECT_THAT(finished.message(), HasSubstr("ANeuralNetworks"));
  Model odd = addModel(3, {1, 3});
  odd.main.operations[0].inputs = {0, 1};
  const Status operation = run(odd, {1, 2, 3}).takeStatus();
  EXPECT_EQ(operation.code(), ResultCode::BAD_DATA);
  EXPECT_THAT(operation.message(), HasSubstr("operation #0 ADD"));
}

// out = condition ? x + 10 : x + 10, with two references to one subgraph.
Model branchModel() {
  Model model = addModel(3, {1, 3});
  model.referenced = {model.main};
  const uint8_t yes = 1;
  Operand condition = operandOf(OperandType::TENSOR_BOOL8, {1}, Lifetime::CONSTANT_COPY);
  condition.location = appendConstant(model, &yes, sizeof yes);
  Operand branch = operandOf(OperandType::MODEL, {}, Lifetime::SUBGRAPH);
  model.main.operands = {model.main.operands[0], condition, branch, model.main.operands[3]};
  model.main.operations = {{OperationType::IF, {1, 2, 2, 0}, {3}}};
  model.main.inputIndexes = {0};
  model.main.outputIndexes = {3};
  return model;
}

TEST(Session, PassesReferencedSubgraphs) {
  const auto result = run(branchModel(), {1, 2, 3});
  ASSERT_TRUE(result.ok()) << result.status().toString();
  EXPECT_THAT(floatsOf(result->outputs[0]), ElementsAre(11, 12, 13));
}

TEST(Session, RefusesReferencesThatLeadNowhere) {
  Model outside = branchModel();
  outside.main.operands[2].location.offset = 1;
  EXPECT_THAT(run(outside, {}).status().message(), HasSubstr("referenced subgraph #1 of 1"));
  // Subgraphs 0 and 1 refer to each other.
  Model cyclic = branchModel();
  cyclic.referenced = {cyclic.main, cyclic.main};
  cyclic.referenced[0].operands[2].location.offset = 1;
  EXPECT_THAT(run(cyclic, {}).status().message(), HasSubstr("refers to itself"));
  // Each subgraph refers to the next one.
  Model deep = branchModel();
  deep.referenced.assign(100'000, deep.main);
  for (uint32_t i = 0; i < deep.referenced.size(); ++i) {
    deep.referenced[i].operands[2].location.offset = (i + 1) % 100'000;
  }
  EXPECT_THAT(run(deep, {}).status().message(), HasSubstr("refers to itself"));
  // An error inside a subgraph names the subgraph.
  Model inner = branchModel();
  inner.referenced[0].operations[0].inputs = {0, 1};
  EXPECT_THAT(run(inner, {}).status().message(), ::testing::StartsWith("referenced subgraph #0: "));
}

TEST(Session, RefusesWhatItDoesNotPassOn) {
  Model extension = addModel(3, {1, 3});
  extension.main.operands[0].type = static_cast<OperandType>(0x10001);
  EXPECT_THAT(run(extension, {}).status().message(), HasSubstr("operand %0: extension type"));
  Model hostile = addModel(3, {1, 3});
  hostile.main.operands[1].location.offset = 0xfffffff0u;
  EXPECT_THAT(run(hostile, {}).status().message(), HasSubstr("operand %1: bytes 4294967280"));
}

TEST(Session, ChecksItsOwnUse) {
  auto session = Session::create(std::make_shared<const Model>(addModel(1, {1, 1})));
  ASSERT_TRUE(session.ok()) << session.status().toString();
  EXPECT_EQ((*session)->execute({}).status().code(), ResultCode::BAD_STATE);
  ASSERT_TRUE((*session)->compile(referenceDevice()).ok());
  EXPECT_EQ((*session)->compile(referenceDevice()).code(), ResultCode::BAD_STATE);
  EXPECT_EQ((*session)->execute({}).status().code(), ResultCode::BAD_DATA);
  const auto supported = (*session)->supportedOperations(referenceDevice());
  ASSERT_TRUE(supported.ok()) << supported.status().toString();
  EXPECT_THAT(*supported, ElementsAre(true));
}

}  // namespace
}  // namespace halyard::client
