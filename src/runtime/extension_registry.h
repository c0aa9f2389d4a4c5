// ExtensionRegistry: vendor extensions by name, the prefixes given to them, and their types.
// Thread safety: all methods may be called from any thread. Ownership: owns its tables.
#pragma once

#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "halyard/driver/hal_types.h"

namespace halyard::runtime {

class ExtensionRegistry {
 public:
  // Takes in what a device offers. The same name described differently by two devices is disabled.
  void addDevice(const std::vector<hal::Extension>& extensions);
  // The prefix of the extension, assigned at its first use in the process, 1 to 65535. Unknown
  // names get one too; their types then are unknown. BAD_DATA when all prefixes are given out.
  Result<uint16_t> prefixOf(const std::string& name);
  // "vendor.name" of a prefix; empty when it was never given.
  std::string nameOf(uint16_t prefix) const;
  // What the extension says of an operand type code with prefix.
  Result<hal::ExtensionOperandType> operandType(OperandType type) const;

 private:
  mutable std::mutex mutex_;
  std::map<std::string, hal::Extension> known_;
  std::map<std::string, bool> disabled_;
  std::vector<std::string> names_;  // by prefix - 1
};

}  // namespace halyard::runtime
