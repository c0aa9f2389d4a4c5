// What the threads of prepareSupported13 tell each other: a worker asks the device and goes on with
// the preparation, the loop answers. Thread safety: as each says. Ownership: shared by the worker's
// job and the call's promises.
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

// What a device says of a model.
struct Asked {
  ValidModel model;
  std::vector<bool> supported;

  bool isAll() const { return std::ranges::all_of(supported, std::identity()); }
};

// The same, as the thread that goes on with the preparation tells it to the loop. Any thread.
class Question {
 public:
  // `ticket` is let go of when there is an answer and somebody waits for it.
  explicit Question(std::shared_ptr<void> ticket) : ticket_(std::move(ticket)) {}

  void set(Result<Asked> asked) {
    const std::lock_guard lock(mutex_);
    asked_ = std::move(asked);
    if (isAwaited_) ticket_.reset();
  }
  // False: it is not there yet, and the ticket will tell.
  bool await() {
    const std::lock_guard lock(mutex_);
    isAwaited_ = true;
    return asked_.has_value();
  }
  // Null while it is not there. Once it is it does not change.
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

// What has become of the preparation; loop thread.
struct Outcome {
  bool hasEnded = false;
  bool isForCallback = false;  // the question has been answered before
  Status status;
  kj::Maybe<PreparedClient> prepared;
};

}  // namespace halyard::hal
