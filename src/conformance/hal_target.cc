// Runs cases as HAL requests.
#include "conformance/hal_target.h"

#include <mutex>

#include "conformance/arguments.h"
#include "halyard/driver/sync_fence.h"
#include "model/validation/validation.h"

namespace halyard::conformance {
namespace {

constexpr uint32_t kInputPool = 0;
constexpr uint32_t kOutputPool = 1;

hal::RequestArgument argumentOf(const Arguments::Slot& slot, bool inPool, uint32_t pool) {
  hal::RequestArgument argument;
  if (slot.omitted) return argument;
  if (inPool) {
    argument.kind = hal::RequestArgument::Kind::POOL;
    argument.location = {pool, slot.offset, slot.length};
  } else {
    argument.kind = hal::RequestArgument::Kind::POINTER;
    argument.pointer = slot.data;
    argument.length = slot.length;
  }
  return argument;
}

hal::Request requestOf(const Arguments& arguments) {
  hal::Request request;
  const bool inPools = arguments.inputMemory() != nullptr;
  for (const Arguments::Slot& slot : arguments.inputs()) {
    request.inputs.push_back(argumentOf(slot, inPools, kInputPool));
  }
  for (const Arguments::Slot& slot : arguments.outputs()) {
    request.outputs.push_back(argumentOf(slot, inPools, kOutputPool));
  }
  if (inPools) request.pools = {arguments.inputMemory(), arguments.outputMemory()};
  return request;
}

class HalCompiledModel final : public CompiledModel {
 public:
  HalCompiledModel(std::shared_ptr<const Model> model, std::shared_ptr<hal::PreparedModel> prepared)
      : model_(std::move(model)), prepared_(std::move(prepared)) {}

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
    const hal::Request halRequest = requestOf(arguments);
    HALYARD_RETURN_IF_ERROR(hal::validateRequest(*model_, halRequest, true));
    hal::ExecuteOptions options;
    options.loopTimeout = request.loopTimeout;
    const hal::ExecutionResult result = launch(request.launch, halRequest, options);
    HALYARD_RETURN_IF_ERROR(arguments.checkUntouched(request.vectorCase));
    const bool insufficient = result.status.code() == ResultCode::OUTPUT_INSUFFICIENT_SIZE;
    if (!result.status.ok() && !insufficient) return result.status;
    HALYARD_RETURN_IF_ERROR(takeOutputs(arguments, result, &outcome));
    return result.status;
  }

  hal::ExecutionResult launch(Launch how, const hal::Request& request,
                              const hal::ExecuteOptions& options) {
    if (how == Launch::FENCED) return executeFenced(request, options);
    if (how != Launch::BURST) return prepared_->executeSynchronously(request, options);
    const std::lock_guard lock(mutex_);
    if (burst_ == nullptr) {
      auto burst = prepared_->configureBurst();
      if (!burst.ok()) return {burst.takeStatus(), {}, {}};
      burst_ = std::move(*burst);
    }
    return burst_->execute(request, options);
  }

  // Each execution depends on the fence of the previous one.
  hal::ExecutionResult executeFenced(const hal::Request& request,
                                     const hal::ExecuteOptions& options) {
    const std::lock_guard lock(mutex_);
    std::vector<int> waitFor;
    if (previous_.valid()) waitFor.push_back(previous_.get());
    hal::FencedResult started = prepared_->executeFenced(request, waitFor, options, std::nullopt);
    previous_ = std::move(started.fence);
    if (!started.status.ok()) return {std::move(started.status), {}, {}};
    if (started.execution == nullptr) return {opFailed("success without an execution"), {}, {}};
    FenceState state = FenceState::SIGNALLED;
    if (previous_.valid()) {
      const Result<FenceState> ended = waitFence(previous_.get());
      if (!ended.ok()) return {ended.status(), {}, {}};
      state = *ended;
    }
    hal::FencedInfo info = started.execution->getExecutionInfo();
    if (info.status.ok() != (state == FenceState::SIGNALLED)) {
      return {opFailed("the fence is {}signalled, and the execution's status {}",
                       info.status.ok() ? "not " : "", info.status.toString()),
              {},
              {}};
    }
    return {std::move(info.status), {}, {}};
  }

  Status takeOutputs(const Arguments& arguments, const hal::ExecutionResult& result,
                     ExecutionOutcome* outcome) const {
    const std::vector<Arguments::Slot>& slots = arguments.outputs();
    const Subgraph& main = model_->main;
    // If the result has no shapes, the model determines them.
    const bool known = result.status.ok() && result.outputShapes.empty();
    if (!known && result.outputShapes.size() != slots.size()) {
      return opFailed("{} with {} output shapes for {} outputs", result.status.toString(),
                      result.outputShapes.size(), slots.size());
    }
    for (size_t i = 0; i < slots.size(); ++i) {
      const Operand& operand = main.operands[main.outputIndexes[i]];
      ActualOutput output;
      output.dims = known ? operand.dimensions : result.outputShapes[i].dimensions;
      outcome->sufficient.push_back(known || result.outputShapes[i].isSufficient);
      if (result.status.ok()) {
        const auto size = realByteSize(operand.type, output.dims);
        if (!outcome->sufficient.back() || !size || *size > slots[i].length) {
          return opFailed("output {} is said to be [{}]{}, in a buffer of {} bytes", i,
                          fmt::join(output.dims, ","),
                          outcome->sufficient.back() ? "" : " and not to fit", slots[i].length);
        }
        output.bytes.assign(slots[i].data, slots[i].data + *size);
      }
      outcome->outputs.push_back(std::move(output));
    }
    return okStatus();
  }

  const std::shared_ptr<const Model> model_;
  const std::shared_ptr<hal::PreparedModel> prepared_;
  std::mutex mutex_;
  UniqueFd previous_;  // fence of the previous execution
  std::unique_ptr<hal::Burst> burst_;
};

class HalBuiltModel final : public BuiltModel {
 public:
  HalBuiltModel(ValidModel model, std::shared_ptr<hal::Device> device)
      : model_(std::move(model)), device_(std::move(device)) {}

  Result<std::optional<std::string>> unsupported() override {
    Status offered;
    HALYARD_ASSIGN_OR_RETURN(const std::vector<bool> supported, ask(&offered));
    auto first = firstUnsupported(*model_, supported, level());
    // The operation that is too new may be in a subgraph.
    if (!first && !offered.ok()) first = offered.message();
    return first;
  }

  Result<std::vector<bool>> supportedOperations() override {
    Status offered;
    return ask(&offered);
  }

  Result<std::unique_ptr<CompiledModel>> compile() override {
    HALYARD_ASSIGN_OR_RETURN(std::shared_ptr<hal::PreparedModel> prepared,
                             device_->prepareModel(model_, {}));
    if (prepared == nullptr) return opFailed("the device answered without a prepared model");
    return std::unique_ptr<CompiledModel>(
        std::make_unique<HalCompiledModel>(model_.share(), std::move(prepared)));
  }

 private:
  int64_t level() const { return apiFeatureLevel(hal::offeredLevel(device_->info())); }

  // `offered`: an error if the device's HAL version cannot represent the model. The result then
  // tells for each operation whether that version has it.
  Result<std::vector<bool>> ask(Status* offered) {
    auto answer = device_->getSupportedOperations(model_);
    if (answer.status().code() == ResultCode::BAD_DATA) {
      // The model is valid; it may be newer than the device's HAL.
      *offered = checkForLevel(model_, hal::offeredLevel(device_->info()));
      if (!offered->ok()) return ofOfferedLevel();
    }
    HALYARD_ASSIGN_OR_RETURN(const hal::SupportedOperations operations, std::move(answer));
    if (operations.size() != model_->main.operations.size()) {
      return opFailed("the device answered for {} operations of {}", operations.size(),
                      model_->main.operations.size());
    }
    std::vector<bool> supported;
    for (const hal::OperationSupport& each : operations) supported.push_back(each.supported);
    return supported;
  }

  // Returns for each operation whether the device's HAL version has it.
  std::vector<bool> ofOfferedLevel() const {
    std::vector<bool> known;
    for (size_t i = 0; i < model_->main.operations.size(); ++i) {
      const auto needed = requiredFeatureLevel(*model_, model_->main, i);
      known.push_back(needed.ok() && apiFeatureLevel(*needed) <= level());
    }
    return known;
  }

  const ValidModel model_;
  const std::shared_ptr<hal::Device> device_;
};

class HalTarget final : public Target {
 public:
  explicit HalTarget(std::shared_ptr<hal::Device> device) : device_(std::move(device)) {}

  const std::string& device() const override { return device_->info().name; }
  std::string_view via() const override { return "hal"; }

  Status supports(Variant variant) override {
    const Launch launch = traitsOf(variant).launch;
    if (launch != Launch::ASYNC) return okStatus();
    return badData("variant {} runs through the API only", traitsOf(variant).name);
  }

  Result<std::unique_ptr<BuiltModel>> build(std::shared_ptr<const Model> model) override {
    HALYARD_ASSIGN_OR_RETURN(ValidModel valid, validated(std::move(model)));
    return std::unique_ptr<BuiltModel>(std::make_unique<HalBuiltModel>(std::move(valid), device_));
  }

  int64_t processId() override { return device_->processId(); }

 private:
  const std::shared_ptr<hal::Device> device_;
};

}  // namespace

std::unique_ptr<Target> makeHalTarget(std::shared_ptr<hal::Device> device) {
  return std::make_unique<HalTarget>(std::move(device));
}

}  // namespace halyard::conformance
