// The rounding of dynamic quantisation as a step, and as a part of the layer behind it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "fusion_for_test.h"
#include "model_for_test.h"

namespace halyard::cpudriver {
namespace {

using testing::Builder;
using testing::expectSteps;
using enum OperationType;
using enum OperandType;

// As the importer writes dynamic quantisation, for rows of the last dimensions `axes`: what rounds
// `x` to `y`. Gives the zero points.
uint32_t roundTo(Builder& builder, uint32_t x, uint32_t y, const Shape& dims,
                 const std::vector<int32_t>& axes) {
  Shape ones = dims;
  for (const int32_t axis : axes) ones[static_cast<size_t>(axis)] = 1;
  const auto none = builder.int32(0);
  const auto scalar = [&](float value) {
    std::vector<uint8_t> bytes(sizeof value);
    std::memcpy(bytes.data(), &value, sizeof value);
    return builder.bytes(TENSOR_FLOAT32, {1}, 0, 0, bytes);
  };
  const auto apply = [&](OperationType type, std::vector<uint32_t> inputs, const Shape& result) {
    const uint32_t value = builder.tensor(result);
    builder.operation(type, std::move(inputs), {value});
    return value;
  };
  const auto reduce = [&](OperationType type) {
    return apply(
        type,
        {x, builder.int32s({static_cast<uint32_t>(axes.size())}, axes), builder.boolean(true)},
        ones);
  };
  const auto zero = scalar(0);
  const auto low = apply(MINIMUM, {reduce(REDUCE_MIN), zero}, ones);
  const auto high = apply(MAXIMUM, {reduce(REDUCE_MAX), zero}, ones);
  const auto difference = apply(SUB, {high, low, none}, ones);
  const auto range = apply(MAXIMUM, {difference, scalar(1e-30f)}, ones);
  const auto perUnit = apply(DIV, {scalar(255), range, none}, ones);
  const auto lowest = apply(MUL, {low, perUnit, none}, ones);
  const auto shifted = apply(SUB, {scalar(-127.5f), lowest, none}, ones);
  const auto zeroPoint = apply(FLOOR, {shifted}, ones);
  const auto units = apply(MUL, {x, perUnit, none}, dims);
  const auto rounded = apply(FLOOR, {apply(ADD, {units, scalar(0.5f), none}, dims)}, dims);
  const auto least = apply(SUB, {scalar(-128), zeroPoint, none}, ones);
  const auto greatest = apply(SUB, {scalar(127), zeroPoint, none}, ones);
  const auto raised = apply(MAXIMUM, {rounded, least}, dims);
  const auto clamped = apply(MINIMUM, {raised, greatest}, dims);
  const auto step = apply(DIV, {range, scalar(255), none}, ones);
  builder.operation(MUL, {clamped, step, none}, {y});
  return zeroPoint;
}

// The same by the extension's operation.
void roundRowsTo(Builder& builder, uint32_t x, uint32_t y, int32_t axis) {
  builder.operation(ROUND_TO_DYNAMIC_RANGE, {x, builder.int32(axis)}, {y});
}

std::shared_ptr<const Model> rowRoundingModel(const Shape& dims, int32_t axis) {
  Builder builder;
  const uint32_t x = builder.input(dims);
  roundRowsTo(builder, x, builder.output(dims), axis);
  return builder.take();
}

std::shared_ptr<const Model> roundingModel(const Shape& dims, const std::vector<int32_t>& axes,
                                           bool isShared) {
  Builder builder;
  Shape ones = dims;
  for (const int32_t axis : axes) ones[static_cast<size_t>(axis)] = 1;
  const uint32_t x = builder.input(dims);
  const uint32_t zeroPoint = roundTo(builder, x, builder.output(dims), dims, axes);
  if (isShared) builder.operation(NEG, {zeroPoint}, {builder.output(ones)});
  return builder.take();
}

// Rounding before a convolution of 3 x 3, perhaps a sum, and RELU; by image or by pixel.
std::shared_ptr<const Model> roundedConvModel(bool byPixel, bool areMultiples,
                                              bool usesExtension = false, bool addsInput = false) {
  Builder builder;
  const Shape dims = {1, 9, 8, 24};
  const uint32_t size = byPixel ? 1 : 3;
  const uint32_t rounded = builder.tensor(dims);
  const uint32_t x = builder.input(dims);
  if (usesExtension) {
    roundRowsTo(builder, x, rounded, byPixel ? 3 : 1);
  } else {
    roundTo(builder, x, rounded, dims, byPixel ? std::vector{3} : std::vector{1, 2, 3});
  }
  const Shape filterDims = {40, size, size, 24};
  std::vector<uint8_t> bytes(*knownElementCount(filterDims) * sizeof(float));
  for (size_t i = 0; i < bytes.size() / sizeof(float); ++i) {
    const float value = static_cast<float>(static_cast<int>(i * 37 % 255) - 127) * 0.0003f +
                        (!areMultiples && i == 7 ? 0.0001f : 0.0f);
    std::memcpy(&bytes[i * sizeof value], &value, sizeof value);
  }
  const uint32_t filter = builder.bytes(TENSOR_FLOAT32, filterDims, 0, 0, bytes);
  const uint32_t one = builder.int32(1);
  const Shape resultDims = {1, 9, 8, 40};
  uint32_t features = builder.tensor(resultDims);
  builder.operation(CONV_2D,
                    {rounded, filter, builder.constant({40}), one, one, one, builder.int32(0)},
                    {features});
  if (addsInput) {
    const uint32_t sum = builder.tensor(resultDims);
    builder.operation(ADD, {features, builder.input(resultDims), builder.int32(0)}, {sum});
    features = sum;
  }
  builder.operation(RELU, {features}, {builder.output(resultDims)});
  return builder.take();
}

// The same model with its operations in another order: of those that could come next, the last.
std::shared_ptr<const Model> reordered(const Model& model) {
  Model other = model;
  std::vector<Operation>& operations = other.main.operations;
  std::vector<bool> isPlaced(operations.size());
  const auto isReady = [&](size_t i) {
    for (size_t j = 0; j < isPlaced.size(); ++j) {
      if (isPlaced[j]) continue;
      for (const uint32_t result : model.main.operations[j].outputs) {
        if (std::ranges::count(model.main.operations[i].inputs, result) > 0) return false;
      }
    }
    return !isPlaced[i];
  };
  for (Operation& operation : operations) {
    size_t next = operations.size() - 1;
    while (!isReady(next)) --next;
    isPlaced[next] = true;
    operation = model.main.operations[next];
  }
  return std::make_shared<const Model>(std::move(other));
}

TEST(RoundingFusionTest, DynamicQuantisationBecomesOneStep) {
  expectSteps(roundingModel({1, 25, 5, 64}, {3}, false), 1);
  expectSteps(roundingModel({4, 3, 5, 7}, {1, 2, 3}, false), 1);
  expectSteps(roundingModel({3, 1000}, {1}, false), 1);
  expectSteps(reordered(*roundingModel({3, 1000}, {1}, false)), 1);
  expectSteps(rowRoundingModel({1, 25, 5, 64}, 3), 1);
  expectSteps(rowRoundingModel({4, 3, 5, 7}, 1), 1);
  expectSteps(rowRoundingModel({3, 1000}, 0), 1);
  // Rows of other dimensions, or with readers in between, are computed one by one.
  expectSteps(roundingModel({5, 6}, {0}, false), 19);
  expectSteps(roundingModel({5, 6}, {1}, true), 20);
}

TEST(RoundingFusionTest, DynamicQuantisationBecomesPartOfALayer) {
  for (const bool byPixel : {false, true}) {
    expectSteps(roundedConvModel(byPixel, true), 1);
    expectSteps(reordered(*roundedConvModel(byPixel, true)), 1);
    // Weights that are not what bytes stand for are multiplied as floats.
    expectSteps(roundedConvModel(byPixel, false), 2);
    expectSteps(roundedConvModel(byPixel, true, /*usesExtension=*/true), 1);
    expectSteps(roundedConvModel(byPixel, false, /*usesExtension=*/true), 2);
  }
}

// By the columns of the last panel: all, some of two vectors, some of one.
TEST(RoundingFusionTest, ASumBehindARoundedLayerBecomesPartOfIt) {
  for (const uint32_t units : {64u, 56u, 40u}) {
    Builder builder;
    const uint32_t rounded = builder.tensor({30, 24});
    roundRowsTo(builder, builder.input({30, 24}), rounded, 1);
    std::vector<float> values;
    for (uint32_t i = 0; i < units * 24; ++i) {
      values.push_back(static_cast<float>(static_cast<int>(i * 37 % 255) - 127) * 0.003f);
    }
    std::vector<uint8_t> bytes(values.size() * sizeof(float));
    std::memcpy(bytes.data(), values.data(), bytes.size());
    const uint32_t features = builder.tensor({30, units});
    const uint32_t sum = builder.tensor({30, units});
    builder.operation(FULLY_CONNECTED,
                      {rounded, builder.bytes(TENSOR_FLOAT32, {units, 24}, 0, 0, bytes),
                       builder.constant({units}), builder.int32(0)},
                      {features});
    builder.operation(ADD, {builder.input({30, units}), features, builder.int32(0)}, {sum});
    builder.operation(RELU, {sum}, {builder.output({30, units})});
    expectSteps(builder.take(), 1);
  }
  for (const bool byPixel : {false, true}) {
    expectSteps(roundedConvModel(byPixel, true, /*usesExtension=*/true, /*addsInput=*/true), 1);
  }
}

// Only the image of the first convolution is rounded.
TEST(RoundingFusionTest, DynamicQuantisationStaysApartFromSeparableConvolutions) {
  Builder builder;
  const Shape dims = {1, 9, 8, 24};
  const uint32_t rounded = builder.tensor(dims);
  roundRowsTo(builder, builder.input(dims), rounded, 3);
  const uint32_t one = builder.int32(1);
  const uint32_t none = builder.int32(0);
  const uint32_t filtered = builder.tensor(dims);
  builder.operation(
      DEPTHWISE_CONV_2D,
      {rounded, builder.constant({1, 3, 3, 24}), builder.constant({24}), one, one, one, one, none},
      {filtered});
  const Shape resultDims = {1, 9, 8, 40};
  const uint32_t points = builder.tensor(resultDims);
  builder.operation(
      CONV_2D,
      {filtered, builder.constant({40, 1, 1, 24}), builder.constant({40}), one, one, one, none},
      {points});
  builder.operation(RELU, {points}, {builder.output(resultDims)});
  expectSteps(builder.take(), 2);
}

}  // namespace
}  // namespace halyard::cpudriver
