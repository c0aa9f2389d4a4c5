#include "serve/frigate/real_values.h"

#include <cstring>

namespace halyard::serve {
namespace {

template <typename T>
std::string realBytes(const TensorInfo& info, const std::string& bytes) {
  const bool isQuantised = info.scale != 0;
  const size_t count = bytes.size() / sizeof(T);
  std::string real(count * sizeof(float), '\0');
  for (size_t i = 0; i < count; ++i) {
    T stored = 0;
    std::memcpy(&stored, bytes.data() + i * sizeof(T), sizeof(T));
    const float value =
        isQuantised ? info.scale * static_cast<float>(int64_t{stored} - int64_t{info.zeroPoint})
                    : static_cast<float>(stored);
    std::memcpy(real.data() + i * sizeof(float), &value, sizeof(float));
  }
  return real;
}

}  // namespace

Status makeReal(const TensorInfo& info, OutputTensor& output) {
  switch (output.datatype) {
    case Datatype::FP32:
      return okStatus();
    case Datatype::UINT8:
      output.bytes = realBytes<uint8_t>(info, output.bytes);
      break;
    case Datatype::INT8:
      output.bytes = realBytes<int8_t>(info, output.bytes);
      break;
    case Datatype::UINT16:
      output.bytes = realBytes<uint16_t>(info, output.bytes);
      break;
    case Datatype::INT16:
      output.bytes = realBytes<int16_t>(info, output.bytes);
      break;
    case Datatype::INT32:
      output.bytes = realBytes<int32_t>(info, output.bytes);
      break;
    case Datatype::INT64:
      output.bytes = realBytes<int64_t>(info, output.bytes);
      break;
    default:
      return badData("output '{}' is {}, expected FP32 or integers", output.name,
                     datatypeName(output.datatype));
  }
  output.datatype = Datatype::FP32;
  return okStatus();
}

}  // namespace halyard::serve
