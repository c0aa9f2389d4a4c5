#include "kernels/recording.h"

#include <bit>

namespace halyard::vulkandriver {

Result<ElementKind> elementKind(OperandType type) {
  switch (type) {
    case OperandType::TENSOR_FLOAT32:
      return ElementKind::FLOAT32;
    case OperandType::TENSOR_FLOAT16:
      return ElementKind::FLOAT16;
    case OperandType::TENSOR_INT32:
      return ElementKind::INT32;
    case OperandType::TENSOR_QUANT8_ASYMM:
      return ElementKind::UINT8;
    case OperandType::TENSOR_QUANT8_ASYMM_SIGNED:
    case OperandType::TENSOR_QUANT8_SYMM:
    case OperandType::TENSOR_QUANT8_SYMM_PER_CHANNEL:
      return ElementKind::INT8;
    case OperandType::TENSOR_BOOL8:
      return ElementKind::BOOL8;
    default:
      return badData("the device has no {}", operandTypeName(type));
  }
}

Parameter Parameter::real(float number) { return {std::bit_cast<int32_t>(number)}; }

uint64_t Recording::bytes(size_t alignment) const {
  uint64_t total = 0;
  const auto append = [&](uint64_t bytes) {
    total += (bytes + alignment - 1) / alignment * alignment;
  };
  for (const std::vector<uint8_t>& constant : constants_) append(constant.size());
  for (const Dispatch& dispatch : dispatches_) {
    append(dispatch.parameters.size() * sizeof(int32_t));
  }
  return total;
}

Place Recording::constant(std::vector<uint8_t> bytes) {
  constants_.push_back(std::move(bytes));
  return {static_cast<uint32_t>(operands_ + constants_.size() - 1)};
}

Place Recording::faultWord() {
  if (!faultWord_) faultWord_ = constant(std::vector<uint8_t>(sizeof(int32_t)));
  return *faultWord_;
}

}  // namespace halyard::vulkandriver
