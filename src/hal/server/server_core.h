// ServerCore: the state of one Server, which its objects on the loop thread share.
// Thread safety: loop thread only, except the device and post().
// Ownership: the Server deletes it on the loop thread after the executor has stopped.
#pragma once

#include <capnp/capability.h>
#include <kj/async.h>

#include <functional>
#include <list>
#include <map>
#include <optional>

#include "hal/core/driver_exception.h"
#include "hal/server/server.h"
#include "hal/session/client_session.h"
#include "hal/session/priority_class.h"
#include "hal/session/session_services.h"
#include "hal/v1_3.capnp.h"
#include "hal/wire/wire_connection.h"

namespace halyard::hal {

class ServerCore;

// One client of the server. The objects that serve the client share it.
struct ServedClient {
  ServerCore& core;
  const std::shared_ptr<ClientSession> session;
  const std::shared_ptr<FairExecutor::Lane> lane;  // its calls and bursts
  const Status refusal;                            // not OK: sent instead of a device
  // Distinguishes capabilities of the client's own prepared models from all others.
  const std::shared_ptr<capnp::CapabilityServerSet<wire::v1_3::IPreparedModel>> preparedModels =
      std::make_shared<capnp::CapabilityServerSet<wire::v1_3::IPreparedModel>>();
  unsigned bursts = 0;  // the client's number of bursts; loop thread
  // The number of notifications that the client has not answered; loop thread.
  unsigned unansweredNotifications = 0;
  uint32_t uid = 0;  // the client's user, from the kernel
  // False after the end of the server. Cap'n Proto may keep an object longer. Loop thread.
  std::shared_ptr<const bool> open = {};
  // The account for closing the client's descriptors.
  std::shared_ptr<ForeignAccount> closing = {};

  // As the functions of ServerCore. After the end of the server, the object is destroyed on this
  // thread.
  void dispose(std::shared_ptr<void> object) const;
  void disposeFirst(std::shared_ptr<void> object) const;
};

// Waits for the client's answer to a notification. A client with too many unanswered ones is
// disconnected, because each takes memory here. Loop thread.
void notified(const std::shared_ptr<ServedClient>& client, kj::Promise<void> answered);

class ServerCore final : public kj::TaskSet::ErrorHandler {
 public:
  ServerCore(RpcLoop& loop, std::shared_ptr<Device> served, ServerOptions theOptions)
      : device(std::move(served)), options(std::move(theOptions)), loop_(loop) {}

  void serve(RpcLoop::Context& context, UniqueFd socket, std::function<void()> onDisconnect,
             ClientTerms terms);
  // Asks the running executions of all clients to end early.
  void endSessions();
  void closeAll();
  void disconnect(const ServedClient& client);
  void taskFailed(kj::Exception&&) override {}  // the client has gone

  // Runs `work` on a thread of the executor, in turn with the calls of other clients. The promise,
  // like all objects of Cap'n Proto, stays on the loop thread. `work` must not hold such objects.
  // When the client goes, waiting work is dropped, and its promise fails. Work that still waits at
  // the deadline is dropped, and the result is MISSED_DEADLINE_TRANSIENT.
  template <typename T>
  kj::Promise<Result<T>> run(const ServedClient& client, std::function<Result<T>()> work,
                             Priority priority = Priority::MEDIUM,
                             std::optional<TimePoint> deadline = std::nullopt) {
    auto slot = std::make_shared<std::optional<Result<T>>>();
    // The ticket reports the end of the work, even if the executor drops it.
    Awaited finished = await(client);
    auto job = [slot, ticket = std::move(finished.ticket), work = std::move(work)]() mutable {
      slot->emplace(guarded(work));
      work = nullptr;  // released before the answer, so that the client's memory is free
    };
    FairExecutor::Expiry expiry;
    // If the deadline has passed before the call, the device reports that.
    if (deadline && Clock::now() < *deadline) {
      expiry.deadline = deadline;
      expiry.expired = [slot] { slot->emplace(missedTurn()); };
    }
    const Status posted =
        executor_.post(client.lane, threadClassOf(priority), std::move(job), std::move(expiry));
    if (!posted.ok()) return Result<T>(posted);
    return finished.promise.then([slot]() -> Result<T> {
      if (!slot->has_value()) return opFailed("the driver is shutting down");
      return std::move(**slot);
    });
  }
  // Destroys `object` on a thread that takes the processor from no other thread. Destruction may
  // take long, and a client that releases a model usually has other work.
  void dispose(std::shared_ptr<void> object);
  // Destroys `object` before waiting calls run. For objects whose existence affects calls.
  void disposeFirst(std::shared_ptr<void> object);

  // Runs `work` on the loop thread. May be called from any thread.
  void post(std::function<void()> work) {
    loop_.post([work = std::move(work)](RpcLoop::Context&) { work(); });
  }

  // `promise` is fulfilled when `ticket` is destroyed, on any thread.
  struct Awaited {
    kj::Promise<void> promise;
    std::shared_ptr<void> ticket;
  };
  // The promise fails when the client goes.
  Awaited await(const ServedClient& client) {
    auto finished = kj::newPromiseAndFulfiller<void>();
    const uint64_t id = nextJob_++;
    jobs_.emplace(id, Job{&client, kj::mv(finished.fulfiller)});
    return {kj::mv(finished.promise), std::make_shared<Ticket>(*this, id)};
  }

  // Runs a promise whose result is not used.
  void detach(kj::Promise<void> promise) { tasks_->add(kj::mv(promise)); }

  const std::shared_ptr<Device> device;
  const ServerOptions options;
  const std::shared_ptr<SessionServices> services = std::make_shared<SessionServices>(
      FairExecutor::Options{.threads = device->info().usualThreads});

 private:
  struct Ticket {
    Ticket(ServerCore& theCore, uint64_t theId) : core(theCore), id(theId) {}
    ~Ticket() {
      core.loop_.post([&served = core, job = id](RpcLoop::Context&) { served.finish(job); });
    }
    Ticket(const Ticket&) = delete;
    Ticket& operator=(const Ticket&) = delete;
    ServerCore& core;
    const uint64_t id;
  };

  static Status missedTurn() {
    return makeStatus(ResultCode::MISSED_DEADLINE_TRANSIENT,
                      "the deadline has passed while the call waited for its turn");
  }

  struct Job {
    const ServedClient* client;
    kj::Own<kj::PromiseFulfiller<void>> finished;
  };
  void finish(uint64_t id);
  // Ends the calls of a client that has gone.
  void endClient(const ServedClient& client);

  RpcLoop& loop_;
  FairExecutor& executor_ = services->executor();
  const std::shared_ptr<FairExecutor::Lane> firstDisposals_ =
      executor_.openLane({.queued = SIZE_MAX, .running = 1});
  const std::shared_ptr<bool> open_ = std::make_shared<bool>(true);
  uint64_t nextJob_ = 0;
  std::map<uint64_t, Job> jobs_;
  struct Connection {
    Connection(std::shared_ptr<ServedClient> theClient, RpcLoop::Context& context, UniqueFd socket,
               UniqueFd theProcess, PeerTerms terms);
    ~Connection() { client->session->end(); }
    Connection(const Connection&) = delete;
    Connection& operator=(const Connection&) = delete;

    const std::shared_ptr<ServedClient> client;
    WireConnection wire;
    // The client's process, because another process may hold its socket. The order ensures that the
    // observer is destroyed first.
    UniqueFd process;
    kj::Maybe<kj::Own<kj::UnixEventPort::FdObserver>> processEnds;
    kj::Promise<void> end = kj::READY_NOW;  // disconnects the client
  };
  std::list<Connection> connections_;
  kj::Own<kj::TaskSet> tasks_ = kj::heap<kj::TaskSet>(*this);
};

}  // namespace halyard::hal
