// Bookkeeping of vendor extensions.
#include "runtime/extension_registry.h"

#include <algorithm>

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

void ExtensionRegistry::addDevice(const std::vector<hal::Extension>& extensions) {
  const std::lock_guard lock(mutex_);
  for (const hal::Extension& extension : extensions) {
    const auto [it, inserted] = known_.emplace(extension.name, extension);
    if (!inserted && !sameTypes(it->second, extension)) disabled_[extension.name] = true;
  }
}

Result<uint16_t> ExtensionRegistry::prefixOf(const std::string& name) {
  const std::lock_guard lock(mutex_);
  const auto it = std::find(names_.begin(), names_.end(), name);
  if (it != names_.end()) return static_cast<uint16_t>(it - names_.begin() + 1);
  if (names_.size() == UINT16_MAX) return badData("all 65535 extension prefixes are in use");
  names_.push_back(name);
  return static_cast<uint16_t>(names_.size());
}

std::string ExtensionRegistry::nameOf(uint16_t prefix) const {
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

}  // namespace halyard::runtime
