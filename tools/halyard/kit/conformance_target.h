// Opens the devices on which conformance cases run, by their names.
// Thread safety: none. Ownership: the caller owns the target.
#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "conformance/target.h"

namespace halyard::cli {

// The installation of this program: the folder above bin; empty when it is not known.
std::filesystem::path installationPrefix();

// `via`: "api" through the runtime, or "hal" without it: the CPU device in this process, or the
// driver of a manifest. `devices`: as chooseDevice takes them; several only with "api". BAD_DATA
// for an unknown name; otherwise the driver's error. A process opens at most one target: the call
// may set HALYARD_DRIVER_FILES.
Result<std::unique_ptr<conformance::Target>> openConformanceTarget(
    std::string_view via, std::span<const std::string> devices);

}  // namespace halyard::cli
