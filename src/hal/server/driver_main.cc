#include "halyard/driver/driver_main.h"

#include <fcntl.h>
#include <malloc.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/environment.h"
#include "base/foreign_fd.h"
#include "hal/core/completion.h"
#include "hal/core/driver_exception.h"
#include "hal/manifest/manifest.h"
#include "hal/sandbox/sandbox.h"
#include "hal/server/server.h"
#include "hal/server/service.h"

// The header of glibc 2.36 has no extern "C" for C++.
extern "C" {
#include <sys/pidfd.h>
}

namespace halyard::hal {
namespace {

// The time for running computations after the client has gone, or after a service is told to end.
// It is short, because another process may wait for the end of this process.
constexpr std::chrono::milliseconds kDrainLimit{300};

constexpr unsigned kLastLimitSeconds = 1;

// The time in which the loop must detect that the client has gone.
constexpr std::chrono::seconds kGoneLimit{2};

constexpr const char* kUsage =
    "usage: {0} --fd=N | --listen PATH | --service MANIFEST [-- ARGUMENT...]\n"
    "This is a Halyard driver: Halyard's runtime starts it, with a connected socket as file\n"
    "descriptor N, for applications that use the Neural Networks API. There is no need to start\n"
    "it by hand, unless as a service that several applications share: --listen makes a Unix\n"
    "socket at PATH, for a manifest with \"socket\": PATH; --service takes the path, the sandbox\n"
    "and the limits of clients from such a manifest. What stands behind -- is for the driver.\n";

struct Arguments {
  std::optional<int> fd;
  std::string listenPath;
  std::vector<std::string> own;  // for the driver itself
  std::string manifest;
};

std::optional<int> descriptorOf(std::string_view text) {
  int fd = -1;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), fd);
  if (error != std::errc() || rest != text.data() + text.size() || fd < 0) return std::nullopt;
  return fd;
}

std::optional<Arguments> parse(int argc, char** argv) {
  const std::vector<std::string_view> texts(argv + std::min(argc, 1), argv + argc);
  constexpr std::string_view kFdOption = "--fd=";
  Arguments arguments;
  size_t next = 0;
  if (!texts.empty() && texts[0].starts_with(kFdOption)) {
    arguments.fd = descriptorOf(texts[0].substr(kFdOption.size()));
    if (!arguments.fd) return std::nullopt;
    next = 1;
  } else if (texts.size() >= 2 && texts[0] == "--listen" && !texts[1].empty()) {
    arguments.listenPath = texts[1];
    next = 2;
  } else if (texts.size() >= 2 && texts[0] == "--service" && !texts[1].empty()) {
    arguments.manifest = texts[1];
    next = 2;
  } else {
    return std::nullopt;
  }
  if (next < texts.size()) {
    if (texts[next] != "--") return std::nullopt;
    arguments.own.assign(texts.begin() + static_cast<ptrdiff_t>(next) + 1, texts.end());
  }
  return arguments;
}

bool isConnectedUnixSocket(int fd) {
  sockaddr_un peer{};
  socklen_t length = sizeof peer;
  return ::getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &length) == 0 &&
         peer.sun_family == AF_UNIX;
}

// Ends the process while computations run, because they cannot be stopped in another way.
// Destructors are not needed, and some would block.
[[noreturn]] void endNow() {
  std::fflush(nullptr);
  ::_exit(0);
}

// Returns when the connection has ended on either side, or when the application's process has. The
// application's pidfd may be invalid.
void awaitEnd(int socket, int application) {
  for (;;) {
    pollfd ends[] = {{socket, 0, 0}, {application, POLLIN, 0}};
    if (::poll(ends, 2, -1) > 0 || (errno != EINTR && errno != EAGAIN)) return;
  }
}

int finish(Server& server) {
  if (!server.drain(kDrainLimit)) endNow();
  return 0;
}

// The pidfd of the application that started this driver. The driver ends with that process, even if
// its forked children still hold its end of the socket. If it is invalid, only the end of the
// socket counts.
UniqueFd applicationAt(int fd) {
  Result<Peer> peer = peerOf(fd);
  if (!peer.ok()) return {};
  if (peer->process.valid()) return std::move(peer->process);
  // While the application is this process's parent, no other process gets its number.
  const pid_t parent = peer->credentials.pid;
  if (parent <= 0 || parent != ::getppid()) return {};
  UniqueFd process(::pidfd_open(parent, 0));
  return parent == ::getppid() ? std::move(process) : UniqueFd();
}

int serveOne(Server& server, int fd, UniqueFd application, Status refusal = okStatus()) {
  ::fcntl(fd, F_SETFD, FD_CLOEXEC);
  const ForeignFd watched = ForeignFd::duplicateOf(fd);
  const UniqueFd watchedApplication = application.duplicate();
  const auto gone = std::make_shared<Completion<bool>>();
  ClientTerms terms;
  terms.process = std::move(application);
  terms.refusal = std::move(refusal);
  server.serve(
      UniqueFd(fd), [gone] { gone->set(true); }, std::move(terms));
  // poll reports the end, because the loop's thread may be blocked.
  if (watched.valid()) {
    awaitEnd(watched.get(), watchedApplication.get());
    if (!gone->waitUntil(Clock::now() + kGoneLimit)) endNow();
  } else {
    gone->wait();
  }
  // If the following code hangs, for example in a destructor of the device, the signal ends the
  // process.
  ::alarm(kLastLimitSeconds);
  return finish(server);
}

// Memories and fences are descriptors, and clients may have thousands. The default limit is low
// only because select() supports at most 1,024.
void allowDescriptors() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  (void)::setrlimit(RLIMIT_NOFILE, &limit);
}

// Large blocks go back to the system at once when they are freed. Otherwise the heap of each thread
// keeps some of them, and each client of a service has threads.
void returnLargeBlocks() {
  constexpr int kLarge = 256 << 10;
  ::mallopt(M_MMAP_THRESHOLD, kLarge);
}

int fail(const char* program, const Status& status) {
  fmt::print(stderr, "{}: {}\n", program, status.toString());
  return 1;
}

// The clients of the process, and their limits.
struct Plan {
  std::optional<int> fd;  // the only client
  UniqueFd application;   // the client's process
  UniqueFd listener;      // accepts the clients of a service
  UniqueFd signals;       // signals that end a service
  std::string madeSocket;
  SandboxSettings sandbox;
  ServiceSettings service = ServiceSettings::defaults();
};

// Called before any thread is started, so that all threads block these signals.
UniqueFd blockEndingSignals() {
  sigset_t ends;
  ::sigemptyset(&ends);
  ::sigaddset(&ends, SIGTERM);
  ::sigaddset(&ends, SIGINT);
  ::pthread_sigmask(SIG_BLOCK, &ends, nullptr);
  return UniqueFd(::signalfd(-1, &ends, SFD_CLOEXEC));
}

Status planService(const Arguments& arguments, Plan& plan) {
  std::string path = arguments.listenPath;
  if (!arguments.manifest.empty()) {
    HALYARD_ASSIGN_OR_RETURN(const Manifest manifest, loadManifest(arguments.manifest));
    if (manifest.kind != Manifest::Kind::SOCKET) {
      return badData("{}: has no 'socket' to serve at", arguments.manifest);
    }
    path = manifest.target;
    plan.sandbox = manifest.sandbox;
    plan.service = manifest.service;
  }
  plan.signals = blockEndingSignals();
  bool made = false;
  HALYARD_ASSIGN_OR_RETURN(plan.listener, listenForClients(path, made));
  if (made) plan.madeSocket = path;
  return okStatus();
}

// The runtime passes the settings to a driver that it starts. A service has its own settings.
Result<Plan> planFor(const Arguments& arguments) {
  Plan plan;
  plan.fd = arguments.fd;
  if (!plan.fd) {
    HALYARD_RETURN_IF_ERROR(planService(arguments, plan));
    return plan;
  }
  plan.application = applicationAt(*plan.fd);
  const char* const sandbox = environmentVariable(kSandboxVariable);
  HALYARD_ASSIGN_OR_RETURN(plan.sandbox, sandboxFromText(sandbox != nullptr ? sandbox : ""), "{}",
                           kSandboxVariable);
  return plan;
}

// Stands for a device that could not be made. No client reaches it.
class MissingDevice final : public Device {
 public:
  const DeviceInfo& info() const override { return info_; }
  Result<SupportedOperations> getSupportedOperations(const ValidModel&) override {
    return opFailed("there is no device");
  }
  Result<std::shared_ptr<PreparedModel>> prepareModel(const ValidModel&,
                                                      const PrepareOptions&) override {
    return opFailed("there is no device");
  }

 private:
  const DeviceInfo info_ = {};
};

// Prints the reason, and tells it to the application that has started the driver.
int refuse(const char* program, Plan& plan, Status reason) {
  const int result = fail(program, reason);
  if (!plan.fd) return result;
  // Data of the client is read from here on, as by a driver that serves.
  (void)applySandbox(plan.sandbox, {});
  auto loop = RpcLoop::start();
  if (!loop.ok()) return result;
  auto server = Server::start(std::move(*loop), std::make_shared<MissingDevice>());
  if (!server.ok()) return result;
  // Every fault of a start is the same to the application: it goes on without the device.
  reason.annotate("its start");
  (void)serveOne(**server, *plan.fd, std::move(plan.application),
                 std::move(reason).withCode(ResultCode::UNAVAILABLE_DEVICE));
  return result;
}

int serveMany(Server& server, const Plan& plan, const char* program) {
  const Status status = Service(server, plan.service).run(plan.listener, plan.signals.get());
  if (!plan.madeSocket.empty()) ::unlink(plan.madeSocket.c_str());
  if (!status.ok()) return fail(program, status);
  return finish(server);
}

}  // namespace

int driverMain(int argc, char** argv,
               const std::function<Result<std::shared_ptr<Device>>()>& makeDevice) {
  return driverMain(
      argc, argv,
      [&makeDevice](std::span<const std::string> arguments) -> Result<std::shared_ptr<Device>> {
        if (!arguments.empty()) {
          return badData("argument '{}': the driver takes none", arguments.front());
        }
        return makeDevice();
      });
}

int driverMain(int argc, char** argv, const DeviceFactory& makeDevice) {
  const char* const program = argc > 0 ? argv[0] : "driver";
  const std::optional<Arguments> arguments = parse(argc, argv);
  if (!arguments) {
    fmt::print(stderr, fmt::runtime(kUsage), program);
    return 2;
  }
  if (arguments->fd && !isConnectedUnixSocket(*arguments->fd)) {
    fmt::print(stderr, "{}: descriptor {} is not a connected Unix socket\n", program,
               *arguments->fd);
    fmt::print(stderr, fmt::runtime(kUsage), program);
    return 2;
  }
  ::signal(SIGPIPE, SIG_IGN);
  returnLargeBlocks();
  allowDescriptors();
  Result<Plan> plan = planFor(*arguments);
  if (!plan.ok()) return fail(program, plan.status());
  auto device = guarded([&] { return makeDevice(arguments->own); });
  if (!device.ok()) return refuse(program, *plan, device.takeStatus());
  if (*device == nullptr) return refuse(program, *plan, opFailed("the driver made no device"));
  Status described = validateDeviceInfo((*device)->info()).annotate("the driver's device");
  if (!described.ok()) return refuse(program, *plan, std::move(described));
  // The sandbox begins after the device has opened its files, and before any data of a client is
  // read.
  ServerOptions options;
  options.isolation = applySandbox(plan->sandbox, plan->madeSocket);
  auto loop = RpcLoop::start();
  if (!loop.ok()) return fail(program, loop.status());
  auto server = Server::start(std::move(*loop), std::move(*device), std::move(options));
  if (!server.ok()) return fail(program, server.status());
  return plan->fd ? serveOne(**server, *plan->fd, std::move(plan->application))
                  : serveMany(**server, *plan, program);
}

}  // namespace halyard::hal
