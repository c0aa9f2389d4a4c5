// The recipes of all operations, and cases made from them: legalCase(definition, variant, ...).
// Thread safety: none needed.
// Ownership: values.
#pragma once

#include <charconv>
#include <cstdlib>
#include <map>

#include "ops/recipes_detection_for_test.h"
#include "ops/recipes_elementwise_for_test.h"
#include "ops/recipes_images_for_test.h"
#include "ops/recipes_rearranging_for_test.h"
#include "ops/recipes_recurrent_for_test.h"

namespace halyard::ops::testing {

// Fills in the operands of a builder, in order, and notes what properties need to know.
using Recipe = void (*)(CaseBuilder&);

// All operations but IF and WHILE, whose operands are models.
inline const std::map<OperationType, Recipe>& allRecipes() {
  using enum OperationType;
  using namespace recipes;  // NOLINT(google-build-using-namespace): a table of its members
  static const std::map<OperationType, Recipe> table = {
      {ADD, recipes::add},
      {AVERAGE_POOL_2D, averagePool},
      {CONCATENATION, concatenation},
      {CONV_2D, conv2d},
      {DEPTHWISE_CONV_2D, depthwiseConv2d},
      {DEPTH_TO_SPACE, depthToSpace},
      {DEQUANTIZE, dequantize},
      {EMBEDDING_LOOKUP, embeddingLookup},
      {FLOOR, unary},
      {FULLY_CONNECTED, fullyConnected},
      {HASHTABLE_LOOKUP, hashtableLookup},
      {L2_NORMALIZATION, l2Normalization},
      {L2_POOL_2D, l2Pool},
      {LOCAL_RESPONSE_NORMALIZATION, localResponseNormalization},
      {LOGISTIC, logistic},
      {LSH_PROJECTION, lshProjection},
      {LSTM, lstm},
      {MAX_POOL_2D, maxPool},
      {MUL, recipes::mul},
      {RELU, unaryLike},
      {RELU1, unaryLike},
      {RELU6, unaryLike},
      {RESHAPE, reshape},
      {RESIZE_BILINEAR, resize},
      {RNN, rnn},
      {SOFTMAX, softmax},
      {SPACE_TO_DEPTH, spaceToDepth},
      {SVDF, svdf},
      {TANH, recipes::tanh},
      {BATCH_TO_SPACE_ND, batchToSpace},
      {DIV, recipes::div},
      {MEAN, reduce},
      {PAD, pad},
      {SPACE_TO_BATCH_ND, spaceToBatch},
      {SQUEEZE, squeeze},
      {STRIDED_SLICE, stridedSlice},
      {SUB, recipes::sub},
      {TRANSPOSE, transpose},
      {ABS, unary},
      {ARGMAX, argument},
      {ARGMIN, argument},
      {AXIS_ALIGNED_BBOX_TRANSFORM, boxTransform},
      {BIDIRECTIONAL_SEQUENCE_LSTM, bidirectionalLstm},
      {BIDIRECTIONAL_SEQUENCE_RNN, bidirectionalRnn},
      {BOX_WITH_NMS_LIMIT, boxWithNmsLimit},
      {CAST, cast},
      {CHANNEL_SHUFFLE, channelShuffle},
      {DETECTION_POSTPROCESSING, detectionPostprocessing},
      {EQUAL, comparison},
      {EXP, unary},
      {EXPAND_DIMS, expandDims},
      {GATHER, gather},
      {GENERATE_PROPOSALS, generateProposals},
      {GREATER, comparison},
      {GREATER_EQUAL, comparison},
      {GROUPED_CONV_2D, groupedConv2d},
      {HEATMAP_MAX_KEYPOINT, heatmapMaxKeypoint},
      {INSTANCE_NORMALIZATION, instanceNormalization},
      {LESS, comparison},
      {LESS_EQUAL, comparison},
      {LOG, unaryOfPositive},
      {LOGICAL_AND, comparison},
      {LOGICAL_NOT, logicalNot},
      {LOGICAL_OR, comparison},
      {LOG_SOFTMAX, logSoftmax},
      {MAXIMUM, extremum},
      {MINIMUM, extremum},
      {NEG, unary},
      {NOT_EQUAL, comparison},
      {PAD_V2, padV2},
      {POW, recipes::pow},
      {PRELU, prelu},
      {QUANTIZE, quantize},
      {QUANTIZED_16BIT_LSTM, quantized16BitLstm},
      {RANDOM_MULTINOMIAL, randomMultinomial},
      {REDUCE_ALL, reduce},
      {REDUCE_ANY, reduce},
      {REDUCE_MAX, reduce},
      {REDUCE_MIN, reduce},
      {REDUCE_PROD, reduce},
      {REDUCE_SUM, reduce},
      {ROI_ALIGN, roiAlign},
      {ROI_POOLING, roiPooling},
      {RSQRT, unaryOfPositive},
      {SELECT, recipes::select},
      {SIN, unary},
      {SLICE, slice},
      {SPLIT, split},
      {SQRT, unaryOfPositive},
      {TILE, tile},
      {TOPK_V2, topK},
      {TRANSPOSE_CONV_2D, transposeConv2d},
      {UNIDIRECTIONAL_SEQUENCE_LSTM, unidirectionalLstm},
      {UNIDIRECTIONAL_SEQUENCE_RNN, unidirectionalRnn},
      {RESIZE_NEAREST_NEIGHBOR, resize},
      {QUANTIZED_LSTM, quantizedLstm},
      {ELU, elu},
      {HARD_SWISH, unary},
      {FILL, fill},
      {RANK, rankOf},
      {BATCH_MATMUL, batchMatmul},
      {PACK, pack},
      {MIRROR_PAD, mirrorPad},
      {REVERSE, reverse}};
  return table;
}

// What HALYARD_PROPERTY_CASE says: an operation, optionally behind a slash the numbers of one case,
// and the seed behind an @. Without it, all cases of the fixed seed.
struct CaseChoice {
  std::string prefix;
  unsigned seed = 1;
};
inline CaseChoice chosenCases() {
  CaseChoice choice;
  const char* text = std::getenv("HALYARD_PROPERTY_CASE");
  if (text == nullptr) return choice;
  choice.prefix = text;
  const size_t at = choice.prefix.find('@');
  if (at == std::string::npos) return choice;
  const char* const end = choice.prefix.data() + choice.prefix.size();
  std::from_chars(choice.prefix.data() + at + 1, end, choice.seed);
  choice.prefix.resize(at);
  return choice;
}

inline LegalCase legalCase(const OperationDefinition& definition, const Variant& variant,
                           unsigned round, unsigned seed) {
  const std::string numbers =
      fmt::format("{}/{}/{}/{}/{}/{}", operationTypeName(definition.type), variant.form,
                  variant.row, variant.inputs, variant.outputs, round);
  // Written out, because std::hash may differ between libraries.
  unsigned hash = seed * 2654435761u;
  for (char c : numbers) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619u;
  CaseBuilder builder(definition, variant, hash);
  allRecipes().at(definition.type)(builder);
  builder.legal().id = fmt::format("{}@{}", numbers, seed);
  EXPECT_EQ(builder.legal().inputs.size(), variant.inputs) << numbers;
  EXPECT_EQ(builder.legal().outputs.size(), variant.outputs) << numbers;
  return std::move(builder.legal());
}

// Calls check(definition, case) for `rounds` cases of each variant of each operation that there is;
// it says whether there was anything to check, which must be so for `least` cases at least. Stops
// at an operation's first failure, so that one mistake does not hide others.
template <typename Check>
void forEachCase(unsigned rounds, int least, Check check) {
  const CaseChoice choice = chosenCases();
  int checked = 0;
  for (const auto& [type, recipe] : allRecipes()) {
    const OperationDefinition* definition = definitionOf(type);
    const std::string chosen = choice.prefix.substr(0, choice.prefix.find('/'));
    if (!chosen.empty() && chosen != operationTypeName(type)) continue;
    const auto failures = [] {
      return ::testing::UnitTest::GetInstance()->current_test_info()->result()->total_part_count();
    };
    const int before = failures();
    for (const Variant& variant : variantsOf(definition->signature)) {
      for (unsigned round = 0; round < rounds && failures() == before; ++round) {
        const LegalCase legal = legalCase(*definition, variant, round, choice.seed);
        const std::string id = legal.id.substr(0, legal.id.find('@'));
        if (choice.prefix.find('/') != std::string::npos && id != choice.prefix) continue;
        SCOPED_TRACE("repeat with " + legal.text());
        checked += check(*definition, legal) ? 1 : 0;
      }
    }
  }
  if (choice.prefix.empty()) {
    EXPECT_GE(checked, least) << "the property was hardly looked at";
  }
}

}  // namespace halyard::ops::testing
