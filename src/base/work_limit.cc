#include "base/work_limit.h"

#include <algorithm>
#include <limits>

namespace halyard {
namespace {

using Clock = WorkLimit::Clock;

// Chunks that take less than the first limit are too short. Chunks that take more than the second
// are too long.
constexpr std::chrono::microseconds kShortChunk{100};
constexpr std::chrono::microseconds kLongChunk{400};
// The growth limit after a very short chunk. Without it, clock readings would take much of the time
// that follows.
constexpr size_t kMostGrowth = 16;

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

ChunkedLoop::ChunkedLoop(size_t grain, const Body& body, LoopOrder order)
    : body_(body),
      limit_(threadLimit),
      grain_(std::max<size_t>(grain, 1)),
      order_(order),
      step_(limit_ == nullptr ? std::numeric_limits<size_t>::max() : grain_) {}

void ChunkedLoop::run(size_t begin, size_t end) {
  // If the last chunk would be below the grain, it joins the one before.
  while (begin < end) {
    if (limit_ != nullptr && limit_->exceeded()) throw WorkAbandoned();
    const size_t left = end - begin;
    if (left <= step_ || left - step_ < grain_) return body_(begin, end);
    const Clock::time_point started = Clock::now();
    if (order_ == LoopOrder::FORWARD) {
      body_(begin, begin + step_);
      begin += step_;
    } else {
      body_(end - step_, end);
      end -= step_;
    }
    adapt(Clock::now() - started);
  }
}

void ChunkedLoop::adapt(Clock::duration taken) {
  if (taken < kShortChunk / kMostGrowth) {
    step_ *= kMostGrowth;
  } else if (taken < kShortChunk) {
    step_ *= 2;
  } else if (taken > kLongChunk) {
    step_ = std::max(step_ / 2, grain_);
  }
}

void forEachChunk(size_t begin, size_t end, size_t grain, const ChunkedLoop::Body& body,
                  LoopOrder order) {
  ChunkedLoop(grain, body, order).run(begin, end);
}

}  // namespace halyard
