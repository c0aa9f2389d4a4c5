#include "personality_device.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>

#include "cpu/cpu_device.h"
#include "fault_plan.h"
#include "halyard/driver/deadline.h"
#include "halyard/driver/mapped_request.h"
#include "support_rule.h"

namespace halyard::drivers {
namespace {

struct Behaviour {
  explicit Behaviour(Personality from) : personality(std::move(from)), faults(personality.faults) {}

  const Personality personality;
  FaultPlan faults;
};

// As long as a slow device would take; a deadline or the cancellation ends it.
Status pauseFor(Milliseconds time, const std::optional<hal::TimePoint>& deadline,
                std::stop_token cancel) {
  if (time.count() <= 0) return okStatus();
  hal::TimePoint end = hal::Clock::now() + std::chrono::duration_cast<hal::Clock::duration>(time);
  if (deadline) end = std::min(end, *deadline);
  std::mutex mutex;
  std::condition_variable_any changed;
  std::unique_lock lock(mutex);
  changed.wait_until(lock, cancel, end, [] { return false; });
  hal::ExecuteOptions options;
  options.deadline = deadline;
  options.cancel = std::move(cancel);
  return hal::checkMayContinue(options);
}

// Inverts every byte that the execution has written.
Status spoil(const Model& model, const hal::Request& request, const hal::ExecutionResult& result) {
  HALYARD_ASSIGN_OR_RETURN(const hal::MappedRequest mapped,
                           hal::MappedRequest::map(model, request));
  for (size_t i = 0; i < mapped.outputs().size(); ++i) {
    const hal::MappedArgument& output = mapped.outputs()[i];
    const Operand& operand = model.main.operands[model.main.outputIndexes[i]];
    size_t length = output.length;
    if (i < result.outputShapes.size()) {
      const auto written = realByteSize(operand.type, result.outputShapes[i].dimensions);
      length = std::min<size_t>(length, written.value_or(length));
    }
    auto* const bytes = static_cast<uint8_t*>(output.data);
    std::transform(bytes, bytes + length, bytes, [](uint8_t byte) { return ~byte; });
  }
  return okStatus();
}

class PersonalityPreparedModel final : public hal::PreparedModel {
 public:
  PersonalityPreparedModel(std::shared_ptr<Behaviour> behaviour, std::shared_ptr<const Model> model,
                           std::shared_ptr<hal::PreparedModel> cpu)
      : behaviour_(std::move(behaviour)), model_(std::move(model)), cpu_(std::move(cpu)) {
    const Delays& delays = behaviour_->personality.delays;
    delay_ = delays.execute;
    for (const Operation& operation : model_->main.operations) {
      const auto own = delays.operations.find(operation.type);
      if (own != delays.operations.end()) delay_ += own->second;
    }
  }
  ~PersonalityPreparedModel() override {
    const FaultPlan::Call call = behaviour_->faults.enter(FaultPoint::RELEASE, model_.get());
    for (const FaultMoment moment : {FaultMoment::BEFORE, FaultMoment::WORK}) (void)call.at(moment);
  }
  PersonalityPreparedModel(const PersonalityPreparedModel&) = delete;
  PersonalityPreparedModel& operator=(const PersonalityPreparedModel&) = delete;

  hal::ExecutionResult executeSynchronously(const hal::Request& request,
                                            const hal::ExecuteOptions& options) override {
    const FaultPlan::Call call = behaviour_->faults.enter(FaultPoint::EXECUTE, model_.get());
    hal::ExecutionResult result;
    result.status = call.at(FaultMoment::BEFORE);
    if (!result.status.ok()) return result;
    const hal::TimePoint start = hal::Clock::now();
    result.status = pauseFor(delay_, options.deadline, options.cancel);
    if (!result.status.ok()) return result;
    const auto paused =
        std::chrono::duration_cast<std::chrono::nanoseconds>(hal::Clock::now() - start).count();
    result = cpu_->executeSynchronously(request, options);
    // The pause stands for the device's work.
    for (auto* time : {&result.timing.timeOnDevice, &result.timing.timeInDriver}) {
      if (*time) **time += static_cast<uint64_t>(paused);
    }
    if (call.spoilsResult() && result.status.ok()) result.status = spoil(*model_, request, result);
    if (Status status = call.at(FaultMoment::WORK); !status.ok()) {
      result = {};
      result.status = std::move(status);
    }
    (void)call.at(FaultMoment::ANSWER);
    return result;
  }

  Result<std::unique_ptr<hal::ReusableExecution>> createReusableExecution(
      const hal::Request& request) override {
    // Nothing but computing.
    if (delay_.count() <= 0 && !behaviour_->faults.concerns(FaultPoint::EXECUTE)) {
      return cpu_->createReusableExecution(request);
    }
    return hal::PreparedModel::createReusableExecution(request);
  }

 private:
  const std::shared_ptr<Behaviour> behaviour_;
  const std::shared_ptr<const Model> model_;
  const std::shared_ptr<hal::PreparedModel> cpu_;
  Milliseconds delay_{0};
};

class PersonalityDevice final : public hal::Device {
 public:
  explicit PersonalityDevice(std::shared_ptr<Behaviour> behaviour)
      : behaviour_(std::move(behaviour)),
        cpu_(cpu::makeCpuDevice(personality().info, personality().threads,
                                personality().reportsTiming)) {}

  const hal::DeviceInfo& info() const override { return personality().info; }
  hal::DeviceStatus status() override { return personality().status; }

  Result<std::vector<bool>> getSupportedOperations(const Model& model) override {
    const FaultPlan::Call call =
        behaviour_->faults.enter(FaultPoint::GET_SUPPORTED_OPERATIONS, &model);
    HALYARD_RETURN_IF_ERROR(call.at(FaultMoment::BEFORE));
    HALYARD_RETURN_IF_ERROR(pauseFor(personality().delays.getSupportedOperations, {}, {}));
    HALYARD_ASSIGN_OR_RETURN(std::vector<bool> supported, supportedOperations(model));
    HALYARD_RETURN_IF_ERROR(call.at(FaultMoment::WORK));
    (void)call.at(FaultMoment::ANSWER);
    return supported;
  }

  Result<std::shared_ptr<hal::PreparedModel>> prepareModel(
      std::shared_ptr<const Model> model, const hal::PrepareOptions& options) override {
    const FaultPlan::Call call = behaviour_->faults.enter(FaultPoint::PREPARE, model.get());
    HALYARD_RETURN_IF_ERROR(call.at(FaultMoment::BEFORE));
    HALYARD_RETURN_IF_ERROR(pauseFor(personality().delays.prepare, options.deadline, {}));
    HALYARD_ASSIGN_OR_RETURN(const std::vector<bool> supported, supportedOperations(*model));
    const auto first = std::find(supported.begin(), supported.end(), false);
    if (first != supported.end()) {
      const auto index = static_cast<size_t>(first - supported.begin());
      return badData("{} is not supported",
                     operationText(index, model->main.operations[index].type));
    }
    HALYARD_ASSIGN_OR_RETURN(std::shared_ptr<hal::PreparedModel> prepared,
                             cpu_->prepareModel(model, options));
    HALYARD_RETURN_IF_ERROR(call.at(FaultMoment::WORK));
    (void)call.at(FaultMoment::ANSWER);
    return std::shared_ptr<hal::PreparedModel>(std::make_shared<PersonalityPreparedModel>(
        behaviour_, std::move(model), std::move(prepared)));
  }

 private:
  const Personality& personality() const { return behaviour_->personality; }

  Result<std::vector<bool>> supportedOperations(const Model& model) {
    HALYARD_ASSIGN_OR_RETURN(std::vector<bool> supported, cpu_->getSupportedOperations(model));
    const std::vector<bool> allowed = allowedOperations(personality().support, model);
    for (size_t i = 0; i < supported.size(); ++i) supported[i] = supported[i] && allowed[i];
    return supported;
  }

  const std::shared_ptr<Behaviour> behaviour_;
  const std::shared_ptr<hal::Device> cpu_;
};

}  // namespace

Personality defaultPersonality() {
  Personality personality;
  hal::DeviceInfo& info = personality.info;
  info.name = "halyard-reference";
  info.versionString = "halyard-reference " HALYARD_VERSION;
  info.halVersion = HalVersion::V1_3;
  info.featureLevel = FeatureLevel::FL8;
  info.type = hal::DeviceType::CPU;
  // Slightly worse than the runtime's own CPU device, which needs no other process.
  info.capabilities = hal::Capabilities::uniform({1.1f, 1.1f});
  return personality;
}

Result<std::shared_ptr<hal::Device>> makePersonalityDevice(Personality personality) {
  auto behaviour = std::make_shared<Behaviour>(std::move(personality));
  const FaultPlan::Call call = behaviour->faults.enter(FaultPoint::START, nullptr);
  HALYARD_RETURN_IF_ERROR(call.at(FaultMoment::BEFORE));
  HALYARD_RETURN_IF_ERROR(pauseFor(behaviour->personality.delays.start, {}, {}));
  auto device = std::make_shared<PersonalityDevice>(behaviour);
  HALYARD_RETURN_IF_ERROR(call.at(FaultMoment::WORK));
  return std::shared_ptr<hal::Device>(std::move(device));
}

}  // namespace halyard::drivers
