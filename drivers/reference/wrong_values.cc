#include "wrong_values.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/float16.h"

namespace halyard::drivers {
namespace {

template <typename T>
void enlargeStored(double share, int32_t zeroPoint, T* values, size_t count) {
  constexpr double kLeast = std::numeric_limits<T>::min();
  constexpr double kMost = std::numeric_limits<T>::max();
  for (size_t i = 0; i < count; ++i) {
    const double change = std::round(share * (static_cast<double>(values[i]) - zeroPoint));
    const double least = std::copysign(1.0, share);
    const double changed = static_cast<double>(values[i]) + (change == 0 ? least : change);
    values[i] = static_cast<T>(std::clamp(changed, kLeast, kMost));
  }
}

void enlarge(double share, ops::Tensor* tensor) {
  const size_t count = tensor->elementCount();
  const int32_t zeroPoint = tensor->zeroPoint;
  switch (tensor->type) {
    case OperandType::TENSOR_FLOAT32:
      for (size_t i = 0; i < count; ++i) {
        tensor->as<float>()[i] *= static_cast<float>(1 + share);
      }
      return;
    case OperandType::TENSOR_FLOAT16:
      for (size_t i = 0; i < count; ++i) {
        Float16& half = tensor->as<Float16>()[i];
        half = toFloat16(toFloat(half) * static_cast<float>(1 + share));
      }
      return;
    case OperandType::INT32:
    case OperandType::TENSOR_INT32:
      return enlargeStored(share, 0, tensor->as<int32_t>(), count);
    case OperandType::TENSOR_QUANT8_ASYMM:
      return enlargeStored(share, zeroPoint, tensor->as<uint8_t>(), count);
    case OperandType::TENSOR_QUANT8_ASYMM_SIGNED:
    case OperandType::TENSOR_QUANT8_SYMM:
      return enlargeStored(share, zeroPoint, tensor->as<int8_t>(), count);
    case OperandType::TENSOR_QUANT16_SYMM:
      return enlargeStored(share, 0, tensor->as<int16_t>(), count);
    case OperandType::TENSOR_QUANT16_ASYMM:
      return enlargeStored(share, zeroPoint, tensor->as<uint16_t>(), count);
    case OperandType::TENSOR_BOOL8:
      for (size_t i = 0; i < count; ++i) tensor->as<uint8_t>()[i] ^= 1;
      return;
    default:
      return;
  }
}

}  // namespace

std::shared_ptr<const WrongValues> WrongValues::make(std::map<OperationType, double> shares) {
  if (shares.empty()) return nullptr;
  return std::shared_ptr<const WrongValues>(new WrongValues(std::move(shares)));
}

Status WrongValues::run(const ops::OperationDefinition& definition,
                        ops::OperationContext& context) const {
  HALYARD_RETURN_IF_ERROR(ops::runReference(definition, context));
  const auto found = shares_.find(definition.type);
  if (found == shares_.end()) return okStatus();
  for (size_t i = 0; i < context.outputCount(); ++i) enlarge(found->second, &context.output(i));
  return okStatus();
}

}  // namespace halyard::drivers
