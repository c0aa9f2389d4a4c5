#include <gtest/gtest.h>

#include "import/tflite/converters.h"
#include "tflite_delegate/live_node.h"

namespace halyard::tflite {
namespace {

// An operator whose options the importer needs must get them from a live node, too.
TEST(LiveOptions, ExistForEveryConverterThatNeedsThem) {
  using namespace halyard::import;
  for (const auto& table :
       {complexConverters(), convolutionConverters(), elementwiseConverters(), mathConverters(),
        movementConverters(), pickingConverters(), quantizationConverters(), reductionConverters(),
        recurrentConverters(), shapeConverters(), spatialConverters()}) {
    for (const Converter& converter : table) {
      if (converter.need != OptionsNeed::REQUIRED) continue;
      EXPECT_TRUE(hasLiveOptions(static_cast<int32_t>(converter.op)))
          << tfl::EnumNameBuiltinOperator(converter.op);
    }
  }
}

TEST(LiveOptions, HaveTheKindThatTheConverterExpects) {
  using namespace halyard::import;
  alignas(8) const uint8_t zeros[512] = {};
  for (const auto& table :
       {complexConverters(), convolutionConverters(), elementwiseConverters(), mathConverters(),
        movementConverters(), pickingConverters(), quantizationConverters(), reductionConverters(),
        recurrentConverters(), shapeConverters(), spatialConverters()}) {
    for (const Converter& converter : table) {
      const auto options = optionsOf(static_cast<int32_t>(converter.op), zeros);
      if (!options.ok() || !options->write) continue;  // the format has no padding 0
      EXPECT_EQ(options->type, converter.options) << tfl::EnumNameBuiltinOperator(converter.op);
    }
  }
}

TEST(LiveOptions, AreThoseOfTheStructure) {
  const struct {
    int32_t padding = 2, strideW = 3, strideH = 4, activation = 3, dilationW = 5, dilationH = 6;
  } conv;
  const Result<LiveOptions> options =
      optionsOf(static_cast<int32_t>(tfl::BuiltinOperator::CONV_2D), &conv);
  ASSERT_TRUE(options.ok()) << options.status().toString();
  flatbuffers::FlatBufferBuilder builder;
  builder.Finish(flatbuffers::Offset<tfl::Conv2DOptions>(options->write(builder).o));
  const auto* const written = flatbuffers::GetRoot<tfl::Conv2DOptions>(builder.GetBufferPointer());
  EXPECT_EQ(written->padding(), tfl::Padding::VALID);
  EXPECT_EQ(written->stride_w(), 3);
  EXPECT_EQ(written->stride_h(), 4);
  EXPECT_EQ(written->fused_activation_function(), tfl::ActivationFunctionType::RELU6);
  EXPECT_EQ(written->dilation_w_factor(), 5);
  EXPECT_EQ(written->dilation_h_factor(), 6);
}

TEST(LiveOptions, WithForeignValuesAreRefused) {
  const int32_t padding = 7;
  const auto code = static_cast<int32_t>(tfl::BuiltinOperator::CONV_2D);
  const int32_t values[7] = {padding};
  EXPECT_FALSE(optionsOf(code, values).ok());
  EXPECT_FALSE(optionsOf(code, nullptr).ok());
}

}  // namespace
}  // namespace halyard::tflite
