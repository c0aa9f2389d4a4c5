// ExtensionAttributeList: the attributes that an application gives to a compilation or an
// execution.
// Thread safety: one modifying thread at a time.
// Ownership: owns copies of the values.
#pragma once

#include "runtime/device/device_manager.h"

namespace halyard::runtime {

class ExtensionAttributeList {
 public:
  // Adds an attribute. `data` may be null with `length` 0: an attribute without a value. Returns
  // BAD_DATA for an invalid name, and for an attribute that the list already has. The target
  // `device` may be too old for attributes or not know the extension. That only causes a warning,
  // because drivers ignore attributes that they do not know.
  Status add(ExtensionRegistry& extensions, const Device& device, const char* extensionName,
             uint16_t code, const void* data, size_t length);
  const hal::ExtensionAttributes& get() const { return attributes_; }

 private:
  hal::ExtensionAttributes attributes_;
};

}  // namespace halyard::runtime
