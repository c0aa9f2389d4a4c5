// Long series of executions and compilations leak no memory, descriptors or threads, in the
// application and in the driver's process.
//
//   HALYARD_GROWTH_EXECUTIONS=1000000    the total; some thousands by default
//   HALYARD_GROWTH_COMPILATIONS=10000
#include <halyard/driver/sync_fence.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <functional>
#include <optional>
#include <thread>

#include "api/api_for_test.h"
#include "manifests_for_test.h"
#include "test_definitions.h"

namespace halyard::api::testing {
namespace {

namespace fs = std::filesystem;

// The resources of a process.
struct Holdings {
  size_t kilobytes = 0;               // resident, without mappings of files
  std::optional<size_t> descriptors;  // nullopt when they are not readable
  size_t threads = 0;

  std::string text() const {
    return fmt::format("{} KiB, {} descriptors, {} threads", kilobytes,
                       descriptors ? std::to_string(*descriptors) : "?", threads);
  }
};

Holdings holdingsOf(pid_t pid) {
  Holdings held;
  const fs::path process = fs::path("/proc") / std::to_string(pid);
  std::ifstream status(process / "status");
  for (std::string word; status >> word;) {
    size_t value = 0;
    if ((word == "RssAnon:" || word == "RssShmem:") && status >> value) held.kilobytes += value;
    if (word == "Threads:" && status >> value) held.threads = value;
  }
  std::error_code error;
  size_t count = 0;
  for (fs::directory_iterator it(process / "fd", error), end; !error && it != end;
       it.increment(error)) {
    ++count;
  }
  if (!error) held.descriptors = count;
  return held;
}

size_t numberFrom(const char* variable, size_t otherwise) {
  const char* const text = std::getenv(variable);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

constexpr const char* kAll = R"({"threads": 1})";
constexpr const char* kAdd = R"({"threads": 1, "supports": {"operations": ["ADD"]}})";
constexpr const char* kMul = R"({"threads": 1, "supports": {"operations": ["MUL"]}})";

class Growth : public ::testing::Test {
 protected:
  // Freed memory that the C library keeps, and caches that fill late.
  static constexpr size_t kSlackKilobytes = 512;
  // Idle threads for executions start and end.
  static constexpr size_t kSlackThreads = 3;
  static constexpr size_t kSlackDescriptors = 6;

  static void SetUpTestSuite() {
    static ::halyard::testing::Manifests manifests;
    manifests.add("growth-all", REFERENCE_DRIVER, kAll);
    manifests.add("growth-add", REFERENCE_DRIVER, kAdd);
    manifests.add("growth-mul", REFERENCE_DRIVER, kMul);
    manifests.use();
  }

  // out = (a + b) * b
  static client::Model sumAndProduct() {
    auto model = newModel();
    for (int i = 0; i < 4; ++i) {
      EXPECT_NN_OK(model.addOperand(ANEURALNETWORKS_TENSOR_FLOAT32, {kCount}));
    }
    EXPECT_NN_OK(model.addOperand(ANEURALNETWORKS_INT32));
    const int32_t none = ANEURALNETWORKS_FUSED_NONE;
    EXPECT_NN_OK(model.setOperandValue(4, &none, sizeof none));
    EXPECT_NN_OK(model.addOperation(ANEURALNETWORKS_ADD, {0, 1, 4}, {2}));
    EXPECT_NN_OK(model.addOperation(ANEURALNETWORKS_MUL, {2, 1, 4}, {3}));
    EXPECT_NN_OK(model.identifyInputsAndOutputs({0, 1}, {3}));
    EXPECT_NN_OK(model.finish());
    return model;
  }
  client::Compilation compile(ANeuralNetworksModel* model) const {
    ANeuralNetworksCompilation* compilation = nullptr;
    EXPECT_NN_OK(ANeuralNetworksCompilation_createForDevices(
        model, devices_.data(), static_cast<uint32_t>(devices_.size()), &compilation));
    EXPECT_NN_OK(ANeuralNetworksCompilation_finish(compilation));
    return client::Compilation(compilation);
  }

  // One execution in one of the ways. It uses gtest's macros only for failures: a million uses
  // would dominate the measurement.
  bool execute(ANeuralNetworksCompilation* compilation, ANeuralNetworksBurst* burst, size_t way) {
    ANeuralNetworksExecution* made = nullptr;
    if (ANeuralNetworksExecution_create(compilation, &made) != 0) return false;
    const client::Execution execution(made);
    const auto value = static_cast<float>(way % 100);
    const float a[kCount] = {value, 2, 3, 4};
    const float b[kCount] = {1, 2, 3, value};
    float out[kCount] = {};
    int code = ANeuralNetworksExecution_setInput(made, 0, nullptr, a, sizeof a);
    code |= ANeuralNetworksExecution_setInput(made, 1, nullptr, b, sizeof b);
    code |= ANeuralNetworksExecution_setOutput(made, 0, nullptr, out, sizeof out);
    switch (way % 4) {
      case 0:
        code |= ANeuralNetworksExecution_compute(made);
        break;
      case 1:
        code |= ANeuralNetworksExecution_burstCompute(made, burst);
        break;
      case 2:
        code |= waitFor([&](ANeuralNetworksEvent** event) {
          return ANeuralNetworksExecution_startCompute(made, event);
        });
        break;
      default:
        code |= computeFenced(made);
    }
    return code == ANEURALNETWORKS_NO_ERROR && out[0] == value + 1 && out[3] == (4 + value) * value;
  }
  static int waitFor(const std::function<int(ANeuralNetworksEvent**)>& start) {
    ANeuralNetworksEvent* event = nullptr;
    int code = start(&event);
    if (code != 0) return code;
    code = ANeuralNetworksEvent_wait(event);
    ANeuralNetworksEvent_free(event);
    return code;
  }
  static int computeFenced(ANeuralNetworksExecution* execution) {
    Result<NewFence> fence = createFence();
    if (!fence.ok()) return ANEURALNETWORKS_OP_FAILED;
    ANeuralNetworksEvent* before = nullptr;
    int code = ANeuralNetworksEvent_createFromSyncFenceFd(fence->fence.get(), &before);
    const client::Event owner(before);
    code |= waitFor([&](ANeuralNetworksEvent** event) {
      const int started =
          ANeuralNetworksExecution_startComputeWithDependencies(execution, &before, 1, 0, event);
      fence->signaller.signal();
      return started;
    });
    return code;
  }

  std::vector<pid_t> processes() const {
    std::vector<pid_t> pids = {::getpid()};
    for (const ANeuralNetworksDevice* device : devices_) {
      int64_t pid = 0;
      EXPECT_EQ(halyard_deviceProcessId(device, &pid), 0);
      pids.push_back(static_cast<pid_t>(pid));
    }
    return pids;
  }
  std::vector<Holdings> holdings() const {
    std::vector<Holdings> held;
    for (const pid_t pid : processes()) held.push_back(holdingsOf(pid));
    return held;
  }
  static bool hasGrown(const Holdings& now, const Holdings& before) {
    return now.kilobytes > before.kilobytes + kSlackKilobytes ||
           now.threads > before.threads + kSlackThreads ||
           (now.descriptors && before.descriptors &&
            *now.descriptors > *before.descriptors + kSlackDescriptors);
  }

  // Runs `round` `count` times, after a warm-up of a tenth of that.
  void expectNoGrowth(const char* what, size_t count, const std::function<bool(size_t)>& round) {
    const std::vector<pid_t> pids = processes();
    for (size_t i = 0; i < std::max<size_t>(count / 10, 400); ++i) {
      ASSERT_TRUE(round(i)) << what << " " << i << ": " << halyard_lastErrorText();
    }
    const std::vector<Holdings> before = holdings();
    for (size_t i = 0; i < count; ++i) {
      ASSERT_TRUE(round(i)) << what << " " << i << ": " << halyard_lastErrorText();
    }
    // The last objects are released in the background.
    std::vector<Holdings> after = holdings();
    for (int attempt = 0; attempt < 100; ++attempt) {
      bool grown = false;
      for (size_t i = 0; i < after.size(); ++i) grown = grown || hasGrown(after[i], before[i]);
      if (!grown) break;
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      after = holdings();
    }
    EXPECT_EQ(processes(), pids) << "a driver has been started again";
    for (size_t i = 0; i < after.size(); ++i) {
      const std::string name = i == 0 ? "application" : fmt::format("driver {}", i - 1);
      fmt::print("{} {}, {}: {} before, {} after\n", count, what, name, before[i].text(),
                 after[i].text());
      EXPECT_FALSE(hasGrown(after[i], before[i])) << name;
    }
  }

  void executions(size_t count) {
    const auto model = sumAndProduct();
    const auto compilation = compile(model.get());
    client::Burst burst;
    ASSERT_NN_OK(burst.create(compilation.get()));
    expectNoGrowth("executions", count,
                   [&](size_t i) { return execute(compilation.get(), burst.get(), i); });
  }
  void compilations(size_t count) {
    expectNoGrowth("compilations", count, [&](size_t i) {
      const auto model = sumAndProduct();
      const auto compilation = compile(model.get());
      ANeuralNetworksBurst* made = nullptr;
      if (ANeuralNetworksBurst_create(compilation.get(), &made) != 0) return false;
      const client::Burst burst(made);
      return execute(compilation.get(), burst.get(), i);
    });
  }

  static constexpr uint32_t kCount = 4;
  std::vector<const ANeuralNetworksDevice*> devices_;
};

TEST_F(Growth, Executions) {
  devices_ = {deviceNamed("growth-all")};
  executions(numberFrom("HALYARD_GROWTH_EXECUTIONS", 4000));
}

TEST_F(Growth, Compilations) {
  devices_ = {deviceNamed("growth-all")};
  compilations(numberFrom("HALYARD_GROWTH_COMPILATIONS", 300));
}

// The same with a model that is divided between two drivers.
TEST_F(Growth, ExecutionsOfSeveralPartitions) {
  devices_ = {deviceNamed("growth-add"), deviceNamed("growth-mul")};
  executions(numberFrom("HALYARD_GROWTH_EXECUTIONS", 4000) / 5);
}

TEST_F(Growth, CompilationsOfSeveralPartitions) {
  devices_ = {deviceNamed("growth-add"), deviceNamed("growth-mul")};
  compilations(numberFrom("HALYARD_GROWTH_COMPILATIONS", 300) / 5);
}

}  // namespace
}  // namespace halyard::api::testing
