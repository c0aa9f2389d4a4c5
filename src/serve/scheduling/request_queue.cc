#include "serve/scheduling/request_queue.h"

#include <algorithm>

namespace halyard::serve {

void RequestQueue::push(QueuedRequestPtr request) {
  const Key key(request->priority, nextOrder_++);
  rows_ += request->rows;
  if (request->deadline) deadlines_.emplace(*request->deadline, key);
  waitEnds_.insert(request->waitEnd);
  waiting_.emplace(key, std::move(request));
}

std::optional<Clock::time_point> RequestQueue::nextDeadline() const {
  if (deadlines_.empty()) return std::nullopt;
  return deadlines_.begin()->first;
}

QueuedRequestPtr RequestQueue::take(Waiting::iterator at) {
  const Key key = at->first;
  QueuedRequestPtr request = std::move(at->second);
  waiting_.erase(at);
  rows_ -= request->rows;
  waitEnds_.erase(waitEnds_.find(request->waitEnd));
  if (request->deadline) {
    auto [begin, end] = deadlines_.equal_range(*request->deadline);
    while (begin != end && begin->second != key) ++begin;
    if (begin != end) deadlines_.erase(begin);
  }
  return request;
}

std::vector<QueuedRequestPtr> RequestQueue::takeBatch(std::span<const uint32_t> sizes) {
  // The requests that fit into the largest batch, and the longest prefix that fills a batch.
  uint64_t fitting = 0;
  size_t fittingCount = 0;
  size_t filledCount = 0;
  for (const auto& [key, request] : waiting_) {
    if (fitting + request->rows > sizes.back()) break;
    fitting += request->rows;
    ++fittingCount;
    if (std::ranges::find(sizes, fitting) != sizes.end()) filledCount = fittingCount;
  }
  const size_t count = filledCount != 0 ? filledCount : fittingCount;
  std::vector<QueuedRequestPtr> taken;
  for (size_t i = 0; i < count; ++i) taken.push_back(take(waiting_.begin()));
  return taken;
}

std::vector<QueuedRequestPtr> RequestQueue::takeExpired(Clock::time_point now) {
  std::vector<QueuedRequestPtr> taken;
  while (!deadlines_.empty() && deadlines_.begin()->first <= now) {
    taken.push_back(take(waiting_.find(deadlines_.begin()->second)));
  }
  return taken;
}

std::vector<QueuedRequestPtr> RequestQueue::takeAll() {
  std::vector<QueuedRequestPtr> taken;
  while (!waiting_.empty()) taken.push_back(take(waiting_.begin()));
  return taken;
}

}  // namespace halyard::serve
