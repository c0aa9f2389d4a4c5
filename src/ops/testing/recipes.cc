#include "ops/testing/recipes.h"

#include "ops/testing/recipes_complex.h"
#include "ops/testing/recipes_detection.h"
#include "ops/testing/recipes_elementwise.h"
#include "ops/testing/recipes_images.h"
#include "ops/testing/recipes_rearranging.h"
#include "ops/testing/recipes_recurrent.h"
#include "ops/testing/recipes_tflite.h"

namespace halyard::ops::testing {

const std::map<OperationType, Recipe>& allRecipes() {
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
      {REVERSE, reverse},
      {ROUND_TO_DYNAMIC_RANGE, roundToDynamicRange},
      {QUANTIZED_SEQUENCE_LSTM, quantizedSequenceLstm},
      {GATHER_ND, recipes::gatherNd},
      {QUANTIZED_MUL, recipes::quantizedMul},
      {SHAPE, shapeOf},
      {RFFT2D, recipes::rfft2d},
      {COMPLEX_ABS, complexPart},
      {REAL, complexPart},
      {IMAG, complexPart},
      {COS, unary},
      {ROUND, unary},
      {GELU, recipes::gelu},
      {ATAN2, comparison},
      {FLOOR_MOD, recipes::floorMod},
      {TRUNCATED_DIV, comparison},
      {BITWISE_XOR, comparison},
      {RIGHT_SHIFT, comparison},
      {SELECT_V2, recipes::selectV2},
      {CUMSUM, recipes::cumsum},
      {SCATTER_ND, recipes::scatterNd},
      {UNSORTED_SEGMENT_SUM, unsortedSegments},
      {UNSORTED_SEGMENT_PROD, unsortedSegments},
      {UNSORTED_SEGMENT_MAX, unsortedSegments},
      {UNSORTED_SEGMENT_MIN, unsortedSegments},
      {DYNAMIC_UPDATE_SLICE, recipes::dynamicUpdateSlice},
      {WHERE, recipes::where},
      {REVERSE_SEQUENCE, recipes::reverseSequence},
      {BUCKETIZE, recipes::bucketize},
      {DEQUANTIZE_16, unary},
      {QUANTIZE_16, recipes::quantize16},
      {NON_MAX_SUPPRESSION, recipes::nonMaxSuppression},
      {UNIQUE, recipes::unique},
      {DILATE, recipes::dilate},
      {REDUCE_WINDOW, recipes::reduceWindow},
      {CONV_3D, recipes::conv3d<false>},
      {CONV_3D_TRANSPOSE, recipes::conv3d<true>},
      {LEFT_SHIFT, comparison}};
  return table;
}

LegalCase legalCase(const OperationDefinition& definition, const Variant& variant, unsigned round,
                    unsigned seed, CaseSource* source) {
  const std::string numbers =
      fmt::format("{}/{}/{}/{}/{}/{}", operationTypeName(definition.type), variant.form,
                  variant.row, variant.inputs, variant.outputs, round);
  CaseBuilder builder(definition, variant, hashOf(numbers, seed), source);
  allRecipes().at(definition.type)(builder);
  LegalCase& legal = builder.legal();
  legal.id = fmt::format("{}@{}", numbers, seed);
  if (legal.problem.empty() &&
      (legal.inputs.size() != variant.inputs || legal.outputs.size() != variant.outputs)) {
    legal.problem = fmt::format("{} inputs and {} outputs, expected {} and {}", legal.inputs.size(),
                                legal.outputs.size(), variant.inputs, variant.outputs);
  }
  return std::move(legal);
}

}  // namespace halyard::ops::testing
