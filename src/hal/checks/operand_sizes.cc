#include "hal/checks/operand_sizes.h"

#include <algorithm>

namespace halyard::hal {
namespace {

constexpr unsigned kPrefixShift = 16;

std::optional<uint32_t> fitting(uint64_t bytes) {
  return bytes <= UINT32_MAX ? std::optional(static_cast<uint32_t>(bytes)) : std::nullopt;
}

}  // namespace

void OperandSizes::add(const Model& model, std::span<const Extension> extensions) {
  for (const ExtensionNameAndPrefix& used : model.extensionNameToPrefix) {
    for (const Extension& extension : extensions) {
      if (extension.name != used.name) continue;
      for (const ExtensionOperandType& type : extension.operandTypes) {
        const uint32_t code = (uint32_t{used.prefix} << kPrefixShift) | type.type;
        extensions_.emplace(static_cast<OperandType>(code), type);
      }
    }
  }
}

std::optional<uint32_t> OperandSizes::known(OperandType type, const Shape& dimensions) const {
  if (!isExtension(type)) return knownByteSize(type, dimensions);
  const auto it = extensions_.find(type);
  if (it == extensions_.end()) return std::nullopt;
  if (!it->second.isTensor) return it->second.byteSize;
  const std::optional<uint32_t> count = knownElementCount(dimensions);
  return count ? fitting(uint64_t{*count} * it->second.byteSize) : std::nullopt;
}

std::optional<uint32_t> OperandSizes::real(OperandType type, const Shape& dimensions) const {
  if (!isExtension(type)) return realByteSize(type, dimensions);
  if (std::ranges::find(dimensions, 0u) == dimensions.end()) return known(type, dimensions);
  return extensions_.contains(type) ? std::optional<uint32_t>(0) : std::nullopt;
}

double OperandSizes::estimated(OperandType type, const Shape& dimensions) const {
  const auto it = extensions_.find(type);
  double bytes = isExtension(type) ? 1 : std::max(1u, elementSize(type));
  if (it != extensions_.end()) bytes = it->second.byteSize;
  for (const uint32_t dimension : dimensions) bytes *= std::max(1u, dimension);
  return bytes;
}

bool OperandSizes::isScalar(OperandType type) const {
  if (!isExtension(type)) return isScalarType(type);
  const auto it = extensions_.find(type);
  return it != extensions_.end() && !it->second.isTensor;
}

}  // namespace halyard::hal
