// A conformance target that is a device of the runtime, through the public C API.
// Thread safety and ownership: as conformance::Target.
#pragma once

#include <memory>
#include <string>

#include "conformance/target.h"

namespace halyard::cli {

// `name`: as chooseDevice takes it. BAD_DATA for a name that is no device's.
Result<std::unique_ptr<conformance::Target>> makeApiTarget(const std::string& name);

}  // namespace halyard::cli
