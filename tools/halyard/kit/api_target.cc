// Runs conformance cases through the public C API, as an application does.
#include "tools/halyard/kit/api_target.h"

#include <algorithm>
#include <mutex>

#include "client/canonical_model.h"
#include "client/status.h"
#include "conformance/arguments.h"
#include "measure/device_choice.h"

namespace halyard::cli {
namespace {

using conformance::ActualOutput;
using conformance::Arguments;
using conformance::BuiltModel;
using conformance::CompiledModel;
using conformance::ExecutionOutcome;
using conformance::ExecutionRequest;
using conformance::Launch;

class ApiCompiledModel final : public CompiledModel {
 public:
  ApiCompiledModel(const Subgraph& main, client::Compilation compilation)
      : main_(main), compilation_(std::move(compilation)) {}

  ExecutionOutcome execute(const ExecutionRequest& request) override {
    ExecutionOutcome outcome;
    outcome.status = run(request, outcome);
    return outcome;
  }

 private:
  Status run(const ExecutionRequest& request, ExecutionOutcome& outcome) {
    HALYARD_ASSIGN_OR_RETURN(
        const Arguments arguments,
        Arguments::make(request.vectorCase, request.capacities, request.inPools));
    client::Execution execution;
    HALYARD_RETURN_IF_FAILED(execution.create(compilation_.get()));
    if (request.loopTimeout) {
      HALYARD_RETURN_IF_FAILED(
          execution.setLoopTimeout(static_cast<uint64_t>(request.loopTimeout->count())));
    }
    HALYARD_RETURN_IF_ERROR(request.inPools ? setFromMemory(execution, arguments)
                                            : setPointers(execution, arguments));
    Status status = launch(execution, request.launch);
    HALYARD_RETURN_IF_ERROR(arguments.checkUntouched(request.vectorCase));
    const bool insufficient = status.code() == ResultCode::OUTPUT_INSUFFICIENT_SIZE;
    if (!status.ok() && !insufficient) return status;
    HALYARD_RETURN_IF_ERROR(takeOutputs(execution, arguments, status.ok(), &outcome));
    return status;
  }

  static Status setPointers(const client::Execution& execution, const Arguments& arguments) {
    for (size_t i = 0; i < arguments.inputs().size(); ++i) {
      const Arguments::Slot& slot = arguments.inputs()[i];
      HALYARD_RETURN_IF_FAILED(execution.setInput(static_cast<int32_t>(i), nullptr,
                                                  slot.omitted ? nullptr : slot.data, slot.length),
                               "input #{}", i);
    }
    for (size_t i = 0; i < arguments.outputs().size(); ++i) {
      const Arguments::Slot& slot = arguments.outputs()[i];
      HALYARD_RETURN_IF_FAILED(
          execution.setOutput(static_cast<int32_t>(i), nullptr, slot.data, slot.length),
          "output #{}", i);
    }
    return okStatus();
  }

  static Status setFromMemory(const client::Execution& execution, const Arguments& arguments) {
    // The memories are freed at the end of this call: the execution keeps its own references.
    HALYARD_ASSIGN_OR_RETURN(const auto inputMemory, client::memoryOf(*arguments.inputMemory()));
    HALYARD_ASSIGN_OR_RETURN(const auto outputMemory, client::memoryOf(*arguments.outputMemory()));
    for (size_t i = 0; i < arguments.inputs().size(); ++i) {
      const Arguments::Slot& slot = arguments.inputs()[i];
      const auto index = static_cast<int32_t>(i);
      HALYARD_RETURN_IF_FAILED(slot.omitted
                                   ? execution.setInput(index, nullptr, nullptr, 0)
                                   : execution.setInputFromMemory(index, nullptr, inputMemory.get(),
                                                                  slot.offset, slot.length),
                               "input #{}", i);
    }
    for (size_t i = 0; i < arguments.outputs().size(); ++i) {
      const Arguments::Slot& slot = arguments.outputs()[i];
      HALYARD_RETURN_IF_FAILED(
          execution.setOutputFromMemory(static_cast<int32_t>(i), nullptr, outputMemory.get(),
                                        slot.offset, slot.length),
          "output #{}", i);
    }
    return okStatus();
  }

  Status launch(const client::Execution& execution, Launch how) {
    switch (how) {
      case Launch::COMPUTE:
        return client::toStatus(execution.compute());
      case Launch::ASYNC: {
        client::Event event;
        HALYARD_RETURN_IF_FAILED(execution.startCompute(event));
        return client::toStatus(event.wait());
      }
      case Launch::BURST: {
        const std::lock_guard lock(mutex_);
        if (!burst_) HALYARD_RETURN_IF_FAILED(burst_.create(compilation_.get()));
        return client::toStatus(execution.burstCompute(burst_.get()));
      }
      case Launch::FENCED: {
        const std::lock_guard lock(mutex_);
        const ANeuralNetworksEvent* const dependency = previous_.get();
        client::Event started;
        HALYARD_RETURN_IF_FAILED(execution.startComputeWithDependencies(
            {&dependency, dependency == nullptr ? size_t{0} : size_t{1}}, 0, started));
        previous_ = std::move(started);
        return client::toStatus(previous_.wait());
      }
    }
    return opFailed("no such launch");
  }

  Status takeOutputs(const client::Execution& execution, const Arguments& arguments, bool complete,
                     ExecutionOutcome* outcome) const {
    for (size_t i = 0; i < arguments.outputs().size(); ++i) {
      const Arguments::Slot& slot = arguments.outputs()[i];
      bool sufficient = false;
      ActualOutput output;
      HALYARD_ASSIGN_OR_RETURN(output.dims, client::outputDimensions(execution, i, &sufficient),
                               "output #{}", i);
      outcome->sufficient.push_back(sufficient);
      if (complete) {
        const OperandType type = main_.operands[main_.outputIndexes[i]].type;
        const std::optional<uint32_t> size = realByteSize(type, output.dims);
        if (!sufficient || !size || *size > slot.length) {
          return opFailed("output {} is said to be [{}]{}, in a buffer of {} bytes", i,
                          fmt::join(output.dims, ","), sufficient ? "" : " and not to fit",
                          slot.length);
        }
        output.bytes.assign(slot.data, slot.data + *size);
      }
      outcome->outputs.push_back(std::move(output));
    }
    return okStatus();
  }

  const Subgraph& main_;
  const client::Compilation compilation_;
  std::mutex mutex_;  // for the members below; a burst computes one execution at a time
  client::Burst burst_;
  client::Event previous_;
};

using Handles = std::vector<const ANeuralNetworksDevice*>;

class ApiBuiltModel final : public BuiltModel {
 public:
  ApiBuiltModel(std::unique_ptr<client::CanonicalModel> model, Handles devices)
      : model_(std::move(model)), devices_(std::move(devices)) {}

  Result<std::optional<std::string>> unsupported() override {
    HALYARD_ASSIGN_OR_RETURN(const std::vector<bool> supported,
                             model_->supportedOperations(devices_));
    int64_t level = 0;
    for (const ANeuralNetworksDevice* const device : devices_) {
      int64_t own = 0;
      HALYARD_RETURN_IF_FAILED(HALYARD_CALL(ANeuralNetworksDevice_getFeatureLevel, device, &own));
      level = std::max(level, own);
    }
    auto reason = conformance::firstUnsupported(model_->model(), supported, level);
    if (!reason) return std::optional<std::string>();
    // The API reports an unreachable device as unsupported. A compilation tells the two apart.
    auto compilation = compiled();
    if (compilation.ok()) return std::optional<std::string>();
    if (compilation.status().code() != ResultCode::BAD_DATA) return compilation.takeStatus();
    return reason;
  }

  Result<std::vector<bool>> supportedOperations() override {
    return model_->supportedOperations(devices_);
  }

  Result<std::unique_ptr<CompiledModel>> compile() override {
    HALYARD_ASSIGN_OR_RETURN(auto compilation, compiled());
    return std::unique_ptr<CompiledModel>(
        std::make_unique<ApiCompiledModel>(model_->model().main, std::move(compilation)));
  }

 private:
  Result<client::Compilation> compiled() const {
    HALYARD_ASSIGN_OR_RETURN(client::Compilation compilation, model_->createCompilation(devices_));
    HALYARD_RETURN_IF_FAILED(compilation.finish());
    return compilation;
  }

  const std::unique_ptr<client::CanonicalModel> model_;
  const Handles devices_;
};

// A case of one ADD of one float. It probes which functions the device has.
conformance::VectorCase smallestCase() {
  conformance::VectorCase smallest;
  Model& model = smallest.model;
  Operand tensor;
  tensor.type = OperandType::TENSOR_FLOAT32;
  tensor.dimensions = {1};
  tensor.lifetime = Lifetime::SUBGRAPH_INPUT;
  Operand output = tensor;
  output.lifetime = Lifetime::SUBGRAPH_OUTPUT;
  Operand activation;
  activation.type = OperandType::INT32;
  activation.lifetime = Lifetime::CONSTANT_COPY;
  const int32_t none = 0;
  activation.location = appendConstant(model, &none, sizeof none);
  model.main.operands = {tensor, activation, output};
  model.main.operations = {{OperationType::ADD, {0, 0, 1}, {2}}};
  model.main.inputIndexes = {0};
  model.main.outputIndexes = {2};
  smallest.inputs = {{std::vector<uint8_t>(sizeof(float)), false}};
  smallest.outputs = {{std::vector<uint8_t>(sizeof(float)), {1}, false}};
  return smallest;
}

class ApiTarget final : public conformance::Target {
 public:
  // `cpu`: the runtime's own device. It runs every model that the runtime can run.
  ApiTarget(std::string name, Handles devices, client::Device cpu)
      : name_(std::move(name)), devices_(std::move(devices)), cpu_(std::move(cpu)) {}

  const std::string& device() const override { return name_; }
  std::string_view via() const override { return "api"; }

  Status supports(conformance::Variant variant) override {
    const conformance::VariantTraits& traits = conformance::traitsOf(variant);
    if (traits.launch != Launch::BURST && traits.launch != Launch::FENCED) return okStatus();
    const conformance::VectorCase smallest = smallestCase();
    HALYARD_ASSIGN_OR_RETURN(
        std::unique_ptr<client::CanonicalModel> model,
        client::CanonicalModel::create(std::make_shared<const Model>(smallest.model)));
    ApiBuiltModel built(std::move(model), {cpu_.handle});
    HALYARD_ASSIGN_OR_RETURN(const auto compiled, built.compile());
    const size_t capacity = sizeof(float);
    return compiled->execute({smallest, {&capacity, 1}, false, traits.launch, std::nullopt}).status;
  }

  Result<std::unique_ptr<BuiltModel>> build(std::shared_ptr<const Model> model) override {
    HALYARD_ASSIGN_OR_RETURN(std::unique_ptr<client::CanonicalModel> built,
                             client::CanonicalModel::create(std::move(model)));
    return std::unique_ptr<BuiltModel>(std::make_unique<ApiBuiltModel>(std::move(built), devices_));
  }

  int64_t processId() override {
    const auto pid = client::driverProcessId(devices_.front());
    return pid.ok() ? *pid : 0;
  }

 private:
  const std::string name_;
  const Handles devices_;
  const client::Device cpu_;
};

}  // namespace

Result<std::unique_ptr<conformance::Target>> makeApiTarget(std::span<const std::string> names) {
  HALYARD_ASSIGN_OR_RETURN(const std::vector<client::Device> all, client::allDevices());
  std::vector<std::string> known;
  for (const client::Device& device : all) known.push_back(device.name);
  std::vector<std::string> chosen;
  Handles devices;
  for (const std::string& name : names) {
    HALYARD_ASSIGN_OR_RETURN(const size_t index, measure::chooseDevice(known, name));
    chosen.push_back(known[index]);
    devices.push_back(all[index].handle);
  }
  return std::unique_ptr<conformance::Target>(std::make_unique<ApiTarget>(
      fmt::format("{}", fmt::join(chosen, " + ")), std::move(devices), all.back()));
}

}  // namespace halyard::cli
