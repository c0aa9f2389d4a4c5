// CpuDevice: requests to arguments, and back.
#include "cpu/cpu_device.h"

#include <sys/mman.h>

#include <algorithm>
#include <optional>

#include "base/log.h"
#include "base/work_limit.h"
#include "cpu/execution_plan.h"
#include "cpu/executor.h"
#include "model/validation.h"
#include "ops/operation.h"

namespace halyard::cpu {
namespace {

using hal::RequestArgument;

std::string_view nameOf(bool isOutput) { return isOutput ? "output" : "input"; }

// A request with its pools mapped into this process; the request owns the pools.
class MappedRequest {
 public:
  static Result<MappedRequest> map(const hal::Request& request) {
    MappedRequest mapped;
    for (size_t i = 0; i < request.pools.size(); ++i) {
      const auto* memory = std::get_if<SharedMemoryPtr>(&request.pools[i]);
      if (memory == nullptr) {
        return badData("request pool {} is a token, and the CPU device allocates no buffers", i);
      }
      HALYARD_ASSIGN_OR_RETURN(const Mapping* mapping, (*memory)->mapped(), "request pool {}", i);
      mapped.pools_.push_back({mapping, (*memory)->prot()});
    }
    HALYARD_RETURN_IF_ERROR(mapped.addAll(request.inputs, false, &mapped.inputs_));
    HALYARD_RETURN_IF_ERROR(mapped.addAll(request.outputs, true, &mapped.outputs_));
    mapped.beginAccess(request);
    return mapped;
  }

  const std::vector<Argument>& inputs() const { return inputs_; }
  const std::vector<Argument>& outputs() const { return outputs_; }

 private:
  struct Pool {
    const Mapping* mapping;
    int prot;
  };

  Status addAll(const std::vector<RequestArgument>& from, bool areOutputs,
                std::vector<Argument>* to) const {
    for (size_t i = 0; i < from.size(); ++i) {
      HALYARD_ASSIGN_OR_RETURN(Argument argument, bind(from[i], areOutputs), "request {} {}",
                               nameOf(areOutputs), i);
      to->push_back(std::move(argument));
    }
    return okStatus();
  }

  void beginAccess(const hal::Request& request) {
    for (size_t i = 0; i < request.pools.size(); ++i) {
      const auto& memory = std::get<SharedMemoryPtr>(request.pools[i]);
      if (!memory->isDmaBuf()) continue;
      accesses_.emplace_back(
          memory,
          std::any_of(request.outputs.begin(), request.outputs.end(), [&](const auto& output) {
            return output.kind == RequestArgument::Kind::POOL && output.location.poolIndex == i;
          }));
    }
  }

  // The request has been validated: pool indices and ranges are good.
  Result<Argument> bind(const RequestArgument& from, bool isOutput) const {
    Argument argument;
    argument.dims = from.dimensions;
    switch (from.kind) {
      case RequestArgument::Kind::NO_VALUE:
        break;
      case RequestArgument::Kind::POINTER:
        argument.data = from.pointer;
        argument.length = from.length;
        break;
      case RequestArgument::Kind::POOL: {
        const Pool& pool = pools_[from.location.poolIndex];
        // Touching memory against its protection would end the process.
        if ((pool.prot & (isOutput ? PROT_WRITE : PROT_READ)) == 0) {
          return badData("pool {} may not be {}", from.location.poolIndex,
                         isOutput ? "written" : "read");
        }
        const bool isWhole = from.location.offset == 0 && from.location.length == 0;
        argument.data = pool.mapping->data() + from.location.offset;
        argument.length = isWhole ? pool.mapping->size() : from.location.length;
        argument.shared = true;
        break;
      }
    }
    return argument;
  }

  std::vector<Pool> pools_;
  std::vector<CpuAccess> accesses_;  // of pools that are dma-bufs
  std::vector<Argument> inputs_;
  std::vector<Argument> outputs_;
};

uint64_t nanosecondsSince(hal::TimePoint start) {
  const auto elapsed = hal::Clock::now() - start;
  return static_cast<uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(elapsed).count());
}

// Whether the executor can run the operation and, if it runs subgraphs, all of theirs. `known`
// keeps the answer for each subgraph.
bool isSupported(const Model& model, const Subgraph& subgraph, const Operation& operation,
                 std::vector<std::optional<bool>>* known) {
  if (ops::definitionOf(operation.type) == nullptr) return false;
  return std::all_of(operation.inputs.begin(), operation.inputs.end(), [&](uint32_t input) {
    const Operand& operand = subgraph.operands[input];
    if (operand.lifetime != Lifetime::SUBGRAPH) return true;
    std::optional<bool>& answer = (*known)[operand.location.offset];
    if (!answer) {
      const Subgraph& inner = model.referenced[operand.location.offset];
      answer = std::all_of(
          inner.operations.begin(), inner.operations.end(),
          [&](const Operation& each) { return isSupported(model, inner, each, known); });
    }
    return *answer;
  });
}

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
    const hal::TimePoint called = hal::Clock::now();
    if (Status status = hal::validateRequest(*model_, request, true); !status.ok()) {
      return {std::move(status), {}, {}};
    }
    Result<MappedRequest> mapped = MappedRequest::map(request);
    if (!mapped.ok()) return {mapped.takeStatus(), {}, {}};
    const hal::TimePoint started = hal::Clock::now();
    hal::ExecutionResult result = executor_->execute(mapped->inputs(), mapped->outputs(), options);
    if (reportsTiming_ && options.measureTiming && result.status.ok()) {
      // In this order, the time on the device cannot exceed that in the driver.
      result.timing.timeOnDevice = nanosecondsSince(started);
      result.timing.timeInDriver = nanosecondsSince(called);
    }
    return result;
  }

 private:
  const std::shared_ptr<const Model> model_;
  const std::shared_ptr<ThreadPool> threads_;  // what the executor borrows
  const std::shared_ptr<Executor> executor_;
  const bool reportsTiming_;
};

class CpuDevice : public hal::Device {
 public:
  CpuDevice(hal::DeviceInfo info, unsigned threads, bool reportsTiming)
      : info_(std::move(info)), reportsTiming_(reportsTiming) {
    // Loops of one priority never wait for, or run in, threads of another.
    for (const auto threadClass :
         {ThreadClass::BACKGROUND, ThreadClass::NORMAL, ThreadClass::URGENT}) {
      threads_.push_back(std::make_shared<ThreadPool>(threads, threadClass));
    }
  }

  const hal::DeviceInfo& info() const override { return info_; }

  Result<std::vector<bool>> getSupportedOperations(const Model& model) override {
    HALYARD_RETURN_IF_ERROR(validateModel(model).takeStatus());
    std::vector<bool> supported;
    // None can be run that refers to a subgraph when the nesting is too deep.
    const std::optional<bool> initial =
        checkNesting(model).ok() ? std::nullopt : std::optional<bool>(false);
    std::vector<std::optional<bool>> subgraphs(model.referenced.size(), initial);
    for (const Operation& operation : model.main.operations) {
      supported.push_back(isSupported(model, model.main, operation, &subgraphs));
    }
    return supported;
  }

  Result<std::shared_ptr<hal::PreparedModel>> prepareModel(
      std::shared_ptr<const Model> model, const hal::PrepareOptions& options) override {
    HALYARD_RETURN_IF_ERROR(validateModel(*model).takeStatus());
    if (options.deadline && hal::Clock::now() >= *options.deadline) {
      return makeStatus(ResultCode::MISSED_DEADLINE_PERSISTENT,
                        "the deadline has passed before the model was prepared");
    }
    const auto& threads = threads_[static_cast<size_t>(options.priority)];
    const WorkLimit limit{options.deadline, {}};
    const WorkLimitScope scope(options.deadline ? &limit : currentWorkLimit());
    try {
      HALYARD_ASSIGN_OR_RETURN(std::shared_ptr<Executor> executor,
                               Executor::create(model, threads.get()));
      return std::shared_ptr<hal::PreparedModel>(std::make_shared<CpuPreparedModel>(
          std::move(model), threads, std::move(executor), reportsTiming_));
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
};

}  // namespace

std::shared_ptr<hal::Device> makeCpuDevice(hal::DeviceInfo info, unsigned threads,
                                           bool reportsTiming) {
  return std::make_shared<CpuDevice>(std::move(info), threads, reportsTiming);
}

hal::DeviceInfo cpuDeviceInfo() {
  hal::DeviceInfo info;
  info.name = "nnapi-reference";
  info.versionString = HALYARD_VERSION;
  info.halVersion = HalVersion::V1_3;
  info.featureLevel = FeatureLevel::FL8;
  info.type = hal::DeviceType::CPU;
  info.capabilities = hal::Capabilities::uniform({1.0f, 1.0f});
  return info;
}

}  // namespace halyard::cpu
