// Tests the null driver, in this process and in its own. It is found, describes itself, and refuses
// models in the right way.
#include "null_device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "hal/client/remote_device.h"
#include "hal/session/client_session.h"
#include "hal/session/session_services.h"
#include "test_definitions.h"

namespace acme {
namespace {

using namespace halyard;
using ::testing::HasSubstr;

Model addition() {
  Model model;
  Operand tensor;
  tensor.type = OperandType::TENSOR_FLOAT32;
  tensor.dimensions = {2};
  Operand none;
  none.type = OperandType::INT32;
  none.lifetime = Lifetime::CONSTANT_COPY;
  const int32_t zero = 0;
  none.location = appendConstant(model, &zero, sizeof zero);
  model.main.operands = {tensor, none, tensor};
  model.main.operands[0].lifetime = Lifetime::SUBGRAPH_INPUT;
  model.main.operands[2].lifetime = Lifetime::SUBGRAPH_OUTPUT;
  model.main.operations = {{OperationType::ADD, {0, 0, 1}, {2}}};
  model.main.inputIndexes = {0};
  model.main.outputIndexes = {2};
  return model;
}

void checkThatItDoesNothing(hal::Device& device) {
  EXPECT_EQ(device.info().versionString, "acme-null 0.1.0");
  EXPECT_EQ(device.info().type, hal::DeviceType::OTHER);
  EXPECT_TRUE(hal::validateCapabilities(device.info().capabilities).ok());
  EXPECT_EQ(device.status(), hal::DeviceStatus::AVAILABLE);
  const auto supported = device.getSupportedOperations(validated(addition()).value());
  ASSERT_TRUE(supported.ok()) << supported.status().toString();
  EXPECT_THAT(*supported, ::testing::ElementsAre(
                              hal::OperationSupport::no("operation #0 ADD is not supported")));
  const auto prepared = device.prepareModel(validated(addition()).value(), {});
  EXPECT_EQ(prepared.status().code(), ResultCode::BAD_DATA);
  EXPECT_THAT(prepared.status().message(), HasSubstr("operation #0 ADD is not supported"));
}

TEST(NullDriverTest, InThisProcess) {
  auto device = makeNullDevice();
  ASSERT_TRUE(device.ok());
  hal::ClientSession session(*device, std::make_shared<hal::SessionServices>());
  checkThatItDoesNothing(session);
  EXPECT_EQ(session.processId(), ::getpid());
}

// Built against libhalyard_driver alone.
TEST(NullDriverTest, InItsOwnProcess) {
  hal::Manifest manifest;
  manifest.name = "acme-null";
  manifest.target = HALYARD_NULL_DRIVER_PATH;
  auto loop = hal::RpcLoop::start();
  ASSERT_TRUE(loop.ok());
  const auto device = hal::RemoteDevice::open(*loop, manifest);
  ASSERT_TRUE(device.ok()) << device.status().toString();
  checkThatItDoesNothing(**device);
  EXPECT_NE((*device)->processId(), ::getpid());
}

}  // namespace
}  // namespace acme
