#include "halyard/driver/driver_main.h"

#include <fcntl.h>
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
#include "hal/manifest/manifest.h"
#include "hal/sandbox/sandbox.h"
#include "hal/server/server.h"
#include "hal/server/service.h"

// glibc 2.36 forgets to say so for C++.
extern "C" {
#include <sys/pidfd.h>
}

namespace halyard::hal {
namespace {

// Time for the running computations once the client has gone, and the same for a service that is
// told to end: whoever waits for the end of the process shall not wait for a kernel.
constexpr std::chrono::milliseconds kDrainLimit{300};

constexpr unsigned kLastLimitSeconds = 1;

// Time for the loop to find that the client has gone.
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
  std::vector<std::string> own;  // the driver's
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

// Ends the process although computations run: they cannot be stopped in another way. Nothing of
// what destructors would do matters any more, and some would wait.
[[noreturn]] void endNow() {
  std::fflush(nullptr);
  ::_exit(0);
}

// Returns when the connection has ended, by either side, or the application's process. The pidfd of
// that may be invalid.
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

// The pidfd of the application that has started this driver. The driver ends with it, although
// children that it has forked may still have its end of the socket. Invalid when that cannot be
// had: then the end of the socket is all that counts.
UniqueFd applicationAt(int fd) {
  Result<Peer> peer = peerOf(fd);
  if (!peer.ok()) return {};
  if (peer->process.valid()) return std::move(peer->process);
  // While it is this process's parent, its number is not another's.
  const pid_t parent = peer->credentials.pid;
  if (parent <= 0 || parent != ::getppid()) return {};
  UniqueFd process(::pidfd_open(parent, 0));
  return parent == ::getppid() ? std::move(process) : UniqueFd();
}

int serveOne(Server& server, int fd, UniqueFd application) {
  ::fcntl(fd, F_SETFD, FD_CLOEXEC);
  const ForeignFd watched = ForeignFd::duplicateOf(fd);
  const UniqueFd watchedApplication = application.duplicate();
  const auto gone = std::make_shared<Completion<bool>>();
  ClientTerms terms;
  terms.process = std::move(application);
  server.serve(
      UniqueFd(fd), [gone] { gone->set(true); }, std::move(terms));
  // The kernel's word, as the loop's thread may not be there to give its own.
  if (watched.valid()) {
    awaitEnd(watched.get(), watchedApplication.get());
    if (!gone->waitUntil(Clock::now() + kGoneLimit)) endNow();
  } else {
    gone->wait();
  }
  // Should anything of what follows hang, a destructor of the device for instance, the process ends
  // by the signal.
  ::alarm(kLastLimitSeconds);
  return finish(server);
}

// Memory and fences are descriptors, and clients may have thousands. (select(), which knows no more
// than 1,024, is why the limit is lower by default.)
void allowDescriptors() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  (void)::setrlimit(RLIMIT_NOFILE, &limit);
}

int fail(const char* program, const Status& status) {
  fmt::print(stderr, "{}: {}\n", program, status.toString());
  return 1;
}

// Whom the process is to serve, and under what conditions.
struct Plan {
  std::optional<int> fd;  // the one client
  UniqueFd application;   // its process
  UniqueFd listener;      // or all that come here
  UniqueFd signals;       // that end a service
  std::string madeSocket;
  SandboxSettings sandbox;
  ServiceSettings service = ServiceSettings::defaults();
};

// Before any thread is started, so that all have these blocked.
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

// A driver that the runtime starts has its settings from there; a service has its own.
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
  allowDescriptors();
  Result<Plan> plan = planFor(*arguments);
  if (!plan.ok()) return fail(program, plan.status());
  auto device = makeDevice(arguments->own);
  if (!device.ok()) return fail(program, device.status());
  if (*device == nullptr) return fail(program, opFailed("the driver made no device"));
  const Status described = validateDeviceInfo((*device)->info()).annotate("the driver's device");
  if (!described.ok()) return fail(program, described);
  // The device may have opened what it needs; nothing of a client has been read.
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
