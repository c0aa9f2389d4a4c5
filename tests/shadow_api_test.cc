// Shadow verification through the C API, with drivers in their own processes.
#include <chrono>
#include <nlohmann/json.hpp>
#include <thread>

#include "api/api_for_test.h"
#include "manifests_for_test.h"
#include "test_definitions.h"

namespace halyard::api::testing {
namespace {

using Json = nlohmann::json;
using ::testing::HasSubstr;

constexpr uint32_t kCount = 16;
constexpr size_t kBytes = kCount * sizeof(float);

// Quarantine holds for the whole process, so each test of a wrong driver has its own driver.
class ShadowApi : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    manifests_ = new ::halyard::testing::Manifests;
    manifests_->add("test-good", REFERENCE_DRIVER, "{}");
    for (const char* name : {"wrong-plain", "wrong-fenced", "wrong-burst", "wrong-buffers"}) {
      manifests_->add(name, REFERENCE_DRIVER, R"({"wrong_values": {"TANH": 0.5}})");
    }
    manifests_->use();
  }

  void SetUp() override {
    // out = tanh(in)
    ASSERT_NN_OK(model_.create());
    ASSERT_NN_OK(model_.addOperand(ANEURALNETWORKS_TENSOR_FLOAT32, {1, kCount}));
    ASSERT_NN_OK(model_.addOperand(ANEURALNETWORKS_TENSOR_FLOAT32, {1, kCount}));
    ASSERT_NN_OK(model_.addOperation(ANEURALNETWORKS_TANH, {0}, {1}));
    ASSERT_NN_OK(model_.identifyInputsAndOutputs({0}, {1}));
    ASSERT_NN_OK(model_.finish());
    for (uint32_t i = 0; i < kCount; ++i) in_[i] = 0.1F * static_cast<float>(i) - 0.75F;
  }

  // The result of finish.
  int compile(const std::string& name, uint32_t interval, client::Compilation* compilation) {
    const ANeuralNetworksDevice* device = deviceNamed(name);
    EXPECT_NN_OK(compilation->createForDevices(model_.get(), {&device, 1}));
    EXPECT_NN_OK(halyard_compilationSetShadow(compilation->get(), interval));
    return compilation->finish();
  }

  static Json shadowOf(const client::Compilation& compilation) {
    std::string text;
    EXPECT_NN_OK(compilation.report(text));
    Json json = Json::parse(text, nullptr, false);
    return json["shadow"];
  }
  // Waits until so many executions are verified.
  static Json shadowAfter(const client::Compilation& compilation, uint64_t verified) {
    for (;;) {
      Json shadow = shadowOf(compilation);
      if (shadow["verified"].get<uint64_t>() >= verified) return shadow;
      if (!shadow["skipped"].empty()) return shadow;
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
  }

  client::Execution withPointers(const client::Compilation& compilation) {
    client::Execution execution = newExecution(compilation.get());
    EXPECT_NN_OK(execution.setInput(0, nullptr, in_, kBytes));
    EXPECT_NN_OK(execution.setOutput(0, nullptr, out_, kBytes));
    return execution;
  }

  // Freeing a compilation waits for pending verifications.
  void expectQuarantined(const std::string& name, client::Compilation compilation) {
    compilation.reset();
    client::Compilation later;
    EXPECT_NE(compile(name, 0, &later), ANEURALNETWORKS_NO_ERROR);
    EXPECT_THAT(halyard_lastErrorText(), HasSubstr("is not used any more in this process"));
  }

  static ::halyard::testing::Manifests* manifests_;
  client::Model model_;
  float in_[kCount] = {};
  float out_[kCount] = {};
};
::halyard::testing::Manifests* ShadowApi::manifests_ = nullptr;

client::Memory bufferFor(const client::Compilation& compilation, bool isInput) {
  client::MemoryDesc desc;
  EXPECT_NN_OK(desc.create());
  EXPECT_EQ(isInput ? desc.addInputRole(compilation.get(), 0, 1.0F)
                    : desc.addOutputRole(compilation.get(), 0, 1.0F),
            ANEURALNETWORKS_NO_ERROR);
  EXPECT_NN_OK(desc.finish());
  client::Memory memory;
  EXPECT_NN_OK(memory.createFromDesc(desc.get()));
  return memory;
}

TEST_F(ShadowApi, AGoodDriverPassesInEveryWay) {
  client::Compilation compilation;
  ASSERT_NN_OK(compile("test-good", 1, &compilation));
  ASSERT_NN_OK(withPointers(compilation).compute());
  Json shadow = shadowAfter(compilation, 1);
  EXPECT_EQ(shadow["verified"], 1) << shadow.dump();
  const client::Execution fenced = withPointers(compilation);
  client::Event event;
  ASSERT_NN_OK(fenced.startComputeWithDependencies({}, 0, event));
  ASSERT_NN_OK(event.wait());
  shadow = shadowAfter(compilation, 2);
  EXPECT_EQ(shadow["verified"], 2) << shadow.dump();
  EXPECT_EQ(shadow["failed"], 0);
  EXPECT_TRUE(shadow["skipped"].empty()) << shadow.dump();
  EXPECT_EQ(halyard_compilationSetShadow(compilation.get(), 1), ANEURALNETWORKS_BAD_STATE);
}

TEST_F(ShadowApi, DriversBuffersAreVerifiedToo) {
  client::Compilation compilation;
  ASSERT_NN_OK(compile("test-good", 1, &compilation));
  const client::Memory in = bufferFor(compilation, true);
  const client::Memory out = bufferFor(compilation, false);
  // The input's contents come from an execution's output: only copies lead into a buffer otherwise.
  // copies.
  const client::Execution first = newExecution(compilation.get());
  ASSERT_NN_OK(first.setInput(0, nullptr, in_, kBytes));
  ASSERT_NN_OK(first.setOutputFromMemory(0, nullptr, out.get(), 0, 0));
  ASSERT_NN_OK(first.compute());
  Json shadow = shadowAfter(compilation, 1);
  ASSERT_EQ(shadow["verified"], 1) << shadow.dump();
  ASSERT_NN_OK(ANeuralNetworksMemory_copy(out.get(), in.get()));
  const client::Execution second = newExecution(compilation.get());
  ASSERT_NN_OK(second.setInputFromMemory(0, nullptr, in.get(), 0, 0));
  ASSERT_NN_OK(second.setOutput(0, nullptr, out_, kBytes));
  ASSERT_NN_OK(second.compute());
  shadow = shadowAfter(compilation, 2);
  EXPECT_EQ(shadow["verified"], 2) << shadow.dump();
  EXPECT_EQ(shadow["failed"], 0);
}

TEST_F(ShadowApi, AWrongDriverIsFound) {
  client::Compilation compilation;
  ASSERT_NN_OK(compile("wrong-plain", 1, &compilation));
  ASSERT_NN_OK(withPointers(compilation).compute());
  expectQuarantined("wrong-plain", std::move(compilation));
}

TEST_F(ShadowApi, AWrongDriverIsFoundByFencedExecutions) {
  client::Compilation compilation;
  ASSERT_NN_OK(compile("wrong-fenced", 1, &compilation));
  const client::Execution execution = withPointers(compilation);
  client::Event event;
  ASSERT_NN_OK(execution.startComputeWithDependencies({}, 0, event));
  ASSERT_NN_OK(event.wait());
  expectQuarantined("wrong-fenced", std::move(compilation));
}

TEST_F(ShadowApi, AWrongDriverIsFoundByBursts) {
  client::Compilation compilation;
  ASSERT_NN_OK(compile("wrong-burst", 1, &compilation));
  client::Burst burst;
  ASSERT_NN_OK(burst.create(compilation.get()));
  ASSERT_NN_OK(withPointers(compilation).burstCompute(burst.get()));
  burst.reset();
  expectQuarantined("wrong-burst", std::move(compilation));
}

TEST_F(ShadowApi, AWrongDriverIsFoundInItsBuffers) {
  client::Compilation compilation;
  ASSERT_NN_OK(compile("wrong-buffers", 1, &compilation));
  const client::Memory out = bufferFor(compilation, false);
  const client::Execution execution = newExecution(compilation.get());
  ASSERT_NN_OK(execution.setInput(0, nullptr, in_, kBytes));
  ASSERT_NN_OK(execution.setOutputFromMemory(0, nullptr, out.get(), 0, 0));
  ASSERT_NN_OK(execution.compute());
  expectQuarantined("wrong-buffers", std::move(compilation));
}

}  // namespace
}  // namespace halyard::api::testing
