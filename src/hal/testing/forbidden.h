// Actions that a sandboxed driver must not be able to do. An execution of the test driver tries
// them.
// Thread safety: the actions are independent. Ownership: none.
#pragma once

namespace halyard::hal::testing {

// An execution tries an action if its first input begins with this value and one of the numbers
// below. The first output receives the result: 0 for success, or an errno.
inline constexpr float kForbidden = 999;

enum class Forbidden : int {
  READ_FILE,
  READ_FILE_IN_ELDER_THREAD,  // in a thread that started before the sandbox
  CREATE_FILE,
  READ_MEMORY_OF_CLIENT,  // through /proc
  NETWORK_SOCKET,
  NETWORK_SOCKET_IN_ELDER_THREAD,
  UNIX_SOCKET,
  EXECUTE,
  FORK,
  SIGNAL_CLIENT,
  CAPABILITIES,  // 0 if the process has a capability
  CAPABILITIES_IN_ELDER_THREAD,
  BECOME_DUMPABLE,
  MUCH_MEMORY,
  LARGE_FILE,
  TYPE_AT_TERMINAL,
  TYPE_AT_TERMINAL_WITH_HIGH_BITS,
  IO_URING,
  NEW_NAMESPACE,
  TRACE_CLIENT,  // ends the process
  // Actions that must still be possible.
  START_THREAD,
  LOAD_LIBRARY,
  COUNT,
};

int tryForbidden(Forbidden what);

// Starts the thread of the *_IN_ELDER_THREAD actions. Call it before the sandbox starts.
void startElderThread();

}  // namespace halyard::hal::testing
