// IF and WHILE operations that the runtime executes itself. Their subgraphs run in nested frames.
#include <sys/mman.h>

#include <cstring>

#include "cpu/while_loop.h"
#include "runtime/run/plan_execution.h"
#include "runtime/run/result_shapes.h"

namespace halyard::runtime {
namespace {

// Gives the inner frame its inputs. Inputs that the frame does not use are skipped.
void bindInputs(const std::vector<Value>& values, Frame* inner) {
  for (size_t i = 0; i < inner->values.size(); ++i) {
    const FrameValue& plan = inner->plan->values[i];
    if (plan.kind == FrameValue::Kind::INPUT) inner->values[i] = values[plan.position];
  }
}

}  // namespace

Status PlanExecution::runBranch(Frame& frame, const FrameNode& node) {
  const std::string text =
      operationText(node.operation, frame.plan->subgraph->operations[node.operation].type);
  HALYARD_ASSIGN_OR_RETURN(const bool condition, readCondition(frame.values[node.inputs[0]].place),
                           "{}: condition", text);
  Frame inner = makeFrame(condition ? *node.first : *node.second, frame.base + node.framesBase);
  bindInputs(inputValues(frame, node, 1), &inner);
  for (size_t i = 0; i < inner.values.size(); ++i) {
    const FrameValue& plan = inner.plan->values[i];
    if (plan.kind != FrameValue::Kind::OUTPUT) continue;
    const uint32_t outer = node.outputs[plan.position];
    inner.values[i].place = frame.values[outer].place;
    inner.values[i].output = frame.values[outer].output;
    if (!frame.plan->values[outer].fixed) inner.values[i].known = dimensionsOf(frame, outer);
  }
  HALYARD_RETURN_IF_ERROR(runSequence(inner), "{}: {}", text, cpu::branchName(condition));
  for (size_t i = 0; i < inner.values.size(); ++i) {
    const FrameValue& plan = inner.plan->values[i];
    if (plan.kind != FrameValue::Kind::OUTPUT) continue;
    const uint32_t outer = node.outputs[plan.position];
    if (!frame.plan->values[outer].fixed) {
      frame.values[outer].dimensions = dimensionsOf(inner, static_cast<uint32_t>(i));
    }
  }
  return okStatus();
}

std::vector<Value> PlanExecution::inputValues(const Frame& frame, const FrameNode& node,
                                              size_t first) {
  std::vector<Value> values;
  for (size_t i = first; i < node.inputs.size(); ++i) {
    Value value = frame.values[node.inputs[i]];
    value.output.reset();
    value.dimensions = dimensionsOf(frame, node.inputs[i]);
    values.push_back(std::move(value));
  }
  return values;
}

Status PlanExecution::runLoop(Frame& frame, const FrameNode& node) {
  const Subgraph& subgraph = *frame.plan->subgraph;
  const Operation& operation = subgraph.operations[node.operation];
  const std::string text = operationText(node.operation, operation.type);
  // Indexed by the input of condition and body.
  std::vector<Value> state = inputValues(frame, node, 0);
  HALYARD_RETURN_IF_ERROR(runIterations(frame, node, &state), "{}", text);
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    HALYARD_RETURN_IF_ERROR(
        copyOut(state[i], subgraph.operands[operation.outputs[i]], frame, node.outputs[i]),
        "{}: output {}", text, i);
  }
  return okStatus();
}

Status PlanExecution::runIterations(const Frame& frame, const FrameNode& node,
                                    std::vector<Value>* state) {
  return cpu::runWhile(
      options_.loopTimeout, [&](uint64_t) { return runCondition(frame, node, *state); },
      [&](uint64_t iteration) -> Status {
        HALYARD_RETURN_IF_ERROR(checkMayGoOn(true));
        return runBody(frame, node, iteration, state);
      });
}

Result<bool> PlanExecution::runCondition(const Frame& frame, const FrameNode& node,
                                         const std::vector<Value>& state) {
  const Place result = slotPlace(node.conditionSlot, frame.base + node.base);
  Frame condition = makeFrame(*node.first, frame.base + node.framesBase);
  bindInputs(state, &condition);
  for (size_t i = 0; i < condition.values.size(); ++i) {
    if (condition.plan->values[i].kind == FrameValue::Kind::OUTPUT) {
      condition.values[i].place = result;
    }
  }
  HALYARD_RETURN_IF_ERROR(runSequence(condition));
  return readCondition(result);
}

Status PlanExecution::runBody(const Frame& frame, const FrameNode& node, uint64_t iteration,
                              std::vector<Value>* state) {
  Frame body = makeFrame(*node.second, frame.base + node.framesBase);
  bindInputs(*state, &body);
  for (size_t i = 0; i < body.values.size(); ++i) {
    const FrameValue& plan = body.plan->values[i];
    if (plan.kind != FrameValue::Kind::OUTPUT) continue;
    body.values[i].place =
        slotPlace(node.loopSlots[plan.position][iteration % 2], frame.base + node.base);
  }
  HALYARD_RETURN_IF_ERROR(runSequence(body));
  for (size_t i = 0; i < body.values.size(); ++i) {
    const FrameValue& plan = body.plan->values[i];
    if (plan.kind != FrameValue::Kind::OUTPUT) continue;
    Value value = body.values[i];
    value.dimensions = dimensionsOf(body, static_cast<uint32_t>(i));
    (*state)[plan.position] = std::move(value);
  }
  return okStatus();
}

Result<PlanExecution::Bytes> PlanExecution::bytesAt(const Place& place, size_t bytes,
                                                    bool writes) const {
  Bytes result;
  switch (place.kind) {
    case Place::Kind::OMITTED:
      return opFailed("there is no value");
    case Place::Kind::POINTER:
      result.data = static_cast<uint8_t*>(place.pointer);
      return result;
    case Place::Kind::TEMPORARY:
      result.data = memory_->blockData() + place.offset;
      return result;
    case Place::Kind::GROWING:
      result.data = memory_->growingData(place.index);
      return result;
    case Place::Kind::POOL:
      break;
  }
  if (const auto* const token = std::get_if<uint32_t>(place.pool)) {
    result.described = arguments_.memories.find(*token);
    if (result.described == nullptr) return opFailed("token {} is not known", *token);
    HALYARD_ASSIGN_OR_RETURN(result.staging, SharedMemory::create(bytes, "halyard staging"));
    HALYARD_ASSIGN_OR_RETURN(const Mapping* const mapping, result.staging->mapped());
    if (!writes) HALYARD_RETURN_IF_ERROR(result.described->buffer()->copyTo(result.staging));
    result.data = mapping->data();
    return result;
  }
  const SharedMemoryPtr& memory = std::get<SharedMemoryPtr>(*place.pool);
  if ((memory->prot() & (writes ? PROT_WRITE : PROT_READ)) == 0) {
    return opFailed("the memory may not be {}", writes ? "written" : "read");
  }
  HALYARD_ASSIGN_OR_RETURN(const Mapping* const mapping, memory->mapped());
  if (place.offset > mapping->size() || bytes > mapping->size() - place.offset) {
    return opFailed("{} bytes at offset {} of a memory of {}", bytes, place.offset,
                    mapping->size());
  }
  result.access = CpuAccess(memory, writes);
  result.data = mapping->data() + place.offset;
  return result;
}

Result<bool> PlanExecution::readCondition(const Place& place) const {
  HALYARD_ASSIGN_OR_RETURN(const Bytes bytes, bytesAt(place, 1, false));
  return *bytes.data != 0;
}

Status PlanExecution::copyOut(const Value& from, const Operand& operand, Frame& frame,
                              uint32_t index) {
  Value& to = frame.values[index];
  const Shape& dimensions = from.dimensions;
  if (from.place.kind == Place::Kind::OMITTED) {
    return opFailed("no value: its input is omitted and the loop was not entered");
  }
  HALYARD_RETURN_IF_ERROR(
      checkReportedShape(index, operand, dimensionsOf(frame, index), dimensions));
  const std::optional<uint32_t> bytes = runner_.sizes().real(operand.type, dimensions);
  if (!bytes) return opFailed("{}: its size is not known", operandText(operand));
  if (!frame.plan->values[index].fixed) to.dimensions = dimensions;
  if (to.place.kind == Place::Kind::GROWING) {
    HALYARD_RETURN_IF_ERROR(memory_->reserve(to.place.index, *bytes));
  }
  return copyBytes(from.place, to.place, operand, dimensions, to.output);
}

Status PlanExecution::copyBytes(const Place& from, const Place& to, const Operand& operand,
                                const Shape& dimensions, std::optional<uint32_t> output) {
  const std::optional<uint32_t> bytes = runner_.sizes().real(operand.type, dimensions);
  if (!bytes) return opFailed("{}: its size is not known", operandText(operand));
  if (output) outputs_[*output] = {dimensions, true};
  const bool isWhole = to.kind == Place::Kind::POOL && to.length == 0;
  if (!isWhole && to.kind != Place::Kind::OMITTED && *bytes > lengthOf(to)) {
    if (output) outputs_[*output].isSufficient = false;
    return makeStatus(output ? ResultCode::OUTPUT_INSUFFICIENT_SIZE : ResultCode::OP_FAILED,
                      "{} bytes for shape {}, which needs {}", lengthOf(to), shapeText(dimensions),
                      *bytes);
  }
  if (*bytes == 0 || to.kind == Place::Kind::OMITTED) return okStatus();
  HALYARD_ASSIGN_OR_RETURN(const Bytes source, bytesAt(from, *bytes, false));
  HALYARD_ASSIGN_OR_RETURN(const Bytes target, bytesAt(to, *bytes, true));
  std::memmove(target.data, source.data, *bytes);
  if (target.described == nullptr) return okStatus();
  return target.described->buffer()->copyFrom(target.staging, dimensions);
}

}  // namespace halyard::runtime
