// Models that can be compiled are, or come from the cache; those whose sizes only an execution
// knows are compiled then; the others go to the CPU executor.
#include "cpu_driver.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/log.h"
#include "base/work_limit.h"
#include "capabilities_json.h"
#include "compilation_store.h"
#include "compiled_model.h"
#include "cpu/cpu_device.h"
#include "cpu/execution_plan.h"
#include "driver_arguments.h"
#include "halyard/driver/capabilities_file.h"
#include "model/validation/validation.h"
#include "prepared_models.h"
#include "recorded_packing.h"

namespace halyard::cpudriver {
namespace {

class CpuDriver final : public hal::Device {
 public:
  // `store` may be null: nothing is cached. `watcher` may be empty.
  CpuDriver(hal::DeviceInfo info, const DriverArguments& arguments,
            std::unique_ptr<CompilationStore> store, TuningWatcher watcher)
      : info_(std::move(info)),
        tunes_(arguments.tunes),
        watcher_(std::move(watcher)),
        store_(std::move(store)),
        executor_(cpu::makeCpuDevice(info_, arguments.threads, true)),
        resources_(std::make_shared<DriverResources>(arguments.threads)) {}

  const hal::DeviceInfo& info() const override { return info_; }

  Result<std::vector<bool>> getSupportedOperations(const ValidModel& model) override {
    return executor_->getSupportedOperations(model);
  }

  Result<std::shared_ptr<hal::PreparedModel>> prepareModel(
      const ValidModel& model, const hal::PrepareOptions& options) override {
    const hal::TimePoint started = hal::Clock::now();
    HALYARD_RETURN_IF_ERROR(checkValid(*model));
    PackingRecorder recorder;
    // What took long just now may be quick the next time: whoever saves some of it by chance
    // surprises whoever relies on what there was.
    const bool saves =
        store_ != nullptr && options.cache != nullptr && hal::savesFor(info_, options.preference);
    const bool sustains = options.preference == hal::ExecutionPreference::SUSTAINED_SPEED;
    // Kernels may be made behind the answer, unless somebody wants it all done by then.
    const bool later = !saves && !sustains && !options.deadline;
    HALYARD_ASSIGN_OR_RETURN(
        std::shared_ptr<CompiledModel> compiled,
        compile(model, options,
                {saves ? &recorder : nullptr, /*tunable=*/tunes_ && sustains, later}));
    if (compiled == nullptr) return prepareOpen(std::move(model), options);
    if (later && !resourcesFor(options).late->add(compiled)) {
      HALYARD_RETURN_IF_ERROR(compiled->complete());
    }
    if (saves) {
      const Status saved =
          store_->save(*model, *compiled, recorder, options, hal::Clock::now() - started);
      if (!saved.ok()) logInfo("the compilation is not cached: {}", saved.message());
    }
    return std::shared_ptr<hal::PreparedModel>(
        std::make_shared<CompiledPreparedModel>(std::move(model), resources_, std::move(compiled)));
  }

  Result<hal::CachedModel> prepareModelFromCache(const std::optional<ValidModel>& /*model*/,
                                                 const hal::PrepareOptions& options) override {
    if (store_ == nullptr) return opFailed("there is no store of what was saved");
    HALYARD_ASSIGN_OR_RETURN(SavedCompilation saved, store_->load(options));
    hal::PrepareOptions own = options;
    own.preference = saved.preference;
    own.priority = saved.priority;
    PackingReplay replay(std::move(saved.pieces));
    const bool wasTuned = !saved.choices.empty();
    HALYARD_ASSIGN_OR_RETURN(std::unique_ptr<CompiledModel> compiled,
                             compile(saved.model, own, {&replay, wasTuned, /*later=*/false}));
    if (compiled == nullptr || !replay.isConsistent()) {
      return opFailed("what was saved does not suit the model that was saved with it");
    }
    if (wasTuned) HALYARD_RETURN_IF_ERROR(compiled->choose(saved.choices));
    hal::CachedModel cached;
    cached.interface = saved.model;
    cached.preference = own.preference;
    cached.priority = own.priority;
    cached.prepared = std::make_shared<CompiledPreparedModel>(std::move(saved.model), resources_,
                                                              std::move(compiled));
    return cached;
  }

 private:
  CompiledModel::Resources resourcesFor(const hal::PrepareOptions& options) const {
    const auto priority = static_cast<size_t>(options.priority);
    ThreadShare& threads = options.preference == hal::ExecutionPreference::LOW_POWER
                               ? resources_->alone
                               : resources_->byPriority[priority];
    return {&threads, &resources_->idle, &resources_->late[priority]};
  }

  struct Manner {
    Packing* packing;  // may be null
    bool tunable;
    bool later;  // for which there is neither
  };
  // As CompiledModel::compile or compileLater, within the options' deadline. What is tunable and
  // comes from no cache is tuned.
  Result<std::unique_ptr<CompiledModel>> compile(const std::shared_ptr<const Model>& model,
                                                 const hal::PrepareOptions& options,
                                                 const Manner& manner) const {
    const auto make = [&]() -> Result<std::unique_ptr<CompiledModel>> {
      const CompiledModel::Resources resources = resourcesFor(options);
      if (manner.later) return CompiledModel::compileLater(model, resources);
      HALYARD_ASSIGN_OR_RETURN(
          std::unique_ptr<CompiledModel> compiled,
          CompiledModel::compile(model, resources, manner.packing, manner.tunable));
      if (compiled == nullptr) return compiled;
      const bool isFresh = manner.packing == nullptr || manner.packing->isFresh();
      if (manner.tunable && isFresh) tune(*model, options, *compiled);
      return compiled;
    };
    return withinDeadline<std::unique_ptr<CompiledModel>>(options, make);
  }

  // A model that is not compiled, at least not before its executions.
  Result<std::shared_ptr<hal::PreparedModel>> prepareOpen(
      std::shared_ptr<const Model> model, const hal::PrepareOptions& options) const {
    const auto make = [&]() -> Result<std::shared_ptr<hal::PreparedModel>> {
      const CompiledModel::Resources resources = resourcesFor(options);
      HALYARD_ASSIGN_OR_RETURN(cpu::ExecutionPlan made, cpu::ExecutionPlan::make(model));
      const auto plan = std::make_shared<const cpu::ExecutionPlan>(std::move(made));
      // As long as there are the models, there are the threads.
      std::shared_ptr<ThreadPool> threads(resources_, &resources.threads->pool());
      std::shared_ptr<cpu::Executor> executor = cpu::Executor::create(plan, threads.get());
      std::shared_ptr<hal::PreparedModel> prepared = cpu::makeCpuPreparedModel(
          model, std::move(threads), std::move(executor), /*reportsTiming=*/true);
      if (!ShapePlans::mayHelp(*plan)) return prepared;
      return std::shared_ptr<hal::PreparedModel>(std::make_shared<OpenPreparedModel>(
          model, resources_, std::make_unique<ShapePlans>(plan, resources), std::move(prepared)));
    };
    return withinDeadline<std::shared_ptr<hal::PreparedModel>>(options, make);
  }

  // What `make()` makes within the options' deadline.
  template <typename T, typename Make>
  static Result<T> withinDeadline(const hal::PrepareOptions& options, const Make& make) {
    if (options.deadline && hal::Clock::now() >= *options.deadline) {
      return makeStatus(ResultCode::MISSED_DEADLINE_PERSISTENT,
                        "the deadline has passed before the model was prepared");
    }
    const WorkLimit limit{options.deadline, {}};
    const WorkLimitScope scope(options.deadline ? &limit : currentWorkLimit());
    try {
      return make();
    } catch (const WorkAbandoned&) {
      if (!options.deadline) throw;
      return makeStatus(ResultCode::MISSED_DEADLINE_TRANSIENT,
                        "the deadline has passed while the model was compiled");
    } catch (const std::bad_alloc&) {
      return makeStatus(ResultCode::OUT_OF_MEMORY,
                        "the CPU driver ran out of memory while it compiled the model");
    }
  }

  // Takes a quarter of the time to the deadline at the most.
  void tune(const Model& model, const hal::PrepareOptions& options, CompiledModel& compiled) const {
    const hal::TimePoint started = hal::Clock::now();
    std::chrono::nanoseconds budget = kTuningBudget;
    std::optional<hal::TimePoint> end;
    if (options.deadline) {
      end = started + (*options.deadline - started) / 4;
      budget = std::min(budget, (*end - started) / 2);
    }
    const Tuning tuning = compiled.tune(budget, end);
    const auto microseconds = [](std::chrono::nanoseconds time) {
      return 1e-3 * static_cast<double>(time.count());
    };
    logInfo("{} executions in {:.1f} ms to choose by: {} of {} steps are computed in another way{}",
            tuning.runs, 1e-3 * microseconds(hal::Clock::now() - started), tuning.changed(),
            compiled.facts().steps, tuning.complete ? "" : ", for nothing could be measured");
    for (size_t step = 0; step < tuning.steps.size(); ++step) {
      const CompiledModel::StepFacts facts = compiled.stepFacts(step);
      if (facts.way.empty()) continue;
      logInfo("{}: {}, {:.2f} us instead of {:.2f}",
              operationText(facts.operation, model.main.operations[facts.operation].type),
              facts.way, microseconds(tuning.steps[step].chosen),
              microseconds(tuning.steps[step].usual));
    }
    if (watcher_) watcher_(tuning);
  }

  const hal::DeviceInfo info_;
  const bool tunes_;
  const TuningWatcher watcher_;
  const std::unique_ptr<CompilationStore> store_;
  const std::shared_ptr<hal::Device> executor_;
  const std::shared_ptr<DriverResources> resources_;
};

Result<hal::DeviceInfo> describe() {
  hal::DeviceInfo info;
  info.name = "halyard-cpu";
  info.versionString = "halyard-cpu " HALYARD_VERSION;
  info.halVersion = HalVersion::V1_3;
  info.featureLevel = FeatureLevel::FL8;
  info.type = hal::DeviceType::CPU;
  info.extensions = {{std::string(kTfliteExtension), {}}};
  // Measured by halyard bench --capabilities.
  HALYARD_ASSIGN_OR_RETURN(info.capabilities, hal::parseCapabilities(kCapabilitiesJson),
                           "drivers/cpu/capabilities.json");
  return info;
}

}  // namespace

Result<std::shared_ptr<hal::Device>> makeCpuDriver(std::span<const std::string> arguments) {
  return makeWatchedCpuDriver(arguments, {});
}

Result<std::shared_ptr<hal::Device>> makeWatchedCpuDriver(std::span<const std::string> arguments,
                                                          TuningWatcher watcher) {
  HALYARD_ASSIGN_OR_RETURN(const DriverArguments read, readArguments(arguments));
  HALYARD_ASSIGN_OR_RETURN(hal::DeviceInfo info, describe());
  std::unique_ptr<CompilationStore> store;
  if (read.caches) {
    auto opened = CompilationStore::open(info, read.cacheFolder, read.cachesAll);
    if (opened.ok()) {
      store = std::move(*opened);
      info.modelCacheFiles = CompilationStore::kModelFiles;
      info.dataCacheFiles = CompilationStore::kDataFiles;
      // Compiling takes long where it measures; without, nothing is loaded in a fraction of it.
      if (read.tunes && !read.cachesAll) {
        info.cachedPreferences = hal::preferenceBit(hal::ExecutionPreference::SUSTAINED_SPEED);
      }
    } else {
      logWarning("driver '{}' caches nothing: {}", info.name, opened.status().message());
    }
  }
  return std::shared_ptr<hal::Device>(
      std::make_shared<CpuDriver>(std::move(info), read, std::move(store), std::move(watcher)));
}

}  // namespace halyard::cpudriver
