// Models that can be compiled are, or come from the cache; the others go to the CPU executor behind
// it.
#include "cpu_driver.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "adapted_run.h"
#include "base/log.h"
#include "base/work_limit.h"
#include "capabilities_json.h"
#include "compilation_store.h"
#include "compiled_model.h"
#include "cpu/cpu_device.h"
#include "driver_arguments.h"
#include "halyard/driver/capabilities_file.h"
#include "halyard/driver/mapped_request.h"
#include "late_compiler.h"
#include "model/validation.h"
#include "recorded_packing.h"

namespace halyard::cpudriver {
namespace {

// After which memory that is kept for the next execution is given back.
constexpr std::chrono::seconds kIdle{10};

uint64_t nanosecondsSince(hal::TimePoint start) {
  const auto elapsed = hal::Clock::now() - start;
  return static_cast<uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(elapsed).count());
}

// The same request again and again, checked and mapped once.
class RepeatedRequest final : public hal::ReusableExecution {
 public:
  RepeatedRequest(CompiledModel& model, hal::MappedRequest mapped)
      : model_(model), mapped_(std::move(mapped)) {
    // Only what model and request leave open is to be told.
    const bool isOpen =
        std::ranges::any_of(mapped_.outputs(), [](const hal::MappedArgument& output) {
          return !knownElementCount(output.dims).has_value();
        });
    if (isOpen) shapes_ = model.outputShapes();
  }

  hal::ExecutionResult compute(const hal::ExecuteOptions& options) override {
    const hal::TimePoint started = options.measureTiming ? hal::Clock::now() : hal::TimePoint();
    hal::ExecutionResult result = model_.run(mapped_.inputs(), mapped_.outputs(), options);
    if (!result.status.ok()) return result;
    result.outputShapes = shapes_;
    if (options.measureTiming) {
      result.timing.timeOnDevice = nanosecondsSince(started);
      result.timing.timeInDriver = result.timing.timeOnDevice;
    }
    return result;
  }

 private:
  CompiledModel& model_;
  const hal::MappedRequest mapped_;
  std::vector<hal::OutputShape> shapes_;  // to be told with every result
};

// What the models of a driver share, beyond its end.
struct Shared {
  explicit Shared(unsigned threads)
      : byPriority{ThreadShare(threads, ThreadClass::BACKGROUND, ThreadPool::kBetweenLoops),
                   ThreadShare(threads, ThreadClass::NORMAL, ThreadPool::kBetweenLoops),
                   ThreadShare(threads, ThreadClass::URGENT, ThreadPool::kBetweenLoops)} {}

  // Loops of one priority never wait for, or run in, threads of another. A pool has no threads
  // before its first loop.
  std::array<ThreadShare, 3> byPriority;
  // For what must not cost more energy than it has to: no thread is woken.
  ThreadShare alone{1};
  IdleMemory idle{kIdle};
  // Also by priority. The last: what they complete needs the others.
  std::array<LateCompiler, 3> late{LateCompiler(ThreadClass::BACKGROUND),
                                   LateCompiler(ThreadClass::NORMAL),
                                   LateCompiler(ThreadClass::URGENT)};
};

class FastPreparedModel final : public hal::PreparedModel {
 public:
  FastPreparedModel(std::shared_ptr<const Model> model, std::shared_ptr<Shared> shared,
                    std::shared_ptr<CompiledModel> compiled)
      : model_(std::move(model)), shared_(std::move(shared)), compiled_(std::move(compiled)) {}
  ~FastPreparedModel() override { compiled_->abandon(); }

  hal::ExecutionResult executeSynchronously(const hal::Request& request,
                                            const hal::ExecuteOptions& options) override {
    const hal::TimePoint called = options.measureTiming ? hal::Clock::now() : hal::TimePoint();
    if (Status status = hal::validateRequest(*model_, request, true); !status.ok()) {
      return {std::move(status), {}, {}};
    }
    Result<hal::MappedRequest> mapped = hal::MappedRequest::map(*model_, request);
    if (!mapped.ok()) return {mapped.takeStatus(), {}, {}};
    const hal::TimePoint started = options.measureTiming ? hal::Clock::now() : hal::TimePoint();
    hal::ExecutionResult result;
    if (compiled_->takes(mapped->inputs(), mapped->outputs())) {
      result = compiled_->run(mapped->inputs(), mapped->outputs(), options);
      if (result.status.ok()) result.outputShapes = compiled_->outputShapes();
    } else {
      result = runAdapted(*compiled_, *model_, *mapped, options);
    }
    if (!result.status.ok()) return result;
    if (options.measureTiming) {
      // In this order, the time on the device cannot exceed that in the driver.
      result.timing.timeOnDevice = nanosecondsSince(started);
      result.timing.timeInDriver = nanosecondsSince(called);
    }
    return result;
  }

  Result<std::unique_ptr<hal::ReusableExecution>> createReusableExecution(
      const hal::Request& request) override {
    HALYARD_RETURN_IF_ERROR(hal::validateRequest(*model_, request, true));
    // The accesses to a dma-buf have a beginning and an end for each execution.
    if (hasDmaBuf(request)) return hal::PreparedModel::createReusableExecution(request);
    Result<hal::MappedRequest> mapped = hal::MappedRequest::map(*model_, request);
    if (!mapped.ok() || !compiled_->takes(mapped->inputs(), mapped->outputs())) {
      return hal::PreparedModel::createReusableExecution(request);
    }
    return std::unique_ptr<hal::ReusableExecution>(
        std::make_unique<RepeatedRequest>(*compiled_, std::move(*mapped)));
  }

 private:
  static bool hasDmaBuf(const hal::Request& request) {
    return std::ranges::any_of(request.pools, [](const hal::RequestPool& pool) {
      const auto* const memory = std::get_if<SharedMemoryPtr>(&pool);
      return memory != nullptr && *memory != nullptr && (*memory)->isDmaBuf();
    });
  }

  const std::shared_ptr<const Model> model_;
  const std::shared_ptr<Shared> shared_;  // what the compiled model borrows
  const std::shared_ptr<CompiledModel> compiled_;
};

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
        shared_(std::make_shared<Shared>(arguments.threads)) {}

  const hal::DeviceInfo& info() const override { return info_; }

  Result<std::vector<bool>> getSupportedOperations(const Model& model) override {
    return executor_->getSupportedOperations(model);
  }

  Result<std::shared_ptr<hal::PreparedModel>> prepareModel(
      std::shared_ptr<const Model> model, const hal::PrepareOptions& options) override {
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
    if (compiled == nullptr) return executor_->prepareModel(std::move(model), options);
    if (later && !lateFor(options).add(compiled)) {
      HALYARD_RETURN_IF_ERROR(compiled->complete());
    }
    if (saves) {
      const Status saved =
          store_->save(*model, *compiled, recorder, options, hal::Clock::now() - started);
      if (!saved.ok()) logInfo("the compilation is not cached: {}", saved.message());
    }
    return std::shared_ptr<hal::PreparedModel>(
        std::make_shared<FastPreparedModel>(std::move(model), shared_, std::move(compiled)));
  }

  Result<hal::CachedModel> prepareModelFromCache(std::shared_ptr<const Model> /*model*/,
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
    cached.prepared =
        std::make_shared<FastPreparedModel>(std::move(saved.model), shared_, std::move(compiled));
    return cached;
  }

 private:
  ThreadShare& threadsFor(const hal::PrepareOptions& options) const {
    return options.preference == hal::ExecutionPreference::LOW_POWER
               ? shared_->alone
               : shared_->byPriority[static_cast<size_t>(options.priority)];
  }

  LateCompiler& lateFor(const hal::PrepareOptions& options) const {
    return shared_->late[static_cast<size_t>(options.priority)];
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
    if (options.deadline && hal::Clock::now() >= *options.deadline) {
      return makeStatus(ResultCode::MISSED_DEADLINE_PERSISTENT,
                        "the deadline has passed before the model was prepared");
    }
    const WorkLimit limit{options.deadline, {}};
    const WorkLimitScope scope(options.deadline ? &limit : currentWorkLimit());
    try {
      const CompiledModel::Resources resources{&threadsFor(options), &shared_->idle,
                                               &lateFor(options)};
      if (manner.later) return CompiledModel::compileLater(model, resources);
      HALYARD_ASSIGN_OR_RETURN(
          std::unique_ptr<CompiledModel> compiled,
          CompiledModel::compile(model, resources, manner.packing, manner.tunable));
      if (compiled == nullptr) return compiled;
      const bool isFresh = manner.packing == nullptr || manner.packing->isFresh();
      if (manner.tunable && isFresh) tune(*model, options, *compiled);
      return compiled;
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
  const std::shared_ptr<Shared> shared_;
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
