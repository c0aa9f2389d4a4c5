// Tests of the refusals of files, tensors and the first operators, with their texts.
#include <flatbuffers/flexbuffers.h>

#include "import/tflite/refusals_for_test.h"

namespace halyard::import {
namespace {

using ::testing::HasSubstr;
using Op = tfl::BuiltinOperator;
using Opt = tfl::BuiltinOptions;
using Type = tfl::TensorType;
using Builder = flatbuffers::FlatBufferBuilder;

TEST_P(Refusals, SayWhy) {
  ModelWriter w = GetParam().base();
  ASSERT_EQ(refusalOf(w), "") << "the unchanged model must be accepted";
  GetParam().change(w);
  EXPECT_THAT(refusalOf(w), HasSubstr("BAD_DATA: " + GetParam().text));
}

const Refusal kFileRefusals[] = {
    {"Version", denseFloat, [](ModelWriter& w) { w.version = 2; },
     "has schema version 2, expected 3"},
    {"Identifier", denseFloat, [](ModelWriter& w) { w.identifier = "TFL2"; },
     "is not a TensorFlow Lite model: file identifier 'TFL2', expected 'TFL3'"},
    {"NoSubgraph", denseFloat, [](ModelWriter& w) { w.withSubgraph = false; }, "has no subgraph"},
    {"NoOperators", denseFloat, [](ModelWriter& w) { w.nodes.clear(); }, "has no operators"},
    {"NoOutputs", denseFloat, [](ModelWriter& w) { w.outputs.clear(); }, "has no outputs"},
    {"InputIndex", denseFloat, [](ModelWriter& w) { w.inputs = {4}; },
     "model input 0 is tensor 4, the subgraph has 4 tensors"},
    {"NodeInputIndex", denseFloat, [](ModelWriter& w) { w.nodes[0].inputs[1] = -2; },
     "operator FULLY_CONNECTED of node 0: input 1 is tensor -2, the subgraph has 4 tensors"},
    {"NodeOutputIndex", denseFloat, [](ModelWriter& w) { w.nodes[0].outputs[0] = -1; },
     "operator FULLY_CONNECTED of node 0: output 0 is tensor -1, the subgraph has 4 tensors"},
    {"BufferIndex", denseFloat, [](ModelWriter& w) { w.tensors[1].buffer = 3; },
     "operator FULLY_CONNECTED of node 0: input 1: tensor 1 'weights': refers to buffer 3 of 2"},
    {"CodesDisagree", denseFloat, [](ModelWriter& w) { w.nodes[0].deprecatedCode = 3; },
     "operator code 0: builtin_code 9 contradicts deprecated_builtin_code 3, expected 9"},
    {"NegativeCode", denseFloat, [](ModelWriter& w) { w.nodes[0].deprecatedCode = -9; },
     "operator code 0: builtin_code 9 and deprecated_builtin_code -9: negative"},
    {"NamelessCustom", denseFloat, [](ModelWriter& w) { w.nodes[0].op = Op::CUSTOM; },
     "operator code 0 is of a custom operator without a name"},
    {"InputTwice", denseFloat,
     [](ModelWriter& w) {
       w.inputs = {0, 0};
     },
     "model input 1: tensor 0 'x' is an input already"},
    {"OutputTwice", denseFloat,
     [](ModelWriter& w) {
       w.outputs = {3, 3};
     },
     "tensor 3 is listed twice among the model's outputs"},
    {"InputIsConstant", denseFloat,
     [](ModelWriter& w) {
       w.inputs = {0, 2};
     },
     "model input 1: tensor 2 'bias' is a constant"},
    {"OutputUnwritten", denseFloat,
     [](ModelWriter& w) {
       w.outputs = {3, w.floats("nothing", {1})};
     },
     "tensor 4 is an output of the model, but no operator writes it"},
};

const Refusal kOperatorRefusals[] = {
    {"UnknownOperator", denseFloat, [](ModelWriter& w) { w.nodes[0].op = Op::HASHTABLE; },
     "operator HASHTABLE of node 0 is not supported: the importer has no conversion"},
    {"FutureOperator", denseFloat, [](ModelWriter& w) { w.nodes[0].op = static_cast<Op>(5000); },
     "operator number 5000 of node 0 is not supported: the importer has no conversion"},
    {"CustomOperator", denseFloat,
     [](ModelWriter& w) {
       w.nodes[0].op = Op::CUSTOM;
       w.nodes[0].customName = "Frobnicate";
     },
     "operator Frobnicate of node 0 is not supported: no such custom operator is known"},
    {"OptionsOfAnother", denseFloat,
     [](ModelWriter& w) {
       setOptions(w, 0, Opt::Pool2DOptions, [](Builder& b) { return tfl::CreatePool2DOptions(b); });
     },
     "operator FULLY_CONNECTED of node 0: has options of kind 5 (Pool2DOptions), expected "
     "FullyConnectedOptions"},
    {"NoOptions", floatConvolution,
     [](ModelWriter& w) {
       w.nodes[0].optionsType = Opt::NONE;
       w.nodes[0].options = nullptr;
     },
     "operator CONV_2D of node 0: has no options, expected Conv2DOptions"},
    {"TooManyInputs", denseFloat,
     [](ModelWriter& w) {
       w.nodes[0].inputs = {0, 1, 2, 2};
     },
     "operator FULLY_CONNECTED of node 0: has 4 inputs, expected 2 to 3"},
    {"NoOutput", denseFloat, [](ModelWriter& w) { w.nodes[0].outputs = {}; },
     "operator FULLY_CONNECTED of node 0: has 0 outputs, expected 1"},
    {"InputLeftOut", denseFloat, [](ModelWriter& w) { w.nodes[0].inputs[1] = -1; },
     "operator FULLY_CONNECTED of node 0: input 1 is left out"},
    {"ReadBeforeWritten", floatActivations,
     [](ModelWriter& w) { std::swap(w.nodes[1], w.nodes[2]); },
     "operator RELU_N1_TO_1 of node 1: input 0: tensor 3 'RELU' is read before anything writes it"},
    {"Cycle", floatActivations, [](ModelWriter& w) { w.nodes[0].inputs[0] = 7; },
     "operator ADD of node 0: input 0: tensor 7 'probabilities' is read before anything writes it"},
    {"WrittenTwice", floatActivations, [](ModelWriter& w) { w.nodes[1].outputs[0] = 2; },
     "operator RELU of node 1: output 0: tensor 2 'shifted' is written, but has a value already"},
    {"ConstantWritten", denseFloat, [](ModelWriter& w) { w.nodes[0].outputs[0] = 2; },
     "operator FULLY_CONNECTED of node 0: output 0: tensor 2 'bias' is written, but has a value "
     "already"},
    {"InputWritten", denseFloat, [](ModelWriter& w) { w.nodes[0].outputs[0] = 0; },
     "operator FULLY_CONNECTED of node 0: output 0: tensor 0 'x' is written, but has a value "
     "already"},
};

const Refusal kTensorRefusals[] = {
    {"DynamicDimension", denseFloat,
     [](ModelWriter& w) {
       w.tensors[0].shape = {-1, 3};
     },
     "model input 0: tensor 0 'x': dimension 0 is -1: dynamic shapes are not supported"},
    {"ZeroDimension", denseFloat,
     [](ModelWriter& w) {
       w.tensors[0].shape = {0, 3};
     },
     "model input 0: tensor 0 'x': dimension 0 is 0: empty tensors are not supported"},
    {"HugeRank", denseFloat,
     [](ModelWriter& w) { w.tensors[0].shape = std::vector<int32_t>(9, 1); },
     "model input 0: tensor 0 'x': has rank 9, at most 8 is supported"},
    {"HugeShape", denseFloat,
     [](ModelWriter& w) {
       w.tensors[0].shape = {65536, 65536};
     },
     "model input 0: tensor 0 'x': shape [65536,65536] is too large"},
    {"HugeShapeByElementSize", denseFloat,
     [](ModelWriter& w) {
       w.tensors[0].shape = {32768, 32768};
     },
     "model input 0: tensor 0 'x': shape [32768,32768] is too large"},
    {"BufferTooSmall", denseFloat, [](ModelWriter& w) { w.tensors[1].data.resize(20); },
     "operator FULLY_CONNECTED of node 0: input 1: tensor 1 'weights' is FLOAT32[2,3] of 24 bytes, "
     "its buffer has 20"},
    {"BufferTooLarge", denseFloat, [](ModelWriter& w) { w.tensors[2].data.resize(12); },
     "operator FULLY_CONNECTED of node 0: input 2: tensor 2 'bias' is FLOAT32[2] of 8 bytes, its "
     "buffer has 12"},
    {"Sparse", denseFloat, [](ModelWriter& w) { w.tensors[1].sparsity.emplace(); },
     "operator FULLY_CONNECTED of node 0 is not supported: input 1: tensor 1 'weights' is sparse"},
    {"External", denseFloat, [](ModelWriter& w) { w.tensors[1].externalBuffer = 1; },
     "operator FULLY_CONNECTED of node 0 is not supported: input 1: tensor 1 'weights' has its "
     "data "
     "in another file"},
    {"Variable", denseFloat,
     [](ModelWriter& w) {
       w.tensors[2].data.clear();
       w.tensors[2].isVariable = true;
     },
     "operator FULLY_CONNECTED of node 0 is not supported: input 2: tensor 2 'bias' is a variable "
     "that keeps state"},
    {"VariableInput", denseFloat, [](ModelWriter& w) { w.tensors[0].isVariable = true; },
     "model input 0: tensor 0 'x' is a variable"},
    {"StringType", denseFloat, [](ModelWriter& w) { w.tensors[0].type = Type::STRING; },
     "model input 0: tensor 0 'x' is of type STRING, which is not supported here"},
    {"Int64Type", denseFloat, [](ModelWriter& w) { w.tensors[0].type = Type::INT64; },
     "operator FULLY_CONNECTED of node 0 is not supported: input 0: tensor 0 'x' is INT64: NNAPI's "
     "integers have 32 bits, results may need more"},
    {"Complex64Type", denseFloat, [](ModelWriter& w) { w.tensors[0].type = Type::COMPLEX64; },
     "operator FULLY_CONNECTED of node 0 is not supported: input 0: tensor 0 'x' is COMPLEX64, "
     "expected real numbers"},
    {"Int16Type", denseFloat, [](ModelWriter& w) { w.tensors[0].type = Type::INT16; },
     "model input 0: tensor 0 'x' is INT16 without a scale, which is not supported here"},
    {"UnknownType", denseFloat, [](ModelWriter& w) { w.tensors[0].type = static_cast<Type>(99); },
     "model input 0: tensor 0 'x' is of type type 99, which is not supported here"},
    {"NoScale", denseInt8, [](ModelWriter& w) { w.tensors[0].scales.clear(); },
     "operator FULLY_CONNECTED of node 0 is not supported: input 0: tensor 0 'x' is INT8 without a "
     "scale"},
    {"ZeroScale", denseInt8, [](ModelWriter& w) { w.tensors[0].scales = {0}; },
     "model input 0: tensor 0 'x' has scale 0, expected a positive number"},
    {"NegativeScale", denseInt8, [](ModelWriter& w) { w.tensors[0].scales = {-1}; },
     "model input 0: tensor 0 'x': scale 0 is -1, expected a positive number"},
    {"InfiniteScale", denseInt8, [](ModelWriter& w) { w.tensors[0].scales = {INFINITY}; },
     "model input 0: tensor 0 'x': scale 0 is inf, expected a positive number"},
    {"ZeroPointRange", denseInt8, [](ModelWriter& w) { w.tensors[0].zeroPoints = {128}; },
     "model input 0: tensor 0 'x' has zero point 128, expected -128 to 127"},
    {"ZeroPointCount", denseInt8,
     [](ModelWriter& w) {
       w.tensors[0].zeroPoints = {1, 2};
     },
     "model input 0: tensor 0 'x': has 1 scales but 2 zero points"},
    {"CustomQuantization", denseInt8, [](ModelWriter& w) { w.tensors[0].quantizationDetails = 2; },
     "model input 0: tensor 0 'x': is quantised by scheme 2"},
    {"PerChannelActivation", denseInt8,
     [](ModelWriter& w) {
       w.tensors[0].scales = {1, 2, 3};
       w.tensors[0].zeroPoints = {0, 0, 0};
       w.tensors[0].quantizedDimension = 1;
     },
     "model input 0: tensor 0 'x' is quantised per channel, which only constant filters may be"},
    {"ScaleCount", perChannelConvolutions,
     [](ModelWriter& w) {
       w.tensors[1].scales = {1, 2, 3};
       w.tensors[1].zeroPoints.clear();
     },
     "operator CONV_2D of node 0: input 1: tensor 1 'filter': has 3 scales, dimension 0 is 2"},
    {"QuantizedDimension", perChannelConvolutions,
     [](ModelWriter& w) { w.tensors[1].quantizedDimension = 4; },
     "operator CONV_2D of node 0: input 1: tensor 1 'filter': quantized_dimension is 4, the rank "
     "is "
     "4"},
    {"NegativeQuantizedDimension", perChannelConvolutions,
     [](ModelWriter& w) { w.tensors[1].quantizedDimension = -1; },
     "operator CONV_2D of node 0: input 1: tensor 1 'filter': quantized_dimension is -1, the rank "
     "is 4"},
};

const Refusal kConvolutionRefusals[] = {
    {"Mixture", denseInt8,
     [](ModelWriter& w) {
       w.tensors[1].type = Type::FLOAT32;
       w.tensors[1].data.resize(24);
     },
     "operator FULLY_CONNECTED of node 0 is not supported: TENSOR_QUANT8_ASYMM_SIGNED activations "
     "with FLOAT32 weights (tensor 1 'weights')"},
    {"MixtureAtRunTime", floatConvolution,
     [](ModelWriter& w) {
       w.tensors[1].type = Type::INT8;
       w.tensors[1].data.clear();
       w.tensors[1].scales = {1};
       w.inputs.push_back(1);
     },
     "operator CONV_2D of node 0 is not supported: TENSOR_FLOAT32 activations with INT8 weights "
     "(tensor 1 'filter')"},
    {"Groups", floatConvolution,
     [](ModelWriter& w) {
       w.tensors[1].shape = {3, 3, 3, 1};
       w.tensors[1].data.resize(27 * 4);
     },
     "operator CONV_2D of node 0 is not supported: a convolution in 2 groups"},
    {"Tanh", floatConvolution,
     [](ModelWriter& w) {
       setOptions(w, 0, Opt::Conv2DOptions, [](Builder& b) {
         return tfl::CreateConv2DOptions(b, tfl::Padding::SAME, 2, 1,
                                         tfl::ActivationFunctionType::TANH);
       });
     },
     "operator CONV_2D of node 0 is not supported: fused activation TANH"},
    {"UnknownActivation", floatConvolution,
     [](ModelWriter& w) {
       setOptions(w, 0, Opt::Conv2DOptions, [](Builder& b) {
         return tfl::CreateConv2DOptions(b, tfl::Padding::SAME, 2, 1,
                                         static_cast<tfl::ActivationFunctionType>(17));
       });
     },
     "operator CONV_2D of node 0: fused activation 17 does not exist"},
    {"UnknownPadding", floatConvolution,
     [](ModelWriter& w) {
       setOptions(w, 0, Opt::Conv2DOptions, [](Builder& b) {
         return tfl::CreateConv2DOptions(b, static_cast<tfl::Padding>(2), 2, 1);
       });
     },
     "operator CONV_2D of node 0: padding 2 does not exist"},
    {"ZeroStride", floatConvolution,
     [](ModelWriter& w) {
       setOptions(w, 0, Opt::Conv2DOptions,
                  [](Builder& b) { return tfl::CreateConv2DOptions(b, tfl::Padding::SAME, 0, 1); });
     },
     "operator CONV_2D of node 0: strides 0x1 (width x height), expected at least 1"},
    {"ZeroDilation", floatConvolution,
     [](ModelWriter& w) {
       setOptions(w, 0, Opt::Conv2DOptions, [](Builder& b) {
         return tfl::CreateConv2DOptions(b, tfl::Padding::SAME, 2, 1,
                                         tfl::ActivationFunctionType::NONE, 1, 0);
       });
     },
     "operator CONV_2D of node 0: dilation 1x0 (width x height), expected at least 1"},
    {"OutputShape", floatConvolution,
     [](ModelWriter& w) {
       w.tensors[2].shape = {1, 4, 3, 3};
     },
     "operator CONV_2D of node 0: output 0 is [1,4,3,3] in the file, its inputs make it [1,4,2,3]"},
    {"FilterRank", floatConvolution, [](ModelWriter& w) { w.tensors[1].shape = {54}; },
     "operator CONV_2D of node 0: the filter has shape [54], expected rank 4"},
    {"FilterZeroPoint", denseInt8, [](ModelWriter& w) { w.tensors[1].zeroPoints = {3}; },
     "operator FULLY_CONNECTED of node 0: tensor 1 'weights' has zero point 3 at 0"},
    {"ChannelDimension", perChannelConvolutions,
     [](ModelWriter& w) { w.tensors[1].quantizedDimension = 3; },
     "operator CONV_2D of node 0 is not supported: tensor 1 'filter' has its scales along "
     "dimension "
     "3, expected 0"},
    {"ZeroChannelScale", perChannelConvolutions, [](ModelWriter& w) { w.tensors[1].scales[1] = 0; },
     "operator CONV_2D of node 0: tensor 1 'filter' has scale 0 at 1, expected a positive number"},
    {"BiasScale", uint8Convolutions, [](ModelWriter& w) { w.tensors[2].scales = {0.25f}; },
     "operator CONV_2D of node 0: tensor 2 'bias' has scale 0.25 at 0, input and filter make "
     "0.125"},
    {"BiasLength", uint8Convolutions,
     [](ModelWriter& w) {
       w.tensors[2].shape = {3};
       w.tensors[2].data.resize(12);
     },
     "operator CONV_2D of node 0: the bias (tensor 2 'bias') is [3], expected one value for each "
     "of "
     "2 channels"},
    {"BiasType", uint8Convolutions, [](ModelWriter& w) { w.tensors[2].type = Type::FLOAT32; },
     "operator CONV_2D of node 0 is not supported: the bias (tensor 2 'bias') is FLOAT32, expected "
     "INT32"},
    {"DepthwiseChannels", uint8Convolutions,
     [](ModelWriter& w) {
       w.tensors[4].shape = {1, 2, 2, 3};
       w.tensors[4].data.resize(12);
     },
     "operator DEPTHWISE_CONV_2D of node 1: the filter has 3 channels, no multiple of the input's "
     "2"},
    {"ShuffledWeights", denseFloat,
     [](ModelWriter& w) {
       setOptions(w, 0, Opt::FullyConnectedOptions, [](Builder& b) {
         return tfl::CreateFullyConnectedOptions(
             b, tfl::ActivationFunctionType::NONE,
             tfl::FullyConnectedOptionsWeightsFormat::SHUFFLED4x16INT8);
       });
     },
     "operator FULLY_CONNECTED of node 0 is not supported: weights format 1"},
    {"DenseDepth", denseFloat,
     [](ModelWriter& w) {
       w.tensors[0].shape = {2, 4};
     },
     "operator FULLY_CONNECTED of node 0: the input [2,4] is no multiple of the weights' depth 3"},
    {"DenseOutput", denseFloat, [](ModelWriter& w) { w.tensors[3].shape = {4}; },
     "operator FULLY_CONNECTED of node 0: the output is [4] in the file, the operator makes it "
     "[2,2]"},
};

const Refusal kOtherRefusals[] = {
    {"SoftmaxScale", int8Activations, [](ModelWriter& w) { w.tensors[4].scales = {1.0f / 128}; },
     "operator SOFTMAX of node 3 is not supported: the output has scale 0.0078125 zero point -128, "
     "NNAPI has scale 0.00390625 zero point -128 only"},
    {"LogisticZeroPoint", int8Activations, [](ModelWriter& w) { w.tensors[3].zeroPoints = {0}; },
     "operator LOGISTIC of node 2 is not supported: the output has scale 0.00390625 zero point 0"},
    {"SoftmaxBeta", floatActivations,
     [](ModelWriter& w) {
       setOptions(w, 5, Opt::SoftmaxOptions,
                  [](Builder& b) { return tfl::CreateSoftmaxOptions(b, 0); });
     },
     "operator SOFTMAX of node 5 is not supported: beta is 0"},
    {"Broadcast", uint8Arithmetic,
     [](ModelWriter& w) {
       w.tensors[1].shape = {1, 2, 3, 1};
     },
     "operator ADD of node 0 is not supported: ADD of NNAPI does not take it: "},
    {"MixedTypes", uint8Arithmetic, [](ModelWriter& w) { w.tensors[1].type = Type::INT8; },
     "operator ADD of node 0 is not supported: ADD of NNAPI does not take it: input 1"},
    {"ConcatenationActivation", shapeOperators,
     [](ModelWriter& w) {
       setOptions(w, 5, Opt::ConcatenationOptions, [](Builder& b) {
         return tfl::CreateConcatenationOptions(b, 1, tfl::ActivationFunctionType::RELU);
       });
     },
     "operator CONCATENATION of node 5 is not supported: a fused activation"},
    {"ConcatenationAxis", shapeOperators,
     [](ModelWriter& w) {
       setOptions(w, 5, Opt::ConcatenationOptions,
                  [](Builder& b) { return tfl::CreateConcatenationOptions(b, 3); });
     },
     "operator CONCATENATION of node 5: axis 3 is out of range of rank 3"},
    {"ComputedShape", shapeOperators, [](ModelWriter& w) { w.tensors[1].data.clear(); },
     "operator RESHAPE of node 0: input 1: tensor 1 'target' is read before anything writes it"},
    {"FloatShape", shapeOperators, [](ModelWriter& w) { w.tensors[1].type = Type::FLOAT32; },
     "operator RESHAPE of node 0: the new shape (tensor 1 'target') is FLOAT32, expected INT32"},
    {"ReshapeCount", shapeOperators,
     [](ModelWriter& w) {
       w.tensors[1].data = bytesOf({-1, 4, 1});
     },
     "operator RESHAPE of node 0: the new shape does not hold the 6 elements of [1,2,3]"},
    {"ReshapeNegative", shapeOperators,
     [](ModelWriter& w) {
       w.tensors[1].data = bytesOf({-1, -1, 6});
     },
     "operator RESHAPE of node 0: the new shape has -1 at 1"},
    {"ReshapeOutput", shapeOperators,
     [](ModelWriter& w) {
       w.tensors[1].data = bytesOf({6, 1, 1});
     },
     "operator RESHAPE of node 0: the output is [3,1,2] in the file, the operator makes it "
     "[6,1,1]"},
    {"SqueezeOfTwo", shapeOperators,
     [](ModelWriter& w) {
       setOptions(w, 1, Opt::SqueezeOptions, [](Builder& b) {
         const std::vector<int32_t> dims = {2};
         return tfl::CreateSqueezeOptionsDirect(b, &dims);
       });
     },
     "operator SQUEEZE of node 1: dimension 2 of [3,1,2] is to go, but is not 1"},
    {"PaddingCount", spatialOperators,
     [](ModelWriter& w) {
       w.tensors[3].shape = {3, 2};
       w.tensors[3].data.resize(48);
     },
     "operator PAD of node 2: the list of paddings has 6 values, rank 4 needs 8"},
    {"LargePadding", spatialOperators,
     [](ModelWriter& w) {
       w.tensors[3].data = bytesOf<int64_t>({0, 0, 1LL << 40, 0, 0, 1, 0, 0});
     },
     "operator PAD of node 2 is not supported: the list of paddings has the value 1099511627776"},
    {"NegativePadding", spatialOperators,
     [](ModelWriter& w) {
       w.tensors[3].data = bytesOf<int64_t>({0, 0, -1, 0, 0, 1, 0, 0});
     },
     "operator PAD of node 2 is not supported: PAD of NNAPI does not take it: "},
    {"PoolWindow", spatialOperators,
     [](ModelWriter& w) {
       setOptions(w, 0, Opt::Pool2DOptions, [](Builder& b) {
         return tfl::CreatePool2DOptions(b, tfl::Padding::VALID, 2, 2, 0, 2);
       });
     },
     "operator AVERAGE_POOL_2D of node 0: strides 2x2 and window 0x2 (width x height), expected at "
     "least 1"},
    {"ResizeFlags", spatialOperators,
     [](ModelWriter& w) {
       setOptions(w, 3, Opt::ResizeBilinearOptions,
                  [](Builder& b) { return tfl::CreateResizeBilinearOptions(b, true, true); });
     },
     "operator RESIZE_BILINEAR of node 3: align_corners and half_pixel_centers exclude each other"},
    {"ResizeSize", spatialOperators,
     [](ModelWriter& w) {
       w.tensors[5].data = bytesOf({6, 0});
     },
     "operator RESIZE_BILINEAR of node 3: the new size must be a height and a width"},
    {"DequantizeToInt", quantisationChain, [](ModelWriter& w) { w.tensors[3].type = Type::INT32; },
     "operator DEQUANTIZE of node 2 is not supported: the output (tensor 3 'y') is INT32"},
    {"QuantizeToFloat", quantisationChain,
     [](ModelWriter& w) { w.tensors[1].type = Type::FLOAT32; },
     "operator QUANTIZE of node 0 is not supported: QUANTIZE of NNAPI does not take it: output 0"},
    {"FoldedShape", foldedWeights, [](ModelWriter& w) { w.tensors[2].shape = {4}; },
     "operator DEQUANTIZE of node 0: the output (tensor 2 'weights') is [4], the input [2,2]"},
};

INSTANTIATE_TEST_SUITE_P(File, Refusals, valuesIn(kFileRefusals), kName);
INSTANTIATE_TEST_SUITE_P(Operator, Refusals, valuesIn(kOperatorRefusals), kName);
INSTANTIATE_TEST_SUITE_P(Tensor, Refusals, valuesIn(kTensorRefusals), kName);
INSTANTIATE_TEST_SUITE_P(Convolution, Refusals, valuesIn(kConvolutionRefusals), kName);
INSTANTIATE_TEST_SUITE_P(Other, Refusals, valuesIn(kOtherRefusals), kName);

}  // namespace
}  // namespace halyard::import
