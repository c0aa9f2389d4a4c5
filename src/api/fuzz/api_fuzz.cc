// Fuzzer of the C API as a sequence of calls.
#include <cstdlib>

#include "api/fuzz/api_fuzz_input.h"

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  // The runtime's own device alone: what a driver's process does no sanitizer sees.
  return ::setenv("HALYARD_DRIVER_FILES", "", 1);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  halyard::api::fuzz::runApiFuzzInput({data, size});
  return 0;
}
