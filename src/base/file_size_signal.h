// FileSizeSignalHeld: keeps SIGXFSZ from ending the process while this thread makes files longer.
// The application may set a limit on file sizes. Exceeding it becomes an ordinary error.
// Thread safety: the thread that creates it must destroy it.
// Ownership: stores the previous signal mask.
#pragma once

#include <pthread.h>
#include <signal.h>
#include <time.h>

namespace halyard {

class FileSizeSignalHeld {
 public:
  FileSizeSignalHeld() {
    sigset_t pending;
    if (::sigpending(&pending) == 0) wasPending_ = ::sigismember(&pending, SIGXFSZ) == 1;
    ::sigemptyset(&signal_);
    ::sigaddset(&signal_, SIGXFSZ);
    sigset_t before;
    if (::pthread_sigmask(SIG_BLOCK, &signal_, &before) == 0) {
      wasBlocked_ = ::sigismember(&before, SIGXFSZ) == 1;
    }
  }
  ~FileSizeSignalHeld() {
    // The kernel sends the signal to the thread that writes.
    constexpr timespec kNow = {};
    if (!wasPending_) (void)::sigtimedwait(&signal_, nullptr, &kNow);
    if (!wasBlocked_) ::pthread_sigmask(SIG_UNBLOCK, &signal_, nullptr);
  }
  FileSizeSignalHeld(const FileSizeSignalHeld&) = delete;
  FileSizeSignalHeld& operator=(const FileSizeSignalHeld&) = delete;

 private:
  sigset_t signal_;
  bool wasBlocked_ = true;
  bool wasPending_ = false;
};

}  // namespace halyard
