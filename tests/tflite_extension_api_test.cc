// Halyard's own extension through the C API, on devices that offer it and on one that does not.
#include <android/NeuralNetworksExtensions.h>
#include <halyard/tflite_extension.h>

#include <gmock/gmock.h>

#include <algorithm>

#include "api/api_for_test.h"
#include "manifests_for_test.h"
#include "test_definitions.h"

namespace halyard::api::testing {
namespace {

constexpr const char* kCpu = "halyard-cpu";
constexpr const char* kOffering = "test-offering";
constexpr const char* kPlain = "test-plain";
constexpr const char* kOld = "test-old";
constexpr const char* kReference = "nnapi-reference";

class TfliteExtension : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    static ::halyard::testing::Manifests manifests;
    manifests.add(kCpu, CPU_DRIVER);
    manifests.add(kOffering, REFERENCE_DRIVER,
                  R"({"threads": 1, "extensions": [{"name": "halyard.tflite"}]})");
    manifests.add(kPlain, REFERENCE_DRIVER, R"({"threads": 1})");
    manifests.add(kOld, REFERENCE_DRIVER, R"({"threads": 1, "hal_version": "1.1"})", "1.1");
    manifests.use();
    ::setenv("HALYARD_LOG", "quiet", 1);
  }

  static int32_t typeOf(ANeuralNetworksModel* model, uint16_t code) {
    int32_t type = 0;
    EXPECT_NN_OK(ANeuralNetworksModel_getExtensionOperationType(model, HALYARD_TFLITE_EXTENSION,
                                                                code, &type));
    return type;
  }

  // RELU of x [2, 3] rounded by rows: a device without the extension runs half of it.
  static client::Model rounding() {
    auto model = newModel();
    for (int i = 0; i < 3; ++i) {
      EXPECT_NN_OK(model.addOperand(ANEURALNETWORKS_TENSOR_FLOAT32, {2, 3}));
    }
    EXPECT_NN_OK(model.addOperand(ANEURALNETWORKS_INT32));
    const int32_t axis = 1;
    EXPECT_NN_OK(model.setOperandValue(3, &axis, sizeof axis));
    EXPECT_NN_OK(model.addOperation(typeOf(model.get(), HALYARD_TFLITE_ROUND_TO_DYNAMIC_RANGE),
                                    {0, 3}, {1}));
    EXPECT_NN_OK(model.addOperation(ANEURALNETWORKS_RELU, {1}, {2}));
    EXPECT_NN_OK(model.identifyInputsAndOutputs({0}, {2}));
    EXPECT_NN_OK(model.finish());
    return model;
  }

  static void expectRounded(ANeuralNetworksCompilation* compilation) {
    const float x[] = {-55, 200, 0.6F, 25.5F, 1.44F, 0.01F};
    const float wanted[] = {0, 200, 1, 25.5F, 1.4F, 0};
    float y[6] = {};
    const auto execution = newExecution(compilation);
    EXPECT_NN_OK(execution.setInput(0, nullptr, x, sizeof x));
    EXPECT_NN_OK(execution.setOutput(0, nullptr, y, sizeof y));
    EXPECT_NN_OK(execution.compute());
    for (int i = 0; i < 6; ++i) EXPECT_NEAR(y[i], wanted[i], 1e-5F) << i;
  }
};

TEST_F(TfliteExtension, IsOfferedByThoseThatSaySo) {
  for (const auto& [name, wanted] : {std::pair{kReference, true},
                                     {kCpu, true},
                                     {kOffering, true},
                                     {kPlain, false},
                                     {kOld, false}}) {
    bool offers = !wanted;
    EXPECT_NN_OK(ANeuralNetworksDevice_getExtensionSupport(deviceNamed(name),
                                                           HALYARD_TFLITE_EXTENSION, &offers));
    EXPECT_EQ(offers, wanted) << name;
  }
}

TEST_F(TfliteExtension, RunsOnEveryDeviceThatOffersIt) {
  for (const char* name : {kReference, kCpu, kOffering}) {
    SCOPED_TRACE(name);
    const auto model = rounding();
    const auto compilation = compileFor(model.get(), deviceNamed(name));
    expectRounded(compilation.get());
  }
}

TEST_F(TfliteExtension, ADeviceWithoutItTakesTheRest) {
  for (const char* name : {kPlain, kOld}) {
    SCOPED_TRACE(name);
    const auto model = rounding();
    const ANeuralNetworksDevice* const device = deviceNamed(name);
    bool supported[2] = {true, false};
    EXPECT_NN_OK(
        ANeuralNetworksModel_getSupportedOperationsForDevices(model.get(), &device, 1, supported));
    EXPECT_FALSE(supported[0]);
    EXPECT_TRUE(supported[1]);
    // The device alone cannot run the model, and the error gives the reason.
    client::Compilation alone;
    EXPECT_NN_OK(alone.createForDevices(model.get(), {&device, 1}));
    EXPECT_NE(alone.finish(), ANEURALNETWORKS_NO_ERROR);
    EXPECT_THAT(halyard_lastErrorText(), ::testing::HasSubstr("ROUND_TO_DYNAMIC_RANGE"));
    // The device and the CPU device together can.
    const ANeuralNetworksDevice* const both[] = {device, deviceNamed(kReference)};
    client::Compilation together;
    EXPECT_NN_OK(together.createForDevices(model.get(), {both, 2}));
    EXPECT_NN_OK(together.finish());
    expectRounded(together.get());
  }
}

TEST_F(TfliteExtension, OperandsAreCheckedLikeThoseOfTheApisOperations) {
  const auto model = newModel();
  EXPECT_NN_OK(model.addOperand(ANEURALNETWORKS_TENSOR_INT32, {2, 3}));
  EXPECT_NN_OK(model.addOperand(ANEURALNETWORKS_TENSOR_INT32, {2, 3}));
  EXPECT_NN_ERROR(
      model.addOperation(typeOf(model.get(), HALYARD_TFLITE_ROUND_TO_DYNAMIC_RANGE), {0}, {1}),
      ANEURALNETWORKS_BAD_DATA, "ROUND_TO_DYNAMIC_RANGE: takes 2 inputs, has 1");
  // An operation that the extension does not have is unknown, and no device supports it.
  EXPECT_NN_OK(model.addOperation(typeOf(model.get(), 99), {0}, {1}));
  EXPECT_NN_OK(model.identifyInputsAndOutputs({0}, {1}));
  EXPECT_NN_OK(model.finish());
  for (const char* name : {kReference, kCpu, kOffering}) {
    const ANeuralNetworksDevice* const device = deviceNamed(name);
    bool supported = true;
    EXPECT_NN_OK(
        ANeuralNetworksModel_getSupportedOperationsForDevices(model.get(), &device, 1, &supported));
    EXPECT_FALSE(supported) << name;
  }
}

}  // namespace
}  // namespace halyard::api::testing
