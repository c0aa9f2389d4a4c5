#include <gtest/gtest.h>

#include "import/tflite/converters.h"
#include "tflite_delegate/live_node.h"

namespace halyard::tflite {
namespace {

constexpr int32_t kOperators = 210;

const import::Converter* converterOf(int32_t code) {
  return import::converterOf(static_cast<tfl::BuiltinOperator>(code));
}

// An operator whose options the importer needs must get them from a live node, too.
TEST(LiveOptions, ExistForEveryConverterThatNeedsThem) {
  for (int32_t code = 0; code < kOperators; ++code) {
    const import::Converter* const converter = converterOf(code);
    if (converter == nullptr || converter->need != import::OptionsNeed::REQUIRED) continue;
    EXPECT_TRUE(hasLiveOptions(code)) << tfl::EnumNameBuiltinOperator(converter->op);
  }
}

TEST(LiveOptions, HaveTheKindThatTheConverterExpects) {
  // 1 is a value that every member of a structure may have.
  alignas(8) uint8_t structure[512] = {};
  for (size_t i = 0; i < sizeof(structure); i += sizeof(int32_t)) structure[i] = 1;
  for (int32_t code = 0; code < kOperators; ++code) {
    const import::Converter* const converter = converterOf(code);
    if (converter == nullptr || !hasLiveOptions(code)) continue;
    // These have addresses.
    if (converter->op == tfl::BuiltinOperator::BUCKETIZE) continue;
    if (converter->op == tfl::BuiltinOperator::STABLEHLO_COMPOSITE) continue;
    const auto options = optionsOf(code, structure);
    ASSERT_TRUE(options.ok()) << options.status().toString();
    EXPECT_EQ(options->type, converter->options) << tfl::EnumNameBuiltinOperator(converter->op);
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

TEST(LiveOptions, OfNewerOperatorsAreThoseOfTheStructure) {
  struct List {
    int64_t values[8] = {};
    int32_t count = 0;
  };
  struct {
    List offsets{{1}, 1}, collapsed{{0}, 1}, indexMap{{0}, 1};
    int64_t vectorDim = 2;
    List sizes{{1, 9}, 2};
  } gather;
  const Result<LiveOptions> options =
      optionsOf(static_cast<int32_t>(tfl::BuiltinOperator::STABLEHLO_GATHER), &gather);
  ASSERT_TRUE(options.ok()) << options.status().toString();
  EXPECT_EQ(options->type2, tfl::BuiltinOptions2::StablehloGatherOptions);
  flatbuffers::FlatBufferBuilder builder;
  builder.Finish(flatbuffers::Offset<tfl::StablehloGatherOptions>(options->write(builder).o));
  const auto* const written =
      flatbuffers::GetRoot<tfl::StablehloGatherOptions>(builder.GetBufferPointer());
  EXPECT_EQ(written->offset_dims()->size(), 1u);
  EXPECT_EQ(written->index_vector_dim(), 2);
  ASSERT_EQ(written->slice_sizes()->size(), 2u);
  EXPECT_EQ(written->slice_sizes()->Get(1), 9);
}

TEST(LiveOptions, WithForeignValuesAreRefused) {
  const int32_t padding = 7;
  const auto code = static_cast<int32_t>(tfl::BuiltinOperator::CONV_2D);
  const int32_t values[7] = {padding};
  EXPECT_FALSE(optionsOf(code, values).ok());
  EXPECT_FALSE(optionsOf(code, nullptr).ok());
}

TEST(LiveOptions, NameTheGraphsThatANodeCalls) {
  const int32_t two[] = {3, 4};
  EXPECT_EQ(calleesOf(118, two), (std::vector<int32_t>{3, 4}));
  EXPECT_EQ(calleesOf(119, two), (std::vector<int32_t>{3, 4}));
  const struct {
    const char* name = "odml.some";
    int32_t graph = 5;
    int32_t version = 1;
    const uint8_t* attributes = nullptr;
    size_t attributesSize = 0;
  } composite;
  EXPECT_EQ(calleesOf(206, &composite), std::vector<int32_t>{5});
  const struct {
    int64_t lists[48] = {};
    int32_t graph = 9;
  } reduction;
  EXPECT_EQ(calleesOf(198, &reduction), std::vector<int32_t>{9});
  struct {
    int32_t branches[20] = {6, 7, 8};
    uint32_t count = 3;
  } choice;
  EXPECT_EQ(calleesOf(209, &choice), (std::vector<int32_t>{6, 7, 8}));
  EXPECT_TRUE(calleesOf(0, two).empty());
  choice.count = 21;
  EXPECT_FALSE(optionsOf(209, &choice).ok());
}

}  // namespace
}  // namespace halyard::tflite
