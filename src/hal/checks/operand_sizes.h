// OperandSizes: the sizes of values in bytes, including types of vendor extensions.
// Thread safety: const methods may be called from any thread.
// Ownership: owns its table.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>

#include "halyard/driver/hal_types.h"
#include "halyard/driver/model.h"

namespace halyard::hal {

// The alignment that elements of `type` need. Extension types may hold anything.
inline uint32_t elementAlignment(OperandType type) {
  const uint32_t size = elementSize(type);
  return size == 0 ? 8 : size;
}

class OperandSizes {
 public:
  // The sizes of a model without extensions.
  OperandSizes() = default;
  OperandSizes(const Model& model, std::span<const Extension> extensions) {
    add(model, extensions);
  }
  // Adds a device's descriptions of the extensions that the model uses.
  void add(const Model& model, std::span<const Extension> extensions);

  // As knownByteSize: nullopt when a dimension (0) or the type is unknown.
  std::optional<uint32_t> known(OperandType type, const Shape& dimensions) const;
  // As realByteSize: a dimension of 0 means zero size, and a tensor without dimensions is a scalar.
  std::optional<uint32_t> real(OperandType type, const Shape& dimensions) const;
  // Returns an estimate for predictions. Unknown dimensions and an unknown rank count as 1, and so
  // do the bytes of a type that no device describes.
  double estimated(OperandType type, const Shape& dimensions) const;
  // Returns whether values of the type have no dimensions.
  bool isScalar(OperandType type) const;
  // Returns false for an extension's type that no device describes.
  bool isKnown(OperandType type) const { return !isExtension(type) || extensions_.contains(type); }

 private:
  std::map<OperandType, ExtensionOperandType> extensions_;
};

}  // namespace halyard::hal
