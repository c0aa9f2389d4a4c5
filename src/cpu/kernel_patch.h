// KernelPatch: replaces the reference kernels, for devices with known errors.
// Thread safety: several threads may call run at once.
// Ownership: none.
#pragma once

#include "halyard/driver/status.h"
#include "ops/operation.h"

namespace halyard::cpu {

class KernelPatch {
 public:
  virtual ~KernelPatch() = default;
  // Called in place of ops::runReference, which it may call.
  virtual Status run(const ops::OperationDefinition& definition,
                     ops::OperationContext& context) const = 0;
};

}  // namespace halyard::cpu
