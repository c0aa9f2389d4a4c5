#include "halyard/driver/driver_main.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hal/driver_connection.h"
#include "hal/sandbox/sandbox.h"
#include "hal/server.h"

namespace halyard::hal {
namespace {

// Time for the running computations once the client has gone, and the same for a service that is
// told to end: whoever waits for the end of the process shall not wait for a kernel.
constexpr std::chrono::milliseconds kDrainLimit{300};

constexpr unsigned kLastLimitSeconds = 1;

constexpr const char* kUsage =
    "usage: {0} --fd=N | --listen PATH [-- ARGUMENT...]\n"
    "This is a Halyard driver: Halyard's runtime starts it, with a connected socket as file\n"
    "descriptor N, for applications that use the Neural Networks API. There is no need to start\n"
    "it by hand, unless as a service that several applications share: --listen makes a Unix\n"
    "socket at PATH, for a manifest with \"socket\": PATH. What stands behind -- is for the "
    "driver.\n";

struct Arguments {
  std::optional<int> fd;
  std::string listenPath;
  std::vector<std::string> own;  // the driver's
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

// systemd's protocol: descriptor 3, if the environment speaks to this process.
std::optional<UniqueFd> activatedSocket() {
  const char* pid = std::getenv("LISTEN_PID");
  const char* count = std::getenv("LISTEN_FDS");
  if (pid == nullptr || count == nullptr || std::to_string(::getpid()) != pid ||
      std::string_view(count) != "1") {
    return std::nullopt;
  }
  ::fcntl(3, F_SETFD, FD_CLOEXEC);
  return UniqueFd(3);
}

Result<UniqueFd> listenAt(const std::string& path) {
  if (auto activated = activatedSocket()) return std::move(*activated);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) {
    return badData("{}: a socket's path has at most {} bytes", path, sizeof address.sun_path - 1);
  }
  path.copy(address.sun_path, path.size());
  UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!fd.valid()) return errnoStatus(ResultCode::OP_FAILED, errno, "socket");
  const auto* const generic = reinterpret_cast<const sockaddr*>(&address);
  // A socket that a predecessor has left behind is in the way; a living one's is not to be taken.
  struct stat st {};
  if (::lstat(path.c_str(), &st) == 0 && S_ISSOCK(st.st_mode)) {
    const UniqueFd probe(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (::connect(probe.get(), generic, sizeof address) != 0 && errno == ECONNREFUSED) {
      ::unlink(path.c_str());
    }
  }
  if (::bind(fd.get(), generic, sizeof address) != 0 || ::listen(fd.get(), SOMAXCONN) != 0) {
    return errnoStatus(ResultCode::OP_FAILED, errno, fmt::format("listening at {}", path));
  }
  return fd;
}

// Ends the process although computations run: they cannot be stopped in another way. Nothing of
// what destructors would do matters any more, and some would wait.
[[noreturn]] void endNow() {
  std::fflush(nullptr);
  ::_exit(0);
}

int finish(Server& server) {
  if (!server.drain(kDrainLimit)) endNow();
  return 0;
}

int serveOne(Server& server, int fd) {
  ::fcntl(fd, F_SETFD, FD_CLOEXEC);
  Completion<bool> gone;
  server.serve(UniqueFd(fd), [&gone] { gone.set(true); });
  gone.wait();
  // Should anything of what follows hang, a destructor of the device for instance, the process ends
  // by the signal.
  ::alarm(kLastLimitSeconds);
  return finish(server);
}

int serveMany(Server& server, const UniqueFd& listener, int signals) {
  ::fcntl(listener.get(), F_SETFL, ::fcntl(listener.get(), F_GETFL) | O_NONBLOCK);
  for (;;) {
    pollfd polls[] = {{listener.get(), POLLIN, 0}, {signals, POLLIN, 0}};
    if (::poll(polls, 2, -1) < 0 && errno != EINTR) return 1;
    if ((polls[1].revents & POLLIN) != 0) return finish(server);
    UniqueFd client(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (client.valid()) {
      server.serve(std::move(client), [] {});
    } else if (errno == EMFILE || errno == ENFILE) {
      ::poll(nullptr, 0, 100);  // until a client goes; the waiting one would wake poll at once
    }
  }
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
  // Before any thread is started, so that all have these blocked.
  UniqueFd signals;
  if (!arguments->fd) {
    sigset_t ends;
    ::sigemptyset(&ends);
    ::sigaddset(&ends, SIGTERM);
    ::sigaddset(&ends, SIGINT);
    ::pthread_sigmask(SIG_BLOCK, &ends, nullptr);
    signals.reset(::signalfd(-1, &ends, SFD_CLOEXEC));
  }
  UniqueFd listener;
  if (!arguments->fd) {
    Result<UniqueFd> listening = listenAt(arguments->listenPath);
    if (!listening.ok()) return fail(program, listening.status());
    listener = std::move(*listening);
  }
  const char* const sandboxObject = std::getenv(kSandboxVariable);
  const auto sandbox = sandboxFromText(sandboxObject != nullptr ? sandboxObject : "");
  if (!sandbox.ok()) {
    return fail(program, badData("{}: {}", kSandboxVariable, sandbox.status().message()));
  }
  auto device = makeDevice(arguments->own);
  if (!device.ok()) return fail(program, device.status());
  if (*device == nullptr) return fail(program, opFailed("the driver made no device"));
  const Status described = validateDeviceInfo((*device)->info()).annotate("the driver's device");
  if (!described.ok()) return fail(program, described);
  ServerOptions options;
  options.isolation = applySandbox(*sandbox, arguments->listenPath);
  auto loop = RpcLoop::start();
  if (!loop.ok()) return fail(program, loop.status());
  auto server = Server::start(std::move(*loop), std::move(*device), std::move(options));
  if (!server.ok()) return fail(program, server.status());
  const int status = arguments->fd ? serveOne(**server, *arguments->fd)
                                   : serveMany(**server, listener, signals.get());
  if (!arguments->fd) ::unlink(arguments->listenPath.c_str());
  return status;
}

}  // namespace halyard::hal
