// LandlockRules: which files a sandboxed process may reach.
// Thread safety: a value.
// Ownership: owns the descriptor of its ruleset.
#pragma once

#include <string>

#include "hal/manifest/sandbox_settings.h"
#include "halyard/driver/unique_fd.h"

namespace halyard::hal {

class LandlockRules {
 public:
  // UNAVAILABLE_DEVICE when the kernel has no Landlock.
  static Result<LandlockRules> create(const SandboxSettings& settings,
                                      const std::string& ownSocket);

  // What they are, for people.
  const std::string& description() const { return description_; }
  // What landlock_restrict_self binds a thread with, and those that it starts, for good. Needs
  // no_new_privs.
  int ruleset() const { return ruleset_.get(); }

 private:
  UniqueFd ruleset_;
  std::string description_;
};

}  // namespace halyard::hal
