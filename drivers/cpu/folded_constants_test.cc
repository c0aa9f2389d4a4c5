// Tests weights that a model stores as bytes and computes with as floats. Results equal those of
// float weights, and a compilation leaves no more in memory.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstdio>
#include <random>

#include "compiled_model.h"
#include "model_for_test.h"

namespace halyard::cpudriver {
namespace {

using testing::Builder;
using testing::inFile;
using testing::TemporaryFile;

constexpr uint32_t kFoldedDepth = 256;
constexpr uint32_t kFoldedUnits = 400;
constexpr float kScale = 0.01f;
constexpr int32_t kZeroPoint = 120;

enum class Weights { FLOAT, BYTES };

// Makes the same weights either way.
class WeightMaker {
 public:
  WeightMaker(Builder& builder, Weights kind) : builder_(builder), kind_(kind) {}

  uint32_t operator()(const Shape& dims) {
    std::vector<uint8_t> bytes(*knownElementCount(dims));
    for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(engine_());
    if (kind_ == Weights::BYTES) {
      const uint32_t real = builder_.tensor(dims);
      builder_.operation(
          OperationType::DEQUANTIZE,
          {builder_.bytes(OperandType::TENSOR_QUANT8_ASYMM, dims, kScale, kZeroPoint, bytes)},
          {real});
      return real;
    }
    std::vector<float> values;
    for (const uint8_t byte : bytes) {
      values.push_back(kScale * static_cast<float>(int32_t{byte} - kZeroPoint));
    }
    return builder_.floats(dims, values);
  }

 private:
  Builder& builder_;
  const Weights kind_;
  std::mt19937 engine_{3};
};

// A full connection, whose weights are packed, and two that share their weights. A product with a
// constant that every run reads in its place, and MAXIMUM with a small constant.
std::shared_ptr<const Model> modelOf(Weights kind) {
  Builder b;
  WeightMaker weights(b, kind);
  const uint32_t x = b.input({1, kFoldedDepth});
  const uint32_t none = b.int32(0);
  const uint32_t bias = b.constant({kFoldedUnits});
  const uint32_t shared = weights({kFoldedUnits, kFoldedUnits});
  const uint32_t layers[] = {b.tensor({1, kFoldedUnits}), b.tensor({1, kFoldedUnits}),
                             b.tensor({1, kFoldedUnits})};
  const uint32_t products = b.tensor({1, kFoldedUnits});
  const uint32_t y = b.output({1, kFoldedUnits});
  b.operation(OperationType::FULLY_CONNECTED,
              {x, weights({kFoldedUnits, kFoldedDepth}), bias, none}, {layers[0]});
  b.operation(OperationType::FULLY_CONNECTED, {layers[0], shared, bias, none}, {layers[1]});
  b.operation(OperationType::FULLY_CONNECTED, {layers[1], shared, bias, none}, {layers[2]});
  b.operation(OperationType::MUL, {layers[2], weights({1, kFoldedUnits}), none}, {products});
  b.operation(OperationType::MAXIMUM, {products, weights({1})}, {y});
  return b.take();
}

std::vector<float> outputOf(CompiledModel& model) {
  std::vector<float> in(kFoldedDepth);
  for (size_t i = 0; i < in.size(); ++i) in[i] = 0.01f * static_cast<float>(i % 61) - 0.3f;
  std::vector<float> out(kFoldedUnits);
  const cpu::Argument input{reinterpret_cast<uint8_t*>(in.data()), in.size() * 4, {}};
  const cpu::Argument output{reinterpret_cast<uint8_t*>(out.data()), out.size() * 4, {}};
  const hal::ExecutionResult result = model.run({&input, 1}, {&output, 1}, {});
  EXPECT_TRUE(result.status.ok()) << result.status.toString();
  return out;
}

class FoldedConstantsTest : public ::testing::Test {
 protected:
  FoldedConstantsTest() {
    auto floats = CompiledModel::compile(modelOf(Weights::FLOAT), {});
    EXPECT_TRUE(floats.ok()) << floats.status().toString();
    floats_ = std::move(*floats);
    expected_ = outputOf(*floats_);
  }
  const TemporaryFile file_;
  std::unique_ptr<CompiledModel> floats_;
  std::vector<float> expected_;
};

TEST_F(FoldedConstantsTest, ResultsAndStepsAreThoseOfFloatWeights) {
  const auto model = modelOf(Weights::BYTES);
  ThreadShare threads(2);
  for (const auto& each : {model, inFile(*model, file_.fd())}) {
    for (ThreadShare* share : {static_cast<ThreadShare*>(nullptr), &threads}) {
      const auto compiled = CompiledModel::compile(each, {share});
      ASSERT_TRUE(compiled.ok() && *compiled != nullptr) << compiled.status().toString();
      EXPECT_EQ(outputOf(**compiled), expected_);
      EXPECT_EQ((*compiled)->facts().steps, floats_->facts().steps);
      EXPECT_EQ((*compiled)->facts().ownKernels, floats_->facts().ownKernels);
      EXPECT_EQ((*compiled)->facts().arenaBytes, floats_->facts().arenaBytes);
      const auto later = CompiledModel::compileLater(each, {share});
      ASSERT_TRUE(later.ok() && *later != nullptr) << later.status().toString();
      EXPECT_EQ(outputOf(**later), expected_);
    }
  }
}

TEST_F(FoldedConstantsTest, NeitherBytesNorFloatsStayWhereTheyArePacked) {
  const auto model = inFile(*modelOf(Weights::BYTES), file_.fd());
  const auto compiled = CompiledModel::compile(model, {});
  ASSERT_TRUE(compiled.ok()) << compiled.status().toString();
  constexpr size_t kPacked = size_t{kFoldedUnits} * (kFoldedDepth + kFoldedUnits);
  EXPECT_GE((*compiled)->facts().releasedBytes, kPacked * (1 + sizeof(float)) - 8 * 4096);
}

}  // namespace
}  // namespace halyard::cpudriver
