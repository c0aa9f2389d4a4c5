// Stress of applications over their lives. They fork, exit, unload the library, lose their drivers,
// run out of descriptors, and have too many of them in flight. Beside them a service is killed
// again and again, and gets sockets that linger when they are closed.
//
//   process_stress --reference PROGRAM --cpu LIBRARY --dlclose PROGRAM --library FILE
//                  [--seconds 600] [--applications 4] [--seed 1] [--lenient]
//
// No result may be wrong. No application may crash or remain. No call may return more than 100 ms
// after its deadline. At the end, without disturbances, all applications must work again. On a
// machine with other load, threads wait for a processor. Each application measures that time for
// its own threads. Calls that are late by at most that time beyond the 100 ms are counted apart.
// The application cannot measure the waits of drivers' threads. With --lenient late calls are
// reported and are not failures: it is for machines with other work. Prints figures; exits with 0
// on success.
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <random>
#include <thread>

#include "base/testing/descriptors_in_flight.h"
#include "lifetime/adder.h"

namespace halyard::lifetime {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::seconds;

constexpr milliseconds kTimeout{200};  // of an execution
constexpr milliseconds kLateness{100};
constexpr unsigned kLimitSeconds = 120;  // of any step
constexpr int kStatus = 42;
constexpr rlim_t kFewInFlight = 250;  // descriptors

struct Options {
  std::string reference;
  std::string cpu;
  std::string dlclose;
  std::string library;
  unsigned seconds = 600;
  unsigned applications = 4;
  unsigned seed = 1;
  bool lenient = false;
};

// Counters in memory that all processes share.
struct Tally {
  std::atomic<uint64_t> executions = 0;
  std::atomic<uint64_t> errors = 0;  // expected ones
  std::atomic<uint64_t> wrong = 0;
  std::atomic<uint64_t> late = 0;
  std::atomic<uint64_t> lateByLoad = 0;
  std::atomic<int64_t> latest = 0;        // ns after the deadline
  std::atomic<int64_t> longestDelay = 0;  // ns that a thread waited for a processor
  std::atomic<uint64_t> notRecovered = 0;
  std::atomic<uint64_t> forks = 0;
  std::atomic<uint64_t> childFailures = 0;
  std::atomic<uint64_t> fullQueues = 0;
};
Tally* tally = nullptr;

void raise(std::atomic<int64_t>& to, int64_t value) {
  int64_t known = to.load();
  while (value > known && !to.compare_exchange_weak(known, value)) {
  }
}

// Measures the delay with which a sleep of a millisecond ends in a thread of this process.
class Heartbeat {
 public:
  Heartbeat() {
    std::thread([this] {
      for (;;) {
        const Clock::time_point due = Clock::now() + milliseconds(1);
        std::this_thread::sleep_until(due);
        const Clock::time_point now = Clock::now();
        raise(tally->longestDelay, nanoseconds(now - due).count());
        const std::lock_guard lock(mutex_);
        beats_[next_++ % beats_.size()] = {due, now};
      }
    }).detach();
  }
  // The sum of the recorded delays since `start`.
  nanoseconds delaySince(Clock::time_point start) {
    const Clock::time_point now = Clock::now();
    const std::lock_guard lock(mutex_);
    nanoseconds sum{0};
    Clock::time_point last = start;
    for (const auto& [due, woken] : beats_) {
      last = std::max(last, woken);
      const nanoseconds delay = woken - std::max(due, start);
      if (woken > start && delay > milliseconds(1)) sum += delay;
    }
    return sum + std::max(now - last - milliseconds(1), Clock::duration(0));
  }

 private:
  std::mutex mutex_;
  std::array<std::pair<Clock::time_point, Clock::time_point>, 4096> beats_ = {};
  size_t next_ = 0;
};

class Application {
 public:
  explicit Application(unsigned seed) : random_(seed), devices_(allDevices()) {}

  void startThreads(unsigned forEachDevice) {
    for (const std::string& device : devices_) {
      for (unsigned i = 0; i < forEachDevice; ++i) {
        std::thread([this, device, seed = static_cast<uint32_t>(random_())] {
          compute(device, seed, [this] { return !stops_.load(); });
          --running_;
        }).detach();
        ++running_;
      }
    }
  }
  void stopThreads() {
    stops_ = true;
    while (running_ > 0) std::this_thread::sleep_for(milliseconds(1));
    stops_ = false;
  }

  void killADriver() {
    const std::string& device = devices_[random_() % devices_.size()];
    if (device == "stress-service") return;  // other applications use it too
    const int64_t pid = processOf(device);
    if (pid > 0 && pid != ::getpid()) ::kill(static_cast<pid_t>(pid), SIGKILL);
  }

  // A child that checks that it cannot use its parent's objects, and then computes with its own.
  void forkAChild() {
    Adder inherited;
    const bool made = inherited.make(devices_.back()).empty();
    ++tally->forks;
    const auto seed = static_cast<unsigned>(random_());
    const pid_t pid = ::fork();
    if (pid != 0) {
      inherited.free();
      children_.push_back(pid);
      return;
    }
    ::alarm(kLimitSeconds);
    const std::string answer = made ? inherited.compute(Adder::Way::COMPUTE, 1) : "before fork()";
    if (answer.find("before fork()") == std::string::npos) {
      std::fprintf(stderr, "what is inherited answers '%s'\n", answer.c_str());
      ++tally->childFailures;
    }
    inherited.free();
    Application own(seed);
    // On the heap and never freed: its threads still run when the process exits.
    static Heartbeat* const heartbeat = new Heartbeat;
    own.heartbeat_ = heartbeat;
    for (const std::string& device : own.devices_) {
      const Clock::time_point end = Clock::now() + milliseconds(50);
      own.compute(device, seed, [end] { return Clock::now() < end; });
    }
    if (seed % 2 == 0) ::_exit(kStatus);
    std::exit(kStatus);
  }
  void collectChildren() {
    for (const pid_t child : children_) {
      int status = 0;
      ::waitpid(child, &status, 0);
      if (status == kStatus << 8) continue;
      std::fprintf(stderr, "a child has ended with status %#x\n", static_cast<unsigned>(status));
      ++tally->childFailures;
    }
    children_.clear();
  }

  // Whether each device works again after the disturbances.
  void recover() {
    for (const std::string& device : devices_) {
      if (device == "stress-service") continue;  // other processes kill it
      const Clock::time_point end = Clock::now() + seconds(40);
      std::string error = "not tried";
      while (!error.empty() && Clock::now() < end) {
        Adder adder;
        error = adder.make(device);
        if (error.empty()) error = adder.computeInAllWays(1);
        if (!error.empty()) std::this_thread::sleep_for(milliseconds(20));
      }
      if (error.empty()) continue;
      std::fprintf(stderr, "%s does not recover: %s\n", device.c_str(), error.c_str());
      ++tally->notRecovered;
    }
  }

  // Opens all available descriptors, and closes some of them from time to time.
  void exhaustDescriptors() {
    std::vector<int> taken;
    const Clock::time_point end = Clock::now() + milliseconds(400);
    while (Clock::now() < end) {
      for (int fd = 0; (fd = ::open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0;) taken.push_back(fd);
      std::this_thread::sleep_for(milliseconds(5));
      const size_t back = std::min<size_t>(taken.size(), random_() % 12);
      for (size_t i = 0; i < back; ++i) {
        ::close(taken.back());
        taken.pop_back();
      }
      std::this_thread::sleep_for(milliseconds(1));
    }
    for (const int fd : taken) ::close(fd);
  }

  // Has so many descriptors in flight that it can send no more.
  void fillQueues() {
    const Clock::time_point end = Clock::now() + milliseconds(400);
    while (Clock::now() < end) {
      const testing::InFlight many(2 * kFewInFlight);
      if (many.isRefused()) ++tally->fullQueues;
      std::this_thread::sleep_for(milliseconds(random_() % 60));
    }
  }

  unsigned random() { return static_cast<unsigned>(random_()); }
  void setHeartbeat(Heartbeat* heartbeat) { heartbeat_ = heartbeat; }

 private:
  template <typename GoesOn>
  void compute(const std::string& device, uint32_t seed, GoesOn goesOn) {
    std::minstd_rand random(seed + 1);
    while (goesOn()) {
      Adder adder;
      std::string error = adder.make(device, 1 + random() % 5000, 1 + random() % 5);
      if (!error.empty()) {
        ++tally->errors;
        std::this_thread::sleep_for(milliseconds(10));
      }
      for (int i = 0; i < 50 && error.empty() && goesOn(); ++i) {
        error = computeOnce(adder, device, static_cast<uint32_t>(random()));
      }
    }
  }
  std::string computeOnce(Adder& adder, const std::string& device, uint32_t seed) {
    const Adder::Way way = Adder::kWays[seed % std::size(Adder::kWays)];
    const Clock::time_point start = Clock::now();
    std::string error = adder.compute(way, seed, nanoseconds(kTimeout).count());
    const nanoseconds late = Clock::now() - start - kTimeout;
    if (error.starts_with("wrong")) {
      std::fprintf(stderr, "%s: %s\n", device.c_str(), error.c_str());
      ++tally->wrong;
    }
    ++(error.empty() ? tally->executions : tally->errors);
    if (late <= kLateness) return error;
    const nanoseconds delay = heartbeat_->delaySince(start);
    const bool isByLoad = late <= kLateness + delay;
    ++(isByLoad ? tally->lateByLoad : tally->late);
    if (!isByLoad) {
      raise(tally->latest, late.count());
      std::fprintf(stderr, "%s, way %d: %ld ms late, of which threads waited %ld: %s\n",
                   device.c_str(), static_cast<int>(way), static_cast<long>(late / milliseconds(1)),
                   static_cast<long>(delay / milliseconds(1)), error.c_str());
    }
    return error;
  }

  std::minstd_rand random_;
  const std::vector<std::string> devices_;
  std::atomic<bool> stops_ = false;
  std::atomic<unsigned> running_ = 0;
  std::vector<pid_t> children_;
  Heartbeat* heartbeat_ = nullptr;
};

// --- An application, in a process of its own ---

enum class Kind { FORKS, EXITS, KILLS_DRIVERS, NO_DESCRIPTORS, FULL_QUEUES, IS_KILLED, UNLOADS };
constexpr const char* kKindNames[] = {"forks",       "exits",     "kills drivers", "no descriptors",
                                      "full queues", "is killed", "unloads"};

[[noreturn]] void applicationMain(Kind kind, unsigned seed) {
  ::alarm(kLimitSeconds);
  if (kind == Kind::NO_DESCRIPTORS) {
    const rlimit few{64 + seed % 64, 64 + seed % 64};
    ::setrlimit(RLIMIT_NOFILE, &few);
  }
  if (kind == Kind::FULL_QUEUES) {
    testing::giveUpRights();
    const rlimit few{kFewInFlight, kFewInFlight};
    ::setrlimit(RLIMIT_NOFILE, &few);
  }
  // Never destroyed: threads use it until the process is gone.
  auto* const application = new Application(seed);
  application->setHeartbeat(new Heartbeat);
  application->startThreads(1);
  for (unsigned round = 0; round < 6; ++round) {
    std::this_thread::sleep_for(milliseconds(application->random() % 100));
    if (kind == Kind::FORKS) application->forkAChild();
    if (kind == Kind::KILLS_DRIVERS) application->killADriver();
    if (kind == Kind::NO_DESCRIPTORS) application->exhaustDescriptors();
    if (kind == Kind::FULL_QUEUES) application->fillQueues();
  }
  if (kind == Kind::IS_KILLED) ::kill(::getpid(), SIGKILL);
  application->collectChildren();
  if (kind == Kind::EXITS) {
    if (seed % 2 == 0) std::exit(kStatus);
    std::thread([] { std::exit(kStatus); }).detach();
    for (;;) ::pause();
  }
  application->stopThreads();
  application->recover();
  std::exit(kStatus);
}

// --- The processes that disturb the service ---

// A client that sends sockets with SO_LINGER, until it is killed.
[[noreturn]] void hostileClient(const std::string& path) {
  sockaddr_un service{};
  service.sun_family = AF_UNIX;
  path.copy(service.sun_path, sizeof service.sun_path - 1);
  std::deque<testing::LingeringSocket> lingering;
  for (;;) {
    const UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&service), sizeof service) == 0) {
      std::vector<int> fds;
      for (int i = 0; i < 4; ++i) fds.push_back(lingering.emplace_back(seconds(5)).get());
      testing::sendDescriptors(socket.get(), fds);
      // The service has the last references now: the close waits there, and not here.
      for (testing::LingeringSocket& each : lingering) each.close();
    }
    std::this_thread::sleep_for(milliseconds(300));
    while (lingering.size() > 64) lingering.pop_front();
  }
}

// --- The process that starts and watches all others ---

class Stress {
 public:
  explicit Stress(Options options) : options_(std::move(options)), random_(options_.seed) {
    std::string pattern = (std::filesystem::temp_directory_path() / "halyard-stress-XXXXXX");
    folder_ = ::mkdtemp(pattern.data());
    const std::string files = write("halyard-reference", "executable", options_.reference) + ":" +
                              write("halyard-cpu", "library", options_.cpu) + ":" +
                              write("stress-service", "socket", "service.sock");
    ::setenv("HALYARD_DRIVER_FILES", files.c_str(), 1);
    ::setenv("HALYARD_LOG", "quiet", 1);
    // This process becomes the parent of drivers and children when applications end.
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  }
  ~Stress() { std::filesystem::remove_all(folder_); }
  Stress(const Stress&) = delete;
  Stress& operator=(const Stress&) = delete;

  int run() {
    const Clock::time_point end = Clock::now() + seconds(options_.seconds);
    Clock::time_point report = Clock::now() + seconds(60);
    Clock::time_point restart = Clock::now();
    hostile_ = ::fork();
    if (hostile_ == 0) hostileClient(folder_ + "/service.sock");
    while (Clock::now() < end) {
      if (Clock::now() >= restart) {
        restartService();
        restart = Clock::now() + milliseconds(2000 + random_() % 8000);
      }
      while (applications_.size() < options_.applications) startApplication();
      collect();
      std::this_thread::sleep_for(milliseconds(5));
      if (Clock::now() < report) continue;
      print();
      report += seconds(60);
    }
    while (!applications_.empty()) {
      collect();
      std::this_thread::sleep_for(milliseconds(5));
    }
    ::kill(hostile_, SIGKILL);
    stopService();
    const bool clean = allChildrenEnd();
    if (!clean) std::printf("processes are left behind\n");
    print();
    const bool good = clean && failed_ == 0 && tally->wrong == 0 &&
                      (options_.lenient || tally->late == 0) && tally->notRecovered == 0 &&
                      tally->childFailures == 0 && tally->executions > 0;
    std::printf("%s\n", good ? "all is well" : "FAILED");
    return good ? 0 : 1;
  }

 private:
  std::string write(const std::string& name, const std::string& kind, const std::string& target) {
    const std::string path = folder_ + "/" + name + ".json";
    const char* const version = "1.3";
    std::ofstream(path) << "{\"name\": \"" << name << "\", \"version\": \"1\", \"hal_version\": \""
                        << version << "\", \"" << kind << "\": \"" << target << "\"}";
    return path;
  }

  void stopService() {
    if (service_ <= 0) return;
    ::kill(service_, SIGKILL);
    ::waitpid(service_, nullptr, 0);
    service_ = -1;
  }
  void restartService() {
    if (service_ > 0) ++kills_;
    stopService();
    service_ = ::fork();
    if (service_ != 0) return;
    const std::string manifest = folder_ + "/stress-service.json";
    ::execl(options_.reference.c_str(), options_.reference.c_str(), "--service", manifest.c_str(),
            nullptr);
    ::_exit(99);
  }

  void startApplication() {
    const auto kind = static_cast<Kind>(random_() % std::size(kKindNames));
    const auto seed = static_cast<unsigned>(random_());
    std::fflush(nullptr);
    const pid_t pid = ::fork();
    if (pid == 0) {
      if (kind != Kind::UNLOADS) applicationMain(kind, seed);
      ::alarm(kLimitSeconds);
      ::execl(options_.dlclose.c_str(), "dlclose_client", options_.library.c_str(),
              seed % 2 == 0 ? "halyard-reference" : "halyard-cpu", nullptr);
      ::_exit(99);
    }
    applications_.emplace(pid, kind);
    ++started_[static_cast<size_t>(kind)];
  }

  void collect() {
    int status = 0;
    for (pid_t pid = 0; (pid = ::waitpid(-1, &status, WNOHANG)) > 0;) {
      if (pid == service_) service_ = -1;
      const auto found = applications_.find(pid);
      if (found == applications_.end()) continue;  // a driver, or an application's child
      const int expected = found->second == Kind::IS_KILLED ? SIGKILL : kStatus << 8;
      if (status != expected) {
        ++failed_;
        std::printf("an application that %s has ended with status %#x%s\n",
                    kKindNames[static_cast<size_t>(found->second)], static_cast<unsigned>(status),
                    WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM ? ": it hung" : "");
      }
      applications_.erase(found);
    }
  }

  static bool allChildrenEnd() {
    const Clock::time_point limit = Clock::now() + seconds(20);
    for (;;) {
      const pid_t ended = ::waitpid(-1, nullptr, WNOHANG);
      if (ended < 0) return true;
      if (ended == 0 && Clock::now() > limit) return false;
      if (ended == 0) std::this_thread::sleep_for(milliseconds(5));
    }
  }

  void print() const {
    std::printf(
        "%lu executions, %lu errors, %lu wrong; late beyond 100 ms: %lu (most %ld ms), by the "
        "machine's load: %lu (a thread waited up to %ld ms); %lu forks, %lu children failed; "
        "%lu did not recover; %u applications failed; service killed %u times; queues full %lu "
        "times\n  ",
        tally->executions.load(), tally->errors.load(), tally->wrong.load(), tally->late.load(),
        tally->latest.load() / 1'000'000, tally->lateByLoad.load(),
        tally->longestDelay.load() / 1'000'000, tally->forks.load(), tally->childFailures.load(),
        tally->notRecovered.load(), failed_, kills_, tally->fullQueues.load());
    for (size_t i = 0; i < std::size(kKindNames); ++i) {
      std::printf("%s%u that %s", i == 0 ? "" : ", ", started_[i], kKindNames[i]);
    }
    std::printf("\n");
    std::fflush(stdout);
  }

  const Options options_;
  std::minstd_rand random_;
  std::string folder_;
  pid_t service_ = -1;
  pid_t hostile_ = -1;
  unsigned kills_ = 0;
  unsigned failed_ = 0;
  std::map<pid_t, Kind> applications_;
  std::array<unsigned, std::size(kKindNames)> started_ = {};
};

}  // namespace
}  // namespace halyard::lifetime

int main(int argc, char** argv) {
  using halyard::lifetime::tally;
  halyard::lifetime::Options options;
  CLI::App app("Stress of applications over their lives");
  app.add_option("--reference", options.reference, "A driver's program")->required();
  app.add_option("--cpu", options.cpu, "A driver as a library")->required();
  app.add_option("--dlclose", options.dlclose, "The program dlclose_client")->required();
  app.add_option("--library", options.library, "libneuralnetworks.so")->required();
  app.add_option("--seconds", options.seconds);
  app.add_option("--applications", options.applications, "At once");
  app.add_option("--seed", options.seed);
  app.add_flag("--lenient", options.lenient, "Late calls are no failure");
  CLI11_PARSE(app, argc, argv);
  void* const shared = ::mmap(nullptr, sizeof(halyard::lifetime::Tally), PROT_READ | PROT_WRITE,
                              MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) return 2;
  tally = new (shared) halyard::lifetime::Tally;
  return halyard::lifetime::Stress(options).run();
}
