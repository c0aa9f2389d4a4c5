// Starts processes with fork. Each has a socket for jobs and answers as framed messages.
#include "base/process_pool.h"

#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>
// The header of glibc 2.36 lacks the C linkage for C++.
extern "C" {
#include <sys/pidfd.h>
}

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "halyard/driver/unique_fd.h"

namespace halyard {
namespace {

using Clock = std::chrono::steady_clock;

constexpr unsigned kMaxFailedStarts = 3;
constexpr std::chrono::milliseconds kEndLimit{20'000};
// Longer messages come only from a broken process.
constexpr uint64_t kMaxAnswer = uint64_t{16} << 20;
// The limits of standard error: the part kept for one job, and the size at which a process starts
// its file again.
constexpr off_t kKeptErrors = 8 << 10;
constexpr off_t kMaxErrors = off_t{64} << 20;

struct Header {
  uint64_t length;
  ResultCode code;  // the error of a process that could not start; NO_ERROR otherwise
};

bool sendAll(int socket, const void* data, size_t size) {
  const char* from = static_cast<const char*>(data);
  while (size > 0) {
    const ssize_t sent = ::send(socket, from, size, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    from += sent;
    size -= static_cast<size_t>(sent);
  }
  return true;
}

bool receiveAll(int socket, void* data, size_t size) {
  char* to = static_cast<char*>(data);
  while (size > 0) {
    const ssize_t received = ::recv(socket, to, size, 0);
    if (received < 0 && errno == EINTR) continue;
    if (received <= 0) return false;
    to += received;
    size -= static_cast<size_t>(received);
  }
  return true;
}

bool sendMessage(int socket, ResultCode code, std::string_view text) {
  const Header header{text.size(), code};
  return sendAll(socket, &header, sizeof header) && sendAll(socket, text.data(), text.size());
}

std::string endText(const siginfo_t& info) {
  if (info.si_code == CLD_EXITED) return fmt::format("exit status {}", info.si_status);
  return fmt::format("signal {} ({})", info.si_status, ::strsignal(info.si_status));
}

int millisecondsUntil(Clock::time_point deadline) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
  return static_cast<int>(std::clamp<int64_t>(left.count(), 0, 1'000'000));
}

bool isReadable(int fd, int timeout) {
  pollfd poll{fd, POLLIN, 0};
  return ::poll(&poll, 1, timeout) > 0;
}

}  // namespace

// A process and its state.
struct ProcessPool::Process {
  ~Process() { kill(); }

  void kill() {
    if (pid < 0) return;
    ::kill(-pid, SIGKILL);
    ::kill(pid, SIGKILL);
    (void)collect();
  }

  // Waits for the end of the process.
  siginfo_t collect() {
    siginfo_t info{};
    while (::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED) != 0 && errno == EINTR) {
    }
    pid = -1;
    return info;
  }

  // Reads the available bytes. Returns false when the connection has ended.
  bool readSome() {
    char buffer[1 << 16];
    const ssize_t count = ::recv(socket.get(), buffer, sizeof buffer, MSG_DONTWAIT);
    if (count < 0) return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
    received.append(buffer, static_cast<size_t>(count));
    return count > 0;
  }

  // Takes a complete message out of the received bytes.
  std::optional<std::pair<ResultCode, std::string>> takeMessage() {
    Header header;
    if (received.size() < sizeof header) return std::nullopt;
    std::memcpy(&header, received.data(), sizeof header);
    if (header.length > kMaxAnswer) return std::pair(ResultCode::OP_FAILED, std::string());
    if (received.size() - sizeof header < header.length) return std::nullopt;
    std::string text = received.substr(sizeof header, header.length);
    received.erase(0, sizeof header + header.length);
    return std::pair(header.code, std::move(text));
  }

  // All writers of the file share its offset.
  off_t errorsWritten() const { return errors.valid() ? ::lseek(errors.get(), 0, SEEK_CUR) : 0; }
  void begin(size_t number, std::chrono::milliseconds jobLimit) {
    busy = true;
    job = number;
    began = Clock::now();
    limit = jobLimit;
    if (errors.valid() && errorsWritten() > kMaxErrors) {
      (void)::ftruncate(errors.get(), 0);
      (void)::lseek(errors.get(), 0, SEEK_SET);
    }
    errorsBefore = errorsWritten();
  }
  // Returns the text written since the job began, or the end of it.
  std::string newErrors() const {
    const off_t end = errorsWritten();
    const off_t from = std::max(errorsBefore, end - kKeptErrors);
    if (end <= from) return {};
    std::string text(static_cast<size_t>(end - from), '\0');
    const ssize_t count = ::pread(errors.get(), text.data(), text.size(), from);
    text.resize(static_cast<size_t>(std::max<ssize_t>(count, 0)));
    return text;
  }

  pid_t pid = -1;
  UniqueFd socket;
  UniqueFd errors;  // a file in memory, used with keepErrors
  std::string received;
  bool busy = false;
  size_t job = 0;
  Clock::time_point began;
  std::chrono::milliseconds limit{};
  off_t errorsBefore = 0;
};

ProcessPool::ProcessPool(const ProcessPoolOptions& options, Start start)
    : options_(options), start_(std::move(start)) {}

ProcessPool::~ProcessPool() = default;

Result<std::unique_ptr<ProcessPool>> ProcessPool::create(const ProcessPoolOptions& options,
                                                         Start start) {
  std::unique_ptr<ProcessPool> pool(new ProcessPool(options, std::move(start)));
  HALYARD_ASSIGN_OR_RETURN(std::unique_ptr<Process> first, pool->startProcess());
  pool->processes_.push_back(std::move(first));
  return pool;
}

// Runs in the new process until the pool closes the connection.
void ProcessPool::serve(int socket) const {
  const Result<ProcessWorker> worker = start_();
  if (!worker.ok()) {
    sendMessage(socket, worker.status().code(), worker.status().message());
    return;
  }
  if (!sendMessage(socket, ResultCode::NO_ERROR, worker->greeting)) return;
  Header header;
  std::string job;
  while (receiveAll(socket, &header, sizeof header)) {
    job.resize(header.length);
    if (!receiveAll(socket, job.data(), job.size())) return;
    if (!sendMessage(socket, ResultCode::NO_ERROR, worker->work(job))) return;
  }
}

Result<std::unique_ptr<ProcessPool::Process>> ProcessPool::startProcess() {
  int sockets[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) != 0) {
    return errnoStatus(ResultCode::OP_FAILED, errno, "making a socket pair");
  }
  auto process = std::make_unique<Process>();
  process->socket = UniqueFd(sockets[0]);
  // The limit also applies to a process that has stopped reading.
  const timeval sendLimit{static_cast<time_t>(options_.jobLimit.count() / 1000 + 1), 0};
  (void)::setsockopt(sockets[0], SOL_SOCKET, SO_SNDTIMEO, &sendLimit, sizeof sendLimit);
  UniqueFd other(sockets[1]);
  if (options_.keepErrors) {
    process->errors = UniqueFd(::memfd_create("standard error", MFD_CLOEXEC));
    if (!process->errors.valid()) {
      return errnoStatus(ResultCode::OP_FAILED, errno, "making a file for standard error");
    }
  }
  std::fflush(nullptr);
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid < 0) return errnoStatus(ResultCode::OP_FAILED, errno, "starting a process");
  if (pid == 0) {
    ::setpgid(0, 0);
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(1);
    process->socket.reset();
    if (process->errors.valid() && ::dup2(process->errors.get(), STDERR_FILENO) < 0) ::_exit(1);
    // The other processes' connections must end when the parent ends, so this process closes its
    // copies.
    for (const auto& one : processes_) {
      if (one != nullptr) one->socket.reset();
    }
    serve(other.get());
    // The code calls exit and not _exit, so that sanitizers report their findings.
    std::exit(0);
  }
  ::setpgid(pid, pid);
  process->pid = pid;
  other.reset();
  const Clock::time_point deadline = Clock::now() + options_.startLimit;
  for (;;) {
    if (auto message = process->takeMessage()) {
      if (message->first != ResultCode::NO_ERROR) {
        return Status(message->first, std::move(message->second));
      }
      if (greeting_.empty()) greeting_ = std::move(message->second);
      return process;
    }
    if (!isReadable(process->socket.get(), millisecondsUntil(deadline))) {
      if (Clock::now() < deadline) continue;
      return makeStatus(ResultCode::MISSED_DEADLINE_TRANSIENT, "not ready within {} ms",
                        options_.startLimit.count());
    }
    if (!process->readSome()) {
      return makeStatus(ResultCode::DEAD_OBJECT, "the process ended before it was ready: {}",
                        endText(process->collect()));
    }
  }
}

void ProcessPool::finishJob(Process& process, Answer answer,
                            const std::function<void(size_t, Answer)>& done) {
  process.busy = false;
  answer.duration = Clock::now() - process.began;
  answer.errors = process.newErrors();
  done(process.job, std::move(answer));
}

// Waits until at least one busy process has answered, ended, or exceeded its limit.
void ProcessPool::step(const std::function<void(size_t, Answer)>& done) {
  std::vector<pollfd> polls;
  Clock::time_point first = Clock::time_point::max();
  for (const auto& process : processes_) {
    const bool busy = process != nullptr && process->busy;
    polls.push_back({busy ? process->socket.get() : -1, POLLIN, 0});
    if (busy) first = std::min(first, process->began + process->limit);
  }
  ::poll(polls.data(), polls.size(), millisecondsUntil(first));
  for (size_t i = 0; i < polls.size(); ++i) {
    if (polls[i].fd < 0) continue;
    Process& process = *processes_[i];
    const bool alive = polls[i].revents == 0 || process.readSome();
    if (auto message = process.takeMessage()) {
      finishJob(process, {std::move(message->second), {}, {}, How::ANSWERED, {}}, done);
    } else if (!alive) {
      const std::string end = endText(process.collect());
      finishJob(process,
                {std::nullopt, fmt::format("its process ended: {}", end), {}, How::ENDED, {}},
                done);
      processes_[i].reset();
    } else if (Clock::now() >= process.began + process.limit) {
      process.kill();
      finishJob(process,
                {std::nullopt,
                 fmt::format("no result within {} s; its process was killed",
                             std::chrono::duration<double>(process.limit).count()),
                 {},
                 How::TIMED_OUT,
                 {}},
                done);
      processes_[i].reset();
    }
  }
}

void ProcessPool::run(const std::function<std::optional<std::string>()>& next,
                      const std::function<void(size_t, Answer)>& done) {
  size_t number = 0;
  Status lastStart;
  std::optional<std::string> job = next();
  processes_.resize(std::max(1u, options_.processes));
  while (job) {
    const auto idle = std::find_if(processes_.begin(), processes_.end(), [](const auto& process) {
      return process == nullptr || !process->busy;
    });
    if (idle == processes_.end()) {
      step(done);
      continue;
    }
    std::unique_ptr<Process>& process = *idle;
    if (process == nullptr && failedStarts_ < kMaxFailedStarts) {
      auto started = startProcess();
      failedStarts_ = started.ok() ? 0 : failedStarts_ + 1;
      lastStart = started.status();
      if (started.ok()) process = std::move(started).value();
    }
    if (process == nullptr) {
      done(number++, {std::nullopt, "not run: " + lastStart.toString(), {}, How::NOT_RUN, {}});
    } else {
      process->begin(number++, options_.limitOf ? options_.limitOf(*job) : options_.jobLimit);
      // A failed send shows as the end of the process.
      (void)sendMessage(process->socket.get(), ResultCode::NO_ERROR, *job);
    }
    job = next();
  }
  const auto isBusy = [](const auto& process) { return process != nullptr && process->busy; };
  while (std::any_of(processes_.begin(), processes_.end(), isBusy)) step(done);
}

Status ProcessPool::finish() {
  for (const auto& process : processes_) {
    if (process != nullptr) ::shutdown(process->socket.get(), SHUT_WR);
  }
  Status status;
  const Clock::time_point deadline = Clock::now() + kEndLimit;
  for (const auto& process : processes_) {
    if (process == nullptr) continue;
    const UniqueFd pidfd(::pidfd_open(process->pid, 0));
    if (pidfd.valid() && !isReadable(pidfd.get(), millisecondsUntil(deadline))) {
      process->kill();
      status = opFailed("a process did not end when all was done, and was killed");
      continue;
    }
    const siginfo_t info = process->collect();
    if (info.si_code != CLD_EXITED || info.si_status != 0) {
      const std::string errors = process->newErrors();
      status = opFailed("a process ended with {} when all was done{}{}", endText(info),
                        errors.empty() ? "" : "; it wrote: ", errors);
    }
  }
  processes_.clear();
  return status;
}

}  // namespace halyard
