// Models that are divided between two driver processes, through the C API. Every kind of execution
// and memory works as with one device. Functions that need one device return an error with that
// reason.
#include <halyard/driver/sync_fence.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <thread>

#include "api/api_for_test.h"
#include "manifests_for_test.h"
#include "test_definitions.h"

namespace halyard::api::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr const char* kAddDriver = "compound-add";
constexpr const char* kMulDriver = "compound-mul";

class CompoundPlans : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    constexpr const char* kPersonality = R"({{
        "threads": 1, "supports": {{"operations": [{}]}},
        "capabilities": {{"default": {{"exec_time": 0.5, "power_usage": 0.5}}}}}})";
    static ::halyard::testing::Manifests manifests;
    manifests.add(kAddDriver, REFERENCE_DRIVER, fmt::format(kPersonality, R"("ADD", "SUB")"));
    manifests.add(kMulDriver, REFERENCE_DRIVER, fmt::format(kPersonality, R"("MUL")"));
    manifests.use();
    ::setenv("HALYARD_PARTITION_OVERHEAD", "off", 1);
    ::setenv("HALYARD_LOG", "quiet", 1);
  }

  // out = (a + b) * a - b: an ADD, a MUL and a SUB, with dimensions `dims`.
  static client::Model newGraph(const std::vector<uint32_t>& dims) {
    auto model = newModel();
    for (int i = 0; i < 5; ++i) {
      EXPECT_NN_OK(model.addOperand(ANEURALNETWORKS_TENSOR_FLOAT32, dims));
    }
    EXPECT_NN_OK(model.addOperand(ANEURALNETWORKS_INT32));
    const int32_t none = ANEURALNETWORKS_FUSED_NONE;
    EXPECT_NN_OK(model.setOperandValue(5, &none, sizeof none));
    EXPECT_NN_OK(model.addOperation(ANEURALNETWORKS_ADD, {0, 1, 5}, {2}));
    EXPECT_NN_OK(model.addOperation(ANEURALNETWORKS_MUL, {2, 0, 5}, {3}));
    EXPECT_NN_OK(model.addOperation(ANEURALNETWORKS_SUB, {3, 1, 5}, {4}));
    EXPECT_NN_OK(model.identifyInputsAndOutputs({0, 1}, {4}));
    EXPECT_NN_OK(model.finish());
    return model;
  }
  client::Compilation compile(const std::vector<uint32_t>& dims, bool namesDevices = false) {
    models_.push_back(newGraph(dims));
    client::Compilation compilation;
    const ANeuralNetworksDevice* const both[] = {deviceNamed(kAddDriver), deviceNamed(kMulDriver)};
    EXPECT_NN_OK(namesDevices ? compilation.createForDevices(models_.back().get(), {both, 2})
                              : compilation.create(models_.back().get()));
    EXPECT_NN_OK(compilation.finish());
    // All tests need this plan.
    std::string report;
    EXPECT_NN_OK(compilation.report(report));
    EXPECT_THAT(report, HasSubstr(kAddDriver));
    EXPECT_THAT(report, HasSubstr(kMulDriver));
    return compilation;
  }

  client::Execution ready(ANeuralNetworksCompilation* compilation) {
    auto execution = newExecution(compilation);
    setPointers(execution.get());
    return execution;
  }
  void setPointers(ANeuralNetworksExecution* execution) {
    EXPECT_NN_OK(ANeuralNetworksExecution_setInput(execution, 0, nullptr, a_, sizeof a_));
    EXPECT_NN_OK(ANeuralNetworksExecution_setInput(execution, 1, nullptr, b_, sizeof b_));
    EXPECT_NN_OK(ANeuralNetworksExecution_setOutput(execution, 0, nullptr, out_, sizeof out_));
  }
  void expectRight() {
    EXPECT_THAT(out_, ElementsAre(1, 24, 69, 136));
    std::ranges::fill(out_, -1.0F);
  }
  static client::Event fencedStart(ANeuralNetworksExecution* execution,
                                   const std::vector<ANeuralNetworksEvent*>& after) {
    ANeuralNetworksEvent* event = nullptr;
    EXPECT_NN_OK(ANeuralNetworksExecution_startComputeWithDependencies(
        execution, after.data(), static_cast<uint32_t>(after.size()), 0, &event));
    return client::Event(event);
  }
  static client::Memory memoryOfSize(size_t size, float** values) {
    const int fd = ::memfd_create("compound", MFD_CLOEXEC);
    EXPECT_EQ(::ftruncate(fd, static_cast<off_t>(size)), 0);
    void* const mapped = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    EXPECT_NE(mapped, MAP_FAILED);
    *values = static_cast<float*>(mapped);
    client::Memory memory;
    EXPECT_NN_OK(memory.createFromFd(size, PROT_READ | PROT_WRITE, fd, 0));
    ::close(fd);
    return memory;
  }
  // Memory for an input, or for output 0, of the compilation; null with the code of the refusal.
  client::Memory described(ANeuralNetworksCompilation* compilation, bool isInput, uint32_t index,
                           int code = ANEURALNETWORKS_NO_ERROR) {
    client::MemoryDesc desc;
    EXPECT_NN_OK(desc.create());
    if (isInput) {
      EXPECT_NN_OK(desc.addInputRole(compilation, index, 1));
    } else {
      EXPECT_NN_OK(desc.addOutputRole(compilation, index, 1));
    }
    EXPECT_NN_OK(desc.finish());
    client::Memory memory;
    EXPECT_EQ(memory.createFromDesc(desc.get()), code) << halyard_lastErrorText();
    return memory;
  }

  const float a_[4] = {1, 2, 3, 4};
  const float b_[4] = {10, 20, 30, 40};
  float out_[4] = {-1, -1, -1, -1};
  std::vector<client::Model> models_;
};

TEST_F(CompoundPlans, Compute) {
  const auto compilation = compile({2, 2});
  for (int i = 0; i < 3; ++i) {
    const auto execution = ready(compilation.get());
    ASSERT_NN_OK(execution.compute());
    expectRight();
    uint32_t rank = 0;
    EXPECT_NN_OK(execution.getOutputOperandRank(0, rank));
    EXPECT_EQ(rank, 2u);
  }
}

TEST_F(CompoundPlans, NamedDevices) {
  const auto compilation = compile({2, 2}, true);
  const auto execution = ready(compilation.get());
  ASSERT_NN_OK(execution.compute());
  expectRight();
}

TEST_F(CompoundPlans, Burst) {
  const auto compilation = compile({2, 2});
  client::Burst burst;
  ASSERT_NN_OK(burst.create(compilation.get()));
  for (int i = 0; i < 5; ++i) {
    const auto execution = ready(compilation.get());
    ASSERT_NN_OK(execution.burstCompute(burst.get()));
    expectRight();
  }
  const auto other = compile({2, 2});
  const auto execution = ready(other.get());
  EXPECT_NN_ERROR(execution.burstCompute(burst.get()), ANEURALNETWORKS_BAD_DATA, "burst");
}

TEST_F(CompoundPlans, Asynchronous) {
  const auto compilation = compile({2, 2});
  const auto execution = ready(compilation.get());
  client::Event event;
  ASSERT_NN_OK(execution.startCompute(event));
  EXPECT_NN_OK(event.wait());
  EXPECT_NN_OK(event.wait());
  expectRight();
  EXPECT_NN_ERROR(execution.compute(), ANEURALNETWORKS_BAD_STATE, "reusable");
}

TEST_F(CompoundPlans, ReusableInEachWay) {
  const auto compilation = compile({2, 2});
  client::Burst burst;
  ASSERT_NN_OK(burst.create(compilation.get()));
  const auto execution = newExecution(compilation.get());
  ASSERT_NN_OK(execution.setReusable(true));
  setPointers(execution.get());
  for (int i = 0; i < 8; ++i) {
    ANeuralNetworksEvent* event = nullptr;
    switch (i % 4) {
      case 0:
        ASSERT_NN_OK(execution.compute());
        break;
      case 1:
        ASSERT_NN_OK(execution.burstCompute(burst.get()));
        break;
      case 2:
        ASSERT_NN_OK(ANeuralNetworksExecution_startCompute(execution.get(), &event));
        break;
      default:
        event = fencedStart(execution.get(), {}).release();
    }
    if (event != nullptr) {
      EXPECT_NN_OK(ANeuralNetworksEvent_wait(event));
      ANeuralNetworksEvent_free(event);
    }
    expectRight();
  }
}

// Executions in sequence; the first one waits for a fence of the application.
TEST_F(CompoundPlans, FencedChain) {
  const auto compilation = compile({2, 2});
  NewFence fence = createFence().value();
  client::Event go;
  ASSERT_NN_OK(go.createFromSyncFenceFd(fence.fence.get()));
  float sums[4] = {};
  const auto first = newExecution(compilation.get());
  EXPECT_NN_OK(first.setInput(0, nullptr, a_, sizeof a_));
  EXPECT_NN_OK(first.setInput(1, nullptr, b_, sizeof b_));
  EXPECT_NN_OK(first.setOutput(0, nullptr, sums, sizeof sums));
  const auto firstDone = fencedStart(first.get(), {go.get()});
  // out = (sums + b) * sums - b
  const auto second = newExecution(compilation.get());
  EXPECT_NN_OK(second.setInput(0, nullptr, a_, sizeof a_));
  EXPECT_NN_OK(second.setInput(1, nullptr, b_, sizeof b_));
  EXPECT_NN_OK(second.setOutput(0, nullptr, out_, sizeof out_));
  std::thread signalling([&] { fence.signaller.signal(); });
  const auto secondDone = fencedStart(second.get(), {firstDone.get(), go.get()});
  EXPECT_NN_OK(secondDone.wait());
  EXPECT_NN_OK(firstDone.wait());
  signalling.join();
  EXPECT_THAT(sums, ElementsAre(1, 24, 69, 136));
  expectRight();
}

TEST_F(CompoundPlans, FencesThatFail) {
  const auto compilation = compile({2, 2});
  NewFence fence = createFence().value();
  client::Event never;
  ASSERT_NN_OK(never.createFromSyncFenceFd(fence.fence.get()));
  const auto execution = ready(compilation.get());
  const auto event = fencedStart(execution.get(), {never.get()});
  fence.signaller.fail();
  EXPECT_NN_ERROR(event.wait(), ANEURALNETWORKS_OP_FAILED, "fence");
  EXPECT_THAT(out_, ElementsAre(-1, -1, -1, -1));
}

TEST_F(CompoundPlans, MemoryWithOffsets) {
  const auto compilation = compile({2, 2});
  float* in = nullptr;
  float* out = nullptr;
  const auto inputs = memoryOfSize(4096, &in);
  const auto outputs = memoryOfSize(4096, &out);
  std::ranges::copy(a_, in + 4);
  std::ranges::copy(b_, in + 16);
  const auto execution = newExecution(compilation.get());
  EXPECT_NN_OK(execution.setInputFromMemory(0, nullptr, inputs.get(), 16, 16));
  EXPECT_NN_OK(execution.setInputFromMemory(1, nullptr, inputs.get(), 64, 16));
  EXPECT_NN_OK(execution.setOutputFromMemory(0, nullptr, outputs.get(), 32, 16));
  ASSERT_NN_OK(execution.compute());
  EXPECT_EQ(out[7], 0);
  EXPECT_THAT(std::vector<float>(out + 8, out + 13), ElementsAre(1, 24, 69, 136, 0));
  ::munmap(in, 4096);
  ::munmap(out, 4096);
}

TEST_F(CompoundPlans, MemoryFromDescriptors) {
  const auto compilation = compile({2, 2});
  float* values = nullptr;
  const auto plain = memoryOfSize(16, &values);
  const auto a = described(compilation.get(), true, 0);
  const auto b = described(compilation.get(), true, 1);
  const auto out = described(compilation.get(), false, 0);
  std::ranges::copy(a_, values);
  ASSERT_NN_OK(ANeuralNetworksMemory_copy(plain.get(), a.get()));
  std::ranges::copy(b_, values);
  ASSERT_NN_OK(ANeuralNetworksMemory_copy(plain.get(), b.get()));
  const auto execution = newExecution(compilation.get());
  EXPECT_NN_OK(execution.setReusable(true));
  EXPECT_NN_OK(execution.setInputFromMemory(0, nullptr, a.get(), 0, 0));
  EXPECT_NN_OK(execution.setInputFromMemory(1, nullptr, b.get(), 0, 0));
  EXPECT_NN_OK(execution.setOutputFromMemory(0, nullptr, out.get(), 0, 0));
  for (int i = 0; i < 3; ++i) {
    if (i < 2) {
      ASSERT_NN_OK(execution.compute());
    } else {
      EXPECT_NN_OK(ANeuralNetworksEvent_wait(fencedStart(execution.get(), {}).get()));
    }
    ASSERT_NN_OK(ANeuralNetworksMemory_copy(out.get(), plain.get()));
    EXPECT_THAT(std::vector<float>(values, values + 4), ElementsAre(1, 24, 69, 136));
  }
  ::munmap(values, 16);
}

// An input that both devices read is on neither. With named devices no other memory exists.
TEST_F(CompoundPlans, MemoryOfTwoDevices) {
  const auto named = compile({2, 2}, true);
  EXPECT_EQ(described(named.get(), true, 0, ANEURALNETWORKS_OP_FAILED), nullptr);
  EXPECT_NE(described(named.get(), true, 1), nullptr);   // ADD and SUB read it, on one device
  EXPECT_NE(described(named.get(), false, 0), nullptr);  // written by SUB
  const auto any = compile({2, 2});
  EXPECT_NE(described(any.get(), true, 0), nullptr);
}

TEST_F(CompoundPlans, TimesAndLimitsNeedOneDevice) {
  for (const bool named : {false, true}) {
    const auto compilation = compile({2, 2}, named);
    const auto execution = ready(compilation.get());
    EXPECT_NN_ERROR(execution.setMeasureTiming(true), ANEURALNETWORKS_BAD_DATA,
                    "exactly one device");
    EXPECT_NN_ERROR(execution.setTimeout(1000), ANEURALNETWORKS_BAD_DATA, "exactly one device");
    ASSERT_NN_OK(execution.compute());
    uint64_t duration = 7;
    EXPECT_NN_ERROR(execution.getDuration(ANEURALNETWORKS_DURATION_IN_DRIVER, duration),
                    ANEURALNETWORKS_BAD_STATE, "");
    EXPECT_EQ(duration, UINT64_MAX);
  }
}

// Dimensions that only the execution determines.
class OpenCompoundPlans : public CompoundPlans {
 protected:
  // Rows of two.
  client::Execution withRows(ANeuralNetworksCompilation* compilation, uint32_t rows, size_t room) {
    const uint32_t dims[] = {rows, 2};
    const ANeuralNetworksOperandType type = {ANEURALNETWORKS_TENSOR_FLOAT32, 2, dims, 0, 0};
    auto execution = newExecution(compilation);
    const size_t bytes = size_t{rows} * 2 * sizeof(float);
    EXPECT_NN_OK(execution.setInput(0, &type, a_, bytes));
    EXPECT_NN_OK(execution.setInput(1, &type, b_, bytes));
    EXPECT_NN_OK(execution.setOutput(0, nullptr, out_, room));
    return execution;
  }
  static std::vector<uint32_t> dimensionsOf(ANeuralNetworksExecution* execution, int code) {
    uint32_t rank = 0;
    EXPECT_EQ(ANeuralNetworksExecution_getOutputOperandRank(execution, 0, &rank), code);
    std::vector<uint32_t> dims(rank);
    EXPECT_EQ(ANeuralNetworksExecution_getOutputOperandDimensions(execution, 0, dims.data()), code);
    return dims;
  }
};

TEST_F(OpenCompoundPlans, SizesComeWithTheExecution) {
  for (const std::vector<uint32_t>& dims : {std::vector<uint32_t>{0, 2}, {0, 0}}) {
    const auto compilation = compile(dims);
    const auto small = withRows(compilation.get(), 1, sizeof out_);
    ASSERT_NN_OK(small.compute());
    EXPECT_THAT(out_, ElementsAre(1, 24, -1, -1));
    EXPECT_THAT(dimensionsOf(small.get(), ANEURALNETWORKS_NO_ERROR), ElementsAre(1, 2));
    const auto large = withRows(compilation.get(), 2, sizeof out_);
    ASSERT_NN_OK(large.compute());
    EXPECT_THAT(dimensionsOf(large.get(), ANEURALNETWORKS_NO_ERROR), ElementsAre(2, 2));
    expectRight();
  }
}

TEST_F(OpenCompoundPlans, OutputsThatAreTooSmall) {
  const auto compilation = compile({0, 2});
  for (int way = 0; way < 3; ++way) {
    const auto execution = withRows(compilation.get(), 2, 8);
    int code = 0;
    if (way == 0) code = execution.compute();
    if (way == 1) {
      client::Burst burst;
      ASSERT_NN_OK(burst.create(compilation.get()));
      code = execution.burstCompute(burst.get());
    }
    if (way == 2) {
      client::Event event;
      ASSERT_NN_OK(execution.startCompute(event));
      code = event.wait();
    }
    EXPECT_EQ(code, ANEURALNETWORKS_OUTPUT_INSUFFICIENT_SIZE) << halyard_lastErrorText();
    EXPECT_THAT(dimensionsOf(execution.get(), ANEURALNETWORKS_OUTPUT_INSUFFICIENT_SIZE),
                ElementsAre(2, 2));
    EXPECT_THAT(out_[2], -1);
    const auto again = withRows(compilation.get(), 2, sizeof out_);
    ASSERT_NN_OK(again.compute());
    expectRight();
  }
}

TEST_F(CompoundPlans, Padding) {
  const auto compilation = compile({2, 2});
  uint32_t padding = 0;
  EXPECT_NN_OK(
      ANeuralNetworksCompilation_getPreferredMemoryPaddingForInput(compilation.get(), 0, &padding));
  EXPECT_EQ(padding & (padding - 1), 0u);
  EXPECT_GE(padding, 1u);
  float* in = nullptr;
  float* out = nullptr;
  const auto inputs = memoryOfSize(4096, &in);
  const auto outputs = memoryOfSize(4096, &out);
  std::ranges::copy(a_, in);
  std::ranges::copy(b_, in + 64);
  std::fill_n(out, 16, -1.0F);
  const auto execution = newExecution(compilation.get());
  // A length beyond the operand's size is refused unless padding is allowed.
  EXPECT_NN_ERROR(execution.setInputFromMemory(0, nullptr, inputs.get(), 0, 64),
                  ANEURALNETWORKS_BAD_DATA, "64");
  const auto padded = newExecution(compilation.get());
  ASSERT_NN_OK(padded.enableInputAndOutputPadding(true));
  EXPECT_NN_OK(padded.setInputFromMemory(0, nullptr, inputs.get(), 0, 64));
  EXPECT_NN_OK(padded.setInputFromMemory(1, nullptr, inputs.get(), 256, 64));
  EXPECT_NN_OK(padded.setOutputFromMemory(0, nullptr, outputs.get(), 0, 64));
  ASSERT_NN_OK(padded.compute());
  EXPECT_THAT(std::vector<float>(out, out + 5), ElementsAre(1, 24, 69, 136, -1));
  ::munmap(in, 4096);
  ::munmap(out, 4096);
}

// Each thread computes in all ways, with its own inputs.
class ThreadsOnCompoundPlans : public CompoundPlans {
 protected:
  static constexpr int kThreads = 16;

  static void inThreads(const std::function<void(int)>& work) {
    std::vector<std::thread> threads;
    for (int i = 0; i < kThreads; ++i) threads.emplace_back(work, i);
    for (std::thread& thread : threads) thread.join();
  }

  static void compute(ANeuralNetworksCompilation* compilation, ANeuralNetworksBurst* burst,
                      int way) {
    const auto value = static_cast<float>(way);
    const float a[4] = {value, 1, 2, 3};
    const float b[4] = {1, 2, 3, value};
    float out[4] = {};
    const auto execution = newExecution(compilation);
    EXPECT_NN_OK(execution.setInput(0, nullptr, a, sizeof a));
    EXPECT_NN_OK(execution.setInput(1, nullptr, b, sizeof b));
    EXPECT_NN_OK(execution.setOutput(0, nullptr, out, sizeof out));
    ANeuralNetworksEvent* event = nullptr;
    switch (way % 4) {
      case 0:
        EXPECT_NN_OK(execution.compute());
        break;
      case 1:
        EXPECT_NN_OK(execution.burstCompute(burst));
        break;
      case 2:
        EXPECT_NN_OK(ANeuralNetworksExecution_startCompute(execution.get(), &event));
        break;
      default:
        event = fencedStart(execution.get(), {}).release();
    }
    if (event != nullptr) {
      EXPECT_NN_OK(ANeuralNetworksEvent_wait(event));
      ANeuralNetworksEvent_free(event);
    }
    EXPECT_THAT(out, ElementsAre((value + 1) * value - 1, 1, 7, (3 + value) * 3 - value));
  }
  static client::Burst burstOf(ANeuralNetworksCompilation* compilation) {
    client::Burst burst;
    EXPECT_NN_OK(burst.create(compilation));
    return burst;
  }
};

TEST_F(ThreadsOnCompoundPlans, OneCompilation) {
  const auto compilation = compile({2, 2});
  inThreads([&](int thread) {
    const auto burst = burstOf(compilation.get());
    for (int round = 0; round < 20; ++round) {
      compute(compilation.get(), burst.get(), thread + round);
    }
  });
}

// Each thread compiles 16 times, and computes with each compilation.
TEST_F(ThreadsOnCompoundPlans, SixteenCompilationsEach) {
  const auto model = newGraph({2, 2});
  inThreads([&](int thread) {
    std::vector<client::Compilation> compilations;
    for (int i = 0; i < 16; ++i) {
      ANeuralNetworksCompilation* made = nullptr;
      EXPECT_NN_OK(ANeuralNetworksCompilation_create(model.get(), &made));
      EXPECT_NN_OK(ANeuralNetworksCompilation_finish(made));
      compilations.emplace_back(made);
      compute(made, burstOf(made).get(), thread + i);
    }
    for (int i = 0; i < 16; ++i) compute(compilations[i].get(), nullptr, 4 * i);
  });
}

// All threads compute with all 16 compilations.
TEST_F(ThreadsOnCompoundPlans, SixteenSharedCompilations) {
  std::vector<client::Compilation> compilations;
  for (int i = 0; i < 16; ++i) compilations.push_back(compile({2, 2}, i % 2 == 0));
  inThreads([&](int thread) {
    for (int i = 0; i < 16; ++i) {
      ANeuralNetworksCompilation* const compilation = compilations[(thread + i) % 16].get();
      const auto burst = burstOf(compilation);
      for (int way = 0; way < 4; ++way) compute(compilation, burst.get(), thread + way);
    }
  });
}

// The runtime restarts a driver that is killed between two executions. With named devices the
// application gets the failure.
TEST_F(CompoundPlans, ADriverThatIsKilled) {
  const auto any = compile({2, 2});
  const auto named = compile({2, 2}, true);
  for (const auto* compilation : {&any, &named}) {
    const auto execution = ready(compilation->get());
    ASSERT_NN_OK(execution.compute());
    expectRight();
  }
  int64_t pid = 0;
  ASSERT_EQ(halyard_deviceProcessId(deviceNamed(kMulDriver), &pid), 0);
  ASSERT_GT(pid, 0);
  ::kill(static_cast<pid_t>(pid), SIGKILL);
  const auto lost = ready(named.get());
  EXPECT_NN_ERROR(lost.compute(), ANEURALNETWORKS_DEAD_OBJECT, kMulDriver);
  for (int i = 0; i < 3; ++i) {
    const auto execution = ready(any.get());
    ASSERT_NN_OK(execution.compute());
    expectRight();
  }
  std::string report;
  ASSERT_NN_OK(any.report(report));
  EXPECT_THAT(report, HasSubstr("DRIVER_RESTARTED"));
}

}  // namespace
}  // namespace halyard::api::testing
