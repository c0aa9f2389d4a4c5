// Fuzzer of driver manifests.
#include "hal/testing/fuzz/manifest_fuzz_input.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  halyard::hal::fuzz::runManifestFuzzInput({data, size});
  return 0;
}
