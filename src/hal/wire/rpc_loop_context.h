// The loop thread's side of RpcLoop: needs the Cap'n Proto headers.
// Thread safety: loop thread only.
// Ownership: the context lives as long as the loop thread; tasks added to it end with it.
#pragma once

#include <kj/async-io.h>
#include <kj/async-unix.h>

#include "hal/manifest/child_process.h"
#include "hal/wire/rpc_loop.h"

namespace halyard::hal {

struct RpcLoop::Context {
  kj::AsyncIoContext& io;
  // Promises without another owner. Failures are dropped, so each promise must handle its own.
  kj::TaskSet& tasks;
  // Driver processes that are ending; the loop ends after them.
  kj::TaskSet& exits;

  // Resolves when the process has ended, with the text of ChildProcess::collect. Only one such
  // promise may wait for a process.
  kj::Promise<std::string> whenEnded(std::shared_ptr<ChildProcess> child);
};

}  // namespace halyard::hal
