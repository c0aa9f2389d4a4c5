// Tests of the collection of inputs.
#include "measure/run_inputs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>

#include "base/temporary_folder_for_test.h"
#include "media/npy.h"

namespace halyard::measure {
namespace {

using import::ModelPort;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const ModelPort kPicture = {"picture", OperandType::TENSOR_QUANT8_ASYMM, {1, 4, 6, 3}, 1.0f, 0};
const ModelPort kVector = {"vector", OperandType::TENSOR_FLOAT32, {1, 2}, 0, 0};

class RunInputsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    image_ = folder_ + "/p.png";
    media::Image image = media::blankImage(12, 8, 3);
    for (uint8_t& byte : image.pixels) byte = 77;
    ASSERT_TRUE(media::writePng(image, image_).ok());
    array_ = folder_ + "/a.npy";
    std::vector<uint8_t> bytes(8);
    const float values[] = {1.5f, -2.0f};
    std::memcpy(bytes.data(), values, 8);
    ASSERT_TRUE(media::saveNpy({"f4", {1, 2}, bytes}, array_).ok());
  }

  static std::string errorOf(std::vector<ModelPort> ports, const InputOptions& options) {
    const auto result = prepareInputs(ports, options);
    return result.ok() ? "fine" : result.status().toString();
  }

  const TemporaryFolder owner_{"run_inputs"};
  const std::string folder_ = owner_.path();
  std::string image_;
  std::string array_;
};

TEST_F(RunInputsTest, PictureAndArray) {
  InputOptions options;
  options.image = image_;
  options.arrays = {{"vector", array_}};
  const std::vector<ModelPort> ports = {kVector, kPicture};
  const auto result = prepareInputs(ports, options);
  ASSERT_TRUE(result.ok()) << result.status().toString();
  ASSERT_EQ(result->inputs.size(), 2u);
  EXPECT_EQ(result->inputs[0].bytes.size(), 8u);
  EXPECT_EQ(result->inputs[1].bytes, std::vector<uint8_t>(4 * 6 * 3, 77));
  EXPECT_THAT(result->inputs[1].how, HasSubstr("p.png (12 x 8) resized to 6 x 4, raw pixels"));
  ASSERT_TRUE(result->picture.has_value());
  EXPECT_EQ(result->picture->width, 12u);
}

TEST_F(RunInputsTest, UnknownExtentsFollowThePicture) {
  InputOptions options;
  options.image = image_;
  ModelPort open = kPicture;
  open.dims = {0, 0, 0, 1};
  const auto result = prepareInputs({&open, 1}, options);
  ASSERT_TRUE(result.ok()) << result.status().toString();
  EXPECT_THAT(result->inputs[0].dimensions, ElementsAre(1, 8, 12, 1));
  EXPECT_EQ(result->inputs[0].bytes.size(), 96u);
  open.dims = {1, 28, 20};
  const auto grey = prepareInputs({&open, 1}, options);
  ASSERT_TRUE(grey.ok()) << grey.status().toString();
  EXPECT_THAT(grey->inputs[0].dimensions, ElementsAre(1, 28, 20));
  EXPECT_EQ(grey->inputs[0].bytes.size(), 560u);
  open.dims = {5, 0, 3};
  const auto bare = prepareInputs({&open, 1}, options);
  ASSERT_TRUE(bare.ok()) << bare.status().toString();
  EXPECT_THAT(bare->inputs[0].dimensions, ElementsAre(5, 12, 3));
}

TEST_F(RunInputsTest, InputsByNumber) {
  InputOptions options;
  options.arrays = {{"0", array_}};
  EXPECT_EQ(errorOf({kVector}, options), "fine");
  ModelPort other = kVector;
  other.name = "0";  // a name has precedence over a number
  EXPECT_THAT(errorOf({kVector, other}, options), HasSubstr("no value for input \"vector\""));
}

TEST_F(RunInputsTest, SaysWhatIsWrong) {
  EXPECT_THAT(errorOf({kVector}, {}),
              HasSubstr("no value for input \"vector\" TENSOR_FLOAT32[1,2]: give --input"));
  InputOptions options;
  options.arrays = {{"x", array_}};
  EXPECT_THAT(errorOf({kVector}, options), HasSubstr("no input 'x'; the model has \"vector\""));
  options.arrays = {{"vector", array_}, {"0", array_}};
  EXPECT_THAT(errorOf({kVector}, options), HasSubstr("given twice"));
  options.arrays = {{"picture", array_}};
  EXPECT_THAT(errorOf({kPicture}, options), HasSubstr("expected are u1 elements"));
  options.arrays = {};
  options.image = image_;
  EXPECT_THAT(errorOf({kVector}, options), HasSubstr("shape of a picture"));
  EXPECT_THAT(errorOf({kPicture, kPicture}, options), HasSubstr("both input"));
  options.image = array_;
  EXPECT_THAT(errorOf({kPicture}, options), HasSubstr("a.npy: not a BMP"));
}

TEST_F(RunInputsTest, RandomValuesDependOnTheSeedOnly) {
  InputOptions options;
  options.randomSeed = 7;
  ModelPort open = kVector;
  open.dims = {0, 1000};
  const auto first = prepareInputs({&open, 1}, options);
  const auto second = prepareInputs({&open, 1}, options);
  options.randomSeed = 8;
  const auto third = prepareInputs({&open, 1}, options);
  ASSERT_TRUE(first.ok() && second.ok() && third.ok());
  EXPECT_THAT(first->inputs[0].dimensions, ElementsAre(1, 1000));
  EXPECT_EQ(first->inputs[0].bytes, second->inputs[0].bytes);
  EXPECT_NE(first->inputs[0].bytes, third->inputs[0].bytes);
  const auto values = realValues({OperandType::TENSOR_FLOAT32}, first->inputs[0].bytes);
  for (const float value : *values) {
    EXPECT_GE(value, -1.0f);
    EXPECT_LT(value, 1.0f);
  }
}

}  // namespace
}  // namespace halyard::measure
