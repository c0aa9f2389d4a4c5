#include "kernels/recording.h"

#include <algorithm>
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

Status checkRounds(uint64_t rounds) {
  if (rounds <= kMostRounds) return okStatus();
  return badData("one element of the result takes {} rounds of loops, at most {}", rounds,
                 kMostRounds);
}

Parameter Parameter::real(float number) { return {std::bit_cast<int32_t>(number)}; }

void Recording::beginOperation() {
  operationBegins_.push_back(dispatches_.size());
  scratchOfOperation_ = 0;
}

void Recording::add(Dispatch dispatch) {
  for (const Parameter& parameter : dispatch.parameters) {
    const auto index = static_cast<size_t>(parameter.value);
    if (parameter.isPlace && index < operands_) used_[index] = true;
  }
  dispatches_.push_back(std::move(dispatch));
}

uint64_t Recording::bytes(size_t alignment) const {
  uint64_t total = 0;
  const auto append = [&](uint64_t bytes) {
    total += (bytes + alignment - 1) / alignment * alignment;
  };
  for (const AddedConstant& constant : constants_) append(constant.bytes);
  for (const Dispatch& dispatch : dispatches_) {
    append(dispatch.parameters.size() * sizeof(int32_t));
  }
  return total;
}

Place Recording::constant(std::vector<uint8_t> bytes) {
  const size_t size = bytes.size();
  return constant(size, [bytes = std::move(bytes)](std::span<uint8_t> to) {
    std::ranges::copy(bytes, to.begin());
  });
}

Place Recording::constant(size_t bytes, std::function<void(std::span<uint8_t>)> write) {
  constants_.push_back({bytes, std::move(write)});
  return {static_cast<uint32_t>(operands_ + constants_.size() - 1)};
}

Place Recording::scratch(size_t bytes) {
  if (scratchOfOperation_ == scratch_.size()) scratch_.push_back(zeros(0));
  const Place place = scratch_[scratchOfOperation_++];
  size_t& most = constants_[place.index - operands_].bytes;
  most = std::max(most, bytes);
  return place;
}

bool Recording::takeSpare(uint64_t constants, uint64_t scratch) {
  const uint64_t more = constants + std::max(scratch, spareScratch_) - spareScratch_;
  if (more > spare_) {
    wantsSpare_ = true;
    return false;
  }
  spare_ -= more;
  spareScratch_ = std::max(scratch, spareScratch_);
  return true;
}

Place Recording::faultWord() {
  if (!faultWord_) faultWord_ = constant(std::vector<uint8_t>(sizeof(int32_t)));
  return *faultWord_;
}

}  // namespace halyard::vulkandriver
