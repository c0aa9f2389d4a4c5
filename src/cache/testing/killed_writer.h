// Kills a process at each of its system calls in turn.
// Thread safety: none; it forks, so that no other thread may run.
// Ownership: waits for its children.
#pragma once

#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <functional>
#include <optional>

namespace halyard::cache::testing {

struct KilledWriter {
  enum class End { KILLED, FINISHED, FAILED, NOT_TRACED };

  // Runs `prepare` and then `work` in a child; the result of `work` tells whether it succeeded.
  // Kills the child with SIGKILL just before system call number `stop` (from 0) of `work`.
  // FINISHED: it made fewer calls.
  static End run(size_t stop, const std::function<void()>& prepare,
                 const std::function<bool()>& work) {
    const pid_t child = ::fork();
    if (child == 0) {
      if (::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) ::_exit(77);
      prepare();
      ::raise(SIGSTOP);
      ::_exit(work() ? 0 : 1);
    }
    int status = 0;
    if (::waitpid(child, &status, 0) != child) return End::FAILED;
    if (WIFEXITED(status)) return WEXITSTATUS(status) == 77 ? End::NOT_TRACED : End::FAILED;
    ::ptrace(PTRACE_SETOPTIONS, child, nullptr, PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL);
    size_t calls = 0;
    int signal = 0;  // signal to deliver; the first one is the SIGSTOP, which is already handled
    for (bool entering = true;;) {
      ::ptrace(PTRACE_SYSCALL, child, nullptr, signal);
      if (::waitpid(child, &status, 0) != child) return End::FAILED;
      if (WIFEXITED(status)) return WEXITSTATUS(status) == 0 ? End::FINISHED : End::FAILED;
      if (WIFSIGNALED(status)) return End::FAILED;
      signal = WSTOPSIG(status);
      if (signal != (SIGTRAP | 0x80)) continue;
      signal = 0;
      if (entering && calls++ == stop) {
        ::kill(child, SIGKILL);
        ::waitpid(child, &status, 0);
        return End::KILLED;
      }
      entering = !entering;
    }
  }
};

}  // namespace halyard::cache::testing
