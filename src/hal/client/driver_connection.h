// DriverConnection: a running driver, from start-up to its end, as its client sees it. Needs the
// Cap'n Proto headers.
// Thread safety: all methods may be called from any thread but the loop's. Side: loop thread only.
// Ownership: shared by the device and its prepared models; ends the driver with the last of them.
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

// How long a call may take.
struct CallLimit {
  // Something that needs no long computation: OP_FAILED when there is no answer by `end`, or for
  // some multiple of the time for which a driver may be silent.
  static CallLimit prompt(std::optional<TimePoint> end = std::nullopt) { return {end, false}; }
  // Something that may take long: MISSED_DEADLINE_TRANSIENT a few milliseconds after the deadline
  // when there is no answer by then. Without a deadline the driver hangs if there is none after
  // executionLimit(): see declareHung.
  static CallLimit computing(std::optional<TimePoint> deadline) { return {deadline, true}; }

  std::optional<TimePoint> end;
  bool computes = false;
};

// How a trace shows a call.
struct CallTrace {
  // The trace's own calls do not appear in it.
  static CallTrace none() { return {.phase = std::nullopt}; }

  std::optional<trace::Phase> phase = trace::Phase::INITIALIZATION;
  bool openEnded = false;  // the driver computes on after the call
};

class DriverConnection final : public trace::DriverSource {
 public:
  // The loop thread's part.
  struct Side final : private kj::TaskSet::ErrorHandler {
    // `service`: the path of its socket, when there is no child. `terms`: what the driver may have
    // in this process.
    Side(RpcLoop::Context& context, UniqueFd socket, std::shared_ptr<ChildProcess> child,
         const std::string& service, PeerTerms terms);

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
    // Fetched once, because Cap'n Proto cannot even refuse to send on a broken connection.
    kj::Maybe<wire::IDriver::Client> driver;
    kj::Maybe<wire::v1_0::IDevice::Client> device;
    std::map<uint64_t, wire::v1_0::IPreparedModel::Client> preparedModels;
    uint64_t nextPreparedModel = 0;
    // The keys of models whose preparations the driver has begun, until a call waits for them.
    std::map<uint64_t, kj::Promise<Result<uint64_t>>> preparations;
    uint64_t nextPreparation = 0;
    std::map<uint64_t, wire::v1_3::IBuffer::Client> buffers;
    uint64_t nextBuffer = 0;
    // Those whose ends nobody has taken note of: somebody waits for them, or will.
    std::map<uint64_t, wire::v1_3::IFencedExecutionCallback::Client> fencedExecutions;
    uint64_t nextFencedExecution = 0;
    std::string silence;  // not empty: the driver did not answer any more, and this is its end
    std::optional<DriverLiveness> liveness;
    std::map<uint64_t, wire::v1_2::IBurstContext::Client> bursts;
    uint64_t nextBurst = 0;
    kj::TaskSet watchers{*this};  // what must not outlive this

   private:
    void taskFailed(kj::Exception&&) override {}
  };

  // Starts the driver that the manifest names, or connects to it, and waits for its first answer,
  // at most `limit`: a driver that does not give one is killed. With the last owner the driver
  // ends; that waits for the loop, but not for ever.
  static Result<std::shared_ptr<DriverConnection>> open(std::shared_ptr<RpcLoop> loop,
                                                        const Manifest& manifest,
                                                        std::chrono::milliseconds limit);
  DriverConnection(const DriverConnection&) = delete;
  DriverConnection& operator=(const DriverConnection&) = delete;

  const std::string& name() const { return name_; }
  pid_t processId() const { return processId_; }
  // What its process has given up, in its own words.
  const IsolationReport& isolation() const { return isolation_; }
  // How long something that computes nothing may take.
  std::chrono::milliseconds promptLimit() const { return promptLimit_; }
  // How long the driver may take for what computes and has no deadline.
  std::chrono::milliseconds executionLimit() const { return executionLimit_; }
  // True once the driver has ended: it answers no more calls.
  bool dead() const;
  // It has not answered `what` within executionLimit(), though it may answer other calls. From now
  // on it is dead for all its clients in this process: its own process is killed, the connection to
  // a service is closed. May be called on the loop thread, too. Does not wait.
  void declareHung(std::string_view what);

  // A thread waits for the driver while this exists, by other means than a call. The connection
  // then asks the driver regularly for a sign of life, and declares it dead if none comes. This
  // costs a message to the loop thread, so it is for waits of a second and more.
  class Wait {
   public:
    explicit Wait(DriverConnection& connection);
    ~Wait();
    Wait(const Wait&) = delete;
    Wait& operator=(const Wait&) = delete;

   private:
    DriverConnection& connection_;
  };
  // Calls `wake` once the driver is found dead, on the thread that finds it or, if it is dead
  // already, on this one. `wake` must neither block nor call the connection. The result takes the
  // order back when it goes; after that `wake` does not run.
  class DeathWatch;
  std::unique_ptr<DeathWatch> whenDead(std::function<void()> wake);

  // Has `start` begin a call on the loop thread and waits for its result. `what` names the call in
  // errors. DEAD_OBJECT when the driver has ended, ends meanwhile, or does not answer at all any
  // more; the limit's error when there is no answer in time, whether the loop works or not: the
  // driver may go on with the call then, and its answer is dropped. What `start` refers to need not
  // live longer than the call; the promises that it makes must not refer to any of that.
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
      // The side owns the call. A waiter that has given up may release the connection first.
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

  // driver_trace.cc.
  std::string traceName() const override { return name_; }
  int64_t traceProcessId() const override { return processId_; }
  Status beginTrace(const SharedMemoryPtr& memory) override;
  void endTrace() override;
  // Of a slice in which the calling thread waits for the driver.
  trace::Details traceDetails(bool openEnded = false) const;
  // Has the driver record the model's executions as those of `context`. False if it does not
  // record; then there was no call.
  bool traceModel(uint64_t preparedModel, uint64_t context);

  // Lets go of a prepared model in the driver. Does not wait.
  void release(uint64_t preparedModel);
  // The same for a buffer.
  void releaseBuffer(uint64_t buffer);
  // Runs `work` on the loop thread, unless the connection has ended by then. Does not wait.
  void later(std::function<void(Side&)> work);

  // Has the ring ended when the driver ends, at once if it has.
  void watch(const std::shared_ptr<RingClient>& ring);
  // DEAD_OBJECT as of a call that was under way when the driver ended.
  Status diedDuring(std::string_view what) const;
  // What the rings to this driver share.
  const std::shared_ptr<SpinGate>& spinGate() const { return spinGate_; }

 private:
  // A call that its caller can leave behind, should the loop not come to it.
  template <typename T>
  struct PendingCall {
    explicit PendingCall(std::string_view theWhat) : what(theWhat) {}

    const std::string what;
    std::mutex mutex;
    bool givenUp = false;  // what the call refers to is not there any more
    Completion<Result<T>> answer;
  };
  struct Start;

  DriverConnection(std::shared_ptr<RpcLoop> loop, const Manifest& manifest)
      : loop_(std::move(loop)),
        name_(manifest.name),
        executionLimit_(driverExecutionTimeout(manifest.executionTimeout)) {}
  ~DriverConnection() override = default;
  // In place of the destructor, for an owner that lets go.
  static void end(DriverConnection* connection);
  void endSide(RpcLoop::Context& context);  // loop thread

  Status handshake(UniqueFd socket, std::shared_ptr<ChildProcess> child, const Manifest& manifest,
                   std::chrono::milliseconds limit);
  // Loop thread. The handshake's part there.
  void setUp(RpcLoop::Context& context, const std::shared_ptr<Start>& start);

  // The loop keeps the limit. Should it not, or should it not work at all, its waiter does so.
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
  // OK while the wait for an answer may go on.
  Status checkWait(const CallLimit& limit, std::string_view what) const;
  Status tooLate(const CallLimit& limit, std::string_view what) const;
  Status notStarted(std::chrono::milliseconds limit) const;
  kj::Promise<Status> sayHello(Side& side, HalVersion wanted);
  // Loop thread. `start`'s call, with what can go wrong on the way; `what` must outlive it.
  template <typename T>
  kj::Promise<Result<T>> answerOf(RpcLoop::Context& context,
                                  const std::function<kj::Promise<Result<T>>(Side&)>& start,
                                  std::string_view what, const CallLimit& limit) {
    side_->liveness->watch();
    // evalNow: an exception of `start` itself is handled like one of its promise.
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
  // An error of a call; a dead driver's has the name already.
  Status named(Status status) const {
    if (status.code() == ResultCode::DEAD_OBJECT) return status;
    return std::move(status.annotate(fmt::format("driver '{}'", name_)));
  }
  // Loop thread. Resolves some time after the limit with the error to report.
  kj::Promise<Status> pastLimit(RpcLoop::Context& context, CallLimit limit, std::string_view what);
  // Loop thread. The driver has not answered for too long.
  void declareSilent();
  // The same: ends the driver's process, or the connection. `text`: how it ended.
  void giveUp(std::string text);
  std::string_view killedText() const;
  bool isAwaited() const;  // loop thread only
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
  const std::chrono::milliseconds answerTimeout_ = driverAnswerTimeout();
  const std::chrono::milliseconds promptLimit_ = 6 * answerTimeout_;
  const std::chrono::milliseconds executionLimit_;
  std::atomic<uint32_t> waits_{0};  // calls and Waits
  std::atomic<uint32_t> tracePeer_{0};
  std::atomic<bool> records_{false};
  const std::shared_ptr<SpinGate> spinGate_ = std::make_shared<SpinGate>();
  mutable std::mutex mutex_;
  std::optional<std::string> death_;
  std::map<uint64_t, std::function<void()>> deathWatches_;
  std::vector<std::weak_ptr<RingClient>> rings_;
  uint64_t nextDeathWatch_ = 0;
};

class DriverConnection::DeathWatch {
 public:
  ~DeathWatch();
  DeathWatch(const DeathWatch&) = delete;
  DeathWatch& operator=(const DeathWatch&) = delete;

 private:
  friend class DriverConnection;
  DeathWatch(DriverConnection& connection, uint64_t id) : connection_(connection), id_(id) {}

  DriverConnection& connection_;
  const uint64_t id_;
};

}  // namespace halyard::hal
