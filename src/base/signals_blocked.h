// SignalsBlocked: blocks the signals of the calling thread for its lifetime, except for those that
// report its own faults. A thread started meanwhile inherits the mask, so it never gets the
// application's signals.
// Thread safety: the thread that creates it must destroy it.
// Ownership: stores the previous signal mask.
#pragma once

#include <pthread.h>
#include <signal.h>

namespace halyard {

class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t set;
    ::sigfillset(&set);
    for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS, SIGPROF}) {
      ::sigdelset(&set, fault);
    }
    ::pthread_sigmask(SIG_BLOCK, &set, &saved_);
  }
  ~SignalsBlocked() { ::pthread_sigmask(SIG_SETMASK, &saved_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t saved_;
};

}  // namespace halyard
