#include "validation/crash/client_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

extern char** environ;

namespace halyard::validation {
namespace {

using Clock = std::chrono::steady_clock;

std::filesystem::path& program() {
  static std::filesystem::path path = [] {
    std::error_code error;
    return std::filesystem::read_symlink("/proc/self/exe", error);
  }();
  return path;
}

// All output until the other end is closed. Empty if this takes longer than `limit`.
std::optional<std::string> readAll(int fd, std::chrono::milliseconds limit) {
  const auto end = Clock::now() + limit;
  std::string text;
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now()).count();
    if (left <= 0) return std::nullopt;
    pollfd ready{fd, POLLIN, 0};
    if (::poll(&ready, 1, static_cast<int>(left)) <= 0) continue;
    char buffer[4096];
    const ssize_t count = ::read(fd, buffer, sizeof buffer);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return text;
    text.append(buffer, static_cast<size_t>(count));
  }
}

}  // namespace

const std::filesystem::path& stressProgram() { return program(); }
void setStressProgram(std::filesystem::path path) { program() = std::move(path); }

Result<ClientProcess> ClientProcess::start(const StressPlan& plan) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return errnoStatus(ResultCode::OP_FAILED, errno, "pipe");
  UniqueFd reading(ends[0]);
  const UniqueFd writing(ends[1]);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, writing.get(), STDOUT_FILENO);
  std::string name = stressProgram().string();
  std::string command = "stress-client";
  std::string argument = plan.toJson();
  char* const arguments[] = {name.data(), command.data(), argument.data(), nullptr};
  pid_t pid = 0;
  const int failed = ::posix_spawn(&pid, name.c_str(), &actions, nullptr, arguments, environ);
  ::posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) {
    return errnoStatus(ResultCode::OP_FAILED, failed, fmt::format("starting a client, {}", name));
  }
  return ClientProcess(pid, std::move(reading));
}

ClientProcess::ClientProcess(ClientProcess&& other) noexcept
    : pid_(std::exchange(other.pid_, 0)), output_(std::move(other.output_)) {}

ClientProcess::~ClientProcess() {
  if (pid_ == 0) return;
  kill();
  (void)wait(std::chrono::seconds(10));
}

void ClientProcess::kill() {
  if (pid_ != 0) ::kill(pid_, SIGKILL);
}

ClientProcess::End ClientProcess::wait(std::chrono::milliseconds limit) {
  End end;
  const std::optional<std::string> output = readAll(output_.get(), limit);
  if (!output) kill();
  int status = 0;
  while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  const pid_t pid = std::exchange(pid_, 0);
  if (!output) {
    end.how = How::HUNG;
    end.text = fmt::format("client {} has not ended within {:.1f} s", pid,
                           std::chrono::duration<double>(limit).count());
    return end;
  }
  if (WIFSIGNALED(status)) {
    const int signal = WTERMSIG(status);
    end.how = signal == SIGKILL ? How::KILLED : How::CRASHED;
    end.text =
        fmt::format("client {} was killed by signal {} ({})", pid, signal, ::strsignal(signal));
    return end;
  }
  auto result = StressResult::fromJson(*output);
  if (!result.ok()) {
    end.how = How::CRASHED;
    end.text = fmt::format("client {} ended with exit status {} and without a result", pid,
                           WEXITSTATUS(status));
    return end;
  }
  end.result = std::move(result).value();
  return end;
}

}  // namespace halyard::validation
