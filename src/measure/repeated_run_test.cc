#include "measure/repeated_run.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "measure/device_choice.h"
#include "measure/model_source.h"
#include "test_definitions.h"

namespace halyard::measure {
namespace {

constexpr const char* kModel = HALYARD_SOURCE_DIR "/models/fashion_mnist_float.tflite";

class RepeatedRunTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto imported = loadBenchModel(kModel);
    ASSERT_TRUE(imported.ok()) << imported.status().toString();
    imported_ = *imported;
    auto session =
        client::Session::create(std::shared_ptr<const Model>(imported_, &imported_->model));
    ASSERT_TRUE(session.ok()) << session.status().toString();
    session_ = std::move(*session);
    inputs_ = *randomInputs(*imported_);
  }
  void compile() {
    const auto devices = devicesOf({"nnapi-reference"});
    ASSERT_TRUE(devices.ok()) << devices.status().toString();
    ASSERT_TRUE(session_->compile((*devices)[0]).ok());
  }

  std::shared_ptr<const import::ImportedModel> imported_;
  std::unique_ptr<client::Session> session_;
  std::vector<std::vector<uint8_t>> inputs_;
};

TEST_F(RepeatedRunTest, EveryModeGivesWhatOneExecutionGives) {
  compile();
  const client::Input input = {inputs_[0], {}, false};
  const auto expected = session_->execute(std::span(&input, 1));
  ASSERT_TRUE(expected.ok()) << expected.status().toString();
  for (const char* name : {"sync", "burst", "fenced"}) {
    SCOPED_TRACE(name);
    const auto mode = computeModeNamed(name);
    ASSERT_TRUE(mode.ok());
    EXPECT_EQ(computeModeName(*mode), name);
    const auto run = RepeatedRun::create(*session_, inputs_, *mode);
    ASSERT_TRUE(run.ok()) << run.status().toString();
    for (int i = 0; i < 3; ++i) ASSERT_TRUE((*run)->compute().ok());
    ASSERT_EQ((*run)->outputCount(), 1u);
    const auto output = (*run)->output(0);
    ASSERT_TRUE(output.ok()) << output.status().toString();
    EXPECT_EQ(output->dimensions, expected->outputs[0].dimensions);
    EXPECT_EQ(output->bytes, expected->outputs[0].bytes);
  }
}

TEST_F(RepeatedRunTest, NewBytesOfAnInputCount) {
  compile();
  const auto run = RepeatedRun::create(*session_, inputs_);
  ASSERT_TRUE(run.ok()) << run.status().toString();
  ASSERT_TRUE((*run)->compute().ok());
  const std::vector<uint8_t> first = (*run)->output(0)->bytes;
  std::ranges::fill((*run)->input(0), uint8_t{0});
  ASSERT_TRUE((*run)->compute().ok());
  EXPECT_NE((*run)->output(0)->bytes, first);
}

TEST_F(RepeatedRunTest, MistakesAreErrors) {
  EXPECT_FALSE(RepeatedRun::create(*session_, inputs_).ok());  // not compiled
  compile();
  EXPECT_FALSE(RepeatedRun::create(*session_, {}).ok());
  EXPECT_FALSE(computeModeNamed("fast").ok());
}

}  // namespace
}  // namespace halyard::measure
