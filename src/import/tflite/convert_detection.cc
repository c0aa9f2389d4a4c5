// Converts the custom operator that turns the boxes and scores of an SSD detector into detections.
//
// Inputs in the file: box deltas [1,A,>=4], scores [1,A,classes + background], anchors [A,4] as (y,
// x, h, w). Outputs in the file and in the model: boxes FLOAT32 [1,N,4] as (top, left, bottom,
// right), classes [1,N], scores FLOAT32 [1,N], count [1]. In the file, classes and count are
// FLOAT32, too. In the model they are TENSOR_INT32, because DETECTION_POSTPROCESSING returns that
// type. Entries without a detection are 0.
#include <cmath>
#include <limits>

#include "import/tflite/converters.h"
#include "import/tflite/flex_map.h"

namespace halyard::import {
namespace {

// The options of the operator, with the names of the format.
struct DetectionOptions {
  int32_t maxDetections = 0;
  int32_t maxClassesPerDetection = 0;
  int32_t detectionsPerClass = 100;
  int32_t numClasses = 0;
  bool useRegularNms = false;
  float scoreThreshold = 0;
  float iouThreshold = 0;
  float scales[4] = {};  // y, x, h, w
};

Result<int32_t> integerOption(const FlexMap& map, std::string_view key,
                              std::optional<int32_t> fallback = std::nullopt) {
  const std::optional<double> value = map.number(key);
  if (!value && fallback) return *fallback;
  if (!value) return badData("option {} is missing", key);
  if (!(*value >= 0 && *value <= INT32_MAX) || *value != std::floor(*value)) {
    return badData("option {} is {}, expected an integer from 0 to {}", key, *value, INT32_MAX);
  }
  return static_cast<int32_t>(*value);
}

Result<float> floatOption(const FlexMap& map, std::string_view key) {
  const std::optional<double> value = map.number(key);
  if (!value) return badData("option {} is missing", key);
  if (std::isnan(*value)) return badData("option {} is not a number", key);
  return static_cast<float>(*value);
}

Result<DetectionOptions> readOptions(const FileOperator& op) {
  if (!op.hasCustomOptions) return badData("has no options");
  HALYARD_ASSIGN_OR_RETURN(const FlexMap map, FlexMap::parse(op.customOptions));
  DetectionOptions options;
  HALYARD_ASSIGN_OR_RETURN(options.maxDetections, integerOption(map, "max_detections"));
  HALYARD_ASSIGN_OR_RETURN(options.maxClassesPerDetection,
                           integerOption(map, "max_classes_per_detection"));
  HALYARD_ASSIGN_OR_RETURN(options.detectionsPerClass,
                           integerOption(map, "detections_per_class", options.detectionsPerClass));
  HALYARD_ASSIGN_OR_RETURN(options.numClasses, integerOption(map, "num_classes"));
  HALYARD_ASSIGN_OR_RETURN(const int32_t regular, integerOption(map, "use_regular_nms", 0));
  options.useRegularNms = regular != 0;
  HALYARD_ASSIGN_OR_RETURN(options.scoreThreshold, floatOption(map, "nms_score_threshold"));
  HALYARD_ASSIGN_OR_RETURN(options.iouThreshold, floatOption(map, "nms_iou_threshold"));
  constexpr std::string_view kScales[] = {"y_scale", "x_scale", "h_scale", "w_scale"};
  for (size_t i = 0; i < 4; ++i) {
    HALYARD_ASSIGN_OR_RETURN(options.scales[i], floatOption(map, kScales[i]));
    if (!(options.scales[i] > 0) || !std::isfinite(options.scales[i])) {
      return badData("option {} is {}, expected a positive number", kScales[i], options.scales[i]);
    }
  }
  if (options.maxDetections < 1 || options.maxClassesPerDetection < 1 ||
      options.detectionsPerClass < 1 || options.numClasses < 1) {
    return badData(
        "max_detections {}, max_classes_per_detection {}, detections_per_class {}, num_classes {}: "
        "expected at least 1",
        options.maxDetections, options.maxClassesPerDetection, options.detectionsPerClass,
        options.numClasses);
  }
  if (!(options.iouThreshold > 0 && options.iouThreshold <= 1)) {
    return badData("nms_iou_threshold is {}, expected more than 0 and at most 1",
                   options.iouThreshold);
  }
  return options;
}

// TFLite keeps scores that reach the threshold, NNAPI only scores above it. So NNAPI gets the next
// smaller number. NNAPI has no negative thresholds. For these, and for 0, it drops boxes with a
// score of exactly 0, which detect nothing.
float strictScoreThreshold(float threshold) {
  if (!(threshold > 0)) return 0;
  return std::nextafter(threshold, 0.0f);
}

// TFLite drops boxes that overlap by more than the threshold, NNAPI also those that reach it.
float inclusiveIouThreshold(float threshold) {
  return std::nextafter(threshold, std::numeric_limits<float>::infinity());
}

Result<uint32_t> floatInput(Node& node, size_t i) {
  HALYARD_ASSIGN_OR_RETURN(const FileTensor tensor, node.inputInfo(i));
  const bool quantised =
      tensor.type == tfl::TensorType::UINT8 || tensor.type == tfl::TensorType::INT8;
  if (quantised && tensor.isConstant()) return foldedToFloat(node.builder(), tensor);
  HALYARD_ASSIGN_OR_RETURN(const uint32_t operand, node.input(i));
  return quantised ? node.dequantized(operand) : Result<uint32_t>(operand);
}

// Appends the scalars of the operation, in its order.
Status appendScalars(GraphBuilder& builder, OperandType type, const DetectionOptions& options,
                     OperandIndexes& inputs) {
  const auto append = [&](Result<uint32_t> scalar) -> Status {
    if (!scalar.ok()) return scalar.takeStatus();
    inputs.push_back(*scalar);
    return okStatus();
  };
  for (float scale : options.scales) {
    HALYARD_RETURN_IF_ERROR(append(builder.floatScalar(type, scale)));
  }
  HALYARD_RETURN_IF_ERROR(append(builder.boolScalar(options.useRegularNms)));
  HALYARD_RETURN_IF_ERROR(append(builder.int32Scalar(options.maxDetections)));
  HALYARD_RETURN_IF_ERROR(append(builder.int32Scalar(options.maxClassesPerDetection)));
  HALYARD_RETURN_IF_ERROR(append(builder.int32Scalar(options.detectionsPerClass)));
  const float score = strictScoreThreshold(options.scoreThreshold);
  HALYARD_RETURN_IF_ERROR(append(builder.floatScalar(type, score)));
  const float overlap = inclusiveIouThreshold(options.iouThreshold);
  HALYARD_RETURN_IF_ERROR(append(builder.floatScalar(type, overlap)));
  // Labels count from the first class after the background.
  return append(builder.boolScalar(false));
}

}  // namespace

Status convertDetectionPostprocess(Node& node) {
  HALYARD_RETURN_IF_ERROR(node.expectCounts(3, 3, 4));
  HALYARD_ASSIGN_OR_RETURN(const DetectionOptions options, readOptions(node.op()));
  if (options.useRegularNms && options.maxClassesPerDetection != 1) {
    return unsupported(
        "use_regular_nms with {} classes per detection, whose outputs NNAPI makes smaller",
        options.maxClassesPerDetection);
  }
  HALYARD_ASSIGN_OR_RETURN(const uint32_t boxes, floatInput(node, 0));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t scores, floatInput(node, 1));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t anchors, floatInput(node, 2));
  const Operand& scoreOperand = node.operand(scores);
  if (scoreOperand.type != OperandType::TENSOR_FLOAT32) {
    return unsupported("scores are {}", operandTypeName(scoreOperand.type));
  }
  if (scoreOperand.dimensions.size() != 3) {
    return badData("the scores are {}, expected rank 3", shapeText(scoreOperand.dimensions));
  }
  if (scoreOperand.dimensions[0] != 1) {
    return unsupported("a batch of {}, expected 1", scoreOperand.dimensions[0]);
  }
  if (scoreOperand.dimensions[2] != uint64_t{static_cast<uint32_t>(options.numClasses)} + 1) {
    return unsupported("scores for {} classes, expected num_classes {} and the background",
                       scoreOperand.dimensions[2], options.numClasses);
  }
  OperandIndexes inputs = {scores, boxes, anchors};
  HALYARD_RETURN_IF_ERROR(
      appendScalars(node.builder(), OperandType::TENSOR_FLOAT32, options, inputs));

  // Classes and count become integers. The file's own operators do not expect that.
  constexpr std::optional<OperandType> kTypes[] = {std::nullopt, OperandType::TENSOR_INT32,
                                                   std::nullopt, OperandType::TENSOR_INT32};
  uint32_t outputs[4] = {};  // in the order of the file
  for (size_t i = 0; i < 4; ++i) {
    HALYARD_ASSIGN_OR_RETURN(const FileTensor tensor, node.outputInfo(i));
    if (tensor.type != tfl::TensorType::FLOAT32) {
      return badData("output {} ({}) is {}, expected FLOAT32", i, tensor.text(),
                     tensorTypeName(tensor.type));
    }
    HALYARD_ASSIGN_OR_RETURN(outputs[i], node.builder().write(tensor.index, kTypes[i]));
  }
  return node.builder().addOperation(OperationType::DETECTION_POSTPROCESSING, std::move(inputs),
                                     {outputs[2], outputs[0], outputs[1], outputs[3]});
}

namespace {

// Version 4 has no sigma and gives no scores.
template <bool kIsVersion5>
Status convertNonMaxSuppression(Node& node) {
  constexpr size_t kInputs = kIsVersion5 ? 6 : 5;
  HALYARD_RETURN_IF_ERROR(node.expectCounts(kInputs, kInputs, kIsVersion5 ? 3 : 2));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t boxes, node.input(0));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t scores, node.input(1));
  HALYARD_ASSIGN_OR_RETURN(const std::vector<int32_t> limits,
                           node.constantInts(2, "the number of boxes", 1));
  if (limits.size() != 1) return badData("the number of boxes has no value");
  HALYARD_ASSIGN_OR_RETURN(const uint32_t limit, node.builder().int32Scalar(limits[0]));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t iou, node.constantFloat(3, "the IoU threshold"));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t score, node.constantFloat(4, "the score threshold"));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t sigma, kIsVersion5 ? node.constantFloat(5, "sigma")
                                                             : node.builder().floatScalar(
                                                                   OperandType::TENSOR_FLOAT32, 0));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t indices, node.output(0));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t kept,
                           kIsVersion5 ? node.output(1) : node.temporaryLike(scores, "kept"));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t count, node.output(kIsVersion5 ? 2 : 1));
  return node.builder().addOperation(OperationType::NON_MAX_SUPPRESSION,
                                     {boxes, scores, limit, iou, score, sigma},
                                     {indices, kept, count});
}

constexpr Converter kDetectionConverters[] = {
    {tfl::BuiltinOperator::NON_MAX_SUPPRESSION_V4, tfl::BuiltinOptions::NonMaxSuppressionV4Options,
     OptionsNeed::OPTIONAL, convertNonMaxSuppression<false>},
    {tfl::BuiltinOperator::NON_MAX_SUPPRESSION_V5, tfl::BuiltinOptions::NonMaxSuppressionV5Options,
     OptionsNeed::OPTIONAL, convertNonMaxSuppression<true>},
};

}  // namespace

std::span<const Converter> detectionConverters() { return kDetectionConverters; }

}  // namespace halyard::import
