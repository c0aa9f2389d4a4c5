#include "runtime/run/token_staging.h"

#include <algorithm>

#include "model/shape_agreement.h"

namespace halyard::runtime {
namespace {

// The size of the contents of the buffer, in bytes. For an output, this is the size after the
// computation.
Result<uint32_t> sizeOf(const DescribedMemory& memory, const Shape& dimensions, bool isInput) {
  const auto known = combineShapes(memory.initialDimensions(), dimensions);
  std::optional<uint32_t> size = known ? memory.bytes(*known) : std::nullopt;
  if (!size && isInput && memory.contents()) size = memory.bytes(*memory.contents());
  if (size) return *size;
  return opFailed("a buffer of open size, {}, cannot be used by another device",
                  shapeText(memory.initialDimensions()));
}

}  // namespace

bool TokenStaging::isNeeded(const MemoryArguments& memories, const hal::PreparedModel& prepared,
                            const hal::Request& request) {
  return std::ranges::any_of(request.pools, [&](const hal::RequestPool& pool) {
    const auto* const token = std::get_if<uint32_t>(&pool);
    if (token == nullptr) return false;
    const std::shared_ptr<DescribedMemory> memory = memories.find(*token);
    return memory != nullptr && !memory->isKnownTo(prepared);
  });
}

Result<TokenStaging> TokenStaging::stage(const MemoryArguments& memories,
                                         const hal::PreparedModel& prepared,
                                         hal::Request* request) {
  TokenStaging staging;
  for (uint32_t i = 0; i < request->pools.size(); ++i) {
    const auto* const token = std::get_if<uint32_t>(&request->pools[i]);
    if (token == nullptr) continue;
    const std::shared_ptr<DescribedMemory> memory = memories.find(*token);
    // Other tokens are for values that stay on the device of `prepared`.
    if (memory == nullptr || memory->isKnownTo(prepared)) continue;
    SharedMemoryPtr pool;
    const auto replace = [&](hal::RequestArgument& argument, bool isInput) -> Status {
      if (argument.kind != hal::RequestArgument::Kind::POOL || argument.location.poolIndex != i) {
        return okStatus();
      }
      if (pool == nullptr) {
        HALYARD_ASSIGN_OR_RETURN(const uint32_t size,
                                 sizeOf(*memory, argument.dimensions, isInput));
        HALYARD_ASSIGN_OR_RETURN(pool, SharedMemory::create(size, "halyard staging"));
        if (isInput) {
          HALYARD_RETURN_IF_ERROR(memory->buffer()->copyTo(pool));
          staging.inputBytes_ += size;
        }
        if (!isInput) staging.outputs_.push_back({memory, pool});
      }
      argument.location = {i, 0, static_cast<uint32_t>(pool->size())};
      return okStatus();
    };
    for (hal::RequestArgument& input : request->inputs) {
      HALYARD_RETURN_IF_ERROR(replace(input, true), "memory of an input");
    }
    for (hal::RequestArgument& output : request->outputs) {
      HALYARD_RETURN_IF_ERROR(replace(output, false), "memory of an output");
    }
    if (pool != nullptr) request->pools[i] = std::move(pool);
  }
  return staging;
}

Status TokenStaging::copyBack(hal::ExecutionResult* result) const {
  result->copiedBytes += inputBytes_;
  for (const Output& output : outputs_) {
    HALYARD_RETURN_IF_ERROR(output.memory->buffer()->copyFrom(output.staging, {}),
                            "bringing an output to its memory");
    result->copiedBytes += output.staging->size();
  }
  return okStatus();
}

}  // namespace halyard::runtime
