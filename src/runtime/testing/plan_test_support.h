// Support for tests of plans: devices with scripted failures, hand-built models, and plans for
// them.
// Thread safety: a test may change non-atomic members of scripts only while no execution runs.
// Ownership: a ScriptedDevice shares its script with the test.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "cpu/cpu_device.h"
#include "hal/session/client_session.h"
#include "hal/session/session_services.h"
#include "runtime/device/device_manager.h"
#include "runtime/partition/step_model.h"
#include "runtime/run/plan_runner.h"

namespace halyard::runtime::testing {

// The behaviour of a device in addition to computing on the CPU.
struct DeviceScript {
  // Called before each execution, with its number in the lifetime of the device. An error ends the
  // execution.
  std::function<Status(int number)> beforeExecution;
  // Called with each result, which it may change.
  std::function<void(hal::ExecutionResult& result)> afterExecution;
  std::function<Status()> prepare;
  std::function<Status()> record;
  std::set<OperationType> unsupported;
  std::atomic<int> executions = 0;
  std::atomic<int> prepared = 0;
  std::atomic<int> recorded = 0;
  // Simulates the end of the driver's process. All existing prepared models answer DEAD_OBJECT.
  void die() { ++generation; }
  std::atomic<int> generation = 0;
  std::function<Status()> wait;
};

class ScriptedStep final : public hal::PreparedModel {
 public:
  ScriptedStep(std::shared_ptr<DeviceScript> script, std::shared_ptr<hal::PreparedModel> real)
      : script_(std::move(script)), real_(std::move(real)), generation_(script_->generation) {}
  hal::ExecutionResult executeSynchronously(const hal::Request& request,
                                            const hal::ExecuteOptions& options) override {
    hal::ExecutionResult result;
    const int number = ++script_->executions;
    if (script_->beforeExecution) result.status = script_->beforeExecution(number);
    if (generation_ != script_->generation) {
      result.status = makeStatus(ResultCode::DEAD_OBJECT, "the process ended");
    }
    if (!result.status.ok()) return result;
    result = real_->executeSynchronously(request, options);
    if (script_->afterExecution) script_->afterExecution(result);
    return result;
  }
  Result<std::unique_ptr<hal::ReusableExecution>> createReusableExecution(
      const hal::Request& request) override {
    if (script_->record) HALYARD_RETURN_IF_ERROR(script_->record());
    ++script_->recorded;
    return hal::PreparedModel::createReusableExecution(request);
  }

 private:
  const std::shared_ptr<DeviceScript> script_;
  const std::shared_ptr<hal::PreparedModel> real_;
  const int generation_;
};

class ScriptedDriver final : public hal::Device {
 public:
  ScriptedDriver(hal::DeviceInfo info, std::shared_ptr<DeviceScript> script)
      : script_(std::move(script)), real_(cpu::makeCpuDevice(std::move(info), 1)) {}
  const hal::DeviceInfo& info() const override { return real_->info(); }
  Result<hal::SupportedOperations> getSupportedOperations(const ValidModel& model) override {
    hal::SupportedOperations supported;
    for (const Operation& operation : model->main.operations) {
      supported.push_back(!script_->unsupported.contains(operation.type));
    }
    return supported;
  }
  Result<std::shared_ptr<hal::PreparedModel>> prepareModel(
      const ValidModel& model, const hal::PrepareOptions& options) override {
    ++script_->prepared;
    if (script_->prepare) HALYARD_RETURN_IF_ERROR(script_->prepare());
    HALYARD_ASSIGN_OR_RETURN(auto real, real_->prepareModel(model, options));
    return std::shared_ptr<hal::PreparedModel>(
        std::make_shared<ScriptedStep>(script_, std::move(real)));
  }
  Status wait() override { return script_->wait ? script_->wait() : okStatus(); }

 private:
  const std::shared_ptr<DeviceScript> script_;
  const std::shared_ptr<hal::Device> real_;
};

// The devices "test-0", "test-1" and so on, as the runtime has them, and the CPU device.
class TestDevices {
 public:
  explicit TestDevices(size_t count) {
    const auto services = std::make_shared<hal::SessionServices>();
    std::vector<Device> drivers;
    for (size_t i = 0; i < count; ++i) {
      scripts_.push_back(std::make_shared<DeviceScript>());
      hal::DeviceInfo info = cpu::cpuDeviceInfo();
      info.name = fmt::format("test-{}", i);
      info.type = hal::DeviceType::ACCELERATOR;
      // The first device is the fastest. All are faster than the CPU device.
      const float ratio = 0.1f + 0.05f * static_cast<float>(i);
      info.capabilities = hal::Capabilities::uniform({ratio, ratio});
      drivers.emplace_back(
          std::make_shared<hal::ClientSession>(
              std::make_shared<ScriptedDriver>(std::move(info), scripts_.back()), services),
          "test.json", false);
    }
    manager_ = std::make_unique<DeviceManager>(std::move(drivers), services);
  }
  DeviceScript& script(size_t i) { return *scripts_[i]; }
  DeviceManager& manager() { return *manager_; }
  // The CPU device is the last one.
  const Device& at(size_t i) const { return manager_->devices()[i]; }
  std::vector<const Device*> all() const {
    std::vector<const Device*> list;
    for (const Device& device : manager_->devices()) list.push_back(&device);
    return list;
  }

 private:
  std::vector<std::shared_ptr<DeviceScript>> scripts_;
  std::unique_ptr<DeviceManager> manager_;
};

// Builds canonical models.
class GraphBuilder {
 public:
  explicit GraphBuilder(Model* model, Subgraph* subgraph) : model_(model), subgraph_(subgraph) {}
  uint32_t operand(OperandType type, Shape dimensions,
                   Lifetime lifetime = Lifetime::TEMPORARY_VARIABLE) {
    Operand operand;
    operand.type = type;
    operand.dimensions = std::move(dimensions);
    operand.lifetime = lifetime;
    const auto index = static_cast<uint32_t>(subgraph_->operands.size());
    if (lifetime == Lifetime::SUBGRAPH_INPUT) subgraph_->inputIndexes.push_back(index);
    if (lifetime == Lifetime::SUBGRAPH_OUTPUT) subgraph_->outputIndexes.push_back(index);
    subgraph_->operands.push_back(std::move(operand));
    return index;
  }
  uint32_t floats(Shape dimensions, Lifetime lifetime = Lifetime::TEMPORARY_VARIABLE) {
    return operand(OperandType::TENSOR_FLOAT32, std::move(dimensions), lifetime);
  }
  uint32_t input(Shape dimensions) {
    return floats(std::move(dimensions), Lifetime::SUBGRAPH_INPUT);
  }
  uint32_t output(Shape dimensions) {
    return floats(std::move(dimensions), Lifetime::SUBGRAPH_OUTPUT);
  }
  uint32_t constant(OperandType type, Shape dimensions, const void* data, size_t bytes) {
    const uint32_t index = operand(type, std::move(dimensions), Lifetime::CONSTANT_COPY);
    subgraph_->operands[index].location = appendConstant(*model_, data, bytes);
    return index;
  }
  uint32_t scalar(int32_t value) { return constant(OperandType::INT32, {}, &value, sizeof(value)); }
  uint32_t constantFloats(Shape dimensions, const std::vector<float>& values) {
    return constant(OperandType::TENSOR_FLOAT32, std::move(dimensions), values.data(),
                    values.size() * sizeof(float));
  }
  // A reference to Model::referenced[index].
  uint32_t subgraphOperand(uint32_t index) {
    const uint32_t operand = this->operand(OperandType::MODEL, {}, Lifetime::SUBGRAPH);
    subgraph_->operands[operand].location.offset = index;
    return operand;
  }
  void operation(OperationType type, std::vector<uint32_t> inputs, std::vector<uint32_t> outputs) {
    subgraph_->operations.push_back({type, std::move(inputs), std::move(outputs)});
  }
  void binary(OperationType type, uint32_t a, uint32_t b, uint32_t out) {
    operation(type, {a, b, scalar(0)}, {out});
  }

 private:
  Model* model_;
  Subgraph* subgraph_;
};

// Adds a step for the operations to the plan and prepares it.
inline ComputeNode addStep(Plan* plan, const Model& model, uint32_t subgraph, const Device& device,
                           std::vector<uint32_t> operations) {
  const std::vector<uint32_t> consumers = countConsumers(subgraphAt(model, subgraph));
  StepModel cut = makeStepModel(validated(model).value(), subgraph, operations, consumers);
  ComputeStep step(cut.model);
  step.device = &device;
  step.subgraph = subgraph;
  step.operations = std::move(operations);
  step.inputs = std::move(cut.inputs);
  step.outputs = std::move(cut.outputs);
  auto prepared = device.hal().prepareModel(step.model, {});
  EXPECT_TRUE(prepared.ok()) << prepared.status().toString();
  if (prepared.ok()) step.prepared = *prepared;
  plan->steps.push_back(std::move(step));
  return {static_cast<uint32_t>(plan->steps.size() - 1)};
}

// A plan that computes the operations in order. Consecutive operations on one device form a step.
inline std::shared_ptr<Plan> planOf(const Model& model, const std::vector<const Device*>& devices) {
  auto plan = std::make_shared<Plan>();
  for (uint32_t i = 0; i < devices.size();) {
    std::vector<uint32_t> operations;
    const Device* const device = devices[i];
    while (i < devices.size() && devices[i] == device) operations.push_back(i++);
    plan->sequence.push_back({addStep(plan.get(), model, kMainSubgraph, *device, operations)});
  }
  return plan;
}

// A runner for the plan that may use all devices for recovery.
inline std::unique_ptr<PlanRunner> runnerOf(std::shared_ptr<const Model> model,
                                            std::shared_ptr<const Plan> plan,
                                            const TestDevices& devices,
                                            bool explicitDevices = false) {
  PlanContext context(validated(model).value());
  for (uint32_t i = 0; i < model->main.operations.size(); ++i) {
    context.applicationOrder.push_back(i);
  }
  context.devices = devices.all();
  context.mayRecover = !explicitDevices;
  context.report = std::make_shared<Report>();
  return std::make_unique<PlanRunner>(std::move(plan), std::move(context));
}

// The arguments of one run, as pointers.
struct Arguments {
  std::vector<std::vector<float>> inputs;
  std::vector<std::vector<float>> outputs;
  std::vector<Shape> inputShapes;

  hal::Request request() {
    hal::Request request;
    for (size_t i = 0; i < inputs.size(); ++i) {
      request.inputs.push_back(argument(inputs[i]));
      if (i < inputShapes.size()) request.inputs.back().dimensions = inputShapes[i];
    }
    for (std::vector<float>& output : outputs) request.outputs.push_back(argument(output));
    return request;
  }

 private:
  static hal::RequestArgument argument(std::vector<float>& values) {
    hal::RequestArgument argument;
    argument.kind = hal::RequestArgument::Kind::POINTER;
    argument.pointer = values.data();
    argument.length = static_cast<uint32_t>(values.size() * sizeof(float));
    return argument;
  }
};

inline hal::ExecutionResult run(PlanRunner& runner, Arguments& arguments,
                                const hal::ExecuteOptions& options = {},
                                PlanBurst* burst = nullptr) {
  const MemoryArguments none;
  const hal::Request request = arguments.request();
  return runner.run({request, none}, options, burst);
}

inline std::vector<ReportEvent::Kind> kindsOf(const PlanRunner& runner) {
  std::vector<ReportEvent::Kind> kinds;
  for (const ReportEvent& event : runner.recovery().context().report->events()) {
    kinds.push_back(event.kind);
  }
  return kinds;
}

}  // namespace halyard::runtime::testing
