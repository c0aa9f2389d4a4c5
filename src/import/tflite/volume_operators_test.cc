// Tests of convolutions of volumes.
#include "import/tflite/single_operator_for_test.h"

namespace halyard::import {
namespace {

using flatbuffers::FlatBufferBuilder;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Act = tfl::ActivationFunctionType;
using Op = tfl::BuiltinOperator;
using Opt = tfl::BuiltinOptions;
using Type = tfl::TensorType;

// The stride is that of the width.
auto window(tfl::Padding padding, int32_t stride, Act activation = Act::NONE) {
  return [=](FlatBufferBuilder& b) {
    return tfl::CreateConv3DOptions(b, padding, 1, stride, 1, activation);
  };
}

// A line of four along the width, and a filter of three.
SingleOperator convolved(tfl::Padding padding, int32_t stride, bool hasBias) {
  SingleOperator single;
  const int32_t x = single.floats({1, 1, 1, 4, 1}, {1, 2, 3, 4});
  const int32_t filter =
      single.constant(Type::FLOAT32, {1, 1, 3, 1, 1}, bytesOf<float>({1, 10, 100}));
  std::vector<int32_t> inputs = {x, filter};
  if (hasBias) inputs.push_back(single.constant(Type::FLOAT32, {1}, bytesOf<float>({0.5f})));
  single.writer.node(Op::CONV_3D, inputs, {single.output(Type::FLOAT32)}, Opt::Conv3DOptions,
                     window(padding, stride));
  return single;
}

TEST(VolumeOperators, Conv3d) {
  EXPECT_THAT(convolved(tfl::Padding::VALID, 1, false).floatOutput(), ElementsAre(321, 432));
  EXPECT_THAT(convolved(tfl::Padding::SAME, 1, true).floatOutput(),
              ElementsAre(210.5f, 321.5f, 432.5f, 43.5f));
  // One element of padding goes behind.
  EXPECT_THAT(convolved(tfl::Padding::SAME, 2, false).floatOutput(), ElementsAre(321, 43));
  EXPECT_THAT(convolved(tfl::Padding::SAME, 0, false).refusal(),
              HasSubstr("stride 0 and dilation 1 of axis 2, expected at least 1"));
}

SingleOperator transposed(const std::vector<int32_t>& shape, tfl::Padding padding) {
  SingleOperator single;
  const int32_t x = single.floats({1, 1, 1, 2, 1}, {1, 2});
  const int32_t filter =
      single.constant(Type::FLOAT32, {1, 1, 3, 1, 1}, bytesOf<float>({1, 10, 100}));
  single.writer.node(Op::CONV_3D_TRANSPOSE, {single.intList(shape), filter, x},
                     {single.output(Type::FLOAT32)}, Opt::Conv3DOptions,
                     window(padding, 2, Act::RELU));
  return single;
}

TEST(VolumeOperators, Conv3dTranspose) {
  EXPECT_THAT(transposed({1, 1, 1, 5, 1}, tfl::Padding::VALID).floatOutput(),
              ElementsAre(1, 10, 102, 20, 200));
  EXPECT_THAT(transposed({1, 1, 1, 4, 1}, tfl::Padding::SAME).floatOutput(),
              ElementsAre(1, 10, 102, 20));
  EXPECT_THAT(transposed({1, 1, 1, 9, 1}, tfl::Padding::VALID).refusal(),
              HasSubstr("the convolution of 9 elements of axis 2 gives 4, input has 2"));
  EXPECT_THAT(transposed({1, 5}, tfl::Padding::VALID).refusal(),
              HasSubstr("the shape of the output has 2 numbers, expected 5"));
}

}  // namespace
}  // namespace halyard::import
