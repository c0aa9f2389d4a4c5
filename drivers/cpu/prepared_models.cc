// Passes requests as arguments to compiled models, and all others to the executor.
#include "prepared_models.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "base/log.h"

namespace halyard::cpudriver {
namespace {

uint64_t nanosecondsSince(hal::TimePoint start) {
  const auto elapsed = hal::Clock::now() - start;
  return static_cast<uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(elapsed).count());
}

bool hasDmaBuf(const hal::Request& request) {
  return std::ranges::any_of(request.pools, [](const hal::RequestPool& pool) {
    const auto* const memory = std::get_if<SharedMemoryPtr>(&pool);
    return memory != nullptr && *memory != nullptr && (*memory)->isDmaBuf();
  });
}

// The time that an execution takes, if the caller asks for it.
class Stopwatch {
 public:
  explicit Stopwatch(const hal::ExecuteOptions& options)
      : measures_(options.measureTiming), called_(measures_ ? hal::Clock::now() : started_) {}
  // From here on it is the device's time.
  void start() {
    if (measures_) started_ = hal::Clock::now();
  }
  void stop(hal::ExecutionResult* result) const {
    if (!measures_ || !result->status.ok()) return;
    // In this order, the time on the device cannot exceed that in the driver.
    result->timing.timeOnDevice = nanosecondsSince(started_);
    result->timing.timeInDriver = nanosecondsSince(called_);
  }

 private:
  const bool measures_;
  hal::TimePoint started_;
  const hal::TimePoint called_;
};

// The same request again and again, checked and mapped once.
class RepeatedRequest final : public hal::ReusableExecution {
 public:
  RepeatedRequest(std::shared_ptr<CompiledModel> model, hal::MappedRequest mapped)
      : model_(std::move(model)), mapped_(std::move(mapped)) {
    // Only dimensions that model and request leave open are reported.
    const bool isOpen =
        std::ranges::any_of(mapped_.outputs(), [](const hal::MappedArgument& output) {
          return !knownElementCount(output.dims).has_value();
        });
    if (isOpen) shapes_ = model_->outputShapes();
  }

  hal::ExecutionResult compute(const hal::ExecuteOptions& options) override {
    const hal::TimePoint started = options.measureTiming ? hal::Clock::now() : hal::TimePoint();
    hal::ExecutionResult result = model_->run(mapped_.inputs(), mapped_.outputs(), options);
    if (!result.status.ok()) return result;
    result.outputShapes = shapes_;
    if (options.measureTiming) {
      result.timing.timeOnDevice = nanosecondsSince(started);
      result.timing.timeInDriver = result.timing.timeOnDevice;
    }
    return result;
  }

  const std::shared_ptr<CompiledModel>& model() const { return model_; }

 private:
  const std::shared_ptr<CompiledModel> model_;
  const hal::MappedRequest mapped_;
  std::vector<hal::OutputShape> shapes_;  // to be told with every result
};

}  // namespace

hal::ExecutionResult CompiledPreparedModel::executeSynchronously(
    const hal::Request& request, const hal::ExecuteOptions& options) {
  Stopwatch watch(options);
  if (Status status = hal::validateRequest(*model_, request, true); !status.ok()) {
    return {std::move(status), {}, {}};
  }
  Result<hal::MappedRequest> mapped = hal::MappedRequest::map(*model_, request);
  if (!mapped.ok()) return {mapped.takeStatus(), {}, {}};
  watch.start();
  hal::ExecutionResult result = compiled_->execute(mapped->inputs(), mapped->outputs(), options);
  watch.stop(&result);
  return result;
}

Result<std::unique_ptr<hal::ReusableExecution>> CompiledPreparedModel::createReusableExecution(
    const hal::Request& request) {
  HALYARD_RETURN_IF_ERROR(hal::validateRequest(*model_, request, true));
  // The accesses to a dma-buf have a beginning and an end for each execution.
  if (hasDmaBuf(request)) return hal::PreparedModel::createReusableExecution(request);
  Result<hal::MappedRequest> mapped = hal::MappedRequest::map(*model_, request);
  if (!mapped.ok() || !compiled_->takes(mapped->inputs(), mapped->outputs())) {
    return hal::PreparedModel::createReusableExecution(request);
  }
  return std::unique_ptr<hal::ReusableExecution>(
      std::make_unique<RepeatedRequest>(compiled_, std::move(*mapped)));
}

std::shared_ptr<CompiledModel> OpenPreparedModel::planFor(const hal::MappedRequest& mapped) {
  try {
    return plans_->get(mapped.inputs());
  } catch (const std::bad_alloc&) {
    logWarning("there is not enough memory to plan an execution of {} operations",
               model_->main.operations.size());
    return nullptr;
  }
}

bool OpenPreparedModel::isLeftOver(const hal::ExecutionResult& result,
                                   const std::shared_ptr<CompiledModel>& compiled) {
  if (result.status.ok() || !compiled->hasFailed()) return false;
  plans_->giveUp(compiled, result.status);
  return true;
}

hal::ExecutionResult OpenPreparedModel::executeSynchronously(const hal::Request& request,
                                                             const hal::ExecuteOptions& options) {
  Stopwatch watch(options);
  if (Status status = hal::validateRequest(*model_, request, true); !status.ok()) {
    return {std::move(status), {}, {}};
  }
  std::shared_ptr<CompiledModel> compiled;
  {
    Result<hal::MappedRequest> mapped = hal::MappedRequest::map(*model_, request);
    if (!mapped.ok()) return {mapped.takeStatus(), {}, {}};
    watch.start();
    compiled = planFor(*mapped);
    if (compiled != nullptr) {
      hal::ExecutionResult result = compiled->execute(mapped->inputs(), mapped->outputs(), options);
      if (!isLeftOver(result, compiled)) {
        watch.stop(&result);
        return result;
      }
    }
  }
  return executor_->executeSynchronously(request, options);
}

// Runs the compiled model as long as it can be run, and the executor afterwards.
class OpenPreparedModel::Repeated final : public hal::ReusableExecution {
 public:
  Repeated(OpenPreparedModel& model, const hal::Request& request,
           std::shared_ptr<CompiledModel> compiled, hal::MappedRequest mapped)
      : model_(model), request_(request), compiled_(std::move(compiled), std::move(mapped)) {}

  hal::ExecutionResult compute(const hal::ExecuteOptions& options) override {
    if (executor_ == nullptr) {
      hal::ExecutionResult result = compiled_.compute(options);
      if (!model_.isLeftOver(result, compiled_.model())) return result;
      auto left = model_.executor_->createReusableExecution(request_);
      if (!left.ok()) return {left.takeStatus(), {}, {}};
      executor_ = std::move(*left);
    }
    return executor_->compute(options);
  }

 private:
  OpenPreparedModel& model_;
  const hal::Request& request_;
  RepeatedRequest compiled_;
  std::unique_ptr<hal::ReusableExecution> executor_;
};

Result<std::unique_ptr<hal::ReusableExecution>> OpenPreparedModel::createReusableExecution(
    const hal::Request& request) {
  HALYARD_RETURN_IF_ERROR(hal::validateRequest(*model_, request, true));
  if (hasDmaBuf(request)) return hal::PreparedModel::createReusableExecution(request);
  Result<hal::MappedRequest> mapped = hal::MappedRequest::map(*model_, request);
  if (!mapped.ok()) return hal::PreparedModel::createReusableExecution(request);
  std::shared_ptr<CompiledModel> compiled = planFor(*mapped);
  if (compiled == nullptr) return executor_->createReusableExecution(request);
  if (!compiled->takes(mapped->inputs(), mapped->outputs())) {
    return hal::PreparedModel::createReusableExecution(request);
  }
  return std::unique_ptr<hal::ReusableExecution>(
      std::make_unique<Repeated>(*this, request, std::move(compiled), std::move(*mapped)));
}

}  // namespace halyard::cpudriver
