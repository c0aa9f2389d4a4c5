#include "hal/sandbox/every_thread.h"

#include <dirent.h>
#include <linux/futex.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstring>
#include <ctime>
#include <fstream>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/thread_sanitizer.h"
#include "halyard/driver/unique_fd.h"

namespace halyard::hal {
namespace {

constexpr size_t kMostThreads = 8192;
constexpr std::chrono::seconds kLimit{2};

// The data for the handler.
struct Round {
  int (*action)(void*);
  void* argument;
  uint32_t begun;
  uint32_t answered;  // a futex
  int32_t threads[kMostThreads];
  int32_t results[kMostThreads];
  Round* next;  // list of the rounds that are kept forever
};
Round* currentRound = nullptr;  // a handler has no other way to find it

// Runs in any thread at any moment, also in a thread that a sanitizer does not know.
__attribute__((no_sanitize_thread, no_sanitize_address, no_sanitize_undefined)) void onSignal(int) {
  const int savedErrno = errno;
  Round* const round = __atomic_load_n(&currentRound, __ATOMIC_ACQUIRE);
  if (round != nullptr) {
    const uint32_t index = __atomic_fetch_add(&round->begun, 1, __ATOMIC_RELAXED);
    if (index < kMostThreads) {
      round->results[index] = round->action(round->argument);
      __atomic_store_n(&round->threads[index], static_cast<int32_t>(::syscall(SYS_gettid)),
                       __ATOMIC_RELEASE);
    }
    __atomic_fetch_add(&round->answered, 1, __ATOMIC_RELEASE);
    ::syscall(SYS_futex, &round->answered, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
  }
  errno = savedErrno;
}

// Installs the handler for its lifetime. Sanitizers would delay the handler, and not run it in
// their own threads. So the code calls the kernel directly where the layout of its structure is
// known.
class Handler {
 public:
  Handler() {
    struct sigaction action {};
    action.sa_handler = onSignal;
    action.sa_flags = SA_RESTART;
    ::sigfillset(&action.sa_mask);
    ::sigaction(SIGSYS, &action, &before_);
#if defined(__x86_64__) || defined(__aarch64__)
    struct {
      void (*handler)(int);
      unsigned long flags;
      void (*restorer)();
      unsigned long mask;
    } raw{};
    constexpr size_t kMaskBytes = sizeof raw.mask;
    if (::syscall(SYS_rt_sigaction, SIGSYS, nullptr, &raw, kMaskBytes) == 0) {
      raw.handler = onSignal;
      ::syscall(SYS_rt_sigaction, SIGSYS, &raw, nullptr, kMaskBytes);
    }
#endif
  }
  ~Handler() {
    if (!stays_) ::sigaction(SIGSYS, &before_, nullptr);
  }
  Handler(const Handler&) = delete;
  Handler& operator=(const Handler&) = delete;

  // A signal may still be on its way to a thread; without the handler it would end the process.
  void stay() { stays_ = true; }

 private:
  bool stays_ = false;
  struct sigaction before_ {};
};

// The open folder stays readable after the sandbox starts.
class ThreadList {
 public:
  ThreadList() : folder_(::opendir("/proc/self/task")) {}
  ~ThreadList() {
    if (folder_ != nullptr) ::closedir(folder_);
  }
  ThreadList(const ThreadList&) = delete;
  ThreadList& operator=(const ThreadList&) = delete;

  bool readable() const { return folder_ != nullptr; }
  std::vector<pid_t> read() {
    std::vector<pid_t> threads;
    ::rewinddir(folder_);
    while (const dirent* entry = ::readdir(folder_)) {
      pid_t thread = 0;
      std::from_chars(entry->d_name, entry->d_name + std::strlen(entry->d_name), thread);
      if (thread > 0) threads.push_back(thread);
    }
    return threads;
  }

 private:
  DIR* folder_;
};

bool alive(pid_t thread) {
  return ::syscall(SYS_tgkill, ::getpid(), thread, 0) == 0 || errno != ESRCH;
}

// Returns whether the thread belongs to ThreadSanitizer. It blocks the signal and runs no code of
// Halyard.
bool isSanitizers(pid_t thread) {
  if (!kThreadSanitizer) return false;
  std::ifstream status(fmt::format("/proc/self/task/{}/status", thread));
  constexpr std::string_view kKey = "SigBlk:";
  for (std::string line; std::getline(status, line);) {
    if (!line.starts_with(kKey)) continue;
    const uint64_t blocked = std::strtoull(line.c_str() + kKey.size(), nullptr, 16);
    return (blocked >> (SIGSYS - 1) & 1) != 0;
  }
  return false;
}

bool hasAnswered(const Round& round, pid_t thread) {
  const uint32_t begun =
      std::min<uint32_t>(__atomic_load_n(&round.begun, __ATOMIC_ACQUIRE), kMostThreads);
  for (uint32_t i = 0; i < begun; ++i) {
    if (__atomic_load_n(&round.threads[i], __ATOMIC_ACQUIRE) == thread) return true;
  }
  return false;
}

// Waits until `thread` has answered, or has ended.
Status await(Round& round, pid_t thread, std::chrono::steady_clock::time_point end) {
  for (;;) {
    const uint32_t answered = __atomic_load_n(&round.answered, __ATOMIC_ACQUIRE);
    if (hasAnswered(round, thread) || !alive(thread)) return okStatus();
    if (std::chrono::steady_clock::now() > end) {
      return opFailed("thread {} blocks the signal by which it would be told", thread);
    }
    const timespec moment{0, 10'000'000};
    ::syscall(SYS_futex, &round.answered, FUTEX_WAIT_PRIVATE, answered, &moment, nullptr, 0);
  }
}

Status tellOthers(Round& round, ThreadList& list) {
  const auto end = std::chrono::steady_clock::now() + kLimit;
  const pid_t self = static_cast<pid_t>(::syscall(SYS_gettid));
  std::set<pid_t> told = {self};
  for (bool more = true; more;) {
    more = false;
    std::vector<pid_t> fresh;
    for (const pid_t thread : list.read()) {
      if (!told.insert(thread).second || isSanitizers(thread)) continue;
      more = true;
      if (::syscall(SYS_tgkill, ::getpid(), thread, SIGSYS) == 0) fresh.push_back(thread);
    }
    if (told.size() > kMostThreads) return opFailed("more than {} threads", kMostThreads);
    for (const pid_t thread : fresh) HALYARD_RETURN_IF_ERROR(await(round, thread, end));
  }
  return okStatus();
}

// The list keeps it reachable, so that leak detectors ignore it.
void keepForEver(std::unique_ptr<Round> round) {
  static std::atomic<Round*> kept = nullptr;
  Round* const last = round.release();
  last->next = kept.load();
  while (!kept.compare_exchange_weak(last->next, last)) {
  }
}

}  // namespace

Status onEveryThread(int (*action)(void*), void* argument) {
  ThreadList list;
  if (!list.readable()) return errnoStatus(ResultCode::OP_FAILED, errno, "/proc/self/task");
  auto round = std::make_unique<Round>();
  round->action = action;
  round->argument = argument;
  Status status;
  {
    Handler handler;
    __atomic_store_n(&currentRound, round.get(), __ATOMIC_RELEASE);
    status = tellOthers(*round, list);
    __atomic_store_n(&currentRound, nullptr, __ATOMIC_RELEASE);
    if (!status.ok()) handler.stay();
  }
  const uint32_t answers = std::min<uint32_t>(round->answered, kMostThreads);
  for (uint32_t i = 0; i < answers && status.ok(); ++i) {
    if (round->results[i] != 0) {
      status = opFailed("in thread {}: {}", round->threads[i], std::strerror(round->results[i]));
    }
  }
  // A late thread may still read it.
  if (!status.ok()) keepForEver(std::move(round));
  if (const int own = action(argument); own != 0 && status.ok()) {
    status = opFailed("{}", std::strerror(own));
  }
  return status;
}

}  // namespace halyard::hal
