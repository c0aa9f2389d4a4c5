// What a sandboxed driver must not be able to do: tried inside an execution of the test driver.
// Thread safety: each try is on its own. Ownership: none.
#pragma once

namespace halyard::hal::testing {

// An execution whose first input begins with this and one of the numbers below tries that; the
// first output is what came of it: 0 for success, or an errno.
inline constexpr float kForbidden = 999;

enum class Forbidden : int {
  READ_FILE,
  READ_FILE_IN_ELDER_THREAD,  // one that was there before the sandbox
  CREATE_FILE,
  READ_MEMORY_OF_CLIENT,  // by /proc
  NETWORK_SOCKET,
  NETWORK_SOCKET_IN_ELDER_THREAD,
  UNIX_SOCKET,
  EXECUTE,
  FORK,
  SIGNAL_CLIENT,
  CAPABILITIES,  // 0 if there is one
  CAPABILITIES_IN_ELDER_THREAD,
  BECOME_DUMPABLE,
  MUCH_MEMORY,
  LARGE_FILE,
  TYPE_AT_TERMINAL,
  TYPE_AT_TERMINAL_WITH_HIGH_BITS,
  IO_URING,
  NEW_NAMESPACE,
  TRACE_CLIENT,  // ends the process
  // What it must still be able to do
  START_THREAD,
  LOAD_LIBRARY,
  COUNT,
};

int tryForbidden(Forbidden what);

// Starts the thread of the *_IN_ELDER_THREAD; before the sandbox.
void startElderThread();

}  // namespace halyard::hal::testing
