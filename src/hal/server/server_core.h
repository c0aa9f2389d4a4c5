// ServerCore: what the objects of one Server share on the loop thread.
// Thread safety: loop thread only, but for the device and the posting of finished work.
// Ownership: the Server deletes it on the loop thread after its workers have ended.
#pragma once

#include <capnp/capability.h>
#include <kj/async.h>

#include <functional>
#include <list>
#include <map>
#include <new>
#include <optional>

#include "hal/server/server.h"
#include "hal/session/client_session.h"
#include "hal/session/session_services.h"
#include "hal/v1_3.capnp.h"
#include "hal/wire/wire_connection.h"

namespace halyard::hal {

class ServerCore;

// One client of the server: what the objects that serve it share.
struct ServedClient {
  ServerCore& core;
  const std::shared_ptr<ClientSession> session;
  const std::shared_ptr<WorkerThreads::Lane> lane;     // its calls, in turn with those of others
  const std::shared_ptr<WorkerThreads::Lane> lowLane;  // the same for those of low priority
  const Status refusal;                                // not OK: it gets this and no device
  // Tells the capabilities of the client's own prepared models from any others.
  const std::shared_ptr<capnp::CapabilityServerSet<wire::v1_3::IPreparedModel>> preparedModels =
      std::make_shared<capnp::CapabilityServerSet<wire::v1_3::IPreparedModel>>();
  unsigned bursts = 0;  // that it has; loop thread
  uint32_t uid = 0;     // the user that the kernel says it is
  // Whether the server is there still: an object that something of Cap'n Proto holds on to may
  // outlive it. Loop thread.
  std::shared_ptr<const bool> open = {};
  // Where the descriptors that it sends count when they are closed.
  std::shared_ptr<ForeignAccount> closing = {};

  // As those of ServerCore; without a server the object goes here.
  void dispose(std::shared_ptr<void> object) const;
  void disposeFirst(std::shared_ptr<void> object) const;
};

class ServerCore final : public kj::TaskSet::ErrorHandler {
 public:
  // `lowWorkers`: for work of low priority; `disposers`: for what nobody waits for.
  ServerCore(RpcLoop& loop, WorkerThreads& workers, WorkerThreads& lowWorkers,
             WorkerThreads& disposers, std::shared_ptr<Device> served, ServerOptions theOptions)
      : device(std::move(served)),
        options(std::move(theOptions)),
        loop_(loop),
        workers_(workers),
        lowWorkers_(lowWorkers),
        disposers_(disposers) {}

  void serve(RpcLoop::Context& context, UniqueFd socket, std::function<void()> onDisconnect,
             ClientTerms terms);
  // Asks what is being executed for any client to end early: nobody waits for it any more.
  void endSessions();
  void closeAll();
  void taskFailed(kj::Exception&&) override {}  // a client that has gone needs no answer

  // Runs `work` on a worker thread, in turn with the calls of other clients, those of higher
  // priority first. The promise, like everything of Cap'n Proto, stays on the loop thread; `work`
  // must not hold any of it. When the client goes, work that waits is dropped, and its promise
  // fails.
  template <typename T>
  kj::Promise<Result<T>> run(const ServedClient& client, std::function<Result<T>()> work,
                             Priority priority = Priority::MEDIUM) {
    auto slot = std::make_shared<std::optional<Result<T>>>();
    // The ticket reports the end of the work, even if the workers drop it instead of running it.
    Awaited finished = await(client);
    auto job = [slot, ticket = std::move(finished.ticket), work = std::move(work)]() mutable {
      slot->emplace(guarded<T>(work));
      work = nullptr;  // before the answer: what the call held is free when the client has it
    };
    const bool isLow = priority == Priority::LOW;
    const Status posted = (isLow ? lowWorkers_ : workers_)
                              .post(isLow ? client.lowLane : client.lane, priority, std::move(job));
    if (!posted.ok()) return Result<T>(posted);
    return finished.promise.then([slot]() -> Result<T> {
      if (!slot->has_value()) return opFailed("the driver is shutting down");
      return std::move(**slot);
    });
  }
  // Lets go of `object` on a thread for that: a driver may take long for it, and who has let go of
  // a model most often has other things to do now.
  void dispose(std::shared_ptr<void> object);
  // The same on a worker thread, before calls that wait: of what calls can tell that it is there.
  void disposeFirst(std::shared_ptr<void> object);

  // Runs `work` on the loop thread. May be called from any thread.
  void post(std::function<void()> work) {
    loop_.post([work = std::move(work)](RpcLoop::Context&) { work(); });
  }

  // What is fulfilled by `ticket` being let go of, on whichever thread.
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

  // A promise that nobody waits for.
  void detach(kj::Promise<void> promise) { tasks_->add(kj::mv(promise)); }

  const std::shared_ptr<Device> device;
  const ServerOptions options;
  const std::shared_ptr<SessionServices> services = std::make_shared<SessionServices>();

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

  // A driver's exception, or one for lack of memory, must not end the process.
  template <typename T>
  static Result<T> guarded(const std::function<Result<T>()>& work) {
    try {
      return work();
    } catch (const std::bad_alloc&) {
      return makeStatus(ResultCode::RESOURCE_EXHAUSTED_TRANSIENT, "the driver is out of memory");
    } catch (const std::exception& exception) {
      return opFailed("the driver failed: {}", exception.what());
    } catch (...) {
      return opFailed("the driver failed with an exception of its own kind");
    }
  }
  struct Job {
    const ServedClient* client;
    kj::Own<kj::PromiseFulfiller<void>> finished;
  };
  void finish(uint64_t id);
  // The client has gone: ends what it has asked for.
  void endClient(const ServedClient& client);

  RpcLoop& loop_;
  WorkerThreads& workers_;
  WorkerThreads& lowWorkers_;
  WorkerThreads& disposers_;
  const WorkerThreads::LaneLimits disposalLimits_{.queued = SIZE_MAX, .running = 1};
  const std::shared_ptr<WorkerThreads::Lane> disposals_ = disposers_.openLane(disposalLimits_);
  const std::shared_ptr<WorkerThreads::Lane> firstDisposals_ = workers_.openLane(disposalLimits_);
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
    // The client's process, as another may hold its socket. In this order: the observer first goes.
    UniqueFd process;
    kj::Maybe<kj::Own<kj::UnixEventPort::FdObserver>> processEnds;
    kj::Promise<void> end = kj::READY_NOW;  // cuts the client off when it is time
  };
  std::list<Connection> connections_;
  kj::Own<kj::TaskSet> tasks_ = kj::heap<kj::TaskSet>(*this);
};

}  // namespace halyard::hal
