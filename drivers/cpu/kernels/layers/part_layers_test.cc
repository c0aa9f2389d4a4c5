// Grouped and transposed convolutions, and depthwise ones with a multiplier, against the reference
// kernels.
#include "kernels/layers/layer_for_test.h"

namespace halyard::cpudriver::testing {
namespace {

using namespace ops::testing;
using enum OperandType;

uint32_t size(int n) { return static_cast<uint32_t>(n); }

struct LayerSizes {
  uint32_t batch;
  uint32_t depth;
  uint32_t channels;
};

// The image, the filter and the bias; `channelDim` of the filter are the output's channels.
std::vector<TestOperand> tensorsOf(RandomOperands& random, const ConvTypeCase& type,
                                   const Shape& image, const Shape& filter, uint32_t channelDim) {
  std::vector<TestOperand> tensors = {random.tensor(type.type, image),
                                      type.perChannel ? random.perChannelFilter(filter, channelDim)
                                                      : random.tensor(type.type, filter)};
  tensors.push_back(random.bias(tensors[0], tensors[1], filter[channelDim]));
  return tensors;
}

void check(RandomOperands& random, const ConvTypeCase& type, KernelCase test, double terms,
           int needed, const std::string& what) {
  const double scale = static_cast<double>(test.inputs[0].tensor.scale) * 0.02 * 128 * 128;
  test.outputs = {random.output(type.type, std::max(scale * std::sqrt(terms) / 2, 0.01))};
  test.slack = 0x1p-22 * terms;
  checkKernel(std::move(test), needed, type.text() + ", " + what);
}

void checkGrouped(RandomOperands& random, const ConvTypeCase& type, const TestWindow& window,
                  const LayerSizes& sizes, uint32_t groups) {
  KernelCase test;
  test.operation = OperationType::GROUPED_CONV_2D;
  test.inputs = tensorsOf(
      random, type, {sizes.batch, size(window.height.input), size(window.width.input), sizes.depth},
      {sizes.channels, size(window.height.filter), size(window.width.filter), sizes.depth / groups},
      0);
  window.appendPaddingAndStrides(test.inputs);
  test.inputs.push_back(TestOperand::int32(static_cast<int32_t>(groups)));
  const int code = random.between(0, 3);
  test.inputs.push_back(TestOperand::int32(code));
  test.inputs.push_back(TestOperand::boolean(false));
  check(random, type, std::move(test),
        window.height.filter * window.width.filter * static_cast<double>(sizes.depth / groups),
        kAllLevels,
        fmt::format("batch {}, depth {} -> {}, {} groups, activation {}, {}", sizes.batch,
                    sizes.depth, sizes.channels, groups, code, window.text()));
}

TEST(GroupedConvKernel, IsTheReferenceInAllForms) {
  RandomOperands random(31);
  for (int round = 0; round < 60; ++round) {
    for (const ConvTypeCase& type : kLayerTypes) {
      TestWindow window = randomWindow(random, /*mayDilate=*/false);
      window.nchw = false;
      const auto groups = random.oneOf<uint32_t>({1, 2, 3, 5});
      checkGrouped(random, type, window,
                   {random.oneOf<uint32_t>({1, 1, 2}), groups * size(random.between(1, 9)),
                    groups * size(random.between(1, 40))},
                   groups);
      if (HasFatalFailure()) return;
    }
  }
}

TEST(GroupedConvKernel, IsTheReferenceOnLargerImages) {
  RandomOperands random(32);
  for (const ConvTypeCase& type : kLayerTypes) {
    checkGrouped(random, type, sameWindow(28, 26, 3, 1), {1, 64, 64}, 16);
    checkGrouped(random, type, sameWindow(14, 14, 1, 1), {2, 96, 240}, 3);
    checkGrouped(random, type, sameWindow(21, 21, 5, 2), {1, 32, 66}, 2);
    if (HasFatalFailure()) return;
  }
}

void checkMultiplied(RandomOperands& random, const ConvTypeCase& type, const TestWindow& window,
                     uint32_t batch, uint32_t depth, uint32_t multiplier) {
  KernelCase test;
  test.operation = OperationType::DEPTHWISE_CONV_2D;
  test.inputs =
      tensorsOf(random, type, {batch, size(window.height.input), size(window.width.input), depth},
                {1, size(window.height.filter), size(window.width.filter), depth * multiplier}, 3);
  window.appendPaddingAndStrides(test.inputs);
  test.inputs.push_back(TestOperand::int32(static_cast<int32_t>(multiplier)));
  const int code = random.between(0, 3);
  test.inputs.push_back(TestOperand::int32(code));
  window.appendLayoutAndDilations(test.inputs);
  const ops::Tensor& filter = test.inputs[1].tensor;
  // See DepthwiseConvKernel: a zero point at the lower end is not for all levels.
  const bool isExtreme = !type.perChannel && type.type != TENSOR_FLOAT32 &&
                         filter.zeroPoint == ops::quantizedRange(type.type).min;
  check(random, type, std::move(test), window.height.filter * window.width.filter,
        isExtreme ? 1 : kAllLevels,
        fmt::format("batch {}, depth {} times {}, activation {}, {}", batch, depth, multiplier,
                    code, window.text()));
}

TEST(MultipliedDepthwiseKernel, IsTheReferenceInAllForms) {
  RandomOperands random(33);
  for (int round = 0; round < 60; ++round) {
    for (const ConvTypeCase& type : kLayerTypes) {
      TestWindow window = randomWindow(random, /*mayDilate=*/true);
      window.nchw = false;
      checkMultiplied(random, type, window, random.oneOf<uint32_t>({1, 1, 2}),
                      random.coin() ? 1 : size(random.between(2, 40)), size(random.between(2, 9)));
      if (HasFatalFailure()) return;
    }
  }
}

TEST(MultipliedDepthwiseKernel, IsTheReferenceOnLargerImages) {
  RandomOperands random(34);
  for (const ConvTypeCase& type : kLayerTypes) {
    checkMultiplied(random, type, sameWindow(49, 40, 8, 2), 1, 1, 8);
    checkMultiplied(random, type, sameWindow(30, 29, 3, 1), 1, 32, 4);
    checkMultiplied(random, type, sameWindow(30, 29, 3, 2), 1, 3, 8);
    if (HasFatalFailure()) return;
  }
}

// One axis of a transposed convolution; `requested` is the size that the output shape asks for.
TestAxis transposedAxis(RandomOperands& random, bool isExplicit, int* requested) {
  while (true) {
    TestAxis axis;
    axis.filter = random.between(1, 5);
    axis.stride = random.between(1, 3);
    axis.input = random.between(1, 12);
    *requested = axis.input * axis.stride - random.between(0, axis.stride - 1);
    if (isExplicit) {
      axis.padBefore = random.between(0, 3);
      axis.padAfter = random.between(-2, 3);
    } else {
      const int surplus = (axis.input - 1) * axis.stride + axis.filter - *requested;
      axis.padBefore = std::max(0, surplus) / 2;
      axis.padAfter = surplus - axis.padBefore;
    }
    axis.output = (axis.input - 1) * axis.stride + axis.filter - axis.padBefore - axis.padAfter;
    if (axis.output > 0) return axis;
  }
}

void checkTransposed(RandomOperands& random, const ConvTypeCase& type, const TestWindow& window,
                     const Shape& requested, const LayerSizes& sizes) {
  KernelCase test;
  test.operation = OperationType::TRANSPOSE_CONV_2D;
  test.inputs = tensorsOf(
      random, type, {sizes.batch, size(window.height.input), size(window.width.input), sizes.depth},
      {sizes.channels, size(window.height.filter), size(window.width.filter), sizes.depth}, 0);
  if (!window.explicitPadding) {
    test.inputs.push_back(
        intList({1, static_cast<int32_t>(requested[0]), static_cast<int32_t>(requested[1]), 1}));
  }
  window.appendPaddingAndStrides(test.inputs);
  const int code = random.between(0, 3);
  test.inputs.push_back(TestOperand::int32(code));
  test.inputs.push_back(TestOperand::boolean(false));
  // Positions that no tap reaches are left to the reference kernel.
  const auto isReached = [](const TestAxis& axis) { return axis.filter >= axis.stride; };
  const bool hasKernel = isReached(window.height) && isReached(window.width);
  check(random, type, std::move(test),
        window.height.filter * window.width.filter * static_cast<double>(sizes.depth),
        hasKernel ? kAllLevels : 0,
        fmt::format("batch {}, depth {} -> {}, activation {}, {}", sizes.batch, sizes.depth,
                    sizes.channels, code, window.text()));
}

TEST(TransposedConvKernel, IsTheReferenceInAllForms) {
  RandomOperands random(35);
  for (int round = 0; round < 100; ++round) {
    for (const ConvTypeCase& type : kLayerTypes) {
      TestWindow window;
      window.explicitPadding = random.coin();
      window.scheme = 1;
      int height = 0;
      int width = 0;
      window.height = transposedAxis(random, window.explicitPadding, &height);
      window.width = transposedAxis(random, window.explicitPadding, &width);
      checkTransposed(random, type, window, {size(height), size(width)},
                      {random.oneOf<uint32_t>({1, 1, 2}), size(random.between(1, 20)),
                       size(random.between(1, 70))});
      if (HasFatalFailure()) return;
    }
  }
}

TEST(TransposedConvKernel, IsTheReferenceOnLargerImages) {
  RandomOperands random(36);
  for (const ConvTypeCase& type : kLayerTypes) {
    for (const int filter : {2, 3, 4}) {
      TestWindow window;
      window.scheme = 1;
      const int before = (filter - 2) / 2;
      window.height = {20, filter, 2, 1, before, filter - 2 - before, 40};
      window.width = {17, filter, 2, 1, before, filter - 2 - before, 34};
      checkTransposed(random, type, window, {40, 34}, {1, 48, 33});
      if (HasFatalFailure()) return;
    }
  }
}

}  // namespace
}  // namespace halyard::cpudriver::testing
