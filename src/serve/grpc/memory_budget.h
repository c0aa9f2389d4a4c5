// MemoryBudget: the memory that all requests of gRPC may take together.
// Thread safety: any thread; one thread at a time for a Share.
// Ownership: a Share must not outlive its budget.
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

#include "serve/protocol/outcome.h"

namespace halyard::serve {

class MemoryBudget {
 public:
  explicit MemoryBudget(uint64_t most) : most_(most) {}

  // Gives its bytes back at its end.
  class Share {
   public:
    Share() = default;
    ~Share() { reset(); }
    Share(const Share&) = delete;
    Share& operator=(const Share&) = delete;
    void reset() {
      if (budget_ != nullptr) budget_->taken_ -= bytes_;
      budget_ = nullptr;
      bytes_ = 0;
    }

   private:
    friend class MemoryBudget;
    MemoryBudget* budget_ = nullptr;
    uint64_t bytes_ = 0;
  };

  // Takes bytes for a request. INVALID if the budget has less in all, OVERLOADED if it has less
  // now.
  Outcome take(uint64_t bytes, Share& share) {
    if (bytes > most_) {
      return {Fault::INVALID,
              fmt::format("the request takes {} bytes of memory, expected at most {}; "
                          "raw_input_contents take less than other contents",
                          bytes, most_)};
    }
    add(bytes, share);
    if (taken_ <= most_) return {};
    share.reset();
    return Outcome::overloaded(
        fmt::format("the requests of gRPC have {} bytes of memory already", most_),
        std::chrono::milliseconds(1));
  }

  // Takes bytes that are there already, such as those of an answer, even beyond the budget.
  void add(uint64_t bytes, Share& share) {
    taken_ += bytes;
    share.budget_ = this;
    share.bytes_ += bytes;
  }

 private:
  const uint64_t most_;
  std::atomic<uint64_t> taken_ = 0;
};

}  // namespace halyard::serve
