// Small models that together use every operator and form that the importer supports.
// Thread safety: pure functions.
// Ownership: results are values.
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "import/tflite/model_writer.h"

namespace halyard::import {

// float [1,4,4,2] -> CONV_2D SAME, 3x3, stride 2x1, RELU6, no bias -> [1,4,2,3].
ModelWriter floatConvolution();
// As above, VALID, 2x2 filter of ones, dilation 2, with bias -> [1,2,2,1] from [1,4,4,1].
ModelWriter dilatedConvolution();
// int8 [1,3,3,2] -> CONV_2D 1x1 with a scale per channel -> DEPTHWISE_CONV_2D 3x3 of the same kind.
ModelWriter perChannelConvolutions();
// uint8 [1,2,2,1] -> CONV_2D 1x1 -> DEPTHWISE_CONV_2D with multiplier 2.
ModelWriter uint8Convolutions();
// float [2,3] -> FULLY_CONNECTED [2,2], RELU.
ModelWriter denseFloat();
// float [2,1,3] -> FULLY_CONNECTED that keeps dimensions [2,1,2], no bias.
ModelWriter denseKeepDims();
// float [3] -> FULLY_CONNECTED [1,2].
ModelWriter denseFromVector();
// int8 [1,3] -> FULLY_CONNECTED [1,2], one scale.
ModelWriter denseInt8();
// As above with a scale per unit.
ModelWriter densePerChannel();
// uint8 a, b [1,2,2,1]: ADD with RELU, SUB, MUL with an int8-free constant.
ModelWriter uint8Arithmetic();
// float: ADD of a scalar constant, RELU, RELU_N1_TO_1, RELU6, LOGISTIC, SOFTMAX.
ModelWriter floatActivations();
// int8: RELU that changes the scale, LOGISTIC, SOFTMAX.
ModelWriter int8Activations();
// float [1,4,4,1]: AVERAGE_POOL_2D, MAX_POOL_2D, PAD, RESIZE_BILINEAR (half pixel centres).
ModelWriter spatialOperators();
// float: RESHAPE by input and by options, SQUEEZE, EXPAND_DIMS, TRANSPOSE, CONCATENATION, MEAN.
ModelWriter shapeOperators();
// int8 [1,2,2,1] -> MEAN over 1 and 2, with other quantisation.
ModelWriter requantisedMean();
// float -> QUANTIZE int8 -> QUANTIZE uint8 -> DEQUANTIZE float.
ModelWriter quantisationChain();
// float [1,2] -> FULLY_CONNECTED with weights in float16 and a bias in int8, both dequantised.
ModelWriter foldedWeights();
// uint8 boxes [1,3,4] and scores [1,3,3] -> TFLite_Detection_PostProcess, 2 detections.
ModelWriter detection();

// The following are in sample_operators.cc. They have an output for every operator that they name.

// float [2,3]: ABS, EXP, NEG, SIN, FLOOR, CEIL, SQUARE, TANH, ELU, HARD_SWISH, LEAKY_RELU, PRELU;
// for values above 0 also LOG, SQRT, RSQRT.
ModelWriter floatFunctions();
// int8 [2,3]: EXP, TANH, ELU, HARD_SWISH, LEAKY_RELU, PRELU.
ModelWriter int8Functions();
// float [2,3] and [3]: DIV, FLOOR_DIV, SQUARED_DIFFERENCE, MAXIMUM, MINIMUM; POW of two and three.
ModelWriter floatPairs();
// float: the six comparisons, LOGICAL_AND, _OR, _NOT, SELECT, SELECT_V2, REDUCE_ANY, REDUCE_ALL.
ModelWriter comparisons();
// float [2,3,4]: SUM, REDUCE_MAX, _MIN, _PROD, ARG_MAX, ARG_MIN, TOPK_V2, L2_NORMALIZATION,
// LOCAL_RESPONSE_NORMALIZATION, LOG_SOFTMAX.
ModelWriter reductions();
// int8 [2,3]: SUM, REDUCE_MAX, ARG_MAX, LOG_SOFTMAX.
ModelWriter int8Reductions();
// float [2,3,4]: SLICE, STRIDED_SLICE (shrinking, and backwards), SPLIT, SPLIT_V, UNPACK, PACK,
// TILE, GATHER, EMBEDDING_LOOKUP, REVERSE_V2, PADV2, MIRROR_PAD.
ModelWriter movements();
// int8 [1,4,4,2]: SPACE_TO_DEPTH, DEPTH_TO_SPACE, SPACE_TO_BATCH_ND, BATCH_TO_SPACE_ND with and
// without crops, PADV2, RESIZE_NEAREST_NEIGHBOR.
ModelWriter int8Blocks();
// float [1,3,3,2]: TRANSPOSE_CONV with a bias, L2_POOL_2D, RESIZE_NEAREST_NEIGHBOR.
ModelWriter floatSpatial();
// The same, with MediaPipe's Convolution2DTransposeBias in place of TRANSPOSE_CONV.
ModelWriter transposedByMediaPipe();
// float [2,3]: CAST to INT32 and back, FILL added, BATCH_MATMUL.
ModelWriter castsAndProducts();
// float [2,3,4] through an LSTM of 2 cells with all weights. The cell's clip is the only option.
ModelWriter floatLstm();
// int8 [2,3,4] through an LSTM of 2 cells without projection.
ModelWriter int8Lstm();
// As above with one sequence; with two sequences and time as the first dimension.
ModelWriter int8LstmOfOneSequence();
ModelWriter int8LstmTimeMajor();
// float [2,3,3,2], scaled: CONV_2D 3x3, CONV_2D 1x1, FULLY_CONNECTED, all with weights of int8.
ModelWriter dynamicRange();
// float [4,24]: two FULLY_CONNECTED with the same int8 weights, and one with a scale for each unit.
// A MUL by a dequantised constant of uint8. A FULLY_CONNECTED with weights of float16.
ModelWriter byteWeights();
// float [1,2,3] with an open batch: SHAPE -> STRIDED_SLICE -> PACK -> RESHAPE, in INT64, ARG_MAX.
ModelWriter openShapes();
// float [2,3] and int8 [2,3]: GATHER_ND, MUL finer than the product, RFFT2D, COMPLEX_ABS, REAL,
// IMAG.
ModelWriter extensionOperators();
// int32 [2,3]: TRANSPOSE, PADV2, CONCATENATION, SUM, ONE_HOT, SCATTER_ND, UNSORTED_SEGMENT_MAX,
// SEGMENT_SUM, GATHER in batches, GREATER -> SELECT_V2, RESHAPE.
ModelWriter placedIntegers();
// float [2,3]: GELU, COS, ROUND, SIGN, RELU_0_TO_1, ATAN2, CUMSUM, BUCKETIZE, FAKE_QUANT,
// REVERSE_SEQUENCE, MATRIX_DIAG, MATRIX_SET_DIAG, BROADCAST_TO, DYNAMIC_UPDATE_SLICE, RNN.
ModelWriter newerFunctions();

// The following are in sample_subgraphs.cc.

// float [2,3]: IF the sum is positive, x + [10, 20, 30], else x * x. Then three turns of a WHILE
// with FULLY_CONNECTED, whose weights it passes on.
ModelWriter branchAndLoop();
// float [2,3]: a CALL_ONCE that does nothing, and a STABLEHLO_COMPOSITE odml.rms_norm.
ModelWriter composite();
// float [2]: two variables, a = [10, 20] and b = [1, 2]. y = x + a, and then a = b and b = y.
ModelWriter variables();
// float [2], x, and an index: STABLEHLO_CASE of x + 10, x * x, x + x and x + 40.
ModelWriter fourBranches();

struct Sample {
  std::string name;
  ModelWriter model;
};
// Prints a sample for GoogleTest.
inline void PrintTo(const Sample& sample, std::ostream* out) { *out << sample.name; }
// Returns all samples, including those of the other files.
std::vector<Sample> sampleModels();
std::vector<Sample> sampleOperators();
std::vector<Sample> sampleSubgraphs();

}  // namespace halyard::import
