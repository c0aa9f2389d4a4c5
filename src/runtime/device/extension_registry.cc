// The registry of vendor extensions.
#include "runtime/device/extension_registry.h"

#include <algorithm>

#include "hal/core/error_status.h"
#include "model/validation/extension_table.h"

namespace halyard::runtime {
namespace {

bool sameTypes(hal::Extension a, hal::Extension b) {
  const auto byType = [](const auto& x, const auto& y) { return x.type < y.type; };
  std::sort(a.operandTypes.begin(), a.operandTypes.end(), byType);
  std::sort(b.operandTypes.begin(), b.operandTypes.end(), byType);
  return std::equal(a.operandTypes.begin(), a.operandTypes.end(), b.operandTypes.begin(),
                    b.operandTypes.end(), [](const auto& x, const auto& y) {
                      return x.type == y.type && x.isTensor == y.isTensor &&
                             x.byteSize == y.byteSize;
                    });
}

}  // namespace

std::vector<std::string> ExtensionRegistry::addDevice(
    const std::vector<hal::Extension>& extensions) {
  std::vector<std::string> disabled;
  const std::lock_guard lock(mutex_);
  for (const hal::Extension& extension : extensions) {
    const auto [it, inserted] = known_.emplace(extension.name, extension);
    if (inserted || sameTypes(it->second, extension)) continue;
    if (disabled_.insert(extension.name).second) disabled.push_back(extension.name);
  }
  return disabled;
}

bool ExtensionRegistry::isDisabled(const std::string& name) const {
  const std::lock_guard lock(mutex_);
  return disabled_.contains(name);
}

Result<uint16_t> ExtensionRegistry::prefixOf(const std::string& name) {
  if (!isExtensionName(name)) {
    return badData(
        "'{}' is no name of an extension, expected lower-case letters, digits, '_' and at least "
        "one "
        "'.'",
        hal::safeText(name));
  }
  if (name == kTfliteExtension) return kTfliteExtensionPrefix;
  const std::lock_guard lock(mutex_);
  if (const auto it = prefixes_.find(name); it != prefixes_.end()) return it->second;
  if (names_.size() + 1 == kTfliteExtensionPrefix) names_.emplace_back(kTfliteExtension);
  if (names_.size() == UINT16_MAX) return badData("all 65535 extension prefixes are in use");
  names_.push_back(name);
  const auto prefix = static_cast<uint16_t>(names_.size());
  prefixes_.emplace(name, prefix);
  return prefix;
}

std::string ExtensionRegistry::nameOf(uint16_t prefix) const {
  if (prefix == kTfliteExtensionPrefix) return std::string(kTfliteExtension);
  const std::lock_guard lock(mutex_);
  return prefix >= 1 && prefix <= names_.size() ? names_[prefix - 1U] : std::string();
}

Result<hal::ExtensionOperandType> ExtensionRegistry::operandType(OperandType type) const {
  const auto code = static_cast<uint32_t>(type);
  const std::string name = nameOf(static_cast<uint16_t>(code >> 16));
  if (name.empty()) return badData("{} belongs to no extension", operandTypeName(type));
  const std::lock_guard lock(mutex_);
  const auto it = known_.find(name);
  if (it == known_.end()) return badData("no device offers the extension '{}'", name);
  if (disabled_.contains(name)) {
    return badData("devices disagree about the extension '{}', so it cannot be used", name);
  }
  for (const hal::ExtensionOperandType& entry : it->second.operandTypes) {
    if (entry.type == static_cast<uint16_t>(code & 0xffff)) return entry;
  }
  return badData("the extension '{}' has no operand type {}", name, code & 0xffff);
}

Result<std::optional<uint32_t>> ExtensionRegistry::byteSize(OperandType type,
                                                            const Shape& dimensions) const {
  using Size = std::optional<uint32_t>;
  if (!isExtension(type)) {
    return type == OperandType::OEM_SCALAR ? Size() : knownByteSize(type, dimensions);
  }
  HALYARD_ASSIGN_OR_RETURN(const hal::ExtensionOperandType entry, operandType(type));
  uint64_t bytes = entry.byteSize;
  if (entry.isTensor) {
    // The product covers the known dimensions. Unknown ones cannot make it smaller.
    bool known = !dimensions.empty();
    for (const uint32_t dimension : dimensions) {
      known = known && dimension != 0;
      if (dimension != 0) bytes *= dimension;
      if (bytes > UINT32_MAX) {
        return badData("{}{} with elements of {} bytes has more than 4294967295 bytes",
                       operandTypeName(type), shapeText(dimensions), entry.byteSize);
      }
    }
    if (!known) return Size();
  }
  return Size(static_cast<uint32_t>(bytes));
}

bool ExtensionRegistry::isScalar(OperandType type) const {
  if (!isExtension(type)) return isScalarType(type);
  const Result<hal::ExtensionOperandType> entry = operandType(type);
  return entry.ok() && !entry->isTensor;
}

}  // namespace halyard::runtime
