// Converts between stored elements, real values and .npy arrays.
#include "measure/tensor_values.h"

#include <algorithm>
#include <cctype>
#include <cstring>

#include "base/float16.h"

namespace halyard::measure {
namespace {

template <typename T, typename Convert>
std::vector<float> convertAll(std::span<const uint8_t> bytes, Convert convert) {
  std::vector<float> values(bytes.size() / sizeof(T));
  for (size_t i = 0; i < values.size(); ++i) {
    T element;
    std::memcpy(&element, bytes.data() + i * sizeof(T), sizeof(T));
    values[i] = convert(element);
  }
  return values;
}

template <typename T>
std::vector<float> dequantize(const TensorType& tensor, std::span<const uint8_t> bytes) {
  return convertAll<T>(bytes, [&](T q) {
    return static_cast<float>(static_cast<int32_t>(q) - tensor.zeroPoint) * tensor.scale;
  });
}

}  // namespace

Result<std::vector<float>> realValues(const TensorType& tensor, std::span<const uint8_t> bytes) {
  const uint32_t each = elementSize(tensor.type);
  if (each == 0 || bytes.size() % each != 0) {
    return badData("{} bytes are no whole number of {} elements", bytes.size(),
                   operandTypeName(tensor.type));
  }
  const auto same = [](auto value) { return static_cast<float>(value); };
  switch (tensor.type) {
    case OperandType::FLOAT32:
    case OperandType::TENSOR_FLOAT32:
      return convertAll<float>(bytes, same);
    case OperandType::FLOAT16:
    case OperandType::TENSOR_FLOAT16:
      return convertAll<Float16>(bytes, [](Float16 value) { return toFloat(value); });
    case OperandType::INT32:
    case OperandType::TENSOR_INT32:
      return convertAll<int32_t>(bytes, same);
    case OperandType::UINT32:
      return convertAll<uint32_t>(bytes, same);
    case OperandType::BOOL:
    case OperandType::TENSOR_BOOL8:
      return convertAll<uint8_t>(bytes, [](uint8_t value) { return value != 0 ? 1.0f : 0.0f; });
    case OperandType::TENSOR_QUANT8_ASYMM:
      return dequantize<uint8_t>(tensor, bytes);
    case OperandType::TENSOR_QUANT8_ASYMM_SIGNED:
    case OperandType::TENSOR_QUANT8_SYMM:
      return dequantize<int8_t>(tensor, bytes);
    case OperandType::TENSOR_QUANT16_SYMM:
      return dequantize<int16_t>(tensor, bytes);
    case OperandType::TENSOR_QUANT16_ASYMM:
      return dequantize<uint16_t>(tensor, bytes);
    default:
      return badData("{} has no real values", operandTypeName(tensor.type));
  }
}

std::string_view npyTypeOf(OperandType type) {
  switch (type) {
    case OperandType::FLOAT32:
    case OperandType::TENSOR_FLOAT32:
      return "f4";
    case OperandType::FLOAT16:
    case OperandType::TENSOR_FLOAT16:
      return "f2";
    case OperandType::INT32:
    case OperandType::TENSOR_INT32:
      return "i4";
    case OperandType::UINT32:
      return "u4";
    case OperandType::BOOL:
    case OperandType::TENSOR_BOOL8:
      return "b1";
    case OperandType::TENSOR_QUANT8_ASYMM:
      return "u1";
    case OperandType::TENSOR_QUANT8_ASYMM_SIGNED:
    case OperandType::TENSOR_QUANT8_SYMM:
    case OperandType::TENSOR_QUANT8_SYMM_PER_CHANNEL:
      return "i1";
    case OperandType::TENSOR_QUANT16_SYMM:
      return "i2";
    case OperandType::TENSOR_QUANT16_ASYMM:
      return "u2";
    default:
      return {};
  }
}

Result<media::NpyArray> toNpy(OperandType type, const Shape& dims, std::span<const uint8_t> bytes) {
  const std::string_view dtype = npyTypeOf(type);
  if (dtype.empty()) return badData("{} cannot be stored as .npy", operandTypeName(type));
  return media::NpyArray{
      std::string(dtype), {dims.begin(), dims.end()}, {bytes.begin(), bytes.end()}};
}

Result<std::vector<uint8_t>> fromNpy(OperandType type, const Shape& dims,
                                     const media::NpyArray& array) {
  const std::string_view dtype = npyTypeOf(type);
  const bool anyShape = dims.empty() && !isScalarType(type);
  bool fits = array.dtype == dtype && (anyShape || array.shape.size() == dims.size());
  for (size_t i = 0; fits && i < dims.size(); ++i) {
    fits = dims[i] == 0 ? array.shape[i] != 0 : dims[i] == array.shape[i];
  }
  if (!fits || dtype.empty()) {
    return badData("expected are {} elements of shape {} ({}), the array has {} of {}",
                   dtype.empty() ? "no such" : dtype, isScalarType(type) ? "()" : shapeText(dims),
                   operandTypeName(type), array.dtype, media::npyShapeText(array.shape));
  }
  return array.data;
}

std::string fileNameOf(std::string_view tensorName, std::string_view fallback) {
  constexpr size_t kMaxLength = 100;
  std::string name(tensorName.substr(0, kMaxLength));
  for (char& c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '-' && c != '_' && c != '.') {
      c = '_';
    }
  }
  if (!name.empty() && name[0] == '.') name[0] = '_';
  return name.empty() ? std::string(fallback) : name;
}

}  // namespace halyard::measure
