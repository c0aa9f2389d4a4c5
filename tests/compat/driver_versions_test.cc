// Drivers of every HAL version through the C API. They are the reference driver under manifests
// of 1.0 to 1.3, and a driver built with an older schema.
#include "api/api_for_test.h"

namespace halyard::api::testing {
namespace {

constexpr int64_t kLevels[] = {27, 28, 29, 30};

const ANeuralNetworksDevice* deviceOfVersion(int minor) {
  return deviceNamed(("reference-v1_" + std::to_string(minor)).c_str());
}

// One operation of each HAL version over x = {4, 9}, each with an output of its own.
struct Vintage {
  int32_t type;
  int since;  // HAL 1.since
  std::vector<float> expected;
};
const Vintage kVintages[] = {
    {ANEURALNETWORKS_ADD, 0, {8, 18}},
    {ANEURALNETWORKS_SUB, 1, {0, 0}},
    {ANEURALNETWORKS_SQRT, 2, {2, 3}},
    {ANEURALNETWORKS_HARD_SWISH, 3, {4, 9}},
};

// The operations of the versions from `first` to `last`.
client::Model vintageModel(size_t first, size_t last) {
  client::Model model = newModel();
  static const int32_t kNone = ANEURALNETWORKS_FUSED_NONE;
  EXPECT_NN_OK(model.addOperand(ANEURALNETWORKS_TENSOR_FLOAT32, {2}));
  EXPECT_NN_OK(model.addOperand(ANEURALNETWORKS_INT32));
  EXPECT_NN_OK(model.setOperandValue(1, &kNone, sizeof kNone));
  std::vector<uint32_t> outputs;
  for (size_t i = first; i <= last; ++i) {
    EXPECT_NN_OK(model.addOperand(ANEURALNETWORKS_TENSOR_FLOAT32, {2}));
    const auto output = static_cast<uint32_t>(2 + i - first);
    const std::vector<uint32_t> binary = {0, 0, 1};
    const std::vector<uint32_t> unary = {0};
    EXPECT_NN_OK(model.addOperation(kVintages[i].type, i < 2 ? binary : unary, {output}));
    outputs.push_back(output);
  }
  const uint32_t inputs[] = {0};
  EXPECT_EQ(ANeuralNetworksModel_identifyInputsAndOutputs(
                model.get(), 1, inputs, static_cast<uint32_t>(outputs.size()), outputs.data()),
            ANEURALNETWORKS_NO_ERROR);
  EXPECT_NN_OK(model.relaxComputationFloat32toFloat16(true));
  EXPECT_NN_OK(model.finish());
  return model;
}

TEST(DriverVersions, AreListedWithTheirLevels) {
  for (int minor = 0; minor <= 3; ++minor) {
    const ANeuralNetworksDevice* const device = deviceOfVersion(minor);
    ASSERT_NE(device, nullptr) << minor;
    int64_t level = 0;
    EXPECT_NN_OK(ANeuralNetworksDevice_getFeatureLevel(device, &level));
    EXPECT_GE(level, kLevels[minor]);
    EXPECT_TRUE(minor == 3 || level == kLevels[minor]) << level;
    const char* version = nullptr;
    EXPECT_NN_OK(ANeuralNetworksDevice_getVersion(device, &version));
    EXPECT_EQ(version == std::string("UNKNOWN"), minor < 2) << version;
    int32_t type = -1;
    EXPECT_NN_OK(ANeuralNetworksDevice_getType(device, &type));
    EXPECT_EQ(type, minor < 2 ? ANEURALNETWORKS_DEVICE_UNKNOWN : ANEURALNETWORKS_DEVICE_CPU);
  }
  int64_t level = 0;
  ASSERT_NE(deviceNamed("old-driver"), nullptr);
  EXPECT_NN_OK(ANeuralNetworksDevice_getFeatureLevel(deviceNamed("old-driver"), &level));
  EXPECT_EQ(level, 30);
}

TEST(DriverVersions, AreAskedAboutTheOperationsThatTheyHave) {
  const auto model = vintageModel(0, 3);
  for (int minor = 0; minor <= 3; ++minor) {
    const ANeuralNetworksDevice* const device = deviceOfVersion(minor);
    bool supported[4] = {};
    ASSERT_NN_OK(
        ANeuralNetworksModel_getSupportedOperationsForDevices(model.get(), &device, 1, supported));
    for (const Vintage& vintage : kVintages) {
      EXPECT_EQ(supported[&vintage - kVintages], vintage.since <= minor)
          << "HAL 1." << minor << ", operation of HAL 1." << vintage.since;
    }
  }
}

TEST(DriverVersions, ComputeWhatTheyHave) {
  for (int minor = 0; minor <= 3; ++minor) {
    const auto model = vintageModel(0, static_cast<size_t>(minor));
    const auto compilation = compileFor(model.get(), deviceOfVersion(minor));
    const auto execution = newExecution(compilation.get());
    const float x[] = {4, 9};
    EXPECT_NN_OK(execution.setInput(0, nullptr, x, sizeof x));
    std::vector<std::vector<float>> outputs(static_cast<size_t>(minor) + 1, std::vector<float>(2));
    for (size_t i = 0; i < outputs.size(); ++i) {
      EXPECT_NN_OK(execution.setOutput(static_cast<int32_t>(i), nullptr, outputs[i].data(), 8));
    }
    ASSERT_NN_OK(execution.compute());
    for (size_t i = 0; i < outputs.size(); ++i) EXPECT_EQ(outputs[i], kVintages[i].expected);
  }
}

TEST(DriverVersions, RefuseWhatIsNewerWithTheReason) {
  for (int minor = 0; minor < 3; ++minor) {
    const auto newer = static_cast<size_t>(minor) + 1;
    const auto model = vintageModel(newer, newer);
    const ANeuralNetworksDevice* const device = deviceOfVersion(minor);
    client::Compilation compilation;
    ASSERT_NN_OK(compilation.createForDevices(model.get(), {&device, 1}));
    EXPECT_NN_ERROR(compilation.finish(), ANEURALNETWORKS_BAD_DATA, "operation #0");
    const std::string text = halyard_lastErrorText();
    EXPECT_THAT(text, ::testing::HasSubstr("HAL 1." + std::to_string(newer)));
    EXPECT_THAT(text, ::testing::HasSubstr("HAL 1." + std::to_string(minor)));
  }
}

TEST(DriverVersions, ADriverOfAnOlderSchemaComputes) {
  const auto model = addModel({4}, {4}, {4});
  ASSERT_NN_OK(model.finish());
  const auto compilation = compileFor(model.get(), deviceNamed("old-driver"));
  const auto execution = newExecution(compilation.get());
  const float a[] = {1, 2, 3, 4};
  const float b[] = {10, 20, 30, 40};
  std::vector<float> out(4);
  EXPECT_NN_OK(execution.setInput(0, nullptr, a, sizeof a));
  EXPECT_NN_OK(execution.setInput(1, nullptr, b, sizeof b));
  EXPECT_NN_OK(execution.setOutput(0, nullptr, out.data(), 16));
  ASSERT_NN_OK(execution.compute());
  EXPECT_EQ(out, (std::vector<float>{11, 22, 33, 44}));
}

}  // namespace
}  // namespace halyard::api::testing
