// KernelPatch: other kernels than the reference's, for devices that are to be wrong in known ways.
// Thread safety: run may be called from several threads at once. Ownership: none.
#pragma once

#include "halyard/driver/status.h"
#include "ops/operation.h"

namespace halyard::cpu {

class KernelPatch {
 public:
  virtual ~KernelPatch() = default;
  // Instead of ops::runReference, which it may call.
  virtual Status run(const ops::OperationDefinition& definition,
                     ops::OperationContext& context) const = 0;
};

}  // namespace halyard::cpu
