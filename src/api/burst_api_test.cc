// Tests of ANeuralNetworksBurst_* and burstCompute.
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "api/api_for_test.h"

namespace halyard::api::testing {
namespace {

class BurstApiTest : public ::testing::Test {
 protected:
  void SetUp() override {
    model_ = addModel({2}, {2}, {2});
    ASSERT_NN_OK(model_.finish());
    compilation_ = compileFor(model_.get(), deviceNamed(kCpuDevice));
  }
  client::Burst newBurst(ANeuralNetworksCompilation* compilation) {
    client::Burst burst;
    EXPECT_NN_OK(burst.create(compilation));
    return burst;
  }
  client::Execution newAdd(float* out) {
    auto execution = newExecution(compilation_.get());
    EXPECT_NN_OK(execution.setInput(0, nullptr, a_, sizeof a_));
    EXPECT_NN_OK(execution.setInput(1, nullptr, b_, sizeof b_));
    EXPECT_NN_OK(execution.setOutput(0, nullptr, out, 2 * sizeof *out));
    return execution;
  }

  const float a_[2] = {1, 2};
  const float b_[2] = {10, 20};
  client::Model model_;
  client::Compilation compilation_;
};

TEST_F(BurstApiTest, ComputesOneAfterTheOther) {
  const auto burst = newBurst(compilation_.get());
  for (int i = 0; i < 5; ++i) {
    float out[2] = {};
    const auto execution = newAdd(out);
    ASSERT_NN_OK(execution.burstCompute(burst.get()));
    EXPECT_EQ(out[0], 11);
    EXPECT_EQ(out[1], 22);
    EXPECT_NN_ERROR(execution.burstCompute(burst.get()), ANEURALNETWORKS_BAD_STATE, "not reusable");
  }
}

TEST_F(BurstApiTest, RefusesWhatDoesNotFit) {
  ANeuralNetworksBurst* burst = reinterpret_cast<ANeuralNetworksBurst*>(compilation_.get());
  EXPECT_NN_ERROR(ANeuralNetworksBurst_create(nullptr, &burst), ANEURALNETWORKS_UNEXPECTED_NULL,
                  "compilation");
  EXPECT_NN_ERROR(ANeuralNetworksBurst_create(compilation_.get(), nullptr),
                  ANEURALNETWORKS_UNEXPECTED_NULL, "burst");
  client::Compilation unfinished;
  ASSERT_NN_OK(unfinished.create(model_.get()));
  EXPECT_EQ(ANeuralNetworksBurst_create(unfinished.get(), &burst), ANEURALNETWORKS_BAD_STATE);
  EXPECT_EQ(burst, nullptr);
  ANeuralNetworksBurst_free(nullptr);

  float out[2] = {};
  const auto execution = newAdd(out);
  const auto mine = newBurst(compilation_.get());
  EXPECT_NN_ERROR(ANeuralNetworksExecution_burstCompute(nullptr, mine.get()),
                  ANEURALNETWORKS_UNEXPECTED_NULL, "execution");
  EXPECT_NN_ERROR(execution.burstCompute(nullptr), ANEURALNETWORKS_UNEXPECTED_NULL, "burst");
  const auto other = compileFor(model_.get(), deviceNamed(kCpuDevice));
  const auto foreign = newBurst(other.get());
  EXPECT_NN_ERROR(execution.burstCompute(foreign.get()), ANEURALNETWORKS_BAD_DATA,
                  "different compilations");
  // The failed calls have not started the execution.
  EXPECT_NN_OK(execution.burstCompute(mine.get()));
  const auto incomplete = newExecution(compilation_.get());
  EXPECT_NN_ERROR(incomplete.burstCompute(mine.get()), ANEURALNETWORKS_BAD_DATA,
                  "input 0 has not been set");
}

TEST_F(BurstApiTest, TakesOneExecutionAtATime) {
  const auto burst = newBurst(compilation_.get());
  std::atomic<unsigned> done = 0;
  std::atomic<unsigned> refused = 0;
  const auto worker = [&] {
    while (done < 100 || refused < 1) {
      float out[2] = {};
      const auto execution = newAdd(out);
      const int code = execution.burstCompute(burst.get());
      if (code == ANEURALNETWORKS_NO_ERROR) {
        EXPECT_EQ(out[1], 22);
        ++done;
      } else {
        EXPECT_EQ(code, ANEURALNETWORKS_BAD_STATE);
        ++refused;
      }
    }
  };
  std::thread first(worker);
  std::thread second(worker);
  first.join();
  second.join();
}

// Frees the memory before the burst, and the burst before the memory.
TEST_F(BurstApiTest, MayBeFreedInAnyOrder) {
  for (const bool memoryFirst : {true, false}) {
    const int fd = ::memfd_create("test", 0);
    ASSERT_EQ(::ftruncate(fd, 24), 0);
    client::Memory memory;
    ASSERT_NN_OK(memory.createFromFd(24, PROT_READ | PROT_WRITE, fd, 0));
    ::close(fd);
    auto burst = newBurst(compilation_.get());
    auto execution = newExecution(compilation_.get());
    ASSERT_NN_OK(execution.setInputFromMemory(0, nullptr, memory.get(), 0, 8));
    ASSERT_NN_OK(execution.setInputFromMemory(1, nullptr, memory.get(), 8, 8));
    ASSERT_NN_OK(execution.setOutputFromMemory(0, nullptr, memory.get(), 16, 8));
    ASSERT_NN_OK(execution.burstCompute(burst.get()));
    if (memoryFirst) memory.reset();
    burst.reset();
    memory.reset();
    execution.reset();
  }
}

}  // namespace
}  // namespace halyard::api::testing
