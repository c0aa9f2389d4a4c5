#include "hal/ring/packets.h"

#include <algorithm>

#include "hal/core/error_status.h"

namespace halyard::hal {
namespace {

// The payload begins at byte 4 in requests and at byte 8 in results.
constexpr size_t kRequestPayload = 1;
constexpr size_t kResultPayload = 2;
constexpr size_t kRunMeasure = 2;  // in a RUN datum: the word for measureTiming
constexpr size_t kTextBytes = 16;  // in a TEXT datum

template <typename Tag>
Datum datumOf(Tag tag) {
  Datum datum;
  datum.words[0] = static_cast<uint32_t>(tag);
  return datum;
}

Datum requestDatum(RequestTag tag, uint32_t value) {
  Datum datum = datumOf(tag);
  datum.words[kRequestPayload] = value;
  return datum;
}

// A value of 64 bits begins at an even word, so that it is aligned.
uint64_t longAt(const Datum& datum, size_t word) {
  uint64_t value = 0;
  std::memcpy(&value, &datum.words[word], sizeof value);
  return value;
}
void setLong(Datum& datum, size_t word, uint64_t value) {
  std::memcpy(&datum.words[word], &value, sizeof value);
}

void encodeArguments(const std::vector<RequestArgument>& arguments, RequestTag operandTag,
                     RequestTag dimensionTag, std::vector<Datum>* packet) {
  for (const RequestArgument& argument : arguments) {
    Datum& datum = packet->emplace_back(datumOf(operandTag));
    if (argument.kind == RequestArgument::Kind::NO_VALUE) {
      datum.words[1] = 1;
      continue;
    }
    datum.words[2] = argument.location.poolIndex;
    datum.words[3] = argument.location.offset;
    datum.words[4] = argument.location.length;
    datum.words[5] = static_cast<uint32_t>(argument.dimensions.size());
    for (const uint32_t dimension : argument.dimensions) {
      packet->push_back(requestDatum(dimensionTag, dimension));
    }
  }
}

// Reads the datums of a packet in order.
template <typename Tag>
class Cursor {
 public:
  explicit Cursor(std::span<const Datum> packet) : packet_(packet) {}

  bool atEnd() const { return at_ == packet_.size(); }
  size_t position() const { return at_; }
  size_t left() const { return packet_.size() - at_; }
  // Returns the next datum if it has `tag`, otherwise null.
  const Datum* takeIf(Tag tag) {
    if (atEnd() || packet_[at_].tag() != static_cast<uint8_t>(tag)) return nullptr;
    return &packet_[at_++];
  }
  Status unexpected(const char* expected) const {
    if (atEnd()) {
      return opFailed("the packet ends after {} datums, where {} was expected", packet_.size(),
                      expected);
    }
    return opFailed("datum {} of {} has tag {}, where {} was expected", at_, packet_.size(),
                    packet_[at_].tag(), expected);
  }

 private:
  std::span<const Datum> packet_;
  size_t at_ = 0;
};

// Reads `count` dimension values.
template <typename Tag>
Status takeDimensions(Cursor<Tag>& cursor, Tag tag, size_t payload, uint32_t count, Shape* to) {
  if (count > cursor.left()) {
    return opFailed("datum {} announces {} dimensions, and {} datums are left",
                    cursor.position() - 1, count, cursor.left());
  }
  to->reserve(count);
  for (uint32_t i = 0; i < count; ++i) {
    const Datum* const datum = cursor.takeIf(tag);
    if (datum == nullptr) return cursor.unexpected("a dimension");
    to->push_back(datum->words[payload]);
  }
  return okStatus();
}

Status takeArguments(Cursor<RequestTag>& cursor, RequestTag operandTag, RequestTag dimensionTag,
                     uint32_t count, const char* what, std::vector<RequestArgument>* to) {
  // The count is checked before memory is reserved for it.
  if (count > cursor.left()) {
    return opFailed("{} {}s are announced, and {} datums are left", count, what, cursor.left());
  }
  to->reserve(count);
  for (uint32_t i = 0; i < count; ++i) {
    const Datum* const datum = cursor.takeIf(operandTag);
    if (datum == nullptr) return cursor.unexpected(what);
    const uint32_t noValue = datum->words[1] & 0xff;
    if (noValue > 1) {
      return opFailed("datum {}: hasNoValue is {}", cursor.position() - 1, noValue);
    }
    RequestArgument& argument = to->emplace_back();
    argument.kind = noValue != 0 ? RequestArgument::Kind::NO_VALUE : RequestArgument::Kind::POOL;
    argument.location = {datum->words[2], datum->words[3], datum->words[4]};
    HALYARD_RETURN_IF_ERROR(takeDimensions(cursor, dimensionTag, kRequestPayload, datum->words[5],
                                           &argument.dimensions));
  }
  return okStatus();
}

constexpr uint64_t kLatest = INT64_MAX;

std::chrono::nanoseconds nanosecondsOf(uint64_t count) {
  return std::chrono::nanoseconds(static_cast<int64_t>(std::min(count, kLatest)));
}
uint64_t countOf(std::chrono::nanoseconds time) {
  return time.count() < 0 ? 0 : static_cast<uint64_t>(time.count());
}

// Appends the deadline, and then the loop timeout.
void appendTimes(const ExecuteOptions& options, std::vector<Datum>* packet) {
  if (options.deadline) {
    Datum& datum = packet->emplace_back(datumOf(RequestTag::DEADLINE));
    setLong(datum, 2, countOf(options.deadline->time_since_epoch()));
  }
  if (options.loopTimeout) {
    Datum& datum = packet->emplace_back(datumOf(RequestTag::LOOP_TIMEOUT));
    setLong(datum, 2, countOf(*options.loopTimeout));
  }
}

void takeTimes(Cursor<RequestTag>& cursor, ExecuteOptions* options) {
  if (const Datum* const datum = cursor.takeIf(RequestTag::DEADLINE)) {
    options->deadline = TimePoint(nanosecondsOf(longAt(*datum, 2)));
  }
  if (const Datum* const datum = cursor.takeIf(RequestTag::LOOP_TIMEOUT)) {
    options->loopTimeout = nanosecondsOf(longAt(*datum, 2));
  }
}

Datum timingDatum(const Timing& timing) {
  Datum datum = datumOf(ResultTag::TIMING);
  setLong(datum, kResultPayload, wireDuration(timing.timeOnDevice));
  setLong(datum, kResultPayload + 2, wireDuration(timing.timeInDriver));
  return datum;
}

// Writes the packet's length, which is known only at its end.
void finishPacket(std::vector<Datum>* packet, size_t sizeWord) {
  (*packet)[0].words[sizeWord] = static_cast<uint32_t>(packet->size());
}

void appendText(const std::string& text, size_t space, std::vector<Datum>* packet) {
  std::string_view rest = std::string_view(text).substr(0, kMaxTextBytes);
  while (!rest.empty() && packet->size() < space) {
    Datum datum = datumOf(ResultTag::TEXT);
    const size_t count = std::min(rest.size(), kTextBytes);
    std::memcpy(&datum.words[kResultPayload], rest.data(), count);
    packet->push_back(datum);
    rest.remove_prefix(count);
  }
}

Status takeOutputShapes(Cursor<ResultTag>& cursor, uint32_t count, ExecutionResult* result) {
  if (count > cursor.left()) {
    return opFailed("{} operands are announced, and {} datums are left", count, cursor.left());
  }
  result->outputShapes.reserve(count);
  for (uint32_t i = 0; i < count; ++i) {
    const Datum* const datum = cursor.takeIf(ResultTag::OPERAND);
    if (datum == nullptr) return cursor.unexpected("an operand");
    OutputShape& shape = result->outputShapes.emplace_back();
    shape.isSufficient = (datum->words[kResultPayload] & 0xff) != 0;
    HALYARD_RETURN_IF_ERROR(takeDimensions(cursor, ResultTag::DIMENSION, kResultPayload,
                                           datum->words[kResultPayload + 1], &shape.dimensions));
  }
  return okStatus();
}

}  // namespace

void encodeRequestPacket(const Request& request, std::span<const int32_t> slots,
                         const ExecuteOptions& options, bool extended, std::vector<Datum>* packet) {
  packet->clear();
  Datum& information = packet->emplace_back(datumOf(RequestTag::PACKET_INFORMATION));
  information.words[2] = static_cast<uint32_t>(request.inputs.size());
  information.words[3] = static_cast<uint32_t>(request.outputs.size());
  information.words[4] = static_cast<uint32_t>(slots.size());
  encodeArguments(request.inputs, RequestTag::INPUT_OPERAND, RequestTag::INPUT_DIMENSION, packet);
  encodeArguments(request.outputs, RequestTag::OUTPUT_OPERAND, RequestTag::OUTPUT_DIMENSION,
                  packet);
  for (size_t i = 0; i < slots.size(); ++i) {
    const auto* const token =
        i < request.pools.size() ? std::get_if<uint32_t>(&request.pools[i]) : nullptr;
    packet->push_back(token != nullptr
                          ? requestDatum(RequestTag::TOKEN, *token)
                          : requestDatum(RequestTag::POOL, static_cast<uint32_t>(slots[i])));
  }
  packet->push_back(requestDatum(RequestTag::MEASURE_TIMING, options.measureTiming ? 1 : 0));
  if (extended) appendTimes(options, packet);
  finishPacket(packet, kRequestPayload);
}

void appendRecording(uint32_t recording, std::vector<Datum>* packet) {
  packet->push_back(requestDatum(RequestTag::RECORD, recording));
  finishPacket(packet, kRequestPayload);
}

Result<RequestPacket> decodeRequestPacket(std::span<const Datum> packet) {
  Cursor<RequestTag> cursor(packet);
  const Datum* const information = cursor.takeIf(RequestTag::PACKET_INFORMATION);
  if (information == nullptr) return cursor.unexpected("the packet information");
  const auto& words = information->words;
  if (words[1] != packet.size()) {
    return opFailed("the packet says that it has {} datums, and {} were sent", words[1],
                    packet.size());
  }
  RequestPacket decoded;
  HALYARD_RETURN_IF_ERROR(takeArguments(cursor, RequestTag::INPUT_OPERAND,
                                        RequestTag::INPUT_DIMENSION, words[2], "input",
                                        &decoded.request.inputs));
  HALYARD_RETURN_IF_ERROR(takeArguments(cursor, RequestTag::OUTPUT_OPERAND,
                                        RequestTag::OUTPUT_DIMENSION, words[3], "output",
                                        &decoded.request.outputs));
  if (words[4] > cursor.left()) {
    return opFailed("{} pools are announced, and {} datums are left", words[4], cursor.left());
  }
  for (uint32_t i = 0; i < words[4]; ++i) {
    if (const Datum* const token = cursor.takeIf(RequestTag::TOKEN)) {
      decoded.request.pools.emplace_back(token->words[kRequestPayload]);
      decoded.slots.push_back(kNoSlot);
      continue;
    }
    const Datum* const pool = cursor.takeIf(RequestTag::POOL);
    if (pool == nullptr) return cursor.unexpected("a pool");
    decoded.request.pools.emplace_back(SharedMemoryPtr());
    decoded.slots.push_back(static_cast<int32_t>(pool->words[kRequestPayload]));
  }
  const Datum* const measure = cursor.takeIf(RequestTag::MEASURE_TIMING);
  if (measure == nullptr) return cursor.unexpected("whether to measure");
  if (measure->words[kRequestPayload] > 1) {
    return opFailed("datum {}: measureTiming is {}", cursor.position() - 1,
                    measure->words[kRequestPayload]);
  }
  decoded.options.measureTiming = measure->words[kRequestPayload] == 1;
  takeTimes(cursor, &decoded.options);
  if (const Datum* const record = cursor.takeIf(RequestTag::RECORD)) {
    decoded.recording = record->words[kRequestPayload];
    if (*decoded.recording >= kMaxRecordings) {
      return opFailed("recording {} is to be made; a ring has {}", *decoded.recording,
                      kMaxRecordings);
    }
  }
  if (!cursor.atEnd()) return cursor.unexpected("its end");
  return decoded;
}

void encodeRunPacket(uint32_t recording, const ExecuteOptions& options, bool extended,
                     std::vector<Datum>* packet) {
  packet->clear();
  Datum& run = packet->emplace_back(requestDatum(RequestTag::RUN, recording));
  run.words[kRunMeasure] = options.measureTiming ? 1 : 0;
  if (extended) appendTimes(options, packet);
}

bool isRunPacket(std::span<const Datum> packet) {
  return !packet.empty() && packet.front().tag() == static_cast<uint8_t>(RequestTag::RUN);
}

Result<RunPacket> decodeRunPacket(std::span<const Datum> packet) {
  Cursor<RequestTag> cursor(packet);
  const Datum* const run = cursor.takeIf(RequestTag::RUN);
  if (run == nullptr) return cursor.unexpected("the recording to run");
  RunPacket decoded;
  decoded.recording = run->words[kRequestPayload];
  if (run->words[kRunMeasure] > 1) {
    return opFailed("datum 0: measureTiming is {}", run->words[kRunMeasure]);
  }
  decoded.options.measureTiming = run->words[kRunMeasure] == 1;
  takeTimes(cursor, &decoded.options);
  if (!cursor.atEnd()) return cursor.unexpected("its end");
  return decoded;
}

size_t resultDatums(const ExecutionResult& result, bool extended) {
  size_t count = result.copiedBytes == 0 ? 2 : 3;
  for (const OutputShape& shape : result.outputShapes) count += 1 + shape.dimensions.size();
  if (extended && !result.status.ok()) count += kMaxTextBytes / kTextBytes;
  return count;
}

void encodeResultPacket(const ExecutionResult& result, HalVersion version, bool extended,
                        bool withCopied, size_t space, std::vector<Datum>* packet) {
  packet->clear();
  packet->push_back(datumOf(ResultTag::PACKET_INFORMATION));
  for (const OutputShape& shape : result.outputShapes) {
    Datum& datum = packet->emplace_back(datumOf(ResultTag::OPERAND));
    datum.words[kResultPayload] = shape.isSufficient ? 1 : 0;
    datum.words[kResultPayload + 1] = static_cast<uint32_t>(shape.dimensions.size());
    for (const uint32_t dimension : shape.dimensions) {
      Datum& value = packet->emplace_back(datumOf(ResultTag::DIMENSION));
      value.words[kResultPayload] = dimension;
    }
  }
  packet->push_back(timingDatum(result.timing));
  if (withCopied && result.copiedBytes != 0 && packet->size() < space) {
    setLong(packet->emplace_back(datumOf(ResultTag::COPIED)), kResultPayload, result.copiedBytes);
  }
  const Status* status = &result.status;
  Status tooLarge;
  uint32_t operands = static_cast<uint32_t>(result.outputShapes.size());
  if (packet->size() > space) {
    tooLarge =
        opFailed("the result takes {} datums, and there is room for {}", packet->size(), space);
    status = &tooLarge;
    operands = 0;
    packet->resize(1);
    packet->push_back(timingDatum(Timing()));
  }
  (*packet)[0].words[kResultPayload + 1] = errorStatusOf(*status, version);
  (*packet)[0].words[kResultPayload + 2] = operands;
  if (extended && !status->ok()) appendText(status->message(), space, packet);
  finishPacket(packet, kResultPayload);
}

Status decodeResultPacket(std::span<const Datum> packet, size_t outputs, ExecutionResult* result) {
  Cursor<ResultTag> cursor(packet);
  const Datum* const information = cursor.takeIf(ResultTag::PACKET_INFORMATION);
  if (information == nullptr) return cursor.unexpected("the packet information");
  const auto& words = information->words;
  if (words[kResultPayload] != packet.size()) {
    return opFailed("the result says that it has {} datums, and {} were sent",
                    words[kResultPayload], packet.size());
  }
  HALYARD_RETURN_IF_ERROR(takeOutputShapes(cursor, words[kResultPayload + 2], result));
  const Datum* const timing = cursor.takeIf(ResultTag::TIMING);
  if (timing == nullptr) return cursor.unexpected("the timing");
  const Datum* const copied = cursor.takeIf(ResultTag::COPIED);
  std::string text;
  while (const Datum* const datum = cursor.takeIf(ResultTag::TEXT)) {
    if (text.size() < kMaxTextBytes) {
      const char* const bytes = reinterpret_cast<const char*>(&datum->words[kResultPayload]);
      text.append(bytes, ::strnlen(bytes, kTextBytes));
    }
  }
  if (!cursor.atEnd()) return cursor.unexpected("its end");

  result->status = statusOfError(words[kResultPayload + 1], text);
  const bool insufficient = result->status.code() == ResultCode::OUTPUT_INSUFFICIENT_SIZE;
  if (!result->status.ok() && !insufficient) {
    result->outputShapes.clear();
    return okStatus();
  }
  const size_t shapes = result->outputShapes.size();
  if (shapes != outputs && (insufficient || shapes != 0)) {
    return opFailed("it reports the shapes of {} outputs; the model has {}", shapes, outputs);
  }
  if (result->status.ok()) {
    result->timing = {durationOfWire(longAt(*timing, kResultPayload)),
                      durationOfWire(longAt(*timing, kResultPayload + 2))};
    result->copiedBytes = copied == nullptr ? 0 : longAt(*copied, kResultPayload);
  }
  return okStatus();
}

}  // namespace halyard::hal
