#include "hal/client/driver_connection.h"

#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <thread>

#include "base/verbose_log.h"

namespace halyard::hal {
namespace {

// The time in which a driver must end after it has lost, or closed, its connection.
constexpr kj::Duration kExitGrace = 2 * kj::SECONDS;
// The time after a deadline for the driver's own answer to arrive.
constexpr std::chrono::milliseconds kAnswerGrace{4};
// If this process itself was stopped, the answer may be unread at the limit. The loop then has this
// time to read it.
constexpr std::chrono::milliseconds kReading{100};
// The time after a limit in which the loop should report it. After that, the waiting thread does.
constexpr std::chrono::milliseconds kLoopGrace{50};
// The longest time for which the end of a connection waits for the loop.
constexpr std::chrono::milliseconds kEndLimit{2'000};
// The time between two checks by a waiting thread of whether the loop works.
constexpr std::chrono::milliseconds kBetweenLooks{1'000};

struct Socket {
  UniqueFd fd;
  std::shared_ptr<ChildProcess> child;  // null: the driver already runs
  pid_t processId = 0;
};

Result<Socket> spawnDriver(const Manifest& manifest) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    return errnoStatus(ResultCode::OUT_OF_MEMORY, errno, "socketpair");
  }
  Socket socket;
  socket.fd.reset(ends[0]);
  const UniqueFd childEnd(ends[1]);
  HALYARD_ASSIGN_OR_RETURN(socket.child,
                           ChildProcess::spawn(manifest.target, childEnd.get(),
                                               sandboxText(manifest.sandbox), manifest.arguments));
  socket.processId = socket.child->pid();
  return socket;
}

Result<Socket> connectToDriver(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) {
    return makeStatus(ResultCode::UNAVAILABLE_DEVICE, "socket path {} has more than {} bytes", path,
                      sizeof address.sun_path - 1);
  }
  path.copy(address.sun_path, path.size());
  Socket socket;
  // The socket is non-blocking, so that a service that does not accept cannot block the
  // application.
  socket.fd.reset(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket.fd.valid()) return errnoStatus(ResultCode::OUT_OF_MEMORY, errno, "socket");
  if (::connect(socket.fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) !=
      0) {
    return errnoStatus(ResultCode::UNAVAILABLE_DEVICE, errno,
                       fmt::format("connecting to its service at {}", path));
  }
  ucred peer{};
  socklen_t length = sizeof peer;
  if (::getsockopt(socket.fd.get(), SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0) {
    socket.processId = peer.pid;
  }
  return socket;
}

// A driver of an earlier schema gives an empty list.
IsolationReport decodeIsolation(capnp::List<wire::IsolationMeasure>::Reader list) {
  constexpr unsigned kMost = 64;
  IsolationReport report;
  for (unsigned i = 0; i < std::min(list.size(), kMost); ++i) {
    const auto state = static_cast<IsolationMeasure::State>(list[i].getState());
    if (state > IsolationMeasure::State::OFF) continue;  // of a later schema
    report.push_back({safeText(list[i].getName()), state, safeText(list[i].getDetail())});
  }
  return report;
}

kj::Promise<std::string> endOf(RpcLoop::Context& context, std::shared_ptr<ChildProcess> child) {
  if (child == nullptr) return kj::NEVER_DONE;
  return context.whenEnded(std::move(child));
}

// Kills the process if it has not ended after the grace time. Resolves with the text of its end.
kj::Promise<std::string> endWithin(DriverConnection::Side& side, kj::Duration grace) {
  auto late = side.context.io.provider->getTimer().afterDelay(grace).then(
      [child = side.child]() -> kj::Promise<std::string> {
        child->kill();
        return kj::NEVER_DONE;
      });
  return side.ended.addBranch().exclusiveJoin(kj::mv(late));
}

}  // namespace

DriverConnection::Side::Side(RpcLoop::Context& theContext, UniqueFd socket,
                             std::shared_ptr<ChildProcess> theChild, const std::string& service,
                             PeerTerms terms)
    : context(theContext),
      wire(theContext, std::move(socket), capnp::rpc::twoparty::Side::CLIENT, nullptr,
           std::move(terms)),
      child(std::move(theChild)),
      ended(endOf(theContext, child).fork()),
      obituary(wire.onDisconnect()
                   .then([this, service]() -> kj::Promise<std::string> {
                     if (child == nullptr) {
                       return fmt::format("at {} closed its connection", service);
                     }
                     return endWithin(*this, kExitGrace);
                   })
                   .then([this](std::string&& text) { return silence.empty() ? text : silence; })
                   .fork()) {}

Result<std::shared_ptr<DriverConnection>> DriverConnection::open(std::shared_ptr<RpcLoop> loop,
                                                                 const Manifest& manifest,
                                                                 std::chrono::milliseconds limit) {
  const std::shared_ptr<DriverConnection> connection(
      new DriverConnection(std::move(loop), manifest), &DriverConnection::end);
  HALYARD_ASSIGN_OR_RETURN(Socket socket,
                           manifest.kind == Manifest::Kind::SOCKET
                               ? connectToDriver(manifest.target)
                               : spawnDriver(manifest),
                           "driver '{}'", manifest.name);
  connection->processId_ = socket.processId;
  connection->child_ = socket.child;
  HALYARD_RETURN_IF_ERROR(
      connection->handshake(std::move(socket.fd), std::move(socket.child), manifest, limit));
  vlog(VlogTag::DRIVER, "driver {} is there, process {}", connection->name_,
       connection->processId_);
  connection->tracePeer_ = trace::TraceCollection::ofProcess().add(connection);
  return connection;
}

// The data of the handshake for the loop thread, which may read it after the waiting thread has
// given up.
struct DriverConnection::Start {
  UniqueFd socket;
  std::shared_ptr<ChildProcess> child;
  std::string target;
  HalVersion version;
  std::chrono::milliseconds limit;
  std::mutex mutex;
  bool givenUp = false;
  Completion<Status> done;
};

Status DriverConnection::handshake(UniqueFd socket, std::shared_ptr<ChildProcess> child,
                                   const Manifest& manifest, std::chrono::milliseconds limit) {
  const auto start = std::make_shared<Start>();
  start->socket = std::move(socket);
  start->child = child;
  start->target = manifest.target;
  start->version = manifest.halVersion;
  start->limit = limit;
  loop_->post([this, start](RpcLoop::Context& context) {
    const std::lock_guard lock(start->mutex);
    if (!start->givenUp) setUp(context, start);
  });
  if (std::optional<Status> status = start->done.waitUntil(Clock::now() + limit + kLoopGrace)) {
    return std::move(*status);
  }
  const std::lock_guard lock(start->mutex);
  start->givenUp = true;
  if (child != nullptr) child->kill();
  return notStarted(limit);
}

Status DriverConnection::notStarted(std::chrono::milliseconds limit) const {
  return makeStatus(ResultCode::DEAD_OBJECT,
                    "driver '{}' (process {}) has not answered within {} ms of its start{}", name_,
                    processId_, limit.count(), child_ != nullptr ? " and was killed" : "");
}

void DriverConnection::setUp(RpcLoop::Context& context, const std::shared_ptr<Start>& start) {
  const std::shared_ptr<ChildProcess> child = start->child;
  auto made = kj::runCatchingExceptions([&] {
    side_ = new Side(context, std::move(start->socket), child, start->target,
                     {nullptr, ForeignAccount::of(fmt::format("driver {}", name_))});
  });
  KJ_IF_MAYBE (exception, made) {
    if (child != nullptr) child->kill();
    return start->done.set(opFailed("driver '{}': setting up its connection: {}", name_,
                                    exception->getDescription().cStr()));
  }
  side_->liveness.emplace(
      context.io.provider->getTimer(), [this] { return isAwaited(); }, answerTimeout_,
      [this] { return KJ_ASSERT_NONNULL(side_->driver).pingRequest().send().ignoreResult(); },
      [this] { declareSilent(); });
  // The connection ends with the process, even if another process still holds its socket.
  side_->watchers.add(
      side_->ended.addBranch().then([this](std::string&&) { side_->wire.shutdown(); }));
  side_->watchers.add(
      side_->obituary.addBranch().then([this](std::string&& text) { markDead(std::move(text)); }));
  auto late = context.io.provider->getTimer()
                  .afterDelay(start->limit.count() * kj::MILLISECONDS)
                  .then([this, child, limit = start->limit]() -> Status {
                    if (child != nullptr) child->kill();
                    return notStarted(limit);
                  });
  side_->watchers.add(
      sayHello(*side_, start->version)
          .exclusiveJoin(kj::mv(late))
          .then(
              [start](Status status) -> kj::Promise<void> {
                start->done.set(std::move(status));
                return kj::READY_NOW;
              },
              [this, start](kj::Exception&& exception) -> kj::Promise<void> {
                return explain(kj::mv(exception), "its start").then([start](Status status) {
                  start->done.set(std::move(status));
                });
              }));
}

kj::Promise<Status> DriverConnection::sayHello(Side& side, HalVersion wanted) {
  wire::IDriver::Client driver = side.wire.peer().castAs<wire::IDriver>();
  auto request = driver.helloRequest();
  side.driver = kj::mv(driver);
  request.setProtocolVersion(wire::PROTOCOL_VERSION);
  return request.send().then([this, &side, wanted](auto&& response) -> Status {
    HALYARD_RETURN_IF_ERROR(fromWireStatus(response.getStatus(), response.getMessage()),
                            "driver '{}'", name_);
    if (response.getProtocolVersion() != wire::PROTOCOL_VERSION) {
      return opFailed("driver '{}' speaks protocol version {}, not {}", name_,
                      response.getProtocolVersion(), static_cast<uint32_t>(wire::PROTOCOL_VERSION));
    }
    if (response.getHalVersion() < 9 + static_cast<unsigned>(wanted)) {
      return opFailed("driver '{}' serves HAL 1.{} at most, its manifest says {}", name_,
                      static_cast<int>(response.getHalVersion()) - 10, halVersionName(wanted));
    }
    if (!response.hasDevice()) return opFailed("driver '{}' has no device", name_);
    side.device = response.getDevice();
    isolation_ = decodeIsolation(response.getIsolation());
    return okStatus();
  });
}

void DriverConnection::end(DriverConnection* connection) {
  struct Parting {
    Completion<bool> ended;
    std::atomic<bool> isOneGone = false;  // set first by the loop or by its waiter
  };
  const auto parting = std::make_shared<Parting>();
  // side_ is read on the loop thread, because the set-up may still be in the loop's queue.
  connection->loop_->post([connection, parting](RpcLoop::Context& context) {
    connection->endSide(context);
    if (!parting->isOneGone.exchange(true)) {
      parting->ended.set(true);
    } else {
      // Another thread deletes the connection. The connection may own the loop, whose destructor
      // waits for this thread.
      std::thread([connection] { delete connection; }).detach();
    }
  });
  const bool ended = parting->ended.waitUntil(Clock::now() + kEndLimit).has_value();
  if (!ended && connection->child_ != nullptr) connection->child_->kill();
  if (ended || parting->isOneGone.exchange(true)) delete connection;
}

void DriverConnection::endSide(RpcLoop::Context& context) {
  if (Side* const side = std::exchange(side_, nullptr)) {
    if (side->child != nullptr) context.exits.add(endWithin(*side, kExitGrace).ignoreResult());
    delete side;
  } else if (child_ != nullptr) {
    child_->kill();
    context.exits.add(context.whenEnded(child_).ignoreResult());
  }
}

bool DriverConnection::dead() const {
  return deathText().has_value() || (child_ != nullptr && child_->ended());
}

void DriverConnection::release(uint64_t preparedModel) {
  later([preparedModel](Side& side) { side.preparedModels.erase(preparedModel); });
}

void DriverConnection::later(std::function<void(Side&)> work) {
  // The task that ends the side comes after this one.
  loop_->post([this, work = std::move(work)](RpcLoop::Context&) {
    if (side_ != nullptr) work(*side_);
  });
}

void DriverConnection::releaseBuffer(uint64_t buffer) {
  loop_->post([this, buffer](RpcLoop::Context&) {
    if (side_ != nullptr) side_->buffers.erase(buffer);
  });
}

void DriverConnection::watch(const std::shared_ptr<RingClient>& ring) {
  const std::lock_guard lock(mutex_);
  std::erase_if(rings_, [](const auto& known) { return known.expired(); });
  rings_.push_back(ring);
  if (death_) ring->end();
}

kj::Promise<Status> DriverConnection::explain(kj::Exception&& exception, std::string_view what) {
  using Type = kj::Exception::Type;
  const std::string description(safeText(capnp::Text::Reader(exception.getDescription().cStr())));
  if (exception.getType() == Type::DISCONNECTED && side_ != nullptr) {
    auto dead = side_->obituary.addBranch().then([this, what](std::string&& text) -> Status {
      return makeStatus(ResultCode::DEAD_OBJECT, "driver '{}' (process {}) {} during {}", name_,
                        processId_, text, what);
    });
    // The time limit is for a driver that claims to be disconnected but does not end.
    auto alive = side_->context.io.provider->getTimer()
                     .afterDelay(2 * kExitGrace)
                     .then([what, description]() -> Status {
                       return opFailed("{}: {}", what, description);
                     });
    return dead.exclusiveJoin(kj::mv(alive));
  }
  if (exception.getType() == Type::OVERLOADED) {
    return Status(
        makeStatus(ResultCode::RESOURCE_EXHAUSTED_TRANSIENT, "{}: {}", what, description));
  }
  if (exception.getType() == Type::UNIMPLEMENTED) {
    return Status(opFailed("it does not implement {}", what));
  }
  return Status(opFailed("{}: {}", what, description));
}

kj::Promise<Status> DriverConnection::pastLimit(RpcLoop::Context& context, CallLimit limit,
                                                std::string_view what) {
  constexpr std::chrono::nanoseconds kFar = std::chrono::hours(24 * 365);
  if (!limit.end) {
    const auto patience = executionLimit_ + kReading;
    return context.io.provider->getTimer()
        .afterDelay(patience.count() * kj::MILLISECONDS)
        .then([this, what]() -> Status {
          declareHung(what);
          return diedDuring(what);
        });
  }
  const TimePoint now = Clock::now();
  const std::chrono::nanoseconds left =
      *limit.end <= now ? kAnswerGrace : std::min(*limit.end - now, kFar) + kAnswerGrace;
  return context.io.provider->getTimer()
      .afterDelay(left.count() * kj::NANOSECONDS)
      .then([this, what, limit]() -> Status { return tooLate(limit, what); });
}

Status DriverConnection::tooLate(const CallLimit& limit, std::string_view what) const {
  if (!limit.computes) return opFailed("process {} has not answered {} in time", processId_, what);
  return makeStatus(ResultCode::MISSED_DEADLINE_TRANSIENT,
                    "process {} has not answered {} by its deadline", processId_, what);
}

TimePoint DriverConnection::nextLook(const CallLimit& limit) {
  const TimePoint next = Clock::now() + kBetweenLooks;
  return limit.end && *limit.end < next ? std::min(next, *limit.end + kLoopGrace) : next;
}

Status DriverConnection::checkWait(const CallLimit& limit, std::string_view what) const {
  const TimePoint now = Clock::now();
  if (limit.end && *limit.end <= now - kLoopGrace) {
    return tooLate(limit, what);
  }
  const std::chrono::milliseconds silence = loop_->silence();
  if (silence < answerTimeout_) return okStatus();
  return opFailed("{}: the RPC thread of this process has done nothing for {} ms", what,
                  silence.count());
}

void DriverConnection::declareSilent() {
  giveUp(
      fmt::format("has not answered anything for {} ms{}", answerTimeout_.count(), killedText()));
}

void DriverConnection::declareHung(std::string_view what) {
  std::string text = fmt::format("has not answered {} within {} ms{}", what,
                                 executionLimit_.count(), killedText());
  // The driver is marked at once, because the waiting thread goes on to another driver.
  markDead(text);
  later([this, text = std::move(text)](Side&) { giveUp(text); });
}

std::string_view DriverConnection::killedText() const {
  return child_ != nullptr ? " and was killed" : ", and was left";
}

void DriverConnection::giveUp(std::string text) {
  side_->silence = std::move(text);
  if (child_ != nullptr) child_->kill();
  side_->wire.shutdown();
}

DriverConnection::Wait::Wait(DriverConnection& connection) : connection_(connection) {
  connection.waits_.fetch_add(1);
  connection.loop_->post([&connection](RpcLoop::Context&) {
    if (connection.side_ != nullptr) connection.side_->liveness->watch();
  });
}

bool DriverConnection::isAwaited() const {
  return waits_.load() > 0 || !side_->fencedExecutions.empty();
}

DriverConnection::Wait::~Wait() { connection_.waits_.fetch_sub(1); }

void DriverConnection::markDead(std::string text) {
  const std::lock_guard lock(mutex_);
  if (!death_) death_ = std::move(text);
  for (const auto& ring : rings_) {
    if (const auto living = ring.lock()) living->end();
  }
}

Status DriverConnection::diedDuring(std::string_view what) const {
  return makeStatus(ResultCode::DEAD_OBJECT, "driver '{}' (process {}) {} during {}", name_,
                    processId_, deathText().value_or("has ended"), what);
}

std::optional<std::string> DriverConnection::deathText() const {
  const std::lock_guard lock(mutex_);
  return death_;
}

Status DriverConnection::deadBefore(const std::string& text, std::string_view what) const {
  return makeStatus(ResultCode::DEAD_OBJECT, "driver '{}' (process {}) {} before {}", name_,
                    processId_, text, what);
}

}  // namespace halyard::hal
