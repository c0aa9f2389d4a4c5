// SignalsBlocked: blocks the signals of the calling thread for its lifetime, but for those that
// report its own faults: a thread started meanwhile inherits the mask, so that the application's
// signals never arrive there.
// Thread safety: to be destroyed by the thread that made it. Ownership: keeps the mask from before.
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
