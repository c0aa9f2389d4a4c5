// Fuzzes the .npy reader. The writer must reproduce each array that the reader accepts.
#include <cstdlib>

#include "media/npy.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto array = halyard::media::parseNpy({data, size});
  if (!array.ok()) return 0;
  const auto bytes = halyard::media::encodeNpy(*array);
  if (!bytes.ok()) std::abort();
  const auto again = halyard::media::parseNpy(*bytes);
  if (!again.ok() || again->shape != array->shape || again->data != array->data ||
      again->dtype != array->dtype) {
    std::abort();
  }
  return 0;
}
