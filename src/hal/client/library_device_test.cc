#include "hal/client/library_device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "hal/session/session_services.h"
#include "halyard/driver/driver_library.h"
#include "test_definitions.h"

namespace halyard::hal {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

Manifest manifestOf(const std::string& file) {
  Manifest manifest;
  manifest.name = "test-library";
  manifest.version = "1";
  manifest.kind = Manifest::Kind::LIBRARY;
  manifest.target = HALYARD_TEST_LIBRARY_FOLDER "/" + file;
  return manifest;
}

Result<std::shared_ptr<Device>> open(const Manifest& manifest) {
  return openLibrary(manifest, std::make_shared<SessionServices>());
}

Status refusalOf(const std::string& fault) {
  return open(manifestOf("libhalyard-driver-library-" + fault + ".so")).status();
}

// x + x. With `tail`, the model has a second operation, which needs HAL 1.2.
std::shared_ptr<const Model> doubling(bool tail) {
  auto model = std::make_shared<Model>();
  Operand tensor;
  tensor.type = OperandType::TENSOR_FLOAT32;
  tensor.dimensions = {2};
  Operand none;
  none.type = OperandType::INT32;
  none.lifetime = Lifetime::CONSTANT_COPY;
  const int32_t zero = 0;
  none.location = appendConstant(*model, &zero, sizeof zero);
  Subgraph& main = model->main;
  main.operands = {tensor, none, tensor};
  main.operands[0].lifetime = Lifetime::SUBGRAPH_INPUT;
  main.operations = {{OperationType::ADD, {0, 0, 1}, {2}}};
  main.inputIndexes = {0};
  if (tail) {
    main.operands.push_back(tensor);
    main.operations.push_back({OperationType::NEG, {2}, {3}});
  }
  main.operands.back().lifetime = Lifetime::SUBGRAPH_OUTPUT;
  main.outputIndexes = {static_cast<uint32_t>(main.operands.size() - 1)};
  return model;
}

TEST(LibraryDeviceTest, ComputesInThisProcess) {
  const auto device = open(manifestOf("libhalyard-driver-library-none.so"));
  ASSERT_TRUE(device.ok()) << device.status().toString();
  EXPECT_EQ((*device)->processId(), ::getpid());
  EXPECT_EQ((*device)->info().type, DeviceType::CPU);
  const auto model = doubling(false);
  EXPECT_THAT((*device)->getSupportedOperations(validated(model).value()).value(),
              ::testing::ElementsAre(true));
  const auto prepared = (*device)->prepareModel(validated(model).value(), {});
  ASSERT_TRUE(prepared.ok()) << prepared.status().toString();
  float in[2] = {1, 2};
  float out[2] = {};
  Request request;
  RequestArgument argument;
  argument.kind = RequestArgument::Kind::POINTER;
  argument.length = sizeof in;
  argument.pointer = in;
  request.inputs = {argument};
  argument.pointer = out;
  request.outputs = {argument};
  const ExecutionResult result = (*prepared)->executeSynchronously(request, {});
  ASSERT_TRUE(result.status.ok()) << result.status.toString();
  EXPECT_EQ(out[0], 2.0f);
  EXPECT_EQ(out[1], 4.0f);
  // The session around the device checks the request.
  request.inputs.clear();
  EXPECT_EQ((*prepared)->executeSynchronously(request, {}).status.code(), ResultCode::BAD_DATA);
}

TEST(LibraryDeviceTest, IsADeviceOfTheManifestsVersion) {
  Manifest manifest = manifestOf("libhalyard-driver-library-none.so");
  manifest.halVersion = HalVersion::V1_1;
  const auto device = open(manifest);
  ASSERT_TRUE(device.ok()) << device.status().toString();
  EXPECT_EQ((*device)->info().halVersion, HalVersion::V1_1);
  EXPECT_EQ((*device)->info().versionString, "UNKNOWN");
  // The device is asked only about operations of its version, and gets no others.
  const auto supported = (*device)->getSupportedOperations(validated(doubling(true)).value());
  ASSERT_TRUE(supported.ok()) << supported.status().toString();
  ASSERT_EQ(supported->size(), 2u);
  EXPECT_TRUE(supported->front().supported);
  EXPECT_FALSE(supported->back().supported);
  EXPECT_THAT(supported->back().reason, HasSubstr("needs feature level 3"));
  const Status refused = (*device)->prepareModel(validated(doubling(true)).value(), {}).status();
  EXPECT_EQ(refused.code(), ResultCode::BAD_DATA);
  EXPECT_THAT(refused.message(), HasSubstr("operation #1 NEG needs feature level 3"));
  EXPECT_TRUE((*device)->prepareModel(validated(doubling(false)).value(), {}).ok());
}

TEST(LibraryDeviceTest, WhatIsNoDriverIsRefusedWithItsReason) {
  EXPECT_THAT(open(manifestOf("nothing.so")).status().message(),
              AllOf(HasSubstr("driver 'test-library'"), HasSubstr("nothing.so"),
                    HasSubstr("cannot be loaded")));
  Manifest other = manifestOf("");
  other.target = "libm.so.6";
  EXPECT_THAT(open(other).status().message(), HasSubstr("does not export halyard_driver_library"));
  EXPECT_THAT(refusalOf("abi").message(),
              AllOf(HasSubstr("'0.0 of old'"), HasSubstr("'" HALYARD_DRIVER_ABI "'")));
  EXPECT_THAT(refusalOf("failing").message(), HasSubstr("/dev/doubler0 is not there"));
  EXPECT_THAT(refusalOf("old").message(), HasSubstr("it is of HAL 1.1, the manifest says 1.3"));
  EXPECT_THAT(refusalOf("other_name").message(),
              AllOf(HasSubstr("'test-other'"), HasSubstr("'test-library'")));
}

// The version in the header is the project's, though the header does not depend on the
// configuration.
TEST(LibraryDeviceTest, TheInterfaceIsThisVersions) {
  const std::string version = HALYARD_VERSION;
  const std::string shortened = version.substr(0, version.rfind('.'));
  EXPECT_EQ(std::string(HALYARD_DRIVER_ABI).substr(0, shortened.size() + 1), shortened + " ");
}

}  // namespace
}  // namespace halyard::hal
