#include "hal/server/server.h"

#include <algorithm>
#include <vector>

#include "hal/core/completion.h"
#include "hal/server/device_server.h"
#include "hal/server/server_core.h"

namespace halyard::hal {
namespace {

// The time in which a refused client can ask for the reason.
constexpr kj::Duration kRefusalTime = 2 * kj::SECONDS;

// The limit of notifications that a client has not answered. An honest client answers at once.
constexpr unsigned kMostUnanswered = 4096;

}  // namespace

ServerCore::Connection::Connection(std::shared_ptr<ServedClient> theClient,
                                   RpcLoop::Context& context, UniqueFd socket, UniqueFd theProcess,
                                   PeerTerms terms)
    : client(std::move(theClient)),
      wire(context, std::move(socket), capnp::rpc::twoparty::Side::SERVER,
           capnp::Capability::Client(makeDriverServer(client)), std::move(terms)),
      process(std::move(theProcess)) {
  kj::Promise<void> due = kj::NEVER_DONE;
  if (process.valid()) {
    auto observer = kj::heap<kj::UnixEventPort::FdObserver>(
        context.io.unixEventPort, process.get(), kj::UnixEventPort::FdObserver::OBSERVE_READ);
    due = observer->whenBecomesReadable();
    processEnds = kj::mv(observer);
  }
  if (!client->refusal.ok()) {
    due = due.exclusiveJoin(context.io.provider->getTimer().afterDelay(kRefusalTime));
  }
  end = due.then([this] { wire.shutdown(); }).eagerlyEvaluate([](kj::Exception&&) {});
}

void ServerCore::serve(RpcLoop::Context& context, UniqueFd socket,
                       std::function<void()> onDisconnect, ClientTerms terms) {
  auto client = std::make_shared<ServedClient>(
      ServedClient{*this, std::make_shared<ClientSession>(device, services, terms.quota),
                   executor_.openLane({.queued = terms.queuedCalls}), std::move(terms.refusal)});
  client->open = open_;
  client->uid = terms.uid;
  client->closing = ForeignAccount::of(fmt::format("user {}", terms.uid));
  PeerTerms peer{terms.quota, client->closing};
  connections_.emplace_front(std::move(client), context, std::move(socket),
                             std::move(terms.process), std::move(peer));
  const auto connection = connections_.begin();
  // evalLater is used because the connection must not be destroyed by its own event.
  tasks_->add(connection->wire.onDisconnect().then([this, connection, onDisconnect] {
    return kj::evalLater([this, connection, onDisconnect] {
      endClient(*connection->client);
      // onDisconnect is called first, because some drivers take long to destroy the client's
      // objects.
      onDisconnect();
      connections_.erase(connection);
    });
  }));
}

void ServerCore::endClient(const ServedClient& client) {
  client.session->end();
  executor_.close(client.lane);
  // The promises of these calls fail, and the answers are destroyed.
  std::vector<Job> unanswered;
  for (auto it = jobs_.begin(); it != jobs_.end();) {
    if (it->second.client == &client) {
      unanswered.push_back(std::move(it->second));
      it = jobs_.erase(it);
    } else {
      ++it;
    }
  }
}

void ServerCore::dispose(std::shared_ptr<void> object) { executor_.dispose(std::move(object)); }

// Posting fails when the server ends. The object is then destroyed here.
void ServerCore::disposeFirst(std::shared_ptr<void> object) {
  auto shared = std::make_shared<std::shared_ptr<void>>(std::move(object));
  (void)executor_.post(firstDisposals_, ThreadClass::URGENT, [shared] { shared->reset(); });
}

void ServerCore::endSessions() {
  for (const Connection& connection : connections_) connection.client->session->end();
}

void ServerCore::disconnect(const ServedClient& client) {
  for (Connection& connection : connections_) {
    if (connection.client.get() == &client) connection.wire.shutdown();
  }
}

void notified(const std::shared_ptr<ServedClient>& client, kj::Promise<void> answered) {
  if (++client->unansweredNotifications > kMostUnanswered) client->core.disconnect(*client);
  client->core.detach(
      answered.then([client] { --client->unansweredNotifications; },
                    [client](kj::Exception&&) { --client->unansweredNotifications; }));
}

void ServedClient::dispose(std::shared_ptr<void> object) const {
  if (*open) core.dispose(std::move(object));
}

void ServedClient::disposeFirst(std::shared_ptr<void> object) const {
  if (*open) core.disposeFirst(std::move(object));
}

void ServerCore::closeAll() {
  endSessions();
  tasks_ = nullptr;
  connections_.clear();
  jobs_.clear();
  *open_ = false;
}

void ServerCore::finish(uint64_t id) {
  const auto it = jobs_.find(id);
  if (it == jobs_.end()) return;
  it->second.finished->fulfill();
  jobs_.erase(it);
}

Result<std::unique_ptr<Server>> Server::start(std::shared_ptr<RpcLoop> loop,
                                              std::shared_ptr<Device> device,
                                              ServerOptions options) {
  auto* const core = new ServerCore(*loop, std::move(device), std::move(options));
  return std::unique_ptr<Server>(new Server(std::move(loop), core));
}

Server::~Server() {
  // The order is: the loop passes on no more work, the executor ends, and the core is deleted. Jobs
  // post to the core until their end.
  (void)onLoop([core = core_] { core->closeAll(); });
  core_->services->executor().stop();
  (void)onLoop([core = core_] { delete core; });
}

bool Server::onLoop(std::function<void()> work, TimePoint until) {
  const auto done = std::make_shared<Completion<bool>>();
  loop_->post([work = std::move(work), done](RpcLoop::Context&) {
    work();
    done->set(true);
  });
  if (until == TimePoint::max()) return done->wait();
  return done->waitUntil(until).has_value();
}

void Server::serve(UniqueFd socket, std::function<void()> onDisconnect, ClientTerms terms) {
  auto shared = std::make_shared<UniqueFd>(std::move(socket));
  auto sharedTerms = std::make_shared<ClientTerms>(std::move(terms));
  loop_->post([core = core_, shared, sharedTerms,
               onDisconnect = std::move(onDisconnect)](RpcLoop::Context& context) {
    core->serve(context, std::move(*shared), onDisconnect, std::move(*sharedTerms));
  });
}

bool Server::drain(std::chrono::milliseconds limit) {
  const TimePoint end = Clock::now() + limit;
  if (!onLoop([core = core_] { core->endSessions(); }, end)) return false;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now());
  return core_->services->executor().drain(std::max(left, std::chrono::milliseconds(0)));
}

}  // namespace halyard::hal
