// GuardedNetwork: the messages of one connection, read only as fast as its peer takes the answers.
// Thread safety: loop thread only.
// Ownership: borrows the network under it, which must outlive it.
//
// Cap'n Proto bounds the size of the calls that it works on, but neither what waits to be written
// to a peer that does not read nor the number of answers that a peer never says it is done with.
#pragma once

#include <capnp/rpc-twoparty.h>
#include <kj/timer.h>

namespace halyard::hal {

class GuardedNetwork final : public capnp::TwoPartyVatNetworkBase {
 public:
  // While more than this waits to be written nothing is read.
  static constexpr size_t kMaxUnsentBytes = size_t{1} << 20;
  static constexpr size_t kMaxUnsentMessages = 1024;
  // A peer with more calls that it has not finished loses its connection.
  static constexpr size_t kMaxUnfinishedCalls = 8192;

  GuardedNetwork(capnp::TwoPartyVatNetwork& network, kj::Timer& timer)
      : network_(network), timer_(timer) {}

  kj::Maybe<kj::Own<Connection>> connect(capnp::rpc::twoparty::VatId::Reader peer) override;
  kj::Promise<kj::Own<Connection>> accept() override;

 private:
  class GuardedConnection;

  kj::Own<Connection> guard(kj::Own<Connection> connection);

  capnp::TwoPartyVatNetwork& network_;
  kj::Timer& timer_;
  // There is one, however often it is asked for: the RPC system knows connections by their address.
  GuardedConnection* current_ = nullptr;
};

}  // namespace halyard::hal
