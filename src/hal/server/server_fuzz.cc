// Fuzzer of the server's process boundary. For any data and any descriptors from a client, the
// server answers or ends that client's connection.
#include "hal/testing/fuzz/server_fuzz_input.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  halyard::hal::fuzz::runServerFuzzInput({data, size});
  return 0;
}
