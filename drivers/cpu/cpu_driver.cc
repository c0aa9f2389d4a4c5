// Models that can be compiled are; the others, and requests that are not as the compiled model
// expects them, go to the CPU executor behind it.
#include "cpu_driver.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "base/log.h"
#include "base/work_limit.h"
#include "compiled_model.h"
#include "cpu/cpu_device.h"
#include "halyard/driver/mapped_request.h"

namespace halyard::cpudriver {
namespace {

constexpr unsigned kMostThreads = 256;
// A model is a row of short loops. Between two that are further apart than this, threads sleep.
constexpr std::chrono::microseconds kPatience{50};

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

class FastPreparedModel final : public hal::PreparedModel {
 public:
  FastPreparedModel(std::shared_ptr<const Model> model, std::shared_ptr<ThreadPool> threads,
                    std::unique_ptr<CompiledModel> compiled,
                    std::shared_ptr<hal::PreparedModel> executor)
      : model_(std::move(model)),
        threads_(std::move(threads)),
        compiled_(std::move(compiled)),
        executor_(std::move(executor)) {}

  hal::ExecutionResult executeSynchronously(const hal::Request& request,
                                            const hal::ExecuteOptions& options) override {
    const hal::TimePoint called = options.measureTiming ? hal::Clock::now() : hal::TimePoint();
    if (Status status = hal::validateRequest(*model_, request, true); !status.ok()) {
      return {std::move(status), {}, {}};
    }
    const Result<hal::MappedRequest> mapped = hal::MappedRequest::map(*model_, request);
    if (!mapped.ok() || !compiled_->takes(mapped->inputs(), mapped->outputs())) {
      return executor_->executeSynchronously(request, options);
    }
    const hal::TimePoint started = options.measureTiming ? hal::Clock::now() : hal::TimePoint();
    hal::ExecutionResult result = compiled_->run(mapped->inputs(), mapped->outputs(), options);
    if (!result.status.ok()) return result;
    result.outputShapes = compiled_->outputShapes();
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
      return executor_->createReusableExecution(request);
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
  const std::shared_ptr<ThreadPool> threads_;  // what the compiled model borrows
  const std::unique_ptr<CompiledModel> compiled_;
  const std::shared_ptr<hal::PreparedModel> executor_;
};

class CpuDriver final : public hal::Device {
 public:
  CpuDriver(hal::DeviceInfo info, unsigned threads)
      : info_(std::move(info)), executor_(cpu::makeCpuDevice(info_, threads, true)) {
    // Loops of one priority never wait for, or run in, threads of another. A pool has no threads
    // before its first loop.
    for (const auto threadClass :
         {ThreadClass::BACKGROUND, ThreadClass::NORMAL, ThreadClass::URGENT}) {
      threads_.push_back(std::make_shared<ThreadPool>(threads, threadClass, kPatience));
    }
    // For what must not cost more energy than it has to: no thread is woken.
    alone_ = std::make_shared<ThreadPool>(1);
  }

  const hal::DeviceInfo& info() const override { return info_; }

  Result<std::vector<bool>> getSupportedOperations(const Model& model) override {
    return executor_->getSupportedOperations(model);
  }

  Result<std::shared_ptr<hal::PreparedModel>> prepareModel(
      std::shared_ptr<const Model> model, const hal::PrepareOptions& options) override {
    // This checks the model, too.
    HALYARD_ASSIGN_OR_RETURN(std::shared_ptr<hal::PreparedModel> executor,
                             executor_->prepareModel(model, options));
    const auto& threads = options.preference == hal::ExecutionPreference::LOW_POWER
                              ? alone_
                              : threads_[static_cast<size_t>(options.priority)];
    const WorkLimit limit{options.deadline, {}};
    const WorkLimitScope scope(options.deadline ? &limit : currentWorkLimit());
    try {
      HALYARD_ASSIGN_OR_RETURN(std::unique_ptr<CompiledModel> compiled,
                               CompiledModel::compile(model, threads.get()));
      if (compiled == nullptr) return executor;
      const CompiledModel::Facts facts = compiled->facts();
      logInfo("model of {} steps, {} of them with kernels of the CPU driver's own, {} KiB between",
              facts.steps, facts.ownKernels, facts.arenaBytes / 1024);
      return std::shared_ptr<hal::PreparedModel>(std::make_shared<FastPreparedModel>(
          std::move(model), threads, std::move(compiled), std::move(executor)));
    } catch (const WorkAbandoned&) {
      if (!options.deadline) throw;
      return makeStatus(ResultCode::MISSED_DEADLINE_TRANSIENT,
                        "the deadline has passed while the model was compiled");
    } catch (const std::bad_alloc&) {
      return makeStatus(ResultCode::OUT_OF_MEMORY,
                        "the CPU driver ran out of memory while it compiled the model");
    }
  }

 private:
  const hal::DeviceInfo info_;
  const std::shared_ptr<hal::Device> executor_;
  std::vector<std::shared_ptr<ThreadPool>> threads_;  // by priority
  std::shared_ptr<ThreadPool> alone_;
};

hal::DeviceInfo describe() {
  hal::DeviceInfo info;
  info.name = "halyard-cpu";
  info.versionString = "halyard-cpu " HALYARD_VERSION;
  info.halVersion = HalVersion::V1_3;
  info.featureLevel = FeatureLevel::FL8;
  info.type = hal::DeviceType::CPU;
  // What bench/cpu_bench.cc finds for MobileNet v1 and v2 against the reference kernels, one
  // thread. Power cannot be measured here: it is taken to be as the time.
  constexpr hal::PerformanceInfo kFloat = {0.6f, 0.6f};
  constexpr hal::PerformanceInfo kQuant8 = {0.25f, 0.25f};
  hal::Capabilities& capabilities = info.capabilities;
  capabilities = hal::Capabilities::uniform({1.0f, 1.0f});
  capabilities.relaxedFloat32toFloat16PerformanceTensor = kFloat;
  for (hal::OperandPerformance& entry : capabilities.operandPerformance) {
    if (entry.type == OperandType::TENSOR_FLOAT32) entry.info = kFloat;
    if (entry.type == OperandType::TENSOR_QUANT8_SYMM_PER_CHANNEL || isQuant8Asymm(entry.type)) {
      entry.info = kQuant8;
    }
  }
  return info;
}

Result<unsigned> readThreads(const std::string& argument) {
  constexpr std::string_view kOption = "--threads=";
  const std::string_view text = argument;
  unsigned threads = 0;
  if (text.starts_with(kOption)) {
    const char* const begin = text.data() + kOption.size();
    const char* const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(begin, end, threads);
    if (error == std::errc() && stop == end && threads >= 1 && threads <= kMostThreads) {
      return threads;
    }
  }
  return badData("argument '{}', expected nothing or {}N with N from 1 to {}", argument, kOption,
                 kMostThreads);
}

}  // namespace

Result<std::shared_ptr<hal::Device>> makeCpuDriver(std::span<const std::string> arguments) {
  unsigned threads = 0;
  if (arguments.size() > 1) {
    return badData("{} arguments, expected one at most", arguments.size());
  }
  if (!arguments.empty()) {
    HALYARD_ASSIGN_OR_RETURN(threads, readThreads(arguments[0]));
  }
  return std::shared_ptr<hal::Device>(std::make_shared<CpuDriver>(describe(), threads));
}

}  // namespace halyard::cpudriver
