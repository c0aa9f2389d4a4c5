// What sessions make of drivers' answers that the HAL does not allow.
#include "hal/session/result_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hal/session/client_session.h"
#include "hal/session/session_services.h"
#include "hal/testing/test_device.h"

namespace halyard::hal {
namespace {

using ::testing::HasSubstr;

// Two outputs: [2,?] and [3].
Model twoOutputs() {
  Model model;
  for (const Shape& dimensions : {Shape{2, 0}, Shape{3}}) {
    Operand operand;
    operand.type = OperandType::TENSOR_FLOAT32;
    operand.dimensions = dimensions;
    operand.lifetime = Lifetime::SUBGRAPH_OUTPUT;
    model.main.operands.push_back(operand);
  }
  model.main.outputIndexes = {0, 1};
  return model;
}

ExecutionResult checked(Status status, std::vector<OutputShape> shapes, Shape requested = {}) {
  Request request;
  request.outputs.resize(2);
  request.outputs[0].dimensions = std::move(requested);
  ExecutionResult result;
  result.status = std::move(status);
  result.outputShapes = std::move(shapes);
  result.timing = {10, 20};
  checkResult(twoOutputs(), request, result);
  return result;
}

std::string errorOf(Status status, std::vector<OutputShape> shapes, Shape requested = {}) {
  const ExecutionResult result =
      checked(std::move(status), std::move(shapes), std::move(requested));
  EXPECT_EQ(result.status.code(), ResultCode::OP_FAILED);
  EXPECT_TRUE(result.outputShapes.empty());
  EXPECT_FALSE(result.timing.timeOnDevice.has_value());
  return result.status.message();
}

TEST(CheckResultTest, LetsGoodResultsPass) {
  const ExecutionResult good = checked(okStatus(), {{{2, 0}, true}, {{3}, true}});
  EXPECT_TRUE(good.status.ok()) << good.status.toString();
  EXPECT_EQ(good.outputShapes.size(), 2u);
  EXPECT_EQ(good.timing.timeInDriver, 20u);
  EXPECT_TRUE(checked(okStatus(), {}, {2, 5}).status.ok()) << "all was known";
  const Status small(ResultCode::OUTPUT_INSUFFICIENT_SIZE, "small");
  EXPECT_EQ(checked(small, {{{2, 9}, false}, {{3}, true}}).status.message(), "small");
  EXPECT_EQ(checked(badData("no"), {}).status.message(), "no");
}

TEST(CheckResultTest, RefusesShapesThatCannotBe) {
  EXPECT_THAT(errorOf(okStatus(), {}), HasSubstr("output 0: its dimensions were open"));
  EXPECT_THAT(errorOf(okStatus(), {{{2, 1}, true}}), HasSubstr("1 output shapes, the model has 2"));
  EXPECT_THAT(errorOf(okStatus(), {{{4, 1}, true}, {{3}, true}}),
              HasSubstr("output 0: it reports dimensions [4,1], expected [2,?]"));
  EXPECT_THAT(errorOf(okStatus(), {{{2, 1}, true}, {{3, 1}, true}}),
              HasSubstr("output 1: it reports dimensions [3,1], expected [3]"));
  EXPECT_THAT(errorOf(okStatus(), {{{2, 1}, true}, {{3}, true}}, {2, 5}),
              HasSubstr("expected [2,5]"));
  EXPECT_THAT(errorOf(okStatus(), {{{2, 1}, false}, {{3}, true}}),
              HasSubstr("success, and says that an output is too small"));
  const Status small(ResultCode::OUTPUT_INSUFFICIENT_SIZE, "small");
  EXPECT_THAT(errorOf(small, {}), HasSubstr("0 output shapes"));
  EXPECT_THAT(errorOf(small, {{{2, 1}, true}, {{3}, true}}), HasSubstr("every output is large"));
}

TEST(CheckResultTest, DropsTimesThatCannotBe) {
  Request request;
  ExecutionResult result;
  result.timing = {30, 20};
  checkResult(Model(), request, result);
  EXPECT_TRUE(result.status.ok());
  EXPECT_FALSE(result.timing.timeOnDevice.has_value());
  EXPECT_FALSE(result.timing.timeInDriver.has_value());
}

// Says of one operation more than there are that it supports it.
class Exaggerating : public Device {
 public:
  const DeviceInfo& info() const override { return info_; }
  Result<std::vector<bool>> getSupportedOperations(const Model& model) override {
    return std::vector<bool>(model.main.operations.size() + 1, true);
  }
  Result<std::shared_ptr<PreparedModel>> prepareModel(std::shared_ptr<const Model>,
                                                      const PrepareOptions&) override {
    return opFailed("not asked");
  }

 private:
  const DeviceInfo info_ = testing::TestDevice().info();
};

TEST(ClientSessionTest, AnswersOfTheWrongLengthAreAnError) {
  ClientSession session(std::make_shared<Exaggerating>(), std::make_shared<SessionServices>());
  const auto supported = session.getSupportedOperations(testing::addModel(2));
  EXPECT_EQ(supported.status().code(), ResultCode::OP_FAILED);
  EXPECT_THAT(supported.status().message(), HasSubstr("says of 2 operations"));
}

// Prepares nothing and says that all is well.
class Promising : public Exaggerating {
 public:
  Result<std::shared_ptr<PreparedModel>> prepareModel(std::shared_ptr<const Model>,
                                                      const PrepareOptions&) override {
    return std::shared_ptr<PreparedModel>();
  }
};

TEST(ClientSessionTest, SuccessWithoutAPreparedModelIsAnError) {
  ClientSession session(std::make_shared<Promising>(), std::make_shared<SessionServices>());
  const auto prepared =
      session.prepareModel(std::make_shared<const Model>(testing::addModel(2)), {});
  EXPECT_EQ(prepared.status().code(), ResultCode::OP_FAILED);
  EXPECT_THAT(prepared.status().message(), HasSubstr("prepared no model"));
}

TEST(ClientSessionTest, BurstsAreRefusedForADriverThatHasNone) {
  const auto device = std::make_shared<testing::TestDevice>();
  device->mutableInfo().bursts = false;
  ClientSession session(device, std::make_shared<SessionServices>());
  const auto prepared =
      session.prepareModel(std::make_shared<const Model>(testing::addModel(2)), {});
  ASSERT_TRUE(prepared.ok()) << prepared.status().toString();
  EXPECT_EQ((*prepared)->configureBurst().status().code(), ResultCode::UNAVAILABLE_DEVICE);
}

TEST(ValidateDeviceInfoTest, SaysWhatIsWrong) {
  const auto errorOfInfo = [](const auto& change) {
    DeviceInfo info = testing::TestDevice().info();
    EXPECT_TRUE(validateDeviceInfo(info).ok());
    change(info);
    const Status status = validateDeviceInfo(info);
    EXPECT_EQ(status.code(), ResultCode::BAD_DATA);
    return status.message();
  };
  EXPECT_THAT(errorOfInfo([](DeviceInfo& info) { info.versionString.clear(); }),
              HasSubstr("version string is empty"));
  EXPECT_THAT(errorOfInfo([](DeviceInfo& info) { info.type = DeviceType::UNKNOWN; }),
              HasSubstr("its type 0 is not one of 1 to 4"));
  EXPECT_THAT(errorOfInfo([](DeviceInfo& info) { info.modelCacheFiles = 33; }),
              HasSubstr("33 model and"));
  EXPECT_THAT(errorOfInfo([](DeviceInfo& info) {
                info.extensions = {{"noDots", {}}};
              }),
              HasSubstr("extension 'noDots'"));
  EXPECT_THAT(errorOfInfo([](DeviceInfo& info) {
                info.extensions = {{"a.b", {}}, {"a.b", {}}};
              }),
              HasSubstr("listed twice"));
  EXPECT_THAT(errorOfInfo([](DeviceInfo& info) {
                info.extensions = {{"a.b", {{1, true, 4}, {1, true, 8}}}};
              }),
              HasSubstr("extension 'a.b' describes operand type 1 twice"));
  EXPECT_THAT(errorOfInfo([](DeviceInfo& info) {
                info.extensions = {{"a.b", {{1, true, 0}}}};
              }),
              HasSubstr("extension 'a.b': operand type 1 has size 0"));
  EXPECT_THAT(errorOfInfo([](DeviceInfo& info) { info.capabilities.ifPerformance.execTime = 0; }),
              HasSubstr("IF performance"));
}

}  // namespace
}  // namespace halyard::hal
