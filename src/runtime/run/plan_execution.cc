// Runs the steps of a plan one after another: makes requests from the values of a frame and takes
// over the results.
#include "runtime/run/plan_execution.h"

#include <sys/mman.h>

#include <algorithm>

#include "model/shape_agreement.h"
#include "runtime/run/plan_recording.h"
#include "runtime/run/result_shapes.h"

namespace halyard::runtime {
namespace {

// A growing value that is too small gets twice the memory in the next attempt, up to this size in
// bytes.
constexpr uint64_t kMostByDoubling = uint64_t{1} << 31;
// Enough attempts to double one byte up to kMostByDoubling.
constexpr unsigned kMostDoublings = 40;

bool isEmpty(const Shape& dimensions) {
  return std::ranges::find(dimensions, 0u) != dimensions.end();
}

bool isReadable(const Place& place) {
  if (place.kind != Place::Kind::POOL) return true;
  const auto* const memory = std::get_if<SharedMemoryPtr>(place.pool);
  return memory == nullptr || ((*memory)->prot() & PROT_READ) != 0;
}

}  // namespace

PlanExecution::PlanExecution(PlanRunner& runner, const RunArguments& arguments,
                             const hal::ExecuteOptions& options, PlanBurst* burst)
    : runner_(runner), arguments_(arguments), options_(options), burst_(burst) {}

PlanExecution::~PlanExecution() {
  if (reusable_ && memory_ != nullptr) runner_.memories().giveBack(std::move(memory_));
}

Value PlanExecution::argumentValue(const hal::RequestArgument& argument) const {
  Value value;
  value.known = argument.dimensions;
  switch (argument.kind) {
    case hal::RequestArgument::Kind::NO_VALUE:
      break;
    case hal::RequestArgument::Kind::POINTER:
      value.place.kind = Place::Kind::POINTER;
      value.place.pointer = argument.pointer;
      value.place.length = argument.length;
      break;
    case hal::RequestArgument::Kind::POOL:
      value.place.kind = Place::Kind::POOL;
      value.place.pool = &arguments_.request.pools[argument.location.poolIndex];
      value.place.offset = argument.location.offset;
      value.place.length = argument.location.length;
      break;
  }
  return value;
}

Place PlanExecution::constantPlace(const Operand& operand) const {
  Place place;
  place.length = operand.location.length;
  if (operand.lifetime == Lifetime::CONSTANT_COPY) {
    place.kind = Place::Kind::POINTER;
    // A device does not write to an input.
    place.pointer =
        const_cast<uint8_t*>(runner_.model().operandValues.data() + operand.location.offset);
  } else {
    place.kind = Place::Kind::POOL;
    place.pool = &runner_.constantPool(operand.location.poolIndex);
    place.offset = operand.location.offset;
  }
  return place;
}

Place PlanExecution::slotPlace(const TemporarySlot& slot, uint32_t base) const {
  Place place;
  place.kind = slot.growing ? Place::Kind::GROWING : Place::Kind::TEMPORARY;
  place.index = slot.index;
  place.offset = base + slot.offset;
  place.length = slot.bytes;
  return place;
}

Frame PlanExecution::makeFrame(const FramePlan& plan, uint32_t base) const {
  Frame frame;
  frame.plan = &plan;
  frame.base = base;
  frame.values.resize(plan.values.size());
  for (size_t i = 0; i < plan.values.size(); ++i) {
    const FrameValue& value = plan.values[i];
    if (value.kind == FrameValue::Kind::TEMPORARY) {
      frame.values[i].place = slotPlace(value.slot, base);
    } else if (value.kind == FrameValue::Kind::CONSTANT) {
      frame.values[i].place = constantPlace(plan.subgraph->operands[value.operand]);
    }
  }
  return frame;
}

void PlanExecution::bindMain() {
  main_ = makeFrame(runner_.layout().main, 0);
  const Subgraph& subgraph = *main_.plan->subgraph;
  outputs_.clear();
  shadows_.clear();
  for (size_t i = 0; i < subgraph.outputIndexes.size(); ++i) {
    const Operand& operand = subgraph.operands[subgraph.outputIndexes[i]];
    outputs_.push_back(
        {completeShape(arguments_.request.outputs[i].dimensions, operand.dimensions), true});
  }
  for (size_t i = 0; i < main_.values.size(); ++i) {
    const FrameValue& value = main_.plan->values[i];
    if (value.kind == FrameValue::Kind::INPUT) {
      main_.values[i] = argumentValue(arguments_.request.inputs[value.position]);
    } else if (value.kind == FrameValue::Kind::OUTPUT) {
      main_.values[i] = argumentValue(arguments_.request.outputs[value.position]);
      main_.values[i].known = outputs_[value.position].dimensions;
      main_.values[i].output = value.position;
      if (value.isRead && !isReadable(main_.values[i].place)) {
        Place& place = main_.values[i].place;
        shadows_.push_back({static_cast<uint32_t>(i), place});
        const uint32_t length = place.length;
        place = slotPlace(value.slot, 0);
        place.length = length;
      }
    }
  }
}

Status PlanExecution::prepareMain() {
  HALYARD_RETURN_IF_ERROR(hal::validateRequest(runner_.model(), arguments_.request, true));
  if (memory_ == nullptr) {
    HALYARD_ASSIGN_OR_RETURN(memory_, runner_.memories().borrow());
  }
  bindMain();
  return okStatus();
}

hal::ExecutionResult PlanExecution::run() {
  hal::ExecutionResult result;
  result.status = prepareMain();
  if (!result.status.ok()) return result;
  runner_.placeOnDevices(*memory_);
  result.status = checkMayGoOn(false);
  if (result.status.ok()) result.status = runSequence(main_);
  if (result.status.ok()) result.status = copyShadows();
  // After a missed deadline or a failure, a device may still write to the memory of the run.
  reusable_ = result.status.ok() || result.status.code() == ResultCode::OUTPUT_INSUFFICIENT_SIZE;
  if (reusable_) result.outputShapes = std::move(outputs_);
  return result;
}

Status PlanExecution::copyShadows() {
  for (const Shadow& shadow : shadows_) {
    const Value& value = main_.values[shadow.value];
    HALYARD_RETURN_IF_ERROR(copyBytes(value.place, shadow.target, operandOf(main_, shadow.value),
                                      dimensionsOf(main_, shadow.value), value.output),
                            "output {}", *value.output);
  }
  return okStatus();
}

Status PlanExecution::checkMayGoOn(bool begun) const {
  if (options_.cancel.stop_requested()) return opFailed("the execution has been cancelled");
  if (!options_.deadline || hal::Clock::now() < *options_.deadline) return okStatus();
  return makeStatus(
      begun ? ResultCode::MISSED_DEADLINE_TRANSIENT : ResultCode::MISSED_DEADLINE_PERSISTENT,
      "the deadline has passed {}",
      begun ? "between two partitions" : "before the execution began");
}

Status PlanExecution::runSequence(Frame& frame) {
  for (size_t i = 0; i < frame.plan->nodes.size(); ++i) {
    const FrameNode& node = frame.plan->nodes[i];
    if (i > 0) HALYARD_RETURN_IF_ERROR(checkMayGoOn(true));
    switch (node.kind) {
      case FrameNode::Kind::COMPUTE:
        HALYARD_RETURN_IF_ERROR(runStep(frame, node));
        break;
      case FrameNode::Kind::BRANCH:
        HALYARD_RETURN_IF_ERROR(runBranch(frame, node));
        break;
      case FrameNode::Kind::LOOP:
        HALYARD_RETURN_IF_ERROR(runLoop(frame, node));
        break;
    }
  }
  return okStatus();
}

Status PlanExecution::runStep(Frame& frame, const FrameNode& node) {
  StepRecovery& recovery = runner_.recovery();
  const PreparedStepPtr by = recovery.current(node.step);
  Status status = StepRecovery::checkUsable(*by);
  if (status.ok()) status = attempt(frame, node, *by);
  if (!isFinal(status) && !needsWholeModel_) {
    status = recovery.recover(node.step, by, std::move(status), [&](const PreparedStep& other) {
      return attempt(frame, node, other);
    });
  }
  if (status.ok()) status = checkNotEmpty(frame, node);
  return status;
}

Status PlanExecution::checkNotEmpty(const Frame& frame, const FrameNode& node) {
  for (const uint32_t output : node.outputs) {
    if (frame.plan->values[output].fixed || !isEmpty(dimensionsOf(frame, output))) continue;
    if (!frame.plan->values[output].isRead) continue;
    needsWholeModel_ = true;
    return opFailed("{} with dimensions {} has no elements, and cannot go to another device",
                    operandText(operandOf(frame, output)), shapeText(dimensionsOf(frame, output)));
  }
  return okStatus();
}

uint32_t PlanExecution::addPool(const hal::RequestPool& pool, hal::Request* request) const {
  const auto it = std::ranges::find(request->pools, pool);
  const auto index = static_cast<uint32_t>(it - request->pools.begin());
  if (it == request->pools.end()) request->pools.push_back(pool);
  return index;
}

const DescribedMemory* PlanExecution::bufferOf(const Frame& frame, uint32_t value,
                                               const PreparedStep* by) const {
  const uint32_t index = frame.plan->values[value].onDevice;
  if (by == nullptr || index >= memory_->onDevice.size()) return nullptr;
  const DescribedMemory* const buffer = memory_->onDevice[index].buffer.get();
  return buffer != nullptr && buffer->isKnownTo(*by->prepared) ? buffer : nullptr;
}

Status PlanExecution::bringFromDevice(Frame& frame, uint32_t value) const {
  const Place& place = frame.values[value].place;
  const auto& buffer = memory_->onDevice[frame.plan->values[value].onDevice].buffer;
  HALYARD_ASSIGN_OR_RETURN(const SharedMemoryPtr staging,
                           SharedMemory::create(place.length, "halyard staging"));
  HALYARD_RETURN_IF_ERROR(buffer->buffer()->copyTo(staging), "a value on its device");
  HALYARD_ASSIGN_OR_RETURN(const Mapping* const mapping, staging->mapped());
  std::copy_n(mapping->data(), place.length, memory_->blockData() + place.offset);
  frame.values[value].isOnDevice = false;
  return okStatus();
}

Result<hal::RequestArgument> PlanExecution::argumentFor(Frame& frame, uint32_t index,
                                                        const Operand& operand, bool isOutput,
                                                        const PreparedStep* by,
                                                        hal::Request* request) const {
  Value& value = frame.values[index];
  const Place& place = value.place;
  hal::RequestArgument argument;
  if (place.kind == Place::Kind::OMITTED) return argument;
  const bool fixed = frame.plan->values[index].fixed;
  if (!fixed && !runner_.sizes().isScalar(operand.type)) {
    argument.dimensions = dimensionsOf(frame, index);
  }
  argument.kind = hal::RequestArgument::Kind::POOL;
  switch (place.kind) {
    case Place::Kind::OMITTED:
      break;
    case Place::Kind::POINTER:
      argument.kind = hal::RequestArgument::Kind::POINTER;
      argument.pointer = place.pointer;
      argument.length = place.length;
      break;
    case Place::Kind::POOL:
      argument.location = {addPool(*place.pool, request), place.offset, place.length};
      break;
    case Place::Kind::TEMPORARY: {
      const DescribedMemory* const buffer = bufferOf(frame, index, by);
      if (isOutput) value.isOnDevice = buffer != nullptr;
      if (value.isOnDevice && buffer == nullptr) {
        HALYARD_RETURN_IF_ERROR(bringFromDevice(frame, index));
      }
      argument.location =
          value.isOnDevice
              ? DataLocation{addPool(buffer->requestPool(), request), 0, 0}
              : DataLocation{addPool(memory_->block(), request), place.offset, place.length};
      break;
    }
    case Place::Kind::GROWING: {
      uint32_t length = memory_->capacity(place.index);
      if (!isOutput) {
        const std::optional<uint32_t> bytes =
            runner_.sizes().real(operand.type, dimensionsOf(frame, index));
        if (!bytes || *bytes > length) {
          return opFailed("{}: its size is not known", operandText(operand));
        }
        length = *bytes;
      }
      argument.location = {addPool(memory_->growing(place.index), request), 0, length};
      break;
    }
  }
  return argument;
}

Result<hal::Request> PlanExecution::requestFor(Frame& frame, const FrameNode& node,
                                               const PreparedStep* by) {
  const Model& model = *runner_.plan().steps[node.step].model;
  hal::Request request;
  request.inputs.reserve(node.inputs.size());
  request.outputs.reserve(node.outputs.size());
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const Operand& operand = model.main.operands[model.main.inputIndexes[i]];
    HALYARD_ASSIGN_OR_RETURN(hal::RequestArgument argument,
                             argumentFor(frame, node.inputs[i], operand, false, by, &request),
                             "input {} of the partition", i);
    request.inputs.push_back(std::move(argument));
  }
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    const Value& value = frame.values[node.outputs[i]];
    const Operand& operand = model.main.operands[model.main.outputIndexes[i]];
    if (value.place.kind == Place::Kind::GROWING) {
      HALYARD_RETURN_IF_ERROR(memory_->reserve(value.place.index, value.place.length),
                              "output {} of the partition", i);
    }
    HALYARD_ASSIGN_OR_RETURN(hal::RequestArgument argument,
                             argumentFor(frame, node.outputs[i], operand, true, by, &request),
                             "output {} of the partition", i);
    request.outputs.push_back(std::move(argument));
  }
  return request;
}

Result<hal::Request> PlanExecution::requestFor(size_t node) {
  return requestFor(main_, main_.plan->nodes[node], nullptr);
}

hal::ExecutionResult PlanExecution::computeStep(size_t step, const PreparedStep& by,
                                                const hal::Request& request, bool isStaged) {
  // An execution with staging is not recorded, because the memory that replaces a token is new in
  // each run.
  if (arguments_.recording != nullptr && !isStaged) {
    return arguments_.recording->computeStep(step, by.prepared, burst_, request, options_);
  }
  hal::Burst* const burst = burst_ == nullptr ? nullptr : burst_->of(step, by.prepared);
  return executeOn(*by.prepared, burst, request, options_);
}

Status PlanExecution::attempt(Frame& frame, const FrameNode& node, const PreparedStep& by) {
  const auto context = [&](Status status) {
    return std::move(status.annotate(runner_.stepText(node.step, *by.device)));
  };
  // Output dimensions from an earlier attempt may be wrong.
  for (const uint32_t output : node.outputs) frame.values[output].dimensions.clear();
  const StepMark mark(runner_, node.step, *by.device);
  for (unsigned attempts = 1;; ++attempts) {
    HALYARD_ASSIGN_OR_RETURN(hal::Request request, requestFor(frame, node, &by));
    TokenStaging staging;
    const bool isStaged = TokenStaging::isNeeded(arguments_.memories, *by.prepared, request);
    if (isStaged) {
      HALYARD_ASSIGN_OR_RETURN(staging,
                               TokenStaging::stage(arguments_.memories, *by.prepared, &request),
                               "{}", runner_.stepText(node.step, *by.device));
    }
    const hal::TimePoint started = hal::Clock::now();
    hal::ExecutionResult result = computeStep(node.step, by, request, isStaged);
    const hal::Clock::duration duration = hal::Clock::now() - started;
    if (!result.status.ok() && result.status.code() != ResultCode::OUTPUT_INSUFFICIENT_SIZE) {
      // A process that does not answer may still run and write to the memory.
      if (result.status.code() == ResultCode::DEAD_OBJECT)
        HALYARD_RETURN_IF_ERROR(memory_->renew());
      return context(result.status);
    }
    const Result<bool> done = takeResult(frame, node, result);
    if (!done.ok()) return context(done.status());
    if (!*done) {
      if (attempts < kMostDoublings) continue;
      return context(opFailed("the device has found its outputs too small {} times", attempts));
    }
    if (!result.status.ok()) return context(result.status);
    HALYARD_RETURN_IF_ERROR(staging.copyBack(&result));
    if (runner_.recovery().asPlanned(node.step, by)) {
      runner_.addMeasurement(node.step, duration, result.copiedBytes);
    }
    return okStatus();
  }
}

Status PlanExecution::enlarge(const Value& value, const Operand& operand, const Shape& needed) {
  const uint32_t capacity = memory_->capacity(value.place.index);
  const std::optional<uint32_t> bytes = runner_.sizes().known(operand.type, needed);
  const uint64_t size = bytes ? *bytes : uint64_t{capacity} * 2;
  if (size <= capacity || (!bytes && size >= kMostByDoubling)) {
    return opFailed("the device found {} bytes too few for {}{}", capacity,
                    operandTypeName(operand.type), shapeText(needed));
  }
  return memory_->reserve(value.place.index, size);
}

Result<bool> PlanExecution::takeResult(Frame& frame, const FrameNode& node,
                                       const hal::ExecutionResult& result) {
  const Model& model = *runner_.plan().steps[node.step].model;
  const bool success = result.status.ok();
  const std::vector<hal::OutputShape>& shapes = result.outputShapes;
  bool mainTooSmall = false;
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    const uint32_t index = node.outputs[i];
    Value& value = frame.values[index];
    const Shape real = shapes.empty() ? dimensionsOf(frame, index) : shapes[i].dimensions;
    const bool sufficient = shapes.empty() || shapes[i].isSufficient;
    if (!shapes.empty() && !frame.plan->values[index].fixed) value.dimensions = real;
    if (value.output) outputs_[*value.output] = {real, sufficient};
    if (sufficient || value.place.kind == Place::Kind::GROWING) continue;
    if (!value.output) {
      return opFailed("the device found {} bytes too few for output {}, {}", lengthOf(value.place),
                      i, operandText(model.main.operands[model.main.outputIndexes[i]]));
    }
    mainTooSmall = true;
  }
  if (success || mainTooSmall) return true;
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    Value& value = frame.values[node.outputs[i]];
    if (shapes[i].isSufficient) continue;
    const Operand& operand = model.main.operands[model.main.outputIndexes[i]];
    HALYARD_RETURN_IF_ERROR(enlarge(value, operand, shapes[i].dimensions), "output {}", i);
    value.dimensions.clear();
  }
  return false;
}

}  // namespace halyard::runtime
