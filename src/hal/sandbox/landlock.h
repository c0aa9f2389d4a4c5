// LandlockRules: the files that a sandboxed process may use.
// Thread safety: a value.
// Ownership: owns the descriptor of its ruleset.
#pragma once

#include <string>

#include "hal/manifest/sandbox_settings.h"
#include "halyard/driver/unique_fd.h"

namespace halyard::hal {

class LandlockRules {
 public:
  // Returns UNAVAILABLE_DEVICE when the kernel has no Landlock.
  static Result<LandlockRules> create(const SandboxSettings& settings,
                                      const std::string& ownSocket);

  // Describes the rules for readers.
  const std::string& description() const { return description_; }
  // The ruleset for landlock_restrict_self. It permanently restricts a thread, and the threads that
  // it starts. Needs no_new_privs.
  int ruleset() const { return ruleset_.get(); }

 private:
  UniqueFd ruleset_;
  std::string description_;
};

}  // namespace halyard::hal
