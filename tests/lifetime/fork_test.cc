// Applications that fork. A child can use its own new objects. Objects of its parent do not work in
// the child, and the child does not harm the parent.
#include <android/hardware_buffer.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <functional>
#include <memory>
#include <thread>

#include "lifetime/adder.h"
#include "lifetime/drivers.h"
#include "test_definitions.h"

namespace halyard::lifetime {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;

// No step takes a second on an idle machine.
constexpr unsigned kLimitSeconds = 60;

// A child process that runs a function and reports its error text; "" on success.
class Child {
 public:
  explicit Child(const std::function<std::string()>& work, bool runsExitHandlers = false) {
    pid_ = ::fork();
    if (pid_ != 0) return;
    ::alarm(kLimitSeconds);
    const std::string error = work();
    if (!error.empty()) std::fprintf(stderr, "child %d: %s\n", ::getpid(), error.c_str());
    if (runsExitHandlers) std::exit(error.empty() ? 0 : 1);
    ::_exit(error.empty() ? 0 : 1);
  }
  ~Child() { (void)ending(); }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  pid_t pid() const { return pid_; }
  std::string ending() {
    if (pid_ > 0) {
      int status = 0;
      ::waitpid(pid_, &status, 0);
      pid_ = -1;
      if (WIFSIGNALED(status)) {
        ending_ =
            WTERMSIG(status) == SIGALRM ? "it hung" : "signal " + std::to_string(WTERMSIG(status));
      } else if (WEXITSTATUS(status) != 0) {
        ending_ = "exit status " + std::to_string(WEXITSTATUS(status));
      }
    }
    return ending_;
  }

 private:
  pid_t pid_ = -1;
  std::string ending_;
};

std::string useAllDevices(uint32_t seed) {
  for (const std::string& device : kDevices) {
    Adder adder;
    std::string error = adder.make(device);
    for (uint32_t i = 0; i < 3 && error.empty(); ++i) error = adder.computeInAllWays(seed + i);
    if (!error.empty()) return device + ": " + error;
  }
  return {};
}

class ForkTest : public ::testing::Test {
 protected:
  ForkTest() : adders_(kDevices.size()) {}

  // The work of a server before it forks.
  void useDevices() {
    for (size_t i = 0; i < kDevices.size(); ++i) {
      ASSERT_EQ(adders_[i].make(kDevices[i]), "");
      ASSERT_EQ(adders_[i].computeInAllWays(1), "");
      pids_.push_back(processOf(kDevices[i]));
    }
  }
  // Checks that this process's drivers are unharmed.
  void expectUndisturbed() {
    for (size_t i = 0; i < kDevices.size(); ++i) {
      EXPECT_EQ(adders_[i].computeInAllWays(5), "") << kDevices[i];
      EXPECT_EQ(processOf(kDevices[i]), pids_[i]) << kDevices[i];
    }
  }

  std::vector<Adder> adders_;
  std::vector<int64_t> pids_;
};

TEST_F(ForkTest, AChildHasDevicesOfItsOwn) {
  useDevices();
  Child child([&]() -> std::string {
    if (std::string error = useAllDevices(10); !error.empty()) return error;
    for (size_t i = 0; i < kDevices.size(); ++i) {
      const bool isOwnProcess = pids_[i] == ::getppid();
      const int64_t pid = processOf(kDevices[i]);
      if (isOwnProcess ? pid != ::getpid() : pid == pids_[i]) return kDevices[i] + " is shared";
    }
    return {};
  });
  EXPECT_EQ(child.ending(), "");
  expectUndisturbed();
}

TEST_F(ForkTest, AGrandchildHasToo) {
  useDevices();
  Child child([&]() -> std::string {
    if (std::string error = useAllDevices(10); !error.empty()) return error;
    Child grandchild([] { return useAllDevices(20); });
    if (std::string error = grandchild.ending(); !error.empty()) return "grandchild: " + error;
    return useAllDevices(30);
  });
  EXPECT_EQ(child.ending(), "");
  expectUndisturbed();
}

// The expected result of a function in the child.
std::string expectInherited(int code, const char* call) {
  const std::string text = halyard_lastErrorText();
  if (code != ANEURALNETWORKS_BAD_STATE)
    return std::string(call) + ": code " + std::to_string(code);
  if (text.find("before fork()") == std::string::npos) return std::string(call) + ": " + text;
  return {};
}
#define EXPECT_INHERITED(call)                                                               \
  do {                                                                                       \
    if (std::string other_ = expectInherited((call), #call); !other_.empty()) return other_; \
  } while (false)

struct Inherited {
  ANeuralNetworksModel* unfinished = nullptr;
  ANeuralNetworksModel* model = nullptr;
  ANeuralNetworksCompilation* compilation = nullptr;
  ANeuralNetworksBurst* burst = nullptr;
  ANeuralNetworksExecution* execution = nullptr;
  ANeuralNetworksMemory* memory = nullptr;
  ANeuralNetworksMemoryDesc* desc = nullptr;
  ANeuralNetworksEvent* event = nullptr;

  void free() const {
    ANeuralNetworksEvent_free(event);
    ANeuralNetworksMemoryDesc_free(desc);
    ANeuralNetworksMemory_free(memory);
    ANeuralNetworksExecution_free(execution);
    ANeuralNetworksBurst_free(burst);
    ANeuralNetworksCompilation_free(compilation);
    ANeuralNetworksModel_free(model);
    ANeuralNetworksModel_free(unfinished);
  }
};

std::string useInherited(const Inherited& old) {
  const uint32_t index = 0;
  const ANeuralNetworksOperandType scalar = {ANEURALNETWORKS_INT32, 0, nullptr, 0, 0};
  int value = 0;
  uint32_t rank = 0;
  uint64_t duration = 0;
  const uint8_t token[ANEURALNETWORKS_BYTE_SIZE_OF_CACHE_TOKEN] = {};
  ANeuralNetworksCompilation* compilation = nullptr;
  ANeuralNetworksExecution* execution = nullptr;
  ANeuralNetworksBurst* burst = nullptr;
  ANeuralNetworksEvent* event = nullptr;
  ANeuralNetworksMemory* memory = nullptr;
  char* json = nullptr;
  EXPECT_INHERITED(ANeuralNetworksModel_addOperand(old.unfinished, &scalar));
  EXPECT_INHERITED(ANeuralNetworksModel_setOperandValue(old.unfinished, 0, &value, sizeof value));
  EXPECT_INHERITED(ANeuralNetworksModel_finish(old.unfinished));
  EXPECT_INHERITED(ANeuralNetworksCompilation_create(old.model, &compilation));
  EXPECT_INHERITED(ANeuralNetworksCompilation_setPreference(old.compilation, 0));
  EXPECT_INHERITED(ANeuralNetworksCompilation_setCaching(old.compilation, "/tmp", token));
  EXPECT_INHERITED(ANeuralNetworksCompilation_finish(old.compilation));
  EXPECT_INHERITED(halyard_compilationSetShadow(old.compilation, 1));
  EXPECT_INHERITED(ANeuralNetworksExecution_create(old.compilation, &execution));
  EXPECT_INHERITED(ANeuralNetworksBurst_create(old.compilation, &burst));
  EXPECT_INHERITED(ANeuralNetworksExecution_setInput(old.execution, 0, nullptr, &value, 4));
  EXPECT_INHERITED(
      ANeuralNetworksExecution_setOutputFromMemory(old.execution, 0, nullptr, old.memory, 0, 4));
  EXPECT_INHERITED(ANeuralNetworksExecution_compute(old.execution));
  EXPECT_INHERITED(ANeuralNetworksExecution_burstCompute(old.execution, old.burst));
  EXPECT_INHERITED(ANeuralNetworksExecution_startCompute(old.execution, &event));
  EXPECT_INHERITED(
      ANeuralNetworksExecution_startComputeWithDependencies(old.execution, nullptr, 0, 0, &event));
  EXPECT_INHERITED(ANeuralNetworksExecution_getOutputOperandRank(old.execution, 0, &rank));
  EXPECT_INHERITED(ANeuralNetworksExecution_getDuration(old.execution, 0, &duration));
  EXPECT_INHERITED(ANeuralNetworksMemory_copy(old.memory, old.memory));
  EXPECT_INHERITED(ANeuralNetworksMemoryDesc_addInputRole(old.desc, old.compilation, index, 1));
  EXPECT_INHERITED(ANeuralNetworksMemoryDesc_finish(old.desc));
  EXPECT_INHERITED(ANeuralNetworksMemory_createFromDesc(old.desc, &memory));
  EXPECT_INHERITED(ANeuralNetworksEvent_getSyncFenceFd(old.event, &value));
  EXPECT_INHERITED(ANeuralNetworksEvent_wait(old.event));
  if (halyard_compilationReport(old.compilation, &json) != ANEURALNETWORKS_BAD_STATE) {
    return "a report of an inherited compilation";
  }
  if (halyard_compilationProfile(old.compilation, &json) != ANEURALNETWORKS_BAD_STATE) {
    return "a profile of an inherited compilation";
  }
  // An inherited object is also refused where it is only an argument of a call.
  Adder own;
  if (std::string error = own.make("halyard-reference"); !error.empty()) return error;
  HALYARD_LIFETIME_TRY(ANeuralNetworksExecution_create(own.compilation, &execution));
  EXPECT_INHERITED(ANeuralNetworksExecution_burstCompute(execution, old.burst));
  EXPECT_INHERITED(
      ANeuralNetworksExecution_setInputFromMemory(execution, 0, nullptr, old.memory, 0, 4));
  EXPECT_INHERITED(
      ANeuralNetworksExecution_startComputeWithDependencies(execution, &old.event, 1, 0, &event));
  ANeuralNetworksExecution_free(execution);
  return {};
}

TEST_F(ForkTest, WhatIsInheritedAnswersWithAnErrorAndIsFreedWithoutHarm) {
  useDevices();
  for (size_t i = 0; i < kDevices.size(); ++i) {
    const ANeuralNetworksDevice* const device = findDevice(kDevices[i]);
    Inherited old;
    old.model = adders_[i].model;
    ANeuralNetworksModel_create(&old.unfinished);
    ANeuralNetworksCompilation_createForDevices(old.model, &device, 1, &old.compilation);
    // The worker is one more thread that the child does not have.
    EXPECT_EQ(halyard_compilationSetShadow(old.compilation, 1), ANEURALNETWORKS_NO_ERROR);
    ANeuralNetworksCompilation_finish(old.compilation);
    ANeuralNetworksBurst_create(old.compilation, &old.burst);
    ANeuralNetworksExecution_create(old.compilation, &old.execution);
    const int fd = ::memfd_create("fork_test", MFD_CLOEXEC);
    ASSERT_EQ(::ftruncate(fd, 4096), 0);
    ANeuralNetworksMemory_createFromFd(4096, PROT_READ | PROT_WRITE, fd, 0, &old.memory);
    ANeuralNetworksMemoryDesc_create(&old.desc);
    std::vector<float> values(100, 1);
    const size_t bytes = values.size() * sizeof(float);
    ANeuralNetworksExecution* other = nullptr;
    ANeuralNetworksExecution_create(old.compilation, &other);
    ANeuralNetworksExecution_setInput(other, 0, nullptr, values.data(), bytes);
    ANeuralNetworksExecution_setInput(other, 1, nullptr, values.data(), bytes);
    std::vector<float> out(100);
    ANeuralNetworksExecution_setOutput(other, 0, nullptr, out.data(), bytes);
    ASSERT_EQ(
        ANeuralNetworksExecution_startComputeWithDependencies(other, nullptr, 0, 0, &old.event),
        ANEURALNETWORKS_NO_ERROR);
    Child child(
        [&]() -> std::string {
          int32_t type = 0;
          if (ANeuralNetworksDevice_getType(device, &type) != ANEURALNETWORKS_BAD_DATA ||
              std::string(halyard_lastErrorText()).find("after fork()") == std::string::npos) {
            return std::string("the inherited device: ") + halyard_lastErrorText();
          }
          if (std::string error = useInherited(old); !error.empty()) return error;
          old.free();
          for (Adder& adder : adders_) adder.forget();
          return {};
        },
        true);
    EXPECT_EQ(child.ending(), "") << kDevices[i];
    EXPECT_EQ(ANeuralNetworksEvent_wait(old.event), ANEURALNETWORKS_NO_ERROR);
    EXPECT_EQ(out[99], 2);
    ANeuralNetworksExecution_free(other);
    old.model = nullptr;
    old.free();
    ::close(fd);
  }
  expectUndisturbed();
}

// Computes on all devices in all ways during its lifetime.
class Load {
 public:
  explicit Load(unsigned threadsForDevice = 2) {
    for (const std::string& device : kDevices) {
      for (unsigned i = 0; i < threadsForDevice; ++i) {
        threads_.emplace_back([this, device, i] {
          Adder adder;
          std::string error = adder.make(device, 1000, 4);
          for (uint32_t seed = i; error.empty() && !stops_; ++seed) {
            error = adder.computeInAllWays(seed);
            ++rounds_;
          }
          if (!error.empty()) {
            std::fprintf(stderr, "%s: %s\n", device.c_str(), error.c_str());
            ++failed_;
          }
        });
      }
    }
  }
  ~Load() { (void)failed(); }
  Load(const Load&) = delete;
  Load& operator=(const Load&) = delete;

  unsigned rounds() const { return rounds_; }
  unsigned failed() {
    stops_ = true;
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
    return failed_;
  }

 private:
  std::atomic<bool> stops_ = false;
  std::atomic<unsigned> rounds_ = 0;
  std::atomic<unsigned> failed_ = 0;
  std::vector<std::thread> threads_;
};

TEST_F(ForkTest, InTheMiddleOfExecutionsOfOtherThreads) {
  useDevices();
  Load load;
  while (load.rounds() < 10) std::this_thread::sleep_for(milliseconds(1));
  for (uint32_t i = 0; i < 15; ++i) {
    std::this_thread::sleep_for(milliseconds(i));
    Child child([&] { return useAllDevices(100 + i); }, i % 2 == 0);
    EXPECT_EQ(child.ending(), "") << "child " << i;
  }
  EXPECT_EQ(load.failed(), 0u);
  expectUndisturbed();
}

TEST_F(ForkTest, WorkersOfAPreforkServerDoNotGetEachOthersResults) {
  useDevices();
  constexpr uint32_t kWorkers = 6;
  std::vector<std::unique_ptr<Child>> workers;
  for (uint32_t worker = 0; worker < kWorkers; ++worker) {
    workers.push_back(std::make_unique<Child>([&]() -> std::string {
      // Uses the objects of its parent, as an unaware server does.
      for (Adder& adder : adders_) {
        const std::string answer = adder.compute(Adder::Way::COMPUTE, worker);
        if (answer.find("before fork()") == std::string::npos) return "inherited: " + answer;
      }
      for (uint32_t round = 0; round < 5; ++round) {
        const std::string error = useAllDevices(worker * 1000 + round);
        if (!error.empty()) return error;
      }
      return {};
    }));
  }
  expectUndisturbed();
  for (const auto& worker : workers) EXPECT_EQ(worker->ending(), "");
  expectUndisturbed();
}

// Processes that have not called the API yet: a fork at any point of the first use by another
// thread.
TEST_F(ForkTest, InTheMiddleOfTheFirstUse) {
  for (int delay = 0; delay < 40; delay += 2) {
    Child process([&]() -> std::string {
      std::string own;
      std::thread first([&] { own = useAllDevices(1); });
      std::this_thread::sleep_for(milliseconds(delay));
      Child child([] { return useAllDevices(2); });
      first.join();
      const std::string error = child.ending();
      return error.empty() ? own : "child: " + error;
    });
    EXPECT_EQ(process.ending(), "") << "after " << delay << " ms";
  }
}

bool ends(pid_t pid) {
  const auto limit = steady_clock::now() + seconds(20);
  while (::kill(pid, 0) == 0) {
    // This process is a subreaper, so it must reap the child.
    ::waitpid(pid, nullptr, WNOHANG);
    if (steady_clock::now() > limit) return false;
    std::this_thread::sleep_for(milliseconds(5));
  }
  return true;
}

TEST_F(ForkTest, DriversEndWithTheirApplicationThoughItsChildrenLive) {
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  int pipe[2];
  ASSERT_EQ(::pipe(pipe), 0);
  Child application([&]() -> std::string {
    if (std::string error = useAllDevices(1); !error.empty()) return error;
    pid_t pids[2] = {static_cast<pid_t>(processOf("halyard-reference")), ::fork()};
    if (pids[1] == 0) {
      for (;;) ::pause();
    }
    return ::write(pipe[1], pids, sizeof pids) == sizeof pids ? "" : "write";
  });
  pid_t pids[2] = {-1, -1};
  ASSERT_EQ(::read(pipe[0], pids, sizeof pids), static_cast<ssize_t>(sizeof pids));
  EXPECT_EQ(application.ending(), "");
  EXPECT_TRUE(ends(pids[0]));
  EXPECT_EQ(::kill(pids[1], SIGKILL), 0);
  EXPECT_TRUE(ends(pids[1]));
}

TEST_F(ForkTest, ATraceIsOfTheProcessThatBeganIt) {
  useDevices();
  ASSERT_EQ(halyard_traceStart(0), ANEURALNETWORKS_NO_ERROR);
  {
    Load load(1);
    while (load.rounds() < 5) std::this_thread::sleep_for(milliseconds(1));
    Child child([]() -> std::string {
      char* json = nullptr;
      if (halyard_traceJson(&json) != ANEURALNETWORKS_BAD_STATE) return "it has a trace";
      if (halyard_traceStop() != ANEURALNETWORKS_BAD_STATE) return "its trace runs";
      if (halyard_traceStart(0) != ANEURALNETWORKS_NO_ERROR) return "it cannot begin one";
      if (std::string error = useAllDevices(1); !error.empty()) return error;
      if (halyard_traceStop() != ANEURALNETWORKS_NO_ERROR) return "it cannot end it";
      if (halyard_traceJson(&json) != ANEURALNETWORKS_NO_ERROR) return "it cannot read it";
      const std::string text = json;
      const std::string own = "\"pid\":" + std::to_string(::getpid()) + ",";
      const std::string parents = "\"pid\":" + std::to_string(::getppid()) + ",";
      if (text.find(own) == std::string::npos) return "nothing of its own is in its trace";
      if (text.find(parents) != std::string::npos) return "its parent is in its trace";
      return {};
    });
    EXPECT_EQ(child.ending(), "");
    EXPECT_EQ(load.failed(), 0u);
  }
  EXPECT_EQ(halyard_traceStop(), ANEURALNETWORKS_NO_ERROR);
  char* json = nullptr;
  ASSERT_EQ(halyard_traceJson(&json), ANEURALNETWORKS_NO_ERROR);
  EXPECT_THAT(json, ::testing::HasSubstr("halyard-reference"));
  halyard_free(json);
}

bool hasContent(const std::string& path) {
  std::error_code error;
  return std::filesystem::file_size(path, error) > 1000 && !error;
}

TEST_F(ForkTest, TheEnvironmentsTraceIsAFileForEachProcessOrOfTheFirst) {
  const std::string folder =
      ::testing::TempDir() + "/halyard_fork_test_" + std::to_string(::getpid());
  std::filesystem::create_directory(folder);
  for (const char* name : {"/%p.json", "/one.json"}) {
    int pipe[2];
    ASSERT_EQ(::pipe(pipe), 0);
    const pid_t pid = ::fork();
    if (pid == 0) {
      ::setenv("HALYARD_TRACE", (folder + name).c_str(), 1);
      ::dup2(pipe[1], 1);
      ::alarm(kLimitSeconds);
      ::execl(EXIT_CLIENT, "exit_client", "fork", "1", "halyard-reference", nullptr);
      ::_exit(99);
    }
    ::close(pipe[1]);
    pid_t forked = 0;
    ASSERT_EQ(::read(pipe[0], &forked, sizeof forked), static_cast<ssize_t>(sizeof forked));
    int status = 0;
    ::waitpid(pid, &status, 0);
    EXPECT_EQ(status, 42 << 8);
    const bool isForEach = std::string(name) == "/%p.json";
    EXPECT_EQ(hasContent(folder + "/" + std::to_string(pid) + ".json"), isForEach);
    EXPECT_EQ(hasContent(folder + "/" + std::to_string(forked) + ".json"), isForEach);
    EXPECT_EQ(hasContent(folder + "/one.json"), !isForEach);
    ::close(pipe[0]);
  }
  std::filesystem::remove_all(folder);
}

TEST_F(ForkTest, HardwareBuffersAreTheirProcesss) {
  const AHardwareBuffer_Desc desc = {
      .width = 4096,
      .height = 1,
      .layers = 1,
      .format = AHARDWAREBUFFER_FORMAT_BLOB,
      .usage = AHARDWAREBUFFER_USAGE_CPU_READ_OFTEN | AHARDWAREBUFFER_USAGE_CPU_WRITE_OFTEN,
      .stride = 0,
      .rfu0 = 0,
      .rfu1 = 0};
  AHardwareBuffer* buffer = nullptr;
  ASSERT_EQ(AHardwareBuffer_allocate(&desc, &buffer), 0);
  std::atomic<bool> stops = false;
  std::thread user([&] {
    while (!stops) {
      void* address = nullptr;
      EXPECT_EQ(
          AHardwareBuffer_lock(buffer, AHARDWAREBUFFER_USAGE_CPU_READ_OFTEN, -1, nullptr, &address),
          0);
      EXPECT_EQ(AHardwareBuffer_unlock(buffer, nullptr), 0);
    }
  });
  for (int i = 0; i < 50; ++i) {
    Child child([&]() -> std::string {
      ::setenv("HALYARD_LOG", "quiet", 1);
      void* address = nullptr;
      if (AHardwareBuffer_lock(buffer, AHARDWAREBUFFER_USAGE_CPU_READ_OFTEN, -1, nullptr,
                               &address) == 0) {
        return "it can lock its parent's buffer";
      }
      if (AHardwareBuffer_unlock(buffer, nullptr) == 0) return "it can unlock it";
      AHardwareBuffer_Desc known{};
      AHardwareBuffer_describe(buffer, &known);
      if (known.width != 4096) return "it cannot describe it";
      AHardwareBuffer_release(buffer);
      AHardwareBuffer* own = nullptr;
      if (AHardwareBuffer_allocate(&desc, &own) != 0) return "it cannot make its own";
      return AHardwareBuffer_lock(own, AHARDWAREBUFFER_USAGE_CPU_READ_OFTEN, -1, nullptr,
                                  &address) == 0
                 ? ""
                 : "it cannot lock its own";
    });
    EXPECT_EQ(child.ending(), "");
  }
  stops = true;
  user.join();
  AHardwareBuffer_release(buffer);
}

}  // namespace
}  // namespace halyard::lifetime

int main(int argc, char** argv) {
  const halyard::lifetime::Drivers drivers(REFERENCE_DRIVER, CPU_LIBRARY);
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
