// Devices with scripted answers, and plans made with them.
// Thread safety: one thread at a time. Ownership: FakeDevices owns its devices and shares the
// scripts with them.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "cpu/cpu_device.h"
#include "hal/core/version_adaptation.h"
#include "ops/operation.h"
#include "runtime/compile/preparation.h"
#include "runtime/device/device_manager.h"
#include "runtime/partition/plan.h"

namespace halyard::runtime::testing {

// The behaviour of a device. A later change of the script changes the device.
struct Script {
  std::string name;
  float execTime = 1;
  float powerUsage = 1;
  HalVersion version = HalVersion::V1_3;
  FeatureLevel level = FeatureLevel::FL8;  // for HAL 1.3
  // Among the operations that its level allows. Empty: all operations that the CPU device supports.
  std::function<bool(const Model& model, const Operation& operation)> takes;
  // Replaces the answer above.
  std::function<Result<hal::SupportedOperations>(const Model& model)> supported;
  std::function<Status(const Model& model)> prepare;  // called before the preparation
  bool canPrepareAnything = false;                    // also models that cannot be executed
  int asked = 0;
  int prepared = 0;
  int preparedIfSupported = 0;  // calls of prepareIfSupported
};

class UnusablePreparedModel : public hal::PreparedModel {
 public:
  hal::ExecutionResult executeSynchronously(const hal::Request&,
                                            const hal::ExecuteOptions&) override {
    return {opFailed("there is nothing behind it"), {}, {}};
  }
};

class FakeDevice : public hal::Device {
 public:
  explicit FakeDevice(std::shared_ptr<Script> script) : script_(std::move(script)) {
    hal::DeviceInfo info = cpu::cpuDeviceInfo();
    info.name = script_->name;
    info.halVersion = script_->version;
    info.featureLevel =
        script_->version < HalVersion::V1_3 ? featureLevelOf(script_->version) : script_->level;
    info.type = hal::DeviceType::ACCELERATOR;
    info.capabilities = hal::Capabilities::uniform({script_->execTime, script_->powerUsage});
    real_ = cpu::makeCpuDevice(std::move(info), 1);
  }
  const hal::DeviceInfo& info() const override { return real_->info(); }
  Result<hal::SupportedOperations> getSupportedOperations(const ValidModel& model) override {
    ++script_->asked;
    if (script_->supported) return script_->supported(*model);
    hal::SupportedOperations result;
    for (const Operation& operation : model->main.operations) {
      const bool mayTake =
          script_->takes != nullptr || ops::definitionOf(operation.type) != nullptr;
      result.push_back(mayTake && (!script_->takes || script_->takes(*model, operation)));
    }
    std::vector<hal::NoncompliantOperation> newer;
    (void)hal::compliantWith(*model, hal::offeredLevel(info()), &newer);
    for (const hal::NoncompliantOperation& each : newer) {
      result[each.index] = hal::OperationSupport::no(each.reason);
    }
    return result;
  }
  Result<std::shared_ptr<hal::PreparedModel>> prepareModel(
      const ValidModel& model, const hal::PrepareOptions& options) override {
    ++script_->prepared;
    if (script_->prepare) HALYARD_RETURN_IF_ERROR(script_->prepare(*model));
    if (script_->canPrepareAnything) {
      return std::shared_ptr<hal::PreparedModel>(std::make_shared<UnusablePreparedModel>());
    }
    return real_->prepareModel(model, options);
  }
  Result<hal::SupportedPreparation> prepareIfSupported(
      const ValidModel& model, const hal::PrepareOptions& options) override {
    ++script_->preparedIfSupported;
    return hal::Device::prepareIfSupported(model, options);
  }

 private:
  std::shared_ptr<Script> script_;
  std::shared_ptr<hal::Device> real_;
};

// The fake devices in their order, and the CPU device.
class FakeDevices {
 public:
  Script& add(std::string name, float execTime = 1) {
    scripts_.push_back(std::make_shared<Script>());
    scripts_.back()->name = std::move(name);
    scripts_.back()->execTime = execTime;
    return *scripts_.back();
  }
  // Call it after the last add(). `withCpu`: the list ends with the CPU device.
  std::vector<const Device*> list(bool withCpu = true) {
    if (manager_ == nullptr) {
      std::vector<Device> drivers;
      for (const auto& script : scripts_) {
        drivers.emplace_back(std::make_shared<FakeDevice>(script), script->name + ".json", false);
      }
      manager_ = std::make_unique<DeviceManager>(std::move(drivers));
    }
    std::vector<const Device*> result;
    for (const Device& device : manager_->devices()) {
      if (withCpu || !device.isCpu()) result.push_back(&device);
    }
    return result;
  }

 private:
  std::vector<std::shared_ptr<Script>> scripts_;
  std::unique_ptr<DeviceManager> manager_;
};

// Supports operations of these types only.
inline auto takesOnly(std::vector<OperationType> types) {
  return [types = std::move(types)](const Model&, const Operation& operation) {
    return std::find(types.begin(), types.end(), operation.type) != types.end();
  };
}
inline auto takesAllBut(std::vector<OperationType> types) {
  return [types = std::move(types)](const Model&, const Operation& operation) {
    return std::find(types.begin(), types.end(), operation.type) == types.end();
  };
}

// Each operation takes a microsecond on the CPU, for each size. On a driver, each part takes
// `wakeNs` and each byte `nsPerByte`.
inline CostSettings flatCosts(double wakeNs, double nsPerByte = 0) {
  CostSettings settings;
  settings.cpu = {1e12, 1e12, 1e12, 1000};
  settings.link = [=](const Device&) { return LinkCosts{wakeNs, nsPerByte}; };
  return settings;
}
// The choice of NNAPI's runtime, without costs of boundaries.
inline CostSettings noCosts() {
  CostSettings settings;
  settings.boundaries = false;
  return settings;
}

inline std::vector<uint32_t> sameOrder(const Model& model) {
  std::vector<uint32_t> order(model.main.operations.size());
  std::iota(order.begin(), order.end(), 0u);
  return order;
}

inline Result<std::shared_ptr<const Plan>> makePlan(const std::shared_ptr<const Model>& model,
                                                    const std::vector<const Device*>& devices,
                                                    const CostSettings& costs,
                                                    Report* report = nullptr,
                                                    PreparationOptions options = {}) {
  Report unused;
  options.costs = costs;
  return preparePlan(validated(model).value(), sameOrder(*model), devices, options,
                     report == nullptr ? &unused : report);
}

// The devices and operations in their order, such as "A{0,1} if#2(then B{0} else B{0})".
inline std::string textOf(const Plan& plan, const PlanSequence& sequence) {
  std::string text;
  for (const PlanNode& node : sequence) {
    if (!text.empty()) text += " ";
    if (const auto* compute = std::get_if<ComputeNode>(&node.what)) {
      const ComputeStep& step = plan.steps[compute->step];
      text += fmt::format("{}{{{}}}", step.device->name(), fmt::join(step.operations, ","));
    } else if (const auto* branch = std::get_if<IfNode>(&node.what)) {
      text += fmt::format("if#{}({} else {})", branch->operation,
                          textOf(plan, branch->thenSequence), textOf(plan, branch->elseSequence));
    } else if (const auto* loop = std::get_if<WhileNode>(&node.what)) {
      text += fmt::format("while#{}({} do {})", loop->operation, textOf(plan, loop->condition),
                          textOf(plan, loop->body));
    }
  }
  return text;
}
inline std::string textOf(const Plan& plan) {
  return (plan.simple ? "simple " : "") + textOf(plan, plan.sequence);
}

}  // namespace halyard::runtime::testing
