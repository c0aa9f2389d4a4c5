// Copies between memories of all kinds.
#include <sys/mman.h>

#include <cstring>

#include "model/shape_agreement.h"
#include "runtime/memory/memory.h"

namespace halyard::runtime {
namespace {

// The parts of one copy.
struct CopyPlan {
  Shape sourceDimensions;       // empty for memory of the application
  Shape destinationDimensions;  // dimensions of a described destination afterwards
  size_t size = 0;
};

SharedMemoryPtr poolOf(const Memory& memory) {
  return memory.described() == nullptr ? memory.pool() : memory.described()->pool();
}

bool sameKind(const Operand& a, const Operand& b) {
  return a.type == b.type && a.scale == b.scale && a.zeroPoint == b.zeroPoint &&
         a.extraParams == b.extraParams;
}

Result<size_t> sizeOf(const DescribedMemory& memory, const Shape& dimensions,
                      std::string_view what) {
  const std::optional<uint32_t> size = memory.bytes(dimensions);
  if (!size) return badData("the {} has dimensions {}, not all known", what, shapeText(dimensions));
  return *size;
}

Result<CopyPlan> planCopy(const Memory& source, const Memory& destination) {
  CopyPlan plan;
  const DescribedMemory* const from = source.described().get();
  const DescribedMemory* const to = destination.described().get();
  if (from == nullptr) {
    plan.size = source.pool()->size();
  } else {
    std::optional<Shape> held = from->contents();
    if (!held) return badData("the source is not initialised: nothing has been written to it");
    HALYARD_ASSIGN_OR_RETURN(plan.size, sizeOf(*from, *held, "source"));
    plan.sourceDimensions = std::move(*held);
  }
  size_t room = 0;
  if (to == nullptr) {
    room = destination.pool()->size();
  } else {
    if (from != nullptr && !sameKind(from->operand(), to->operand())) {
      return badData("the source is for {}, the destination for {}", operandText(from->operand()),
                     operandText(to->operand()));
    }
    std::optional<Shape> combined = combineShapes(to->initialDimensions(), plan.sourceDimensions);
    if (!combined) {
      return badData("the source has dimensions {}, the destination {}",
                     shapeText(plan.sourceDimensions), shapeText(to->initialDimensions()));
    }
    HALYARD_ASSIGN_OR_RETURN(room, sizeOf(*to, *combined, "destination"));
    plan.destinationDimensions = std::move(*combined);
  }
  if (plan.size != room) {
    return badData("the source has {} bytes, the destination {}", plan.size, room);
  }
  return plan;
}

Status copyPools(const SharedMemoryPtr& source, const SharedMemoryPtr& destination) {
  HALYARD_ASSIGN_OR_RETURN(const Mapping from, source->map(), "source");
  HALYARD_ASSIGN_OR_RETURN(const Mapping to, destination->map(), "destination");
  const CpuAccess reading(source, false);
  const CpuAccess writing(destination, true);
  std::memmove(to.data(), from.data(), from.size());
  return okStatus();
}

Status transfer(const Memory& source, const Memory& destination, const CopyPlan& plan) {
  SharedMemoryPtr from = poolOf(source);
  const SharedMemoryPtr to = poolOf(destination);
  if (from != nullptr && (from->prot() & PROT_READ) == 0) {
    return makeStatus(ResultCode::UNMAPPABLE, "the source may not be read");
  }
  if (to != nullptr && (to->prot() & PROT_WRITE) == 0) {
    return makeStatus(ResultCode::UNMAPPABLE, "the destination may not be written");
  }
  if (from != nullptr && to != nullptr) return copyPools(from, to);
  if (to != nullptr) return source.described()->buffer()->copyTo(to);
  if (from == nullptr) {
    // A device can read neither another device's buffer, nor its own buffer as plain memory.
    HALYARD_ASSIGN_OR_RETURN(from, SharedMemory::create(plan.size, "halyard copy"));
    HALYARD_RETURN_IF_ERROR(source.described()->buffer()->copyTo(from), "source");
  }
  return destination.described()->buffer()->copyFrom(from, plan.sourceDimensions);
}

}  // namespace

Status Memory::copy(const Memory& source, const Memory& destination) {
  if (&source == &destination) return okStatus();
  const Result<CopyPlan> plan = planCopy(source, destination);
  Status status = plan.ok() ? transfer(source, destination, *plan) : plan.status();
  DescribedMemory* const to = destination.described().get();
  if (to == nullptr) return status;
  if (status.ok()) return to->setWritten(plan->destinationDimensions);
  to->setFailed();
  return status;
}

}  // namespace halyard::runtime
