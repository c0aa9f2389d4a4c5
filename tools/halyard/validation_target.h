// The driver that a command of the validation kit is about.
// Thread safety: pure functions over files and the environment. Ownership: values.
#pragma once

#include <string>

#include "halyard/driver/status.h"
#include "validation/kit/target.h"

namespace halyard::cli {

// Whether an argument is a manifest's path, and not a device's name.
bool isManifestPath(const std::string& argument);

// `argument`: a manifest's path, or the name of a device that is found, as chooseDevice takes it.
// BAD_DATA for what is neither, and for a manifest that is wrong. Starts nothing.
Result<validation::TargetSpec> findValidationTarget(const std::string& argument);

}  // namespace halyard::cli
