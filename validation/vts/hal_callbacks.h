// The callbacks that a HalClient gives to a driver. They accept and count all notifications.
// Thread safety: loop thread only, except for the counts and fencedInfo's result.
// Ownership: own the fulfiller of the promise that waits for the first notification.
#pragma once

#include <kj/async.h>

#include <memory>

#include "hal/v1_3.capnp.h"
#include "hal/wire/wire_types.h"
#include "validation/vts/hal_client.h"

namespace halyard::validation {

// Counts notifications, and fulfils the promise with the first one. If it is dropped without a
// notification, the promise is rejected.
template <typename T>
class Recorder {
 public:
  Recorder(kj::Own<kj::PromiseFulfiller<T>> fulfiller, Notifications notifications)
      : fulfiller_(kj::mv(fulfiller)), notifications_(std::move(notifications)) {}
  ~Recorder() {
    if (fulfiller_->isWaiting()) {
      fulfiller_->reject(KJ_EXCEPTION(OVERLOADED, "the callback was dropped without a call"));
    }
  }
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  void note(T value) {
    ++*notifications_;
    fulfiller_->fulfill(kj::mv(value));
  }

 private:
  kj::Own<kj::PromiseFulfiller<T>> fulfiller_;
  const Notifications notifications_;
};

struct PreparedNote {
  Code status = Code::NONE;
  std::string message;
  kj::Maybe<wire::v1_0::IPreparedModel::Client> model;
  HalVersion form = HalVersion::V1_0;
};

class PreparedModelRecorder final : public wire::v1_3::IPreparedModelCallback::Server {
 public:
  PreparedModelRecorder(kj::Own<kj::PromiseFulfiller<PreparedNote>> fulfiller,
                        Notifications notifications)
      : recorder_(kj::mv(fulfiller), std::move(notifications)) {}

  kj::Promise<void> notify(NotifyContext context) override {
    return take(context, HalVersion::V1_0);
  }
  kj::Promise<void> notify12(Notify12Context context) override {
    return take(context, HalVersion::V1_2);
  }
  kj::Promise<void> notify13(Notify13Context context) override {
    return take(context, HalVersion::V1_3);
  }

 private:
  template <typename Context>
  kj::Promise<void> take(Context context, HalVersion form) {
    const auto params = context.getParams();
    PreparedNote note{params.getStatus(), params.getMessage().cStr(), nullptr, form};
    if (params.hasPreparedModel()) {
      note.model = wire::v1_0::IPreparedModel::Client(params.getPreparedModel());
    }
    recorder_.note(kj::mv(note));
    return kj::READY_NOW;
  }

  Recorder<PreparedNote> recorder_;
};

class ExecutionRecorder final : public wire::v1_3::IExecutionCallback::Server {
 public:
  ExecutionRecorder(kj::Own<kj::PromiseFulfiller<ExecutionAnswer>> fulfiller,
                    Notifications notifications, bool throws)
      : recorder_(kj::mv(fulfiller), std::move(notifications)), throws_(throws) {}

  kj::Promise<void> notify(NotifyContext context) override {
    return take(context, HalVersion::V1_0, ExecutionAnswer());
  }
  kj::Promise<void> notify12(Notify12Context context) override {
    return takeAll(context, HalVersion::V1_2);
  }
  kj::Promise<void> notify13(Notify13Context context) override {
    return takeAll(context, HalVersion::V1_3);
  }

 private:
  template <typename Context>
  kj::Promise<void> takeAll(Context context, HalVersion form) {
    const auto params = context.getParams();
    ExecutionAnswer answer;
    answer.shapes = hal::decodeOutputShapes(params.getOutputShapes());
    answer.timing = hal::decodeTiming(params.getTiming());
    return take(context, form, std::move(answer));
  }
  template <typename Context>
  kj::Promise<void> take(Context context, HalVersion form, ExecutionAnswer answer) {
    answer.callback = context.getParams().getStatus();
    answer.message = context.getParams().getMessage().cStr();
    answer.form = form;
    recorder_.note(std::move(answer));
    if (throws_) return KJ_EXCEPTION(FAILED, "the callback of a check throws");
    return kj::READY_NOW;
  }

  Recorder<ExecutionAnswer> recorder_;
  const bool throws_;
};

// The callback of a fenced execution in Side::fencedExecutions, removed with this object.
class FencedCallbackKey {
 public:
  FencedCallbackKey(std::shared_ptr<hal::DriverConnection> connection, uint64_t key)
      : connection_(std::move(connection)), key_(key) {}
  ~FencedCallbackKey() {
    connection_->later(
        [key = key_](hal::DriverConnection::Side& side) { side.fencedExecutions.erase(key); });
  }
  FencedCallbackKey(const FencedCallbackKey&) = delete;
  FencedCallbackKey& operator=(const FencedCallbackKey&) = delete;

  Result<FencedAnswer::Info> ask() const {
    return connection_->call<FencedAnswer::Info>(
        "getExecutionInfo", [key = key_](hal::DriverConnection::Side& side) {
          return side.fencedExecutions.at(key).getExecutionInfoRequest().send().then(
              [](auto&& response) -> Result<FencedAnswer::Info> {
                return FencedAnswer::Info{
                    response.getStatus(), hal::decodeTiming(response.getTimingLaunched()),
                    hal::decodeTiming(response.getTimingFenced()), response.getMessage().cStr()};
              });
        });
  }

 private:
  const std::shared_ptr<hal::DriverConnection> connection_;
  const uint64_t key_;
};

inline std::function<Result<FencedAnswer::Info>()> fencedInfo(
    std::shared_ptr<FencedCallbackKey> key) {
  return [key = std::move(key)] { return key->ask(); };
}

}  // namespace halyard::validation
