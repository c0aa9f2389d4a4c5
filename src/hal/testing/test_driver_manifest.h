// The manifest of the test device in a process of its own (halyard-driver-for-tests).
// Thread safety: a pure function. Ownership: the result owns its data. Needs
// HALYARD_TEST_DRIVER_PATH in the test's definitions.
#pragma once

#include <string>

#include "hal/manifest/manifest.h"
#include "halyard/driver/hal_types.h"
#include "test_definitions.h"

namespace halyard::hal::testing {

inline Manifest testManifest(HalVersion version = HalVersion::V1_3,
                             const std::string& name = "test-driver") {
  Manifest manifest;
  manifest.name = name;
  manifest.version = "1";
  manifest.halVersion = version;
  manifest.target = HALYARD_TEST_DRIVER_PATH;
  return manifest;
}

}  // namespace halyard::hal::testing
