#include "hal/wire/wire_types.h"

#include <algorithm>
#include <cfloat>
#include <limits>

namespace halyard::hal {
namespace {

constexpr PerformanceInfo kNotKnown{FLT_MAX, FLT_MAX};

void encodePerformance(PerformanceInfo from, wire::PerformanceInfo::Builder to) {
  to.setExecTime(from.execTime);
  to.setPowerUsage(from.powerUsage);
}

PerformanceInfo decodePerformance(wire::PerformanceInfo::Reader from) {
  return {from.getExecTime(), from.getPowerUsage()};
}

}  // namespace

wire::ErrorStatus toWireStatus(const Status& status, HalVersion version) {
  return static_cast<wire::ErrorStatus>(errorStatusOf(status, version));
}

Status fromWireStatus(wire::ErrorStatus status, capnp::Text::Reader message) {
  return statusOfError(static_cast<uint32_t>(status),
                       std::string_view(message.begin(), message.size()));
}

Status statusOf(const kj::Exception& exception) {
  Status status = opFailed("{}", safeText(capnp::Text::Reader(exception.getDescription().cStr())));
  return exception.getType() == kj::Exception::Type::OVERLOADED
             ? status.withCode(ResultCode::RESOURCE_EXHAUSTED_TRANSIENT)
             : status;
}

std::string safeText(capnp::Text::Reader text) {
  return safeText(std::string_view(text.begin(), text.size()));
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

void encodeAttributes(const ExtensionAttributes& from, wire::ExtensionAttributes::Builder to) {
  auto list = to.initAttributes(static_cast<unsigned>(from.attributes.size()));
  for (unsigned i = 0; i < list.size(); ++i) {
    const auto& value = from.attributes[i].value;
    list[i].setToken(from.attributes[i].token);
    list[i].setValue(kj::arrayPtr(value.data(), value.size()));
  }
  auto names =
      to.initExtensionNameToPrefix(static_cast<unsigned>(from.extensionNameToPrefix.size()));
  for (unsigned i = 0; i < names.size(); ++i) {
    names[i].setName(from.extensionNameToPrefix[i].name);
    names[i].setPrefix(from.extensionNameToPrefix[i].prefix);
  }
}

Result<ExtensionAttributes> decodeAttributes(wire::ExtensionAttributes::Reader from) {
  ExtensionAttributes to;
  for (const auto attribute : from.getAttributes()) {
    const auto value = attribute.getValue();
    to.attributes.push_back({attribute.getToken(), {value.begin(), value.end()}});
  }
  for (const auto entry : from.getExtensionNameToPrefix()) {
    to.extensionNameToPrefix.push_back({safeText(entry.getName()), entry.getPrefix()});
  }
  HALYARD_RETURN_IF_ERROR(validateExtensionAttributes(to));
  return to;
}

void encodeTiming(const Timing& from, wire::Timing::Builder to) {
  to.setTimeOnDevice(wireDuration(from.timeOnDevice));
  to.setTimeInDriver(wireDuration(from.timeInDriver));
}

Timing decodeTiming(wire::Timing::Reader from) {
  return {durationOfWire(from.getTimeOnDevice()), durationOfWire(from.getTimeInDriver())};
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
