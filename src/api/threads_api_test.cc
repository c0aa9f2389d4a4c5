// Tests of concurrent use of objects of the C API. They cover all uses that the comments on the
// types in NeuralNetworksTypes.h allow. ThreadSanitizer also runs them.
#include <android/NeuralNetworksExtensions.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <set>
#include <thread>

#include "api/api_for_test.h"
#include "halyard/driver/sync_fence.h"

namespace halyard::api::testing {
namespace {

constexpr int kThreads = 8;
constexpr int kRounds = 10;
const float kA[2] = {1, 2};
const float kB[2] = {10, 20};

// Calls `work` with 0, 1, ... in kThreads threads.
void inThreads(const std::function<void(int)>& work) {
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) threads.emplace_back(work, i);
  for (std::thread& thread : threads) thread.join();
}

class Threads : public ::testing::Test {
 protected:
  void SetUp() override {
    cpu_ = deviceNamed(kCpuDevice);
    model_ = addModel({2}, {2}, {2});
    ASSERT_NN_OK(model_.finish());
    compilation_ = compileFor(model_.get(), cpu_);
  }
  client::Execution ready(ANeuralNetworksCompilation* compilation, float* out) {
    auto execution = newExecution(compilation);
    EXPECT_NN_OK(execution.setInput(0, nullptr, kA, sizeof kA));
    EXPECT_NN_OK(execution.setInput(1, nullptr, kB, sizeof kB));
    EXPECT_NN_OK(execution.setOutput(0, nullptr, out, sizeof kA));
    return execution;
  }
  static client::Memory memoryOf(const std::vector<float>& values) {
    const int fd = ::memfd_create("threads", MFD_CLOEXEC);
    const size_t size = values.size() * sizeof(float);
    EXPECT_EQ(::pwrite(fd, values.data(), size, 0), static_cast<ssize_t>(size));
    client::Memory memory;
    EXPECT_NN_OK(memory.createFromFd(size, PROT_READ | PROT_WRITE, fd, 0));
    ::close(fd);
    return memory;
  }

  const ANeuralNetworksDevice* cpu_ = nullptr;
  client::Model model_;
  client::Compilation compilation_;
};

TEST_F(Threads, DevicesAreTheSameForAll) {
  inThreads([&](int) {
    for (int round = 0; round < kRounds; ++round) {
      EXPECT_EQ(deviceNamed(kCpuDevice), cpu_);
      int64_t level = 0;
      EXPECT_NN_OK(ANeuralNetworksDevice_getFeatureLevel(cpu_, &level));
      EXPECT_EQ(level, ANEURALNETWORKS_FEATURE_LEVEL_8);
      EXPECT_NN_OK(ANeuralNetworksDevice_wait(cpu_));
    }
  });
}

TEST_F(Threads, BuildModelsOfTheirOwn) {
  inThreads([&](int) {
    for (int round = 0; round < kRounds; ++round) {
      const auto model = addModel({2}, {2}, {2});
      ASSERT_NN_OK(model.finish());
      const auto compilation = compileFor(model.get(), cpu_);
      float out[2] = {};
      const auto execution = ready(compilation.get(), out);
      ASSERT_NN_OK(execution.compute());
      EXPECT_EQ(out[1], 22);
    }
  });
}

// Several threads use a finished model for compilations, for queries, and as a part of other
// models.
TEST_F(Threads, ShareAFinishedModel) {
  inThreads([&](int) {
    for (int round = 0; round < kRounds; ++round) {
      const ANeuralNetworksDevice* const device = cpu_;
      bool supported = false;
      EXPECT_NN_OK(ANeuralNetworksModel_getSupportedOperationsForDevices(model_.get(), &device, 1,
                                                                         &supported));
      EXPECT_TRUE(supported);
      const auto outer = newModel();
      EXPECT_NN_OK(outer.addOperand(ANEURALNETWORKS_MODEL));
      EXPECT_NN_OK(outer.setOperandValueFromModel(0, model_.get()));
      const auto compilation = compileFor(model_.get(), cpu_);
      EXPECT_NE(compilation, nullptr);
    }
  });
}

// Several threads use a finished compilation for all kinds of executions, for bursts and for
// descriptors.
TEST_F(Threads, ShareAFinishedCompilation) {
  const auto weights = memoryOf({1, 2});
  inThreads([&](int thread) {
    client::Burst burst;
    ASSERT_NN_OK(burst.create(compilation_.get()));
    for (int round = 0; round < kRounds; ++round) {
      float out[2] = {};
      auto execution = newExecution(compilation_.get());
      // All executions use the same memory.
      ASSERT_NN_OK(execution.setInputFromMemory(0, nullptr, weights.get(), 0, 8));
      ASSERT_NN_OK(execution.setInput(1, nullptr, kB, sizeof kB));
      ASSERT_NN_OK(execution.setOutput(0, nullptr, out, sizeof out));
      ANeuralNetworksEvent* event = nullptr;
      switch ((thread + round) % 4) {
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
          ASSERT_NN_OK(ANeuralNetworksExecution_startComputeWithDependencies(
              execution.get(), nullptr, 0, 0, &event));
      }
      if (event != nullptr) {
        EXPECT_NN_OK(ANeuralNetworksEvent_wait(event));
        ANeuralNetworksEvent_free(event);
      }
      EXPECT_EQ(out[0], 11);
      EXPECT_EQ(out[1], 22);
    }
  });
}

TEST_F(Threads, ShareAFinishedDescriptorAndCopyFromOneMemory) {
  client::MemoryDesc desc;
  ASSERT_NN_OK(desc.create());
  ASSERT_NN_OK(desc.addInputRole(compilation_.get(), 0, 1));
  ASSERT_NN_OK(desc.finish());
  client::Memory source;
  ASSERT_NN_OK(source.createFromDesc(desc.get()));
  const auto values = memoryOf({5, 6});
  ASSERT_NN_OK(ANeuralNetworksMemory_copy(values.get(), source.get()));
  inThreads([&](int) {
    for (int round = 0; round < kRounds; ++round) {
      client::Memory own;
      ASSERT_NN_OK(own.createFromDesc(desc.get()));
      ASSERT_NN_OK(ANeuralNetworksMemory_copy(source.get(), own.get()));
      // Both are inputs of executions that run at the same time.
      for (ANeuralNetworksMemory* const memory : {own.get(), source.get()}) {
        float out[2] = {};
        const auto execution = newExecution(compilation_.get());
        ASSERT_NN_OK(execution.setInputFromMemory(0, nullptr, memory, 0, 0));
        ASSERT_NN_OK(execution.setInput(1, nullptr, kB, sizeof kB));
        ASSERT_NN_OK(execution.setOutput(0, nullptr, out, sizeof out));
        ASSERT_NN_OK(execution.compute());
        EXPECT_EQ(out[1], 26);
      }
    }
  });
}

// Of concurrent computations of one execution, exactly one continues. The others have no effect.
// Other threads may query the state meanwhile.
TEST_F(Threads, RaceToComputeOneExecution) {
  for (int round = 0; round < kRounds; ++round) {
    float out[2] = {};
    const auto execution = ready(compilation_.get(), out);
    std::atomic<int> computed = 0;
    inThreads([&](int) {
      const int code = execution.compute();
      if (code == ANEURALNETWORKS_NO_ERROR) {
        ++computed;
      } else {
        EXPECT_EQ(code, ANEURALNETWORKS_BAD_STATE);
      }
      uint64_t time = 0;
      EXPECT_EQ(execution.getDuration(0, time), ANEURALNETWORKS_BAD_STATE);
      uint32_t rank = 0;
      const int asked = execution.getOutputOperandRank(0, rank);
      EXPECT_TRUE(asked == ANEURALNETWORKS_BAD_STATE || rank == 1) << asked;
    });
    EXPECT_EQ(computed, 1);
    EXPECT_EQ(out[0], 11);
  }
}

TEST_F(Threads, RaceToComputeAReusableExecution) {
  float out[2] = {};
  const auto execution = ready(compilation_.get(), out);
  ASSERT_NN_OK(execution.setReusable(true));
  std::atomic<int> computed = 0;
  inThreads([&](int) {
    for (int round = 0; round < kRounds; ++round) {
      const int code = execution.compute();
      if (code == ANEURALNETWORKS_NO_ERROR) {
        ++computed;
      } else {
        EXPECT_EQ(code, ANEURALNETWORKS_BAD_STATE);
      }
    }
  });
  EXPECT_GE(computed, 1);
  EXPECT_EQ(out[1], 22);
}

TEST_F(Threads, WaitForOneEventAndUseItsFence) {
  NewFence fence = createFence().value();
  client::Event first;
  ASSERT_NN_OK(first.createFromSyncFenceFd(fence.fence.get()));
  float out[2] = {};
  const auto execution = ready(compilation_.get(), out);
  const ANeuralNetworksEvent* const dependency = first.get();
  client::Event second;
  ASSERT_NN_OK(execution.startComputeWithDependencies({&dependency, 1}, 0, second));
  std::thread signalling([&] { fence.signaller.signal(); });
  inThreads([&](int thread) {
    int fd = -1;
    EXPECT_NN_OK(first.getSyncFenceFd(fd));
    ::close(fd);
    EXPECT_NN_OK(ANeuralNetworksEvent_wait(thread % 2 == 0 ? first.get() : second.get()));
    EXPECT_NN_OK(second.wait());
    EXPECT_EQ(out[1], 22);
  });
  signalling.join();
}

// Each thread has the text of its own last failure.
TEST_F(Threads, HaveErrorsOfTheirOwn) {
  inThreads([&](int thread) {
    const auto model = newModel();
    for (int round = 0; round < kRounds; ++round) {
      EXPECT_NN_ERROR(model.addOperand(100 + thread), ANEURALNETWORKS_BAD_DATA,
                      "unknown type " + std::to_string(100 + thread));
      std::this_thread::yield();
      EXPECT_THAT(std::string(halyard_lastErrorText()),
                  ::testing::HasSubstr(std::to_string(100 + thread)));
    }
  });
}

// A name has a single prefix in the process. It does not depend on which thread asks first.
TEST_F(Threads, GetTheSamePrefixesOfExtensions) {
  constexpr int kNames = 16;
  std::vector<std::vector<int32_t>> types(kThreads, std::vector<int32_t>(kNames));
  inThreads([&](int thread) {
    const auto model = newModel();
    for (int i = 0; i < kNames; ++i) {
      const int n = (i + thread) % kNames;
      const std::string name = "com.acme.threads" + std::to_string(n);
      EXPECT_NN_OK(ANeuralNetworksModel_getExtensionOperandType(
          model.get(), name.c_str(), 0,
          &types[static_cast<size_t>(thread)][static_cast<size_t>(n)]));
    }
  });
  for (const auto& seen : types) EXPECT_EQ(seen, types[0]);
  EXPECT_EQ(std::set<int32_t>(types[0].begin(), types[0].end()).size(), size_t{kNames});
}

}  // namespace
}  // namespace halyard::api::testing
