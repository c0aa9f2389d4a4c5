// RequestQueue: the waiting requests of a model, by priority and then by arrival.
// Thread safety: none; its owner has a lock.
// Ownership: owns the requests until they are taken.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "serve/scheduling/queued_request.h"

namespace halyard::serve {

class RequestQueue {
 public:
  void push(QueuedRequestPtr request);

  bool empty() const { return waiting_.empty(); }
  size_t size() const { return waiting_.size(); }
  // The inferences of all waiting requests.
  uint64_t rows() const { return rows_; }
  // When the first of the requests stops waiting for others. The queue must not be empty.
  Clock::time_point firstWaitEnd() const { return *waitEnds_.begin(); }
  // The earliest deadline, if any request has one.
  std::optional<Clock::time_point> nextDeadline() const;

  // Takes the requests for one execution from the front. `sizes` are the batches that the model is
  // compiled for, ascending. The result fills such a batch, unless the queue is too short, or a
  // request of several inferences does not fit.
  std::vector<QueuedRequestPtr> takeBatch(std::span<const uint32_t> sizes);
  // Takes all requests whose deadline has passed.
  std::vector<QueuedRequestPtr> takeExpired(Clock::time_point now);
  std::vector<QueuedRequestPtr> takeAll();

 private:
  using Key = std::pair<uint32_t, uint64_t>;  // priority, order of arrival
  using Waiting = std::map<Key, QueuedRequestPtr>;
  QueuedRequestPtr take(Waiting::iterator at);

  Waiting waiting_;
  std::multimap<Clock::time_point, Key> deadlines_;
  std::multiset<Clock::time_point> waitEnds_;
  uint64_t rows_ = 0;
  uint64_t nextOrder_ = 0;
};

}  // namespace halyard::serve
