// Packets of a burst: a request or a result as a series of datums, there and back
// (docs/burst_format.md).
// Thread safety: pure functions. Ownership: results own their data.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "hal/ring/datum_queue.h"
#include "halyard/driver/hal_types.h"

namespace halyard::hal {

// Kinds of datums in the request channel; in the HAL's order, then Halyard's own.
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
};
// Kinds of datums in the result channel.
enum class ResultTag : uint8_t {
  PACKET_INFORMATION = 0,
  OPERAND = 1,
  DIMENSION = 2,
  TIMING = 3,
  TEXT = 4,
};

// Never the number of a slot.
inline constexpr int32_t kNoSlot = INT32_MAX;

// The most recordings of a ring; their numbers are smaller.
inline constexpr uint32_t kMaxRecordings = 16;

// A request as a packet has it: its arguments of Kind::POOL or NO_VALUE, its pools by slot; nothing
// is checked but the packet's form.
struct RequestPacket {
  Request request;
  std::vector<int32_t> slots;
  ExecuteOptions options;
  std::optional<uint32_t> recording;  // the number under which the request is kept
};

// A packet that runs a recorded request.
struct RunPacket {
  uint32_t recording = 0;
  ExecuteOptions options;
};

// Replaces `packet`. `slots`: of the request's pools, which are not looked at; its arguments are in
// pools, or omitted. With `extended`, deadline and loop timeout are put in.
void encodeRequestPacket(const Request& request, std::span<const int32_t> slots,
                         const ExecuteOptions& options, bool extended, std::vector<Datum>* packet);
// Has the request of a packet kept under a number.
void appendRecording(uint32_t recording, std::vector<Datum>* packet);
// OP_FAILED saying which datum is wrong, and why. The number of a recording is below
// kMaxRecordings.
Result<RequestPacket> decodeRequestPacket(std::span<const Datum> packet);

// Replaces `packet` by one that runs a recording. `extended`: as of encodeRequestPacket.
void encodeRunPacket(uint32_t recording, const ExecuteOptions& options, bool extended,
                     std::vector<Datum>* packet);
// Whether a packet begins as one that runs a recording.
bool isRunPacket(std::span<const Datum> packet);
// As decodeRequestPacket. The caller knows whether there is such a recording.
Result<RunPacket> decodeRunPacket(std::span<const Datum> packet);

// How many datums a result takes.
size_t resultDatums(const ExecutionResult& result, bool extended);
// Replaces `packet`. A result that does not fit into `space` becomes a failure without anything
// else. With `extended`, the status's text is put in as far as it fits.
void encodeResultPacket(const ExecutionResult& result, HalVersion version, bool extended,
                        size_t space, std::vector<Datum>* packet);
// An OK status: the packet is well formed, and result.status is the execution's. `outputs`: how
// many the model has. OP_FAILED otherwise.
Status decodeResultPacket(std::span<const Datum> packet, size_t outputs, ExecutionResult* result);

}  // namespace halyard::hal
