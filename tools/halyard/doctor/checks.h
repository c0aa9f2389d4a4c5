// The checks of `halyard doctor`, one function for each section of its report. They change nothing.
// Thread safety: one thread. Ownership: results own their texts.
#pragma once

#include <string_view>

#include "tools/halyard/doctor/finding.h"

namespace halyard::cli {

// Whether the kernel has the features that Halyard's protection needs. It tries the sandbox of
// drivers in a child process. Must be called while the process has one thread.
FindingSection checkKernel();

// The libraries, programs and Python package of this installation, and their versions.
FindingSection checkInstallation();

// `devices`: the document of halyard_devicesJson(). It has the drivers that run, with their
// versions and rights, and the manifests that could not be used.
FindingSection checkDrivers(std::string_view devices);

// The files and device nodes that the manifests of the same document name.
FindingSection checkPermissions(std::string_view devices);

// The folders of compilations and blobs: owner, mode, size, and damaged entries.
FindingSection checkCaches();

}  // namespace halyard::cli
