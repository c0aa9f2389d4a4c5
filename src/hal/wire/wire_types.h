// Conversions between the HAL's C++ types and the wire: statuses, capabilities, shapes, times,
// text.
// Thread safety: pure functions over objects of the loop thread.
// Ownership: results own their data.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "hal/core/error_status.h"
#include "hal/types.capnp.h"
#include "halyard/driver/hal_types.h"

namespace halyard::hal {

// Sender and receiver refuse a larger message.
inline constexpr uint64_t kMaxMessageBytes = uint64_t{64} << 20;
inline constexpr uint64_t kMaxMessageWords = kMaxMessageBytes / sizeof(uint64_t);
// The maximum that the RPC system's envelope adds to it.
inline constexpr uint64_t kMaxEnvelopeWords = 8192;

// `version` is that of the answering method. Versions before 1.3 have fewer statuses.
wire::ErrorStatus toWireStatus(const Status& status, HalVersion version);
// An error without text gets one. An invalid ErrorStatus becomes OP_FAILED.
Status fromWireStatus(wire::ErrorStatus status, capnp::Text::Reader message);
// Fills the two fields of every result.
template <typename Results>
void setStatus(Results&& results, const Status& status, HalVersion version) {
  results.setStatus(toWireStatus(status, version));
  if (!status.ok()) results.setMessage(status.message().substr(0, kMaxTextBytes));
}

// Returns the status of a call that its peer, or the connection, answered with an exception.
Status statusOf(const kj::Exception& exception);

// Returns a peer's text in printable form: cut to kMaxTextBytes, without control characters, valid
// UTF-8.
std::string safeText(capnp::Text::Reader text);

// Writes the capabilities as a method of `version` reports them. Leaves out types that the version
// does not have.
void encodeCapabilities(const Capabilities& from, HalVersion version,
                        wire::Capabilities::Builder to);
// For 1.0 and 1.1, the figures for a type come from the two or three old groups.
Capabilities decodeCapabilities(wire::Capabilities::Reader from, HalVersion version);

void encodeExtensions(std::span<const Extension> from, capnp::List<wire::Extension>::Builder to);
std::vector<Extension> decodeExtensions(capnp::List<wire::Extension>::Reader from);

template <typename T>
std::vector<T> decodeNumbers(typename capnp::List<T>::Reader from) {
  std::vector<T> to;
  to.reserve(from.size());
  for (const T number : from) to.push_back(number);
  return to;
}
inline SmallVector<uint32_t, 4> decodeNumbers(capnp::List<uint32_t>::Reader from) {
  SmallVector<uint32_t, 4> to;
  to.reserve(from.size());
  for (const uint32_t number : from) to.push_back(number);
  return to;
}

void encodeAttributes(const ExtensionAttributes& from, wire::ExtensionAttributes::Builder to);
// For a call with the field `attributes`, which stays null without attributes.
template <typename Call>
void putAttributes(const ExtensionAttributes& from, Call& call) {
  if (!from.empty()) encodeAttributes(from, call.initAttributes());
}
// Returns BAD_DATA when validateExtensionAttributes refuses them.
Result<ExtensionAttributes> decodeAttributes(wire::ExtensionAttributes::Reader from);

void encodeTiming(const Timing& from, wire::Timing::Builder to);
Timing decodeTiming(wire::Timing::Reader from);

void encodeOutputShapes(std::span<const OutputShape> from,
                        capnp::List<wire::OutputShape>::Builder to);
std::vector<OutputShape> decodeOutputShapes(capnp::List<wire::OutputShape>::Reader from);

void encodeDeadline(const std::optional<TimePoint>& from, wire::OptionalTimePoint::Builder to);
std::optional<TimePoint> decodeDeadline(wire::OptionalTimePoint::Reader from);
void encodeDuration(const std::optional<std::chrono::nanoseconds>& from,
                    wire::OptionalTimeoutDuration::Builder to);
std::optional<std::chrono::nanoseconds> decodeDuration(wire::OptionalTimeoutDuration::Reader from);

// Returns BAD_DATA for a number that the enum does not have.
Result<ExecutionPreference> decodePreference(wire::ExecutionPreference from);
Result<Priority> decodePriority(wire::Priority from);
Result<bool> decodeMeasureTiming(wire::MeasureTiming from);
// Returns BAD_DATA unless the token has its 32 bytes, or is missing (then its bytes are 0).
Status checkToken(capnp::Data::Reader token);

}  // namespace halyard::hal
