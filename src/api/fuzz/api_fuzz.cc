// A fuzzer of the C API: each input is a sequence of calls.
#include <cstdlib>

#include "api/fuzz/api_fuzz_input.h"

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  // Only the runtime's own device: a sanitizer does not see a driver's process.
  return ::setenv("HALYARD_DRIVER_FILES", "", 1);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  halyard::api::fuzz::runApiFuzzInput({data, size});
  return 0;
}
