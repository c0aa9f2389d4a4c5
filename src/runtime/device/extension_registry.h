// ExtensionRegistry: vendor extensions by name, their assigned prefixes, and their types.
// Thread safety: all methods may be called from any thread.
// Ownership: owns its tables.
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "halyard/driver/hal_types.h"

namespace halyard::runtime {

class ExtensionRegistry {
 public:
  // Adds a device's extensions. A name that two devices describe differently is disabled. Returns
  // the names that this call disabled.
  std::vector<std::string> addDevice(const std::vector<hal::Extension>& extensions);
  // Returns whether devices describe the name differently.
  bool isDisabled(const std::string& name) const;
  // Returns the prefix of the extension, 1 to 65535, assigned at its first use in the process.
  // kTfliteExtension's prefix never changes. Unknown names get a prefix, too; their types are then
  // unknown. Returns BAD_DATA for an invalid name, and when no prefix is left.
  Result<uint16_t> prefixOf(const std::string& name);
  // Returns the "vendor.name" of a prefix; empty for an unassigned prefix.
  std::string nameOf(uint16_t prefix) const;
  // Returns the extension's description of an operand type code with prefix.
  Result<hal::ExtensionOperandType> operandType(OperandType type) const;
  // Returns the size in bytes of a value of any operand type, including extension types. Returns
  // nullopt when some dimensions are unknown, or when there is no fixed size: OEM_SCALAR. Returns
  // BAD_DATA for an unknown extension type, and for sizes above 2^32 - 1.
  Result<std::optional<uint32_t>> byteSize(OperandType type, const Shape& dimensions) const;
  // Returns whether values of the type have no dimensions. Unknown extension types count as
  // tensors.
  bool isScalar(OperandType type) const;

 private:
  mutable std::mutex mutex_;
  std::map<std::string, hal::Extension> known_;
  std::set<std::string> disabled_;
  std::vector<std::string> names_;  // by prefix - 1
  std::unordered_map<std::string, uint16_t> prefixes_;
};

}  // namespace halyard::runtime
