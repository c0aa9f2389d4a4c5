// SessionServices: what all sessions of a process share.
// Thread safety: as each of its parts. Ownership: shared by the sessions and their objects.
#pragma once

namespace halyard::hal {

class SessionServices {
 public:
  SessionServices() = default;
  SessionServices(const SessionServices&) = delete;
  SessionServices& operator=(const SessionServices&) = delete;
};

}  // namespace halyard::hal
