// The callbacks that a client gives to a driver. Each passes on its first notification.
// Thread safety: loop thread only.
// Ownership: each owns the fulfiller of the promise that waits for the notification.
#pragma once

#include <kj/async.h>

#include "hal/v1_3.capnp.h"
#include "hal/wire/wire_types.h"
#include "halyard/driver/hal_types.h"

namespace halyard::hal {

// The text of the exception when a driver drops a callback without a call.
inline constexpr const char* kCallbackDropped = "the callback was dropped without a call";

template <typename T>
class CallbackFulfiller {
 public:
  explicit CallbackFulfiller(kj::Own<kj::PromiseFulfiller<T>> fulfiller)
      : fulfiller_(kj::mv(fulfiller)) {}
  ~CallbackFulfiller() {
    if (fulfiller_->isWaiting()) {
      fulfiller_->reject(kj::Exception(kj::Exception::Type::OVERLOADED, __FILE__, __LINE__,
                                       kj::str(kCallbackDropped)));
    }
  }
  CallbackFulfiller(const CallbackFulfiller&) = delete;
  CallbackFulfiller& operator=(const CallbackFulfiller&) = delete;

  // Calls after the first are ignored, because the HAL allows exactly one.
  void set(T value) { fulfiller_->fulfill(kj::mv(value)); }

 private:
  kj::Own<kj::PromiseFulfiller<T>> fulfiller_;
};

struct PreparedAnswer {
  Status status;
  kj::Maybe<wire::v1_0::IPreparedModel::Client> preparedModel;  // set if status is OK
};

// The answer in a driver's notification.
template <typename Reader>
PreparedAnswer preparedAnswer(const Reader& from) {
  PreparedAnswer answer{fromWireStatus(from.getStatus(), from.getMessage()), nullptr};
  if (answer.status.ok() && !from.hasPreparedModel()) {
    answer.status = opFailed("it reports success without a prepared model");
  }
  if (answer.status.ok()) {
    answer.preparedModel = wire::v1_0::IPreparedModel::Client(from.getPreparedModel());
  }
  return answer;
}

class PreparedModelCallback final : public wire::v1_3::IPreparedModelCallback::Server {
 public:
  explicit PreparedModelCallback(kj::Own<kj::PromiseFulfiller<PreparedAnswer>> fulfiller)
      : answer_(kj::mv(fulfiller)) {}

  kj::Promise<void> notify(NotifyContext context) override { return take(context); }
  kj::Promise<void> notify12(Notify12Context context) override { return take(context); }
  kj::Promise<void> notify13(Notify13Context context) override { return take(context); }

 private:
  template <typename Context>
  kj::Promise<void> take(Context context) {
    answer_.set(preparedAnswer(context.getParams()));
    return kj::READY_NOW;
  }

  CallbackFulfiller<PreparedAnswer> answer_;
};

// Status, shapes, times and copied bytes of a driver's report. `outputs`: the number of the model's
// outputs. A report with another number is an error.
template <typename Reader>
ExecutionResult decodeExecution(const Reader& from, size_t outputs) {
  ExecutionResult result;
  result.status = fromWireStatus(from.getStatus(), from.getMessage());
  const bool insufficient = result.status.code() == ResultCode::OUTPUT_INSUFFICIENT_SIZE;
  if (!result.status.ok() && !insufficient) return result;
  const auto shapes = from.getOutputShapes();
  if (shapes.size() != outputs && (insufficient || shapes.size() != 0)) {
    result.status =
        opFailed("it reports the shapes of {} outputs; the model has {}", shapes.size(), outputs);
    return result;
  }
  result.outputShapes = decodeOutputShapes(shapes);
  if (!result.status.ok()) return result;
  result.timing = decodeTiming(from.getTiming());
  result.copiedBytes = from.getCopiedBytes();
  return result;
}

class ExecutionCallback final : public wire::v1_3::IExecutionCallback::Server {
 public:
  ExecutionCallback(kj::Own<kj::PromiseFulfiller<ExecutionResult>> fulfiller, size_t outputs)
      : result_(kj::mv(fulfiller)), outputs_(outputs) {}

  kj::Promise<void> notify(NotifyContext context) override {
    ExecutionResult result;
    result.status =
        fromWireStatus(context.getParams().getStatus(), context.getParams().getMessage());
    result_.set(std::move(result));
    return kj::READY_NOW;
  }
  kj::Promise<void> notify12(Notify12Context context) override {
    result_.set(decodeExecution(context.getParams(), outputs_));
    return kj::READY_NOW;
  }
  kj::Promise<void> notify13(Notify13Context context) override {
    result_.set(decodeExecution(context.getParams(), outputs_));
    return kj::READY_NOW;
  }

 private:
  CallbackFulfiller<ExecutionResult> result_;
  const size_t outputs_;
};

}  // namespace halyard::hal
