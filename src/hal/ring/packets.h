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

// A request as a packet has it: its arguments of Kind::POOL or NO_VALUE, its pools by slot; nothing
// is checked but the packet's form.
struct RequestPacket {
  Request request;
  std::vector<int32_t> slots;
  bool measureTiming = false;
  std::optional<TimePoint> deadline;
  std::optional<std::chrono::nanoseconds> loopTimeout;
  size_t plainDatums = 0;  // without deadline and loop timeout
};

// Replaces `packet`. `slots`: of the request's pools, which are not looked at; its arguments are in
// pools, or omitted. With `extended`, deadline and loop timeout are put in.
void encodeRequestPacket(const Request& request, std::span<const int32_t> slots,
                         const ExecuteOptions& options, bool extended, std::vector<Datum>* packet);
// OP_FAILED saying which datum is wrong, and why.
Result<RequestPacket> decodeRequestPacket(std::span<const Datum> packet);
// The options of a well-formed packet alone.
void decodeOptions(std::span<const Datum> extension, RequestPacket* packet);
// How many datums at a packet's end are Halyard's own.
size_t extensionLength(std::span<const Datum> packet);

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
