// Small models that between them use every operator and form that the importer takes.
// Thread safety: pure functions. Ownership: results are values.
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
// int8 [1,3,3,2] -> CONV_2D 1x1 with a scale per channel -> DEPTHWISE_CONV_2D 3x3 likewise.
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

struct Sample {
  std::string name;
  ModelWriter model;
};
// How GoogleTest shows it.
inline void PrintTo(const Sample& sample, std::ostream* out) { *out << sample.name; }
std::vector<Sample> sampleModels();

}  // namespace halyard::import
