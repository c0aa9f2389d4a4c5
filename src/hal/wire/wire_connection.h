// One end of a Cap'n Proto connection over a Unix socket that passes file descriptors.
// Thread safety: loop thread only.
// Ownership: owns the socket.
#pragma once

#include <capnp/rpc-twoparty.h>
#include <capnp/rpc.h>

#include "hal/types.capnp.h"
#include "hal/wire/guarded_network.h"
#include "hal/wire/message_socket.h"
#include "hal/wire/rpc_loop_context.h"
#include "hal/wire/wire_types.h"
#include "halyard/driver/unique_fd.h"

namespace halyard::hal {

class WireConnection {
 public:
  // `bootstrap`: the peer's first object; null on a client. `terms`: the limits for the peer.
  WireConnection(RpcLoop::Context& context, UniqueFd socket, capnp::rpc::twoparty::Side side,
                 kj::Maybe<capnp::Capability::Client> bootstrap, PeerTerms terms = {})
      : stream_(context.io.unixEventPort, std::move(socket), wire::MAX_FDS_PER_MESSAGE,
                limited(std::move(terms))),
        network_(stream_, wire::MAX_FDS_PER_MESSAGE, side, readerOptions()),
        guarded_(network_, context.io.provider->getTimer()),
        rpc_(makeRpc(network_, guarded_, bootstrap)) {
    // Waiting calls count with their size. Above this limit, the peer is not read any further.
    rpc_.setFlowLimit(4 * kMaxMessageWords);
  }

  // Returns the peer's first object.
  capnp::Capability::Client peer() {
    capnp::MallocMessageBuilder message(4);
    auto id = message.getRoot<capnp::rpc::twoparty::VatId>();
    id.setSide(network_.getSide() == capnp::rpc::twoparty::Side::CLIENT
                   ? capnp::rpc::twoparty::Side::SERVER
                   : capnp::rpc::twoparty::Side::CLIENT);
    return rpc_.bootstrap(id);
  }
  kj::Promise<void> onDisconnect() { return network_.onDisconnect(); }
  // Ends the connection as if the peer had closed it.
  void shutdown() { stream_.shutdown(); }

 private:
  using Rpc = capnp::RpcSystem<capnp::rpc::twoparty::VatId>;

  static PeerTerms limited(PeerTerms terms) {
    terms.mostWords = kMaxMessageWords + kMaxEnvelopeWords;
    return terms;
  }
  static capnp::ReaderOptions readerOptions() {
    capnp::ReaderOptions options;
    // Twice the size of a message, because decoding reads parts of it more than once. The socket
    // limits the size itself.
    options.traversalLimitInWords = 2 * kMaxMessageWords;
    options.nestingLimit = 64;
    return options;
  }
  // Only the server's end is guarded, because it serves unknown peers. If both ends stopped reading
  // until the other has read, neither would go on.
  static Rpc makeRpc(capnp::TwoPartyVatNetwork& network, GuardedNetwork& guarded,
                     kj::Maybe<capnp::Capability::Client>& bootstrap) {
    KJ_IF_MAYBE (client, bootstrap) return capnp::makeRpcServer(guarded, kj::mv(*client));
    return capnp::makeRpcClient(network);
  }

  MessageSocket stream_;
  capnp::TwoPartyVatNetwork network_;
  GuardedNetwork guarded_;
  Rpc rpc_;
};

}  // namespace halyard::hal
