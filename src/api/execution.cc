// Entry points ANeuralNetworksExecution_*.
#include <optional>

#include "api/objects.h"
#include "base/log.h"

namespace halyard::api {
namespace {

using Direction = runtime::Execution::Direction;

Status setArgument(ANeuralNetworksExecution* execution, Direction direction, int32_t index,
                   const ANeuralNetworksOperandType* type, void* buffer, size_t length) {
  HALYARD_RETURN_IF_NULL(execution);
  if (buffer == nullptr && length != 0) return unexpectedNull("buffer is null, length {}", length);
  HALYARD_RETURN_IF_ERROR(
      execution->impl.checkArgumentIndex(direction, static_cast<uint32_t>(index)));
  std::optional<runtime::ArgumentType> read;
  if (type != nullptr) {
    HALYARD_ASSIGN_OR_RETURN(read, readOperandType(type));
  }
  return execution->impl.setArgument(direction, static_cast<uint32_t>(index),
                                     read ? &*read : nullptr, buffer, length);
}

Status setArgumentFromMemory(ANeuralNetworksExecution* execution, Direction direction,
                             int32_t index, const ANeuralNetworksOperandType* type,
                             const ANeuralNetworksMemory* memory, size_t offset, size_t length) {
  HALYARD_RETURN_IF_NULL(execution);
  HALYARD_RETURN_IF_NULL(memory);
  HALYARD_RETURN_IF_ERROR(
      execution->impl.checkArgumentIndex(direction, static_cast<uint32_t>(index)));
  std::optional<runtime::ArgumentType> read;
  if (type != nullptr) {
    HALYARD_ASSIGN_OR_RETURN(read, readOperandType(type));
  }
  return execution->impl.setArgumentFromMemory(direction, static_cast<uint32_t>(index),
                                               read ? &*read : nullptr, *memory->impl, offset,
                                               length);
}

}  // namespace
}  // namespace halyard::api

using namespace halyard;  // NOLINT(google-build-using-namespace): entry points are global
using api::entryPoint;

int ANeuralNetworksExecution_create(ANeuralNetworksCompilation* compilation,
                                    ANeuralNetworksExecution** execution) {
  return entryPoint(__func__, trace::Phase::EXECUTION, [&]() -> Status {
    HALYARD_RETURN_IF_NULL(compilation);
    HALYARD_RETURN_IF_NULL(execution);
    *execution = nullptr;
    HALYARD_RETURN_IF_ERROR(compilation->impl->checkValid());
    *execution = new ANeuralNetworksExecution{runtime::Execution(*compilation->impl)};
    return okStatus();
  });
}

void ANeuralNetworksExecution_free(ANeuralNetworksExecution* execution) {
  const trace::Scope mark(trace::Layer::RUNTIME, trace::Phase::EXECUTION, __func__);
  // The API does not allow a free during the computation of the execution.
  if (execution != nullptr && execution->madeIn.isOfThisProcess() && execution->impl.computing()) {
    logWarning("ANeuralNetworksExecution_free: the execution is being computed, and is not freed");
    return;
  }
  api::freeObject(execution);
}

int ANeuralNetworksExecution_setInput(ANeuralNetworksExecution* execution, int32_t index,
                                      const ANeuralNetworksOperandType* type, const void* buffer,
                                      size_t length) {
  return entryPoint(__func__, trace::Phase::INPUTS_AND_OUTPUTS, [&]() -> Status {
    return api::setArgument(execution, api::Direction::INPUT, index, type,
                            const_cast<void*>(buffer), length);
  });
}

int ANeuralNetworksExecution_setInputFromMemory(ANeuralNetworksExecution* execution, int32_t index,
                                                const ANeuralNetworksOperandType* type,
                                                const ANeuralNetworksMemory* memory, size_t offset,
                                                size_t length) {
  return entryPoint(__func__, trace::Phase::INPUTS_AND_OUTPUTS, [&]() -> Status {
    return api::setArgumentFromMemory(execution, api::Direction::INPUT, index, type, memory, offset,
                                      length);
  });
}

int ANeuralNetworksExecution_setOutput(ANeuralNetworksExecution* execution, int32_t index,
                                       const ANeuralNetworksOperandType* type, void* buffer,
                                       size_t length) {
  return entryPoint(__func__, trace::Phase::INPUTS_AND_OUTPUTS, [&]() -> Status {
    return api::setArgument(execution, api::Direction::OUTPUT, index, type, buffer, length);
  });
}

int ANeuralNetworksExecution_setOutputFromMemory(ANeuralNetworksExecution* execution, int32_t index,
                                                 const ANeuralNetworksOperandType* type,
                                                 const ANeuralNetworksMemory* memory, size_t offset,
                                                 size_t length) {
  return entryPoint(__func__, trace::Phase::INPUTS_AND_OUTPUTS, [&]() -> Status {
    return api::setArgumentFromMemory(execution, api::Direction::OUTPUT, index, type, memory,
                                      offset, length);
  });
}

int ANeuralNetworksExecution_setReusable(ANeuralNetworksExecution* execution, bool reusable) {
  return entryPoint(__func__, trace::Phase::EXECUTION, [&]() -> Status {
    HALYARD_RETURN_IF_NULL(execution);
    return execution->impl.setReusable(reusable);
  });
}

int ANeuralNetworksExecution_enableInputAndOutputPadding(ANeuralNetworksExecution* execution,
                                                         bool enable) {
  return entryPoint(__func__, trace::Phase::EXECUTION, [&]() -> Status {
    HALYARD_RETURN_IF_NULL(execution);
    return execution->impl.enableInputAndOutputPadding(enable);
  });
}

int ANeuralNetworksExecution_setLoopTimeout(ANeuralNetworksExecution* execution,
                                            uint64_t duration) {
  return entryPoint(__func__, trace::Phase::EXECUTION, [&]() -> Status {
    HALYARD_RETURN_IF_NULL(execution);
    return execution->impl.setLoopTimeout(duration);
  });
}

int ANeuralNetworksExecution_setMeasureTiming(ANeuralNetworksExecution* execution, bool measure) {
  return entryPoint(__func__, trace::Phase::EXECUTION, [&]() -> Status {
    HALYARD_RETURN_IF_NULL(execution);
    return execution->impl.setMeasureTiming(measure);
  });
}

int ANeuralNetworksExecution_setTimeout(ANeuralNetworksExecution* execution, uint64_t duration) {
  return entryPoint(__func__, trace::Phase::EXECUTION, [&]() -> Status {
    HALYARD_RETURN_IF_NULL(execution);
    return execution->impl.setTimeout(duration);
  });
}

int ANeuralNetworksExecution_compute(ANeuralNetworksExecution* execution) {
  return entryPoint(__func__, trace::Phase::EXECUTION, [&]() -> Status {
    HALYARD_RETURN_IF_NULL(execution);
    return execution->impl.compute();
  });
}

int ANeuralNetworksExecution_startCompute(ANeuralNetworksExecution* execution,
                                          ANeuralNetworksEvent** event) {
  return entryPoint(__func__, trace::Phase::EXECUTION, [&]() -> Status {
    HALYARD_RETURN_IF_NULL(event);
    *event = nullptr;
    HALYARD_RETURN_IF_NULL(execution);
    // Allocates the event first. After the start of the computation, this function must not fail.
    auto result = std::make_unique<ANeuralNetworksEvent>();
    HALYARD_ASSIGN_OR_RETURN(result->impl, execution->impl.startCompute());
    *event = result.release();
    return okStatus();
  });
}

int ANeuralNetworksExecution_startComputeWithDependencies(
    ANeuralNetworksExecution* execution, const ANeuralNetworksEvent* const* dependencies,
    uint32_t num_dependencies, uint64_t duration, ANeuralNetworksEvent** event) {
  return entryPoint(__func__, trace::Phase::EXECUTION, [&]() -> Status {
    HALYARD_RETURN_IF_NULL(event);
    *event = nullptr;
    HALYARD_RETURN_IF_NULL(execution);
    if (dependencies == nullptr && num_dependencies != 0) {
      return unexpectedNull("dependencies is null, num_dependencies {}", num_dependencies);
    }
    std::vector<runtime::Event*> events;
    for (uint32_t i = 0; i < num_dependencies; ++i) {
      HALYARD_RETURN_IF_ERROR(
          api::checkUsable(dependencies[i], fmt::format("dependencies[{}]", i).c_str()));
      events.push_back(dependencies[i]->impl.get());
    }
    auto result = std::make_unique<ANeuralNetworksEvent>();
    HALYARD_ASSIGN_OR_RETURN(result->impl,
                             execution->impl.startComputeWithDependencies(events, duration));
    *event = result.release();
    return okStatus();
  });
}

int ANeuralNetworksExecution_burstCompute(ANeuralNetworksExecution* execution,
                                          ANeuralNetworksBurst* burst) {
  return entryPoint(__func__, trace::Phase::EXECUTION, [&]() -> Status {
    HALYARD_RETURN_IF_NULL(execution);
    HALYARD_RETURN_IF_NULL(burst);
    return execution->impl.computeIn(burst->impl);
  });
}

int ANeuralNetworksExecution_getOutputOperandRank(ANeuralNetworksExecution* execution,
                                                  int32_t index, uint32_t* rank) {
  return entryPoint(__func__, trace::Phase::EXECUTION, [&]() -> Status {
    HALYARD_RETURN_IF_NULL(execution);
    HALYARD_RETURN_IF_NULL(rank);
    Shape shape;
    const Status status = execution->impl.outputDimensions(static_cast<uint32_t>(index), &shape);
    if (status.ok() || status.code() == halyard::ResultCode::OUTPUT_INSUFFICIENT_SIZE) {
      *rank = static_cast<uint32_t>(shape.size());
    }
    return status;
  });
}

int ANeuralNetworksExecution_getOutputOperandDimensions(ANeuralNetworksExecution* execution,
                                                        int32_t index, uint32_t* dimensions) {
  return entryPoint(__func__, trace::Phase::EXECUTION, [&]() -> Status {
    HALYARD_RETURN_IF_NULL(execution);
    HALYARD_RETURN_IF_NULL(dimensions);
    Shape shape;
    const Status status = execution->impl.outputDimensions(static_cast<uint32_t>(index), &shape);
    if (!status.ok() && status.code() != halyard::ResultCode::OUTPUT_INSUFFICIENT_SIZE)
      return status;
    if (shape.empty()) return badData("output {} is a scalar or of unknown rank", index);
    std::copy(shape.begin(), shape.end(), dimensions);
    return status;
  });
}

int ANeuralNetworksExecution_getDuration(const ANeuralNetworksExecution* execution,
                                         int32_t durationCode, uint64_t* duration) {
  return entryPoint(__func__, trace::Phase::EXECUTION, [&]() -> Status {
    HALYARD_RETURN_IF_NULL(execution);
    HALYARD_RETURN_IF_NULL(duration);
    return execution->impl.duration(durationCode, duration);
  });
}

int ANeuralNetworksExecution_addExtensionAttribute(ANeuralNetworksExecution* execution,
                                                   const char* extensionName,
                                                   uint16_t attributeCodeWithinExtension,
                                                   const void* data, size_t length) {
  return entryPoint(__func__, trace::Phase::EXECUTION, [&]() -> Status {
    HALYARD_RETURN_IF_NULL(execution);
    HALYARD_RETURN_IF_NULL(extensionName);
    if (data == nullptr && length != 0) return unexpectedNull("data is null, length {}", length);
    return execution->impl.addExtensionAttribute(extensionName, attributeCodeWithinExtension, data,
                                                 length);
  });
}
