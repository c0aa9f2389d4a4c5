// DriverConnection: a running driver as its client sees it, from its start to its end. Needs the
// Cap'n Proto headers.
// Thread safety: all methods may be called from any thread except the loop thread. Side belongs to
// the loop thread.
// Ownership: the device and its prepared models share it. The driver ends with the last owner.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>

#include "hal/client/driver_liveness.h"
#include "hal/core/completion.h"
#include "hal/driver.capnp.h"
#include "hal/manifest/isolation_measure.h"
#include "hal/manifest/manifest.h"
#include "hal/ring/ring_client.h"
#include "hal/v1_3.capnp.h"
#include "hal/wire/wire_connection.h"
#include "halyard/driver/hal_types.h"
#include "trace/trace_collection.h"

namespace halyard::hal {

// The time limit of a call.
struct CallLimit {
  // For a call without a long computation. OP_FAILED when there is no answer by `end`. Without
  // `end`, the limit is promptLimit().
  static CallLimit prompt(std::optional<TimePoint> end = std::nullopt) { return {end, false}; }
  // For a call with a long computation. MISSED_DEADLINE_TRANSIENT when there is no answer a few
  // milliseconds after the deadline. Without a deadline, the driver is declared hung after
  // executionLimit(): see declareHung.
  static CallLimit computing(std::optional<TimePoint> deadline) { return {deadline, true}; }

  std::optional<TimePoint> end;
  bool computes = false;
};

// The appearance of a call in a trace.
struct CallTrace {
  // The trace's own calls do not appear in it.
  static CallTrace none() { return {.phase = std::nullopt}; }

  std::optional<trace::Phase> phase = trace::Phase::INITIALIZATION;
  bool openEnded = false;  // the driver computes after the call has returned
};

class DriverConnection final : public trace::DriverSource {
 public:
  // The state of the loop thread.
  struct Side final : private kj::TaskSet::ErrorHandler {
    // `service`: the path of the socket of a driver without a child process. `terms`: the limits
    // for the driver in this process.
    Side(RpcLoop::Context& context, UniqueFd socket, std::shared_ptr<ChildProcess> child,
         const std::string& service, PeerTerms terms);

    // Returns `promise`, which a callback in the driver fulfils. If the driver drops the callback
    // uncalled, the error is DISCONNECTED when the driver has ended, and otherwise the callback's
    // own.
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
    kj::ForkedPromise<std::string> ended;     // text of its end; pending without a process
    kj::ForkedPromise<std::string> obituary;  // that text, once the connection is lost
    // Fetched once, because a request on a broken connection throws.
    kj::Maybe<wire::IDriver::Client> driver;
    kj::Maybe<wire::v1_0::IDevice::Client> device;
    std::map<uint64_t, wire::v1_0::IPreparedModel::Client> preparedModels;
    uint64_t nextPreparedModel = 0;
    // The preparations that the driver has begun, until a call waits for each.
    std::map<uint64_t, kj::Promise<Result<uint64_t>>> preparations;
    uint64_t nextPreparation = 0;
    std::map<uint64_t, wire::v1_3::IBuffer::Client> buffers;
    uint64_t nextBuffer = 0;
    // The callbacks of fenced executions whose results still exist. While there are any, the driver
    // must answer: see isAwaited.
    std::map<uint64_t, wire::v1_3::IFencedExecutionCallback::Client> fencedExecutions;
    uint64_t nextFencedExecution = 0;
    std::string silence;  // not empty: the text of a driver that was given up
    std::optional<DriverLiveness> liveness;
    std::map<uint64_t, wire::v1_2::IBurstContext::Client> bursts;
    uint64_t nextBurst = 0;
    kj::TaskSet watchers{*this};  // tasks that end with this object

   private:
    void taskFailed(kj::Exception&&) override {}
  };

  // Starts the driver of the manifest, or connects to it, and waits for its first answer.
  // DEAD_OBJECT without an answer within `limit`; a process that was started is then killed.
  // UNAVAILABLE_DEVICE without a connection to the service. The driver ends with the last owner.
  // The last owner waits for that, but at most 2 s.
  static Result<std::shared_ptr<DriverConnection>> open(std::shared_ptr<RpcLoop> loop,
                                                        const Manifest& manifest,
                                                        std::chrono::milliseconds limit);
  DriverConnection(const DriverConnection&) = delete;
  DriverConnection& operator=(const DriverConnection&) = delete;

  const std::string& name() const { return name_; }
  pid_t processId() const { return processId_; }
  // The isolation measures that the driver's process reports.
  const IsolationReport& isolation() const { return isolation_; }
  // The longest time for a call without a computation.
  std::chrono::milliseconds promptLimit() const { return promptLimit_; }
  // The longest time for a call with a computation and without a deadline.
  std::chrono::milliseconds executionLimit() const { return executionLimit_; }
  // Whether the driver has ended. It then answers no more calls.
  bool dead() const;
  // The driver has not answered `what` within executionLimit(), though it may answer other calls.
  // From then on it is dead for all its clients in this process. A driver in its own process is
  // killed, and the connection to a service is closed. May be called on the loop thread, too. Does
  // not wait.
  void declareHung(std::string_view what);

  // While this object exists, a thread waits for the driver without a call. The connection then
  // asks the driver regularly for a sign of life, and declares it dead without one. That costs a
  // message to the loop thread, so use it for waits of a second and more.
  class Wait {
   public:
    explicit Wait(DriverConnection& connection);
    ~Wait();
    Wait(const Wait&) = delete;
    Wait& operator=(const Wait&) = delete;

   private:
    DriverConnection& connection_;
  };

  // Runs `start` on the loop thread, which begins a call, and waits for its result. `what` names
  // the call in errors. DEAD_OBJECT when the driver has ended, ends during the call, or no longer
  // answers anything. The error of `limit` when there is no answer in time, even if the loop does
  // not work. The driver may then continue the call, and its answer is dropped. Objects that
  // `start` refers to must exist until this function returns. The promises of `start` must not
  // refer to them.
  template <typename T>
  Result<T> call(std::string_view what, std::function<kj::Promise<Result<T>>(Side&)> start,
                 CallLimit limit = CallLimit::prompt(), CallTrace inTrace = {}) {
    if (!limit.end && !limit.computes) limit.end = Clock::now() + promptLimit_;
    if (const auto earlier = deathText()) return deadBefore(*earlier, what);
    std::optional<trace::Scope> mark;
    if (inTrace.phase) {
      mark.emplace(trace::Layer::IPC, *inTrace.phase, what, traceDetails(inTrace.openEnded));
    }
    const auto pending = std::make_shared<PendingCall<T>>(what);
    waits_.fetch_add(1);
    loop_->post([this, pending, &start, limit](RpcLoop::Context& context) {
      const std::lock_guard lock(pending->mutex);
      if (pending->givenUp) return;
      // The side owns the call, because a waiter that has given up may release the connection
      // first.
      side_->watchers.add(
          answerOf(context, start, pending->what, limit).then([pending](Result<T> result) {
            pending->answer.set(std::move(result));
          }));
    });
    Result<T> result = awaitAnswer(*pending, limit);
    waits_.fetch_sub(1);
    if (result.ok()) return result;
    return named(result.takeStatus());
  }

  // The following functions are in driver_trace.cc.
  std::string traceName() const override { return name_; }
  int64_t traceProcessId() const override { return processId_; }
  Status beginTrace(const SharedMemoryPtr& memory) override;
  void endTrace() override;
  // The details of a slice in which the calling thread waits for the driver.
  trace::Details traceDetails(bool openEnded = false) const;
  // Asks the driver to record the model's executions with `context`. Returns false without a call
  // if the driver does not record.
  bool traceModel(uint64_t preparedModel, uint64_t context);

  // Releases a prepared model in the driver. Does not wait.
  void release(uint64_t preparedModel);
  // Releases a buffer in the driver. Does not wait.
  void releaseBuffer(uint64_t buffer);
  // Runs `work` on the loop thread. Drops it if the connection has ended by then. Does not wait.
  void later(std::function<void(Side&)> work);

  // Ends the ring when the driver ends, or at once if it has ended.
  void watch(const std::shared_ptr<RingClient>& ring);
  // The DEAD_OBJECT error of a call that was running when the driver ended.
  Status diedDuring(std::string_view what) const;
  // The gate that all rings to this driver share.
  const std::shared_ptr<SpinGate>& spinGate() const { return spinGate_; }

 private:
  // A call that its caller can abandon if the loop does not start it.
  template <typename T>
  struct PendingCall {
    explicit PendingCall(std::string_view theWhat) : what(theWhat) {}

    const std::string what;
    std::mutex mutex;
    bool givenUp = false;  // objects of the caller may no longer exist
    Completion<Result<T>> answer;
  };
  struct Start;

  DriverConnection(std::shared_ptr<RpcLoop> loop, const Manifest& manifest)
      : loop_(std::move(loop)),
        name_(manifest.name),
        executionLimit_(driverExecutionTimeout(manifest.executionTimeout)) {}
  ~DriverConnection() override = default;
  // The deleter of the shared pointer.
  static void end(DriverConnection* connection);
  void endSide(RpcLoop::Context& context);  // loop thread

  Status handshake(UniqueFd socket, std::shared_ptr<ChildProcess> child, const Manifest& manifest,
                   std::chrono::milliseconds limit);
  // The loop thread's part of the handshake.
  void setUp(RpcLoop::Context& context, const std::shared_ptr<Start>& start);

  // The loop enforces the limit. If it does not, or does not work at all, the waiting thread does.
  template <typename T>
  Result<T> awaitAnswer(PendingCall<T>& pending, const CallLimit& limit) {
    for (;;) {
      std::optional<Result<T>> answer = pending.answer.waitUntil(nextLook(limit));
      if (answer) return std::move(*answer);
      Status late = checkWait(limit, pending.what);
      if (late.ok()) continue;
      const std::lock_guard lock(pending.mutex);
      pending.givenUp = true;
      return late;
    }
  }
  static TimePoint nextLook(const CallLimit& limit);
  // OK while the wait for an answer may continue.
  Status checkWait(const CallLimit& limit, std::string_view what) const;
  Status tooLate(const CallLimit& limit, std::string_view what) const;
  Status notStarted(std::chrono::milliseconds limit) const;
  kj::Promise<Status> sayHello(Side& side, HalVersion wanted);
  // Loop thread. Runs the call of `start`, and turns its exceptions into errors. `what` must
  // outlive it.
  template <typename T>
  kj::Promise<Result<T>> answerOf(RpcLoop::Context& context,
                                  const std::function<kj::Promise<Result<T>>(Side&)>& start,
                                  std::string_view what, const CallLimit& limit) {
    side_->liveness->watch();
    // evalNow turns an exception of `start` itself into one of its promise.
    auto answer = kj::evalNow([&] {
                    return start(*side_);
                  }).catch_([this, what](kj::Exception&& exception) -> kj::Promise<Result<T>> {
      return explain(kj::mv(exception), what).then([](Status status) {
        return Result<T>(std::move(status));
      });
    });
    return answer.exclusiveJoin(
        pastLimit(context, limit, what).then([](Status status) -> Result<T> { return status; }));
  }
  // Adds the driver's name to an error. DEAD_OBJECT already has the name.
  Status named(Status status) const {
    if (status.code() == ResultCode::DEAD_OBJECT) return status;
    return std::move(status.annotate(fmt::format("driver '{}'", name_)));
  }
  // Loop thread. Resolves some time after the limit, with the error to report.
  kj::Promise<Status> pastLimit(RpcLoop::Context& context, CallLimit limit, std::string_view what);
  // Loop thread. Gives the driver up because it has not answered for too long.
  void declareSilent();
  // Loop thread. Ends the driver's process, or the connection. `text` says how the driver ended.
  void giveUp(std::string text);
  std::string_view killedText() const;
  bool isAwaited() const;  // loop thread only
  // Loop thread. The error for an exception of a call. If the connection is lost, waits for the
  // text of the driver's end.
  kj::Promise<Status> explain(kj::Exception&& exception, std::string_view what);
  void markDead(std::string text);
  std::optional<std::string> deathText() const;
  Status deadBefore(const std::string& text, std::string_view what) const;

  const std::shared_ptr<RpcLoop> loop_;
  const std::string name_;
  pid_t processId_ = 0;
  IsolationReport isolation_;            // constant after open
  std::shared_ptr<ChildProcess> child_;  // null for a driver behind a socket
  Side* side_ = nullptr;                 // created and deleted on the loop thread
  const std::chrono::milliseconds answerTimeout_ = driverAnswerTimeout();
  const std::chrono::milliseconds promptLimit_ = 6 * answerTimeout_;
  const std::chrono::milliseconds executionLimit_;
  std::atomic<uint32_t> waits_{0};  // calls and Waits
  std::atomic<uint32_t> tracePeer_{0};
  std::atomic<bool> records_{false};
  const std::shared_ptr<SpinGate> spinGate_ = std::make_shared<SpinGate>();
  mutable std::mutex mutex_;
  std::optional<std::string> death_;
  std::vector<std::weak_ptr<RingClient>> rings_;
};

}  // namespace halyard::hal
