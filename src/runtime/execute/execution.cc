// Arguments, runs and results of executions. The order of checks is that of the API.
#include "runtime/execute/execution.h"

#include <sys/mman.h>

#include <algorithm>

#include "base/log.h"
#include "hal/session/session_burst.h"
#include "halyard/driver/trace.h"
#include "model/shape_agreement.h"
#include "model/validation/validation.h"

namespace halyard::runtime {
namespace {

constexpr uint64_t kMaximumLoopTimeout = hal::kMaximumLoopTimeout.count();
constexpr uint64_t kNotAvailable = UINT64_MAX;

std::string_view directionName(Execution::Direction direction) {
  return direction == Execution::Direction::INPUT ? "input" : "output";
}

}  // namespace

Execution::Execution(const Compilation& compilation)
    : compilation_(compilation),
      inputs_(compilation.model().main.inputIndexes.size()),
      outputs_(compilation.model().main.outputIndexes.size()),
      outputShapes_(outputs_.size()) {}

Status Execution::checkPreparation() const {
  const std::lock_guard lock(mutex_);
  if (state_ != State::PREPARATION) return badState("the execution has been started");
  return okStatus();
}

Status Execution::checkArgumentIndex(Direction direction, uint32_t index) const {
  HALYARD_RETURN_IF_ERROR(checkPreparation());
  const size_t count = (direction == Direction::INPUT ? inputs_ : outputs_).size();
  if (index >= count) {
    return badData("{} {} of a model with {}", directionName(direction), index, count);
  }
  return okStatus();
}

bool Execution::computing() const {
  const std::lock_guard lock(mutex_);
  return state_ == State::COMPUTATION;
}

bool Execution::fullySpecified(OperandType type, const Shape& shape) const {
  return compilation_.extensions().isScalar(type) || knownElementCount(shape).has_value();
}

Result<const Operand*> Execution::checkArgument(Direction direction, uint32_t index,
                                                const ArgumentType* type, bool mayBePartial) const {
  const Subgraph& main = compilation_.model().main;
  const bool isInput = direction == Direction::INPUT;
  const std::vector<uint32_t>& list = isInput ? main.inputIndexes : main.outputIndexes;
  const std::string_view what = directionName(direction);
  if (index >= list.size()) {
    return badData("{} {} of a model with {}", what, index, list.size());
  }
  const Operand& operand = main.operands[list[index]];
  if (type == nullptr) {
    if (!mayBePartial && !fullySpecified(operand.type, operand.dimensions)) {
      return badData("{} {} needs a type: the model says only {}", what, index,
                     operandText(operand));
    }
    return &operand;
  }
  HALYARD_RETURN_IF_ERROR(
      validateGivenType(type->type, type->dimensions, type->scale, type->zeroPoint), "{} {}: type",
      what, index);
  if (isExtension(type->type)) {
    HALYARD_RETURN_IF_ERROR(
        compilation_.extensions().byteSize(type->type, type->dimensions).status(), "{} {}: type",
        what, index);
  }
  if (!mayBePartial && !fullySpecified(type->type, type->dimensions)) {
    return badData("{} {}: dimensions {} are not all known", what, index,
                   shapeText(type->dimensions));
  }
  // A type may be more specific than the model, never less.
  if (!isShapeOf(operand.dimensions, type->dimensions)) {
    return badData("{} {}: dimensions {}, the model has {}", what, index,
                   shapeText(type->dimensions), shapeText(operand.dimensions));
  }
  return &operand;
}

Status Execution::checkLength(const Operand& operand, const ArgumentType* type,
                              size_t length) const {
  const Shape dims = completeShape(type ? type->dimensions : Shape(), operand.dimensions);
  HALYARD_ASSIGN_OR_RETURN(const std::optional<uint32_t> needed,
                           compilation_.extensions().byteSize(operand.type, dims));
  if (!needed) return okStatus();
  if (*needed > length || (*needed < length && !paddingEnabled_)) {
    return badData("{} bytes for {}{}, which needs {}", length, operandTypeName(operand.type),
                   isScalarType(operand.type) ? "" : shapeText(dims), *needed);
  }
  return okStatus();
}

Status Execution::setArgument(Direction direction, uint32_t index, const ArgumentType* type,
                              void* buffer, size_t length) {
  HALYARD_RETURN_IF_ERROR(checkPreparation());
  const bool isInput = direction == Direction::INPUT;
  HALYARD_ASSIGN_OR_RETURN(const Operand* operand,
                           checkArgument(direction, index, type, !isInput || buffer == nullptr));
  const std::string_view what = directionName(direction);
  if (length > UINT32_MAX) return badData("{} {}: {} bytes are too many", what, index, length);
  Argument& argument = (isInput ? inputs_ : outputs_)[index];
  if (argument.set) return badState("{} {} has been set already", what, index);
  argumentTouched_ = true;
  if ((buffer == nullptr) != (length == 0)) {
    return badData("{} {}: a {} buffer with length {}", what, index,
                   buffer == nullptr ? "null" : "real", length);
  }
  if (buffer == nullptr) {
    argument.request.kind = hal::RequestArgument::Kind::NO_VALUE;
  } else {
    HALYARD_RETURN_IF_ERROR(checkLength(*operand, type, length), "{} {}", what, index);
    argument.request.kind = hal::RequestArgument::Kind::POINTER;
    argument.request.pointer = buffer;
    argument.request.length = static_cast<uint32_t>(length);
    if (type != nullptr) argument.request.dimensions = type->dimensions;
  }
  argument.set = true;
  return okStatus();
}

Status Execution::setArgumentFromMemory(Direction direction, uint32_t index,
                                        const ArgumentType* type, const Memory& memory,
                                        size_t offset, size_t length) {
  HALYARD_RETURN_IF_ERROR(checkPreparation());
  const bool isInput = direction == Direction::INPUT;
  HALYARD_ASSIGN_OR_RETURN(const Operand* operand, checkArgument(direction, index, type, !isInput));
  const std::string_view what = directionName(direction);
  DescribedMemory* const described = memory.described().get();
  const Status usable =
      described == nullptr
          ? memory.checkRange(offset, length)
          : described->checkUse({compilation_.id(), isInput, index},
                                type == nullptr ? Shape() : type->dimensions, offset, length);
  HALYARD_RETURN_IF_ERROR(usable, "{} {}", what, index);
  argumentTouched_ = true;
  Argument& argument = (isInput ? inputs_ : outputs_)[index];
  if (argument.set) return badState("{} {} has been set already", what, index);
  if (described != nullptr) {
    setMemory(argument, described->requestPool(), 0, described->requestLength(), type);
    memories_.add(isInput, index, memory.described());
    return okStatus();
  }
  if (offset > UINT32_MAX || length > UINT32_MAX) {
    return badData("{} {}: offset {} or length {} is too large", what, index, offset, length);
  }
  const int needed = isInput ? PROT_READ : PROT_WRITE;
  if ((memory.pool()->prot() & needed) == 0) {
    return badData("{} {}: the memory may not be {}", what, index, isInput ? "read" : "written");
  }
  // Only a driver knows the size of an image.
  if (!memory.opaque()) {
    HALYARD_RETURN_IF_ERROR(checkLength(*operand, type, length), "{} {}", what, index);
  }
  setMemory(argument, memory.pool(), static_cast<uint32_t>(offset), static_cast<uint32_t>(length),
            type);
  return okStatus();
}

void Execution::setMemory(Argument& argument, const hal::RequestPool& pool, uint32_t offset,
                          uint32_t length, const ArgumentType* type) {
  const auto it = std::find(pools_.begin(), pools_.end(), pool);
  const auto index = static_cast<uint32_t>(it - pools_.begin());
  if (it == pools_.end()) pools_.push_back(pool);
  argument.request.kind = hal::RequestArgument::Kind::POOL;
  argument.request.location = {index, offset, length};
  if (type != nullptr) argument.request.dimensions = type->dimensions;
  argument.set = true;
}

Status Execution::setReusable(bool reusable) {
  HALYARD_RETURN_IF_ERROR(checkPreparation());
  reusable_ = reusable;
  return okStatus();
}

Status Execution::enableInputAndOutputPadding(bool enable) {
  HALYARD_RETURN_IF_ERROR(checkPreparation());
  if (argumentTouched_) return badState("padding must be enabled before any argument is set");
  paddingEnabled_ = enable;
  return okStatus();
}

Status Execution::setLoopTimeout(uint64_t nanoseconds) {
  HALYARD_RETURN_IF_ERROR(checkPreparation());
  if (nanoseconds > kMaximumLoopTimeout) {
    logWarning("loop timeout {} ns is above the maximum, {} ns are used", nanoseconds,
               kMaximumLoopTimeout);
    nanoseconds = kMaximumLoopTimeout;
  }
  loopTimeout_ = std::chrono::nanoseconds(nanoseconds);
  return okStatus();
}

Status Execution::setMeasureTiming(bool measure) {
  if (!compilation_.hasSingleExplicitDevice()) {
    return badData("timing needs a compilation created for exactly one device");
  }
  HALYARD_RETURN_IF_ERROR(checkPreparation());
  measureTiming_ = measure;
  return okStatus();
}

Status Execution::setTimeout(uint64_t nanoseconds) {
  if (!compilation_.hasSingleExplicitDevice()) {
    return badData("a timeout needs a compilation created for exactly one device");
  }
  HALYARD_RETURN_IF_ERROR(checkPreparation());
  timeout_ = nanoseconds;
  return okStatus();
}

Status Execution::begin(ExecutionMode mode) {
  std::unique_lock lock(mutex_);
  if (state_ == State::COMPUTATION) return badState("the execution is being computed");
  if (state_ == State::COMPLETED && !reusable_) {
    return badState("the execution has been computed, and is not reusable");
  }
  const auto check = [](const std::vector<Argument>& arguments, std::string_view what) {
    for (size_t i = 0; i < arguments.size(); ++i) {
      if (!arguments[i].set) return badData("{} {} has not been set", what, i);
    }
    return okStatus();
  };
  Status status = check(inputs_, "input");
  if (status.ok()) status = check(outputs_, "output");
  if (status.ok()) {
    status = memories_.begin([this](size_t i) { return dimensionsOf(Direction::INPUT, i); });
  }
  mode_ = mode;
  began_.reset();
  if (diagnosticCallbacks() != nullptr) began_ = hal::Clock::now();
  if (!status.ok()) return end(std::move(lock), std::move(status));
  state_ = State::COMPUTATION;
  completion_ = Completion::NONE;
  return status;
}

Status Execution::end(std::unique_lock<std::mutex> lock, Status status, const hal::Timing& timing) {
  state_ = State::COMPLETED;
  completion_ = status.ok() ? Completion::NO_ERROR
                : status.code() == ResultCode::OUTPUT_INSUFFICIENT_SIZE
                    ? Completion::OUTPUT_INSUFFICIENT_SIZE
                    : Completion::OTHER_ERROR;
  // A reusable execution may begin again as soon as the lock is released.
  const ExecutionMode mode = mode_;
  const std::optional<hal::TimePoint> began = began_;
  lock.unlock();
  const DiagnosticCallbacks* const callbacks = diagnosticCallbacks();
  if (callbacks == nullptr || !callbacks->execution) return status;
  const auto known = [](const std::optional<uint64_t>& time) {
    return time ? std::min(*time, kTimeNotKnown - 1) : kTimeNotKnown;
  };
  uint64_t inRuntime = kTimeNotKnown;
  // With dependencies, a thread may wait long after the end of the execution.
  if (began && mode != ExecutionMode::ASYNC_WITH_DEPENDENCIES) {
    const std::chrono::nanoseconds time = hal::Clock::now() - *began;
    inRuntime = static_cast<uint64_t>(time.count());
  }
  callbacks->execution({compilation_.facts(), status.code(), mode, inRuntime,
                        known(timing.timeInDriver), known(timing.timeOnDevice)});
  return status;
}

Status Execution::addExtensionAttribute(const char* extensionName, uint16_t code, const void* data,
                                        size_t length) {
  if (!compilation_.hasSingleExplicitDevice()) {
    return badData("an extension's attribute needs a compilation created for exactly one device");
  }
  HALYARD_RETURN_IF_ERROR(checkPreparation());
  return attributes_.add(compilation_.extensions(), compilation_.explicitDevice(), extensionName,
                         code, data, length);
}

const hal::Request& Execution::request() {
  if (!request_) {
    request_.emplace();
    for (const Argument& argument : inputs_) request_->inputs.push_back(argument.request);
    for (const Argument& argument : outputs_) request_->outputs.push_back(argument.request);
    request_->pools = pools_;
  }
  return *request_;
}

hal::ExecuteOptions Execution::options() const {
  return {measureTiming_, deadlineAfter(timeout_), loopTimeout_, {}, attributes_.get()};
}

Status Execution::run(Burst* burst) {
  Shadow* const shadow = compilation_.shadow();
  const bool verifies =
      shadow != nullptr && (verifies_.has_value() ? *verifies_ : shadow->isTurn());
  verifies_.reset();
  const RunArguments arguments = {request(), memories_};
  std::shared_ptr<Shadow::Sample> sample = verifies ? shadow->begin(arguments) : nullptr;
  hal::ExecutionResult result = runPlan(burst == nullptr ? nullptr : &burst->steps());
  if (sample != nullptr && result.status.ok()) {
    std::vector<hal::OutputShape> shapes = result.outputShapes;
    for (size_t i = shapes.size(); i < outputs_.size(); ++i) {
      shapes.push_back({dimensionsOf(Direction::OUTPUT, i), true});
    }
    shadow->end(std::move(sample), arguments, shapes);
  }
  return finish(std::move(result));
}

hal::ExecutionResult Execution::runPlan(PlanBurst* burst) {
  const RunArguments arguments = {request(), memories_, reusable_ ? &recording_ : nullptr};
  return compilation_.runner().run(arguments, options(), burst);
}

Shape Execution::dimensionsOf(Direction direction, size_t index) const {
  const bool isInput = direction == Direction::INPUT;
  const Subgraph& main = compilation_.model().main;
  const uint32_t operand = (isInput ? main.inputIndexes : main.outputIndexes)[index];
  return completeShape((isInput ? inputs_ : outputs_)[index].request.dimensions,
                       main.operands[operand].dimensions);
}

void Execution::takeShapes(std::vector<hal::OutputShape> shapes) {
  if (!shapes.empty()) {
    outputShapes_ = std::move(shapes);
    return;
  }
  for (size_t i = 0; i < outputs_.size(); ++i) {
    outputShapes_[i] = {dimensionsOf(Direction::OUTPUT, i), true};
  }
}

Status Execution::finish(hal::ExecutionResult result) {
  const trace::Scope mark(trace::Layer::RUNTIME, trace::Phase::RESULTS, "take the results");
  Status status = std::move(result.status);
  if (status.ok() || status.code() == ResultCode::OUTPUT_INSUFFICIENT_SIZE) {
    takeShapes(std::move(result.outputShapes));
  }
  const Status memories =
      memories_.finish(status.ok(), [this](size_t i) { return outputShapes_[i].dimensions; });
  if (status.ok()) status = memories;
  std::unique_lock lock(mutex_);
  timing_ = status.ok() ? result.timing : hal::Timing();
  fencedTiming_ = timing_;
  timingKnown_ = true;
  return end(std::move(lock), std::move(status), hal::Timing(timing_));
}

Status Execution::compute() {
  HALYARD_RETURN_IF_ERROR(begin(ExecutionMode::SYNC));
  return run(nullptr);
}

Status Execution::computeIn(Burst& burst) {
  if (&burst.compilation() != &compilation_) {
    return badData("the burst and the execution are of different compilations");
  }
  const hal::BurstTurn turn(burst.busy());
  HALYARD_RETURN_IF_ERROR(turn.check());
  HALYARD_RETURN_IF_ERROR(begin(ExecutionMode::BURST));
  return run(&burst);
}

Result<std::unique_ptr<Event>> Execution::startCompute() {
  HALYARD_RETURN_IF_ERROR(begin(ExecutionMode::ASYNC));
  return startBegun();
}

Result<std::unique_ptr<Event>> Execution::startBegun() {
  Result<std::unique_ptr<Event>> event = Event::start([this] { return run(nullptr); });
  if (!event.ok()) return abandon(event.takeStatus());
  return event;
}

Status Execution::abandon(Status status) {
  memories_.fail();
  return end(std::unique_lock(mutex_), std::move(status));
}

Status Execution::outputDimensions(uint32_t index, Shape* dimensions) const {
  const std::lock_guard lock(mutex_);
  if (state_ == State::COMPUTATION) return badState("the execution is being computed");
  if (state_ != State::COMPLETED) return badState("the execution has not been computed");
  if (completion_ == Completion::OTHER_ERROR) return badState("the execution failed");
  if (index >= outputShapes_.size()) {
    return badData("output {} of a model with {}", index, outputShapes_.size());
  }
  const hal::OutputShape& output = outputShapes_[index];
  *dimensions = output.dimensions;
  if (!output.isSufficient) {
    return makeStatus(ResultCode::OUTPUT_INSUFFICIENT_SIZE,
                      "the buffer of output {} was too small for shape {}", index,
                      shapeText(output.dimensions));
  }
  return okStatus();
}

Status Execution::duration(int32_t code, uint64_t* nanoseconds) const {
  if (code < 0 || code > 3) return badData("duration code {}, expected 0 to 3", code);
  const std::lock_guard lock(mutex_);
  *nanoseconds = kNotAvailable;
  if (state_ == State::COMPUTATION) return badState("the execution is being computed");
  if (state_ != State::COMPLETED) return badState("the execution has not been computed");
  if (completion_ != Completion::NO_ERROR) return badState("the execution failed");
  if (!measureTiming_) return badState("timing was not asked for before the execution");
  if (!timingKnown_) return badState("the device could not be asked for its times");
  const hal::Timing& timing = code < 2 ? timing_ : fencedTiming_;
  const std::optional<uint64_t>& value = code % 2 == 0 ? timing.timeOnDevice : timing.timeInDriver;
  if (value) *nanoseconds = std::min(*value, kNotAvailable - 1);
  return okStatus();
}

}  // namespace halyard::runtime
