#include "serve/grpc/bounded_message.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>
#include <grpcpp/grpcpp.h>

#include "serve/grpc/inference.grpc.pb.h"
#include "serve/grpc/messages.h"

namespace halyard::serve {
namespace {

using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedInputStream;
using Contents = inference::InferTensorContents;
using Input = inference::ModelInferRequest::InferInputTensor;
using Message = inference::ModelInferRequest;

// Raw contents, and those with elements of a fixed size, are copied once or twice. Other bytes
// become more: an empty string of two bytes takes 32 bytes, its place in the heap and two pointers.
constexpr uint64_t kMemoryOfDenseByte = 3;
constexpr uint64_t kMemoryOfOtherByte = 48;
constexpr uint64_t kMemoryOfTensor = 512;  // beside its bytes
constexpr uint32_t kLongestId = 4096;

constexpr uint32_t lengthTag(int field) {
  return WireFormatLite::MakeTag(field, WireFormatLite::WIRETYPE_LENGTH_DELIMITED);
}

// Walks over a message without keeping its parts.
class Walk {
 public:
  explicit Walk(CodedInputStream& input) : input_(input) {}

  // False for bytes that are no message.
  bool request() {
    while (const uint32_t tag = input_.ReadTag()) {
      bool isRead = false;
      if (tag == lengthTag(Message::kIdFieldNumber)) {
        isRead = readId();
      } else if (tag == lengthTag(Message::kInputsFieldNumber)) {
        ++inputs;
        isRead = within([this] { return inputTensor(); });
      } else if (tag == lengthTag(Message::kRawInputContentsFieldNumber)) {
        ++raws;
        isRead = skipDense();
      } else {
        if (tag == lengthTag(Message::kOutputsFieldNumber)) ++outputs;
        isRead = WireFormatLite::SkipField(&input_, tag);
      }
      if (!isRead) return false;
    }
    return input_.ConsumedEntireMessage();
  }

  uint64_t dense = 0;  // bytes
  uint64_t inputs = 0;
  uint64_t outputs = 0;
  uint64_t raws = 0;
  std::string id;

 private:
  bool inputTensor() {
    while (const uint32_t tag = input_.ReadTag()) {
      const bool isRead = tag == lengthTag(Input::kContentsFieldNumber)
                              ? within([this] { return contents(); })
                              : WireFormatLite::SkipField(&input_, tag);
      if (!isRead) return false;
    }
    return input_.ConsumedEntireMessage();
  }

  bool contents() {
    while (const uint32_t tag = input_.ReadTag()) {
      const bool isDense = tag == lengthTag(Contents::kFp32ContentsFieldNumber) ||
                           tag == lengthTag(Contents::kFp64ContentsFieldNumber);
      if (!(isDense ? skipDense() : WireFormatLite::SkipField(&input_, tag))) return false;
    }
    return input_.ConsumedEntireMessage();
  }

  template <typename Part>
  bool within(Part part) {
    uint32_t length = 0;
    if (!readLength(length)) return false;
    const auto limit = input_.PushLimit(static_cast<int>(length));
    const bool isRead = part();
    input_.PopLimit(limit);
    return isRead;
  }

  // A length that its message has bytes for.
  bool readLength(uint32_t& length) {
    return input_.ReadVarint32(&length) &&
           length <= static_cast<uint32_t>(input_.BytesUntilLimit());
  }

  bool skipDense() {
    uint32_t length = 0;
    if (!readLength(length)) return false;
    dense += length;
    return input_.Skip(static_cast<int>(length));
  }

  bool readId() {
    uint32_t length = 0;
    if (!readLength(length)) return false;
    if (length > kLongestId) return input_.Skip(static_cast<int>(length));
    return input_.ReadString(&id, static_cast<int>(length));
  }

  CodedInputStream& input_;
};

}  // namespace

Result<MessageFacts> factsOf(grpc::ByteBuffer& bytes) {
  grpc::ProtoBufferReader reader(&bytes);
  if (!reader.status().ok()) return badData("{}", reader.status().error_message());
  CodedInputStream input(&reader);
  const uint64_t length = bytes.Length();
  input.PushLimit(static_cast<int>(length));
  Walk walk(input);
  if (!walk.request()) return badData("the {} bytes are no ModelInferRequest", length);
  const uint64_t tensors = walk.inputs + walk.outputs + walk.raws;
  const uint64_t memory = walk.dense * kMemoryOfDenseByte +
                          (length - walk.dense) * kMemoryOfOtherByte + tensors * kMemoryOfTensor;
  return MessageFacts{memory, walk.inputs, walk.outputs, walk.raws, std::move(walk.id)};
}

Outcome parseWithin(MemoryBudget& budget, const MessageFacts& facts, grpc::ByteBuffer& bytes,
                    MemoryBudget::Share& share, inference::ModelInferRequest& message) {
  if (std::max({facts.inputs, facts.outputs, facts.raws}) > kMostTensors) {
    return {
        Fault::INVALID,
        fmt::format("{} inputs, {} outputs and {} raw_input_contents, expected at most {} of each",
                    facts.inputs, facts.outputs, facts.raws, kMostTensors)};
  }
  Outcome taken = budget.take(facts.memory, share);
  if (!taken.ok()) return taken;
  const grpc::Status parsed = grpc::SerializationTraits<Message>::Deserialize(&bytes, &message);
  bytes.Clear();
  if (parsed.ok()) return {};
  return {Fault::INVALID, "the message cannot be parsed: " + parsed.error_message()};
}

}  // namespace halyard::serve
