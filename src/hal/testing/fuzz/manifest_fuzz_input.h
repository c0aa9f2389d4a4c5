// Runs one input of the fuzzer of driver manifests.
// Thread safety: one thread at a time. Ownership: none.
#pragma once

#include <cstdint>
#include <span>

namespace halyard::hal::fuzz {

// The bytes must give a manifest that follows the rules of hal/manifest.h, or an error that names
// the file and the reason. Ends the process otherwise.
void runManifestFuzzInput(std::span<const uint8_t> bytes);

}  // namespace halyard::hal::fuzz
