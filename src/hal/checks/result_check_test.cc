// Tests of sessions with answers of drivers that the HAL does not allow.
#include "hal/checks/result_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hal/session/client_session.h"
#include "hal/session/session_services.h"
#include "hal/testing/test_device.h"

namespace halyard::hal {
namespace {

using ::testing::HasSubstr;

// A model with two outputs: [2,?] and [3].
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
  checkResult(twoOutputs(), request, OperandSizes(), result);
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

// An output [2,?] of float32 in a buffer of limited size: by pointer, in a pool, as a whole pool.
TEST(CheckResultTest, RefusesShapesThatDoNotFitTheBuffer) {
  const auto memory = SharedMemory::create(100, "test").value();
  const auto checkedWith = [&](const RequestArgument& argument, Shape reported, Status status) {
    Request request;
    request.outputs = {argument, {}};
    request.pools = {memory, uint32_t{7}};
    ExecutionResult result;
    result.outputShapes = {{std::move(reported), true}, {{3}, status.ok()}};
    result.status = std::move(status);
    checkResult(twoOutputs(), request, OperandSizes(), result);
    return result.status;
  };
  RequestArgument pointer;
  pointer.kind = RequestArgument::Kind::POINTER;
  pointer.length = 100;
  RequestArgument part;
  part.kind = RequestArgument::Kind::POOL;
  part.location = {0, 0, 100};
  RequestArgument whole = part;
  whole.location = {0, 0, 0};
  const Status small(ResultCode::OUTPUT_INSUFFICIENT_SIZE, "small");
  for (const RequestArgument& argument : {pointer, part, whole}) {
    EXPECT_TRUE(checkedWith(argument, {2, 12}, okStatus()).ok());
    const Status wrong = checkedWith(argument, {2, 13}, okStatus());
    EXPECT_EQ(wrong.code(), ResultCode::OP_FAILED);
    EXPECT_EQ(wrong.message(),
              "the driver's result: output 0: it reports dimensions [2,13], 104 bytes, and the "
              "buffer has 100");
    // The rule also holds beside another output that does not fit.
    EXPECT_EQ(checkedWith(argument, {2, 12}, small).code(), ResultCode::OUTPUT_INSUFFICIENT_SIZE);
    EXPECT_EQ(checkedWith(argument, {2, 13}, small).code(), ResultCode::OP_FAILED);
    EXPECT_THAT(checkedWith(argument, {2, 1u << 31}, okStatus()).message(),
                HasSubstr("[2,2147483648], for which 32 bits cannot count the bytes"));
  }
  // Only the driver knows the size of its own buffer.
  RequestArgument token = whole;
  token.location.poolIndex = 1;
  EXPECT_TRUE(checkedWith(token, {2, 1000}, okStatus()).ok());
}

// HAL 1.0 and 1.1 report no shapes. The known shape must fit there, too.
TEST(CheckResultTest, SuccessWithoutShapesNeedsRoomForWhatIsKnown) {
  Request request;
  request.outputs.resize(2);
  request.outputs[0].kind = RequestArgument::Kind::POINTER;
  request.outputs[0].dimensions = {0, 5};
  for (const uint32_t length : {40u, 39u}) {
    request.outputs[0].length = length;
    ExecutionResult result;
    checkResult(twoOutputs(), request, OperandSizes(), result);
    EXPECT_EQ(result.status.ok(), length == 40) << result.status.toString();
  }
}

// The device gives the size of an extension's type.
TEST(CheckResultTest, ExtensionTypesHaveTheSizesOfTheirDevice) {
  Model model;
  model.extensionNameToPrefix = {{"com.acme.x", 1}};
  Operand operand;
  operand.type = static_cast<OperandType>((1u << 16) | 9);
  operand.dimensions = {0};
  operand.lifetime = Lifetime::SUBGRAPH_OUTPUT;
  model.main.operands = {operand};
  model.main.outputIndexes = {0};
  const std::vector<Extension> extensions = {{"com.acme.x", {{9, true, 3}}}};
  Request request;
  request.outputs.resize(1);
  request.outputs[0].kind = RequestArgument::Kind::POINTER;
  request.outputs[0].length = 30;
  const auto codeFor = [&](uint32_t count, const OperandSizes& sizes) {
    ExecutionResult result;
    result.outputShapes = {{{count}, true}};
    checkResult(model, request, sizes, result);
    return result.status.code();
  };
  const OperandSizes sizes(model, extensions);
  EXPECT_EQ(codeFor(10, sizes), ResultCode::NO_ERROR);
  EXPECT_EQ(codeFor(11, sizes), ResultCode::OP_FAILED);
  EXPECT_EQ(codeFor(11, OperandSizes()), ResultCode::NO_ERROR) << "nobody knows";
}

TEST(CheckResultTest, DropsTimesThatCannotBe) {
  Request request;
  ExecutionResult result;
  result.timing = {30, 20};
  checkResult(Model(), request, OperandSizes(), result);
  EXPECT_TRUE(result.status.ok());
  EXPECT_FALSE(result.timing.timeOnDevice.has_value());
  EXPECT_FALSE(result.timing.timeInDriver.has_value());
}

// A driver that reports support for one operation more than the model has.
class Exaggerating : public Device {
 public:
  const DeviceInfo& info() const override { return info_; }
  Result<SupportedOperations> getSupportedOperations(const ValidModel& model) override {
    return SupportedOperations(model->main.operations.size() + 1, true);
  }
  Result<std::shared_ptr<PreparedModel>> prepareModel(const ValidModel&,
                                                      const PrepareOptions&) override {
    return opFailed("not asked");
  }

 private:
  const DeviceInfo info_ = testing::TestDevice().info();
};

TEST(ClientSessionTest, AnswersOfTheWrongLengthAreAnError) {
  ClientSession session(std::make_shared<Exaggerating>(), std::make_shared<SessionServices>());
  const auto supported = session.getSupportedOperations(validated(testing::addModel(2)).value());
  EXPECT_EQ(supported.status().code(), ResultCode::OP_FAILED);
  EXPECT_THAT(supported.status().message(), HasSubstr("says of 2 operations"));
}

// A driver that prepares nothing and reports success.
class Promising : public Exaggerating {
 public:
  Result<std::shared_ptr<PreparedModel>> prepareModel(const ValidModel&,
                                                      const PrepareOptions&) override {
    return std::shared_ptr<PreparedModel>();
  }
};

TEST(ClientSessionTest, SuccessWithoutAPreparedModelIsAnError) {
  ClientSession session(std::make_shared<Promising>(), std::make_shared<SessionServices>());
  const auto prepared = session.prepareModel(validated(testing::addModel(2)).value(), {});
  EXPECT_EQ(prepared.status().code(), ResultCode::OP_FAILED);
  EXPECT_THAT(prepared.status().message(), HasSubstr("prepared no model"));
}

TEST(ClientSessionTest, BurstsAreRefusedForADriverThatHasNone) {
  const auto device = std::make_shared<testing::TestDevice>();
  device->mutableInfo().bursts = false;
  ClientSession session(device, std::make_shared<SessionServices>());
  const auto prepared = session.prepareModel(validated(testing::addModel(2)).value(), {});
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
