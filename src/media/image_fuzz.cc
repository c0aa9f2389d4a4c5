// Fuzzes the decoding of pictures. It skips large ones, so that it can try more.
#include <cstdlib>

#include "media/image.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const uint32_t channels = data[0] % 2 == 0 ? 1 : 3;
  const auto image = halyard::media::decodeImage({data + 1, size - 1}, channels);
  if (!image.ok() || image->pixels.size() > 1 << 16) return 0;
  if (!halyard::media::resizeImage(*image, 5, 7).ok()) std::abort();
  return 0;
}
