#include "hal/wire/undelivered.h"

#include <capnp/rpc.capnp.h>
#include <capnp/serialize.h>

#include <utility>

namespace halyard::hal {
namespace {

using capnp::rpc::Message;

void setException(capnp::rpc::Return::Builder answer, const std::string& reason) {
  auto exception = answer.initException();
  exception.setReason(reason);
  exception.setType(capnp::rpc::Exception::Type::OVERLOADED);
}

capnp::ReaderOptions ownMessage() {
  capnp::ReaderOptions options;
  options.traversalLimitInWords = UINT64_MAX;
  return options;
}

}  // namespace

Undelivered::Outcome Undelivered::replace(Segments message, const std::string& reason,
                                          Undelivered::Message* instead) {
  capnp::SegmentArrayMessageReader reader(message, ownMessage());
  const auto root = reader.getRoot<capnp::rpc::Message>();
  capnp::MallocMessageBuilder made;
  switch (root.which()) {
    case capnp::rpc::Message::CALL: {
      const uint32_t question = root.getCall().getQuestionId();
      auto answer = made.initRoot<capnp::rpc::Message>().initReturn();
      answer.setAnswerId(question);
      setException(answer, reason);
      unsent_.insert(question);
      incoming_.push_back(capnp::messageToFlatArray(made));
      return Outcome::DONE;
    }
    case capnp::rpc::Message::RETURN: {
      const auto lost = root.getReturn();
      *instead = kj::heap<capnp::MallocMessageBuilder>();
      auto answer = (*instead)->initRoot<capnp::rpc::Message>().initReturn();
      answer.setAnswerId(lost.getAnswerId());
      answer.setReleaseParamCaps(lost.getReleaseParamCaps());
      setException(answer, reason);
      std::vector<uint32_t> exports;
      if (lost.isResults()) {
        for (const auto capability : lost.getResults().getCapTable()) {
          if (capability.isSenderHosted()) exports.push_back(capability.getSenderHosted());
          if (capability.isSenderPromise()) exports.push_back(capability.getSenderPromise());
        }
      }
      if (!exports.empty()) exports_[lost.getAnswerId()] = std::move(exports);
      return Outcome::SEND_ELSE;
    }
    default:
      return Outcome::FATAL;
  }
}

bool Undelivered::concernsUnsent(Segments message) {
  if (unsent_.empty()) return false;
  capnp::SegmentArrayMessageReader reader(message, ownMessage());
  const auto root = reader.getRoot<capnp::rpc::Message>();
  return root.isFinish() && unsent_.erase(root.getFinish().getQuestionId()) != 0;
}

// The FINISH of a peer says whether it releases the capabilities of the answer. After an error, the
// peer keeps none, but it does not know of them and does not say so. They are then released here.
void Undelivered::look(capnp::MessageReader& received) {
  const auto root = received.getRoot<capnp::rpc::Message>();
  if (!root.isFinish()) return;
  const auto at = exports_.find(root.getFinish().getQuestionId());
  if (at == exports_.end()) return;
  if (!root.getFinish().getReleaseResultCaps()) release(at->second);
  exports_.erase(at);
}

void Undelivered::release(const std::vector<uint32_t>& exports) {
  for (const uint32_t id : exports) {
    capnp::MallocMessageBuilder made;
    auto release = made.initRoot<capnp::rpc::Message>().initRelease();
    release.setId(id);
    release.setReferenceCount(1);
    incoming_.push_back(capnp::messageToFlatArray(made));
  }
}

kj::Array<capnp::word> Undelivered::takeIncoming() {
  auto message = kj::mv(incoming_.front());
  incoming_.pop_front();
  return message;
}

}  // namespace halyard::hal
