// GuardedNetwork: reads the messages of a connection only as fast as its peer reads the answers.
// Thread safety: loop thread only.
// Ownership: borrows the network under it, which must outlive it.
//
// Cap'n Proto limits the size of running calls. It limits neither the bytes that wait for a peer
// that does not read, nor the number of answers that a peer never finishes.
#pragma once

#include <capnp/rpc-twoparty.h>
#include <kj/timer.h>

namespace halyard::hal {

class GuardedNetwork final : public capnp::TwoPartyVatNetworkBase {
 public:
  // No message is read while more than this number of bytes waits to be written.
  static constexpr size_t kMaxUnsentBytes = size_t{1} << 20;
  static constexpr size_t kMaxUnsentMessages = 1024;
  // A peer with more unfinished calls loses its connection.
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
  // There is only one object, because the RPC system identifies connections by their address.
  GuardedConnection* current_ = nullptr;
};

}  // namespace halyard::hal
