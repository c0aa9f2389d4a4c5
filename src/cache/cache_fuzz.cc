// libFuzzer's entry point for cache files.
#include "cache/testing/fuzz/cache_fuzz_input.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  halyard::cache::fuzz::runCacheFuzzInput({data, size});
  return 0;
}
