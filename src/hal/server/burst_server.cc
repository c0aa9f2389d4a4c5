#include "hal/server/burst_server.h"

#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <cerrno>

#include "hal/ring/doorbell.h"
#include "hal/ring/served_ring.h"
#include "hal/wire/wire_memory.h"

namespace halyard::hal {
namespace {

using RingPtr = std::shared_ptr<ServedRing>;

// A descriptor for the client. It is closed with the capability, which the client may keep longer
// than the burst.
class GivenAway final : public wire::FileDescriptor::Server {
 public:
  GivenAway(UniqueFd fd, std::shared_ptr<const Quota::Charge> charge)
      : charge_(std::move(charge)), fd_(std::move(fd)) {}
  kj::Maybe<int> getFd() override { return fd_.get(); }

 private:
  const std::shared_ptr<const Quota::Charge> charge_;
  const UniqueFd fd_;
};

class BurstContextServer;
// The address of the context, for the loop thread. Null after the context's end.
using ContextPlace = std::shared_ptr<BurstContextServer*>;

class BurstContextServer final : public wire::v1_2::IBurstContext::Server {
 public:
  BurstContextServer(std::shared_ptr<ServedClient> client, RingPtr ring,
                     wire::v1_2::IBurstCallback::Client callback, ContextPlace place,
                     Quota::Charge charge)
      : client_(std::move(client)),
        ring_(std::move(ring)),
        callback_(kj::mv(callback)),
        place_(std::move(place)),
        charge_(std::move(charge)) {
    *place_ = this;
    ++client_->bursts;
  }
  ~BurstContextServer() {
    *place_ = nullptr;
    --client_->bursts;
    if (*client_->open) client_->core.services->executor().remove(*ring_);
    ring_->close();
  }
  KJ_DISALLOW_COPY(BurstContextServer);

  kj::Promise<void> freeMemory(FreeMemoryContext context) override {
    ring_->freeMemory(context.getParams().getSlot());
    return kj::READY_NOW;
  }

  kj::Promise<void> freeRecording(FreeRecordingContext context) override {
    ring_->freeRecording(context.getParams().getNumber());
    return kj::READY_NOW;
  }

  // Asks the client for the memories in the slots. The ring gets the memories or the error.
  void fetch(const std::vector<int32_t>& slots) {
    auto call = callback_.getMemoriesRequest();
    auto list = call.initSlots(static_cast<unsigned>(slots.size()));
    for (unsigned i = 0; i < list.size(); ++i) list.set(i, slots[i]);
    using Pools = Result<std::vector<PoolDescription>>;
    auto answer = call.send().then([](auto&& response) -> kj::Promise<Pools> {
      Status status = fromWireStatus(response.getStatus(), response.getMessage());
      if (!status.ok()) return Pools(std::move(status));
      if (response.getMemories().size() > kMaxPools) {
        return Pools(
            badData("{} at once; at most {} are taken", response.getMemories().size(), kMaxPools));
      }
      std::vector<wire::Memory::Reader> memories;
      for (const auto memory : response.getMemories()) memories.push_back(memory);
      auto decoded = decodeMemories(std::move(memories));
      return decoded.attach(kj::mv(response));
    });
    client_->core.detach(answer.then(
        [ring = ring_](Pools pools) { ring->memoriesArrived(std::move(pools)); },
        [ring = ring_](kj::Exception&& exception) { ring->memoriesArrived(statusOf(exception)); }));
  }

 private:
  const std::shared_ptr<ServedClient> client_;
  const RingPtr ring_;
  wire::v1_2::IBurstCallback::Client callback_;
  const ContextPlace place_;
  const Quota::Charge charge_;
};

// Runs on the loop thread. Accepts only a memfd, because another file system may block the thread.
Result<DatumQueue> openQueue(PoolDescription description, const QueueShape& shape) {
  const int seals = description.fd.valid() ? ::fcntl(description.fd.get(), F_GET_SEALS) : 0;
  if (seals < 0) {
    return badData("its memory could shrink; a memfd is needed that is sealed against it");
  }
  HALYARD_ASSIGN_OR_RETURN(const ReceivedPool pool, ReceivedPool::open(std::move(description)));
  if (!pool.mappable()) {
    return badData("its memory could shrink; a memfd is needed that is sealed against it");
  }
  return DatumQueue::map(*pool.memory(), shape);
}

QueueShape shapeOf(wire::QueueDescriptor::Reader queue) {
  return {queue.getElementCount(), queue.getElementSize(), queue.getHasEventWord()};
}

// The doorbell that the driver watches: the client's, or an eventfd of the driver for a client of
// an earlier schema. Such a client gets a duplicate, and the driver only watches the eventfd,
// because the client may fill it.
struct WatchedDoorbell {
  ForeignFd fd;
  UniqueFd given;  // for the client; invalid when the client has its own
};

Result<WatchedDoorbell> openDoorbell(bool hasDoorbell, ForeignFd received) {
  WatchedDoorbell doorbell;
  if (hasDoorbell) {
    HALYARD_RETURN_IF_ERROR(checkLocalSocket(received.get(), SOCK_STREAM), "doorbell");
    doorbell.fd = std::move(received);
    return doorbell;
  }
  doorbell.given.reset(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  doorbell.fd = ForeignFd(doorbell.given.duplicate());
  if (!doorbell.fd.valid()) {
    return errnoStatus(ResultCode::RESOURCE_EXHAUSTED_TRANSIENT, errno, "eventfd for a burst");
  }
  return doorbell;
}

struct OpenedRing {
  RingPtr ring;
  UniqueFd doorbell;  // for the client; invalid when the client has its own
};

// A client's message that opens a burst.
struct BurstOrder {
  QueueShape requests;
  QueueShape results;
  bool extended = false;
  bool takesCopied = false;
  bool hasDoorbell = false;
};

// The descriptors of the message.
struct Received {
  Result<std::vector<PoolDescription>> pools;
  ForeignFd doorbell;
};

Result<OpenedRing> openRing(std::vector<PoolDescription>& memories, ForeignFd received,
                            const BurstOrder& order, const BurstTarget& target,
                            std::function<void(std::vector<int32_t>)> fetch) {
  HALYARD_ASSIGN_OR_RETURN(DatumQueue requests, openQueue(std::move(memories[0]), order.requests),
                           "request channel");
  HALYARD_ASSIGN_OR_RETURN(DatumQueue results, openQueue(std::move(memories[1]), order.results),
                           "result channel");
  HALYARD_ASSIGN_OR_RETURN(WatchedDoorbell doorbell,
                           openDoorbell(order.hasDoorbell, std::move(received)));
  HALYARD_ASSIGN_OR_RETURN(
      RingPtr ring,
      ServedRing::create(
          {std::move(requests), std::move(results), target.model, target.preparedModel,
           target.version, order.extended, std::move(fetch), std::move(doorbell.fd),
           target.client->session->quota().shared_from_this(), target.client->closing,
           target.client->core.services->spinGate(target.priority), order.takesCopied}));
  return OpenedRing{std::move(ring), std::move(doorbell.given)};
}

Status asFailure(const Status& status) {
  const ResultCode code = status.code();
  return code == ResultCode::RESOURCE_EXHAUSTED_TRANSIENT ? status
                                                          : status.withCode(ResultCode::OP_FAILED);
}

// A pointer to the ring for objects of the loop. Another thread destroys the ring, because the ring
// may be the last owner of its model.
RingPtr disposedOf(std::shared_ptr<ServedClient> client, RingPtr ring) {
  ServedRing* const address = ring.get();
  return {address, [client = std::move(client), ring = std::move(ring)](ServedRing*) mutable {
            client->dispose(std::move(ring));
          }};
}

// Completes the call after the ring is made.
Status finish(ConfigureBurstContext context, const BurstTarget& target, OpenedRing opened,
              wire::v1_2::IBurstCallback::Client callback, const ContextPlace& place,
              bool extended) {
  const RingPtr& ring = opened.ring;
  const RingPtr held = disposedOf(target.client, ring);
  HALYARD_ASSIGN_OR_RETURN(Quota::Charge charge,
                           target.client->session->quota().charge(Quota::Resource::RINGS, 1));
  UniqueFd channel = ring->takeMemoryChannel();
  HALYARD_ASSIGN_OR_RETURN(Quota::Charge charged,
                           target.client->session->quota().charge(
                               Quota::Resource::DESCRIPTORS,
                               (opened.doorbell.valid() ? 1 : 0) + (channel.valid() ? 1 : 0)));
  const auto descriptors = std::make_shared<const Quota::Charge>(std::move(charged));
  auto server =
      kj::heap<BurstContextServer>(target.client, held, kj::mv(callback), place, std::move(charge));
  HALYARD_RETURN_IF_ERROR(target.client->core.services->executor().add(
      ring, target.client->lane, threadClassOf(target.priority)));
  auto results = context.getResults();
  results.setBurstContext(kj::mv(server));
  results.setTakesDoorbell(!opened.doorbell.valid());
  if (opened.doorbell.valid()) {
    results.setDoorbell(kj::heap<GivenAway>(std::move(opened.doorbell), descriptors));
  }
  if (channel.valid()) {
    results.setMemoryChannel(kj::heap<GivenAway>(std::move(channel), descriptors));
  }
  results.setExtended(extended);
  if (extended) results.setRecordings(kMaxRecordings);
  results.setTakesTokens(extended && target.version >= HalVersion::V1_3);
  return okStatus();
}

}  // namespace

kj::Promise<void> configureBurst(ConfigureBurstContext context, BurstTarget target) {
  const auto params = context.getParams();
  const HalVersion version = target.version;
  const auto refuse = [&](const Status& status) -> kj::Promise<void> {
    setStatus(context.getResults(), status, version);
    return kj::READY_NOW;
  };
  if (!params.hasCallback()) return refuse(opFailed("the callback is null"));
  if (!target.client->core.device->info().bursts) return refuse(noBursts());
  if (target.client->bursts >= kMaxBursts) {
    return refuse(makeStatus(ResultCode::RESOURCE_EXHAUSTED_TRANSIENT,
                             "the client has {} bursts; it may not have more", kMaxBursts));
  }
  const BurstOrder order{shapeOf(params.getRequestChannel()), shapeOf(params.getResultChannel()),
                         params.getExtended(), params.getTakesCopied(), params.hasDoorbell()};
  wire::v1_2::IBurstCallback::Client callback = params.getCallback();
  const auto place = std::make_shared<BurstContextServer*>(nullptr);
  ServerCore& core = target.client->core;
  auto fetch = [&core, place](std::vector<int32_t> slots) {
    core.post([place, slots = std::move(slots)] {
      if (*place != nullptr) (*place)->fetch(slots);
    });
  };
  std::vector<wire::Memory::Reader> memories;
  memories.push_back(params.getRequestChannel().getMemory());
  memories.push_back(params.getResultChannel().getMemory());
  auto doorbell =
      order.hasDoorbell ? duplicateFd(params.getDoorbell()) : kj::Promise<ForeignFd>(ForeignFd());
  return decodeMemories(std::move(memories))
      .then([doorbell = kj::mv(doorbell)](Result<std::vector<PoolDescription>> pools) mutable {
        return doorbell.then([pools = std::move(pools)](ForeignFd received) mutable {
          return Received{std::move(pools), std::move(received)};
        });
      })
      .then([context, target = std::move(target), order, callback, place, fetch,
             version](Received received) mutable {
        context.releaseParams();
        const auto open = [&]() -> Status {
          HALYARD_ASSIGN_OR_RETURN(std::vector<PoolDescription> pools, std::move(received.pools));
          HALYARD_ASSIGN_OR_RETURN(OpenedRing opened, openRing(pools, std::move(received.doorbell),
                                                               order, target, std::move(fetch)));
          return finish(context, target, std::move(opened), callback, place, order.extended);
        };
        const Status status = open();
        setStatus(context.getResults(), status.ok() ? status : asFailure(status), version);
      });
}

}  // namespace halyard::hal
