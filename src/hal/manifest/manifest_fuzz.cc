// Fuzzer of driver manifests. It mutates JSON inputs as JSON in two of three cases.
#include <algorithm>

#include "hal/testing/fuzz/manifest_fuzz_input.h"
#include "hal/testing/fuzz/manifest_mutator.h"

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t maxSize);

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t maxSize,
                                          unsigned seed) {
  if (seed % 3 != 0) {
    const std::string mutated =
        halyard::hal::fuzz::mutateManifest({reinterpret_cast<const char*>(data), size}, seed / 3);
    if (!mutated.empty() && mutated.size() <= maxSize) {
      std::ranges::copy(mutated, data);
      return mutated.size();
    }
  }
  return LLVMFuzzerMutate(data, size, maxSize);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  halyard::hal::fuzz::runManifestFuzzInput({data, size});
  return 0;
}
