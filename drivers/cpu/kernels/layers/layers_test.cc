// Convolutions and full connections of the driver against the reference kernels.
#include "kernels/layers/layer_for_test.h"

namespace halyard::cpudriver::testing {
namespace {

using namespace ops::testing;
using enum OperandType;
using ops::FuseCode;

TestOperand filterFor(RandomOperands& random, const ConvTypeCase& type, const Shape& dims,
                      uint32_t channelDim) {
  if (type.perChannel) return random.perChannelFilter(dims, channelDim);
  TestOperand filter = random.tensor(type.type, dims);
  // Values that fit a signed byte without their zero point take another path.
  if (type.type != TENSOR_FLOAT32 && random.coin()) {
    for (uint8_t& byte : filter.bytes) {
      byte = static_cast<uint8_t>(filter.tensor.zeroPoint + random.between(-20, 20));
    }
    filter.tensor.zeroPoint =
        std::clamp(filter.tensor.zeroPoint, type.type == TENSOR_QUANT8_ASYMM ? 20 : -108,
                   type.type == TENSOR_QUANT8_ASYMM ? 235 : 107);
  }
  return filter;
}

void checkConv(RandomOperands& random, const ConvTypeCase& type, const TestWindow& window,
               bool isDepthwise, uint32_t batch, uint32_t depth, uint32_t channels,
               size_t variables = 1) {
  const auto size = [](int n) { return static_cast<uint32_t>(n); };
  KernelCase test;
  test.operation = isDepthwise ? OperationType::DEPTHWISE_CONV_2D : OperationType::CONV_2D;
  const Shape filterDims = {isDepthwise ? 1 : channels, size(window.height.filter),
                            size(window.width.filter), depth};
  TestOperand image =
      random.tensor(type.type, {batch, size(window.height.input), size(window.width.input), depth});
  const TestOperand filter = filterFor(random, type, filterDims, isDepthwise ? 3 : 0);
  const TestOperand bias = random.bias(image, filter, channels);
  test.inputs = {image, filter, bias};
  window.appendPaddingAndStrides(test.inputs);
  if (isDepthwise) test.inputs.push_back(TestOperand::int32(1));
  const int code = random.between(0, 3);
  test.inputs.push_back(TestOperand::int32(code));
  window.appendLayoutAndDilations(test.inputs);
  const double terms = window.height.filter * window.width.filter * (isDepthwise ? 1.0 : depth);
  const double scale = static_cast<double>(image.tensor.scale) * 0.02 * 128 * 128;
  test.outputs = {random.output(type.type, std::max(scale * std::sqrt(terms) / 2, 0.01))};
  test.slack = 0x1p-22 * terms;
  test.variables = variables;
  // An 8 bit depthwise kernel takes out a zero point at the lower end only where the weights allow,
  // or where factors have 16 bits.
  const bool isExtreme = isDepthwise && !type.perChannel && type.type != TENSOR_FLOAT32 &&
                         filter.tensor.zeroPoint == ops::quantizedRange(type.type).min;
  // With few positions, packing a filter that is no constant does not pay; there are no kernels for
  // such ones of steps for each channel.
  const bool isLeft =
      variables > 1 &&
      (type.perChannel ||
       batch * static_cast<uint32_t>(window.height.output * window.width.output) < 4);
  checkKernel(
      std::move(test),
      isLeft      ? 0
      : isExtreme ? 1
                  : kAllLevels,
      fmt::format("{}{}, batch {}, depth {} -> {}, activation {}, {}", type.text(),
                  isDepthwise ? " depthwise" : "", batch, depth, channels, code, window.text()));
}

TEST(ConvKernel, IsTheReferenceInAllForms) {
  RandomOperands random(21);
  for (int round = 0; round < 120; ++round) {
    for (const ConvTypeCase& type : kLayerTypes) {
      TestWindow window = randomWindow(random, /*mayDilate=*/true);
      window.nchw = false;
      checkConv(random, type, window, false, random.oneOf<uint32_t>({1, 1, 2, 3}),
                static_cast<uint32_t>(random.between(1, 20)),
                static_cast<uint32_t>(random.between(1, 70)));
      if (HasFatalFailure()) return;
    }
  }
}

TEST(ConvKernel, IsTheReferenceOnLargerImages) {
  RandomOperands random(22);
  for (const ConvTypeCase& type : kLayerTypes) {
    checkConv(random, type, sameWindow(20, 17, 1, 1), false, 2, 36, 70);
    checkConv(random, type, sameWindow(14, 14, 1, 1), false, 1, 256, 33);
    checkConv(random, type, sameWindow(7, 7, 1, 1), false, 1, 130, 200);
    checkConv(random, type, sameWindow(33, 31, 3, 2), false, 1, 3, 32);
    checkConv(random, type, sameWindow(12, 15, 3, 1), false, 1, 64, 41);
    checkConv(random, type, sameWindow(9, 9, 7, 2), false, 1, 5, 300);
    if (HasFatalFailure()) return;
  }
}

TEST(ConvKernel, IsTheReferenceWithFiltersThatAreNoConstants) {
  RandomOperands random(28);
  for (int round = 0; round < 60; ++round) {
    for (const ConvTypeCase& type : kLayerTypes) {
      TestWindow window = randomWindow(random, /*mayDilate=*/true);
      window.nchw = false;
      checkConv(random, type, window, false, random.oneOf<uint32_t>({1, 2}),
                static_cast<uint32_t>(random.between(1, 40)),
                static_cast<uint32_t>(random.between(1, 70)), /*variables=*/2);
      if (HasFatalFailure()) return;
    }
  }
  for (const ConvTypeCase& type : kLayerTypes) {
    checkConv(random, type, sameWindow(14, 13, 1, 1), false, 2, 256, 33, 2);
    checkConv(random, type, sameWindow(20, 17, 3, 1), false, 1, 64, 70, 2);
    if (HasFatalFailure()) return;
  }
}

// Lines that are copied once for all rows, with pieces that are filled up to units of 4 bytes. They
// have more pieces than a copy has at a time.
TEST(ConvKernel, IsTheReferenceLineByLine) {
  RandomOperands random(27);
  for (int round = 0; round < 60; ++round) {
    for (const ConvTypeCase& type : kLayerTypes) {
      const TestWindow window = sameWindow(random.between(4, 20), random.between(14, 40),
                                           random.between(2, 5), random.between(1, 2));
      checkConv(random, type, window, false, random.oneOf<uint32_t>({1, 2}),
                random.oneOf<uint32_t>({1, 2, 3, 4, 6, 9, 16}),
                random.oneOf<uint32_t>({8, 16, 24, 32, 40}));
      if (HasFatalFailure()) return;
    }
  }
  for (const ConvTypeCase& type : kLayerTypes) {
    checkConv(random, type, sameWindow(40, 300, 3, 1), false, 1, 20, 16);
    if (HasFatalFailure()) return;
  }
}

// Enough channels and positions for Winograd's tiles, of which the last ones of a line or an image
// have results that are none.
TEST(ConvKernel, IsTheReferenceTileByTile) {
  RandomOperands random(29);
  const ConvTypeCase type{TENSOR_FLOAT32, false};
  const auto axis = [&](int output) {
    TestAxis made;
    made.filter = 3;
    made.padBefore = random.between(0, 2);
    made.padAfter = random.between(0, 2);
    made.output = output;
    made.input = output + 2 - made.padBefore - made.padAfter;
    return made;
  };
  for (int round = 0; round < 40; ++round) {
    TestWindow window;
    window.explicitPadding = true;
    window.height = axis(random.between(9, 20));
    window.width = axis(random.between(10, 24));
    const auto depth = static_cast<uint32_t>(random.between(32, 70));
    const auto channels = static_cast<uint32_t>(random.between(32, 100));
    checkConv(random, type, window, false, random.oneOf<uint32_t>({1, 1, 3}), depth, channels);
    if (HasFatalFailure()) return;
  }
  checkConv(random, type, sameWindow(56, 56, 3, 1), false, 1, 64, 64);
  checkConv(random, type, sameWindow(14, 14, 3, 1), false, 2, 256, 256);
}

TEST(DepthwiseConvKernel, IsTheReferenceInAllForms) {
  RandomOperands random(23);
  for (int round = 0; round < 120; ++round) {
    for (const ConvTypeCase& type : kLayerTypes) {
      TestWindow window = randomWindow(random, /*mayDilate=*/true);
      window.nchw = false;
      const auto depth = static_cast<uint32_t>(random.between(1, 140));
      checkConv(random, type, window, true, random.oneOf<uint32_t>({1, 1, 2, 3}), depth, depth);
      if (HasFatalFailure()) return;
    }
  }
}

TEST(DepthwiseConvKernel, IsTheReferenceOnLargerImages) {
  RandomOperands random(24);
  for (const ConvTypeCase& type : kLayerTypes) {
    for (const int stride : {1, 2}) {
      for (const uint32_t depth : {8u, 32u, 96u, 200u, 300u}) {
        for (const int filter : {3, 5}) {
          checkConv(random, type, sameWindow(19, 22, filter, stride), true, 1, depth, depth);
          if (HasFatalFailure()) return;
        }
      }
    }
  }
}

// Runs the first half of each loop.
class FirstHalf final : public InlineServices {
 public:
  void parallelFor(size_t count, size_t /*grain*/,
                   const std::function<void(size_t begin, size_t end)>& body) override {
    body(0, count / 2);
  }
};

// Counts the items of the last loop.
class ItemCount final : public InlineServices {
 public:
  void parallelFor(size_t count, size_t grain,
                   const std::function<void(size_t begin, size_t end)>& body) override {
    items_ = count;
    InlineServices::parallelFor(count, grain, body);
  }
  size_t items() const { return items_; }

 private:
  size_t items_ = 0;
};

// The result of the kernel for a float image of side x side cells. Results that it does not write
// are bytes of 0xa5.
std::vector<uint8_t> depthwiseResult(int side, uint32_t channels, InlineServices& services) {
  RandomOperands random(31);
  KernelCase test;
  const auto size = static_cast<uint32_t>(side);
  const TestWindow window = sameWindow(side, side, 3, 1);
  const TestOperand image = random.tensor(TENSOR_FLOAT32, {1, size, size, channels});
  const TestOperand filter = random.tensor(TENSOR_FLOAT32, {1, 3, 3, channels});
  test.operation = OperationType::DEPTHWISE_CONV_2D;
  test.inputs = {image, filter, random.bias(image, filter, channels)};
  window.appendPaddingAndStrides(test.inputs);
  for (const int scalar : {1, 0}) test.inputs.push_back(TestOperand::int32(scalar));
  test.outputs = {TestOperand::output(TENSOR_FLOAT32)};
  EXPECT_TRUE(runOperation(test.operation, test.inputs, test.outputs).ok());
  std::vector<ops::Tensor> inputs;
  for (TestOperand& input : test.inputs) {
    inputs.push_back(input.tensor);
    if (inputs.size() > 1) inputs.back().data = input.bytes.data();
  }
  const std::vector<ops::Tensor> outputs = {test.outputs[0].tensor};
  const auto kernel = makeKernel(*ops::definitionOf(test.operation), {inputs, outputs});
  return runKernel(*kernel, test, services)[0];
}

// Runs the first half of the loop. Returns a flag for each line of the output: whether channel
// `channel` was written at all of its positions. Expects that no line is written in part.
std::vector<bool> linesOfFirstHalf(int side, uint32_t channels, uint32_t channel) {
  FirstHalf services;
  const std::vector<uint8_t> result = depthwiseResult(side, channels, services);
  const auto size = static_cast<uint32_t>(side);
  std::vector<bool> isWritten;
  for (size_t y = 0; y < size; ++y) {
    size_t left = 0;
    for (size_t x = 0; x < size; ++x) {
      const uint8_t* const at = &result[((y * size + x) * channels + channel) * sizeof(float)];
      left += std::all_of(at, at + sizeof(float), [](uint8_t byte) { return byte == 0xa5; });
    }
    EXPECT_TRUE(left == 0 || left == size) << "line " << y << ", channel " << channel;
    isWritten.push_back(left == 0);
  }
  return isWritten;
}

// Each of two threads finds its own results in its cache, when layers are shared by rows.
TEST(DepthwiseConvKernel, HalfOfItIsHalfOfTheLines) {
  std::vector<bool> upperHalf(33, false);
  std::fill_n(upperHalf.begin(), 16, true);
  for (const uint32_t channel : {0u, 191u}) {
    EXPECT_EQ(linesOfFirstHalf(33, 192, channel), upperHalf) << channel;
  }
}

// Otherwise one thread would compute them while others wait.
TEST(DepthwiseConvKernel, FewLinesAreDividedByChannels) {
  ItemCount services;
  (void)depthwiseResult(14, 256, services);
  EXPECT_GE(services.items(), 4u);
}

// Positions of a line that are computed side by side are not neighbours then.
TEST(DepthwiseConvKernel, IsTheReferenceWithDilations) {
  RandomOperands random(28);
  for (const ConvTypeCase& type : kLayerTypes) {
    for (const int dilation : {2, 3, 4, 9}) {
      for (const uint32_t depth : {8u, 40u, 96u}) {
        const auto axis = [&](int input) {
          const int before = random.between(0, dilation);
          const int after = random.between(0, dilation);
          return TestAxis{
              input, 3, 1, dilation, before, after, input + before + after - 2 * dilation};
        };
        TestWindow window;
        window.explicitPadding = true;
        window.layoutGiven = true;
        window.dilationsGiven = true;
        window.height = axis(random.between(2 * dilation + 1, 25));
        window.width = axis(random.between(2 * dilation + 1, 33));
        checkConv(random, type, window, true, 2, depth, depth);
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST(FullyConnectedKernel, IsTheReference) {
  RandomOperands random(25);
  for (int round = 0; round < 60; ++round) {
    for (const ConvTypeCase& type : kLayerTypes) {
      if (type.perChannel) continue;
      const auto batch = static_cast<uint32_t>(random.oneOf({1, 1, 2, 5, 14, 40}));
      const auto depth = static_cast<uint32_t>(random.between(1, 300));
      const auto units = static_cast<uint32_t>(random.between(1, 100));
      KernelCase test;
      test.operation = OperationType::FULLY_CONNECTED;
      const TestOperand input = random.tensor(type.type, {batch, depth});
      const TestOperand filter = filterFor(random, type, {units, depth}, 0);
      const int code = random.between(0, 3);
      test.inputs = {input, filter, random.bias(input, filter, units), TestOperand::int32(code)};
      test.outputs = {random.output(type.type, 20)};
      test.slack = 0x1p-22 * depth;
      checkKernel(
          std::move(test), kAllLevels,
          fmt::format("{}, {} x {} x {}, activation {}", type.text(), batch, depth, units, code));
      if (HasFatalFailure()) return;
    }
  }
}

// The reference kernel computes the cases that the kernels do not support.
TEST(LayerKernels, ThereIsNoneForWeightsThatAreNoConstants) {
  RandomOperands random(26);
  const TestOperand input = random.tensor(TENSOR_FLOAT32, {2, 8});
  const TestOperand weights = random.tensor(TENSOR_FLOAT32, {3, 8});
  const TestOperand bias = random.tensor(TENSOR_FLOAT32, {3});
  TestOperand code = TestOperand::int32(0);
  TestOperand output = TestOperand::output(TENSOR_FLOAT32);
  output.tensor.dims = {2, 3};
  std::vector<ops::Tensor> inputs = {input.tensor, weights.tensor, bias.tensor, code.tensor};
  inputs[3].data = code.bytes.data();
  const std::vector<ops::Tensor> outputs = {output.tensor};
  EXPECT_EQ(makeKernel(*ops::definitionOf(OperationType::FULLY_CONNECTED), {inputs, outputs}),
            nullptr);
}

}  // namespace
}  // namespace halyard::cpudriver::testing
