// Access to environment variables. docs/environment.md lists them.
// Thread safety: as getenv: any thread, while no thread changes the environment.
// Ownership: the environment owns the result.
#pragma once

#include <cstdlib>

namespace halyard {

// Returns null when the variable is not set. Also returns null in a process with elevated
// privileges (AT_SECURE: set-user-id, file capabilities), because its user must not control it.
// Nothing else in Halyard reads the environment.
inline const char* environmentVariable(const char* name) { return ::secure_getenv(name); }

}  // namespace halyard
