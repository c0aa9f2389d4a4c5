// Tests of CONV_3D and CONV_3D_TRANSPOSE against sums by the formula.
#include "ops/moves_for_test.h"

namespace halyard::ops::testing {
namespace {

using enum OperandType;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TestOperand floats(const Shape& dims, const std::vector<float>& values) {
  return TestOperand::of<float>(TENSOR_FLOAT32, dims, values);
}

struct Volume {
  Shape input, filter, output;
  std::vector<int32_t> paddings, strides, dilations;
};

// A random geometry: `input` has [depth, height, width], `filter` its taps.
Volume randomVolume(RandomOperands& random) {
  Volume volume;
  for (int d = 0; d < 3; ++d) {
    const int taps = random.between(1, 3);
    volume.strides.push_back(random.between(1, 3));
    volume.dilations.push_back(random.between(1, 2));
    const int extent = (taps - 1) * volume.dilations.back() + 1;
    const int size = extent + random.between(0, 3);
    int padded = size;
    for (int side = 0; side < 2; ++side) {
      volume.paddings.push_back(random.between(0, 2));
      padded += volume.paddings.back();
    }
    volume.input.push_back(static_cast<uint32_t>(size));
    volume.filter.push_back(static_cast<uint32_t>(taps));
    volume.output.push_back(static_cast<uint32_t>((padded - extent) / volume.strides.back() + 1));
  }
  return volume;
}

Shape withEnds(uint32_t batch, const Shape& dims, uint32_t channels) {
  return {batch, dims[0], dims[1], dims[2], channels};
}

std::vector<TestOperand> operandsOf(const Volume& volume, const TestOperand& x,
                                    const TestOperand& filter, const TestOperand& bias) {
  return {x,
          filter,
          bias,
          TestOperand::of<int32_t>(TENSOR_INT32, {3, 2}, volume.paddings),
          intList(volume.strides),
          intList(volume.dilations),
          TestOperand::int32(0)};
}

// Calls each(output element, input element, tap) for all that meet, without channels.
template <typename Each>
void forEachProduct(const Volume& volume, Each each) {
  for (size_t i = 0; i < elementsOf(volume.output); ++i) {
    for (size_t k = 0; k < elementsOf(volume.filter); ++k) {
      const Coordinates to = coordinatesOf(i, volume.output);
      const Coordinates tap = coordinatesOf(k, volume.filter);
      Coordinates from(3);
      bool isInside = true;
      for (size_t d = 0; d < 3; ++d) {
        const int at = static_cast<int>(to[d]) * volume.strides[d] - volume.paddings[2 * d] +
                       static_cast<int>(tap[d]) * volume.dilations[d];
        isInside = isInside && at >= 0 && at < static_cast<int>(volume.input[d]);
        from[d] = static_cast<size_t>(std::max(at, 0));
      }
      if (isInside) each(i, indexOf(from, volume.input), k);
    }
  }
}

// Compares a random convolution with the sums of its products. The transposed one goes from the
// volume's output to its input.
void expectTheFormula(RandomOperands& random, bool isTransposed) {
  constexpr uint32_t kBatch = 2;
  const Volume volume = randomVolume(random);
  const Shape& fromDims = isTransposed ? volume.output : volume.input;
  const Shape& toDims = isTransposed ? volume.input : volume.output;
  const auto inputs = static_cast<uint32_t>(random.between(1, 4));
  const auto outputs = static_cast<uint32_t>(random.between(1, 5));
  const TestOperand x = random.tensor(TENSOR_FLOAT32, withEnds(kBatch, fromDims, inputs));
  Shape taps = volume.filter;
  taps.push_back(isTransposed ? outputs : inputs);
  taps.push_back(isTransposed ? inputs : outputs);
  const TestOperand filter = random.tensor(TENSOR_FLOAT32, taps);
  const TestOperand bias = random.tensor(TENSOR_FLOAT32, {outputs});
  const std::vector<float> image = x.values<float>();
  const std::vector<float> weights = filter.values<float>();
  std::vector<double> expected;
  for (size_t i = 0; i < kBatch * elementsOf(toDims); ++i) {
    for (const float value : bias.values<float>()) expected.push_back(value);
  }
  forEachProduct(volume, [&](size_t inOutput, size_t inInput, size_t tap) {
    const size_t from = isTransposed ? inOutput : inInput;
    const size_t to = isTransposed ? inInput : inOutput;
    for (size_t i = 0; i < kBatch * inputs * outputs; ++i) {
      const size_t n = i / (inputs * outputs);
      const size_t in = i / outputs % inputs;
      const size_t out = i % outputs;
      const size_t weight = isTransposed ? out * inputs + in : in * outputs + out;
      expected[(n * elementsOf(toDims) + to) * outputs + out] +=
          double{image[(n * elementsOf(fromDims) + from) * inputs + in]} *
          weights[tap * inputs * outputs + weight];
    }
  });
  std::vector<TestOperand> operands = operandsOf(volume, x, filter, bias);
  if (isTransposed) operands.push_back(intList({toDims.begin(), toDims.end()}));
  const TestOperand result =
      resultOf(isTransposed ? OperationType::CONV_3D_TRANSPOSE : OperationType::CONV_3D, operands,
               TestOperand::output(TENSOR_FLOAT32));
  ASSERT_EQ(result.tensor.dims, withEnds(kBatch, toDims, outputs));
  const std::vector<float> found = result.values<float>();
  for (size_t i = 0; i < found.size(); ++i) ASSERT_NEAR(found[i], expected[i], 1e-4);
}

TEST(Conv3d, EqualsTheFormula) {
  RandomOperands random(5);
  for (int round = 0; round < 100 && !HasFailure(); ++round) expectTheFormula(random, false);
}

TEST(Conv3d, TransposedEqualsTheFormula) {
  RandomOperands random(6);
  for (int round = 0; round < 100 && !HasFailure(); ++round) expectTheFormula(random, true);
}

TEST(Conv3d, ClampsToItsActivation) {
  const Volume volume = {{1, 1, 2}, {1, 1, 1}, {1, 1, 2}, {0, 0, 0, 0, 0, 0}, {1, 1, 1}, {1, 1, 1}};
  std::vector<TestOperand> operands = operandsOf(volume, floats({1, 1, 1, 2, 1}, {-2, 3}),
                                                 floats({1, 1, 1, 1, 1}, {4}), floats({1}, {1}));
  operands.back() = TestOperand::int32(3);
  EXPECT_THAT(resultOf(OperationType::CONV_3D, operands, TestOperand::output(TENSOR_FLOAT32))
                  .values<float>(),
              ElementsAre(0, 6));
}

TEST(Conv3d, NamesWhatDoesNotFit) {
  const Volume volume = {{1, 1, 2}, {1, 1, 1}, {1, 1, 2}, {0, 0, 0, 0, 0, 0}, {1, 1, 1}, {1, 1, 1}};
  std::vector<TestOperand> operands =
      operandsOf(volume, floats({1, 1, 1, 2, 1}, {-2, 3}), floats({1, 1, 3, 1, 1}, {4, 4, 4}),
                 floats({1}, {1}));
  std::vector<TestOperand> outputs = {TestOperand::output(TENSOR_FLOAT32)};
  EXPECT_THAT(runOperation(OperationType::CONV_3D, operands, outputs).toString(),
              HasSubstr("the filter covers 3 elements of axis 2, which has 2 with its paddings"));
  operands[1] = floats({1, 1, 1, 1, 1}, {4});
  operands.push_back(intList({1, 1, 4}));
  EXPECT_THAT(runOperation(OperationType::CONV_3D_TRANSPOSE, operands, outputs).toString(),
              HasSubstr("the convolution of 4 elements of axis 2 gives 4, input has 2"));
}

}  // namespace
}  // namespace halyard::ops::testing
