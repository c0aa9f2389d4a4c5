// Models whose operations are computed together, against the executor, which computes them apart.
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

// A convolution with a filter of `size` x `size`, without padding, stride 1.
uint32_t conv(Builder& builder, uint32_t image, const Shape& result, uint32_t depth, uint32_t size,
              int32_t activation = 0) {
  const uint32_t filter = builder.constant({result[3], size, size, depth});
  const uint32_t bias = builder.constant({result[3]});
  const uint32_t one = builder.int32(1);
  const uint32_t features = builder.tensor(result);
  builder.operation(CONV_2D,
                    {image, filter, bias, builder.int32(2), one, one, builder.int32(activation)},
                    {features});
  return features;
}

TEST(FusionTest, ABorderAndAnActivationBecomePartOfAConvolution) {
  for (const uint32_t width : {9u, 20u}) {
    for (const bool isDepthwise : {false, true}) {
      Builder builder;
      const uint32_t image = builder.input({2, 8, width, 16});
      const uint32_t padded = builder.tensor({2, 11, width + 1, 16});
      const Shape dims = {2, 9, width - 1, isDepthwise ? 16u : 40u};
      const uint32_t result = builder.output(dims);
      const uint32_t border = builder.int32s({4, 2}, {0, 0, 1, 2, 0, 1, 0, 0});
      builder.operation(PAD, {image, border}, {padded});
      uint32_t features = 0;
      if (isDepthwise) {
        const uint32_t one = builder.int32(1);
        features = builder.tensor(dims);
        builder.operation(DEPTHWISE_CONV_2D,
                          {padded, builder.constant({1, 3, 3, 16}), builder.constant({16}),
                           builder.int32(2), one, one, one, builder.int32(0)},
                          {features});
      } else {
        features = conv(builder, padded, dims, 16, 3);
      }
      builder.operation(RELU6, {features}, {result});
      expectSteps(builder.take(), 1);
    }
  }
}

TEST(FusionTest, ABorderOf8BitImagesIsTheirZeroPoint) {
  Builder builder;
  const auto image =
      builder.quantized(TENSOR_QUANT8_ASYMM, {1, 6, 7, 5}, 0.1f, 77, Lifetime::SUBGRAPH_INPUT);
  const auto padded = builder.quantized(TENSOR_QUANT8_ASYMM, {1, 8, 8, 5}, 0.1f, 77);
  builder.operation(PAD, {image, builder.int32s({4, 2}, {0, 0, 1, 1, 1, 0, 0, 0})}, {padded});
  std::vector<uint8_t> weights(9 * 3 * 3 * 5);
  for (size_t i = 0; i < weights.size(); ++i) weights[i] = static_cast<uint8_t>(i * 37);
  const auto filter = builder.bytes(TENSOR_QUANT8_ASYMM, {9, 3, 3, 5}, 0.05f, 120, weights);
  const auto bias = builder.bytes(TENSOR_INT32, {9}, 0.1f * 0.05f, 0, std::vector<uint8_t>(36));
  const auto features = builder.quantized(TENSOR_QUANT8_ASYMM, {1, 6, 6, 9}, 0.7f, 100);
  const auto result =
      builder.quantized(TENSOR_QUANT8_ASYMM, {1, 6, 6, 9}, 0.7f, 100, Lifetime::SUBGRAPH_OUTPUT);
  const auto one = builder.int32(1);
  builder.operation(CONV_2D, {padded, filter, bias, builder.int32(2), one, one, builder.int32(0)},
                    {features});
  builder.operation(RELU, {features}, {result});
  expectSteps(builder.take(), 1);
}

TEST(FusionTest, ASumBehindAConvolutionBecomesPartOfIt) {
  for (const uint32_t size : {1u, 3u}) {
    for (const uint32_t width : {5u, 16u}) {
      Builder builder;
      const Shape dims = {1, 7, width, 24};
      const uint32_t image = builder.input({1, 6 + size, width + size - 1, 24});
      const uint32_t other = builder.input(dims);
      const uint32_t features = conv(builder, image, dims, 24, size);
      const uint32_t sum = builder.tensor(dims);
      const uint32_t result = builder.output(dims);
      builder.operation(ADD, {other, features, builder.int32(0)}, {sum});
      builder.operation(RELU, {sum}, {result});
      expectSteps(builder.take(), 1);
    }
  }
}

// The same by Winograd's tiles, with a border in front.
TEST(FusionTest, ABorderAndASumBecomePartOfAConvolutionByTiles) {
  Builder builder;
  const Shape dims = {1, 11, 13, 40};
  const uint32_t image = builder.input({1, 11, 12, 36});
  const uint32_t other = builder.input(dims);
  const uint32_t padded = builder.tensor({1, 13, 15, 36});
  const uint32_t border = builder.int32s({4, 2}, {0, 0, 1, 1, 2, 1, 0, 0});
  builder.operation(PAD, {image, border}, {padded});
  const uint32_t features = conv(builder, padded, dims, 36, 3);
  const uint32_t result = builder.output(dims);
  builder.operation(ADD, {other, features, builder.int32(1)}, {result});
  const std::shared_ptr<const Model> model = builder.take();
  expectSteps(model, 1);
}

// A convolution, which clamps at a value of its own, and the sum with another tensor.
std::shared_ptr<const Model> quant8SumModel(OperandType type, uint32_t size, uint32_t width,
                                            uint32_t channels, bool isFirst, float sumScale) {
  Builder builder;
  const int32_t shift = type == TENSOR_QUANT8_ASYMM ? 128 : 0;
  const Shape imageDims = {2, 6 + size, width + size - 1, 12};
  const Shape dims = {2, 7, width, channels};
  const auto image =
      builder.quantized(type, imageDims, 0.05f, shift - 11, Lifetime::SUBGRAPH_INPUT);
  const auto other = builder.quantized(type, dims, 0.03f, shift + 20, Lifetime::SUBGRAPH_INPUT);
  std::vector<uint8_t> weights(channels * size * size * 12);
  for (size_t i = 0; i < weights.size(); ++i) {
    weights[i] = static_cast<uint8_t>(static_cast<int>(i * 37 % 101) - 50 + shift);
  }
  const auto filter = builder.bytes(type, {channels, size, size, 12}, 0.01f, shift, weights);
  const auto bias = builder.bytes(TENSOR_INT32, {channels}, 0.05f * 0.01f, 0,
                                  std::vector<uint8_t>(channels * sizeof(int32_t)));
  const auto features = builder.quantized(type, dims, 0.04f, shift + 5);
  const auto sum = builder.quantized(type, dims, sumScale, shift - 3, Lifetime::SUBGRAPH_OUTPUT);
  const auto one = builder.int32(1);
  builder.operation(CONV_2D, {image, filter, bias, builder.int32(2), one, one, builder.int32(3)},
                    {features});
  const auto first = isFirst ? features : other;
  builder.operation(ADD, {first, isFirst ? other : features, builder.int32(1)}, {sum});
  return builder.take();
}

TEST(FusionTest, ASumBehindAConvolutionOfBytesIsAddedToItsRoundedResult) {
  for (const OperandType type : {TENSOR_QUANT8_ASYMM, TENSOR_QUANT8_ASYMM_SIGNED}) {
    for (const uint32_t size : {1u, 3u}) {
      for (const uint32_t width : {5u, 16u}) {
        for (const uint32_t channels : {7u, 16u, 80u}) {
          expectSteps(quant8SumModel(type, size, width, channels, width == 5, 0.06f), 1);
        }
      }
    }
    // Ratios of scales that the reference kernel adds in another way.
    expectSteps(quant8SumModel(type, 3, 16, 16, true, 1e-5f), 2);
  }
}

enum class Tail { NONE, CLAMPED, SUM, CLAMPED_SUM };

struct Separable {
  Shape image;
  int32_t stride = 1;
  int32_t dilation = 1;
  uint32_t columns = 40;
  bool hasBorder = false;  // from a PAD of its own, instead of SAME
  Tail tail = Tail::NONE;
  bool hasFront = false;  // a convolution by points makes the image
};

// The image of a separable convolution.
uint32_t imageOf(Builder& builder, const Separable& what) {
  if (!what.hasFront) return builder.input(what.image);
  constexpr uint32_t kDepth = 8;
  Shape dims = what.image;
  dims[3] = kDepth;
  return conv(builder, builder.input(dims), what.image, kDepth, 1, /*activation=*/3);
}

// A depthwise convolution of 3 x 3 with RELU6, and one of 1 x 1 behind it.
std::shared_ptr<const Model> separableModel(const Separable& what, bool isReadTwice = false) {
  Builder builder;
  const uint32_t channels = what.image[3];
  uint32_t image = imageOf(builder, what);
  Shape dims = what.image;
  if (what.hasBorder) {
    const uint32_t padded = builder.tensor({dims[0], dims[1] + 2, dims[2] + 2, dims[3]});
    builder.operation(PAD, {image, builder.int32s({4, 2}, {0, 0, 1, 1, 1, 1, 0, 0})}, {padded});
    image = padded;
  }
  for (const size_t axis : {1u, 2u}) {
    dims[axis] =
        (dims[axis] + static_cast<uint32_t>(what.stride) - 1) / static_cast<uint32_t>(what.stride);
  }
  const uint32_t filtered = isReadTwice ? builder.output(dims) : builder.tensor(dims);
  const uint32_t stride = builder.int32(what.stride);
  const uint32_t one = builder.int32(1);
  builder.operation(
      DEPTHWISE_CONV_2D,
      {image, builder.constant({1, 3, 3, channels}), builder.constant({channels}),
       builder.int32(what.hasBorder ? 2 : 1), stride, stride, one, builder.int32(3),
       builder.boolean(false), builder.int32(what.dilation), builder.int32(what.dilation)},
      {filtered});
  dims[3] = what.columns;
  uint32_t points = conv(builder, filtered, dims, channels, 1);
  if (what.tail == Tail::SUM || what.tail == Tail::CLAMPED_SUM) {
    const uint32_t sum = builder.tensor(dims);
    builder.operation(ADD, {builder.input(dims), points, builder.int32(0)}, {sum});
    points = sum;
  }
  const bool isClamped = what.tail == Tail::CLAMPED || what.tail == Tail::CLAMPED_SUM;
  builder.operation(isClamped ? RELU : TANH, {points}, {builder.output(dims)});
  return builder.take();
}

TEST(FusionTest, AConvolutionByPointsBecomesPartOfTheDepthwiseOneBeforeIt) {
  const auto expectFused = [](const Separable& what) {
    const bool isClamped = what.tail == Tail::CLAMPED || what.tail == Tail::CLAMPED_SUM;
    const auto model = separableModel(what);
    expectSteps(model, isClamped ? 1 : 2);
  };
  for (const Tail tail : {Tail::NONE, Tail::CLAMPED, Tail::SUM, Tail::CLAMPED_SUM}) {
    expectFused({.image = {1, 9, 7, 24}, .tail = tail});
    expectFused({.image = {2, 30, 31, 16}, .stride = 2, .tail = tail});
    expectFused({.image = {1, 21, 20, 8}, .hasBorder = true, .tail = tail});
  }
  expectFused({.image = {3, 14, 14, 40}, .dilation = 2, .columns = 7});
  expectFused({.image = {1, 20, 150, 64}, .columns = 130});
  // Lines of which few stay in the cache, and rows whose distance is a power of two.
  expectFused({.image = {1, 19, 60, 256}, .columns = 5});
}

TEST(FusionTest, ALargeImageInFrontOfASeparableConvolutionIsComputedByLines) {
  const auto model = [](Separable what) {
    what.hasFront = true;
    return separableModel(what);
  };
  for (const Tail tail : {Tail::CLAMPED, Tail::CLAMPED_SUM}) {
    expectSteps(model({.image = {1, 68, 60, 72}, .tail = tail}), 1);
    expectSteps(model({.image = {1, 67, 61, 72}, .stride = 2, .tail = tail}), 1);
  }
  // The lines of several images, and those of a dilated filter.
  expectSteps(model({.image = {5, 24, 61, 40}, .tail = Tail::CLAMPED}), 1);
  expectSteps(model({.image = {1, 90, 40, 72}, .dilation = 2, .tail = Tail::CLAMPED}), 1);
  // Images that stay in the cache, and lines of which most would be computed twice.
  expectSteps(model({.image = {1, 20, 20, 24}, .tail = Tail::CLAMPED}), 2);
  expectSteps(model({.image = {1, 6, 1000, 64}, .tail = Tail::CLAMPED}), 2);
}

// The first and the last line of the output need one line of the image.
TEST(FusionTest, LinesOutsideOfALargeImageAreZeros) {
  Builder builder;
  const Shape image = {1, 68, 60, 72};
  const Shape dims = {1, 70, 60, 72};
  const uint32_t wide = conv(builder, builder.input({1, 68, 60, 8}), image, 8, 1);
  const uint32_t filtered = builder.tensor(dims);
  const uint32_t one = builder.int32(1);
  const uint32_t two = builder.int32(2);
  builder.operation(DEPTHWISE_CONV_2D,
                    {wide, builder.constant({1, 3, 3, 72}), builder.constant({72}), one, one, two,
                     two, one, one, one, builder.int32(0)},
                    {filtered});
  const Shape resultDims = {1, 70, 60, 24};
  const uint32_t points = conv(builder, filtered, resultDims, 72, 1);
  builder.operation(RELU, {points}, {builder.output(resultDims)});
  expectSteps(builder.take(), 1);
}

// The same of bytes, without a border or an activation behind it.
std::shared_ptr<const Model> quant8SeparableModel(OperandType type, const Separable& what) {
  Builder builder;
  const int32_t shift = type == TENSOR_QUANT8_ASYMM ? 128 : 0;
  const auto weightsOf = [&](const Shape& dims, int32_t factor) {
    std::vector<uint8_t> bytes(*knownElementCount(dims));
    for (size_t i = 0; i < bytes.size(); ++i) {
      bytes[i] = static_cast<uint8_t>(static_cast<int32_t>(i) * factor % 101 - 50 + shift);
    }
    return builder.bytes(type, dims, 0.01f, shift, bytes);
  };
  const auto noBias = [&](uint32_t channels, float scale) {
    return builder.bytes(TENSOR_INT32, {channels}, scale, 0,
                         std::vector<uint8_t>(channels * sizeof(int32_t)));
  };
  const uint32_t channels = what.image[3];
  const auto image =
      builder.quantized(type, what.image, 0.05f, shift - 11, Lifetime::SUBGRAPH_INPUT);
  const Shape between = {what.image[0], what.image[1] / static_cast<uint32_t>(what.stride),
                         what.image[2] / static_cast<uint32_t>(what.stride), channels};
  const Shape dims = {between[0], between[1], between[2], what.columns};
  const auto filtered = builder.quantized(type, between, 0.03f, shift + 5);
  const auto stride = builder.int32(what.stride);
  const auto one = builder.int32(1);
  const auto none = builder.int32(0);
  builder.operation(DEPTHWISE_CONV_2D,
                    {image, weightsOf({1, 3, 3, channels}, 37), noBias(channels, 0.05f * 0.01f),
                     one, stride, stride, one, none},
                    {filtered});
  const bool isSum = what.tail == Tail::SUM;
  const auto points =
      builder.quantized(type, dims, 0.04f, shift - 7,
                        isSum ? Lifetime::TEMPORARY_VARIABLE : Lifetime::SUBGRAPH_OUTPUT);
  builder.operation(CONV_2D,
                    {filtered, weightsOf({what.columns, 1, 1, channels}, 53),
                     noBias(what.columns, 0.03f * 0.01f), one, one, one, none},
                    {points});
  if (isSum) {
    const auto other = builder.quantized(type, dims, 0.02f, shift, Lifetime::SUBGRAPH_INPUT);
    const auto sum = builder.quantized(type, dims, 0.06f, shift + 1, Lifetime::SUBGRAPH_OUTPUT);
    builder.operation(ADD, {points, other, none}, {sum});
  }
  return builder.take();
}

TEST(FusionTest, SoItDoesInBytes) {
  for (const OperandType type : {TENSOR_QUANT8_ASYMM, TENSOR_QUANT8_ASYMM_SIGNED}) {
    for (const Tail tail : {Tail::NONE, Tail::SUM}) {
      for (const Separable& what :
           {Separable{.image = {2, 14, 18, 32}, .tail = tail},
            Separable{.image = {1, 30, 40, 16}, .stride = 2, .columns = 9, .tail = tail},
            Separable{.image = {3, 9, 7, 1024}, .columns = 17, .tail = tail},
            Separable{.image = {1, 60, 130, 64}, .columns = 130, .tail = tail}}) {
        const auto model = quant8SeparableModel(type, what);
        expectSteps(model, 1);
      }
    }
    // Rows that are not a whole number of the units that are multiplied at once.
    expectSteps(quant8SeparableModel(type, {.image = {1, 14, 18, 30}}), 2);
  }
}

TEST(FusionTest, AConvolutionByPointsStaysApartWhereThatIsBetterOrHasToBe) {
  constexpr size_t kApart = 3;
  // Other operations read the intermediate values, or there are few channels.
  expectSteps(separableModel({.image = {1, 9, 7, 24}}, true), kApart);
  expectSteps(separableModel({.image = {1, 9, 7, 4}}), kApart);
  // A line that does not stay in any cache.
  expectSteps(separableModel({.image = {1, 2, 3000, 256}, .columns = 4}), kApart);
}

TEST(FusionTest, OfTwoConvolutionsThatAreAddedOneTakesTheSum) {
  Builder builder;
  const Shape dims = {1, 7, 5, 24};
  const uint32_t image = builder.input({1, 7, 5, 8});
  const uint32_t a = conv(builder, image, dims, 8, 1);
  const uint32_t b = conv(builder, image, dims, 8, 1);
  const uint32_t result = builder.output(dims);
  builder.operation(ADD, {a, b, builder.int32(1)}, {result});
  expectSteps(builder.take(), 2);
}

TEST(FusionTest, WhatOthersReadOrWhatHasAnActivationIsNotFused) {
  Builder builder;
  const Shape dims = {1, 7, 5, 24};
  const uint32_t image = builder.input({1, 7, 5, 8});
  const uint32_t a = conv(builder, image, dims, 8, 1);
  const uint32_t b = conv(builder, image, dims, 8, 1, 3);
  const uint32_t clamped = builder.output(dims);
  const uint32_t sum = builder.output(dims);
  builder.operation(RELU, {a}, {clamped});
  builder.operation(ADD, {a, b, builder.int32(0)}, {sum});
  expectSteps(builder.take(), 4);
}

TEST(FusionTest, OtherShapesOfATensorAreNoSteps) {
  Builder builder;
  const uint32_t image = builder.input({1, 4, 6, 1});
  const uint32_t flat = builder.tensor({1, 24});
  const uint32_t deep = builder.tensor({1, 1, 24});
  const uint32_t same = builder.tensor({4, 6});
  const uint32_t waves = builder.output({1, 1, 24});
  const uint32_t sum = builder.output({4, 6});
  const uint32_t copy = builder.output({24});
  builder.operation(RESHAPE, {image, builder.int32s({2}, {1, -1})}, {flat});
  builder.operation(EXPAND_DIMS, {flat, builder.int32(1)}, {deep});
  // The reference kernel reads the input.
  builder.operation(SIN, {deep}, {waves});
  builder.operation(RESHAPE, {deep, builder.int32s({2}, {4, 6})}, {same});
  builder.operation(ADD, {same, same, builder.int32(0)}, {sum});
  // An output has memory of its own.
  builder.operation(RESHAPE, {same, builder.int32s({1}, {24})}, {copy});
  expectSteps(builder.take(), 3);
}

// Behind a full connection, which has two dimensions, the sum of more.
TEST(FusionTest, ASumOfAnotherShapeBecomesPartOfALayer) {
  Builder builder;
  const uint32_t flat = builder.tensor({12, 5});
  const uint32_t deep = builder.tensor({3, 4, 5});
  const uint32_t sum = builder.output({3, 4, 5});
  builder.operation(
      FULLY_CONNECTED,
      {builder.input({12, 7}), builder.constant({5, 7}), builder.constant({5}), builder.int32(0)},
      {flat});
  builder.operation(RESHAPE, {flat, builder.int32s({3}, {3, 4, 5})}, {deep});
  builder.operation(ADD, {deep, builder.input({3, 4, 5}), builder.int32(1)}, {sum});
  expectSteps(builder.take(), 1);
  // The tensor between has another reader.
  Builder other;
  const uint32_t read = other.tensor({12, 5});
  const uint32_t turned = other.tensor({3, 4, 5});
  other.operation(
      FULLY_CONNECTED,
      {other.input({12, 7}), other.constant({5, 7}), other.constant({5}), other.int32(0)}, {read});
  other.operation(RESHAPE, {read, other.int32s({3}, {3, 4, 5})}, {turned});
  other.operation(ADD, {turned, other.input({3, 4, 5}), other.int32(0)}, {other.output({3, 4, 5})});
  other.operation(NEG, {read}, {other.output({12, 5})});
  expectSteps(other.take(), 3);
}

TEST(FusionTest, FunctionsBetweenBytesBecomeATable) {
  Builder builder;
  const auto bytes =
      builder.quantized(TENSOR_QUANT8_ASYMM, {3, 100}, 0.05f, 100, Lifetime::SUBGRAPH_INPUT);
  const auto real = builder.tensor({3, 100});
  const auto squashed = builder.tensor({3, 100});
  const auto result = builder.quantized(TENSOR_QUANT8_ASYMM_SIGNED, {3, 100}, 0.01f, -20,
                                        Lifetime::SUBGRAPH_OUTPUT);
  builder.operation(DEQUANTIZE, {bytes}, {real});
  builder.operation(TANH, {real}, {squashed});
  builder.operation(QUANTIZE, {squashed}, {result});
  expectSteps(builder.take(), 1);
}

}  // namespace
}  // namespace halyard::cpudriver
