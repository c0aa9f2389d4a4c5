// Tests of the refusals of the detection operator, whose options are a map.
#include <flatbuffers/flexbuffers.h>
#include <gmock/gmock.h>

#include <map>

#include "import/tflite/import_for_test.h"
#include "import/tflite/sample_models.h"

namespace halyard::import {
namespace {

using ::testing::HasSubstr;

// Returns the sample with some options set. NaN removes an option.
ModelWriter detectionWith(const std::map<std::string, double>& changes) {
  std::map<std::string, double> options = {{"max_detections", 2},
                                           {"max_classes_per_detection", 1},
                                           {"detections_per_class", 100},
                                           {"use_regular_nms", 0},
                                           {"nms_score_threshold", 0.25},
                                           {"nms_iou_threshold", 0.5},
                                           {"num_classes", 2},
                                           {"y_scale", 10},
                                           {"x_scale", 10},
                                           {"h_scale", 5},
                                           {"w_scale", 5}};
  for (const auto& [key, value] : changes) options[key] = value;
  flexbuffers::Builder b;
  b.Map([&]() {
    for (const auto& [key, value] : options) {
      if (!std::isnan(value)) b.Double(key.c_str(), value);
    }
  });
  b.Finish();
  ModelWriter w = detection();
  w.nodes[0].customOptions = b.GetBuffer();
  return w;
}

const std::string kPrefix = "BAD_DATA: operator TFLite_Detection_PostProcess of node 0";

TEST(DetectionRefusals, AcceptsTheSampleAndRegularSuppression) {
  EXPECT_EQ(refusalOf(detectionWith({})), "");
  EXPECT_EQ(refusalOf(detectionWith({{"use_regular_nms", 1}})), "");
  EXPECT_EQ(refusalOf(detectionWith({{"detections_per_class", NAN}})), "");
  EXPECT_EQ(refusalOf(detectionWith({{"nms_score_threshold", -INFINITY}})), "");
}

TEST(DetectionRefusals, NameTheOption) {
  EXPECT_EQ(refusalOf(detectionWith({{"max_detections", NAN}})),
            kPrefix + ": option max_detections is missing");
  EXPECT_EQ(refusalOf(detectionWith({{"max_detections", 1.5}})),
            kPrefix + ": option max_detections is 1.5, expected an integer from 0 to 2147483647");
  EXPECT_THAT(refusalOf(detectionWith({{"max_detections", 0}})), HasSubstr("expected at least 1"));
  EXPECT_EQ(refusalOf(detectionWith({{"h_scale", 0}})),
            kPrefix + ": option h_scale is 0, expected a positive number");
  EXPECT_EQ(refusalOf(detectionWith({{"nms_iou_threshold", 1.5}})),
            kPrefix + ": nms_iou_threshold is 1.5, expected more than 0 and at most 1");
  ModelWriter none = detection();
  none.nodes[0].customOptions.clear();
  EXPECT_EQ(refusalOf(none), kPrefix + ": has no options");
  ModelWriter damaged = detection();
  damaged.nodes[0].customOptions.resize(20);
  EXPECT_THAT(refusalOf(damaged), HasSubstr(kPrefix + ": options are "));
}

TEST(DetectionRefusals, WhatNnapiComputesDifferently) {
  EXPECT_THAT(refusalOf(detectionWith({{"use_regular_nms", 1}, {"max_classes_per_detection", 2}})),
              HasSubstr(kPrefix + " is not supported: use_regular_nms with 2 classes"));
  EXPECT_EQ(refusalOf(detectionWith({{"num_classes", 3}})),
            kPrefix +
                " is not supported: scores for 3 classes, expected num_classes 3 and the "
                "background");
}

TEST(DetectionRefusals, NobodyReadsTheIntegersThatTheFileCallsFloats) {
  for (const auto& [output, shape] :
       {std::pair{0, std::vector<int32_t>{1, 2, 4}}, std::pair{1, std::vector<int32_t>{1, 2}}}) {
    ModelWriter w = detection();
    const int32_t y = w.floats("y", shape);
    w.node(tfl::BuiltinOperator::RELU, {w.outputs[static_cast<size_t>(output)]}, {y});
    w.outputs.push_back(y);
    // Boxes are floats, classes are not.
    EXPECT_EQ(refusalOf(w), output == 0 ? ""
                                        : "BAD_DATA: operator RELU of node 1 is not supported: "
                                          "input 0: tensor 4 holds integers in NNAPI where the "
                                          "file has floats, it can only be an output of the model");
  }
}

TEST(DetectionRefusals, OutputShapes) {
  ModelWriter w = detection();
  w.tensors[3].shape = {1, 3, 4};
  EXPECT_THAT(refusalOf(w), HasSubstr("is [1,3,4] in the file, its inputs make it [1,2,4]"));
}

}  // namespace
}  // namespace halyard::import
