// CpuDevice: turns requests into arguments, and results back.
#include "cpu/cpu_device.h"

#include <algorithm>
#include <optional>

#include "base/log.h"
#include "base/work_limit.h"
#include "cpu/execution_plan.h"
#include "cpu/executor.h"
#include "halyard/driver/mapped_request.h"
#include "model/validation/validation.h"
#include "ops/operation.h"

namespace halyard::cpu {
namespace {

uint64_t nanosecondsSince(hal::TimePoint start) {
  const auto elapsed = hal::Clock::now() - start;
  return static_cast<uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(elapsed).count());
}

// Decides which operations the executor can run, including all operations of their subgraphs.
class SupportCheck {
 public:
  // The operations of kTfliteExtension count only with `hasTflite`.
  SupportCheck(const Model& model, bool hasTflite)
      : model_(model), hasTflite_(hasTflite), known_(model.referenced.size()) {
    // If the nesting is too deep, no operation that refers to a subgraph can run.
    if (const Status nesting = checkNesting(model); !nesting.ok()) {
      std::ranges::fill(known_, std::optional(nesting));
    }
  }

  // OK, or the reason.
  Status check(const Subgraph& subgraph, const Operation& operation) {
    if (ops::definitionOf(operation.type) == nullptr) {
      return badData("it has no operations of vendors");
    }
    if (isTfliteOperation(operation.type) && !hasTflite_) {
      return badData("it does not offer the extension {}", kTfliteExtension);
    }
    for (const uint32_t input : operation.inputs) {
      const Operand& operand = subgraph.operands[input];
      if (operand.lifetime != Lifetime::SUBGRAPH) continue;
      HALYARD_RETURN_IF_ERROR(checkAll(operand.location.offset));
    }
    return okStatus();
  }

 private:
  const Status& checkAll(uint32_t referenced) {
    std::optional<Status>& answer = known_[referenced];
    if (answer) return *answer;
    const Subgraph& inner = model_.referenced[referenced];
    Status all;
    for (size_t i = 0; i < inner.operations.size() && all.ok(); ++i) {
      all = check(inner, inner.operations[i])
                .annotate(fmt::format("{} of subgraph {}",
                                      operationText(i, inner.operations[i].type), referenced));
    }
    return answer.emplace(std::move(all));
  }

  const Model& model_;
  const bool hasTflite_;
  std::vector<std::optional<Status>> known_;  // by subgraph
};

class CpuReusableExecution final : public hal::ReusableExecution {
 public:
  CpuReusableExecution(Executor& executor, hal::MappedRequest mapped, bool reportsTiming)
      : mapped_(std::move(mapped)),
        series_(executor.makeSeries(mapped_.inputs(), mapped_.outputs())),
        reportsTiming_(reportsTiming) {}

  hal::ExecutionResult compute(const hal::ExecuteOptions& options) override {
    const bool measures = reportsTiming_ && options.measureTiming;
    const hal::TimePoint started = measures ? hal::Clock::now() : hal::TimePoint();
    hal::ExecutionResult result = series_->execute(options);
    if (measures && result.status.ok()) {
      // The driver adds no time around the device's work.
      result.timing.timeOnDevice = nanosecondsSince(started);
      result.timing.timeInDriver = result.timing.timeOnDevice;
    }
    return result;
  }

 private:
  const hal::MappedRequest mapped_;
  const std::unique_ptr<Executor::Series> series_;
  const bool reportsTiming_;
};

class CpuPreparedModel : public hal::PreparedModel {
 public:
  CpuPreparedModel(std::shared_ptr<const Model> model, std::shared_ptr<ThreadPool> threads,
                   std::shared_ptr<Executor> executor, bool reportsTiming)
      : model_(std::move(model)),
        threads_(std::move(threads)),
        executor_(std::move(executor)),
        reportsTiming_(reportsTiming) {}
  ~CpuPreparedModel() override {
    const Executor::MemoryUse use = executor_->memoryUse();
    logInfo("model of {} operations: {} KiB planned for temporaries, {} KiB in use at the most",
            model_->main.operations.size(), use.planned / 1024, use.peak / 1024);
  }
  CpuPreparedModel(const CpuPreparedModel&) = delete;
  CpuPreparedModel& operator=(const CpuPreparedModel&) = delete;

  hal::ExecutionResult executeSynchronously(const hal::Request& request,
                                            const hal::ExecuteOptions& options) override {
    const bool measures = reportsTiming_ && options.measureTiming;
    const hal::TimePoint called = measures ? hal::Clock::now() : hal::TimePoint();
    if (Status status = hal::validateRequest(*model_, request, true); !status.ok()) {
      return {std::move(status), {}, {}};
    }
    Result<hal::MappedRequest> mapped = hal::MappedRequest::map(*model_, request);
    if (!mapped.ok()) return {mapped.takeStatus(), {}, {}};
    const hal::TimePoint started = measures ? hal::Clock::now() : hal::TimePoint();
    hal::ExecutionResult result = executor_->execute(mapped->inputs(), mapped->outputs(), options);
    if (measures && result.status.ok()) {
      // With this order of readings, the time on the device cannot exceed the time in the driver.
      result.timing.timeOnDevice = nanosecondsSince(started);
      result.timing.timeInDriver = nanosecondsSince(called);
    }
    return result;
  }

  Result<std::unique_ptr<hal::ReusableExecution>> createReusableExecution(
      const hal::Request& request) override {
    // For a large model, the kept state would be large and save little.
    if (model_->main.operands.size() > kMostOperandsKept || hasDmaBuf(request)) {
      return hal::PreparedModel::createReusableExecution(request);
    }
    HALYARD_RETURN_IF_ERROR(hal::validateRequest(*model_, request, true));
    HALYARD_ASSIGN_OR_RETURN(hal::MappedRequest mapped, hal::MappedRequest::map(*model_, request));
    return std::unique_ptr<hal::ReusableExecution>(
        std::make_unique<CpuReusableExecution>(*executor_, std::move(mapped), reportsTiming_));
  }

 private:
  static constexpr size_t kMostOperandsKept = 256;

  // CPU accesses to a dma-buf begin and end with each execution.
  static bool hasDmaBuf(const hal::Request& request) {
    return std::ranges::any_of(request.pools, [](const hal::RequestPool& pool) {
      const auto* const memory = std::get_if<SharedMemoryPtr>(&pool);
      return memory != nullptr && *memory != nullptr && (*memory)->isDmaBuf();
    });
  }

  const std::shared_ptr<const Model> model_;
  const std::shared_ptr<ThreadPool> threads_;  // borrowed by the executor
  const std::shared_ptr<Executor> executor_;
  const bool reportsTiming_;
};

class CpuDevice : public hal::Device {
 public:
  CpuDevice(hal::DeviceInfo info, unsigned threads, bool reportsTiming,
            std::shared_ptr<const KernelPatch> patch)
      : info_(std::move(info)), reportsTiming_(reportsTiming), patch_(std::move(patch)) {
    // Loops of one priority never wait for threads of another, and never run in them.
    for (const auto threadClass :
         {ThreadClass::BACKGROUND, ThreadClass::NORMAL, ThreadClass::URGENT}) {
      threads_.push_back(
          std::make_shared<ThreadPool>(threads, threadClass, ThreadPool::kBetweenLoops));
    }
  }

  const hal::DeviceInfo& info() const override { return info_; }

  Result<hal::SupportedOperations> getSupportedOperations(const ValidModel& valid) override {
    SupportCheck check(*valid, hal::offersExtension(info_, kTfliteExtension));
    hal::SupportedOperations supported;
    for (const Operation& operation : valid->main.operations) {
      supported.push_back(check.check(valid->main, operation));
    }
    return supported;
  }

  Result<std::shared_ptr<hal::PreparedModel>> prepareModel(
      const ValidModel& model, const hal::PrepareOptions& options) override {
    if (options.deadline && hal::Clock::now() >= *options.deadline) {
      return makeStatus(ResultCode::MISSED_DEADLINE_PERSISTENT,
                        "the deadline has passed before the model was prepared");
    }
    const auto& threads = threads_[static_cast<size_t>(options.priority)];
    const WorkLimit limit{options.deadline, {}};
    const WorkLimitScope scope(options.deadline ? &limit : currentWorkLimit());
    try {
      HALYARD_ASSIGN_OR_RETURN(std::shared_ptr<Executor> executor,
                               Executor::create(model.share(), threads.get(), patch_));
      return makeCpuPreparedModel(model.share(), threads, std::move(executor), reportsTiming_);
    } catch (const WorkAbandoned&) {
      if (!options.deadline) throw;
      return makeStatus(ResultCode::MISSED_DEADLINE_TRANSIENT,
                        "the deadline has passed while the model was prepared");
    }
  }

 private:
  const hal::DeviceInfo info_;
  std::vector<std::shared_ptr<ThreadPool>> threads_;  // by priority
  const bool reportsTiming_;
  const std::shared_ptr<const KernelPatch> patch_;
};

}  // namespace

std::shared_ptr<hal::Device> makeCpuDevice(hal::DeviceInfo info, unsigned threads,
                                           bool reportsTiming,
                                           std::shared_ptr<const KernelPatch> patch) {
  return std::make_shared<CpuDevice>(std::move(info), threads, reportsTiming, std::move(patch));
}

std::shared_ptr<hal::PreparedModel> makeCpuPreparedModel(std::shared_ptr<const Model> model,
                                                         std::shared_ptr<ThreadPool> threads,
                                                         std::shared_ptr<Executor> executor,
                                                         bool reportsTiming) {
  return std::make_shared<CpuPreparedModel>(std::move(model), std::move(threads),
                                            std::move(executor), reportsTiming);
}

hal::DeviceInfo cpuDeviceInfo() {
  hal::DeviceInfo info;
  info.name = "nnapi-reference";
  info.versionString = HALYARD_VERSION;
  info.halVersion = HalVersion::V1_3;
  info.featureLevel = FeatureLevel::FL8;
  info.type = hal::DeviceType::CPU;
  info.extensions = {{std::string(kTfliteExtension), {}}};
  info.capabilities = hal::Capabilities::uniform({1.0f, 1.0f});
  return info;
}

}  // namespace halyard::cpu
