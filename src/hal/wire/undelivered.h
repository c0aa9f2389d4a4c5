// Undelivered: handles calls and answers that the kernel refuses because of their descriptors,
// while the connection stays alive.
// Thread safety: loop thread only.
// Ownership: owns the messages that it makes.
//
// The peer never gets a call that could not be sent. This end receives an error in place of the
// peer's answer, and does not send the call's FINISH. For an answer that could not be sent, the
// peer gets an error. The capabilities in that answer are released here.
#pragma once

#include <capnp/message.h>
#include <kj/array.h>

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace halyard::hal {

class Undelivered {
 public:
  using Segments = kj::ArrayPtr<const kj::ArrayPtr<const capnp::word>>;
  using Message = kj::Own<capnp::MallocMessageBuilder>;

  enum class Outcome {
    DONE,       // no message is sent
    SEND_ELSE,  // `instead` is sent
    FATAL,      // the connection cannot continue without the message
  };
  // Handles a message that could not be sent because of `reason`.
  Outcome replace(Segments message, const std::string& reason, Message* instead);
  // Returns whether the message concerns a call that the peer has never received. It must not be
  // sent.
  bool concernsUnsent(Segments message);
  // While isAwaiting, the owner must pass each received message to look().
  bool isAwaiting() const { return !exports_.empty(); }
  void look(capnp::MessageReader& received);

  // The messages that this end must receive as if the peer had sent them, in this order.
  bool hasIncoming() const { return !incoming_.empty(); }
  kj::Array<capnp::word> takeIncoming();

 private:
  void release(const std::vector<uint32_t>& exports);

  std::set<uint32_t> unsent_;  // questions
  // The exports of unsent answers by question, until the peer is done with it.
  std::map<uint32_t, std::vector<uint32_t>> exports_;
  std::deque<kj::Array<capnp::word>> incoming_;
};

}  // namespace halyard::hal
