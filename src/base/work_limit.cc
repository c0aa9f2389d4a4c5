#include "base/work_limit.h"

#include <algorithm>

namespace halyard {
namespace {

using Clock = WorkLimit::Clock;

// A chunk that takes less than this is too short, one that takes more than the other too long.
constexpr std::chrono::microseconds kShortChunk{100};
constexpr std::chrono::microseconds kLongChunk{400};

thread_local const WorkLimit* threadLimit = nullptr;

}  // namespace

WorkLimitScope::WorkLimitScope(const WorkLimit* limit) : previous_(threadLimit) {
  threadLimit = limit;
}

WorkLimitScope::~WorkLimitScope() { threadLimit = previous_; }

const WorkLimit* currentWorkLimit() { return threadLimit; }

void checkWorkLimit() {
  if (threadLimit != nullptr && threadLimit->exceeded()) throw WorkAbandoned();
}

void forEachChunk(size_t begin, size_t end, size_t grain,
                  const std::function<void(size_t begin, size_t end)>& body) {
  if (begin >= end) return;
  const WorkLimit* const limit = threadLimit;
  if (limit == nullptr) return body(begin, end);
  grain = std::max<size_t>(grain, 1);
  if (end - begin <= grain) {
    if (limit->exceeded()) throw WorkAbandoned();
    return body(begin, end);
  }
  size_t step = grain;
  for (Clock::time_point started = Clock::now();;) {
    // What would be left over for a last chunk below the grain belongs to this one.
    const size_t left = end - begin;
    const size_t chunk = left - std::min(step, left) < grain ? left : step;
    if (limit->cancel.stop_requested() || (limit->deadline && started >= *limit->deadline)) {
      throw WorkAbandoned();
    }
    body(begin, begin + chunk);
    begin += chunk;
    if (begin == end) return;
    const Clock::time_point now = Clock::now();
    if (now - started < kShortChunk) {
      step *= 2;
    } else if (now - started > kLongChunk) {
      step = std::max(step / 2, grain);
    }
    started = now;
  }
}

}  // namespace halyard
