// A conformance target that is devices of the runtime, through the public C API.
// Thread safety and ownership: as conformance::Target.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "conformance/target.h"

namespace halyard::cli {

// `names`: as chooseDevice takes them, one at least. The runtime divides models between several
// devices. BAD_DATA for a name that is no device's.
Result<std::unique_ptr<conformance::Target>> makeApiTarget(std::span<const std::string> names);

}  // namespace halyard::cli
