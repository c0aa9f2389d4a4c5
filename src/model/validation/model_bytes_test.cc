#include "halyard/driver/model_bytes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstring>

#include "halyard/driver/constants.h"
#include "model/dump.h"
#include "model/validation/validation.h"

namespace halyard {
namespace {

using ::testing::HasSubstr;

Operand operandOf(OperandType type, Shape dimensions, Lifetime lifetime) {
  Operand operand;
  operand.type = type;
  operand.dimensions = std::move(dimensions);
  operand.lifetime = lifetime;
  return operand;
}

// out = (in + large) + large, where `large` is 200 floats in the model or in a pool.
Model addTwice(bool inPool) {
  Model model;
  auto& operands = model.main.operands;
  const Shape shape = {200};
  operands = {operandOf(OperandType::TENSOR_FLOAT32, shape, Lifetime::SUBGRAPH_INPUT),
              operandOf(OperandType::TENSOR_FLOAT32, shape, Lifetime::CONSTANT_COPY),
              operandOf(OperandType::INT32, {}, Lifetime::CONSTANT_COPY),
              operandOf(OperandType::TENSOR_FLOAT32, shape, Lifetime::TEMPORARY_VARIABLE),
              operandOf(OperandType::TENSOR_FLOAT32, shape, Lifetime::CONSTANT_COPY),
              operandOf(OperandType::TENSOR_FLOAT32, shape, Lifetime::SUBGRAPH_OUTPUT)};
  std::vector<float> large(200);
  for (size_t i = 0; i < large.size(); ++i) large[i] = static_cast<float>(i) / 8;
  const size_t bytes = large.size() * sizeof(float);
  if (inPool) {
    const auto memory = SharedMemory::create(bytes + 64, "test").value();
    std::memcpy(memory->map().value().data() + 64, large.data(), bytes);
    model.pools = {memory};
    operands[1].lifetime = Lifetime::CONSTANT_REFERENCE;
    operands[1].location = {0, 64, static_cast<uint32_t>(bytes)};
    operands[4].lifetime = Lifetime::CONSTANT_REFERENCE;
  } else {
    operands[1].location = appendConstant(model, large.data(), bytes);
  }
  operands[4].location = operands[1].location;
  const int32_t relu = 1;
  operands[2].location = appendConstant(model, &relu, sizeof relu);
  model.main.operations = {{OperationType::ADD, {0, 1, 2}, {3}},
                           {OperationType::ADD, {3, 4, 2}, {5}}};
  model.main.inputIndexes = {0};
  model.main.outputIndexes = {5};
  model.relaxComputationFloat32toFloat16 = true;
  return model;
}

// An IF with a subgraph for each branch, and a convolution with scales for each channel.
Model withSubgraphs() {
  Model model = addTwice(false);
  model.referenced = {model.main, model.main};
  Model outer;
  outer.referenced = model.referenced;
  outer.operandValues = model.operandValues;
  const Shape shape = {200};
  outer.main.operands = {operandOf(OperandType::TENSOR_BOOL8, {1}, Lifetime::SUBGRAPH_INPUT),
                         operandOf(OperandType::MODEL, {}, Lifetime::SUBGRAPH),
                         operandOf(OperandType::MODEL, {}, Lifetime::SUBGRAPH),
                         operandOf(OperandType::TENSOR_FLOAT32, shape, Lifetime::SUBGRAPH_INPUT),
                         operandOf(OperandType::TENSOR_FLOAT32, shape, Lifetime::SUBGRAPH_OUTPUT)};
  outer.main.operands[2].location.offset = 1;
  outer.main.operations = {{OperationType::IF, {0, 1, 2, 3}, {4}}};
  outer.main.inputIndexes = {0, 3};
  outer.main.outputIndexes = {4};
  return outer;
}

Model withChannelScales() {
  Model model;
  auto& operands = model.main.operands;
  operands = {
      operandOf(OperandType::TENSOR_QUANT8_ASYMM, {1, 4, 4, 64}, Lifetime::SUBGRAPH_INPUT),
      operandOf(OperandType::TENSOR_QUANT8_SYMM_PER_CHANNEL, {16, 1, 1, 64},
                Lifetime::CONSTANT_COPY),
      operandOf(OperandType::TENSOR_INT32, {16}, Lifetime::CONSTANT_COPY),
      operandOf(OperandType::INT32, {}, Lifetime::CONSTANT_COPY),
      operandOf(OperandType::INT32, {}, Lifetime::CONSTANT_COPY),
      operandOf(OperandType::INT32, {}, Lifetime::CONSTANT_COPY),
      operandOf(OperandType::TENSOR_QUANT8_ASYMM, {1, 4, 4, 16}, Lifetime::SUBGRAPH_OUTPUT)};
  operands[0].scale = 0.5f;
  operands[6].scale = 2.0f;
  operands[6].zeroPoint = 7;
  operands[1].extraParams = SymmPerChannelQuantParams{std::vector<float>(16, 0.25f), 0};
  const std::vector<uint8_t> weights(16 * 64, 3);
  operands[1].location = appendConstant(model, weights.data(), weights.size());
  const std::vector<int32_t> bias(16, 5);
  operands[2].location = appendConstant(model, bias.data(), bias.size() * sizeof(int32_t));
  const int32_t padding = 1;
  operands[3].location = appendConstant(model, &padding, sizeof padding);
  for (size_t i : {4, 5}) operands[i].location = operands[3].location;
  operands.insert(operands.begin() + 6, operandOf(OperandType::INT32, {}, Lifetime::CONSTANT_COPY));
  const int32_t none = 0;
  operands[6].location = appendConstant(model, &none, sizeof none);
  model.main.operations = {{OperationType::CONV_2D, {0, 1, 2, 3, 4, 5, 6}, {7}}};
  model.main.inputIndexes = {0};
  model.main.outputIndexes = {7};
  return model;
}

std::vector<Model> models() {
  return {addTwice(false), addTwice(true), withSubgraphs(), withChannelScales()};
}

void expectSameConstants(const Model& a, const Subgraph& in, const Model& b, const Subgraph& out) {
  for (size_t i = 0; i < in.operands.size(); ++i) {
    if (!isConstant(in.operands[i])) continue;
    const auto before = constantData(a, in.operands[i]).value();
    const auto after = constantData(b, out.operands[i]).value();
    EXPECT_TRUE(std::equal(before.begin(), before.end(), after.begin(), after.end())) << i;
    EXPECT_EQ(out.operands[i].location.offset % 64, 0u);
  }
}

TEST(ModelBytes, ComeBackAsTheyWere) {
  for (const Model& model : models()) {
    SCOPED_TRACE(modelText(model));
    ASSERT_TRUE(validateModel(model).ok()) << validateModel(model).status().toString();
    const ModelBytes bytes = serializeModel(model).value();
    const auto again = parseModel(bytes.structure, bytes.values);
    ASSERT_TRUE(again.ok()) << again.status().toString();
    EXPECT_TRUE((*again)->pools.empty());
    EXPECT_EQ((*again)->relaxComputationFloat32toFloat16, model.relaxComputationFloat32toFloat16);
    // The bytes are the same again, so the model itself has not changed either.
    const ModelBytes twice = serializeModel(**again).value();
    EXPECT_EQ(twice.structure, bytes.structure);
    EXPECT_EQ(twice.values, bytes.values);
    expectSameConstants(model, model.main, **again, (*again)->main);
    ASSERT_EQ((*again)->referenced.size(), model.referenced.size());
    for (size_t i = 0; i < model.referenced.size(); ++i) {
      expectSameConstants(model, model.referenced[i], **again, (*again)->referenced[i]);
    }
  }
}

TEST(ModelBytes, ValuesAreLargeTensorsOfNumbersAndEachOnlyOnce) {
  for (const bool inPool : {false, true}) {
    EXPECT_EQ(serializeModel(addTwice(inPool)).value().values.size(), 800u);
  }
  // The bias consists of integers.
  EXPECT_EQ(serializeModel(withChannelScales()).value().values.size(), 1024u);
}

TEST(ModelBytes, PoolThatCannotBeReadIsAnError) {
  Model model = addTwice(true);
  const UniqueFd file(::memfd_create("test", MFD_CLOEXEC));
  ASSERT_EQ(::ftruncate(file.get(), 4096), 0);
  model.pools[0] = SharedMemory::fromFd(4096, PROT_WRITE, file.get(), 0).value();
  EXPECT_EQ(serializeModel(model).status().code(), ResultCode::UNMAPPABLE);
}

TEST(ModelBytes, AnyOtherValuesAreTakenButOfTheRightLengthOnly) {
  ModelBytes bytes = serializeModel(addTwice(false)).value();
  std::fill(bytes.values.begin(), bytes.values.end(), uint8_t{0xff});
  EXPECT_TRUE(parseModel(bytes.structure, bytes.values).ok());
  bytes.values.push_back(0);
  EXPECT_THAT(parseModel(bytes.structure, bytes.values).status().message(),
              HasSubstr("801 bytes of a model's values, expected 800"));
  bytes.values.resize(799);
  EXPECT_EQ(parseModel(bytes.structure, bytes.values).status().code(), ResultCode::BAD_DATA);
}

TEST(ModelBytes, EveryTruncationAndExtensionIsRefused) {
  for (const Model& model : models()) {
    const ModelBytes bytes = serializeModel(model).value();
    for (size_t length = 0; length < bytes.structure.size(); ++length) {
      const auto parsed = parseModel(std::span(bytes.structure).first(length), bytes.values);
      ASSERT_EQ(parsed.status().code(), ResultCode::BAD_DATA) << length;
      ASSERT_FALSE(parsed.status().message().empty());
    }
    std::vector<uint8_t> longer = bytes.structure;
    longer.push_back(0);
    EXPECT_EQ(parseModel(longer, bytes.values).status().code(), ResultCode::BAD_DATA);
  }
}

// Every model that the reader accepts is valid. The sanitizers find invalid accesses.
TEST(ModelBytes, AnyByteMayBeAnything) {
  for (const Model& model : models()) {
    const ModelBytes bytes = serializeModel(model).value();
    size_t refused = 0;
    for (size_t i = 0; i < bytes.structure.size(); ++i) {
      for (const uint8_t change : {uint8_t{1}, uint8_t{0x80}, uint8_t{0xff}}) {
        std::vector<uint8_t> changed = bytes.structure;
        changed[i] ^= change;
        const auto parsed = parseModel(changed, bytes.values);
        if (parsed.ok()) {
          ASSERT_TRUE(validateModel(**parsed).ok());
        } else {
          ASSERT_EQ(parsed.status().code(), ResultCode::BAD_DATA);
          ++refused;
        }
      }
    }
    EXPECT_GT(refused, 0u);
  }
}

}  // namespace
}  // namespace halyard
