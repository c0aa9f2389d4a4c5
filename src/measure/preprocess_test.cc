// Tests of the conversion of pictures into tensors.
#include "measure/preprocess.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace halyard::measure {
namespace {

using ::testing::ElementsAre;
using ::testing::FloatNear;
using ::testing::HasSubstr;
using ::testing::Not;

const media::Image kColours = {2, 1, 3, {0, 51, 255, 128, 127, 204}};
const media::Image kGrey = {2, 1, 1, {0, 255}};

ImageTensor convert(const media::Image& image, const TensorType& tensor,
                    const PixelOptions& options = {}) {
  auto result = imageToTensor(image, tensor, options);
  EXPECT_TRUE(result.ok()) << result.status().toString();
  return result.ok() ? *result : ImageTensor();
}

std::vector<float> reals(const media::Image& image, const PixelOptions& options = {}) {
  const ImageTensor tensor = convert(image, {OperandType::TENSOR_FLOAT32}, options);
  return *realValues({OperandType::TENSOR_FLOAT32}, tensor.bytes);
}

TEST(ImageGeometry, KnowsTheUsualShapes) {
  const auto colours = imageGeometry(OperandType::TENSOR_FLOAT32, {1, 20, 30, 3});
  ASSERT_TRUE(colours.has_value());
  EXPECT_EQ(colours->height, 20u);
  EXPECT_EQ(colours->width, 30u);
  EXPECT_EQ(colours->channels, 3u);
  EXPECT_EQ(imageGeometry(OperandType::TENSOR_QUANT8_ASYMM, {0, 0, 0, 1})->channels, 1u);
  EXPECT_EQ(imageGeometry(OperandType::TENSOR_QUANT8_ASYMM_SIGNED, {20, 30, 3})->width, 30u);
  EXPECT_EQ(imageGeometry(OperandType::TENSOR_FLOAT32, {1, 28, 27})->width, 27u);
}

TEST(ImageGeometry, RefusesOthers) {
  EXPECT_FALSE(imageGeometry(OperandType::TENSOR_FLOAT32, {2, 20, 30, 3}));
  EXPECT_FALSE(imageGeometry(OperandType::TENSOR_FLOAT32, {1, 20, 30, 4}));
  EXPECT_FALSE(imageGeometry(OperandType::TENSOR_FLOAT32, {1, 20, 30, 0}));
  EXPECT_FALSE(imageGeometry(OperandType::TENSOR_FLOAT32, {1, 640}));
  EXPECT_FALSE(imageGeometry(OperandType::TENSOR_FLOAT32, {}));
  EXPECT_FALSE(imageGeometry(OperandType::TENSOR_INT32, {1, 20, 30, 3}));
}

TEST(ImageToTensor, UnsignedTakesRawPixels) {
  const ImageTensor tensor = convert(kColours, {OperandType::TENSOR_QUANT8_ASYMM, 0.0078125f, 128});
  EXPECT_EQ(tensor.bytes, kColours.pixels);
  EXPECT_THAT(tensor.how, HasSubstr("raw pixels (quantised range [-1, 0.992])"));
}

TEST(ImageToTensor, SignedTakesPixelsMinus128) {
  const ImageTensor tensor =
      convert(kGrey, {OperandType::TENSOR_QUANT8_ASYMM_SIGNED, 1.0f / 255, -128});
  EXPECT_THAT(tensor.bytes, ElementsAre(0x80, 0x7f));
  EXPECT_THAT(tensor.how, HasSubstr("raw pixels minus 128 (quantised range [0, 1])"));
}

TEST(ImageToTensor, SaysWhenTheRangeIsUnusual) {
  EXPECT_THAT(convert(kGrey, {OperandType::TENSOR_QUANT8_ASYMM, 0.0186f, 114}).how,
              HasSubstr("none of the usual"));
  EXPECT_THAT(convert(kGrey, {OperandType::TENSOR_QUANT8_ASYMM, 1.0f, 0}).how,
              Not(HasSubstr("none of the usual")));
}

TEST(ImageToTensor, FloatDefaultsFollowTheChannels) {
  EXPECT_THAT(reals(kColours),
              ElementsAre(-1.0f, FloatNear(-0.6f, 1e-6f), 1.0f, FloatNear(0.0039216f, 1e-6f),
                          FloatNear(-0.0039216f, 1e-6f), FloatNear(0.6f, 1e-6f)));
  EXPECT_THAT(reals(kGrey), ElementsAre(0.0f, 1.0f));
}

TEST(ImageToTensor, RangeAndMeanAsGiven) {
  PixelOptions range;
  range.range = {0.0f, 255.0f};
  EXPECT_THAT(reals(kColours, range), ElementsAre(0, 51, 255, 128, 127, 204));
  PixelOptions mean;
  mean.mean = {0, 1, 2};
  mean.std = {1, 2, 4};
  EXPECT_THAT(reals(kColours, mean), ElementsAre(0, 25, 63.25f, 128, 63, 50.5f));
}

TEST(ImageToTensor, OptionsQuantizeWithSaturation) {
  PixelOptions options;
  options.range = {-1.0f, 1.0f};
  // The real value 1 is 384 quanta of 1/256 above -128, so it saturates.
  EXPECT_THAT(
      convert(kGrey, {OperandType::TENSOR_QUANT8_ASYMM_SIGNED, 1.0f / 256, -128}, options).bytes,
      ElementsAre(0x80, 0x7f));
  EXPECT_THAT(convert(kGrey, {OperandType::TENSOR_QUANT8_ASYMM, 0.5f, 10}, options).bytes,
              ElementsAre(8, 12));
}

TEST(ImageToTensor, HalfPrecision) {
  EXPECT_THAT(convert(kGrey, {OperandType::TENSOR_FLOAT16}).bytes, ElementsAre(0, 0, 0, 0x3c));
}

TEST(ImageToTensor, RefusesOptionsThatMakeNoSense) {
  EXPECT_FALSE(imageToTensor(kGrey, {OperandType::TENSOR_INT32}, {}).ok());
  PixelOptions options;
  options.mean = {1, 2, 3};
  EXPECT_FALSE(checkPixelOptions(options, 3).ok());
  options.std = {1, 1, 1};
  EXPECT_TRUE(checkPixelOptions(options, 3).ok());
  EXPECT_FALSE(checkPixelOptions(options, 1).ok());
  options.std[1] = 0;
  EXPECT_FALSE(checkPixelOptions(options, 3).ok());
  options.std[1] = NAN;
  EXPECT_FALSE(checkPixelOptions(options, 3).ok());
  options.std[1] = 1;
  options.range = {0.0f, 1.0f};
  EXPECT_FALSE(checkPixelOptions(options, 3).ok());
}

}  // namespace
}  // namespace halyard::measure
