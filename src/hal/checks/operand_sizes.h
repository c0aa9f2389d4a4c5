// OperandSizes: bytes of values, those of vendor extensions' types included.
// Thread safety: const methods may be called from any thread. Ownership: owns its table.
#pragma once

#include <map>
#include <optional>
#include <span>

#include "halyard/driver/hal_types.h"
#include "halyard/driver/model.h"

namespace halyard::hal {

class OperandSizes {
 public:
  // Of a model without extensions.
  OperandSizes() = default;
  OperandSizes(const Model& model, std::span<const Extension> extensions) {
    add(model, extensions);
  }
  // What a device says of the extensions that the model uses.
  void add(const Model& model, std::span<const Extension> extensions);

  // As knownByteSize: nullopt when a dimension is unknown (0), or the type.
  std::optional<uint32_t> known(OperandType type, const Shape& dimensions) const;
  // As realByteSize: a dimension of 0 is zero-sized, and a tensor without any a scalar.
  std::optional<uint32_t> real(OperandType type, const Shape& dimensions) const;
  // For predictions: unknown dimensions, and an unknown rank, count as 1, and so do the bytes of a
  // type that no device describes.
  double estimated(OperandType type, const Shape& dimensions) const;
  // A type whose values have no dimensions.
  bool isScalar(OperandType type) const;
  // False: an extension's, that no device describes.
  bool isKnown(OperandType type) const { return !isExtension(type) || extensions_.contains(type); }

 private:
  std::map<OperandType, ExtensionOperandType> extensions_;
};

}  // namespace halyard::hal
