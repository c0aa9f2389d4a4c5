// Shadow verification through the C API, with drivers in their own processes.
#include <android/NeuralNetworks.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <halyard/halyard.h>

#include <chrono>
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "manifests_for_test.h"
#include "test_definitions.h"

namespace {

using Json = nlohmann::json;
using ::testing::HasSubstr;

constexpr uint32_t kCount = 16;
constexpr size_t kBytes = kCount * sizeof(float);

template <auto kFree>
struct Deleter {
  template <typename T>
  void operator()(T* object) const {
    kFree(object);
  }
};
using Model = std::unique_ptr<ANeuralNetworksModel, Deleter<&ANeuralNetworksModel_free>>;
using Compilation =
    std::unique_ptr<ANeuralNetworksCompilation, Deleter<&ANeuralNetworksCompilation_free>>;
using Execution =
    std::unique_ptr<ANeuralNetworksExecution, Deleter<&ANeuralNetworksExecution_free>>;
using Memory = std::unique_ptr<ANeuralNetworksMemory, Deleter<&ANeuralNetworksMemory_free>>;
using Desc = std::unique_ptr<ANeuralNetworksMemoryDesc, Deleter<&ANeuralNetworksMemoryDesc_free>>;
using Event = std::unique_ptr<ANeuralNetworksEvent, Deleter<&ANeuralNetworksEvent_free>>;

#define ASSERT_API(call) ASSERT_EQ((call), ANEURALNETWORKS_NO_ERROR) << halyard_lastErrorText()

// Quarantine is for the whole process: each test of a wrong driver has one of its own.
class ShadowApi : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    manifests_ = new halyard::testing::Manifests;
    manifests_->add("test-good", REFERENCE_DRIVER, "{}");
    for (const char* name : {"wrong-plain", "wrong-fenced", "wrong-burst", "wrong-buffers"}) {
      manifests_->add(name, REFERENCE_DRIVER, R"({"wrong_values": {"TANH": 0.5}})");
    }
    manifests_->use();
  }

  void SetUp() override {
    // out = tanh(in)
    ANeuralNetworksModel* made = nullptr;
    ASSERT_API(ANeuralNetworksModel_create(&made));
    model_.reset(made);
    const uint32_t dims[] = {1, kCount};
    const ANeuralNetworksOperandType tensor = {ANEURALNETWORKS_TENSOR_FLOAT32, 2, dims, 0, 0};
    const uint32_t in = 0;
    const uint32_t out = 1;
    ASSERT_API(ANeuralNetworksModel_addOperand(made, &tensor));
    ASSERT_API(ANeuralNetworksModel_addOperand(made, &tensor));
    ASSERT_API(ANeuralNetworksModel_addOperation(made, ANEURALNETWORKS_TANH, 1, &in, 1, &out));
    ASSERT_API(ANeuralNetworksModel_identifyInputsAndOutputs(made, 1, &in, 1, &out));
    ASSERT_API(ANeuralNetworksModel_finish(made));
    for (uint32_t i = 0; i < kCount; ++i) in_[i] = 0.1F * static_cast<float>(i) - 0.75F;
  }

  static const ANeuralNetworksDevice* deviceNamed(const std::string& name) {
    uint32_t count = 0;
    ANeuralNetworks_getDeviceCount(&count);
    for (uint32_t i = 0; i < count; ++i) {
      ANeuralNetworksDevice* device = nullptr;
      const char* found = nullptr;
      ANeuralNetworks_getDevice(i, &device);
      ANeuralNetworksDevice_getName(device, &found);
      if (name == found) return device;
    }
    ADD_FAILURE() << "no device " << name;
    return nullptr;
  }

  // The result of finish.
  int compile(const std::string& name, uint32_t interval, Compilation* compilation) {
    const ANeuralNetworksDevice* device = deviceNamed(name);
    ANeuralNetworksCompilation* made = nullptr;
    EXPECT_EQ(ANeuralNetworksCompilation_createForDevices(model_.get(), &device, 1, &made),
              ANEURALNETWORKS_NO_ERROR);
    compilation->reset(made);
    EXPECT_EQ(halyard_compilationSetShadow(made, interval), ANEURALNETWORKS_NO_ERROR);
    return ANeuralNetworksCompilation_finish(made);
  }

  static Json shadowOf(const Compilation& compilation) {
    char* text = nullptr;
    EXPECT_EQ(halyard_compilationReport(compilation.get(), &text), ANEURALNETWORKS_NO_ERROR);
    Json json = Json::parse(text, nullptr, false);
    halyard_free(text);
    return json["shadow"];
  }
  // Once so many have been verified.
  static Json shadowAfter(const Compilation& compilation, uint64_t verified) {
    for (;;) {
      Json shadow = shadowOf(compilation);
      if (shadow["verified"].get<uint64_t>() >= verified) return shadow;
      if (!shadow["skipped"].empty()) return shadow;
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
  }

  Execution newExecution(const Compilation& compilation) {
    ANeuralNetworksExecution* made = nullptr;
    EXPECT_EQ(ANeuralNetworksExecution_create(compilation.get(), &made), ANEURALNETWORKS_NO_ERROR);
    return Execution(made);
  }
  Execution withPointers(const Compilation& compilation) {
    Execution execution = newExecution(compilation);
    EXPECT_EQ(ANeuralNetworksExecution_setInput(execution.get(), 0, nullptr, in_, kBytes),
              ANEURALNETWORKS_NO_ERROR);
    EXPECT_EQ(ANeuralNetworksExecution_setOutput(execution.get(), 0, nullptr, out_, kBytes),
              ANEURALNETWORKS_NO_ERROR);
    return execution;
  }

  // Freeing a compilation waits for what is being verified.
  void expectQuarantined(const std::string& name, Compilation compilation) {
    compilation.reset();
    Compilation later;
    EXPECT_NE(compile(name, 0, &later), ANEURALNETWORKS_NO_ERROR);
    EXPECT_THAT(halyard_lastErrorText(), HasSubstr("is not used any more in this process"));
  }

  static halyard::testing::Manifests* manifests_;
  Model model_;
  float in_[kCount] = {};
  float out_[kCount] = {};
};
halyard::testing::Manifests* ShadowApi::manifests_ = nullptr;

Memory bufferFor(const Compilation& compilation, bool isInput) {
  ANeuralNetworksMemoryDesc* made = nullptr;
  EXPECT_EQ(ANeuralNetworksMemoryDesc_create(&made), ANEURALNETWORKS_NO_ERROR);
  const Desc desc(made);
  EXPECT_EQ(isInput ? ANeuralNetworksMemoryDesc_addInputRole(made, compilation.get(), 0, 1.0F)
                    : ANeuralNetworksMemoryDesc_addOutputRole(made, compilation.get(), 0, 1.0F),
            ANEURALNETWORKS_NO_ERROR);
  EXPECT_EQ(ANeuralNetworksMemoryDesc_finish(made), ANEURALNETWORKS_NO_ERROR);
  ANeuralNetworksMemory* memory = nullptr;
  EXPECT_EQ(ANeuralNetworksMemory_createFromDesc(made, &memory), ANEURALNETWORKS_NO_ERROR);
  return Memory(memory);
}

TEST_F(ShadowApi, AGoodDriverPassesInEveryWay) {
  Compilation compilation;
  ASSERT_API(compile("test-good", 1, &compilation));
  ASSERT_API(ANeuralNetworksExecution_compute(withPointers(compilation).get()));
  Json shadow = shadowAfter(compilation, 1);
  EXPECT_EQ(shadow["verified"], 1) << shadow.dump();
  const Execution fenced = withPointers(compilation);
  ANeuralNetworksEvent* event = nullptr;
  ASSERT_API(
      ANeuralNetworksExecution_startComputeWithDependencies(fenced.get(), nullptr, 0, 0, &event));
  ASSERT_API(ANeuralNetworksEvent_wait(event));
  ANeuralNetworksEvent_free(event);
  shadow = shadowAfter(compilation, 2);
  EXPECT_EQ(shadow["verified"], 2) << shadow.dump();
  EXPECT_EQ(shadow["failed"], 0);
  EXPECT_TRUE(shadow["skipped"].empty()) << shadow.dump();
  EXPECT_EQ(halyard_compilationSetShadow(compilation.get(), 1), ANEURALNETWORKS_BAD_STATE);
}

TEST_F(ShadowApi, DriversBuffersAreVerifiedToo) {
  Compilation compilation;
  ASSERT_API(compile("test-good", 1, &compilation));
  const Memory in = bufferFor(compilation, true);
  const Memory out = bufferFor(compilation, false);
  // The input's contents come from an execution's output: no other way leads into a buffer but
  // copies.
  const Execution first = newExecution(compilation);
  ASSERT_API(ANeuralNetworksExecution_setInput(first.get(), 0, nullptr, in_, kBytes));
  ASSERT_API(
      ANeuralNetworksExecution_setOutputFromMemory(first.get(), 0, nullptr, out.get(), 0, 0));
  ASSERT_API(ANeuralNetworksExecution_compute(first.get()));
  Json shadow = shadowAfter(compilation, 1);
  ASSERT_EQ(shadow["verified"], 1) << shadow.dump();
  ASSERT_API(ANeuralNetworksMemory_copy(out.get(), in.get()));
  const Execution second = newExecution(compilation);
  ASSERT_API(ANeuralNetworksExecution_setInputFromMemory(second.get(), 0, nullptr, in.get(), 0, 0));
  ASSERT_API(ANeuralNetworksExecution_setOutput(second.get(), 0, nullptr, out_, kBytes));
  ASSERT_API(ANeuralNetworksExecution_compute(second.get()));
  shadow = shadowAfter(compilation, 2);
  EXPECT_EQ(shadow["verified"], 2) << shadow.dump();
  EXPECT_EQ(shadow["failed"], 0);
}

TEST_F(ShadowApi, AWrongDriverIsFound) {
  Compilation compilation;
  ASSERT_API(compile("wrong-plain", 1, &compilation));
  ASSERT_API(ANeuralNetworksExecution_compute(withPointers(compilation).get()));
  expectQuarantined("wrong-plain", std::move(compilation));
}

TEST_F(ShadowApi, AWrongDriverIsFoundByFencedExecutions) {
  Compilation compilation;
  ASSERT_API(compile("wrong-fenced", 1, &compilation));
  const Execution execution = withPointers(compilation);
  ANeuralNetworksEvent* event = nullptr;
  ASSERT_API(ANeuralNetworksExecution_startComputeWithDependencies(execution.get(), nullptr, 0, 0,
                                                                   &event));
  const Event owner(event);
  ASSERT_API(ANeuralNetworksEvent_wait(event));
  expectQuarantined("wrong-fenced", std::move(compilation));
}

TEST_F(ShadowApi, AWrongDriverIsFoundByBursts) {
  Compilation compilation;
  ASSERT_API(compile("wrong-burst", 1, &compilation));
  ANeuralNetworksBurst* burst = nullptr;
  ASSERT_API(ANeuralNetworksBurst_create(compilation.get(), &burst));
  ASSERT_API(ANeuralNetworksExecution_burstCompute(withPointers(compilation).get(), burst));
  ANeuralNetworksBurst_free(burst);
  expectQuarantined("wrong-burst", std::move(compilation));
}

TEST_F(ShadowApi, AWrongDriverIsFoundInItsBuffers) {
  Compilation compilation;
  ASSERT_API(compile("wrong-buffers", 1, &compilation));
  const Memory out = bufferFor(compilation, false);
  const Execution execution = newExecution(compilation);
  ASSERT_API(ANeuralNetworksExecution_setInput(execution.get(), 0, nullptr, in_, kBytes));
  ASSERT_API(
      ANeuralNetworksExecution_setOutputFromMemory(execution.get(), 0, nullptr, out.get(), 0, 0));
  ASSERT_API(ANeuralNetworksExecution_compute(execution.get()));
  expectQuarantined("wrong-buffers", std::move(compilation));
}

}  // namespace
