// The reference driver in its own process through the C API. Its results equal those of the CPU
// device. The application gets errors when the driver dies.
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <thread>

#include "api/api_for_test.h"
#include "halyard/driver/unique_fd.h"
#include "test_definitions.h"

namespace halyard::api::testing {
namespace {

using std::chrono::milliseconds;

constexpr const char* kReference = "halyard-reference";

int64_t processOf(const ANeuralNetworksDevice* device) {
  int64_t pid = -1;
  EXPECT_EQ(halyard_deviceProcessId(device, &pid), ANEURALNETWORKS_NO_ERROR);
  return pid;
}

// A chain of `length` 3x3 convolutions [1,side,side,64] -> the same, weights zero.
client::Model convolutions(uint32_t side, uint32_t length) {
  constexpr uint32_t kChannels = 64;
  static const std::vector<float> filter(kChannels * 3 * 3 * kChannels, 0);
  static const std::vector<float> bias(kChannels, 1);
  client::Model model = newModel();
  EXPECT_NN_OK(model.addOperand(ANEURALNETWORKS_TENSOR_FLOAT32, {kChannels, 3, 3, kChannels}));
  EXPECT_NN_OK(model.addOperand(ANEURALNETWORKS_TENSOR_FLOAT32, {kChannels}));
  EXPECT_NN_OK(model.setOperandValue(0, filter.data(), filter.size() * 4));
  EXPECT_NN_OK(model.setOperandValue(1, bias.data(), bias.size() * 4));
  const int32_t scalars[] = {ANEURALNETWORKS_PADDING_SAME, 1, ANEURALNETWORKS_FUSED_NONE};
  for (int32_t i = 0; i < 3; ++i) {
    EXPECT_NN_OK(model.addOperand(ANEURALNETWORKS_INT32));
    EXPECT_NN_OK(model.setOperandValue(2 + i, &scalars[i], sizeof(int32_t)));
  }
  for (uint32_t i = 0; i <= length; ++i) {
    EXPECT_NN_OK(model.addOperand(ANEURALNETWORKS_TENSOR_FLOAT32, {1, side, side, kChannels}));
  }
  for (uint32_t i = 0; i < length; ++i) {
    EXPECT_NN_OK(model.addOperation(ANEURALNETWORKS_CONV_2D, {5 + i, 0, 1, 2, 3, 3, 4}, {6 + i}));
  }
  EXPECT_NN_OK(model.identifyInputsAndOutputs({5}, {5 + length}));
  EXPECT_NN_OK(model.finish());
  return model;
}

TEST(DriverProcess, RunsElsewhereAndAnswersLikeTheCpuDevice) {
  const ANeuralNetworksDevice* reference = deviceNamed(kReference);
  ASSERT_NE(reference, nullptr);
  EXPECT_GT(processOf(reference), 0);
  EXPECT_NE(processOf(reference), getpid());
  const auto model = addModel({2, 3}, {3}, {2, 3});
  ASSERT_NN_OK(model.finish());
  const float a[] = {1, 2, 3, 4, 5, 6};
  const float b[] = {10, 20, 30};
  std::vector<std::vector<float>> results;
  for (const char* name : {kReference, kCpuDevice}) {
    const auto compilation = compileFor(model.get(), deviceNamed(name));
    const auto execution = newExecution(compilation.get());
    std::vector<float> out(6);
    EXPECT_NN_OK(execution.setInput(0, nullptr, a, sizeof(a)));
    EXPECT_NN_OK(execution.setInput(1, nullptr, b, sizeof(b)));
    EXPECT_NN_OK(execution.setOutput(0, nullptr, out.data(), 24));
    ASSERT_NN_OK(execution.compute());
    results.push_back(out);
  }
  EXPECT_EQ(results[0], (std::vector<float>{11, 22, 33, 14, 25, 36}));
  EXPECT_EQ(results[0], results[1]);
}

TEST(DriverProcess, KilledDuringAnExecution) {
  const ANeuralNetworksDevice* reference = deviceNamed(kReference);
  ASSERT_NE(reference, nullptr);
  constexpr uint32_t kSide = 192;
  const auto model = convolutions(kSide, 400);  // some seconds on any machine
  const auto compilation = compileFor(model.get(), reference);
  const auto execution = newExecution(compilation.get());
  std::vector<float> in(kSide * kSide * 64);
  std::vector<float> out(in.size());
  EXPECT_NN_OK(execution.setInput(0, nullptr, in.data(), in.size() * sizeof(float)));
  EXPECT_NN_OK(execution.setOutput(0, nullptr, out.data(), out.size() * sizeof(float)));
  const int64_t victim = processOf(reference);
  ASSERT_GT(victim, 0);
  std::thread killer([victim] {
    std::this_thread::sleep_for(milliseconds(300));
    kill(static_cast<pid_t>(victim), SIGKILL);
  });
  const int code = execution.compute();
  const std::string text = halyard_lastErrorText();
  killer.join();
  EXPECT_EQ(code, ANEURALNETWORKS_DEAD_OBJECT) << text;
  EXPECT_THAT(text, ::testing::HasSubstr("halyard-reference"));
  EXPECT_THAT(text, ::testing::HasSubstr(std::to_string(victim)));
  EXPECT_THAT(text, ::testing::HasSubstr("signal 9"));

  // The models in that process are lost. Executions report that immediately.
  const auto again = newExecution(compilation.get());
  EXPECT_NN_OK(again.setInput(0, nullptr, in.data(), in.size() * sizeof(float)));
  EXPECT_NN_OK(again.setOutput(0, nullptr, out.data(), out.size() * sizeof(float)));
  EXPECT_NN_ERROR(again.compute(), ANEURALNETWORKS_DEAD_OBJECT, "halyard-reference");

  // The next compilation starts the driver again.
  const auto small = convolutions(4, 1);
  const auto next = compileFor(small.get(), reference);
  EXPECT_GT(processOf(reference), 0);
  EXPECT_NE(processOf(reference), victim);
  const auto works = newExecution(next.get());
  EXPECT_NN_OK(works.setInput(0, nullptr, in.data(), 4 * 4 * 64 * 4));
  EXPECT_NN_OK(works.setOutput(0, nullptr, out.data(), 4 * 4 * 64 * 4));
  ASSERT_NN_OK(works.compute());
  EXPECT_EQ(out[0], 1);
}

// A memory of 16 floats with its contents.
struct Floats {
  Floats() {
    const int fd = memfd_create("floats", MFD_CLOEXEC);
    EXPECT_EQ(ftruncate(fd, kSize), 0);
    values = static_cast<float*>(mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0));
    EXPECT_NN_OK(ANeuralNetworksMemory_createFromFd(kSize, PROT_READ | PROT_WRITE, fd, 0, &memory));
    close(fd);
  }
  ~Floats() {
    ANeuralNetworksMemory_free(memory);
    munmap(values, kSize);
  }
  Floats(const Floats&) = delete;
  Floats& operator=(const Floats&) = delete;

  static constexpr size_t kSize = 16 * sizeof(float);
  float* values = nullptr;
  ANeuralNetworksMemory* memory = nullptr;
};

// out = a + b, on `compilation`, after `dependency`.
struct FencedSum {
  FencedSum(ANeuralNetworksCompilation* compilation, const Floats& a, const Floats& b,
            const Floats& out, const ANeuralNetworksEvent* dependency)
      : execution(newExecution(compilation)) {
    constexpr size_t kSize = Floats::kSize;
    EXPECT_NN_OK(execution.setMeasureTiming(true));
    EXPECT_NN_OK(execution.setInputFromMemory(0, nullptr, a.memory, 0, kSize));
    EXPECT_NN_OK(execution.setInputFromMemory(1, nullptr, b.memory, 0, kSize));
    EXPECT_NN_OK(execution.setOutputFromMemory(0, nullptr, out.memory, 0, kSize));
    EXPECT_NN_OK(execution.startComputeWithDependencies({&dependency, 1}, 0, event));
  }
  uint64_t duration(int32_t code) const {
    uint64_t value = 0;
    EXPECT_NN_OK(execution.getDuration(code, value));
    return value;
  }

  client::Execution execution;
  client::Event event;
};

TEST(DriverProcess, FencesGoFromDeviceToDevice) {
  const ANeuralNetworksDevice* reference = deviceNamed(kReference);
  ASSERT_NE(reference, nullptr);
  const auto model = addModel({16}, {16}, {16});
  ASSERT_NN_OK(model.finish());
  const auto there = compileFor(model.get(), reference);
  const auto here = compileFor(model.get(), deviceNamed(kCpuDevice));
  Floats a;
  Floats b;
  Floats sum;
  Floats total;
  std::fill_n(b.values, 16, 10.0f);
  const auto pending = [](UniqueFd& signaller) {
    int ends[2];
    EXPECT_EQ(pipe2(ends, O_CLOEXEC), 0);
    const UniqueFd fence(ends[0]);
    signaller.reset(ends[1]);
    client::Event event;
    EXPECT_NN_OK(event.createFromSyncFenceFd(fence.get()));
    return event;
  };
  {
    UniqueFd signaller;
    const auto start = pending(signaller);
    const FencedSum first(there.get(), a, b, sum, start.get());
    const FencedSum second(here.get(), sum, b, total, first.event.get());
    const FencedSum third(there.get(), total, b, a, second.event.get());
    std::fill_n(a.values, 16, 1.0f);
    ASSERT_EQ(write(signaller.get(), "x", 1), 1);
    EXPECT_NN_OK(third.event.wait());
    EXPECT_EQ(a.values[15], 31);
    EXPECT_NN_OK(first.event.wait());
    EXPECT_LE(first.duration(ANEURALNETWORKS_DURATION_ON_HARDWARE),
              first.duration(ANEURALNETWORKS_DURATION_IN_DRIVER));
    EXPECT_LE(first.duration(ANEURALNETWORKS_FENCED_DURATION_IN_DRIVER),
              first.duration(ANEURALNETWORKS_DURATION_IN_DRIVER));
    EXPECT_NE(first.duration(ANEURALNETWORKS_FENCED_DURATION_IN_DRIVER), UINT64_MAX);
  }
  // The driver dies while its fences are pending: everything after it fails.
  UniqueFd signaller;
  const auto start = pending(signaller);
  const FencedSum first(there.get(), a, b, sum, start.get());
  const FencedSum second(here.get(), sum, b, total, first.event.get());
  const int64_t victim = processOf(reference);
  ASSERT_GT(victim, 0);
  kill(static_cast<pid_t>(victim), SIGKILL);
  EXPECT_NN_ERROR(second.event.wait(), ANEURALNETWORKS_OP_FAILED, "error state");
  EXPECT_NN_ERROR(first.event.wait(), ANEURALNETWORKS_OP_FAILED, "signal 9");
  uint64_t duration = 0;
  EXPECT_NN_ERROR(first.execution.getDuration(0, duration), ANEURALNETWORKS_BAD_STATE, "failed");
  EXPECT_EQ(duration, UINT64_MAX);
  ASSERT_EQ(write(signaller.get(), "x", 1), 1);  // the event of the pipe is signalled
}

// Whether the process has ended. A zombie that waits for its new parent counts as ended.
bool hasEnded(pid_t pid) {
  std::ifstream stat("/proc/" + std::to_string(pid) + "/stat");
  std::string line;
  if (!std::getline(stat, line)) return true;
  const size_t state = line.rfind(')') + 2;
  return state < line.size() && (line[state] == 'Z' || line[state] == 'X');
}

TEST(DriverProcess, EndsWithItsApplication) {
  FILE* application = popen(PRINT_DRIVER_PROCESS, "r");
  ASSERT_NE(application, nullptr);
  long long driver = 0;
  const int fields = fscanf(application, "%lld", &driver);
  ASSERT_EQ(pclose(application), 0);
  ASSERT_EQ(fields, 1);
  ASSERT_GT(driver, 1);
  for (int i = 0; i < 200 && !hasEnded(static_cast<pid_t>(driver)); ++i) {
    std::this_thread::sleep_for(milliseconds(20));
  }
  EXPECT_TRUE(hasEnded(static_cast<pid_t>(driver))) << "the driver outlives its application";
}

}  // namespace
}  // namespace halyard::api::testing
