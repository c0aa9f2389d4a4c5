#include "runtime/burst.h"

namespace halyard::runtime {

Burst::Burst(const Compilation& compilation) : compilation_(compilation) {
  auto burst = compilation.preparedModel().configureBurst();
  if (burst.ok()) burst_ = std::move(*burst);
}

hal::ExecutionResult Burst::execute(const hal::Request& request,
                                    const hal::ExecuteOptions& options) {
  if (burst_ != nullptr) return burst_->execute(request, options);
  return compilation_.preparedModel().executeSynchronously(request, options);
}

}  // namespace halyard::runtime
