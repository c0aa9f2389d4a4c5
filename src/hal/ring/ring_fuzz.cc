// Fuzzer of the driver's end of a ring.
#include "hal/testing/fuzz/ring_fuzz_input.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  halyard::hal::fuzz::runRingFuzzInput({data, size});
  return 0;
}
