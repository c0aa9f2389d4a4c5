#include "personality_device.h"

#include <fcntl.h>

#include <algorithm>

#include "background_compiler.h"
#include "base/log.h"
#include "cpu/cpu_device.h"
#include "device_arena.h"
#include "fault_plan.h"
#include "halyard/driver/mapped_request.h"
#include "model_code.h"
#include "model_store.h"
#include "pause.h"
#include "support_rule.h"
#include "wrong_values.h"

namespace halyard::drivers {
namespace {

// The data of a prepared model beside its code.
struct Preparation {
  SavedModel saved;
  uint32_t clientUid = 0;
  // The files for later saves. Null: no files, or no further save.
  std::shared_ptr<const hal::CacheFiles> files;
};

struct Behaviour {
  explicit Behaviour(Personality from) : personality(std::move(from)), faults(personality.faults) {}

  // A failure to save is no failure of the preparation.
  void saveTo(const Preparation& preparation, std::stop_token cancel);

  const Personality personality;
  FaultPlan faults;
  ModelStore store{personality, faults};
};

void Behaviour::saveTo(const Preparation& preparation, std::stop_token cancel) {
  if (preparation.files == nullptr) return;
  const Status saved =
      store.save(preparation.saved, *preparation.files, preparation.clientUid, std::move(cancel));
  if (!saved.ok()) logInfo("nothing is cached: {}", saved.message());
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
  // `later`: the task of the background compiler; may be null.
  PersonalityPreparedModel(std::shared_ptr<Behaviour> behaviour, Preparation preparation,
                           std::shared_ptr<ModelCode> code,
                           std::shared_ptr<const BackgroundCompiler::Task> later)
      : behaviour_(std::move(behaviour)),
        saved_(std::move(preparation.saved)),
        clientUid_(preparation.clientUid),
        code_(std::move(code)),
        later_(std::move(later)) {
    const Delays& delays = behaviour_->personality.delays;
    delay_ = delays.execute;
    for (const Operation& operation : model().main.operations) {
      const auto own = delays.operations.find(operation.type);
      if (own != delays.operations.end()) delay_ += own->second;
    }
  }
  ~PersonalityPreparedModel() override {
    const FaultPlan::Call call = behaviour_->faults.enter(FaultPoint::RELEASE, &model());
    for (const FaultMoment moment : {FaultMoment::BEFORE, FaultMoment::WORK}) (void)call.at(moment);
  }
  PersonalityPreparedModel(const PersonalityPreparedModel&) = delete;
  PersonalityPreparedModel& operator=(const PersonalityPreparedModel&) = delete;

  hal::ExecutionResult executeSynchronously(const hal::Request& request,
                                            const hal::ExecuteOptions& options) override {
    const FaultPlan::Call call = behaviour_->faults.enter(FaultPoint::EXECUTE, &model());
    hal::ExecutionResult result;
    result.status = call.at(FaultMoment::BEFORE);
    if (!result.status.ok()) return result;
    const hal::TimePoint start = hal::Clock::now();
    const auto code = code_->get(options);
    result.status = code.status();
    if (!result.status.ok()) return result;
    result.status = pauseFor(delayWith(**code), options.deadline, options.cancel);
    if (!result.status.ok()) return result;
    const auto paused =
        std::chrono::duration_cast<std::chrono::nanoseconds>(hal::Clock::now() - start).count();
    result = compute(*(*code)->cpu, request, options, call.spoilsResult());
    // The pause counts as the device's work.
    for (auto* time : {&result.timing.timeOnDevice, &result.timing.timeInDriver}) {
      if (*time) **time += static_cast<uint64_t>(paused);
    }
    if (Status status = call.at(FaultMoment::WORK); !status.ok()) {
      result = {};
      result.status = std::move(status);
    }
    (void)call.at(FaultMoment::ANSWER);
    return result;
  }

  Result<std::unique_ptr<hal::ReusableExecution>> createReusableExecution(
      const hal::Request& request) override {
    // It only computes, and always with the same code, on arguments in place.
    if (!behaviour_->personality.info.ownMemory && delay_.count() <= 0 &&
        !behaviour_->faults.concerns(FaultPoint::EXECUTE) &&
        behaviour_->personality.cache.mode == CompileMode::EAGER) {
      HALYARD_ASSIGN_OR_RETURN(const auto code, code_->get({}));
      return code->cpu->createReusableExecution(request);
    }
    return hal::PreparedModel::createReusableExecution(request);
  }

  Status saveToCache(int modelCache, int dataCache, const hal::Token& token) override {
    HALYARD_ASSIGN_OR_RETURN(const auto code, code_->get({}));
    hal::CacheFiles files;
    files.modelCache.emplace_back(::fcntl(modelCache, F_DUPFD_CLOEXEC, 0));
    files.dataCache.emplace_back(::fcntl(dataCache, F_DUPFD_CLOEXEC, 0));
    files.token = token;
    SavedModel saved = saved_;
    saved.stage = code->stage;
    return behaviour_->store.save(saved, files, clientUid_)
        .annotate("the compilation cannot be saved")
        .withCode(ResultCode::OP_FAILED);
  }

 private:
  // `isWrong`: inverts the bytes of the result.
  hal::ExecutionResult compute(hal::PreparedModel& cpu, const hal::Request& request,
                               const hal::ExecuteOptions& options, bool isWrong) const {
    const hal::DeviceInfo& info = behaviour_->personality.info;
    const auto run = [&](const hal::Request& own) {
      hal::ExecutionResult result = cpu.executeSynchronously(own, options);
      if (isWrong && result.status.ok()) result.status = spoil(model(), own, result);
      return result;
    };
    return info.ownMemory ? computeInArena(model(), request, info.imports, run) : run(request);
  }

  const Model& model() const { return *saved_.model; }
  Milliseconds delayWith(const CompiledCode& code) const {
    const Delays& delays = behaviour_->personality.delays;
    return code.stage == Stage::QUICK ? delay_ + delays.quickExecute : delay_;
  }

  const std::shared_ptr<Behaviour> behaviour_;
  const SavedModel saved_;
  const uint32_t clientUid_;
  const std::shared_ptr<ModelCode> code_;
  const std::shared_ptr<const BackgroundCompiler::Task> later_;
  Milliseconds delay_{0};
};

class PersonalityDevice final : public hal::Device {
 public:
  explicit PersonalityDevice(std::shared_ptr<Behaviour> behaviour)
      : behaviour_(std::move(behaviour)),
        cpu_(cpu::makeCpuDevice(personality().info, personality().threads,
                                personality().reportsTiming,
                                WrongValues::make(personality().wrongValues))),
        background_(personality().delays.optimise) {}

  const hal::DeviceInfo& info() const override { return personality().info; }
  hal::DeviceStatus status() override { return personality().status; }

  Result<hal::SupportedOperations> getSupportedOperations(const ValidModel& model) override {
    const FaultPlan::Call call =
        behaviour_->faults.enter(FaultPoint::GET_SUPPORTED_OPERATIONS, model.share().get());
    HALYARD_RETURN_IF_ERROR(call.at(FaultMoment::BEFORE));
    HALYARD_RETURN_IF_ERROR(pauseFor(personality().delays.getSupportedOperations, {}, {}));
    HALYARD_ASSIGN_OR_RETURN(hal::SupportedOperations supported, supportedOperations(model));
    HALYARD_RETURN_IF_ERROR(call.at(FaultMoment::WORK));
    (void)call.at(FaultMoment::ANSWER);
    return supported;
  }

  Result<std::shared_ptr<hal::PreparedModel>> prepareModel(
      const ValidModel& model, const hal::PrepareOptions& options) override {
    const FaultPlan::Call call = behaviour_->faults.enter(FaultPoint::PREPARE, model.share().get());
    HALYARD_RETURN_IF_ERROR(call.at(FaultMoment::BEFORE));
    HALYARD_RETURN_IF_ERROR(pauseFor(personality().delays.prepare, options.deadline, {}));
    HALYARD_RETURN_IF_ERROR(checkSupported(model));
    Preparation preparation{{model, options.preference, options.priority}};
    preparation.clientUid = options.clientUid;
    // A token without files is not used here.
    if (options.cache != nullptr &&
        options.cache->modelCache.size() + options.cache->dataCache.size() != 0) {
      preparation.files = options.cache;
    }
    HALYARD_ASSIGN_OR_RETURN(std::shared_ptr<hal::PreparedModel> prepared,
                             compile(std::move(preparation), options.deadline));
    HALYARD_RETURN_IF_ERROR(call.at(FaultMoment::WORK));
    (void)call.at(FaultMoment::ANSWER);
    return prepared;
  }

  Result<hal::DeviceMemoryPtr> allocateMemory(const hal::MemoryOrder& order) override {
    if (!personality().info.ownMemory) return hal::Device::allocateMemory(order);
    return hal::DeviceMemoryPtr(std::make_shared<ArenaMemory>(order.bytes));
  }

  Result<hal::CachedModel> prepareModelFromCache(const std::optional<ValidModel>&,
                                                 const hal::PrepareOptions& options) override {
    const FaultPlan::Call call = behaviour_->faults.enter(FaultPoint::PREPARE_FROM_CACHE, nullptr);
    HALYARD_RETURN_IF_ERROR(call.at(FaultMoment::BEFORE));
    HALYARD_ASSIGN_OR_RETURN(SavedModel saved, behaviour_->store.load(*options.cache, options));
    HALYARD_RETURN_IF_ERROR(checkSupported(saved.model).withCode(ResultCode::OP_FAILED));
    HALYARD_ASSIGN_OR_RETURN(const CompiledCode code, codeFor(saved, options.deadline));
    const bool improves =
        saved.stage == Stage::QUICK && personality().cache.mode == CompileMode::MULTI_STAGE;
    hal::CachedModel cached;
    cached.interface = saved.model.share();
    cached.preference = saved.preference;
    cached.priority = saved.priority;
    cached.prepared = withCode({std::move(saved), options.clientUid, options.cache},
                               std::make_shared<ModelCode>(code), improves);
    HALYARD_RETURN_IF_ERROR(call.at(FaultMoment::WORK));
    (void)call.at(FaultMoment::ANSWER);
    return cached;
  }

 private:
  const Personality& personality() const { return behaviour_->personality; }

  Result<hal::SupportedOperations> supportedOperations(const ValidModel& model) {
    HALYARD_ASSIGN_OR_RETURN(hal::SupportedOperations supported,
                             cpu_->getSupportedOperations(model));
    restrict(personality().support, *model, supported);
    return supported;
  }
  Status checkSupported(const ValidModel& model) {
    HALYARD_ASSIGN_OR_RETURN(const hal::SupportedOperations supported, supportedOperations(model));
    const auto first = std::ranges::find(supported, false, &hal::OperationSupport::supported);
    if (first == supported.end()) return okStatus();
    const auto index = static_cast<size_t>(first - supported.begin());
    return badData("{} is not supported: {}",
                   operationText(index, model->main.operations[index].type), first->reason);
  }

  Result<CompiledCode> codeFor(const SavedModel& saved,
                               const std::optional<hal::TimePoint>& deadline) const {
    return makeCode(*cpu_, saved, deadline);
  }
  static Result<CompiledCode> makeCode(hal::Device& cpu, const SavedModel& saved,
                                       const std::optional<hal::TimePoint>& deadline) {
    hal::PrepareOptions options;
    options.preference = saved.preference;
    options.priority = saved.priority;
    options.deadline = deadline;
    HALYARD_ASSIGN_OR_RETURN(std::shared_ptr<hal::PreparedModel> prepared,
                             cpu.prepareModel(saved.model, options));
    return CompiledCode{std::move(prepared), saved.stage};
  }

  Result<std::shared_ptr<hal::PreparedModel>> compile(
      Preparation preparation, const std::optional<hal::TimePoint>& deadline) {
    const CompileMode mode = personality().cache.mode;
    if (mode == CompileMode::JUST_IN_TIME) {
      auto code = std::make_shared<ModelCode>(compilerFor(preparation));
      return withCode(std::move(preparation), std::move(code), false);
    }
    const bool multiStage = mode == CompileMode::MULTI_STAGE;
    if (multiStage) preparation.saved.stage = Stage::QUICK;
    HALYARD_RETURN_IF_ERROR(pauseFor(personality().delays.compile, deadline, {}));
    HALYARD_ASSIGN_OR_RETURN(CompiledCode code, codeFor(preparation.saved, deadline));
    behaviour_->saveTo(preparation, {});
    return withCode(std::move(preparation), std::make_shared<ModelCode>(std::move(code)),
                    multiStage);
  }

  // Compiles a model at its first execution.
  ModelCode::Compile compilerFor(const Preparation& preparation) const {
    return [behaviour = behaviour_, cpu = cpu_, preparation](
               const hal::ExecuteOptions& options) -> Result<std::shared_ptr<const CompiledCode>> {
      HALYARD_RETURN_IF_ERROR(
          pauseFor(behaviour->personality.delays.compile, options.deadline, options.cancel));
      HALYARD_ASSIGN_OR_RETURN(CompiledCode code,
                               makeCode(*cpu, preparation.saved, options.deadline));
      behaviour->saveTo(preparation, options.cancel);
      return std::make_shared<const CompiledCode>(std::move(code));
    };
  }

  // `improves`: the background compiler makes better code.
  std::shared_ptr<hal::PreparedModel> withCode(Preparation preparation,
                                               std::shared_ptr<ModelCode> code, bool improves) {
    std::shared_ptr<const BackgroundCompiler::Task> later;
    if (improves) {
      later = improvementOf(preparation, code);
      background_.post(later);
    }
    return std::make_shared<PersonalityPreparedModel>(behaviour_, std::move(preparation),
                                                      std::move(code), std::move(later));
  }

  std::shared_ptr<const BackgroundCompiler::Task> improvementOf(
      const Preparation& preparation, const std::shared_ptr<ModelCode>& code) const {
    // Shared, so that the files can be released when they have been written.
    auto own = std::make_shared<Preparation>(preparation);
    own->saved.stage = Stage::OPTIMISED;
    return std::make_shared<const BackgroundCompiler::Task>(
        [behaviour = behaviour_, cpu = cpu_, own, code](const std::stop_token& stop) {
          auto better = makeCode(*cpu, own->saved, std::nullopt);
          if (better.ok()) {
            code->replace(std::move(*better));
            behaviour->saveTo(*own, stop);
          } else {
            logWarning("a model is not optimised: {}", better.status().message());
          }
          own->files = nullptr;
        });
  }

  const std::shared_ptr<Behaviour> behaviour_;
  const std::shared_ptr<hal::Device> cpu_;
  BackgroundCompiler background_;  // first to be destroyed: its tasks use the rest
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
  // Slightly worse than the runtime's own CPU device, which needs no driver process.
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
