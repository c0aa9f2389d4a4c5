// Tests of Frigate's detector: decoding, messages, and the socket.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <zmq.hpp>

#include "base/temporary_folder_for_test.h"
#include "serve/frigate/detections.h"
#include "serve/frigate/detector.h"
#include "serve/frigate/zmq_server.h"
#include "serve/models_for_test.h"

namespace halyard::serve {
namespace {

using testing::HasSubstr;

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

// The picture is the prediction: float [1,4,4,3] becomes [1,6,8], two classes and eight boxes.
import::ModelWriter pictureModel(){import::ModelWriter w;
const int32_t x = w.floats("x", {1, 4, 4, 3});
const int32_t shape = w.intConstant("shape", {1, 6, 8});
const int32_t y = w.floats("y", {1, 6, 8});
w.node(import::tfl::BuiltinOperator::RESHAPE, {x, shape}, {y});
w.inputs = {x};
w.outputs = {y};
return w;
}  // namespace

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

class FrigateTest : public testing::Test {
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

}  // namespace halyard::serve
}  // namespace halyard::serve
