// OperandSizes: bytes of values, those of vendor extensions' types included.
// Thread safety: immutable once made. Ownership: owns its table.
#pragma once

#include <map>
#include <optional>
#include <span>

#include "halyard/driver/model.h"
#include "runtime/device_manager.h"

namespace halyard::runtime {

class OperandSizes {
 public:
  // The extensions that the model uses, as the devices describe them.
  OperandSizes(const Model& model, std::span<const Device* const> devices);

  // As knownByteSize: nullopt when a dimension is unknown (0), or the type.
  std::optional<uint32_t> known(OperandType type, const Shape& dimensions) const;
  // As realByteSize: a dimension of 0 is zero-sized, and a tensor without any a scalar.
  std::optional<uint32_t> real(OperandType type, const Shape& dimensions) const;
  // For predictions: unknown dimensions, and an unknown rank, count as 1, and so do the bytes of a
  // type that no device describes.
  double estimated(OperandType type, const Shape& dimensions) const;
  // A type whose values have no dimensions.
  bool isScalar(OperandType type) const;

 private:
  std::map<OperandType, hal::ExtensionOperandType> extensions_;
};

}  // namespace halyard::runtime
