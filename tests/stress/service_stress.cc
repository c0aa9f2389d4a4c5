// Many client processes use one driver that runs as a service; some are killed at random. Every
// result of the surviving clients must be correct. At the end the driver holds no resources of the
// clients.
//
//   service_stress --driver PROGRAM [--seconds 300] [--clients 64] [--models 8] [--seed 1]
//
// Each second a tenth of the clients is killed, at random moments, and replaced. Prints figures;
// exits with 0 on success.
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <thread>

#include "hal/client/remote_device.h"
#include "hal/testing/test_device.h"

namespace halyard::hal {
namespace {

using std::chrono::duration_cast;
using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::addConstantModel;
using testing::pointerRequest;

struct Options {
  std::string driver;
  unsigned seconds = 300;
  unsigned clients = 64;
  unsigned models = 8;
  unsigned seed = 1;
  std::string client;  // the socket: this is a client
};

// --- A client ---

std::atomic<bool> stopRequested = false;

struct PreparedAdd {
  std::vector<float> constant;
  std::shared_ptr<PreparedModel> prepared;
};

class Client {
 public:
  Client(const Options& options, std::shared_ptr<RemoteDevice> device)
      : device_(std::move(device)), random_(options.seed), models_(options.models) {}

  Status run() {
    for (PreparedAdd& model : models_) HALYARD_RETURN_IF_ERROR(prepare(model));
    while (!stopRequested) {
      PreparedAdd& model = models_[random_() % models_.size()];
      HALYARD_RETURN_IF_ERROR(execute(model));
      ++executions_;
      if (random_() % 50 == 0) HALYARD_RETURN_IF_ERROR(prepare(model));
    }
    return okStatus();
  }
  uint64_t executions() const { return executions_; }

 private:
  Status prepare(PreparedAdd& model) {
    model.constant.resize(16 + random_() % 20'000);
    for (float& value : model.constant) value = static_cast<float>(random_() % 100'000);
    HALYARD_ASSIGN_OR_RETURN(
        model.prepared,
        device_->prepareModel(validated(addConstantModel(model.constant)).value(), {}));
    return okStatus();
  }
  Status execute(PreparedAdd& model) {
    const size_t count = model.constant.size();
    std::vector<float> in(count);
    std::vector<float> out(count, -1);
    for (float& value : in) value = static_cast<float>(random_() % 100'000);
    const ExecutionResult result = model.prepared->executeSynchronously(
        pointerRequest(in.data(), nullptr, out.data(), static_cast<uint32_t>(count)), {});
    HALYARD_RETURN_IF_ERROR(result.status);
    for (size_t i = 0; i < count; ++i) {
      if (out[i] != in[i] + model.constant[i]) {
        return opFailed("element {} is {}, expected {}", i, out[i], in[i] + model.constant[i]);
      }
    }
    return okStatus();
  }

  const std::shared_ptr<RemoteDevice> device_;
  std::minstd_rand random_;
  std::vector<PreparedAdd> models_;
  uint64_t executions_ = 0;
};

// Prints the number of its executions, or the reason of its failure.
int clientMain(const Options& options) {
  ::signal(SIGTERM, [](int) { stopRequested = true; });
  Manifest manifest;
  manifest.name = "stress-service";
  manifest.kind = Manifest::Kind::SOCKET;
  manifest.target = options.client;
  auto loop = RpcLoop::start();
  if (!loop.ok()) return 3;
  auto device = RemoteDevice::open(*loop, manifest, seconds(60));
  Status status = device.status();
  uint64_t executions = 0;
  if (status.ok()) {
    Client client(options, *device);
    status = client.run();
    executions = client.executions();
  }
  if (!status.ok()) {
    fmt::print(stderr, "client {}: {}\n", ::getpid(), status.toString());
    return 1;
  }
  fmt::print("{}\n", executions);
  return 0;
}

// --- The service, observed from outside ---

struct Footprint {
  uint64_t anonymousKiB = 0;
  uint64_t sharedKiB = 0;
  unsigned threads = 0;
  std::optional<size_t> descriptors;  // nullopt: not readable
};

Footprint footprintOf(pid_t pid) {
  Footprint footprint;
  std::ifstream file(fmt::format("/proc/{}/status", pid));
  for (std::string word; file >> word;) {
    if (word == "RssAnon:") file >> footprint.anonymousKiB;
    if (word == "RssShmem:") file >> footprint.sharedKiB;
    if (word == "Threads:") file >> footprint.threads;
  }
  std::error_code error;
  std::filesystem::directory_iterator it(fmt::format("/proc/{}/fd", pid), error);
  if (!error) footprint.descriptors = static_cast<size_t>(std::distance(begin(it), end(it)));
  return footprint;
}

void print(const char* when, const Footprint& footprint) {
  fmt::print("{:<22} anonymous {:7} KiB, shared {:6} KiB, {:3} threads, {} descriptors\n", when,
             footprint.anonymousKiB, footprint.sharedKiB, footprint.threads,
             footprint.descriptors ? std::to_string(*footprint.descriptors) : "?");
  std::fflush(stdout);
}

class Stress {
 public:
  explicit Stress(Options options) : options_(std::move(options)), random_(options_.seed) {
    char folder[] = "/tmp/halyard_service_stress_XXXXXX";
    folder_ = ::mkdtemp(folder) != nullptr ? folder : "";
  }
  ~Stress() {
    for (const auto& [pid, output] : clients_) ::kill(pid, SIGKILL);
    if (service_ > 0) ::kill(service_, SIGKILL);
    while (::wait(nullptr) > 0 || errno == EINTR) {
    }
    std::filesystem::remove_all(folder_);
  }
  Stress(const Stress&) = delete;
  Stress& operator=(const Stress&) = delete;

  // Returns the exit status.
  int run() {
    startService();
    // The first clients create the resources that the process keeps: threads, allocators' heads.
    while (executions_ == 0 && failed_ == 0) load(seconds(3), 4, 0);
    const Footprint before = settled(nullptr);
    print("before", before);
    killed_ = 0;
    executions_ = 0;
    load(seconds(options_.seconds), options_.clients, 0.1);
    const Footprint after = settled(&before);
    print("after", after);
    fmt::print("{} executions, {} clients killed, {} failed\n", executions_, killed_, failed_);
    const bool clean = withinReach(before, after);
    if (!clean) fmt::print("the driver has not let go of everything\n");
    return failed_ == 0 && clean && executions_ > 0 ? 0 : 1;
  }

 private:
  static bool withinReach(const Footprint& before, const Footprint& now) {
    constexpr uint64_t kSlackKiB = 16 * 1024;  // an allocator's arenas
    return now.anonymousKiB <= before.anonymousKiB + kSlackKiB &&
           now.sharedKiB <= before.sharedKiB + 64 && now.descriptors == before.descriptors;
  }

  void startService() {
    const std::string manifest = folder_ + "/service.json";
    std::ofstream(manifest) << fmt::format(
        R"({{"name": "stress-service", "version": "1", "hal_version": "1.3",
            "socket": "driver.sock", "service": {{"connections": {0},
            "user": {{"connections": {0}}}}}}})",
        options_.clients * 4);
    service_ = ::fork();
    if (service_ == 0) {
      ::execl(options_.driver.c_str(), options_.driver.c_str(), "--service", manifest.c_str(),
              nullptr);
      ::_exit(99);
    }
    while (!std::filesystem::exists(folder_ + "/driver.sock") && running(service_)) {
      std::this_thread::sleep_for(milliseconds(10));
    }
  }
  static bool running(pid_t pid) {
    siginfo_t info{};
    return ::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
           info.si_pid == 0;
  }

  void startClient() {
    int pipe[2];
    if (::pipe2(pipe, O_CLOEXEC) != 0) return;
    const std::string socket = "--client=" + folder_ + "/driver.sock";
    const std::string models = fmt::format("--models={}", options_.models);
    const std::string seed = fmt::format("--seed={}", random_() % 1'000'000 + 1);
    const pid_t pid = ::fork();
    if (pid == 0) {
      ::dup2(pipe[1], 1);
      ::execl("/proc/self/exe", "client", socket.c_str(), models.c_str(), seed.c_str(), nullptr);
      ::_exit(99);
    }
    ::close(pipe[1]);
    clients_.emplace(pid, UniqueFd(pipe[0]));
  }

  void killOne() {
    auto it = clients_.begin();
    std::advance(it, static_cast<ptrdiff_t>(random_() % clients_.size()));
    ::kill(it->first, SIGKILL);
    ::waitpid(it->first, nullptr, 0);
    clients_.erase(it);
    ++killed_;
  }

  // Records clients that have ended by themselves. Without an error no client does.
  void collect() {
    for (auto it = clients_.begin(); it != clients_.end();) {
      const auto next = std::next(it);
      if (!running(it->first)) finish(it);
      it = next;
    }
  }
  void finish(std::map<pid_t, UniqueFd>::iterator it) {
    int status = 0;
    ::waitpid(it->first, &status, 0);
    char text[64] = {};
    (void)!::read(it->second.get(), text, sizeof text - 1);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
      executions_ += std::strtoull(text, nullptr, 10);
    } else {
      ++failed_;
    }
    clients_.erase(it);
  }

  // `killed`: the fraction of the clients that is killed each second.
  void load(seconds time, unsigned clients, double killed) {
    const auto end = Clock::now() + time;
    const double killsPerSecond = std::max(killed * clients, 1e-3);
    while (Clock::now() < end) {
      collect();
      while (clients_.size() < clients) startClient();
      std::exponential_distribution<double> pause(killsPerSecond);
      const auto next = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                           std::chrono::duration<double>(pause(random_)));
      std::this_thread::sleep_until(std::min<TimePoint>(next, end));
      if (next < end && !clients_.empty()) killOne();
      if (!running(service_)) {
        fmt::print("the service has ended\n");
        ++failed_;
        return;
      }
    }
    for (const auto& [pid, output] : clients_) ::kill(pid, SIGTERM);
    while (!clients_.empty()) finish(clients_.begin());
  }

  // The footprint when it no longer shrinks, or is as before.
  Footprint settled(const Footprint* before) {
    Footprint last = footprintOf(service_);
    for (int quiet = 0, rounds = 0; quiet < 30 && rounds < 300; ++rounds) {
      std::this_thread::sleep_for(milliseconds(100));
      const Footprint now = footprintOf(service_);
      const bool shrinks = now.anonymousKiB < last.anonymousKiB || now.threads < last.threads ||
                           (now.descriptors && now.descriptors < last.descriptors);
      quiet = shrinks ? 0 : quiet + 1;
      last = now;
      if (before != nullptr && quiet > 10 && withinReach(*before, now)) break;
    }
    return last;
  }

  const Options options_;
  std::minstd_rand random_;
  std::string folder_;
  pid_t service_ = -1;
  std::map<pid_t, UniqueFd> clients_;  // with their output
  uint64_t executions_ = 0;
  unsigned killed_ = 0;
  unsigned failed_ = 0;
};

}  // namespace
}  // namespace halyard::hal

int main(int argc, char** argv) {
  halyard::hal::Options options;
  CLI::App app("Stress of a driver that runs as a service");
  app.add_option("--driver", options.driver, "The driver's program");
  app.add_option("--seconds", options.seconds);
  app.add_option("--clients", options.clients);
  app.add_option("--models", options.models, "Of each client");
  app.add_option("--seed", options.seed);
  app.add_option("--client", options.client)->group("");
  CLI11_PARSE(app, argc, argv);
  if (!options.client.empty()) return halyard::hal::clientMain(options);
  if (options.driver.empty() || options.clients == 0 || options.models == 0) {
    fmt::print(stderr, "service_stress: --driver, clients and models are needed\n");
    return 2;
  }
  return halyard::hal::Stress(options).run();
}
