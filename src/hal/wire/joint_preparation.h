// The communication between the threads of prepareSupported13. A worker asks the device and
// continues with the preparation; the loop answers the call.
// Thread safety: as each comment says.
// Ownership: shared by the worker's job and the call's promises.
#pragma once

#include <kj/common.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "hal/v1_3.capnp.h"
#include "halyard/driver/model.h"
#include "halyard/driver/status.h"

namespace halyard::hal {

using PreparedClient = wire::v1_3::IPreparedModel::Client;

// A device's answer about a model.
struct Asked {
  ValidModel model;
  std::vector<bool> supported;

  bool isAll() const { return std::ranges::all_of(supported, std::identity()); }
};

// The same answer, passed from the preparing thread to the loop. Any thread.
class Question {
 public:
  // `ticket` is released when the answer exists and the loop waits for it.
  explicit Question(std::shared_ptr<void> ticket) : ticket_(std::move(ticket)) {}

  void set(Result<Asked> asked) {
    const std::lock_guard lock(mutex_);
    asked_ = std::move(asked);
    if (isAwaited_) ticket_.reset();
  }
  // Returns false if the answer does not exist yet; the ticket then reports it.
  bool await() {
    const std::lock_guard lock(mutex_);
    isAwaited_ = true;
    return asked_.has_value();
  }
  // Returns null before the answer exists. It does not change later.
  const Result<Asked>* get() const {
    const std::lock_guard lock(mutex_);
    return asked_ ? &*asked_ : nullptr;
  }

 private:
  mutable std::mutex mutex_;
  std::shared_ptr<void> ticket_;
  bool isAwaited_ = false;
  std::optional<Result<Asked>> asked_;
};

// The outcome of the preparation; loop thread.
struct Outcome {
  bool hasEnded = false;
  bool isForCallback = false;  // the question has been answered before
  Status status;
  kj::Maybe<PreparedClient> prepared;
};

}  // namespace halyard::hal
