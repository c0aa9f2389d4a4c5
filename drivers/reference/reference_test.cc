// Tests of the reference driver, in this process and in its own.
#include <gtest/gtest.h>
#include <unistd.h>

#include "hal/client/remote_device.h"
#include "hal/manifest/manifest.h"
#include "halyard/tflite_extension.h"
#include "personality.h"
#include "reference_device.h"
#include "test_definitions.h"

namespace halyard::drivers {
namespace {

// out[1,4,4,2] = RELU6(a + b) + a; two operations with a temporary between them.
Model twoStepModel() {
  Model model;
  const auto tensor = [](Lifetime lifetime) {
    Operand operand;
    operand.type = OperandType::TENSOR_FLOAT32;
    operand.dimensions = {1, 4, 4, 2};
    operand.lifetime = lifetime;
    return operand;
  };
  const auto int32 = [&](int32_t value) {
    Operand operand;
    operand.type = OperandType::INT32;
    operand.lifetime = Lifetime::CONSTANT_COPY;
    operand.location = appendConstant(model, &value, sizeof value);
    return operand;
  };
  model.main.operands = {tensor(Lifetime::SUBGRAPH_INPUT),
                         tensor(Lifetime::SUBGRAPH_INPUT),
                         tensor(Lifetime::TEMPORARY_VARIABLE),
                         tensor(Lifetime::SUBGRAPH_OUTPUT),
                         int32(3),
                         int32(0)};
  model.main.operations = {{OperationType::ADD, {0, 1, 4}, {2}},
                           {OperationType::ADD, {2, 0, 5}, {3}}};
  model.main.inputIndexes = {0, 1};
  model.main.outputIndexes = {3};
  return model;
}

std::vector<float> run(hal::Device& device) {
  std::vector<float> a(32);
  std::vector<float> b(32);
  std::vector<float> out(32);
  for (size_t i = 0; i < a.size(); ++i) {
    a[i] = static_cast<float>(i) * 0.5f - 4.0f;
    b[i] = static_cast<float>(i % 7);
  }
  const auto supported = device.getSupportedOperations(validated(twoStepModel()).value());
  EXPECT_TRUE(supported.ok() && hal::supportsAll(*supported)) << supported.status().toString();
  const auto prepared = device.prepareModel(validated(twoStepModel()).value(), {});
  EXPECT_TRUE(prepared.ok()) << prepared.status().toString();
  if (!prepared.ok()) return {};
  hal::Request request;
  for (std::vector<float>* values : {&a, &b, &out}) {
    hal::RequestArgument argument;
    argument.kind = hal::RequestArgument::Kind::POINTER;
    argument.pointer = values->data();
    argument.length = static_cast<uint32_t>(values->size() * sizeof(float));
    (values == &out ? request.outputs : request.inputs).push_back(argument);
  }
  const auto result = (*prepared)->executeSynchronously(request, {});
  EXPECT_TRUE(result.status.ok()) << result.status.toString();
  return out;
}

TEST(ReferenceDriverTest, OffersTheTfliteExtensionUnlessAPersonalitySaysOtherwise) {
  const auto device = makeReferenceDevice({});
  ASSERT_TRUE(device.ok()) << device.status().toString();
  EXPECT_TRUE(hal::offersExtension((*device)->info(), kTfliteExtension));
  EXPECT_TRUE(defaultPersonality().info.extensions.empty());
}

TEST(ReferenceDriverTest, AnswersAreTheSameInItsOwnProcess) {
  const auto made = makeReferenceDevice();
  ASSERT_TRUE(made.ok()) << made.status().toString();
  const auto& direct = *made;
  EXPECT_EQ(direct->processId(), ::getpid());
  const std::vector<float> expected = run(*direct);

  const auto manifest =
      hal::loadManifest(HALYARD_BINARY_DIR "/share/halyard/drivers.d/reference.json");
  ASSERT_TRUE(manifest.ok()) << manifest.status().toString();
  EXPECT_EQ(manifest->name, "halyard-reference");
  auto loop = hal::RpcLoop::start();
  ASSERT_TRUE(loop.ok()) << loop.status().toString();
  const auto remote = hal::RemoteDevice::open(*loop, *manifest);
  ASSERT_TRUE(remote.ok()) << remote.status().toString();
  EXPECT_NE((*remote)->processId(), ::getpid());
  EXPECT_EQ(run(**remote), expected);
  // Checked by hand at one place: a = -4 + 20 * 0.5 = 6, b = 6, min(12, 6) + 6.
  EXPECT_EQ(expected[20], 12.0f);

  const hal::DeviceInfo& here = direct->info();
  const hal::DeviceInfo& there = (*remote)->info();
  EXPECT_EQ(here.name, there.name);
  EXPECT_EQ(here.versionString, there.versionString);
  EXPECT_EQ(here.type, there.type);
  EXPECT_EQ(there.capabilities.lookup(OperandType::TENSOR_FLOAT32).execTime, 1.1f);
}

}  // namespace
}  // namespace halyard::drivers
