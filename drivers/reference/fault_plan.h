// FaultPlan: the faults of a personality, counted out over the calls of a process.
// Thread safety: all methods may be called from several threads at once.
// Ownership: owns the faults. A Call has copies of its faults.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "halyard/driver/model.h"
#include "personality.h"

namespace halyard::drivers {

class FaultPlan {
 public:
  explicit FaultPlan(const std::vector<Fault>& faults);

  // The faults of one call.
  class Call {
   public:
    // Applies the fault of that moment. It does not return, throws, or returns the status with
    // which the call must end.
    Status at(FaultMoment moment) const;
    bool spoilsResult() const;

   private:
    friend class FaultPlan;
    std::vector<Fault> faults_;
  };

  // Whether any fault is planned for this point.
  bool concerns(FaultPoint point) const;
  // Counts a call; `model` is null for a call without a model.
  Call enter(FaultPoint point, const Model* model);

 private:
  struct Counted {
    Fault fault;
    std::atomic<uint64_t> calls = 0;
  };
  std::vector<std::unique_ptr<Counted>> faults_;
};

}  // namespace halyard::drivers
