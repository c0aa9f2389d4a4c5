// Opens the device on which conformance cases run, by its name.
// Thread safety: none. Ownership: the caller owns the target.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "conformance/target.h"

namespace halyard::cli {

// The installation of this program: the folder above bin; empty when it is not known.
std::filesystem::path installationPrefix();

// `via`: "api" through the runtime, or "hal" without it: the CPU device in this process, or the
// driver of a manifest. `device`: as chooseDevice takes it. BAD_DATA for an unknown name; otherwise
// the driver's error. A process opens at most one target: the call may set HALYARD_DRIVER_FILES.
Result<std::unique_ptr<conformance::Target>> openConformanceTarget(std::string_view via,
                                                                   const std::string& device);

}  // namespace halyard::cli
