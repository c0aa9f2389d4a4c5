// Runs steps, or operations in sequence: infers shapes, places the outputs, computes, and frees
// consumed values.
#include "cpu/subgraph_run.h"

#include <algorithm>
#include <mutex>
#include <new>
#include <utility>

#include "base/verbose_log.h"
#include "base/work_limit.h"
#include "cpu/control_flow_run.h"
#include "cpu/step_plan.h"
#include "halyard/driver/trace.h"
#include "model/shape_agreement.h"

namespace halyard::cpu {
namespace {

// Scratch memory comes from the execution's blocks and returns there after the kernel.
class KernelRun : public ops::KernelServices {
 public:
  KernelRun(ops::KernelServices& loops, BlockPool* blocks) : loops_(loops), blocks_(blocks) {}
  ~KernelRun() override {
    for (BlockPool::Block& block : scratch_) blocks_->release(std::move(block));
  }
  KernelRun(const KernelRun&) = delete;
  KernelRun& operator=(const KernelRun&) = delete;

  void parallelFor(size_t count, size_t grain,
                   const std::function<void(size_t begin, size_t end)>& body) override {
    loops_.parallelFor(count, grain, body);
  }

  void* scratch(size_t bytes) override {
    // The loop bodies in other threads may call this as well.
    const std::lock_guard lock(mutex_);
    BlockPool::Block block = blocks_->acquire(bytes);
    if (block.data() == nullptr) throw std::bad_alloc();
    scratch_.push_back(std::move(block));
    return scratch_.back().data();
  }

 private:
  ops::KernelServices& loops_;
  BlockPool* blocks_;
  std::mutex mutex_;
  std::vector<BlockPool::Block> scratch_;
};

Status noMemory(size_t bytes) {
  return makeStatus(ResultCode::OUT_OF_MEMORY, "no memory for {} bytes", bytes);
}

}  // namespace

SubgraphRun::SubgraphRun(const SubgraphPlan& plan, const RunServices& services)
    : plan_(plan),
      services_(services),
      owned_(plan.tensors.size()),
      targets_(plan.subgraph->outputIndexes.size()) {
  reset();
}

SubgraphRun::~SubgraphRun() { releaseMemory(); }

void SubgraphRun::releaseMemory() {
  for (BlockPool::Block& block : owned_) services_.blocks.release(std::exchange(block, {}));
  services_.blocks.release(std::exchange(arena_, {}));
  if (ownStepRun_) stepRun_ = nullptr;
  ownStepRun_.reset();
  services_.blocks.release(std::exchange(stepArena_, {}));
}

void SubgraphRun::reset() {
  rewind();
  // Assignment keeps the vector's memory, which matters in the body of a loop.
  tensors_ = plan_.tensors;
  asPlanned_ = true;
}

void SubgraphRun::rewind() {
  for (BlockPool::Block& block : owned_) services_.blocks.release(std::exchange(block, {}));
  remaining_ = plan_.consumers;
  sufficient_.assign(targets_.size(), true);
  insufficient_ = false;
}

Status SubgraphRun::bindInput(size_t i, const ops::Tensor& value) {
  ops::Tensor& tensor = tensors_[plan_.subgraph->inputIndexes[i]];
  if (value.omitted) {
    tensor.omitted = true;
    asPlanned_ = false;
    return okStatus();
  }
  HALYARD_RETURN_IF_ERROR(mergeDims(value.dims, &tensor), "input {} of the subgraph", i);
  tensor.data = value.data;
  return okStatus();
}

void SubgraphRun::declareOutput(size_t i, const Shape& dims) {
  ops::Tensor& tensor = tensors_[plan_.subgraph->outputIndexes[i]];
  if (isShapeOf(dims, tensor.dims)) return;
  tensor.dims = dims;
  asPlanned_ = false;
}

Status SubgraphRun::run() {
  if (plan_.steps != nullptr) {
    if (asPlanned_) return runSteps();
    if (plan_.steps->isOnlyWay) return refuse();
  }
  const std::vector<Operation>& operations = plan_.subgraph->operations;
  const uint32_t number = services_.plan.numberOf(plan_);
  if (plan_.arenaBytes > 0 && arena_.data() == nullptr) {
    arena_ = services_.blocks.acquire(plan_.arenaBytes);
    if (arena_.data() == nullptr) return noMemory(plan_.arenaBytes);
  }
  for (size_t i = 0; i < operations.size(); ++i) {
    if (plan_.isFolded[i]) continue;
    HALYARD_RETURN_IF_ERROR(checkMayGoOn(*services_.options, ResultCode::MISSED_DEADLINE_TRANSIENT),
                            "before {}", operationText(i, operations[i].type));
    const std::string name =
        trace::isActive() ? operationTypeName(operations[i].type) : std::string();
    const trace::Scope mark(trace::Layer::CPU, trace::Phase::COMPUTATION, name,
                            {.operation = static_cast<int32_t>(i), .subgraph = number});
    if (vlogIsOn(VlogTag::CPU_EXECUTOR)) {
      vlog(VlogTag::CPU_EXECUTOR, "computing {}", operationText(i, operations[i].type));
    }
    HALYARD_RETURN_IF_ERROR(runOperation(i), "{}", operationText(i, operations[i].type));
  }
  return okStatus();
}

Status SubgraphRun::runSteps() {
  const OperandIndexes& outputs = plan_.subgraph->outputIndexes;
  for (uint32_t operand : outputs) checkTarget(operand);
  if (insufficient_) return okStatus();
  if (stepRun_ == nullptr) {
    const size_t bytes = plan_.steps->places.bytes;
    if (bytes > 0) {
      stepArena_ = services_.blocks.acquire(bytes);
      if (stepArena_.data() == nullptr) return noMemory(bytes);
    }
    stepRun_ = &ownStepRun_.emplace(plan_);
    stepRun_->bindArena(static_cast<std::byte*>(stepArena_.data()));
  }
  for (size_t i = 0; i < plan_.subgraph->inputIndexes.size(); ++i) {
    stepRun_->bindInput(i, tensors_[plan_.subgraph->inputIndexes[i]].data, /*shared=*/false);
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    HALYARD_RETURN_IF_ERROR(placeOutput(outputs[i]), "output {}", i);
    stepRun_->bindOutput(i, tensors_[outputs[i]].data);
  }
  HALYARD_RETURN_IF_ERROR(stepRun_->run(services_));
  for (uint32_t operand : outputs) deliverOutput(operand);
  return okStatus();
}

Status SubgraphRun::refuse() const {
  const Subgraph& subgraph = *plan_.subgraph;
  for (size_t i = 0; i < subgraph.inputIndexes.size(); ++i) {
    if (!tensors_[subgraph.inputIndexes[i]].omitted) continue;
    return opFailed("input {} is omitted, and the model cannot do without it", i);
  }
  for (size_t i = 0; i < subgraph.outputIndexes.size(); ++i) {
    ops::Tensor declared = output(i);
    HALYARD_RETURN_IF_ERROR(mergeDims(plan_.tensors[subgraph.outputIndexes[i]].dims, &declared),
                            "output {}", i);
  }
  return badData("the arguments are not what the model says");
}

RunValue SubgraphRun::takeOutput(size_t i) {
  const uint32_t operand = plan_.subgraph->outputIndexes[i];
  return {tensors_[operand], std::exchange(owned_[operand], {})};
}

Status SubgraphRun::runOperation(size_t index) {
  const Operation& operation = plan_.subgraph->operations[index];
  if (plan_.definitions[index]->controlFlow != ops::ControlFlow::NONE) {
    HALYARD_RETURN_IF_ERROR(runControlFlow(index));
  } else {
    try {
      HALYARD_RETURN_IF_ERROR(runKernel(index));
    } catch (const WorkAbandoned&) {
      return checkMayGoOn(*services_.options, ResultCode::MISSED_DEADLINE_TRANSIENT);
    }
  }
  releaseConsumed(operation);
  return okStatus();
}

Status SubgraphRun::runControlFlow(size_t index) {
  const Operation& operation = plan_.subgraph->operations[index];
  std::vector<ops::Tensor> inputs;
  inputs.reserve(operation.inputs.size());
  for (uint32_t operand : operation.inputs) inputs.push_back(tensors_[operand]);
  std::vector<RunValue> values;
  HALYARD_RETURN_IF_ERROR(cpu::runControlFlow(plan_, index, services_, inputs, &values));
  for (size_t i = 0; i < values.size(); ++i) {
    HALYARD_RETURN_IF_ERROR(acceptValue(operation, i, std::move(values[i])));
  }
  return okStatus();
}

Status SubgraphRun::acceptValue(const Operation& operation, size_t i, RunValue value) {
  const uint32_t operand = operation.outputs[i];
  HALYARD_RETURN_IF_ERROR(acceptDims(operation, i, value.tensor.dims));
  if (value.block.data() != nullptr) {
    owned_[operand] = std::move(value.block);
    tensors_[operand].data = value.tensor.data;
  } else {
    HALYARD_RETURN_IF_ERROR(placeOutput(operand), "output {} (operand #{})", i, operand);
    const size_t bytes = byteSizeOf(value.tensor);
    if (bytes > 0) copyInChunks(tensors_[operand].data, value.tensor.data, bytes);
  }
  deliverOutput(operand);
  return okStatus();
}

std::span<ops::Tensor> SubgraphRun::gather(std::span<const uint32_t> operands,
                                           std::vector<ops::Tensor>* to) const {
  // The vector never shrinks: its tensors keep the memory of their dimensions for other operations.
  if (to->size() < operands.size()) to->resize(operands.size());
  for (size_t i = 0; i < operands.size(); ++i) (*to)[i] = tensors_[operands[i]];
  return {to->data(), operands.size()};
}

Status SubgraphRun::runKernel(size_t index) {
  const Operation& operation = plan_.subgraph->operations[index];
  const ops::OperationDefinition& definition = *plan_.definitions[index];
  const std::span<ops::Tensor> inputs = gather(operation.inputs, &kernelInputs_);
  const std::span<ops::Tensor> outputs = gather(operation.outputs, &kernelOutputs_);
  KernelRun services(services_.kernels, &services_.blocks);
  ops::OperationContext context(inputs, outputs, &services);
  if (plan_.settled[index] && asPlanned_) {
    for (uint32_t operand : operation.outputs) checkTarget(operand);
  } else {
    HALYARD_RETURN_IF_ERROR(inferShapes(index, context, outputs));
  }
  if (!needsKernel(operation)) return okStatus();
  bool allEmpty = true;
  for (size_t i = 0; i < outputs.size(); ++i) {
    HALYARD_RETURN_IF_ERROR(placeOutput(operation.outputs[i]), "output {} (operand #{})", i,
                            operation.outputs[i]);
    outputs[i].data = tensors_[operation.outputs[i]].data;
    allEmpty = allEmpty && outputs[i].elementCount() == 0;
  }
  if (!allEmpty) {
    const KernelPatch* const patch = services_.plan.patch.get();
    HALYARD_RETURN_IF_ERROR(asFailure(patch == nullptr ? ops::runReference(definition, context)
                                                       : patch->run(definition, context)));
  }
  for (uint32_t operand : operation.outputs) deliverOutput(operand);
  return okStatus();
}

Status SubgraphRun::inferShapes(size_t index, ops::OperationContext& context,
                                std::span<ops::Tensor> outputs) {
  HALYARD_RETURN_IF_ERROR(asFailure(ops::inferShapes(*plan_.definitions[index], context)));
  for (size_t i = 0; i < outputs.size(); ++i) {
    HALYARD_RETURN_IF_ERROR(acceptDims(plan_.subgraph->operations[index], i, outputs[i].dims));
  }
  return okStatus();
}

Status SubgraphRun::acceptDims(const Operation& operation, size_t i, const Shape& dims) {
  const uint32_t operand = operation.outputs[i];
  HALYARD_RETURN_IF_ERROR(mergeDims(dims, &tensors_[operand]), "output {} (operand #{})", i,
                          operand);
  checkTarget(operand);
  return okStatus();
}

void SubgraphRun::checkTarget(uint32_t operand) {
  const std::optional<size_t> position = plan_.outputPosition[operand];
  if (!position || !targets_[*position]) return;
  sufficient_[*position] = targets_[*position]->length >= byteSizeOf(tensors_[operand]);
  insufficient_ = insufficient_ || !sufficient_[*position];
}

bool SubgraphRun::needsKernel(const Operation& operation) const {
  if (!insufficient_) return true;
  // The execution has already failed. Only values that later shapes may depend on still matter.
  return std::any_of(operation.outputs.begin(), operation.outputs.end(),
                     [&](uint32_t operand) { return plan_.consumers[operand] > 0; });
}

Status SubgraphRun::placeOutput(uint32_t operand) {
  ops::Tensor& tensor = tensors_[operand];
  const std::optional<size_t> position = plan_.outputPosition[operand];
  if (position && targets_[*position]) {
    const OutputTarget& target = *targets_[*position];
    const bool isReadBack = plan_.consumers[operand] > 0;
    if (sufficient_[*position] && target.data != nullptr &&
        isAlignedFor(tensor.type, target.data) && !(target.shared && isReadBack)) {
      tensor.data = target.data;
      return okStatus();
    }
  }
  if (const std::optional<size_t> offset = plan_.arenaOffset[operand]) {
    tensor.data = static_cast<std::byte*>(arena_.data()) + *offset;
    return okStatus();
  }
  return giveBlock(operand);
}

void SubgraphRun::deliverOutput(uint32_t operand) {
  const std::optional<size_t> position = plan_.outputPosition[operand];
  if (!position || !targets_[*position] || !sufficient_[*position]) return;
  const ops::Tensor& tensor = tensors_[operand];
  const size_t bytes = byteSizeOf(tensor);
  void* const target = targets_[*position]->data;
  if (bytes > 0 && tensor.data != target) copyInChunks(target, tensor.data, bytes);
}

Status SubgraphRun::giveBlock(uint32_t operand) {
  ops::Tensor& tensor = tensors_[operand];
  const size_t bytes = byteSizeOf(tensor);
  owned_[operand] = services_.blocks.acquire(bytes);
  tensor.data = owned_[operand].data();
  return tensor.data != nullptr ? okStatus() : noMemory(bytes);
}

void SubgraphRun::releaseConsumed(const Operation& operation) {
  const auto release = [&](uint32_t operand) {
    // Values that the caller takes stay.
    const std::optional<size_t> position = plan_.outputPosition[operand];
    if (position && !targets_[*position]) return;
    services_.blocks.release(std::exchange(owned_[operand], {}));
  };
  for (uint32_t operand : operation.inputs) {
    if (--remaining_[operand] == 0) release(operand);
  }
  for (uint32_t operand : operation.outputs) {
    if (remaining_[operand] == 0) release(operand);
  }
}

}  // namespace halyard::cpu
