// Fuzzer of the C API. An input is a sequence of calls.
#include <cstdlib>

#include "api/fuzz/api_fuzz_input.h"

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  // Only the CPU device of the runtime is used, because sanitizers do not see the process of a
  // driver.
  return ::setenv("HALYARD_DRIVER_FILES", "", 1);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  halyard::api::fuzz::runApiFuzzInput({data, size});
  return 0;
}
