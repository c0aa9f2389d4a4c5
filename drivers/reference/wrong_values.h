// WrongValues: kernels that compute the reference's results, and then change them by a small error.
// Thread safety: immutable.
// Ownership: owns its table.
#pragma once

#include <map>
#include <memory>

#include "cpu/kernel_patch.h"

namespace halyard::drivers {

class WrongValues final : public cpu::KernelPatch {
 public:
  // `shares`: by operation, the relative error: 0.01 makes 1.01 of 1. A quantised 1 becomes the
  // nearest value to 1.01, or the next one if this is the same. Integers change by at least one.
  // Values stay within the range of their type. Booleans are inverted. Null without shares.
  static std::shared_ptr<const WrongValues> make(std::map<OperationType, double> shares);

  Status run(const ops::OperationDefinition& definition,
             ops::OperationContext& context) const override;

 private:
  explicit WrongValues(std::map<OperationType, double> shares) : shares_(std::move(shares)) {}

  const std::map<OperationType, double> shares_;
};

}  // namespace halyard::drivers
