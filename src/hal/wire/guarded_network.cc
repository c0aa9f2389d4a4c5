#include "hal/wire/guarded_network.h"

#include <capnp/rpc.capnp.h>
#include <kj/refcount.h>

namespace halyard::hal {
namespace {

// The interval of checks on a connection whose peer does not read.
constexpr kj::Duration kRecheck = 5 * kj::MILLISECONDS;

}  // namespace

class GuardedNetwork::GuardedConnection final : public capnp::TwoPartyVatNetworkBase::Connection,
                                                public kj::Refcounted {
 public:
  using Base = capnp::TwoPartyVatNetworkBase::Connection;
  using Received = kj::Maybe<kj::Own<capnp::IncomingRpcMessage>>;

  GuardedConnection(kj::Own<Base> inner, GuardedNetwork& owner)
      : inner_(kj::mv(inner)), owner_(owner), network_(owner.network_), timer_(owner.timer_) {}
  ~GuardedConnection() noexcept(false) override { owner_.current_ = nullptr; }

  kj::Own<capnp::RpcFlowController> newStream() override { return inner_->newStream(); }
  capnp::rpc::twoparty::VatId::Reader getPeerVatId() override { return inner_->getPeerVatId(); }
  kj::Own<capnp::OutgoingRpcMessage> newOutgoingMessage(unsigned firstSegmentWords) override {
    return inner_->newOutgoingMessage(firstSegmentWords);
  }
  kj::Promise<void> shutdown() override { return inner_->shutdown(); }

  kj::Promise<Received> receiveIncomingMessage() override {
    if (network_.getCurrentQueueSize() > kMaxUnsentBytes ||
        network_.getCurrentQueueCount() > kMaxUnsentMessages) {
      return timer_.afterDelay(kRecheck).then([this] { return receiveIncomingMessage(); });
    }
    return inner_->receiveIncomingMessage().then([this](Received received) -> Received {
      KJ_IF_MAYBE (message, received) count(**message);
      return received;
    });
  }

 private:
  void count(capnp::IncomingRpcMessage& message) {
    switch (message.getBody().getAs<capnp::rpc::Message>().which()) {
      case capnp::rpc::Message::CALL:
      case capnp::rpc::Message::BOOTSTRAP:
        if (++unfinished_ > kMaxUnfinishedCalls) {
          kj::throwFatalException(KJ_EXCEPTION(FAILED, "too many calls that are not finished"));
        }
        break;
      case capnp::rpc::Message::FINISH:
        // The RPC system refuses a message that finishes no call.
        if (unfinished_ > 0) --unfinished_;
        break;
      default:
        break;
    }
  }

  kj::Own<Base> inner_;
  GuardedNetwork& owner_;
  capnp::TwoPartyVatNetwork& network_;
  kj::Timer& timer_;
  size_t unfinished_ = 0;
};

kj::Own<capnp::TwoPartyVatNetworkBase::Connection> GuardedNetwork::guard(
    kj::Own<Connection> connection) {
  if (current_ != nullptr) return kj::addRef(*current_);
  auto guarded = kj::refcounted<GuardedConnection>(kj::mv(connection), *this);
  current_ = guarded.get();
  return guarded;
}

kj::Maybe<kj::Own<capnp::TwoPartyVatNetworkBase::Connection>> GuardedNetwork::connect(
    capnp::rpc::twoparty::VatId::Reader peer) {
  auto connected = network_.connect(peer);
  KJ_IF_MAYBE (connection, connected) return guard(kj::mv(*connection));
  return nullptr;
}

kj::Promise<kj::Own<capnp::TwoPartyVatNetworkBase::Connection>> GuardedNetwork::accept() {
  return network_.accept().then(
      [this](kj::Own<Connection> connection) { return guard(kj::mv(connection)); });
}

}  // namespace halyard::hal
