// Access to the bytes of constants.
#include "halyard/driver/constants.h"

#include <sys/mman.h>

namespace halyard {
namespace {

Result<std::span<const uint8_t>> rangeOf(std::span<const uint8_t> all, const DataLocation& at) {
  if (uint64_t{at.offset} + at.length > all.size()) {
    return badData("{} bytes at offset {} lie outside of the {} bytes there are", at.length,
                   at.offset, all.size());
  }
  return all.subspan(at.offset, at.length);
}

}  // namespace

Result<std::span<const uint8_t>> constantData(const Model& model, const Operand& operand) {
  const DataLocation& at = operand.location;
  if (operand.lifetime == Lifetime::CONSTANT_COPY) {
    HALYARD_ASSIGN_OR_RETURN(const std::span<const uint8_t> bytes, rangeOf(model.operandValues, at),
                             "constant {}", operandText(operand));
    return bytes;
  }
  if (operand.lifetime != Lifetime::CONSTANT_REFERENCE) {
    return badData("{} is a {}, not a constant", operandText(operand),
                   lifetimeName(operand.lifetime));
  }
  if (at.poolIndex >= model.pools.size()) {
    return badData("constant {}: pool {}, the model has {}", operandText(operand), at.poolIndex,
                   model.pools.size());
  }
  const SharedMemory& pool = *model.pools[at.poolIndex];
  // An access to memory against its protection would end the process.
  if ((pool.prot() & PROT_READ) == 0) {
    return makeStatus(ResultCode::UNMAPPABLE, "constant {}: model pool {} may not be read",
                      operandText(operand), at.poolIndex);
  }
  HALYARD_ASSIGN_OR_RETURN(const Mapping* mapping, pool.mapped(), "constant {}: model pool {}",
                           operandText(operand), at.poolIndex);
  HALYARD_ASSIGN_OR_RETURN(const std::span<const uint8_t> bytes,
                           rangeOf({mapping->data(), mapping->size()}, at),
                           "constant {}: model pool {}", operandText(operand), at.poolIndex);
  return bytes;
}

}  // namespace halyard
