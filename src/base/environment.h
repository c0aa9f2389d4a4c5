// The environment's variables. docs/environment.md lists them.
// Thread safety: as getenv: any thread, as long as nobody changes the environment.
// Ownership: the result is the environment's.
#pragma once

#include <cstdlib>

namespace halyard {

// Null when it is not set, and in a process with elevated privileges (AT_SECURE: set-user-id,
// file capabilities), whose user is not to steer it. Nothing else in Halyard reads the environment.
inline const char* environmentVariable(const char* name) { return ::secure_getenv(name); }

}  // namespace halyard
