// Measures the cost of a computation in another process. It compares executions of a one-element
// ADD by the reference driver with raw round trips through shared memory, in the same run.
//
//   ipc_bench [--check] [--repeats N]
//
// --check exits 0 only when the printed goals hold. The machine's noise does not count: the best
// median of the repeats decides.
#include <android/NeuralNetworks.h>
#include <fmt/format.h>
#include <halyard/halyard.h>
#include <linux/futex.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <chrono>
#include <climits>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "hal/client/remote_device.h"
#include "hal/client/remote_prepared_model.h"
#include "hal/manifest/manifest.h"

namespace halyard {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr const char* kDriver = "halyard-reference";
constexpr unsigned kHotTrips = 10'000;
constexpr unsigned kIdleTrips = 400;
constexpr unsigned kWarmUp = 200;
// The number of trips on a busy machine.
constexpr unsigned kFewestTrips = 50;
constexpr std::chrono::milliseconds kLongestRow{700};
// The pause between two trips, so that both sides are asleep.
constexpr std::chrono::microseconds kIdle{500};
constexpr double kHotAllowance = 3;      // us over a raw trip of spinning peers
constexpr double kAsleepAllowance = 10;  // us over a raw trip of sleeping peers
constexpr double kPlainFactor = 1.5;     // of the time in a burst

[[noreturn]] void fail(const std::string& text) {
  fmt::print(stderr, "ipc_bench: {}\n", text);
  std::exit(2);
}
void check(int code, const char* what) {
  if (code != ANEURALNETWORKS_NO_ERROR) fail(fmt::format("{}: {}", what, halyard_lastErrorText()));
}

// Two words through which two processes exchange 64 bytes each way, as much as a packet.
struct Words {
  alignas(64) std::atomic<uint32_t> request;
  alignas(64) char sent[64];
  alignas(64) std::atomic<uint32_t> reply;
  alignas(64) char received[64];
  alignas(64) std::atomic<uint32_t> sleeps;
};

void futexWait(std::atomic<uint32_t>& word, uint32_t value) {
  ::syscall(SYS_futex, &word, FUTEX_WAIT, value, nullptr, nullptr, 0);
}
void futexWake(std::atomic<uint32_t>& word) {
  ::syscall(SYS_futex, &word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

// Another process that answers. It spins or sleeps between requests, as `words.sleeps` says.
class RawPeer {
 public:
  RawPeer() {
    const int fd = ::memfd_create("ipc_bench", MFD_CLOEXEC);
    if (fd < 0 || ::ftruncate(fd, sizeof(Words)) != 0) fail("no memory to share");
    void* const memory = ::mmap(nullptr, sizeof(Words), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (memory == MAP_FAILED) fail("no memory to share");
    words_ = static_cast<Words*>(memory);
    pid_ = ::fork();
    if (pid_ < 0) fail("fork");
    if (pid_ == 0) serve();
  }
  ~RawPeer() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    ::munmap(words_, sizeof(Words));
  }
  RawPeer(const RawPeer&) = delete;
  RawPeer& operator=(const RawPeer&) = delete;

  pid_t pid() const { return pid_; }
  // The peer reads the setting with the next request.
  void setSleeps(bool sleeps) {
    words_->sleeps = sleeps ? 1 : 0;
    // The peer answers the pending request in its old mode.
    for (int i = 0; i < 2; ++i) trip(/*sleeps=*/false, /*wakes=*/true);
  }
  // `sleeps` and `wakes`: the modes of this side, as for the peer.
  void trip(bool sleeps) { trip(sleeps, sleeps); }
  void trip(bool sleeps, bool wakes) {
    std::memset(words_->sent, static_cast<int>(count_), sizeof words_->sent);
    const uint32_t next = ++count_;
    words_->request.store(next);
    if (wakes) futexWake(words_->request);
    for (;;) {
      const uint32_t seen = words_->reply.load();
      if (seen == next) break;
      if (sleeps) futexWait(words_->reply, seen);
    }
    std::memcpy(copy_, words_->received, sizeof copy_);
  }

 private:
  [[noreturn]] void serve() {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (uint32_t done = 0;; ++done) {
      const bool sleeps = words_->sleeps != 0;
      while (words_->request.load() == done) {
        if (sleeps) futexWait(words_->request, done);
      }
      std::memcpy(words_->received, words_->sent, sizeof words_->sent);
      words_->reply.store(done + 1);
      futexWakeIf(words_->sleeps != 0 || sleeps);
    }
  }
  void futexWakeIf(bool wanted) {
    if (wanted) futexWake(words_->reply);
  }

  Words* words_ = nullptr;
  pid_t pid_ = 0;
  uint32_t count_ = 0;
  char copy_[64] = {};
};

// A one-element ADD, compiled for the driver through the C API.
class AddExecution {
 public:
  AddExecution() {
    check(ANeuralNetworksModel_create(&model_), "model");
    const uint32_t one = 1;
    const ANeuralNetworksOperandType tensor{ANEURALNETWORKS_TENSOR_FLOAT32, 1, &one, 0, 0};
    const ANeuralNetworksOperandType scalar{ANEURALNETWORKS_INT32, 0, nullptr, 0, 0};
    for (const auto* type : {&tensor, &tensor, &scalar, &tensor}) {
      check(ANeuralNetworksModel_addOperand(model_, type), "operand");
    }
    const int32_t none = ANEURALNETWORKS_FUSED_NONE;
    check(ANeuralNetworksModel_setOperandValue(model_, 2, &none, sizeof none), "activation");
    const uint32_t inputs[] = {0, 1, 2};
    const uint32_t output = 3;
    check(ANeuralNetworksModel_addOperation(model_, ANEURALNETWORKS_ADD, 3, inputs, 1, &output),
          "operation");
    check(ANeuralNetworksModel_identifyInputsAndOutputs(model_, 2, inputs, 1, &output), "ends");
    check(ANeuralNetworksModel_finish(model_), "model");
    const ANeuralNetworksDevice* const device = find();
    check(ANeuralNetworksCompilation_createForDevices(model_, &device, 1, &compilation_),
          "compilation");
    check(ANeuralNetworksCompilation_finish(compilation_), "compilation");
    check(ANeuralNetworksBurst_create(compilation_, &burst_), "burst");
    check(ANeuralNetworksExecution_create(compilation_, &execution_), "execution");
    check(ANeuralNetworksExecution_setReusable(execution_, true), "reusable");
    check(ANeuralNetworksExecution_setInput(execution_, 0, nullptr, &a_, sizeof a_), "input");
    check(ANeuralNetworksExecution_setInput(execution_, 1, nullptr, &b_, sizeof b_), "input");
    check(ANeuralNetworksExecution_setOutput(execution_, 0, nullptr, &sum_, sizeof sum_), "output");
    int64_t pid = 0;
    check(halyard_deviceProcessId(device, &pid), "the driver's process");
    pid_ = static_cast<pid_t>(pid);
  }
  ~AddExecution() {
    ANeuralNetworksExecution_free(execution_);
    ANeuralNetworksBurst_free(burst_);
    ANeuralNetworksCompilation_free(compilation_);
    ANeuralNetworksModel_free(model_);
  }
  AddExecution(const AddExecution&) = delete;
  AddExecution& operator=(const AddExecution&) = delete;

  pid_t driver() const { return pid_; }
  void inBurst() {
    a_ += 1;
    check(ANeuralNetworksExecution_burstCompute(execution_, burst_), "burstCompute");
    checkSum();
  }
  void plain() {
    a_ += 1;
    check(ANeuralNetworksExecution_compute(execution_), "compute");
    checkSum();
  }

 private:
  static const ANeuralNetworksDevice* find() {
    uint32_t count = 0;
    check(ANeuralNetworks_getDeviceCount(&count), "devices");
    for (uint32_t i = 0; i < count; ++i) {
      ANeuralNetworksDevice* device = nullptr;
      const char* name = nullptr;
      check(ANeuralNetworks_getDevice(i, &device), "device");
      check(ANeuralNetworksDevice_getName(device, &name), "name");
      if (std::string(name) == kDriver) return device;
    }
    fail(fmt::format("there is no driver '{}'", kDriver));
  }
  void checkSum() {
    if (a_ > 1e6f)
      a_ = 0;
    else if (sum_ != a_ + b_)
      fail(fmt::format("{} + {} is not {}", a_, b_, sum_));
  }

  ANeuralNetworksModel* model_ = nullptr;
  ANeuralNetworksCompilation* compilation_ = nullptr;
  ANeuralNetworksBurst* burst_ = nullptr;
  ANeuralNetworksExecution* execution_ = nullptr;
  pid_t pid_ = 0;
  float a_ = 0;
  float b_ = 0.5f;
  float sum_ = 0;
};

// The same computation over the connection alone, through the HAL's own interface.
class RpcExecution {
 public:
  explicit RpcExecution(const hal::Manifest& manifest) {
    auto loop = hal::RpcLoop::start();
    if (!loop.ok()) fail(loop.status().toString());
    auto device = hal::RemoteDevice::open(*loop, manifest);
    if (!device.ok()) fail(device.status().toString());
    auto prepared = (*device)->prepareModel(validated(model()).value(), {});
    if (!prepared.ok()) fail(prepared.status().toString());
    prepared_ = std::static_pointer_cast<hal::RemotePreparedModel>(*prepared);
    prepared_->useRings(false);
    for (float* value : {&a_, &b_, &sum_}) {
      hal::RequestArgument argument;
      argument.kind = hal::RequestArgument::Kind::POINTER;
      argument.pointer = value;
      argument.length = sizeof *value;
      (value == &sum_ ? request_.outputs : request_.inputs).push_back(argument);
    }
  }
  void execute() {
    const auto result = prepared_->executeSynchronously(request_, {});
    if (!result.status.ok()) fail(result.status.toString());
  }

 private:
  static Model model() {
    Model model;
    Operand tensor;
    tensor.type = OperandType::TENSOR_FLOAT32;
    tensor.dimensions = {1};
    tensor.lifetime = Lifetime::SUBGRAPH_INPUT;
    Operand output = tensor;
    output.lifetime = Lifetime::SUBGRAPH_OUTPUT;
    Operand activation;
    activation.type = OperandType::INT32;
    activation.lifetime = Lifetime::CONSTANT_COPY;
    const int32_t none = 0;
    activation.location = appendConstant(model, &none, sizeof none);
    model.main.operands = {tensor, tensor, activation, output};
    model.main.operations = {{static_cast<OperationType>(ANEURALNETWORKS_ADD), {0, 1, 2}, {3}}};
    model.main.inputIndexes = {0, 1};
    model.main.outputIndexes = {3};
    return model;
  }

  std::shared_ptr<hal::RemotePreparedModel> prepared_;
  hal::Request request_;
  float a_ = 1;
  float b_ = 2;
  float sum_ = 0;
};

// The processors on which the two sides run.
enum class Placement { FREE, APART, TOGETHER };

void place(pid_t process, int core) {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (core < 0) {
    for (int i = 0; i < CPU_SETSIZE; ++i) CPU_SET(i, &set);
  } else {
    CPU_SET(core, &set);
  }
  std::error_code gone;
  for (const auto& task : fs::directory_iterator(fmt::format("/proc/{}/task", process), gone)) {
    ::sched_setaffinity(std::stoi(task.path().filename()), sizeof set, &set);
  }
}

struct Row {
  std::string name;
  Placement placement = Placement::FREE;
  bool idle = false;  // pauses before each trip
  pid_t peer = 0;
  std::function<void()> prepare;
  std::function<void()> trip;
  std::function<void()> finish = {};
  // Microseconds of the repeat with the best median.
  double median = 1e9;
  double p99 = 0;
};

void measure(Row& row) {
  if (row.placement != Placement::FREE) {
    place(::getpid(), 0);
    place(row.peer, row.placement == Placement::APART ? 1 : 0);
  }
  if (row.prepare) row.prepare();
  const auto end = Clock::now() + kLongestRow;
  for (unsigned i = 0; i < kWarmUp && Clock::now() < end - kLongestRow / 2; ++i) row.trip();
  std::vector<double> times;
  const unsigned trips = row.idle ? kIdleTrips : kHotTrips;
  while (times.size() < trips && (times.size() < kFewestTrips || Clock::now() < end)) {
    if (row.idle) {
      const auto pause = std::chrono::nanoseconds(kIdle).count();
      const timespec duration{0, pause};
      ::nanosleep(&duration, nullptr);
    }
    const auto start = Clock::now();
    row.trip();
    times.push_back(std::chrono::duration<double, std::micro>(Clock::now() - start).count());
  }
  if (row.placement != Placement::FREE) {
    place(::getpid(), -1);
    place(row.peer, -1);
  }
  if (row.finish) row.finish();
  std::sort(times.begin(), times.end());
  const double median = times[times.size() / 2];
  if (median >= row.median) return;
  row.median = median;
  row.p99 = times[times.size() * 99 / 100];
}

bool goal(const std::string& text, double value, double limit) {
  const bool met = value <= limit;
  fmt::print("{:<7} {}: {:.2f} us, at most {:.2f}\n", met ? "met" : "MISSED", text, value, limit);
  return met;
}

bool report(const std::vector<Row>& rows, unsigned repeats) {
  fmt::print("One-element ADD by {}; microseconds, the best of {} repeats\n\n", kDriver, repeats);
  fmt::print("{:<44} {:>9} {:>9}\n", "", "median", "p99");
  for (const Row& row : rows) {
    fmt::print("{:<44} {:>9.2f} {:>9.2f}\n", row.name, row.median, row.p99);
  }
  fmt::print("\n");
  const auto median = [&](std::string_view name) {
    return std::find_if(rows.begin(), rows.end(), [&](const Row& row) { return row.name == name; })
        ->median;
  };
  bool met = goal("burst, both awake", median("burst"), median("raw, looking") + kHotAllowance);
  met = goal("burst, both asleep, cores apart", median("burst, asleep, cores apart"),
             median("raw, asleep, cores apart") + kAsleepAllowance) &&
        met;
  met = goal("burst, both asleep, one core", median("burst, asleep, one core"),
             median("raw, asleep, one core") + kAsleepAllowance) &&
        met;
  return goal("plain compute", median("plain compute"), kPlainFactor * median("burst")) && met;
}

std::vector<Row> makeRows(RawPeer& raw, AddExecution& add, RpcExecution& rpc) {
  const auto looking = [&] { raw.setSleeps(false); };
  const auto sleeping = [&] { raw.setSleeps(true); };
  const auto look = [&] { raw.trip(false); };
  const auto sleep = [&] { raw.trip(true); };
  const auto burst = [&] { add.inBurst(); };
  const pid_t driver = add.driver();
  std::vector<Row> rows;
  rows.push_back({"raw, looking", Placement::FREE, false, raw.pid(), looking, look, sleeping});
  rows.push_back({"burst", Placement::FREE, false, driver, {}, burst});
  rows.push_back({"plain compute", Placement::FREE, false, driver, {}, [&] { add.plain(); }});
  rows.push_back({"raw, asleep", Placement::FREE, true, raw.pid(), sleeping, sleep});
  rows.push_back({"burst, asleep", Placement::FREE, true, driver, {}, burst});
  rows.push_back({"raw, asleep, cores apart", Placement::APART, true, raw.pid(), sleeping, sleep});
  rows.push_back({"burst, asleep, cores apart", Placement::APART, true, driver, {}, burst});
  rows.push_back({"raw, asleep, one core", Placement::TOGETHER, true, raw.pid(), sleeping, sleep});
  rows.push_back({"burst, asleep, one core", Placement::TOGETHER, true, driver, {}, burst});
  rows.push_back(
      {"call over the connection", Placement::FREE, false, 0, {}, [&] { rpc.execute(); }});
  return rows;
}

int run(int argc, char** argv) {
  bool checks = false;
  unsigned repeats = 5;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument == "--check") {
      checks = true;
    } else if (argument == "--repeats" && i + 1 < argc) {
      const std::string_view text = argv[++i];
      std::from_chars(text.data(), text.data() + text.size(), repeats);
      repeats = std::clamp(repeats, 1u, 100u);
    } else {
      fmt::print(stderr, "usage: {} [--check] [--repeats N]\n", argv[0]);
      return 2;
    }
  }
  const fs::path prefix = fs::read_symlink("/proc/self/exe").parent_path().parent_path();
  const fs::path path = prefix / "share/halyard/drivers.d/reference.json";
  ::setenv("HALYARD_DRIVER_FILES", path.c_str(), 1);
  const auto manifest = hal::loadManifest(path);
  if (!manifest.ok()) fail(manifest.status().toString());
  RawPeer raw;  // forks, so it is made before threads exist
  AddExecution add;
  RpcExecution rpc(*manifest);
  std::vector<Row> rows = makeRows(raw, add, rpc);
  for (unsigned repeat = 0; repeat < repeats; ++repeat) {
    for (Row& row : rows) measure(row);
  }
  const bool met = report(rows, repeats);
  return checks && !met ? 1 : 0;
}

}  // namespace
}  // namespace halyard

int main(int argc, char** argv) { return halyard::run(argc, argv); }
