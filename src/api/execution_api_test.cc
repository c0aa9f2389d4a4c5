// Tests of compilations, executions, events and memory through the C API, on the CPU device.
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <deque>
#include <thread>

#include "api/api_for_test.h"

namespace halyard::api::testing {
namespace {

class ExecutionApi : public ::testing::Test {
 protected:
  // out[dims] = a[dims] + b[dims], compiled for the CPU device.
  void compile(std::vector<uint32_t> a, std::vector<uint32_t> b, std::vector<uint32_t> out) {
    model_ = addModel(std::move(a), std::move(b), std::move(out));
    ASSERT_NN_OK(model_.finish());
    compilation_ = compileFor(model_.get(), deviceNamed(kCpuDevice));
    execution_ = newExecution(compilation_.get());
  }
  // The fixture keeps the values, because the API keeps a pointer to them.
  int setInput(int32_t index, std::vector<float> values,
               const ANeuralNetworksOperandType* type = nullptr) {
    inputs_.push_back(std::move(values));
    return execution_.setInput(index, type, inputs_.back().data(),
                               inputs_.back().size() * sizeof(float));
  }
  int setOutput(int32_t index, std::vector<float>& values,
                const ANeuralNetworksOperandType* type = nullptr) {
    return execution_.setOutput(index, type, values.data(), values.size() * sizeof(float));
  }

  std::deque<std::vector<float>> inputs_;
  client::Model model_;
  client::Compilation compilation_;
  client::Execution execution_;
};

TEST_F(ExecutionApi, ComputesAndTellsTheShape) {
  compile({2, 1}, {3}, {2, 3});
  std::vector<float> out(6);
  EXPECT_NN_OK(setInput(0, {10, 20}));
  EXPECT_NN_OK(setInput(1, {1, 2, 3}));
  EXPECT_NN_OK(setOutput(0, out));
  uint32_t rank = 0;
  EXPECT_NN_ERROR(execution_.getOutputOperandRank(0, rank), ANEURALNETWORKS_BAD_STATE,
                  "has not been computed");
  ASSERT_NN_OK(execution_.compute());
  EXPECT_EQ(out, (std::vector<float>{11, 12, 13, 21, 22, 23}));
  EXPECT_NN_OK(execution_.getOutputOperandRank(0, rank));
  ASSERT_EQ(rank, 2u);
  uint32_t dims[2] = {};
  EXPECT_NN_OK(ANeuralNetworksExecution_getOutputOperandDimensions(execution_.get(), 0, dims));
  EXPECT_EQ(dims[0], 2u);
  EXPECT_EQ(dims[1], 3u);
  EXPECT_NN_ERROR(execution_.getOutputOperandRank(1, rank), ANEURALNETWORKS_BAD_DATA,
                  "output 1 of a model with 1");
  EXPECT_NN_ERROR(execution_.compute(), ANEURALNETWORKS_BAD_STATE, "not reusable");
}

TEST_F(ExecutionApi, ArgumentsAreCheckedInOrder) {
  compile({2}, {2}, {2});
  std::vector<float> out(2);
  EXPECT_NN_ERROR(setInput(2, {1, 2}), ANEURALNETWORKS_BAD_DATA, "input 2 of a model with 2");
  EXPECT_NN_ERROR(setInput(-1, {1, 2}), ANEURALNETWORKS_BAD_DATA, "input 4294967295");
  EXPECT_NN_ERROR(setInput(0, {1}), ANEURALNETWORKS_BAD_DATA,
                  "input 0: 4 bytes for TENSOR_FLOAT32[2], which needs 8");
  EXPECT_NN_ERROR(setInput(0, {1, 2, 3}), ANEURALNETWORKS_BAD_DATA, "which needs 8");
  EXPECT_NN_ERROR(execution_.setInput(0, nullptr, nullptr, 8), ANEURALNETWORKS_UNEXPECTED_NULL,
                  "buffer is null");
  EXPECT_NN_ERROR(execution_.setInput(0, nullptr, out.data(), 0), ANEURALNETWORKS_BAD_DATA,
                  "length 0");
  const uint32_t three[] = {3};
  const ANeuralNetworksOperandType type = {ANEURALNETWORKS_TENSOR_FLOAT32, 1, three, 0, 0};
  EXPECT_NN_ERROR(setInput(0, {1, 2, 3}, &type), ANEURALNETWORKS_BAD_DATA,
                  "dimensions [3], the model has [2]");
  EXPECT_NN_OK(setInput(0, {1, 2}));
  EXPECT_NN_ERROR(setInput(0, {1, 2}), ANEURALNETWORKS_BAD_STATE, "input 0 has been set already");
  EXPECT_NN_ERROR(execution_.compute(), ANEURALNETWORKS_BAD_DATA, "input 1 has not been set");
}

TEST_F(ExecutionApi, UnknownDimensionsComeWithTheArguments) {
  compile({0}, {1}, {0});
  std::vector<float> out(3);
  EXPECT_NN_ERROR(setInput(0, {1, 2, 3}), ANEURALNETWORKS_BAD_DATA, "input 0 needs a type");
  const uint32_t three[] = {3};
  const ANeuralNetworksOperandType type = {ANEURALNETWORKS_TENSOR_FLOAT32, 1, three, 0, 0};
  const std::vector<float> a = {1, 2, 3};
  EXPECT_NN_OK(setInput(0, a, &type));
  EXPECT_NN_OK(setInput(1, {10}));
  std::vector<float> small(2);
  EXPECT_NN_OK(setOutput(0, small));
  EXPECT_NN_ERROR(execution_.compute(), ANEURALNETWORKS_OUTPUT_INSUFFICIENT_SIZE, "output 0");
  uint32_t dims[1] = {};
  EXPECT_NN_ERROR(ANeuralNetworksExecution_getOutputOperandDimensions(execution_.get(), 0, dims),
                  ANEURALNETWORKS_OUTPUT_INSUFFICIENT_SIZE, "too small for shape [3]");
  EXPECT_EQ(dims[0], 3u);

  execution_ = newExecution(compilation_.get());
  EXPECT_NN_OK(setInput(0, a, &type));
  EXPECT_NN_OK(setInput(1, {10}));
  EXPECT_NN_OK(setOutput(0, out));
  ASSERT_NN_OK(execution_.compute());
  EXPECT_EQ(out, (std::vector<float>{11, 12, 13}));
}

TEST_F(ExecutionApi, AContradictionFoundByInferenceFailsTheExecution) {
  compile({0}, {2}, {2});
  const uint32_t three[] = {3};
  const ANeuralNetworksOperandType type = {ANEURALNETWORKS_TENSOR_FLOAT32, 1, three, 0, 0};
  std::vector<float> out(2);
  EXPECT_NN_OK(setInput(0, {1, 2, 3}, &type));
  EXPECT_NN_OK(setInput(1, {1, 2}));
  EXPECT_NN_OK(setOutput(0, out));
  EXPECT_NN_ERROR(execution_.compute(), ANEURALNETWORKS_OP_FAILED, "operation #0 ADD");
  uint32_t rank = 0;
  EXPECT_NN_ERROR(execution_.getOutputOperandRank(0, rank), ANEURALNETWORKS_BAD_STATE,
                  "the execution failed");
}

TEST_F(ExecutionApi, AsynchronousAndReusable) {
  compile({1}, {1}, {1});
  std::vector<float> out(1);
  EXPECT_NN_OK(execution_.setReusable(true));
  EXPECT_NN_OK(setInput(0, {1}));
  EXPECT_NN_OK(setInput(1, {5}));
  EXPECT_NN_OK(setOutput(0, out));
  for (int i = 0; i < 10; ++i) {
    inputs_[0][0] = static_cast<float>(i);
    client::Event event;
    ASSERT_NN_OK(execution_.startCompute(event));
    EXPECT_NN_OK(event.wait());
    EXPECT_NN_OK(event.wait());
    int fd = 0;
    EXPECT_NN_ERROR(event.getSyncFenceFd(fd), ANEURALNETWORKS_BAD_DATA, "no sync fence");
    EXPECT_EQ(fd, -1);
    EXPECT_EQ(out[0], static_cast<float>(i + 5));
  }
  ASSERT_NN_OK(execution_.compute());
  EXPECT_NN_ERROR(setInput(0, {1}), ANEURALNETWORKS_BAD_STATE, "has been started");
}

TEST_F(ExecutionApi, ManyThreadsShareACompilation) {
  compile({64}, {64}, {64});
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      const std::vector<float> a(64, static_cast<float>(t));
      const std::vector<float> b(64, 1);
      for (int i = 0; i < 50; ++i) {
        ANeuralNetworksExecution* execution = nullptr;
        std::vector<float> out(64);
        ANeuralNetworksExecution_create(compilation_.get(), &execution);
        ANeuralNetworksExecution_setInput(execution, 0, nullptr, a.data(), 256);
        ANeuralNetworksExecution_setInput(execution, 1, nullptr, b.data(), 256);
        ANeuralNetworksExecution_setOutput(execution, 0, nullptr, out.data(), 256);
        if (ANeuralNetworksExecution_compute(execution) != ANEURALNETWORKS_NO_ERROR) ++wrong;
        if (out != std::vector<float>(64, static_cast<float>(t + 1))) ++wrong;
        ANeuralNetworksExecution_free(execution);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST_F(ExecutionApi, Memory) {
  compile({2}, {2}, {2});
  const int fd = memfd_create("test", MFD_CLOEXEC);
  ASSERT_EQ(ftruncate(fd, 24), 0);
  auto* mapped = static_cast<float*>(mmap(nullptr, 24, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0));
  ASSERT_NE(mapped, MAP_FAILED);
  const float values[] = {1, 2, 30, 40, 0, 0};
  std::memcpy(mapped, values, sizeof(values));
  client::Memory memory;
  ASSERT_NN_OK(memory.createFromFd(24, PROT_READ | PROT_WRITE, fd, 0));
  close(fd);
  const auto input = [&](int32_t index, size_t offset, size_t length) {
    return execution_.setInputFromMemory(index, nullptr, memory.get(), offset, length);
  };
  EXPECT_NN_ERROR(input(0, 20, 8), ANEURALNETWORKS_BAD_DATA, "outside the memory of 24 bytes");
  EXPECT_NN_OK(input(0, 0, 8));
  EXPECT_NN_OK(input(1, 8, 8));
  EXPECT_NN_OK(execution_.setOutputFromMemory(0, nullptr, memory.get(), 16, 8));
  ASSERT_NN_OK(execution_.compute());
  EXPECT_EQ(mapped[4], 31);
  EXPECT_EQ(mapped[5], 42);
  munmap(mapped, 24);
}

TEST_F(ExecutionApi, PaddingIsAllowedOnceEnabled) {
  compile({2}, {2}, {2});
  std::vector<float> out(16);
  EXPECT_NN_OK(execution_.enableInputAndOutputPadding(true));
  EXPECT_NN_OK(setInput(0, {1, 2, 99, 99}));
  EXPECT_NN_ERROR(execution_.enableInputAndOutputPadding(false), ANEURALNETWORKS_BAD_STATE,
                  "before any argument is set");
  EXPECT_NN_OK(setInput(1, {1, 1}));
  EXPECT_NN_OK(setOutput(0, out));
  ASSERT_NN_OK(execution_.compute());
  EXPECT_EQ(out[0], 2);
  EXPECT_EQ(out[1], 3);
}

TEST_F(ExecutionApi, TimingAndTimeouts) {
  compile({1}, {1}, {1});
  uint64_t duration = 0;
  EXPECT_NN_ERROR(execution_.getDuration(4, duration), ANEURALNETWORKS_BAD_DATA, "duration code 4");
  EXPECT_NN_OK(execution_.setMeasureTiming(true));
  EXPECT_NN_OK(execution_.setTimeout(UINT64_MAX));
  EXPECT_NN_OK(execution_.setLoopTimeout(UINT64_MAX));
  std::vector<float> out(1);
  EXPECT_NN_OK(setInput(0, {1}));
  EXPECT_NN_OK(setInput(1, {1}));
  EXPECT_NN_OK(setOutput(0, out));
  EXPECT_NN_ERROR(execution_.getDuration(0, duration), ANEURALNETWORKS_BAD_STATE,
                  "has not been computed");
  ASSERT_NN_OK(execution_.compute());
  EXPECT_NN_OK(execution_.getDuration(0, duration));

  client::Compilation any;
  ASSERT_NN_OK(any.create(model_.get()));
  EXPECT_NN_ERROR(any.setTimeout(1), ANEURALNETWORKS_BAD_DATA, "exactly one device");
  ASSERT_NN_OK(any.finish());
  const auto execution = newExecution(any.get());
  EXPECT_NN_ERROR(execution.setMeasureTiming(true), ANEURALNETWORKS_BAD_DATA, "exactly one device");
  EXPECT_NN_ERROR(execution.setTimeout(1), ANEURALNETWORKS_BAD_DATA, "exactly one device");
}

TEST_F(ExecutionApi, CompilationStates) {
  compile({1}, {1}, {1});
  EXPECT_NN_ERROR(compilation_.finish(), ANEURALNETWORKS_BAD_STATE, "finished already");
  EXPECT_NN_ERROR(compilation_.setPreference(0), ANEURALNETWORKS_BAD_STATE, "finished");
  client::Compilation fresh;
  ASSERT_NN_OK(fresh.create(model_.get()));
  EXPECT_NN_ERROR(fresh.setPreference(40), ANEURALNETWORKS_BAD_DATA, "preference 40");
  EXPECT_NN_ERROR(fresh.setPreference(-1), ANEURALNETWORKS_BAD_DATA, "preference -1");
  EXPECT_NN_ERROR(fresh.setPriority(91), ANEURALNETWORKS_BAD_DATA, "priority 91");
  EXPECT_NN_OK(fresh.setPriority(ANEURALNETWORKS_PRIORITY_HIGH));
  ANeuralNetworksExecution* execution = nullptr;
  EXPECT_NN_ERROR(ANeuralNetworksExecution_create(fresh.get(), &execution),
                  ANEURALNETWORKS_BAD_STATE, "not finished");
  uint32_t value = 0;
  EXPECT_NN_ERROR(
      ANeuralNetworksCompilation_getPreferredMemoryAlignmentForInput(fresh.get(), 0, &value),
      ANEURALNETWORKS_BAD_STATE, "not finished");
  EXPECT_NN_OK(ANeuralNetworksCompilation_getPreferredMemoryAlignmentForInput(compilation_.get(), 0,
                                                                              &value));
  EXPECT_EQ(value, 64u);
  EXPECT_NN_ERROR(
      ANeuralNetworksCompilation_getPreferredMemoryPaddingForOutput(compilation_.get(), 1, &value),
      ANEURALNETWORKS_BAD_DATA, "output 1 of a model with 1");
}

TEST(DeviceApi, TheCpuDeviceIsLast) {
  uint32_t count = 0;
  ASSERT_NN_OK(ANeuralNetworks_getDeviceCount(&count));
  ASSERT_GE(count, 1u);
  ANeuralNetworksDevice* device = nullptr;
  ASSERT_NN_OK(ANeuralNetworks_getDevice(count - 1, &device));
  const char* name = nullptr;
  int32_t type = -1;
  int64_t level = 0;
  EXPECT_NN_OK(ANeuralNetworksDevice_getName(device, &name));
  EXPECT_STREQ(name, kCpuDevice);
  EXPECT_NN_OK(ANeuralNetworksDevice_getType(device, &type));
  EXPECT_EQ(type, ANEURALNETWORKS_DEVICE_CPU);
  EXPECT_NN_OK(ANeuralNetworksDevice_getFeatureLevel(device, &level));
  EXPECT_EQ(level, ANeuralNetworks_getRuntimeFeatureLevel());
  EXPECT_NN_OK(ANeuralNetworksDevice_wait(device));
  EXPECT_NN_ERROR(ANeuralNetworks_getDevice(count, &device), ANEURALNETWORKS_BAD_DATA, "device");
  int64_t pid = 0;
  EXPECT_EQ(halyard_deviceProcessId(deviceNamed(kCpuDevice), &pid), ANEURALNETWORKS_NO_ERROR);
  EXPECT_EQ(pid, getpid());
  int unrelated = 0;
  EXPECT_NN_ERROR(ANeuralNetworksDevice_getName(
                      reinterpret_cast<const ANeuralNetworksDevice*>(&unrelated), &name),
                  ANEURALNETWORKS_BAD_DATA, "no device of this process");
}

}  // namespace
}  // namespace halyard::api::testing
