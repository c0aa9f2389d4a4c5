// Measures quality of service:
//  - the slowdown of a client of high priority by clients of low priority,
//  - the delay with which missed deadlines are reported.
//
//   qos_bench [--check] [--driver PATH]
//
// With --check the exit status is 0 only when two goals hold. The loaded median is at most 1.5
// times the unloaded one. Missed deadlines are reported within 10 ms. The best of several rounds
// counts, because the machine has other work.
#include <fmt/format.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <string_view>
#include <thread>
#include <vector>

#include "cpu/cpu_device.h"
#include "hal/client/remote_device.h"
#include "hal/session/client_session.h"
#include "hal/session/session_services.h"

namespace halyard {
namespace {

using hal::Clock;
using std::chrono::duration;
using std::chrono::milliseconds;

constexpr int kLowClients = 4;
constexpr int kRounds = 5;
constexpr milliseconds kPhase{800};
constexpr double kMostRatio = 1.5;
constexpr double kMostLate = 10;  // ms
constexpr uint32_t kSmallMatrix = 256;
constexpr uint32_t kLargeMatrix = 768;
const std::string kSocket = fmt::format("/tmp/halyard-qos-{}.socket", ::getpid());

[[noreturn]] void die(std::string_view text) {
  fmt::print(stderr, "qos_bench: {}\n", text);
  std::exit(2);
}

template <typename T>
T valueOf(Result<T> result) {
  if (!result.ok()) die(result.status().toString());
  return std::move(*result);
}

class ModelMaker {
 public:
  uint32_t tensor(Shape dims, Lifetime lifetime) {
    Operand operand;
    operand.type = OperandType::TENSOR_FLOAT32;
    operand.dimensions = std::move(dims);
    operand.lifetime = lifetime;
    return add(operand);
  }
  template <typename T>
  uint32_t scalar(OperandType type, T value) {
    Operand operand;
    operand.type = type;
    operand.lifetime = Lifetime::CONSTANT_COPY;
    operand.location = appendConstant(model_, &value, sizeof value);
    return add(operand);
  }
  void operation(OperationType type, std::vector<uint32_t> inputs, uint32_t output) {
    model_.main.operations.push_back({type, std::move(inputs), {output}});
  }
  std::shared_ptr<const Model> share(uint32_t input, uint32_t output) {
    model_.main.inputIndexes = {input};
    model_.main.outputIndexes = {output};
    return std::make_shared<const Model>(model_);
  }

 private:
  uint32_t add(const Operand& operand) {
    model_.main.operands.push_back(operand);
    return static_cast<uint32_t>(model_.main.operands.size() - 1);
  }
  Model model_;
};

// x * x * x of n x n matrices.
std::shared_ptr<const Model> products(uint32_t n) {
  ModelMaker make;
  const Shape shape{1, n, n};
  const uint32_t in = make.tensor(shape, Lifetime::SUBGRAPH_INPUT);
  const uint32_t no = make.scalar<uint8_t>(OperandType::BOOL, 0);
  const uint32_t square = make.tensor(shape, Lifetime::TEMPORARY_VARIABLE);
  const uint32_t out = make.tensor(shape, Lifetime::SUBGRAPH_OUTPUT);
  make.operation(OperationType::BATCH_MATMUL, {in, in, no, no}, square);
  make.operation(OperationType::BATCH_MATMUL, {square, in, no, no}, out);
  return make.share(in, out);
}

// A model of one operation that takes many seconds.
constexpr uint32_t kLongValues = 128 * 128 * 64;
std::shared_ptr<const Model> longKernel() {
  ModelMaker make;
  const Shape shape{1, 128, 128, 64};
  const uint32_t in = make.tensor(shape, Lifetime::SUBGRAPH_INPUT);
  const uint32_t out = make.tensor(shape, Lifetime::SUBGRAPH_OUTPUT);
  std::vector<uint32_t> inputs{in};
  for (int32_t value : {63, 63, 63, 63, 1, 1, 127, 127, 0}) {
    inputs.push_back(make.scalar(OperandType::INT32, value));
  }
  make.operation(OperationType::AVERAGE_POOL_2D, inputs, out);
  return make.share(in, out);
}

// A prepared model with its arguments.
class Runner {
 public:
  Runner(hal::Device& device, std::shared_ptr<const Model> model, uint32_t values,
         hal::Priority priority)
      : in_(values, 0.5f), out_(values) {
    hal::PrepareOptions options;
    options.priority = priority;
    prepared_ = valueOf(device.prepareModel(valueOf(validated(std::move(model))), options));
    hal::RequestArgument argument;
    argument.kind = hal::RequestArgument::Kind::POINTER;
    argument.length = values * sizeof(float);
    argument.pointer = in_.data();
    request_.inputs = {argument};
    argument.pointer = out_.data();
    request_.outputs = {argument};
  }
  Status run(std::optional<hal::TimePoint> deadline = std::nullopt) {
    hal::ExecuteOptions options;
    options.deadline = deadline;
    return prepared_->executeSynchronously(request_, options).status;
  }

 private:
  std::vector<float> in_;
  std::vector<float> out_;
  hal::Request request_;
  std::shared_ptr<hal::PreparedModel> prepared_;
};

Runner productsRunner(hal::Device& device, uint32_t n, hal::Priority priority) {
  return Runner(device, products(n), n * n, priority);
}

hal::Manifest manifestOf(const std::string& driver, bool isSocket) {
  hal::Manifest manifest;
  manifest.name = "qos";
  manifest.version = "1";
  manifest.halVersion = HalVersion::V1_3;
  manifest.kind = isSocket ? hal::Manifest::Kind::SOCKET : hal::Manifest::Kind::EXECUTABLE;
  manifest.target = isSocket ? kSocket : driver;
  return manifest;
}

std::shared_ptr<hal::Device> openRemote(const std::string& driver, bool isSocket) {
  return valueOf(
      hal::RemoteDevice::open(valueOf(hal::RpcLoop::start()), manifestOf(driver, isSocket)));
}

std::shared_ptr<hal::Device> openLocal() {
  return std::make_shared<hal::ClientSession>(cpu::makeCpuDevice(cpu::cpuDeviceInfo(), 0),
                                              std::make_shared<hal::SessionServices>());
}

double millisecondsOf(Clock::duration time) { return duration<double, std::milli>(time).count(); }

struct Times {
  double median = 0;
  double late = 0;  // the 99th percentile
};

Times measure(Runner& runner) {
  std::vector<double> times;
  for (const auto end = Clock::now() + kPhase; Clock::now() < end;) {
    const auto start = Clock::now();
    const Status status = runner.run();
    if (!status.ok()) die(status.toString());
    times.push_back(millisecondsOf(Clock::now() - start));
    std::this_thread::sleep_for(milliseconds(1));
  }
  std::sort(times.begin(), times.end());
  return {times[times.size() / 2], times[times.size() * 99 / 100]};
}

// Load that can be switched on and off, with a count of its executions.
class Load {
 public:
  virtual ~Load() = default;
  virtual void resume(bool on) = 0;
  virtual uint64_t done() const = 0;
};

class ProcessLoad : public Load {
 public:
  explicit ProcessLoad(const std::string& driver) {
    done_ = static_cast<std::atomic<uint64_t>*>(
        ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
    if (done_ == MAP_FAILED) die("mmap");
    for (int i = 0; i < kLowClients; ++i) {
      const pid_t pid = ::fork();
      if (pid < 0) die("fork");
      if (pid == 0) runClient(driver);
      clients_.push_back(pid);
    }
  }
  ~ProcessLoad() override {
    for (const pid_t pid : clients_) {
      ::kill(pid, SIGKILL);
      ::waitpid(pid, nullptr, 0);
    }
  }
  ProcessLoad(const ProcessLoad&) = delete;
  ProcessLoad& operator=(const ProcessLoad&) = delete;

  void resume(bool on) override {
    for (const pid_t pid : clients_) ::kill(pid, on ? SIGCONT : SIGSTOP);
  }
  uint64_t done() const override { return *done_; }

 private:
  [[noreturn]] void runClient(const std::string& driver) {
    // Waits until the service's socket exists.
    for (int tries = 0; ::access(kSocket.c_str(), F_OK) != 0 && tries < 5000; ++tries)
      ::usleep(1000);
    ::usleep(50'000);
    const auto device = openRemote(driver, true);
    Runner runner = productsRunner(*device, kLargeMatrix, hal::Priority::LOW);
    while (runner.run().ok()) ++*done_;
    std::_Exit(1);
  }

  std::atomic<uint64_t>* done_;
  std::vector<pid_t> clients_;
};

class ThreadLoad : public Load {
 public:
  explicit ThreadLoad(hal::Device& device) {
    for (int i = 0; i < kLowClients; ++i) {
      threads_.emplace_back([this, &device](const std::stop_token& stop) {
        Runner runner = productsRunner(device, kLargeMatrix, hal::Priority::LOW);
        while (!stop.stop_requested()) {
          on_.wait(false);
          if (!runner.run().ok()) die("an execution of low priority has failed");
          ++done_;
        }
      });
    }
  }
  ~ThreadLoad() override {
    for (std::jthread& thread : threads_) thread.request_stop();
    resume(true);
  }
  ThreadLoad(const ThreadLoad&) = delete;
  ThreadLoad& operator=(const ThreadLoad&) = delete;

  void resume(bool on) override {
    on_ = on;
    on_.notify_all();
  }
  uint64_t done() const override { return done_; }

 private:
  std::atomic<bool> on_{false};
  std::atomic<uint64_t> done_{0};
  std::vector<std::jthread> threads_;
};

// Prints the rounds and returns the best ratio of the medians.
double compare(std::string_view name, Runner& high, Load& load) {
  double best = std::numeric_limits<double>::infinity();
  for (int round = 0; round < kRounds; ++round) {
    load.resume(false);
    std::this_thread::sleep_for(milliseconds(300));  // started executions end
    const Times alone = measure(high);
    load.resume(true);
    std::this_thread::sleep_for(milliseconds(100));
    const uint64_t before = load.done();
    const Times loaded = measure(high);
    const double rate =
        static_cast<double>(load.done() - before) / duration<double>(kPhase).count();
    const double ratio = loaded.median / alone.median;
    best = std::min(best, ratio);
    fmt::print("{:34} {:9.2f} {:9.2f} {:7.2f} {:10.2f} {:9.2f} {:10.1f}\n", name, alone.median,
               loaded.median, ratio, alone.late, loaded.late, rate);
  }
  load.resume(false);
  return best;
}

// Prints the delay with which `call` returns after its deadline; the call takes much longer than
// the deadline. Returns the greatest delay within the best round.
double lateness(std::string_view name, const std::function<Status(hal::TimePoint)>& call) {
  double best = std::numeric_limits<double>::infinity();
  for (int round = 0; round < 3; ++round) {
    double latest = 0;
    for (int i = 0; i < 10; ++i) {
      const auto deadline = Clock::now() + milliseconds(40);
      const Status status = call(deadline);
      // PERSISTENT when this process did not run before the deadline.
      if (status.code() != ResultCode::MISSED_DEADLINE_TRANSIENT &&
          status.code() != ResultCode::MISSED_DEADLINE_PERSISTENT) {
        die(fmt::format("{}: {}", name, status.toString()));
      }
      latest = std::max(latest, millisecondsOf(Clock::now() - deadline));
    }
    best = std::min(best, latest);
    fmt::print("{:34} {:9.2f}\n", name, latest);
  }
  return best;
}

pid_t startService(const std::string& driver) {
  const pid_t pid = ::fork();
  if (pid < 0) die("fork");
  if (pid == 0) {
    ::execl(driver.c_str(), driver.c_str(), "--listen", kSocket.c_str(), nullptr);
    std::_Exit(127);
  }
  for (int tries = 0; ::access(kSocket.c_str(), F_OK) != 0; ++tries) {
    if (tries > 10'000) die(fmt::format("{} does not listen", driver));
    ::usleep(1000);
  }
  ::usleep(20'000);
  return pid;
}

bool runPriorities(const std::string& driver) {
  fmt::print("one client of high priority beside {} saturating ones of low priority\n",
             kLowClients);
  fmt::print("{:34} {:>9} {:>9} {:>7} {:>10} {:>9} {:>10}\n", "ms", "alone", "loaded", "ratio",
             "p99 alone", "p99 load", "low per s");
  bool good = true;
  {
    ProcessLoad load(driver);  // forks: before this process has threads
    const pid_t service = startService(driver);
    {
      const auto device = openRemote(driver, true);
      Runner high = productsRunner(*device, kSmallMatrix, hal::Priority::HIGH);
      good = compare("processes on one service", high, load) <= kMostRatio && good;
    }
    ::kill(service, SIGTERM);
    ::waitpid(service, nullptr, 0);
  }
  const auto device = openLocal();
  Runner high = productsRunner(*device, kSmallMatrix, hal::Priority::HIGH);
  ThreadLoad load(*device);
  return compare("threads of one process", high, load) <= kMostRatio && good;
}

bool runDeadlines(const std::string& driver) {
  fmt::print("\nhow late a missed deadline is reported, at the most, ms\n");
  double worst = 0;
  const auto note = [&](double late) { worst = std::max(worst, late); };
  {
    const auto local = openLocal();
    Runner runner(*local, longKernel(), kLongValues, hal::Priority::MEDIUM);
    note(lateness("long kernel in process", [&](auto by) { return runner.run(by); }));
    Runner low(*local, longKernel(), kLongValues, hal::Priority::LOW);
    note(lateness("the same, low priority", [&](auto by) { return low.run(by); }));
  }
  const auto remote = openRemote(driver, false);
  Runner runner(*remote, longKernel(), kLongValues, hal::Priority::MEDIUM);
  note(lateness("long kernel in a driver", [&](auto by) { return runner.run(by); }));
  ::kill(remote->processId(), SIGSTOP);
  note(lateness("driver stopped, execution", [&](auto by) { return runner.run(by); }));
  const auto model = products(kSmallMatrix);
  note(lateness("driver stopped, preparation", [&](auto by) {
    hal::PrepareOptions options;
    options.deadline = by;
    return remote->prepareModel(valueOf(validated(model)), options).status();
  }));
  ::kill(remote->processId(), SIGCONT);
  return worst <= kMostLate;
}

int run(int argc, char** argv) {
  bool check = false;
  std::string driver = HALYARD_REFERENCE_DRIVER;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument == "--check") {
      check = true;
    } else if (argument == "--driver" && i + 1 < argc) {
      driver = argv[++i];
    } else {
      die("usage: qos_bench [--check] [--driver PATH]");
    }
  }
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  const bool priorities = runPriorities(driver);
  const bool deadlines = runDeadlines(driver);
  if (!check) return 0;
  fmt::print("\nmedian at most {} times the unloaded one: {}\n", kMostRatio,
             priorities ? "yes" : "NO");
  fmt::print("deadlines missed by at most {} ms: {}\n", kMostLate, deadlines ? "yes" : "NO");
  return priorities && deadlines ? 0 : 1;
}

}  // namespace
}  // namespace halyard

int main(int argc, char** argv) { return halyard::run(argc, argv); }
