// DriverConnection: a running driver, from start-up to its end, as its client sees it. Needs the
// Cap'n Proto headers.
// Thread safety: all methods may be called from any thread but the loop's. Side: loop thread only.
// Ownership: shared by the device and its prepared models; ends the driver with the last of them.
#pragma once

#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>

#include "hal/manifest.h"
#include "hal/sandbox/isolation_measure.h"
#include "hal/v1_3.capnp.h"
#include "hal/wire_connection.h"
#include "halyard/driver/hal_types.h"

namespace halyard::hal {

// A value that one thread sets and another waits for.
template <typename T>
class Completion {
 public:
  void set(T value) {
    const std::lock_guard lock(mutex_);
    if (!value_) value_.emplace(std::move(value));
    done_.notify_all();
  }
  T wait() {
    std::unique_lock lock(mutex_);
    done_.wait(lock, [this] { return value_.has_value(); });
    return std::move(*value_);
  }

 private:
  std::mutex mutex_;
  std::condition_variable done_;
  std::optional<T> value_;
};

class DriverConnection {
 public:
  // The loop thread's part.
  struct Side final : private kj::TaskSet::ErrorHandler {
    Side(RpcLoop::Context& context, UniqueFd socket, std::shared_ptr<ChildProcess> child);

    // `promise`, which is fulfilled by a callback that the driver holds. When the driver drops it
    // uncalled, because it ends or by mistake, the right one of the two becomes the error.
    template <typename T>
    kj::Promise<T> orDisconnected(kj::Promise<T> promise) {
      return promise.catch_([this](kj::Exception&& exception) -> kj::Promise<T> {
        auto died = obituary.addBranch().then([](std::string&&) -> kj::Promise<T> {
          return KJ_EXCEPTION(DISCONNECTED, "the driver has ended");
        });
        auto mistake = context.io.provider->getTimer()
                           .afterDelay(200 * kj::MILLISECONDS)
                           .then([exception = kj::mv(exception)]() mutable -> kj::Promise<T> {
                             return kj::mv(exception);
                           });
        return died.exclusiveJoin(kj::mv(mistake));
      });
    }

    RpcLoop::Context& context;
    WireConnection wire;
    std::shared_ptr<ChildProcess> child;      // null for a driver behind a socket
    kj::ForkedPromise<std::string> ended;     // how the process ended; never without a process
    kj::ForkedPromise<std::string> obituary;  // the same, once the connection has broken
    kj::Maybe<wire::v1_0::IDevice::Client> device;
    std::map<uint64_t, wire::v1_0::IPreparedModel::Client> preparedModels;
    uint64_t nextPreparedModel = 0;
    std::map<uint64_t, wire::v1_3::IBuffer::Client> buffers;
    uint64_t nextBuffer = 0;
    std::map<uint64_t, wire::v1_3::IFencedExecutionCallback::Client> fencedExecutions;
    uint64_t nextFencedExecution = 0;
    kj::TaskSet watchers{*this};  // what must not outlive this

   private:
    void taskFailed(kj::Exception&&) override {}
  };

  // Starts the driver that the manifest names, or connects to it, and waits for its first answer,
  // at most `limit`: a driver that does not give one is killed.
  static Result<std::shared_ptr<DriverConnection>> open(std::shared_ptr<RpcLoop> loop,
                                                        const Manifest& manifest,
                                                        std::chrono::milliseconds limit);
  ~DriverConnection();
  DriverConnection(const DriverConnection&) = delete;
  DriverConnection& operator=(const DriverConnection&) = delete;

  const std::string& name() const { return name_; }
  pid_t processId() const { return processId_; }
  // What its process has given up, in its own words.
  const IsolationReport& isolation() const { return isolation_; }
  // True once the driver has ended: nothing can be asked of it any more.
  bool dead() const;

  // Has `start` begin a call on the loop thread and waits for its result. `what` names the call in
  // errors. DEAD_OBJECT when the driver has ended or ends meanwhile.
  template <typename T>
  Result<T> call(std::string_view what, std::function<kj::Promise<Result<T>>(Side&)> start) {
    if (const auto earlier = deathText()) return deadBefore(*earlier, what);
    Completion<Result<T>> completion;
    loop_->post([&](RpcLoop::Context& context) {
      // evalNow: an exception of `start` itself is handled like one of its promise.
      auto promise = kj::evalNow([&] { return start(*side_); });
      context.tasks.add(promise.then(
          [&completion](Result<T> result) -> kj::Promise<void> {
            completion.set(std::move(result));
            return kj::READY_NOW;
          },
          [this, &completion, what](kj::Exception&& exception) -> kj::Promise<void> {
            return explain(kj::mv(exception), what).then([&completion](Status status) {
              completion.set(std::move(status));
            });
          }));
    });
    Result<T> result = completion.wait();
    if (result.ok() || result.status().code() == ResultCode::DEAD_OBJECT) return result;
    Status status = result.takeStatus();
    status.annotate(fmt::format("driver '{}'", name_));
    return status;
  }

  // Lets go of a prepared model in the driver. Does not wait.
  void release(uint64_t preparedModel);
  // The same for a buffer.
  void releaseBuffer(uint64_t buffer);
  // Runs `work` on the loop thread, unless the connection has ended by then. Does not wait.
  void later(std::function<void(Side&)> work);

 private:
  DriverConnection(std::shared_ptr<RpcLoop> loop, std::string name)
      : loop_(std::move(loop)), name_(std::move(name)) {}

  Status handshake(UniqueFd socket, std::shared_ptr<ChildProcess> child, const Manifest& manifest,
                   std::chrono::milliseconds limit);
  kj::Promise<Status> sayHello(Side& side, HalVersion wanted);
  // Loop thread. What an exception of a call means; waits for the driver's end when it is ending.
  kj::Promise<Status> explain(kj::Exception&& exception, std::string_view what);
  void markDead(std::string text);
  std::optional<std::string> deathText() const;
  Status deadBefore(const std::string& text, std::string_view what) const;

  const std::shared_ptr<RpcLoop> loop_;
  const std::string name_;
  pid_t processId_ = 0;
  IsolationReport isolation_;            // constant once open has returned
  std::shared_ptr<ChildProcess> child_;  // to ask whether it has ended
  Side* side_ = nullptr;                 // made and deleted on the loop thread
  mutable std::mutex mutex_;
  std::optional<std::string> death_;
};

}  // namespace halyard::hal
