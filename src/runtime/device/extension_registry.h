// ExtensionRegistry: vendor extensions by name, the prefixes given to them, and their types.
// Thread safety: all methods may be called from any thread. Ownership: owns its tables.
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
  // Takes in what a device offers. The same name described differently by two devices is disabled:
  // the names for which that has come out now.
  std::vector<std::string> addDevice(const std::vector<hal::Extension>& extensions);
  // Whether the name is one that devices disagree about.
  bool isDisabled(const std::string& name) const;
  // The prefix of the extension, assigned at its first use in the process, 1 to 65535;
  // kTfliteExtension's never changes. Unknown names get one too; their types then are unknown.
  // BAD_DATA for what cannot be a name, and when all prefixes are given out.
  Result<uint16_t> prefixOf(const std::string& name);
  // "vendor.name" of a prefix; empty when it was never given.
  std::string nameOf(uint16_t prefix) const;
  // What the extension says of an operand type code with prefix.
  Result<hal::ExtensionOperandType> operandType(OperandType type) const;
  // Bytes of a value of any operand type, of an extension's or not; nullopt when dimensions are not
  // all known, or when there is no one size: OEM_SCALAR. BAD_DATA for an unknown extension type,
  // and for sizes above 2^32 - 1.
  Result<std::optional<uint32_t>> byteSize(OperandType type, const Shape& dimensions) const;
  // Whether values of the type have no dimensions; unknown extension types count as tensors.
  bool isScalar(OperandType type) const;

 private:
  mutable std::mutex mutex_;
  std::map<std::string, hal::Extension> known_;
  std::set<std::string> disabled_;
  std::vector<std::string> names_;  // by prefix - 1
  std::unordered_map<std::string, uint16_t> prefixes_;
};

}  // namespace halyard::runtime
