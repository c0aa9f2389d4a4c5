// Capabilities and names of the HAL's types.
#include "hal/types.h"

#include <algorithm>
#include <cfloat>
#include <cmath>

#include "hal/device.h"

#include <unistd.h>

namespace halyard::hal {

Capabilities Capabilities::uniform(PerformanceInfo info) {
  Capabilities capabilities{info, info, {}, info, info};
  for (const OperandTypeTraits& traits : allOperandTypes()) {
    if (traits.type != OperandType::MODEL)
      capabilities.operandPerformance.push_back({traits.type, info});
  }
  return capabilities;
}

PerformanceInfo Capabilities::lookup(OperandType type) const {
  const auto it = std::lower_bound(
      operandPerformance.begin(), operandPerformance.end(), type,
      [](const OperandPerformance& entry, OperandType value) { return entry.type < value; });
  if (it == operandPerformance.end() || it->type != type) return {FLT_MAX, FLT_MAX};
  return it->info;
}

Status validateCapabilities(const Capabilities& capabilities) {
  const auto check = [](const PerformanceInfo& info, std::string_view what) {
    // Written so that NaN fails.
    if (!(info.execTime > 0) || !(info.powerUsage > 0)) {
      return badData("{}: execution time {} and power usage {}, both must be more than 0", what,
                     info.execTime, info.powerUsage);
    }
    return okStatus();
  };
  HALYARD_RETURN_IF_ERROR(
      check(capabilities.relaxedFloat32toFloat16PerformanceScalar, "relaxed scalar performance"));
  HALYARD_RETURN_IF_ERROR(
      check(capabilities.relaxedFloat32toFloat16PerformanceTensor, "relaxed tensor performance"));
  HALYARD_RETURN_IF_ERROR(check(capabilities.ifPerformance, "IF performance"));
  HALYARD_RETURN_IF_ERROR(check(capabilities.whilePerformance, "WHILE performance"));
  const std::vector<OperandPerformance>& table = capabilities.operandPerformance;
  for (size_t i = 0; i < table.size(); ++i) {
    const std::string name = operandTypeName(table[i].type);
    HALYARD_RETURN_IF_ERROR(check(table[i].info, fmt::format("performance of {}", name)));
    if (table[i].type == OperandType::MODEL) return badData("performance of {}: not allowed", name);
    if (i > 0 && !(table[i - 1].type < table[i].type)) {
      return badData("performance of {} follows that of {}: the table must ascend by type", name,
                     operandTypeName(table[i - 1].type));
    }
  }
  return okStatus();
}

std::string_view deviceTypeName(DeviceType type) {
  switch (type) {
    case DeviceType::UNKNOWN:
      return "unknown";
    case DeviceType::OTHER:
      return "other";
    case DeviceType::CPU:
      return "CPU";
    case DeviceType::GPU:
      return "GPU";
    case DeviceType::ACCELERATOR:
      return "accelerator";
  }
  return "invalid";
}

pid_t Device::processId() const { return ::getpid(); }

}  // namespace halyard::hal
