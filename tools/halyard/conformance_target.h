// The device that conformance cases are run on, by name.
// Thread safety: none. Ownership: the caller owns the target.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "conformance/target.h"

namespace halyard::cli {

// The installation that this program belongs to: the folder above bin; empty if that is not known.
std::filesystem::path installationPrefix();

// `via`: "api" through the runtime, or "hal" straight: the CPU device in this process, or the
// driver that a manifest names. `device`: as chooseDevice takes it. BAD_DATA for a name that is no
// device's; otherwise the driver's error. For the process's only target: it may set
// HALYARD_DRIVER_FILES.
Result<std::unique_ptr<conformance::Target>> openConformanceTarget(std::string_view via,
                                                                   const std::string& device);

}  // namespace halyard::cli
