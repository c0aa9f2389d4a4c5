// Capabilities and names of the HAL's types.
#include "halyard/driver/hal_types.h"

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <functional>

#include "halyard/driver/device.h"

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
    // The condition is negated so that NaN fails, too.
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

namespace {

Status notByDriver(std::string_view what) {
  return makeStatus(ResultCode::UNAVAILABLE_DEVICE, "a bare driver has no {}", what);
}

}  // namespace

OperationSupport OperationSupport::yes(std::chrono::duration<double, std::nano> cost) {
  OperationSupport support(true);
  support.cost = cost.count();
  return support;
}

OperationSupport OperationSupport::no(std::string reason) {
  OperationSupport support(false);
  support.reason = std::move(reason);
  return support;
}

bool supportsAll(const SupportedOperations& operations) {
  return std::ranges::all_of(operations, &OperationSupport::supported);
}

pid_t Device::processId() const { return ::getpid(); }

Result<SupportedPreparation> Device::prepareIfSupported(const ValidModel& model,
                                                        const PrepareOptions& options) {
  SupportedPreparation result;
  HALYARD_ASSIGN_OR_RETURN(result.supported, getSupportedOperations(model));
  const bool isAnswerForAll = result.supported.size() == model->main.operations.size();
  if (isAnswerForAll && supportsAll(result.supported)) {
    result.prepared = prepareModel(model, options);
  }
  return result;
}

Result<std::unique_ptr<Buffer>> Device::allocate(const Shape&,
                                                 std::span<const std::shared_ptr<PreparedModel>>,
                                                 std::span<const BufferRole>,
                                                 std::span<const BufferRole>) {
  return notByDriver("buffers");
}

Result<DeviceMemoryPtr> Device::allocateMemory(const MemoryOrder&) {
  return notByDriver("memory of its own");
}

namespace {

class RepeatedExecution final : public ReusableExecution {
 public:
  RepeatedExecution(PreparedModel& preparedModel, const Request& request)
      : preparedModel_(preparedModel), request_(request) {}
  ExecutionResult compute(const ExecuteOptions& options) override {
    return preparedModel_.executeSynchronously(request_, options);
  }

 private:
  PreparedModel& preparedModel_;
  const Request& request_;
};

}  // namespace

Result<std::unique_ptr<ReusableExecution>> PreparedModel::createReusableExecution(
    const Request& request) {
  return std::unique_ptr<ReusableExecution>(std::make_unique<RepeatedExecution>(*this, request));
}

FencedResult PreparedModel::executeFenced(const Request&, std::span<const int>,
                                          const ExecuteOptions&,
                                          std::optional<std::chrono::nanoseconds>) {
  return {notByDriver("fenced execution"), {}, nullptr};
}

Result<std::unique_ptr<Burst>> PreparedModel::configureBurst() { return notByDriver("bursts"); }

Result<CachedModel> Device::prepareModelFromCache(const std::optional<ValidModel>&,
                                                  const PrepareOptions&) {
  return opFailed("the driver does not cache compilations");
}

Status PreparedModel::saveToCache(int, int, const Token&) {
  return opFailed("the driver does not save compilations");
}

}  // namespace halyard::hal
