#include "cpu/run_services.h"

#include <chrono>
#include <cstring>

#include "base/work_limit.h"

namespace halyard::cpu {

Status checkMayGoOn(const hal::ExecuteOptions& options, ResultCode missed) {
  if (options.cancel.stop_requested()) return opFailed("the execution has been cancelled");
  if (!options.deadline) return okStatus();
  const auto late = hal::Clock::now() - *options.deadline;
  if (late < hal::Clock::duration::zero()) return okStatus();
  return makeStatus(missed, "the deadline has passed by {} us",
                    std::chrono::duration_cast<std::chrono::microseconds>(late).count());
}

void copyInChunks(void* to, const void* from, size_t bytes) {
  constexpr size_t kLeastBytes = 65536;
  forEachChunk(0, bytes, kLeastBytes, [&](size_t begin, size_t end) {
    std::memcpy(static_cast<std::byte*>(to) + begin, static_cast<const std::byte*>(from) + begin,
                end - begin);
  });
}

}  // namespace halyard::cpu
