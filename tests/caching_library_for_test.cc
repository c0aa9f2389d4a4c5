// The reference driver as a library in the application's process, for caching_test. The environment
// names its personality.
#include <cstdlib>
#include <memory>
#include <string>

#include "halyard/driver/driver_library.h"
#include "reference_device.h"

namespace {

halyard::Result<std::shared_ptr<halyard::hal::Device>> makeDevice() {
  const char* const personality = std::getenv("CACHING_LIBRARY_PERSONALITY");
  const std::string arguments[] = {"--personality", personality != nullptr ? personality : ""};
  return halyard::drivers::makeReferenceDevice(arguments);
}

}  // namespace

HALYARD_DRIVER_LIBRARY(makeDevice);
