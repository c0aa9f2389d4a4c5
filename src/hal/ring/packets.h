// Packets of a burst: encodes and decodes requests and results as sequences of datums
// (docs/burst_format.md).
// Thread safety: the functions have no state.
// Ownership: results own their data.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "hal/ring/datum_queue.h"
#include "halyard/driver/hal_types.h"

namespace halyard::hal {

// The tags of datums in the request channel: those of the HAL, then Halyard's own.
enum class RequestTag : uint8_t {
  PACKET_INFORMATION = 0,
  INPUT_OPERAND = 1,
  INPUT_DIMENSION = 2,
  OUTPUT_OPERAND = 3,
  OUTPUT_DIMENSION = 4,
  POOL = 5,
  MEASURE_TIMING = 6,
  DEADLINE = 7,
  LOOP_TIMEOUT = 8,
  RECORD = 9,
  RUN = 10,
  TOKEN = 11,
};
// The tags of datums in the result channel.
enum class ResultTag : uint8_t {
  PACKET_INFORMATION = 0,
  OPERAND = 1,
  DIMENSION = 2,
  TIMING = 3,
  TEXT = 4,
  COPIED = 5,
};

// No slot has this number.
inline constexpr int32_t kNoSlot = INT32_MAX;

// The maximum number of recordings of a ring. Their numbers are less than this.
inline constexpr uint32_t kMaxRecordings = 16;

// A decoded request. Its arguments have Kind::POOL or NO_VALUE. Only the form of the packet is
// checked.
struct RequestPacket {
  Request request;             // its pools are tokens, or null memory in place of a slot
  std::vector<int32_t> slots;  // one for each pool; kNoSlot for a token
  ExecuteOptions options;
  std::optional<uint32_t> recording;  // the number of the recording to make
};

// A packet that runs a recorded request.
struct RunPacket {
  uint32_t recording = 0;
  ExecuteOptions options;
};

// Replaces `packet`. `slots`: the slots of the request's pools that are no tokens. Arguments are in
// pools, or omitted. With `extended`, the packet contains the deadline and the loop timeout.
void encodeRequestPacket(const Request& request, std::span<const int32_t> slots,
                         const ExecuteOptions& options, bool extended, std::vector<Datum>* packet);
// Adds a datum that asks the driver to keep the request under a number.
void appendRecording(uint32_t recording, std::vector<Datum>* packet);
// OP_FAILED, with the invalid datum and the reason. The number of a recording is less than
// kMaxRecordings.
Result<RequestPacket> decodeRequestPacket(std::span<const Datum> packet);

// Replaces `packet` by one that runs a recording. `extended`: see encodeRequestPacket.
void encodeRunPacket(uint32_t recording, const ExecuteOptions& options, bool extended,
                     std::vector<Datum>* packet);
// Whether the first datum of the packet runs a recording.
bool isRunPacket(std::span<const Datum> packet);
// As decodeRequestPacket. The caller checks that the recording exists.
Result<RunPacket> decodeRunPacket(std::span<const Datum> packet);

// The maximum number of datums of a result.
size_t resultDatums(const ExecutionResult& result, bool extended);
// Replaces `packet`. A result of more than `space` datums becomes an OP_FAILED result without
// shapes. With `extended`, the packet contains as much of the status's text as fits. With
// `withCopied`, it contains the number of copied bytes, if that is not 0.
void encodeResultPacket(const ExecutionResult& result, HalVersion version, bool extended,
                        bool withCopied, size_t space, std::vector<Datum>* packet);
// OK for a well-formed packet; result->status is then the status of the execution. `outputs`: the
// number of the model's outputs. OP_FAILED otherwise.
Status decodeResultPacket(std::span<const Datum> packet, size_t outputs, ExecutionResult* result);

}  // namespace halyard::hal
