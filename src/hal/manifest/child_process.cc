#include "hal/manifest/child_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <vector>

#include "hal/manifest/sandbox_settings.h"

// The header of glibc 2.36 lacks the C linkage for C++.
extern "C" {
#include <sys/pidfd.h>
}

extern char** environ;

namespace halyard::hal {
namespace {

std::string endText(const siginfo_t& info) {
  if (info.si_code == CLD_EXITED) return fmt::format("ended with exit status {}", info.si_status);
  const char* name = ::sigdescr_np(info.si_status);
  return fmt::format("was killed by signal {} ({})", info.si_status,
                     name != nullptr ? name : "unnamed");
}

// posix_spawn's attribute objects, destroyed at the end of their scope.
struct SpawnSettings {
  SpawnSettings() {
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawnattr_init(&attributes);
  }
  ~SpawnSettings() {
    ::posix_spawn_file_actions_destroy(&actions);
    ::posix_spawnattr_destroy(&attributes);
  }
  SpawnSettings(const SpawnSettings&) = delete;
  SpawnSettings& operator=(const SpawnSettings&) = delete;

  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
};

int fillSettings(SpawnSettings& settings, int socket) {
  int error = 0;
  const auto check = [&error](int result) {
    if (error == 0) error = result;
  };
  // The socket comes first, because descriptors that are set up later may have its number.
  check(::posix_spawn_file_actions_adddup2(&settings.actions, socket, ChildProcess::kSocketFd));
  check(::posix_spawn_file_actions_addopen(&settings.actions, 0, "/dev/null", O_RDONLY, 0));
  if (::fcntl(2, F_GETFD) < 0) {
    check(::posix_spawn_file_actions_addopen(&settings.actions, 2, "/dev/null", O_WRONLY, 0));
  }
  // A program may read the application's output, so a driver's messages must not go there.
  check(::posix_spawn_file_actions_adddup2(&settings.actions, 2, 1));
  check(::posix_spawn_file_actions_addclosefrom_np(&settings.actions, ChildProcess::kSocketFd + 1));

  sigset_t all;
  sigset_t none;
  ::sigfillset(&all);
  ::sigemptyset(&none);
  check(::posix_spawnattr_setsigdefault(&settings.attributes, &all));
  check(::posix_spawnattr_setsigmask(&settings.attributes, &none));
  check(::posix_spawnattr_setpgroup(&settings.attributes, 0));
  check(::posix_spawnattr_setflags(&settings.attributes, POSIX_SPAWN_SETSIGDEF |
                                                             POSIX_SPAWN_SETSIGMASK |
                                                             POSIX_SPAWN_SETPGROUP));
  return error;
}

}  // namespace

Result<std::shared_ptr<ChildProcess>> ChildProcess::spawn(const std::string& executable, int socket,
                                                          const std::string& sandbox,
                                                          std::span<const std::string> arguments) {
  // The actions would overwrite a socket with number 0 to 2 before its turn.
  UniqueFd moved(::fcntl(socket, F_DUPFD_CLOEXEC, kSocketFd));
  if (!moved.valid()) return errnoStatus(ResultCode::OP_FAILED, errno, "duplicating the socket");

  SpawnSettings settings;
  int error = fillSettings(settings, moved.get());
  if (error != 0) return errnoStatus(ResultCode::OP_FAILED, error, "preparing to start the driver");

  std::vector<std::string> texts = {executable, fmt::format("--fd={}", kSocketFd)};
  if (!arguments.empty()) texts.emplace_back("--");
  texts.insert(texts.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  for (std::string& text : texts) argv.push_back(text.data());
  argv.push_back(nullptr);
  // Only the manifest sets the sandbox, never the application's environment.
  const std::string prefix = std::string(kSandboxVariable) + "=";
  std::string variable = prefix + sandbox;
  std::vector<char*> environment;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    if (std::strncmp(*entry, prefix.c_str(), prefix.size()) != 0) environment.push_back(*entry);
  }
  if (!sandbox.empty()) environment.push_back(variable.data());
  environment.push_back(nullptr);
  pid_t pid = -1;
  error = ::posix_spawn(&pid, executable.c_str(), &settings.actions, &settings.attributes,
                        argv.data(), environment.data());
  if (error != 0) {
    return errnoStatus(ResultCode::UNAVAILABLE_DEVICE, error,
                       fmt::format("starting {}", executable));
  }
  UniqueFd pidfd(::pidfd_open(pid, 0));
  if (!pidfd.valid()) {
    const int pidfdError = errno;
    ::kill(pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
    return errnoStatus(ResultCode::UNAVAILABLE_DEVICE, pidfdError, "pidfd_open for the driver");
  }
  return std::shared_ptr<ChildProcess>(new ChildProcess(pid, std::move(pidfd)));
}

bool ChildProcess::ended() const {
  pollfd poll{pidfd_.get(), POLLIN, 0};
  return ::poll(&poll, 1, 0) == 1;
}

void ChildProcess::kill() { (void)::pidfd_send_signal(pidfd_.get(), SIGKILL, nullptr, 0); }

std::optional<std::string> ChildProcess::collect() {
  if (end_) return end_;
  siginfo_t info{};
  int result = 0;
  do {
    result = ::waitid(P_PIDFD, static_cast<id_t>(pidfd_.get()), &info, WEXITED | WNOHANG);
  } while (result != 0 && errno == EINTR);
  if (result != 0) {
    if (!ended()) return std::nullopt;
    end_ = "ended (the application has collected its exit status elsewhere)";
  } else if (info.si_pid != 0) {
    end_ = endText(info);
  }
  return end_;
}

}  // namespace halyard::hal
