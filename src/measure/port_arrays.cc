#include "measure/port_arrays.h"

#include <cstring>

#include "measure/tensor_values.h"

namespace halyard::measure {
namespace {

using import::ElementForm;
using import::ModelPort;

constexpr std::string_view kInt64 = "i8";
constexpr std::string_view kComplex64 = "c8";

std::vector<uint8_t> widened(std::span<const uint8_t> bytes) {
  std::vector<uint8_t> wide(bytes.size() * 2);
  for (size_t i = 0; i < bytes.size() / sizeof(int32_t); ++i) {
    int32_t value = 0;
    std::memcpy(&value, bytes.data() + i * sizeof(value), sizeof(value));
    const int64_t kept = value;
    std::memcpy(wide.data() + i * sizeof(kept), &kept, sizeof(kept));
  }
  return wide;
}

Result<std::vector<uint8_t>> narrowed(std::span<const uint8_t> bytes) {
  std::vector<uint8_t> narrow(bytes.size() / 2);
  for (size_t i = 0; i < bytes.size() / sizeof(int64_t); ++i) {
    int64_t value = 0;
    std::memcpy(&value, bytes.data() + i * sizeof(value), sizeof(value));
    if (value < INT32_MIN || value > INT32_MAX) {
      return badData("element {} is {}, which needs more than the 32 bits of NNAPI's integers", i,
                     value);
    }
    const auto kept = static_cast<int32_t>(value);
    std::memcpy(narrow.data() + i * sizeof(kept), &kept, sizeof(kept));
  }
  return narrow;
}

}  // namespace

Result<media::NpyArray> toPortArray(const ModelPort& port, const Shape& dims,
                                    std::span<const uint8_t> bytes) {
  HALYARD_ASSIGN_OR_RETURN(media::NpyArray array, toNpy(port.type, dims, bytes));
  if (port.form == ElementForm::INT64) {
    array.dtype = kInt64;
    array.data = widened(bytes);
  } else if (port.form == ElementForm::COMPLEX64 && !dims.empty() && dims.back() % 2 == 0) {
    array.dtype = kComplex64;
    array.shape.back() /= 2;
  }
  return array;
}

Result<PortValue> fromPortArray(const ModelPort& port, const media::NpyArray& array) {
  media::NpyArray plain = array;
  if (port.form == ElementForm::INT64 && array.dtype == kInt64) {
    plain.dtype = npyTypeOf(port.type);
    HALYARD_ASSIGN_OR_RETURN(plain.data, narrowed(array.data));
  } else if (port.form == ElementForm::COMPLEX64 && array.dtype == kComplex64) {
    plain.dtype = npyTypeOf(port.type);
    if (plain.shape.empty()) plain.shape = {1};
    plain.shape.back() *= 2;
  }
  PortValue value;
  HALYARD_ASSIGN_OR_RETURN(value.bytes, fromNpy(port.type, port.dims, plain));
  // fromNpy checks the extents that the model fixes. Other extents may be larger than 32 bits.
  for (const uint64_t extent : plain.shape) {
    if (extent > UINT32_MAX) return badData("dimension {} is too large", extent);
    value.dims.push_back(static_cast<uint32_t>(extent));
  }
  return value;
}

}  // namespace halyard::measure
