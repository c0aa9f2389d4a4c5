#include "hal/wire_types.h"

#include <algorithm>
#include <cfloat>
#include <limits>

namespace halyard::hal {
namespace {

constexpr uint64_t kNotMeasured = std::numeric_limits<uint64_t>::max();
constexpr PerformanceInfo kNotKnown{FLT_MAX, FLT_MAX};

void encodePerformance(PerformanceInfo from, wire::PerformanceInfo::Builder to) {
  to.setExecTime(from.execTime);
  to.setPowerUsage(from.powerUsage);
}

PerformanceInfo decodePerformance(wire::PerformanceInfo::Reader from) {
  return {from.getExecTime(), from.getPowerUsage()};
}

// Length of the UTF-8 sequence at the start of `text`, 0 when there is none.
size_t utf8Length(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  size_t length = 0;
  uint32_t minimum = 0;
  uint32_t value = byte(0);
  if (value < 0x80) return 1;
  if ((value & 0xe0) == 0xc0) {
    length = 2, minimum = 0x80, value &= 0x1f;
  } else if ((value & 0xf0) == 0xe0) {
    length = 3, minimum = 0x800, value &= 0x0f;
  } else if ((value & 0xf8) == 0xf0) {
    length = 4, minimum = 0x10000, value &= 0x07;
  } else {
    return 0;
  }
  if (text.size() < length) return 0;
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
    value = (value << 6) | (byte(i) & 0x3fu);
  }
  const bool surrogate = value >= 0xd800 && value < 0xe000;
  return value < minimum || value > 0x10ffff || surrogate ? 0 : length;
}

}  // namespace

wire::ErrorStatus toWireStatus(const Status& status, HalVersion version) {
  const auto since13 = [version](wire::ErrorStatus value) {
    return version < HalVersion::V1_3 ? wire::ErrorStatus::GENERAL_FAILURE : value;
  };
  switch (status.code()) {
    case ResultCode::NO_ERROR:
      return wire::ErrorStatus::NONE;
    case ResultCode::BAD_DATA:
    case ResultCode::UNEXPECTED_NULL:
      return wire::ErrorStatus::INVALID_ARGUMENT;
    case ResultCode::UNAVAILABLE_DEVICE:
      return wire::ErrorStatus::DEVICE_UNAVAILABLE;
    case ResultCode::OUTPUT_INSUFFICIENT_SIZE:
      return wire::ErrorStatus::OUTPUT_INSUFFICIENT_SIZE;
    case ResultCode::MISSED_DEADLINE_TRANSIENT:
      return since13(wire::ErrorStatus::MISSED_DEADLINE_TRANSIENT);
    case ResultCode::MISSED_DEADLINE_PERSISTENT:
      return since13(wire::ErrorStatus::MISSED_DEADLINE_PERSISTENT);
    case ResultCode::RESOURCE_EXHAUSTED_TRANSIENT:
      return since13(wire::ErrorStatus::RESOURCE_EXHAUSTED_TRANSIENT);
    case ResultCode::RESOURCE_EXHAUSTED_PERSISTENT:
      return since13(wire::ErrorStatus::RESOURCE_EXHAUSTED_PERSISTENT);
    default:
      return wire::ErrorStatus::GENERAL_FAILURE;
  }
}

Status fromWireStatus(wire::ErrorStatus status, capnp::Text::Reader message) {
  static constexpr ResultCode kCodes[] = {
      ResultCode::NO_ERROR,
      ResultCode::UNAVAILABLE_DEVICE,
      ResultCode::OP_FAILED,
      ResultCode::OUTPUT_INSUFFICIENT_SIZE,
      ResultCode::BAD_DATA,
      ResultCode::MISSED_DEADLINE_TRANSIENT,
      ResultCode::MISSED_DEADLINE_PERSISTENT,
      ResultCode::RESOURCE_EXHAUSTED_TRANSIENT,
      ResultCode::RESOURCE_EXHAUSTED_PERSISTENT,
  };
  const auto number = static_cast<size_t>(status);
  if (number >= std::size(kCodes)) {
    return opFailed("the driver answered {}, which is no error status", number);
  }
  if (kCodes[number] == ResultCode::NO_ERROR) return okStatus();
  std::string text = safeText(message);
  if (text.empty()) text = "the driver gives no reason";
  return Status(kCodes[number], std::move(text));
}

std::string safeText(capnp::Text::Reader text) {
  std::string_view rest(text.begin(), std::min<size_t>(text.size(), kMaxTextBytes));
  std::string safe;
  safe.reserve(rest.size());
  while (!rest.empty()) {
    const size_t length = utf8Length(rest);
    const auto first = static_cast<unsigned char>(rest[0]);
    if (length == 0 || first == 0x7f || (first < 0x20 && first != '\n')) {
      safe += '?';
    } else {
      safe += rest.substr(0, length);
    }
    rest.remove_prefix(std::max<size_t>(length, 1));
  }
  return safe;
}

void encodeCapabilities(const Capabilities& from, HalVersion version,
                        wire::Capabilities::Builder to) {
  if (version < HalVersion::V1_2) {
    encodePerformance(from.lookup(OperandType::TENSOR_FLOAT32), to.initFloat32Performance());
    encodePerformance(from.lookup(OperandType::TENSOR_QUANT8_ASYMM),
                      to.initQuantized8Performance());
    if (version == HalVersion::V1_1) {
      encodePerformance(from.relaxedFloat32toFloat16PerformanceTensor,
                        to.initRelaxedFloat32toFloat16Performance());
    }
    return;
  }
  encodePerformance(from.relaxedFloat32toFloat16PerformanceScalar,
                    to.initRelaxedFloat32toFloat16PerformanceScalar());
  encodePerformance(from.relaxedFloat32toFloat16PerformanceTensor,
                    to.initRelaxedFloat32toFloat16PerformanceTensor());
  std::vector<OperandPerformance> entries;
  for (const OperandPerformance& entry : from.operandPerformance) {
    const OperandTypeTraits* traits = operandTypeTraits(entry.type);
    if (traits == nullptr || traits->since <= featureLevelOf(version)) entries.push_back(entry);
  }
  auto list = to.initOperandPerformance(static_cast<unsigned>(entries.size()));
  for (unsigned i = 0; i < entries.size(); ++i) {
    list[i].setType(static_cast<int32_t>(entries[i].type));
    encodePerformance(entries[i].info, list[i].initInfo());
  }
  if (version >= HalVersion::V1_3) {
    encodePerformance(from.ifPerformance, to.initIfPerformance());
    encodePerformance(from.whilePerformance, to.initWhilePerformance());
  }
}

Capabilities decodeCapabilities(wire::Capabilities::Reader from, HalVersion version) {
  Capabilities to{};
  to.ifPerformance = kNotKnown;
  to.whilePerformance = kNotKnown;
  if (version < HalVersion::V1_2) {
    const PerformanceInfo float32 = decodePerformance(from.getFloat32Performance());
    const PerformanceInfo quant8 = decodePerformance(from.getQuantized8Performance());
    const PerformanceInfo relaxed =
        version == HalVersion::V1_1
            ? decodePerformance(from.getRelaxedFloat32toFloat16Performance())
            : float32;
    to.relaxedFloat32toFloat16PerformanceScalar = relaxed;
    to.relaxedFloat32toFloat16PerformanceTensor = relaxed;
    for (const OperandTypeTraits& traits : allOperandTypes()) {
      if (traits.since != FeatureLevel::FL1) continue;
      const bool isFloat =
          traits.type == OperandType::FLOAT32 || traits.type == OperandType::TENSOR_FLOAT32;
      to.operandPerformance.push_back({traits.type, isFloat ? float32 : quant8});
    }
    return to;
  }
  to.relaxedFloat32toFloat16PerformanceScalar =
      decodePerformance(from.getRelaxedFloat32toFloat16PerformanceScalar());
  to.relaxedFloat32toFloat16PerformanceTensor =
      decodePerformance(from.getRelaxedFloat32toFloat16PerformanceTensor());
  for (const auto entry : from.getOperandPerformance()) {
    to.operandPerformance.push_back(
        {static_cast<OperandType>(entry.getType()), decodePerformance(entry.getInfo())});
  }
  if (version >= HalVersion::V1_3) {
    to.ifPerformance = decodePerformance(from.getIfPerformance());
    to.whilePerformance = decodePerformance(from.getWhilePerformance());
  }
  return to;
}

void encodeExtensions(std::span<const Extension> from, capnp::List<wire::Extension>::Builder to) {
  for (unsigned i = 0; i < from.size(); ++i) {
    to[i].setName(from[i].name);
    auto types = to[i].initOperandTypes(static_cast<unsigned>(from[i].operandTypes.size()));
    for (unsigned j = 0; j < from[i].operandTypes.size(); ++j) {
      types[j].setType(from[i].operandTypes[j].type);
      types[j].setIsTensor(from[i].operandTypes[j].isTensor);
      types[j].setByteSize(from[i].operandTypes[j].byteSize);
    }
  }
}

std::vector<Extension> decodeExtensions(capnp::List<wire::Extension>::Reader from) {
  std::vector<Extension> to;
  for (const auto extension : from) {
    to.push_back({safeText(extension.getName()), {}});
    for (const auto type : extension.getOperandTypes()) {
      to.back().operandTypes.push_back({type.getType(), type.getIsTensor(), type.getByteSize()});
    }
  }
  return to;
}

void encodeTiming(const Timing& from, wire::Timing::Builder to) {
  const auto microseconds = [](const std::optional<uint64_t>& nanoseconds) {
    return nanoseconds ? *nanoseconds / 1000 : kNotMeasured;
  };
  to.setTimeOnDevice(microseconds(from.timeOnDevice));
  to.setTimeInDriver(microseconds(from.timeInDriver));
}

Timing decodeTiming(wire::Timing::Reader from) {
  const auto nanoseconds = [](uint64_t microseconds) -> std::optional<uint64_t> {
    if (microseconds > kNotMeasured / 1000) return std::nullopt;
    return microseconds * 1000;
  };
  return {nanoseconds(from.getTimeOnDevice()), nanoseconds(from.getTimeInDriver())};
}

void encodeOutputShapes(std::span<const OutputShape> from,
                        capnp::List<wire::OutputShape>::Builder to) {
  for (unsigned i = 0; i < from.size(); ++i) {
    to[i].setIsSufficient(from[i].isSufficient);
    const auto& dimensions = from[i].dimensions;
    to[i].setDimensions(kj::arrayPtr(dimensions.data(), dimensions.size()));
  }
}

std::vector<OutputShape> decodeOutputShapes(capnp::List<wire::OutputShape>::Reader from) {
  std::vector<OutputShape> to;
  for (const auto shape : from) {
    to.push_back({decodeNumbers(shape.getDimensions()), shape.getIsSufficient()});
  }
  return to;
}

void encodeDeadline(const std::optional<TimePoint>& from, wire::OptionalTimePoint::Builder to) {
  if (!from) return to.setNone();
  const auto count =
      std::chrono::duration_cast<std::chrono::nanoseconds>(from->time_since_epoch()).count();
  to.setNanosecondsSinceEpoch(static_cast<uint64_t>(std::max<int64_t>(count, 0)));
}

std::optional<TimePoint> decodeDeadline(wire::OptionalTimePoint::Reader from) {
  if (!from.isNanosecondsSinceEpoch()) return std::nullopt;
  constexpr uint64_t kLatest = std::numeric_limits<int64_t>::max();
  const uint64_t count = std::min(from.getNanosecondsSinceEpoch(), kLatest);
  return TimePoint(std::chrono::nanoseconds(static_cast<int64_t>(count)));
}

void encodeDuration(const std::optional<std::chrono::nanoseconds>& from,
                    wire::OptionalTimeoutDuration::Builder to) {
  if (!from) return to.setNone();
  to.setNanoseconds(static_cast<uint64_t>(std::max<int64_t>(from->count(), 0)));
}

std::optional<std::chrono::nanoseconds> decodeDuration(wire::OptionalTimeoutDuration::Reader from) {
  if (!from.isNanoseconds()) return std::nullopt;
  constexpr uint64_t kLongest = std::numeric_limits<int64_t>::max();
  return std::chrono::nanoseconds(static_cast<int64_t>(std::min(from.getNanoseconds(), kLongest)));
}

Result<ExecutionPreference> decodePreference(wire::ExecutionPreference from) {
  const auto number = static_cast<unsigned>(from);
  if (number > static_cast<unsigned>(wire::ExecutionPreference::SUSTAINED_SPEED)) {
    return badData("execution preference {} is not one of 0, 1, 2", number);
  }
  return static_cast<ExecutionPreference>(number);
}

Result<Priority> decodePriority(wire::Priority from) {
  const auto number = static_cast<unsigned>(from);
  if (number > static_cast<unsigned>(wire::Priority::HIGH)) {
    return badData("priority {} is not one of 0, 1, 2", number);
  }
  return static_cast<Priority>(number);
}

Result<bool> decodeMeasureTiming(wire::MeasureTiming from) {
  const auto number = static_cast<unsigned>(from);
  if (number > static_cast<unsigned>(wire::MeasureTiming::YES)) {
    return badData("measureTiming {} is not 0 or 1", number);
  }
  return from == wire::MeasureTiming::YES;
}

Status checkToken(capnp::Data::Reader token) {
  if (token.size() == 0 || token.size() == Token().size()) return okStatus();
  return badData("the cache token has {} bytes, expected {}", token.size(), Token().size());
}

}  // namespace halyard::hal
