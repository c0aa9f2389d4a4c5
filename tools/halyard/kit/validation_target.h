// Finds the driver that a command of the validation kit tests.
// Thread safety: pure functions over files and the environment. Ownership: values.
#pragma once

#include <string>

#include "halyard/driver/status.h"
#include "validation/kit/target.h"

namespace halyard::cli {

// Whether an argument is the path of a manifest, not the name of a device.
bool isManifestPath(const std::string& argument);

// `argument`: a manifest's path, or the name of a device that is found, as chooseDevice takes it.
// BAD_DATA for any other argument, and for a wrong manifest. Starts no process.
Result<validation::TargetSpec> findValidationTarget(const std::string& argument);

}  // namespace halyard::cli
