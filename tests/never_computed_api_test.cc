// Models that can never be computed though each part of them is legal. They compile everywhere, and
// every execution gives the reason of its failure. Through the C API, on devices of all kinds.
#include <gmock/gmock.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "api/api_for_test.h"
#include "manifests_for_test.h"
#include "test_definitions.h"

namespace halyard::api::testing {
namespace {

using Json = nlohmann::json;
using ::testing::HasSubstr;

constexpr const char* kPlain = "test-plain";
constexpr const char* kOld = "test-old";
constexpr const char* kDriver = "halyard-cpu";
constexpr const char* kLibrary = "halyard-reference";  // in this process
constexpr std::array<const char*, 5> kAll = {kPlain, kOld, kDriver, kLibrary, kCpuDevice};

// One model, and the expected reason.
struct Case {
  const char* name;
  client::Model (*make)();
  const char* reason;
  std::vector<bool> supported;
  size_t inputs;
  size_t inputBytes;
  size_t outputBytes;
};

client::Model finished(client::Model model) {
  EXPECT_NN_OK(model.finish());
  return model;
}

// out = relu(a) + b with an invalid activation.
client::Model wrongActivation() {
  auto model = newModel();
  for (int i = 0; i < 4; ++i) {
    EXPECT_NN_OK(model.addOperand(ANEURALNETWORKS_TENSOR_FLOAT32, {2, 2}));
  }
  EXPECT_NN_OK(model.addOperand(ANEURALNETWORKS_INT32));
  const int32_t wrong = 999;
  EXPECT_NN_OK(model.setOperandValue(4, &wrong, sizeof wrong));
  EXPECT_NN_OK(model.addOperation(ANEURALNETWORKS_ADD, {2, 1, 4}, {3}));
  EXPECT_NN_OK(model.addOperation(ANEURALNETWORKS_RELU, {0}, {2}));
  EXPECT_NN_OK(model.identifyInputsAndOutputs({0, 1}, {3}));
  return finished(std::move(model));
}

client::Model wrongShapes() { return finished(addModel({3, 2}, {2, 2}, {3, 2})); }

// The declared dimensions of the temporary differ from the computed ones.
client::Model wrongTemporary() {
  auto model = newModel();
  EXPECT_NN_OK(model.addOperand(ANEURALNETWORKS_TENSOR_FLOAT32, {2, 3}));
  EXPECT_NN_OK(model.addOperand(ANEURALNETWORKS_TENSOR_FLOAT32, {3, 2}));
  EXPECT_NN_OK(model.addOperand(ANEURALNETWORKS_TENSOR_FLOAT32, {3, 2}));
  EXPECT_NN_OK(model.addOperation(ANEURALNETWORKS_RELU, {0}, {1}));
  EXPECT_NN_OK(model.addOperation(ANEURALNETWORKS_RELU, {1}, {2}));
  EXPECT_NN_OK(model.identifyInputsAndOutputs({0}, {2}));
  return finished(std::move(model));
}

// The block sizes are in memory of the application.
client::Model wrongBlocksInMemory() {
  auto model = newModel();
  EXPECT_NN_OK(model.addOperand(ANEURALNETWORKS_TENSOR_FLOAT32, {1, 2, 2, 1}));
  EXPECT_NN_OK(model.addOperand(ANEURALNETWORKS_TENSOR_INT32, {2}));
  EXPECT_NN_OK(model.addOperand(ANEURALNETWORKS_TENSOR_FLOAT32, {1, 2, 2, 1}));
  const int fd = ::memfd_create("blocks", MFD_CLOEXEC);
  const int32_t blocks[] = {0, 1};
  EXPECT_EQ(::pwrite(fd, blocks, sizeof blocks, 64), ssize_t{sizeof blocks});
  ANeuralNetworksMemory* memory = nullptr;
  EXPECT_NN_OK(ANeuralNetworksMemory_createFromFd(72, PROT_READ, fd, 0, &memory));
  ::close(fd);
  EXPECT_NN_OK(model.setOperandValueFromMemory(1, memory, 64, 8));
  EXPECT_NN_OK(model.addOperation(ANEURALNETWORKS_BATCH_TO_SPACE_ND, {0, 1}, {2}));
  EXPECT_NN_OK(model.identifyInputsAndOutputs({0}, {2}));
  model = finished(std::move(model));
  ANeuralNetworksMemory_free(memory);
  return model;
}

const std::vector<Case>& cases() {
  static const std::vector<Case> list = {
      {"activation", wrongActivation, "#0 ADD: activation", {false, true}, 2, 16, 16},
      {"shapes", wrongShapes, "#0 ADD: ", {false}, 2, 0, 24},
      {"temporary",
       wrongTemporary,
       "#0 RELU: output 0 (operand #1): its dimensions are [2,3]",
       {false, true},
       1,
       24,
       24},
      {"blocks",
       wrongBlocksInMemory,
       "#0 BATCH_TO_SPACE_ND: block sizes are 0 and 1",
       {false},
       1,
       16,
       16}};
  return list;
}

class NeverComputed : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    static ::halyard::testing::Manifests manifests;
    manifests.add(kPlain, REFERENCE_DRIVER, R"({"threads": 1})");
    manifests.add(kOld, REFERENCE_DRIVER, R"({"threads": 1, "hal_version": "1.1"})", "1.1");
    manifests.add(kDriver, CPU_DRIVER);
    manifests.addLibrary(kLibrary, REFERENCE_LIBRARY);
    manifests.use();
    ::setenv("HALYARD_LOG", "quiet", 1);
  }
  void TearDown() override { ::unsetenv("HALYARD_REQUIRE_DEVICE"); }

  static Json reportOf(const client::Compilation& compilation) {
    std::string text;
    EXPECT_NN_OK(compilation.report(text));
    const Json report = Json::parse(text, nullptr, false);
    return report;
  }
  static size_t countEvents(const Json& report, const std::string& kind) {
    size_t count = 0;
    for (const Json& event : report.at("events")) count += event.at("kind") == kind ? 1 : 0;
    return count;
  }

  client::Execution argumentsFor(const Case& wrong, ANeuralNetworksCompilation* compilation) {
    auto execution = newExecution(compilation);
    for (size_t i = 0; i < wrong.inputs; ++i) {
      const size_t bytes = wrong.inputBytes != 0 ? wrong.inputBytes : i == 0 ? 24 : 16;
      EXPECT_NN_OK(execution.setInput(static_cast<int32_t>(i), nullptr, in_.data(), bytes));
    }
    EXPECT_NN_OK(execution.setOutput(0, nullptr, out_.data(), wrong.outputBytes));
    return execution;
  }

  // Executes in every way, repeatedly.
  void expectFailures(const Case& wrong, ANeuralNetworksCompilation* compilation) {
    for (int round = 0; round < 2; ++round) {
      auto execution = argumentsFor(wrong, compilation);
      EXPECT_NN_OK(execution.setReusable(true));
      for (int i = 0; i < 3; ++i) {
        EXPECT_NN_ERROR(execution.compute(), ANEURALNETWORKS_OP_FAILED, wrong.reason);
      }
      execution = argumentsFor(wrong, compilation);
      client::Burst burst;
      EXPECT_NN_OK(burst.create(compilation));
      EXPECT_NN_ERROR(execution.burstCompute(burst.get()), ANEURALNETWORKS_OP_FAILED, wrong.reason);

      execution = argumentsFor(wrong, compilation);
      client::Event event;
      EXPECT_NN_OK(execution.startCompute(event));
      EXPECT_NN_ERROR(event.wait(), ANEURALNETWORKS_OP_FAILED, wrong.reason);

      execution = argumentsFor(wrong, compilation);
      EXPECT_NN_ERROR(execution.startComputeWithDependencies({}, 0, event),
                      ANEURALNETWORKS_OP_FAILED, wrong.reason);
      EXPECT_EQ(event, nullptr);
    }
  }

  // The report gives the reason, and shows no other attempt.
  static void expectReport(const Case& wrong, const client::Compilation& compilation) {
    const Json report = reportOf(compilation);
    EXPECT_EQ(report.at("partitions").size(), 0U);
    ASSERT_EQ(report.at("events").size(), 1U) << report.at("events").dump(2);
    const Json& event = report.at("events")[0];
    EXPECT_EQ(event.at("kind"), "NEVER_COMPUTED");
    EXPECT_EQ(event.at("operations"), Json::array({0}));
    EXPECT_THAT(event.at("cause").get<std::string>(), HasSubstr(wrong.reason));
  }

  // The device still computes a valid model.
  static void expectHealthy(const char* name) {
    auto model = finished(addModel({2}, {2}, {2}));
    const auto compilation = compileFor(model.get(), deviceNamed(name));
    const auto execution = newExecution(compilation.get());
    const float a[] = {1, 2};
    float out[2] = {};
    for (int32_t i : {0, 1}) {
      EXPECT_NN_OK(execution.setInput(i, nullptr, a, sizeof a));
    }
    EXPECT_NN_OK(execution.setOutput(0, nullptr, out, sizeof out));
    EXPECT_NN_OK(execution.compute());
    EXPECT_EQ(out[1], 4);
  }

  std::array<float, 16> in_ = {};
  std::array<float, 16> out_ = {};
};

TEST_F(NeverComputed, CompilesAndFailsInEveryExecutionOnEachDevice) {
  for (const char* name : kAll) {
    int64_t before = 0;
    expectHealthy(name);
    EXPECT_EQ(halyard_deviceProcessId(deviceNamed(name), &before), ANEURALNETWORKS_NO_ERROR);
    for (const Case& wrong : cases()) {
      SCOPED_TRACE(fmt::format("{} on {}", wrong.name, name));
      const auto model = wrong.make();
      const auto compilation = compileFor(model.get(), deviceNamed(name));
      expectFailures(wrong, compilation.get());
      expectReport(wrong, compilation);
    }
    int64_t after = 0;
    EXPECT_EQ(halyard_deviceProcessId(deviceNamed(name), &after), ANEURALNETWORKS_NO_ERROR);
    EXPECT_EQ(before, after) << name << " was started again";
    expectHealthy(name);
  }
}

TEST_F(NeverComputed, WithSeveralDevicesAndWithAll) {
  for (const Case& wrong : cases()) {
    SCOPED_TRACE(wrong.name);
    const auto model = wrong.make();
    const ANeuralNetworksDevice* const both[] = {deviceNamed(kPlain), deviceNamed(kDriver)};
    client::Compilation some;
    EXPECT_NN_OK(some.createForDevices(model.get(), {both, 2}));
    EXPECT_NN_OK(some.finish());
    expectFailures(wrong, some.get());
    expectReport(wrong, some);
    client::Compilation all;
    EXPECT_NN_OK(all.create(model.get()));
    EXPECT_NN_OK(all.finish());
    expectFailures(wrong, all.get());
    expectReport(wrong, all);
  }
}

TEST_F(NeverComputed, StrictModeSaysItAsAWarning) {
  ::setenv("HALYARD_REQUIRE_DEVICE", kPlain, 1);
  const Case& wrong = cases()[0];
  const auto model = wrong.make();
  client::Compilation compilation;
  EXPECT_NN_OK(compilation.create(model.get()));
  ::testing::internal::CaptureStderr();
  ::setenv("HALYARD_LOG", "warning", 1);
  EXPECT_NN_OK(compilation.finish());
  ::setenv("HALYARD_LOG", "quiet", 1);
  EXPECT_THAT(::testing::internal::GetCapturedStderr(), HasSubstr(wrong.reason));
  expectFailures(wrong, compilation.get());
  expectReport(wrong, compilation);
}

TEST_F(NeverComputed, NothingIsCached) {
  std::string folder = (std::filesystem::temp_directory_path() / "halyard-never-XXXXXX").string();
  ASSERT_NE(::mkdtemp(folder.data()), nullptr);
  const uint8_t token[ANEURALNETWORKS_BYTE_SIZE_OF_CACHE_TOKEN] = {3};
  for (const char* name : {kDriver, kLibrary}) {
    const Case& wrong = cases()[0];
    const auto model = wrong.make();
    const ANeuralNetworksDevice* const device = deviceNamed(name);
    for (int round = 0; round < 2; ++round) {
      client::Compilation compilation;
      EXPECT_NN_OK(compilation.createForDevices(model.get(), {&device, 1}));
      EXPECT_NN_OK(compilation.setCaching(folder.c_str(), token));
      EXPECT_NN_OK(compilation.finish());
      expectFailures(wrong, compilation.get());
    }
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder));
  std::filesystem::remove_all(folder);
}

TEST_F(NeverComputed, TheQueryBeforeSaysWhichOperations) {
  for (const char* name : kAll) {
    for (const Case& wrong : cases()) {
      SCOPED_TRACE(fmt::format("{} on {}", wrong.name, name));
      const auto model = wrong.make();
      const ANeuralNetworksDevice* const device = deviceNamed(name);
      std::array<bool, 2> supported = {};
      ::testing::internal::CaptureStderr();
      ::setenv("HALYARD_LOG", "warning", 1);
      EXPECT_NN_OK(ANeuralNetworksModel_getSupportedOperationsForDevices(model.get(), &device, 1,
                                                                         supported.data()));
      ::setenv("HALYARD_LOG", "quiet", 1);
      EXPECT_THAT(::testing::internal::GetCapturedStderr(), HasSubstr(wrong.reason));
      for (size_t n = 0; n < wrong.supported.size(); ++n) {
        // An old driver refuses a slice that is not valid by itself.
        if (wrong.supported[n] && name == std::string_view(kOld)) continue;
        EXPECT_EQ(supported[n], wrong.supported[n]) << n;
      }
    }
  }
}

TEST_F(NeverComputed, MemoryOfItsOwnDeviceIsNotInitialised) {
  const Case& wrong = cases()[0];
  for (const char* name : {kPlain, kDriver, kCpuDevice}) {
    SCOPED_TRACE(name);
    const auto model = wrong.make();
    const auto compilation = compileFor(model.get(), deviceNamed(name));
    ANeuralNetworksMemoryDesc* desc = nullptr;
    EXPECT_NN_OK(ANeuralNetworksMemoryDesc_create(&desc));
    EXPECT_NN_OK(ANeuralNetworksMemoryDesc_addOutputRole(desc, compilation.get(), 0, 1));
    EXPECT_NN_OK(ANeuralNetworksMemoryDesc_finish(desc));
    ANeuralNetworksMemory* made = nullptr;
    EXPECT_NN_OK(ANeuralNetworksMemory_createFromDesc(desc, &made));
    ANeuralNetworksMemoryDesc_free(desc);
    const client::Memory memory(made);
    const int fd = ::memfd_create("plain", MFD_CLOEXEC);
    ASSERT_EQ(::ftruncate(fd, 16), 0);
    EXPECT_NN_OK(ANeuralNetworksMemory_createFromFd(16, PROT_READ | PROT_WRITE, fd, 0, &made));
    ::close(fd);
    const client::Memory plain(made);
    EXPECT_NN_OK(ANeuralNetworksMemory_copy(plain.get(), memory.get()));
    const auto execution = newExecution(compilation.get());
    for (int32_t i : {0, 1}) {
      EXPECT_NN_OK(execution.setInput(i, nullptr, in_.data(), 16));
    }
    EXPECT_NN_OK(execution.setOutputFromMemory(0, nullptr, memory.get(), 0, 0));
    EXPECT_NN_ERROR(execution.compute(), ANEURALNETWORKS_OP_FAILED, wrong.reason);
    EXPECT_NN_ERROR(ANeuralNetworksMemory_copy(memory.get(), plain.get()), ANEURALNETWORKS_BAD_DATA,
                    "not initialised");
  }
}

// A branch that can never be computed does not make the model invalid: it may not run.
TEST_F(NeverComputed, OnlyABranchFailsWhenItIsTaken) {
  const auto bad = [] {
    auto model = newModel();
    for (int i = 0; i < 2; ++i) {
      EXPECT_NN_OK(model.addOperand(ANEURALNETWORKS_TENSOR_FLOAT32, {2}));
    }
    EXPECT_NN_OK(model.addOperand(ANEURALNETWORKS_INT32));
    const int32_t wrong = 999;
    EXPECT_NN_OK(model.setOperandValue(2, &wrong, sizeof wrong));
    EXPECT_NN_OK(model.addOperation(ANEURALNETWORKS_ADD, {0, 0, 2}, {1}));
    EXPECT_NN_OK(model.identifyInputsAndOutputs({0}, {1}));
    return finished(std::move(model));
  }();
  const auto good = [] {
    auto model = newModel();
    for (int i = 0; i < 2; ++i) {
      EXPECT_NN_OK(model.addOperand(ANEURALNETWORKS_TENSOR_FLOAT32, {2}));
    }
    EXPECT_NN_OK(model.addOperation(ANEURALNETWORKS_RELU, {0}, {1}));
    EXPECT_NN_OK(model.identifyInputsAndOutputs({0}, {1}));
    return finished(std::move(model));
  }();
  auto model = newModel();
  EXPECT_NN_OK(model.addOperand(ANEURALNETWORKS_TENSOR_BOOL8, {1}));
  EXPECT_NN_OK(model.addOperand(ANEURALNETWORKS_MODEL));
  EXPECT_NN_OK(model.addOperand(ANEURALNETWORKS_MODEL));
  for (int i = 0; i < 2; ++i) {
    EXPECT_NN_OK(model.addOperand(ANEURALNETWORKS_TENSOR_FLOAT32, {2}));
  }
  EXPECT_NN_OK(model.setOperandValueFromModel(1, bad.get()));
  EXPECT_NN_OK(model.setOperandValueFromModel(2, good.get()));
  EXPECT_NN_OK(model.addOperation(ANEURALNETWORKS_IF, {0, 1, 2, 3}, {4}));
  EXPECT_NN_OK(model.identifyInputsAndOutputs({0, 3}, {4}));
  model = finished(std::move(model));
  for (const char* name : {kPlain, kDriver, kLibrary, kCpuDevice}) {
    SCOPED_TRACE(name);
    const auto compilation = compileFor(model.get(), deviceNamed(name));
    EXPECT_EQ(countEvents(reportOf(compilation), "NEVER_COMPUTED"), 0U);
    for (const bool taken : {false, true}) {
      const auto execution = newExecution(compilation.get());
      const float a[] = {-1, 2};
      float out[2] = {};
      EXPECT_NN_OK(execution.setInput(0, nullptr, &taken, 1));
      EXPECT_NN_OK(execution.setInput(1, nullptr, a, sizeof a));
      EXPECT_NN_OK(execution.setOutput(0, nullptr, out, sizeof out));
      if (taken) {
        EXPECT_NN_ERROR(execution.compute(), ANEURALNETWORKS_OP_FAILED, "activation");
      } else {
        EXPECT_NN_OK(execution.compute());
        EXPECT_EQ(out[0], 0);
        EXPECT_EQ(out[1], 2);
      }
    }
  }
}

}  // namespace
}  // namespace halyard::api::testing
