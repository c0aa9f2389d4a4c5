// Operations one after the other: infer, place the outputs, compute, free what has been consumed.
#include "cpu/model_run.h"

#include <cstring>
#include <mutex>
#include <utility>

namespace halyard::cpu {
namespace {

// Scratch memory comes from the execution's blocks and goes back there when the kernel is done.
class KernelRun : public ops::KernelServices {
 public:
  KernelRun(ThreadPool* threads, BlockPool* blocks) : threads_(threads), blocks_(blocks) {}
  ~KernelRun() override {
    for (BlockPool::Block& block : scratch_) blocks_->release(std::move(block));
  }
  KernelRun(const KernelRun&) = delete;
  KernelRun& operator=(const KernelRun&) = delete;

  void parallelFor(size_t count, size_t grain,
                   const std::function<void(size_t begin, size_t end)>& body) override {
    if (threads_ != nullptr) {
      threads_->parallelFor(count, grain, body);
    } else if (count > 0) {
      body(0, count);
    }
  }

  void* scratch(size_t bytes) override {
    // The bodies of a loop may ask as well.
    const std::lock_guard lock(mutex_);
    BlockPool::Block block = blocks_->acquire(bytes);
    if (block.data() == nullptr) throw std::bad_alloc();
    scratch_.push_back(std::move(block));
    return scratch_.back().data();
  }

 private:
  ThreadPool* threads_;
  BlockPool* blocks_;
  std::mutex mutex_;
  std::vector<BlockPool::Block> scratch_;
};

// Dimensions by the model and by the request together. BAD_DATA when they contradict each other.
Result<Shape> combineDims(const Operand& operand, const Shape& given) {
  if (given.empty()) return operand.dimensions;
  if (isScalarType(operand.type)) return badData("a scalar with dimensions {}", shapeText(given));
  const Shape& declared = operand.dimensions;
  if (declared.empty()) return given;
  Shape combined = declared;
  bool agree = given.size() == declared.size();
  for (size_t i = 0; agree && i < given.size(); ++i) {
    if (combined[i] == 0) combined[i] = given[i];
    agree = given[i] == 0 || given[i] == combined[i];
  }
  if (!agree) {
    return badData("has dimensions {}, the model says {}", shapeText(given), shapeText(declared));
  }
  return combined;
}

// An error of an operation at execution. BAD_DATA is for models and requests, and INCOMPLETE for
// inference ahead of execution; here the operation has failed.
Status asFailure(Status status) {
  const ResultCode code = status.code();
  const bool rename = code == ResultCode::BAD_DATA || code == ResultCode::INCOMPLETE;
  return rename ? status.withCode(ResultCode::OP_FAILED) : status;
}

}  // namespace

ModelRun::ModelRun(const ExecutionPlan& plan, ThreadPool* threads,
                   const hal::ExecuteOptions& options, std::span<const Argument> inputs,
                   std::span<const Argument> outputs)
    : plan_(plan),
      main_(plan.model->main),
      threads_(threads),
      options_(options),
      inputs_(inputs),
      outputs_(outputs) {}

hal::ExecutionResult ModelRun::run() {
  hal::ExecutionResult result;
  result.status = runAll();
  const ResultCode code = result.status.code();
  if (code == ResultCode::NO_ERROR || code == ResultCode::OUTPUT_INSUFFICIENT_SIZE) {
    result.outputShapes = std::move(outputShapes_);
  }
  return result;
}

Status ModelRun::runAll() {
  HALYARD_RETURN_IF_ERROR(checkDeadline(ResultCode::MISSED_DEADLINE_PERSISTENT),
                          "before the execution");
  tensors_ = plan_.tensors;
  remaining_ = plan_.consumers;
  owned_.resize(tensors_.size());
  HALYARD_RETURN_IF_ERROR(bindInputs());
  HALYARD_RETURN_IF_ERROR(bindOutputs());
  for (size_t i = 0; i < main_.operations.size(); ++i) {
    HALYARD_RETURN_IF_ERROR(checkDeadline(ResultCode::MISSED_DEADLINE_TRANSIENT), "before {}",
                            operationText(i, main_.operations[i].type));
    HALYARD_RETURN_IF_ERROR(runOperation(i), "{}", operationText(i, main_.operations[i].type));
  }
  if (!insufficient_) return okStatus();
  std::string text;
  for (size_t i = 0; i < outputs_.size(); ++i) {
    if (outputShapes_[i].isSufficient) continue;
    text +=
        fmt::format("{}output {} is {}{} of {} bytes, its buffer has {}", text.empty() ? "" : "; ",
                    i, operandTypeName(tensors_[main_.outputIndexes[i]].type),
                    realShapeText(outputShapes_[i].dimensions),
                    byteSizeOf(tensors_[main_.outputIndexes[i]]), outputs_[i].length);
  }
  return Status(ResultCode::OUTPUT_INSUFFICIENT_SIZE, std::move(text));
}

Status ModelRun::checkDeadline(ResultCode missed) const {
  if (!options_.deadline) return okStatus();
  const auto late = hal::Clock::now() - *options_.deadline;
  if (late < hal::Clock::duration::zero()) return okStatus();
  return makeStatus(missed, "the deadline has passed by {} us",
                    std::chrono::duration_cast<std::chrono::microseconds>(late).count());
}

Status ModelRun::bindInputs() {
  if (inputs_.size() != main_.inputIndexes.size()) {
    return badData("{} inputs, the model has {}", inputs_.size(), main_.inputIndexes.size());
  }
  for (size_t i = 0; i < inputs_.size(); ++i) {
    HALYARD_RETURN_IF_ERROR(bindInput(i), "input {}", i);
  }
  return okStatus();
}

Status ModelRun::bindInput(size_t position) {
  const Argument& argument = inputs_[position];
  const uint32_t index = main_.inputIndexes[position];
  const Operand& operand = main_.operands[index];
  ops::Tensor& tensor = tensors_[index];
  if (argument.data == nullptr) {
    if (argument.length != 0) return badData("is null, but {} bytes long", argument.length);
    tensor.omitted = true;
    return okStatus();
  }
  HALYARD_ASSIGN_OR_RETURN(tensor.dims, combineDims(operand, argument.dims));
  const std::optional<uint32_t> needed = knownByteSize(operand.type, tensor.dims);
  // The size of an extension's type is its driver's to know, and no operation here reads it.
  if (!needed && !isExtension(operand.type)) {
    return badData("{}{}: dimensions are not all known, or too large",
                   operandTypeName(operand.type), shapeText(tensor.dims));
  }
  if (argument.length < needed.value_or(0)) {
    return badData("has {} bytes, {}{} needs {}", argument.length, operandTypeName(operand.type),
                   isScalarType(operand.type) ? "" : shapeText(tensor.dims), *needed);
  }
  tensor.data = argument.data;
  if (argument.shared || !isAlignedFor(operand.type, argument.data)) {
    HALYARD_RETURN_IF_ERROR(giveBlock(index));
    std::memcpy(tensor.data, argument.data, needed.value_or(0));
  }
  return okStatus();
}

Status ModelRun::bindOutputs() {
  if (outputs_.size() != main_.outputIndexes.size()) {
    return badData("{} outputs, the model has {}", outputs_.size(), main_.outputIndexes.size());
  }
  outputShapes_.resize(outputs_.size());
  for (size_t i = 0; i < outputs_.size(); ++i) {
    const uint32_t index = main_.outputIndexes[i];
    if (outputs_[i].data == nullptr && outputs_[i].length != 0) {
      return badData("output {} is null, but {} bytes long", i, outputs_[i].length);
    }
    HALYARD_ASSIGN_OR_RETURN(tensors_[index].dims,
                             combineDims(main_.operands[index], outputs_[i].dims), "output {}", i);
  }
  return okStatus();
}

Status ModelRun::runOperation(size_t index) {
  const Operation& operation = main_.operations[index];
  const ops::OperationDefinition& definition = *plan_.definitions[index];
  std::vector<ops::Tensor> inputs;
  inputs.reserve(operation.inputs.size());
  for (uint32_t operand : operation.inputs) inputs.push_back(tensors_[operand]);
  std::vector<ops::Tensor> outputs;
  outputs.reserve(operation.outputs.size());
  for (uint32_t operand : operation.outputs) outputs.push_back(tensors_[operand]);

  KernelRun services(threads_, &blocks_);
  ops::OperationContext context(inputs, outputs, &services);
  HALYARD_RETURN_IF_ERROR(asFailure(ops::inferShapes(definition, context)));
  for (size_t i = 0; i < outputs.size(); ++i) {
    HALYARD_RETURN_IF_ERROR(acceptDims(operation, i, outputs[i].dims), "output {} (operand #{})", i,
                            operation.outputs[i]);
    noteOutputShape(operation.outputs[i]);
  }
  if (needsKernel(operation)) {
    for (size_t i = 0; i < outputs.size(); ++i) {
      HALYARD_RETURN_IF_ERROR(placeOutput(operation.outputs[i]), "output {} (operand #{})", i,
                              operation.outputs[i]);
      outputs[i].data = tensors_[operation.outputs[i]].data;
    }
    bool allEmpty = true;
    for (const ops::Tensor& output : outputs) allEmpty = allEmpty && output.elementCount() == 0;
    if (!allEmpty) HALYARD_RETURN_IF_ERROR(asFailure(ops::runReference(definition, context)));
    for (uint32_t operand : operation.outputs) deliverOutput(operand);
  }
  releaseConsumed(operation);
  return okStatus();
}

Status ModelRun::acceptDims(const Operation& operation, size_t i, const Shape& inferred) {
  ops::Tensor& tensor = tensors_[operation.outputs[i]];
  if (isScalarType(tensor.type)) return okStatus();
  bool agree = tensor.dims.empty() || tensor.dims.size() == inferred.size();
  for (size_t d = 0; agree && d < tensor.dims.size(); ++d) {
    agree = tensor.dims[d] == 0 || tensor.dims[d] == inferred[d];
  }
  if (!agree) {
    return opFailed("its dimensions are {}, declared {}", realShapeText(inferred),
                    shapeText(tensor.dims));
  }
  // The product stays below 2^64: a factor has 32 bits.
  uint64_t bytes = elementSize(tensor.type);
  for (uint32_t d : inferred) {
    bytes *= d;
    if (bytes > UINT32_MAX) {
      return opFailed("dimensions {} need more than 2^32 - 1 bytes", realShapeText(inferred));
    }
  }
  tensor.dims = inferred;
  return okStatus();
}

void ModelRun::noteOutputShape(uint32_t operand) {
  const std::optional<size_t> position = plan_.outputPosition[operand];
  if (!position) return;
  hal::OutputShape& shape = outputShapes_[*position];
  shape.dimensions = tensors_[operand].dims;
  shape.isSufficient = outputs_[*position].length >= byteSizeOf(tensors_[operand]);
  insufficient_ = insufficient_ || !shape.isSufficient;
}

bool ModelRun::needsKernel(const Operation& operation) const {
  if (!insufficient_) return true;
  // The execution has failed already. Only values that later shapes may depend on are of interest.
  for (uint32_t operand : operation.outputs) {
    if (plan_.consumers[operand] > 0) return true;
  }
  return false;
}

Status ModelRun::placeOutput(uint32_t operand) {
  ops::Tensor& tensor = tensors_[operand];
  if (const std::optional<size_t> position = plan_.outputPosition[operand]) {
    const Argument& argument = outputs_[*position];
    const bool isReadBack = plan_.consumers[operand] > 0;
    if (outputShapes_[*position].isSufficient && argument.data != nullptr &&
        isAlignedFor(tensor.type, argument.data) && !(argument.shared && isReadBack)) {
      tensor.data = argument.data;
      return okStatus();
    }
  }
  return giveBlock(operand);
}

void ModelRun::deliverOutput(uint32_t operand) {
  const std::optional<size_t> position = plan_.outputPosition[operand];
  if (!position || !outputShapes_[*position].isSufficient) return;
  const ops::Tensor& tensor = tensors_[operand];
  const size_t bytes = byteSizeOf(tensor);
  void* const target = outputs_[*position].data;
  if (bytes > 0 && tensor.data != target) std::memcpy(target, tensor.data, bytes);
}

Status ModelRun::giveBlock(uint32_t operand) {
  ops::Tensor& tensor = tensors_[operand];
  const size_t bytes = isExtension(tensor.type) ? 0 : byteSizeOf(tensor);
  owned_[operand] = blocks_.acquire(bytes);
  tensor.data = owned_[operand].data();
  if (tensor.data == nullptr) {
    return makeStatus(ResultCode::OUT_OF_MEMORY, "no memory for {} bytes", bytes);
  }
  return okStatus();
}

void ModelRun::releaseConsumed(const Operation& operation) {
  for (uint32_t operand : operation.inputs) {
    if (--remaining_[operand] == 0) blocks_.release(std::exchange(owned_[operand], {}));
  }
  for (uint32_t operand : operation.outputs) {
    if (remaining_[operand] == 0) blocks_.release(std::exchange(owned_[operand], {}));
  }
}

}  // namespace halyard::cpu
