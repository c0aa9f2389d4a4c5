// Undelivered: what becomes of calls and answers that the kernel does not take, for the descriptors
// that go with them, while the connection lives on.
// Thread safety: loop thread only.
// Ownership: owns the messages that it makes.
//
// The peer never hears of a call that could not be sent: this end gets the answer that the peer
// would have given, an error, and its word that it is done with the call is not sent, either. In
// place of an answer that could not be sent an error goes to the peer; what the answer would have
// given it is given back here.
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
    DONE,       // nothing is to be sent
    SEND_ELSE,  // `instead` is to be sent
    FATAL,      // the connection cannot go on without the message
  };
  // The message could not be sent, for a `reason` in words.
  Outcome replace(Segments message, const std::string& reason, Message* instead);
  // Whether the message is about a call that the peer has never seen, and must not be sent.
  bool concernsUnsent(Segments message);
  // To be told of each message that has come while there isAwaiting.
  bool isAwaiting() const { return !exports_.empty(); }
  void look(capnp::MessageReader& received);

  // What this end is to receive as if the peer had sent it, in this order.
  bool hasIncoming() const { return !incoming_.empty(); }
  kj::Array<capnp::word> takeIncoming();

 private:
  void release(const std::vector<uint32_t>& exports);

  std::set<uint32_t> unsent_;  // questions
  // What answers would have exported, by the question: until the peer is done with it.
  std::map<uint32_t, std::vector<uint32_t>> exports_;
  std::deque<kj::Array<capnp::word>> incoming_;
};

}  // namespace halyard::hal
