// Tests of each operator's conversion to NNAPI operations.
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>

#include "import/tflite/import_for_test.h"
#include "import/tflite/sample_models.h"
#include "model/validation/validation.h"

namespace halyard::import {
namespace {

using ::testing::ElementsAre;

// Ends the test program when the import fails, because nothing after it could be checked.
ImportedModel mustImport(const ModelWriter& writer) {
  Result<ImportedModel> result = importModel(writer);
  if (!result.ok()) GTEST_LOG_(FATAL) << result.status().toString();
  return std::move(result).value();
}

const SymmPerChannelQuantParams& channelsOf(const Operand& operand) {
  return std::get<SymmPerChannelQuantParams>(operand.extraParams);
}

TEST(Convolution, FloatWithoutBias) {
  const ImportedModel m = mustImport(floatConvolution());
  ASSERT_THAT(operationsOf(m), ElementsAre("CONV_2D"));
  // padding SAME, stride width and height, RELU6.
  EXPECT_THAT(scalarsOf(m, 0, 3), ElementsAre(1, 2, 1, 3));
  EXPECT_EQ(inputOf(m, 0, 1).dimensions, (Shape{3, 3, 3, 2}));
  EXPECT_EQ(inputOf(m, 0, 2).type, OperandType::TENSOR_FLOAT32);
}

TEST(Convolution, LeavesOutABiasThatIsMarkedAbsent) {
  ModelWriter w = floatConvolution();
  w.nodes[0].inputs.push_back(-1);
  EXPECT_THAT(constantOf<float>(mustImport(w), inputOf(mustImport(w), 0, 2)), ElementsAre(0, 0, 0));
}

TEST(Convolution, DilatedHasLayoutAndDilation) {
  const ImportedModel m = mustImport(dilatedConvolution());
  EXPECT_THAT(scalarsOf(m, 0, 3), ElementsAre(2, 1, 1, 0, /*nchw*/ 0, 2, 2));
  EXPECT_THAT(constantOf<float>(m, inputOf(m, 0, 2)), ElementsAre(0.5f));
}

TEST(Convolution, PerChannel) {
  const ImportedModel m = mustImport(perChannelConvolutions());
  ASSERT_THAT(operationsOf(m), ElementsAre("CONV_2D", "DEPTHWISE_CONV_2D"));
  const Operand& filter = inputOf(m, 0, 1);
  EXPECT_EQ(filter.type, OperandType::TENSOR_QUANT8_SYMM_PER_CHANNEL);
  EXPECT_EQ(filter.scale, 0);
  EXPECT_EQ(channelsOf(filter).channelDim, 0u);
  EXPECT_THAT(channelsOf(filter).scales, ElementsAre(0.25f, 0.5f));
  EXPECT_EQ(inputOf(m, 0, 2).scale, 0);
  EXPECT_THAT(constantOf<int32_t>(m, inputOf(m, 0, 2)), ElementsAre(4, -8));
  EXPECT_EQ(channelsOf(inputOf(m, 1, 1)).channelDim, 3u);
  // VALID, strides, multiplier, activation.
  EXPECT_THAT(scalarsOf(m, 1, 3), ElementsAre(2, 1, 1, 1, 0));
  EXPECT_EQ(inputOf(m, 0, 0).type, OperandType::TENSOR_QUANT8_ASYMM_SIGNED);
  EXPECT_EQ(inputOf(m, 0, 0).zeroPoint, -3);
}

TEST(Convolution, Uint8BiasHasTheScaleOfTheProducts) {
  ModelWriter w = uint8Convolutions();
  w.tensors[2].scales = {0.1251f};  // within a converter's noise
  const ImportedModel m = mustImport(w);
  EXPECT_EQ(inputOf(m, 0, 2).type, OperandType::TENSOR_INT32);
  EXPECT_EQ(inputOf(m, 0, 2).scale, 0.5f * 0.25f);
  // The shapes give multiplier 2; the bias is zeros with the right scale.
  EXPECT_THAT(scalarsOf(m, 1, 3), ElementsAre(1, 1, 1, 2, 0));
  EXPECT_EQ(inputOf(m, 1, 2).scale, 1.0f * 0.5f);
  EXPECT_THAT(constantOf<int32_t>(m, inputOf(m, 1, 2)), ElementsAre(0, 0, 0, 0));
}

TEST(Convolution, OneBiasForTwoHasTwoOperands) {
  ModelWriter w;
  const int32_t x = w.quantised("x", tfl::TensorType::UINT8, {1, 1, 1, 1}, 0.5f, 0);
  const int32_t f = w.quantisedConstant("f", tfl::TensorType::UINT8, {1, 1, 1, 1}, {9}, 0.5f, 0);
  const int32_t b = w.intConstant("b", {7});
  const int32_t h = w.quantised("h", tfl::TensorType::UINT8, {1, 1, 1, 1}, 30.0f, 0);
  const int32_t y = w.quantised("y", tfl::TensorType::UINT8, {1, 1, 1, 1}, 900.0f, 0);
  const auto options = [](flatbuffers::FlatBufferBuilder& builder) {
    return tfl::CreateConv2DOptions(builder, tfl::Padding::SAME, 1, 1);
  };
  w.node(tfl::BuiltinOperator::CONV_2D, {x, f, b}, {h}, tfl::BuiltinOptions::Conv2DOptions,
         options);
  w.node(tfl::BuiltinOperator::CONV_2D, {h, f, b}, {y}, tfl::BuiltinOptions::Conv2DOptions,
         options);
  w.inputs = {x};
  w.outputs = {y};
  const ImportedModel m = mustImport(w);
  EXPECT_EQ(inputOf(m, 0, 2).scale, 0.25f);
  EXPECT_EQ(inputOf(m, 1, 2).scale, 15.0f);
  EXPECT_EQ(inputOf(m, 0, 2).location.offset, inputOf(m, 1, 2).location.offset);
}

TEST(FullyConnected, Float) {
  const ImportedModel m = mustImport(denseFloat());
  ASSERT_THAT(operationsOf(m), ElementsAre("FULLY_CONNECTED"));
  EXPECT_THAT(scalarsOf(m, 0, 3), ElementsAre(1));
  EXPECT_EQ(inputOf(m, 0, 1).dimensions, (Shape{2, 3}));
}

TEST(FullyConnected, KeepsDimensionsByAReshape) {
  const ImportedModel m = mustImport(denseKeepDims());
  ASSERT_THAT(operationsOf(m), ElementsAre("FULLY_CONNECTED", "RESHAPE"));
  EXPECT_EQ(outputOf(m, 0).dimensions, (Shape{2, 2}));
  EXPECT_EQ(outputOf(m, 1).dimensions, (Shape{2, 1, 2}));
}

TEST(FullyConnected, VectorBecomesABatchOfOne) {
  const ImportedModel m = mustImport(denseFromVector());
  ASSERT_THAT(operationsOf(m), ElementsAre("RESHAPE", "FULLY_CONNECTED"));
  EXPECT_EQ(outputOf(m, 0).dimensions, (Shape{1, 3}));
}

TEST(FullyConnected, Int8HasAnAsymmetricFilterWithZeroPointZero) {
  const ImportedModel m = mustImport(denseInt8());
  EXPECT_EQ(inputOf(m, 0, 1).type, OperandType::TENSOR_QUANT8_ASYMM_SIGNED);
  EXPECT_EQ(inputOf(m, 0, 1).zeroPoint, 0);
  EXPECT_EQ(inputOf(m, 0, 2).scale, 0.125f);
}

TEST(FullyConnected, PerChannelIsAConvolution) {
  const ImportedModel m = mustImport(densePerChannel());
  ASSERT_THAT(operationsOf(m), ElementsAre("RESHAPE", "CONV_2D", "RESHAPE"));
  EXPECT_EQ(inputOf(m, 1, 0).dimensions, (Shape{1, 1, 1, 3}));
  EXPECT_EQ(inputOf(m, 1, 1).dimensions, (Shape{2, 1, 1, 3}));
  EXPECT_THAT(channelsOf(inputOf(m, 1, 1)).scales, ElementsAre(0.25f, 0.5f));
  EXPECT_THAT(scalarsOf(m, 1, 3), ElementsAre(2, 1, 1, 1));
  EXPECT_EQ(outputOf(m, 2).dimensions, (Shape{1, 2}));
}

TEST(Elementwise, Arithmetic) {
  const ImportedModel m = mustImport(uint8Arithmetic());
  ASSERT_THAT(operationsOf(m), ElementsAre("ADD", "SUB", "MUL"));
  EXPECT_THAT(scalarsOf(m, 0, 2), ElementsAre(1));
  EXPECT_THAT(scalarsOf(m, 1, 2), ElementsAre(0));
  // A scalar of the file is a tensor of one element.
  EXPECT_EQ(inputOf(m, 2, 1).dimensions, (Shape{1}));
  EXPECT_EQ(inputOf(m, 2, 1).scale, 0.5f);
}

TEST(Elementwise, FloatActivations) {
  const ImportedModel m = mustImport(floatActivations());
  ASSERT_THAT(operationsOf(m), ElementsAre("ADD", "RELU", "RELU1", "RELU6", "LOGISTIC", "SOFTMAX"));
  EXPECT_EQ(inputOf(m, 5, 1).type, OperandType::FLOAT32);
  EXPECT_THAT(constantOf<float>(m, inputOf(m, 5, 1)), ElementsAre(1.5f));
}

TEST(Elementwise, RectifierThatChangesTheScaleGoesThroughFloat) {
  const ImportedModel m = mustImport(int8Activations());
  ASSERT_THAT(operationsOf(m),
              ElementsAre("DEQUANTIZE", "RELU", "QUANTIZE", "RELU6", "LOGISTIC", "SOFTMAX"));
  EXPECT_EQ(outputOf(m, 2).scale, 0.25f);
}

TEST(Elementwise, UnitIntervalGetsItsExactScale) {
  ModelWriter w = int8Activations();
  w.tensors[3].scales = {std::nextafter(1.0f / 256, 1.0f)};
  EXPECT_EQ(outputOf(mustImport(w), 4).scale, 1.0f / 256);
}

TEST(Spatial, PoolsPadsAndResizes) {
  const ImportedModel m = mustImport(spatialOperators());
  ASSERT_THAT(operationsOf(m),
              ElementsAre("AVERAGE_POOL_2D", "MAX_POOL_2D", "PAD", "RESIZE_BILINEAR"));
  EXPECT_THAT(scalarsOf(m, 0, 1), ElementsAre(2, 2, 2, 2, 2, 0));
  EXPECT_THAT(scalarsOf(m, 1, 1), ElementsAre(1, 1, 1, 2, 2, 0));
  // 64-bit paddings become 32-bit ones.
  EXPECT_EQ(inputOf(m, 2, 1).type, OperandType::TENSOR_INT32);
  EXPECT_EQ(inputOf(m, 2, 1).dimensions, (Shape{4, 2}));
  EXPECT_THAT(constantOf<int32_t>(m, inputOf(m, 2, 1)), ElementsAre(0, 0, 1, 0, 0, 1, 0, 0));
  // Width 5 before height 6; NHWC, no aligned corners, half pixel centres.
  EXPECT_THAT(scalarsOf(m, 3, 1), ElementsAre(5, 6, 0, 0, 1));
}

TEST(Spatial, PlainResizeHasNoFlags) {
  ModelWriter w = spatialOperators();
  w.nodes[3].optionsType = tfl::BuiltinOptions::NONE;
  w.nodes[3].options = nullptr;
  EXPECT_THAT(scalarsOf(mustImport(w), 3, 1), ElementsAre(5, 6));
}

TEST(Spatial, PoolTakesTheInputsScaleWhenTheFilesIsOffByNoise) {
  ModelWriter w;
  const int32_t x = w.quantised("x", tfl::TensorType::UINT8, {1, 2, 2, 1}, 0.1f, 3);
  const int32_t y = w.quantised("y", tfl::TensorType::UINT8, {1, 1, 1, 1}, 0.1000001f, 3);
  w.node(tfl::BuiltinOperator::MAX_POOL_2D, {x}, {y}, tfl::BuiltinOptions::Pool2DOptions,
         [](flatbuffers::FlatBufferBuilder& b) {
           return tfl::CreatePool2DOptions(b, tfl::Padding::VALID, 1, 1, 2, 2);
         });
  w.inputs = {x};
  w.outputs = {y};
  const ImportedModel m = mustImport(w);
  EXPECT_EQ(m.outputs[0].scale, 0.1f);
}

TEST(Shape, ReshapesAndMoves) {
  const ImportedModel m = mustImport(shapeOperators());
  ASSERT_THAT(operationsOf(m), ElementsAre("RESHAPE", "RESHAPE", "RESHAPE", "TRANSPOSE", "RESHAPE",
                                           "CONCATENATION", "MEAN"));
  EXPECT_THAT(constantOf<int32_t>(m, inputOf(m, 0, 1)), ElementsAre(3, 1, 2));
  EXPECT_THAT(constantOf<int32_t>(m, inputOf(m, 1, 1)), ElementsAre(3, 2));
  EXPECT_THAT(constantOf<int32_t>(m, inputOf(m, 2, 1)), ElementsAre(3, 2, 1));
  EXPECT_THAT(constantOf<int32_t>(m, inputOf(m, 3, 1)), ElementsAre(2, 0, 1));
  EXPECT_THAT(scalarsOf(m, 5, 2), ElementsAre(1));  // axis -2 of rank 3
  EXPECT_THAT(constantOf<int32_t>(m, inputOf(m, 6, 1)), ElementsAre(1, -1));
  EXPECT_THAT(scalarsOf(m, 6, 2), ElementsAre(1));
}

TEST(Shape, SqueezeOfEverythingLeavesOneElement) {
  ModelWriter w;
  const int32_t x = w.floats("x", {1, 1});
  const int32_t y = w.floats("y", {});
  w.node(tfl::BuiltinOperator::SQUEEZE, {x}, {y});
  w.inputs = {x};
  w.outputs = {y};
  EXPECT_EQ(mustImport(w).outputs[0].dims, (Shape{1}));
}

TEST(Shape, MeanOfEverythingHasTheShapeThatNnapiGivesIt) {
  ModelWriter w;
  const int32_t x = w.floats("x", {2, 2});
  const int32_t axes = w.intConstant("axes", {0, 1});
  const int32_t y = w.floats("y", {});
  w.node(tfl::BuiltinOperator::MEAN, {x, axes}, {y});
  w.inputs = {x};
  w.outputs = {y};
  EXPECT_EQ(mustImport(w).outputs[0].dims, (Shape{1}));
}

TEST(Shape, RequantisedMeanGoesThroughFloat) {
  const ImportedModel m = mustImport(requantisedMean());
  ASSERT_THAT(operationsOf(m), ElementsAre("DEQUANTIZE", "MEAN", "QUANTIZE"));
  EXPECT_EQ(outputOf(m, 1).dimensions, (Shape{1, 1}));
  EXPECT_EQ(outputOf(m, 2).scale, 0.25f);
}

TEST(Quantization, ChainRequantisesThroughFloat) {
  const ImportedModel m = mustImport(quantisationChain());
  ASSERT_THAT(operationsOf(m), ElementsAre("QUANTIZE", "DEQUANTIZE", "QUANTIZE", "DEQUANTIZE"));
  EXPECT_EQ(outputOf(m, 0).type, OperandType::TENSOR_QUANT8_ASYMM_SIGNED);
  EXPECT_EQ(outputOf(m, 2).type, OperandType::TENSOR_QUANT8_ASYMM);
}

TEST(Quantization, ConstantsAreFolded) {
  const ImportedModel m = mustImport(foldedWeights());
  ASSERT_THAT(operationsOf(m), ElementsAre("FULLY_CONNECTED"));
  EXPECT_THAT(constantOf<float>(m, inputOf(m, 0, 1)), ElementsAre(1, -2, 0.5f, 4));
  EXPECT_THAT(constantOf<float>(m, inputOf(m, 0, 2)), ElementsAre(1, -2));
}

TEST(Quantization, FoldsAlongAnInnerChannelDimension) {
  ModelWriter w;
  TensorSpec spec;
  spec.name = "c";
  spec.type = tfl::TensorType::INT8;
  spec.shape = {2, 2, 2};
  spec.data = bytesOf<int8_t>({1, 2, 3, 4, 5, 6, 7, -8});
  spec.scales = {1, 10};
  spec.zeroPoints = {0, 1};
  spec.quantizedDimension = 1;
  const int32_t c = w.tensor(std::move(spec));
  const int32_t f = w.floats("f", {2, 2, 2});
  const int32_t y = w.floats("y", {2, 2, 2});
  w.node(tfl::BuiltinOperator::DEQUANTIZE, {c}, {f});
  w.node(tfl::BuiltinOperator::RELU, {f}, {y});
  w.outputs = {y};
  const ImportedModel m = mustImport(w);
  EXPECT_THAT(constantOf<float>(m, inputOf(m, 0, 0)), ElementsAre(1, 2, 20, 30, 5, 6, 60, -90));
}

TEST(Lstm, FloatHasItsOperandsInOrder) {
  const ImportedModel m = mustImport(floatLstm());
  ASSERT_THAT(operationsOf(m), ElementsAre("UNIDIRECTIONAL_SEQUENCE_LSTM"));
  ASSERT_EQ(m.model.main.operations[0].inputs.size(), 28u);
  for (size_t absent : {9, 10, 11, 16, 17, 24, 25, 26, 27}) {
    EXPECT_EQ(inputOf(m, 0, absent).lifetime, Lifetime::NO_VALUE) << absent;
  }
  // The states begin with zeros; tanh, not time-major.
  EXPECT_THAT(constantOf<float>(m, inputOf(m, 0, 18)), ElementsAre(0, 0, 0, 0));
  EXPECT_THAT(constantOf<float>(m, inputOf(m, 0, 19)), ElementsAre(0, 0, 0, 0));
  EXPECT_THAT(scalarsOf(m, 0, 20), ElementsAre(4, 0));
  EXPECT_THAT(constantOf<float>(m, inputOf(m, 0, 21)), ElementsAre(10));
  EXPECT_THAT(constantOf<float>(m, inputOf(m, 0, 22)), ElementsAre(0));
}

TEST(Lstm, IntegersGoStepByStep) {
  const ImportedModel m = mustImport(int8Lstm());
  ASSERT_THAT(operationsOf(m),
              ElementsAre("TRANSPOSE", "RESHAPE", "SPLIT", "QUANTIZED_LSTM", "QUANTIZED_LSTM",
                          "QUANTIZED_LSTM", "CONCATENATION", "RESHAPE", "TRANSPOSE"));
  // A state of zeros consists of zero points. The results of a step are the inputs of the next one.
  EXPECT_THAT(constantOf<int8_t>(m, inputOf(m, 3, 18)), ElementsAre(-5, -5, -5, -5));
  EXPECT_THAT(constantOf<int16_t>(m, inputOf(m, 3, 19)), ElementsAre(0, 0, 0, 0));
  EXPECT_EQ(&inputOf(m, 4, 18), &outputOf(m, 3, 0));
  EXPECT_EQ(&inputOf(m, 4, 19), &outputOf(m, 3, 1));
  // The scales of the sums, and the zero point that the operation subtracts.
  EXPECT_THAT(constantOf<float>(m, inputOf(m, 3, 26)), ElementsAre(0x1p-12f));
  EXPECT_THAT(constantOf<int32_t>(m, inputOf(m, 3, 30)), ElementsAre(5));
  EXPECT_THAT(constantOf<float>(m, inputOf(m, 3, 31)), ElementsAre(1.0f / 128));
}

TEST(Lstm, StepsOfABatchOfOneAndOfTimeFirstLieInOrder) {
  for (const ModelWriter& w : {int8LstmOfOneSequence(), int8LstmTimeMajor()}) {
    EXPECT_THAT(operationsOf(mustImport(w)),
                ElementsAre("RESHAPE", "SPLIT", "QUANTIZED_LSTM", "QUANTIZED_LSTM",
                            "QUANTIZED_LSTM", "CONCATENATION", "RESHAPE"));
  }
}

TEST(DynamicRange, RoundsActivationsAndHasFloatWeights) {
  const ImportedModel m = mustImport(dynamicRange());
  const std::vector<std::string> names = operationsOf(m);
  EXPECT_EQ(std::count(names.begin(), names.end(), "REDUCE_MIN"), 3);
  const auto conv = std::find(names.begin(), names.end(), "CONV_2D") - names.begin();
  const Operand& filter = inputOf(m, static_cast<size_t>(conv), 1);
  EXPECT_EQ(filter.type, OperandType::TENSOR_FLOAT32);
  // The first weight is -100 steps of 0.01.
  EXPECT_FLOAT_EQ(constantOf<float>(m, filter)[0], -1.0f);
}

TEST(Extension, StandsForOperationsOfTheApi) {
  const auto imported = [](const ModelWriter& w) {
    auto result = importTflite(w.bytes(), {.extension = ExtensionUse::PREFERRED});
    EXPECT_TRUE(result.ok()) << result.status().toString();
    return std::move(*result);
  };
  const ImportedModel lstm = imported(int8Lstm());
  EXPECT_THAT(operationsOf(lstm), ElementsAre("QUANTIZED_SEQUENCE_LSTM"));
  // Not time-major.
  EXPECT_THAT(constantOf<uint8_t>(lstm, inputOf(lstm, 0, 32)), ElementsAre(0));
  EXPECT_EQ(outputOf(lstm, 0).dimensions, (Shape{2, 3, 2}));

  const ImportedModel layers = imported(dynamicRange());
  const std::vector<std::string> names = operationsOf(layers);
  EXPECT_EQ(std::count(names.begin(), names.end(), "ROUND_TO_DYNAMIC_RANGE"), 3);
  EXPECT_EQ(std::count(names.begin(), names.end(), "REDUCE_MIN"), 0);

  for (const Model* model : {&lstm.model, &layers.model}) {
    ASSERT_EQ(model->extensionNameToPrefix.size(), 1u);
    EXPECT_EQ(model->extensionNameToPrefix[0].name, kTfliteExtension);
    EXPECT_EQ(model->extensionNameToPrefix[0].prefix, kTfliteExtensionPrefix);
    EXPECT_TRUE(validateModel(*model).ok());
  }
  // A model that needs no extension has none.
  EXPECT_TRUE(imported(floatLstm()).model.extensionNameToPrefix.empty());
}

// For devices with the extension, which convert the weights to floats.
TEST(Extension, WeightsStayAsInTheFile) {
  const auto imported = importTflite(byteWeights().bytes(), {.extension = ExtensionUse::PREFERRED});
  ASSERT_TRUE(imported.ok()) << imported.status().toString();
  std::vector<OperandType> sources;
  for (const Operation& operation : imported->model.main.operations) {
    if (operation.type != OperationType::DEQUANTIZE && operation.type != OperationType::CAST) {
      continue;
    }
    const Operand& source = imported->model.main.operands[operation.inputs[0]];
    sources.push_back(source.type);
    if (source.type != OperandType::TENSOR_QUANT8_SYMM_PER_CHANNEL) continue;
    const auto& quant = std::get<SymmPerChannelQuantParams>(source.extraParams);
    EXPECT_EQ(quant.channelDim, 0u);
    ASSERT_EQ(quant.scales.size(), 40u);
    EXPECT_FLOAT_EQ(quant.scales[39], 0.049f);
  }
  using enum OperandType;
  // A tensor that two layers read exists once.
  // One of 4 bits becomes one of bytes.
  EXPECT_THAT(sources,
              ElementsAre(TENSOR_QUANT8_ASYMM_SIGNED, TENSOR_QUANT8_SYMM_PER_CHANNEL,
                          TENSOR_QUANT8_ASYMM, TENSOR_FLOAT16, TENSOR_QUANT8_ASYMM_SIGNED));
  EXPECT_TRUE(validateModel(imported->model).ok());
  const auto without = importTflite(byteWeights().bytes());
  ASSERT_TRUE(without.ok()) << without.status().toString();
  const std::vector<std::string> names = operationsOf(*without);
  EXPECT_EQ(std::count(names.begin(), names.end(), "DEQUANTIZE"), 0);
  EXPECT_EQ(std::count(names.begin(), names.end(), "CAST"), 0);
}

TEST(Detection, KeepsTheOrderOfTheFile) {
  const ImportedModel m = mustImport(detection());
  ASSERT_THAT(operationsOf(m), ElementsAre("DEQUANTIZE", "DEQUANTIZE", "DETECTION_POSTPROCESSING"));
  const Operation& operation = m.model.main.operations[2];
  const std::vector<uint32_t>& outputs = m.model.main.outputIndexes;
  EXPECT_EQ(operation.outputs,
            (std::vector<uint32_t>{outputs[2], outputs[0], outputs[1], outputs[3]}));
  EXPECT_EQ(m.outputs[0].type, OperandType::TENSOR_FLOAT32);
  EXPECT_EQ(m.outputs[0].dims, (Shape{1, 2, 4}));
  EXPECT_EQ(m.outputs[1].type, OperandType::TENSOR_INT32);
  EXPECT_EQ(m.outputs[1].dims, (Shape{1, 2}));
  EXPECT_EQ(m.outputs[2].type, OperandType::TENSOR_FLOAT32);
  EXPECT_EQ(m.outputs[3].type, OperandType::TENSOR_INT32);
  EXPECT_EQ(m.outputs[3].dims, (Shape{1}));
  // NNAPI takes the scores first. The anchors were folded to floats.
  EXPECT_EQ(inputOf(m, 2, 0).dimensions, (Shape{1, 3, 3}));
  EXPECT_EQ(inputOf(m, 2, 2).lifetime, Lifetime::CONSTANT_COPY);
  EXPECT_EQ(constantOf<float>(m, inputOf(m, 2, 2))[0], 50 * 0.005f);
  // Regular, detections, classes, per class, background.
  EXPECT_THAT(scalarsOf(m, 2, 3), ElementsAre(0, 2, 1, 100, 0));
  // TFLite keeps scores that reach the threshold, and drops boxes that exceed the overlap.
  EXPECT_EQ(constantOf<float>(m, inputOf(m, 2, 11))[0], std::nextafter(0.25f, 0.0f));
  EXPECT_EQ(constantOf<float>(m, inputOf(m, 2, 12))[0], std::nextafter(0.5f, 1.0f));
}

}  // namespace
}  // namespace halyard::import
