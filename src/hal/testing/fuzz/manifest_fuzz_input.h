// Runs one input of the fuzzer of driver manifests.
// Thread safety: one thread at a time. Ownership: none.
#pragma once

#include <cstdint>
#include <span>

namespace halyard::hal::fuzz {

// Any bytes are a manifest or a refusal that names the file and says why; a manifest keeps the
// rules of hal/manifest.h. Ends the process when that does not hold.
void runManifestFuzzInput(std::span<const uint8_t> bytes);

}  // namespace halyard::hal::fuzz
