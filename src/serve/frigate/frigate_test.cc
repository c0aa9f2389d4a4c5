// Tests of Frigate's detector: decoding, messages, and the socket.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <zmq.hpp>

#include "base/temporary_folder_for_test.h"
#include "serve/frigate/detections.h"
#include "serve/frigate/detector.h"
#include "serve/frigate/real_values.h"
#include "serve/frigate/zmq_server.h"
#include "serve/models_for_test.h"

namespace halyard::serve {
namespace {

using import::ModelWriter;
using ::testing::HasSubstr;

OutputTensor floats(std::vector<int64_t> shape, const std::vector<float>& values) {
  const std::vector<uint8_t> bytes = import::bytesOf(values);
  return {"out", Datatype::FP32, std::move(shape), std::string(bytes.begin(), bytes.end())};
}

TEST(FrigateDetections, Ssd) {
  const std::vector<OutputTensor> outputs = {floats({1, 2, 4}, {0, 0, 1, 1, .1F, .2F, .3F, .4F}),
                                             floats({1, 2}, {3, 5}), floats({1, 2}, {.5F, .9F}),
                                             floats({1}, {2})};
  const auto found = decodeDetections("ssd", outputs, {});
  ASSERT_TRUE(found.ok()) << found.status().toString();
  EXPECT_EQ((*found)[0].classId, 5);
  EXPECT_FLOAT_EQ((*found)[0].xMax, .4F);
  EXPECT_EQ((*found)[1].classId, 3);
  EXPECT_EQ((*found)[2].score, 0);
}

TEST(FrigateDetections, ACountBeyondTheRowsIsBounded) {
  const std::vector<OutputTensor> outputs = {floats({1, 1, 4}, {0, 0, 1, 1}), floats({1, 1}, {3}),
                                             floats({1, 1}, {.5F}), floats({1}, {1e30F})};
  EXPECT_EQ((*decodeDetections("ssd", outputs, {}))[0].classId, 3);
}

TEST(FrigateDetections, YoloDropsOverlappingBoxes) {
  // Two classes, six boxes: the second one overlaps the first one, the third one is weak.
  const std::vector<float> values = {8,   8.5F, 8,   24, 0, 0, 8, 8, 8, 24,  0, 0,
                                     8,   8,    8,   8,  0, 0, 8, 8, 8, 8,   0, 0,
                                     .9F, .8F,  .3F, 0,  0, 0, 0, 0, 0, .7F, 0, 0};
  for (const char* type : {"yologeneric", "yolo-generic"}) {
    const auto found = decodeDetections(type, std::vector{floats({1, 6, 6}, values)}, {32, 32});
    ASSERT_TRUE(found.ok()) << found.status().toString();
    EXPECT_FLOAT_EQ((*found)[0].score, .9F);
    EXPECT_FLOAT_EQ((*found)[0].yMin, .125F);
    EXPECT_FLOAT_EQ((*found)[0].xMax, .375F);
    EXPECT_EQ((*found)[1].classId, 1);
    EXPECT_EQ((*found)[2].score, 0);
  }
}

TEST(FrigateDetections, Yolox) {
  // One class, an input of 32 x 32: 16 + 4 + 1 boxes.
  std::vector<float> values(21 * 6, 0.0F);
  float* const box = values.data() + 5 * 6;  // row 1, column 1 of the stride 8
  box[0] = .5F;
  box[4] = .9F;
  box[5] = 1;
  const auto found = decodeDetections("yolox", std::vector{floats({1, 21, 6}, values)}, {32, 32});
  ASSERT_TRUE(found.ok()) << found.status().toString();
  EXPECT_FLOAT_EQ((*found)[0].score, .9F);
  EXPECT_FLOAT_EQ((*found)[0].xMin, (1.5F * 8 - 4) / 32);
  EXPECT_FLOAT_EQ((*found)[0].yMax, (8 + 4) / 32.0F);
}

TEST(FrigateDetections, FaultsAreExplained) {
  EXPECT_THAT(decodeDetections("new", {}, {}).status().message(), HasSubstr("'new'"));
  EXPECT_THAT(decodeDetections("ssd", {}, {}).status().message(), HasSubstr("0 outputs"));
  EXPECT_FALSE(decodeDetections("yolox", std::vector{floats({1, 2, 6}, {})}, {32, 32}).ok());
  EXPECT_FALSE(decodeDetections("yologeneric", std::vector{floats({1, 2}, {})}, {32, 32}).ok());
}

TEST(FrigateDetections, YoloWithThreeGrids) {
  // One class, an input of 32 x 32: grids of 4 x 4, 2 x 2 and one cell, with three anchors each.
  std::vector<float> fine(18 * 16, 0.0F);
  std::vector<float> middle(18 * 4, 0.0F);
  const std::vector<float> coarse(18, 0.0F);
  // The second anchor, 19 x 36, in row 1 and column 2 of the fine grid.
  const auto set = [](std::vector<float>& grid, size_t anchor, size_t cells, size_t cell,
                      const std::vector<float>& values) {
    for (size_t i = 0; i < values.size(); ++i) grid[(anchor * 6 + i) * cells + cell] = values[i];
  };
  set(fine, 1, 16, 6, {.5F, .5F, .5F, .25F, .9F, .8F});
  set(middle, 0, 4, 3, {.5F, .5F, 1, 1, 1, .5F});  // 36 x 75 is doubled twice, beyond the input
  const auto found =
      decodeDetections("yologeneric",
                       std::vector{floats({1, 18, 4, 4}, fine), floats({1, 18, 2, 2}, middle),
                                   floats({1, 18, 1, 1}, coarse)},
                       {32, 32});
  ASSERT_TRUE(found.ok()) << found.status().toString();
  EXPECT_FLOAT_EQ((*found)[0].score, .72F);
  EXPECT_FLOAT_EQ((*found)[0].xMin, (20 - 9.5F) / 32);
  EXPECT_FLOAT_EQ((*found)[0].xMax, (20 + 9.5F) / 32);
  EXPECT_FLOAT_EQ((*found)[0].yMin, (12 - 4.5F) / 32);
  EXPECT_FLOAT_EQ((*found)[0].yMax, (12 + 4.5F) / 32);
  EXPECT_FLOAT_EQ((*found)[1].score, .5F);
  EXPECT_EQ((*found)[1].xMin, 0);
  EXPECT_EQ((*found)[1].yMax, 1);
  EXPECT_EQ((*found)[2].score, 0);
  for (const std::vector<int64_t>& shape :
       {std::vector<int64_t>{1, 18, 16, 1}, {1, 17, 4, 4}, {16}}) {
    EXPECT_FALSE(
        decodeDetections("yologeneric",
                         std::vector{floats(shape, fine), floats(shape, fine), floats(shape, fine)},
                         {32, 32})
            .ok());
  }
}

TEST(FrigateDetections, YoloNas) {
  const auto found = decodeDetections(
      "yolonas", std::vector{floats({3, 7}, {0, 8, 4, 16, 24, .9F, 2, 0, 0, 0, 32, 32, .5F, 1,  //
                                             0, 0, 0, 0,  0,  0,   -1})},
      {32, 64});
  ASSERT_TRUE(found.ok()) << found.status().toString();
  EXPECT_EQ((*found)[0].classId, 2);
  EXPECT_FLOAT_EQ((*found)[0].score, .9F);
  EXPECT_FLOAT_EQ((*found)[0].yMin, .125F);
  EXPECT_FLOAT_EQ((*found)[0].xMin, .125F);
  EXPECT_FLOAT_EQ((*found)[0].yMax, .75F);
  EXPECT_FLOAT_EQ((*found)[0].xMax, .25F);
  EXPECT_EQ((*found)[1].classId, 1);
  EXPECT_EQ((*found)[2].classId, 0);
}

TEST(FrigateDetections, DfineDropsWeakAndOverlappingBoxes) {
  const std::vector<OutputTensor> outputs = {
      floats({1, 4}, {3, 3, 5, 5}),
      floats({1, 4, 4}, {0, 8, 32, 16, 1, 8, 32, 16, 0, 0, 8, 8, 16, 16, 32, 32}),
      floats({1, 4}, {.8F, .6F, .39F, .7F})};
  const auto found = decodeDetections("dfine", outputs, {32, 64});
  ASSERT_TRUE(found.ok()) << found.status().toString();
  EXPECT_EQ((*found)[0].classId, 3);
  EXPECT_FLOAT_EQ((*found)[0].yMin, .25F);
  EXPECT_FLOAT_EQ((*found)[0].xMin, 0);
  EXPECT_FLOAT_EQ((*found)[0].yMax, .5F);
  EXPECT_FLOAT_EQ((*found)[0].xMax, .5F);
  EXPECT_EQ((*found)[1].classId, 5);
  EXPECT_FLOAT_EQ((*found)[1].score, .7F);
  EXPECT_EQ((*found)[2].score, 0);
}

TEST(FrigateDetections, RfDetrHasABackgroundClass) {
  // The first box is background. The second one has the class 1, with e^2 of e^2 + 2 + e^-1.
  const std::vector<OutputTensor> outputs = {
      floats({1, 2, 4}, {.5F, .5F, 1, 1, .5F, .25F, .5F, .25F}),
      floats({1, 2, 4}, {9, 0, 0, 0, 0, 0, 2, -1})};
  const auto found = decodeDetections("rfdetr", outputs, {32, 32});
  ASSERT_TRUE(found.ok()) << found.status().toString();
  EXPECT_EQ((*found)[0].classId, 1);
  EXPECT_NEAR((*found)[0].score, std::exp(2.0) / (std::exp(2.0) + 2 + std::exp(-1.0)), 1e-6);
  EXPECT_FLOAT_EQ((*found)[0].yMin, .125F);
  EXPECT_FLOAT_EQ((*found)[0].xMin, .25F);
  EXPECT_FLOAT_EQ((*found)[0].yMax, .375F);
  EXPECT_FLOAT_EQ((*found)[0].xMax, .75F);
  EXPECT_EQ((*found)[1].score, 0);
}

TEST(FrigateDetections, QuantisedOutputsBecomeReal) {
  OutputTensor output{"out", Datatype::INT8, {3}, std::string("\x80\x00\x7f", 3)};
  ASSERT_TRUE(makeReal({"out", Datatype::INT8, {3}, .5F, -128}, output).ok());
  EXPECT_THAT(floatsOf(output), ::testing::ElementsAre(0, 64, 127.5F));
  OutputTensor labels{"out", Datatype::INT64, {1}, std::string("\x07\0\0\0\0\0\0\0", 8)};
  ASSERT_TRUE(makeReal({"out", Datatype::INT64, {1}}, labels).ok());
  EXPECT_THAT(floatsOf(labels), ::testing::ElementsAre(7));
  OutputTensor half{"out", Datatype::FP16, {1}, "ab"};
  EXPECT_THAT(makeReal({"out", Datatype::FP16, {1}}, half).message(), HasSubstr("is FP16"));
}

// The picture is the prediction: [1,4,4,3] becomes [1,6,8], two classes and eight boxes. The real
// values of a quantised model are a quarter of the stored ones.
ModelWriter pictureModel(bool isQuantised = false) {
  ModelWriter w;
  const auto tensor = [&](const char* name, const std::vector<int32_t>& shape) {
    return isQuantised ? w.quantised(name, import::tfl::TensorType::UINT8, shape, .25F, 0)
                       : w.floats(name, shape);
  };
  const int32_t x = tensor("x", {1, 4, 4, 3});
  const int32_t shape = w.intConstant("shape", {1, 6, 8});
  const int32_t y = tensor("y", {1, 6, 8});
  w.node(import::tfl::BuiltinOperator::RESHAPE, {x, shape}, {y});
  w.inputs = {x};
  w.outputs = {y};
  return w;
}

// As D-FINE: a picture [1,2,2,3] is three boxes, its means are their scores. Their labels are the
// height, the width and the height of the picture.
ModelWriter modelWithSizes() {
  namespace tfl = import::tfl;
  ModelWriter w;
  const int32_t x = w.floats("images", {1, 2, 2, 3});
  const auto integers = [&](const char* name, const std::vector<int32_t>& shape) {
    import::TensorSpec spec;
    spec.name = name;
    spec.type = tfl::TensorType::INT32;
    spec.shape = shape;
    return w.tensor(spec);
  };
  const int32_t sizes = integers("orig_target_sizes", {1, 2});
  const int32_t labels = integers("labels", {1, 3});
  w.node(tfl::BuiltinOperator::GATHER, {sizes, w.intConstant("indices", {0, 1, 0})}, {labels},
         tfl::BuiltinOptions::GatherOptions,
         [](flatbuffers::FlatBufferBuilder& b) { return tfl::CreateGatherOptions(b, /*axis=*/1); });
  const int32_t boxes = w.floats("boxes", {1, 3, 4});
  w.node(tfl::BuiltinOperator::RESHAPE, {x, w.intConstant("shape", {1, 3, 4})}, {boxes});
  const int32_t scores = w.floats("scores", {1, 3});
  w.node(tfl::BuiltinOperator::MEAN, {x, w.intConstant("axes", {1, 2})}, {scores},
         tfl::BuiltinOptions::ReducerOptions, [](flatbuffers::FlatBufferBuilder& b) {
           return tfl::CreateReducerOptions(b, /*keep_dims=*/false);
         });
  w.inputs = {x, sizes};
  w.outputs = {labels, boxes, scores};
  return w;
}

constexpr const char* kHeader =
    R"({"shape":[1,4,4,3],"dtype":"float32","model_type":"yologeneric","other":1})";

std::string picture() {
  std::vector<float> values(48, 0.0F);
  for (size_t field = 0; field < 4; ++field) values[field * 8] = 2;  // the box of all four cells
  values[5 * 8] = .75F;                                              // class 1
  const std::vector<uint8_t> bytes = import::bytesOf(values);
  return {bytes.begin(), bytes.end()};
}

float scoreOf(const std::string& frame) {
  Detections detections;
  EXPECT_EQ(frame.size(), sizeof(detections));
  std::memcpy(detections.data(), frame.data(), sizeof(detections));
  return detections[0].score;
}

class FrigateTest : public ::testing::Test {
 protected:
  FrigateTest() {
    std::filesystem::create_directories(folder_.path() + "/models");
    writeFile(folder_.path() + "/models/eye.tflite", pictureModel().bytes());
    EXPECT_TRUE(service_.repository().loadAll().ok());
  }
  const TemporaryFolder folder_{"frigate"};
  Service service_{ModelFolder(folder_.path() + "/models"), {{}, "", true}, false};
};

TEST_F(FrigateTest, MessagesAreAnswered) {
  Detector detector(service_, folder_.path() + "/models");
  EXPECT_EQ(detector.answer("a", {R"({"model_request":true,"model_name":"eye.tflite"})"})[0],
            R"({"model_available":true,"model_loaded":true})");
  EXPECT_FLOAT_EQ(scoreOf(detector.answer("a", {kHeader, picture()})[0]), .75F);
  EXPECT_EQ(detector.answer("b", {R"({"model_request":true,"model_name":"new.tflite"})"})[0],
            R"({"model_available":false,"model_loaded":false})");
  const std::vector<uint8_t> bytes = pictureModel().bytes();
  const std::string model(bytes.begin(), bytes.end());
  EXPECT_EQ(detector.answer("b", {R"({"model_data":true,"model_name":"new.tflite"})", model})[0],
            R"({"model_loaded":true,"model_saved":true})");
  EXPECT_FLOAT_EQ(scoreOf(detector.answer("b", {kHeader, picture()})[0]), .75F);
}

TEST_F(FrigateTest, QuantisedOutputsAreDecoded) {
  writeFile(folder_.path() + "/models/quantised.tflite", pictureModel(true).bytes());
  ASSERT_TRUE(service_.repository().load("quantised").ok());
  Detector detector(service_, "");
  detector.answer("a", {R"({"model_request":true,"model_name":"quantised.tflite"})"});
  std::string stored(48, '\0');
  for (size_t field = 0; field < 4; ++field) stored[field * 8] = 8;
  stored[5 * 8] = 3;
  EXPECT_FLOAT_EQ(
      scoreOf(detector.answer(
          "a", {R"({"shape":[1,4,4,3],"dtype":"uint8","model_type":"yologeneric"})", stored})[0]),
      .75F);
}

TEST_F(FrigateTest, DfineTakesTheSizeOfThePicture) {
  writeFile(folder_.path() + "/models/dfine.tflite", modelWithSizes().bytes());
  const Outcome loaded = service_.repository().load("dfine");
  ASSERT_TRUE(loaded.ok()) << loaded.text();
  Detector detector(service_, "");
  detector.answer("a", {R"({"model_request":true,"model_name":"dfine.tflite"})"});
  // The boxes are [1,.25,0,1], [.25,0,1,.25] and [0,1,.25,0]; only the first mean is above 0.4.
  const std::vector<uint8_t> bytes =
      import::bytesOf<float>({1, .25F, 0, 1, .25F, 0, 1, .25F, 0, 1, .25F, 0});
  const std::string frame =
      detector.answer("a", {R"({"shape":[1,2,2,3],"dtype":"float32","model_type":"dfine"})",
                            std::string(bytes.begin(), bytes.end())})[0];
  Detections found;
  ASSERT_EQ(frame.size(), sizeof(found));
  std::memcpy(found.data(), frame.data(), sizeof(found));
  EXPECT_EQ(found[0].classId, 2);
  EXPECT_FLOAT_EQ(found[0].score, 1);
  EXPECT_FLOAT_EQ(found[0].xMin, .5F);
  EXPECT_FLOAT_EQ(found[0].yMax, .5F);
  EXPECT_EQ(found[1].score, 0);
}

TEST_F(FrigateTest, HostileMessagesHarmNothing) {
  Detector detector(service_, folder_.path() + "/models");
  EXPECT_EQ(scoreOf(detector.answer("a", {})[0]), 0);
  EXPECT_EQ(scoreOf(detector.answer("a", {"[", ""})[0]), 0);
  EXPECT_EQ(scoreOf(detector.answer("a", {R"({"shape":[-1]})", ""})[0]), 0);
  EXPECT_EQ(scoreOf(detector.answer("a", {R"({"shape":[1,4,4,3],"dtype":"int7"})", ""})[0]), 0);
  EXPECT_EQ(scoreOf(detector.answer("a", {kHeader, "short"})[0]), 0);
  EXPECT_EQ(detector.answer("a", {R"({"model_data":true,"model_name":"../../.."})", "bytes"})[0],
            R"({"model_loaded":false,"model_saved":false})");
  EXPECT_THAT(
      detector.answer("a", {R"({"model_data":true,"model_name":"bad.tflite"})", "bytes"})[0],
      HasSubstr(R"("model_loaded":false)"));
  Detector closed(service_, "");
  EXPECT_EQ(closed.answer("a", {R"({"model_data":true,"model_name":"new.tflite"})", "bytes"})[0],
            R"({"model_loaded":false,"model_saved":false})");
}

TEST_F(FrigateTest, BytesThatAreNoModelReplaceNothing) {
  const auto files = [&] {
    std::vector<std::string> names;
    for (const auto& each : std::filesystem::directory_iterator(folder_.path() + "/models")) {
      names.push_back(each.path().filename());
    }
    return names;
  };
  Detector detector(service_, folder_.path() + "/models");
  for (const char* name : {"eye.tflite", "new.tflite"}) {
    const std::string header = fmt::format(R"({{"model_data":true,"model_name":"{}"}})", name);
    EXPECT_EQ(detector.answer("a", {header, "no model"})[0],
              R"({"model_loaded":false,"model_saved":false})");
  }
  EXPECT_THAT(files(), ::testing::ElementsAre("eye.tflite"));
  EXPECT_TRUE(service_.repository().load("eye").ok()) << "the file is the earlier one";
  EXPECT_EQ(service_.repository().find("new", "").outcome.fault(), Fault::NOT_FOUND);
}

TEST_F(FrigateTest, TheSocketAnswersFrigatesClient) {
  ZmqServer server(Detector(service_, ""), "tcp://127.0.0.1:*", 1 << 20);
  ASSERT_TRUE(server.start().ok());
  zmq::context_t context;
  zmq::socket_t socket(context, zmq::socket_type::req);
  socket.connect(server.endpoint());
  zmq::message_t reply;
  socket.send(zmq::buffer(std::string(R"({"model_request":true,"model_name":"eye.tflite"})")),
              zmq::send_flags::none);
  ASSERT_TRUE(socket.recv(reply));
  EXPECT_THAT(reply.to_string(), HasSubstr(R"("model_loaded":true)"));
  for (int i = 0; i < 3; ++i) {
    socket.send(zmq::buffer(std::string(kHeader)), zmq::send_flags::sndmore);
    socket.send(zmq::buffer(picture()), zmq::send_flags::none);
    ASSERT_TRUE(socket.recv(reply));
    EXPECT_FLOAT_EQ(scoreOf(reply.to_string()), .75F);
  }
  server.stop();
}

}  // namespace
}  // namespace halyard::serve
