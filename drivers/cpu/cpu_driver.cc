// A model with known sizes is compiled when it is prepared. One whose sizes come with an execution
// is compiled then. The CPU executor computes all other models.
#include "cpu_driver.h"

#include <algorithm>
#include <charconv>
#include <string_view>
#include <utility>

#include "base/processors.h"
#include "base/work_limit.h"
#include "capabilities_json.h"
#include "compiled_model.h"
#include "cpu/cpu_device.h"
#include "cpu/execution_plan.h"
#include "halyard/driver/capabilities_file.h"
#include "prepared_models.h"
#include "shared_packing.h"
#include "step_list.h"

namespace halyard::cpudriver {
namespace {

class CpuDriver final : public hal::Device {
 public:
  // `threads` 0: as many as there are processors.
  CpuDriver(hal::DeviceInfo info, unsigned threads, HostProcess process)
      : sharesProcessor_(process == HostProcess::OWN &&
                         (threads == 0 || threads >= usableProcessors())),
        info_(std::move(info)),
        executor_(cpu::makeCpuDevice(info_, threads, true)),
        resources_(std::make_shared<DriverResources>(threads)) {}

  const hal::DeviceInfo& info() const override { return info_; }

  Result<hal::SupportedOperations> getSupportedOperations(const ValidModel& model) override {
    return executor_->getSupportedOperations(model);
  }

  Result<std::shared_ptr<hal::PreparedModel>> prepareModel(
      const ValidModel& valid, const hal::PrepareOptions& options) override {
    const std::shared_ptr<const Model>& model = valid.share();
    // Kernels may be made after the answer, except in two cases. With a deadline, all of the
    // preparation must end in time. With SUSTAINED_SPEED many executions follow, and the first
    // should be as fast as the others.
    const bool later =
        options.preference != hal::ExecutionPreference::SUSTAINED_SPEED && !options.deadline;
    HALYARD_ASSIGN_OR_RETURN(std::shared_ptr<CompiledModel> compiled,
                             compile(model, options, later));
    if (compiled == nullptr) return prepareOpen(model, options);
    if (later && !lateCompilerFor(options).add(compiled)) {
      HALYARD_RETURN_IF_ERROR(compiled->complete());
    }
    return std::shared_ptr<hal::PreparedModel>(
        std::make_shared<CompiledPreparedModel>(model, resources_, std::move(compiled)));
  }

 private:
  LateCompiler& lateCompilerFor(const hal::PrepareOptions& options) const {
    return resources_->late[static_cast<size_t>(options.priority)];
  }

  CompiledModel::Resources resourcesFor(const hal::PrepareOptions& options,
                                        const Model& model) const {
    const auto priority = static_cast<size_t>(options.priority);
    ThreadShare& threads = options.preference == hal::ExecutionPreference::LOW_POWER
                               ? resources_->alone
                               : resources_->byPriority[priority];
    return {&threads,
            &resources_->idle,
            &lateCompilerFor(options),
            resources_->pieces.of(model),
            resources_->workspaces,
            sharesProcessor_};
  }

  // As CompiledModel::compile or compileLater, within the options' deadline.
  Result<std::unique_ptr<CompiledModel>> compile(const std::shared_ptr<const Model>& model,
                                                 const hal::PrepareOptions& options,
                                                 bool later) const {
    const auto make = [&] {
      const CompiledModel::Resources resources = resourcesFor(options, *model);
      return later ? CompiledModel::compileLater(model, resources)
                   : CompiledModel::compile(model, resources);
    };
    return withinDeadline<std::unique_ptr<CompiledModel>>(options, make);
  }

  // A model that is not compiled, at least not before its executions.
  Result<std::shared_ptr<hal::PreparedModel>> prepareOpen(
      std::shared_ptr<const Model> model, const hal::PrepareOptions& options) const {
    const auto make = [&]() -> Result<std::shared_ptr<hal::PreparedModel>> {
      const CompiledModel::Resources resources = resourcesFor(options, *model);
      HALYARD_ASSIGN_OR_RETURN(cpu::ExecutionPlan made, cpu::ExecutionPlan::make(model));
      if (!made.referenced.empty()) {
        SharedPacking packing(*resources.pieces, resources.threads);
        addBodySteps(&made, &packing);
      }
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

  // The result of `make()`, made within the options' deadline.
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

  const bool sharesProcessor_;  // with a client that polls
  const hal::DeviceInfo info_;
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
  // Executions of more clients at a time would only take processors and caches from each other.
  info.usualThreads = std::max(2u, usableProcessors());
  // Measured by halyard bench --capabilities.
  HALYARD_ASSIGN_OR_RETURN(info.capabilities, hal::parseCapabilities(kCapabilitiesJson),
                           "drivers/cpu/capabilities.json");
  return info;
}

constexpr std::string_view kThreads = "--threads=";
constexpr unsigned kMostThreads = 256;

// 0 without arguments.
Result<unsigned> readThreads(std::span<const std::string> arguments) {
  if (arguments.empty()) return 0u;
  const std::string_view text = arguments[0];
  unsigned threads = 0;
  if (arguments.size() == 1 && text.starts_with(kThreads)) {
    const char* const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data() + kThreads.size(), end, threads);
    if (error != std::errc() || stop != end || threads > kMostThreads) threads = 0;
  }
  if (threads > 0) return threads;
  return badData("arguments '{}', expected --threads=N with N from 1 to {}",
                 fmt::join(arguments, " "), kMostThreads);
}

}  // namespace

Result<std::shared_ptr<hal::Device>> makeCpuDriver(std::span<const std::string> arguments,
                                                   HostProcess process) {
  HALYARD_ASSIGN_OR_RETURN(const unsigned threads, readThreads(arguments));
  HALYARD_ASSIGN_OR_RETURN(hal::DeviceInfo info, describe());
  return std::shared_ptr<hal::Device>(
      std::make_shared<CpuDriver>(std::move(info), threads, process));
}

}  // namespace halyard::cpudriver
