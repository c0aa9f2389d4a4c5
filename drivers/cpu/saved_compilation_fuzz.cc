// libFuzzer's entry to what the CPU driver saves of compilations.
#include "testing/saved_compilation_input.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  halyard::cpudriver::fuzz::runSavedCompilationInput({data, size});
  return 0;
}
