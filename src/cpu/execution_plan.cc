// Making a plan: definitions, constants, who reads what, shapes known in advance, the arena.
#include "cpu/execution_plan.h"

#include <algorithm>
#include <cstring>
#include <span>

#include "base/work_limit.h"
#include "cpu/arena_plan.h"
#include "cpu/block_pool.h"
#include "ops/inline_services.h"
#include "ops/operand_checks.h"

namespace halyard::cpu {
namespace {

// Beyond this many temporaries a subgraph gets memory as it goes: placing takes quadratic time.
constexpr size_t kMaxArenaTensors = 4096;

Status mapPools(const Model& model, ConstantReading reading, ExecutionPlan* plan) {
  HALYARD_ASSIGN_OR_RETURN(ConstantPools pools, mapConstantPools(model, reading));
  plan->mappings = std::move(pools.mappings);
  plan->later = std::move(pools.later);
  for (const SharedMemoryPtr& pool : model.pools) plan->accesses.emplace_back(pool, false);
  return okStatus();
}

// Where the constant's bytes lie; null for an operand that is no constant.
const std::byte* constantBytes(const ExecutionPlan& plan, const Operand& operand) {
  const DataLocation& at = operand.location;
  if (operand.lifetime == Lifetime::CONSTANT_COPY) {
    return reinterpret_cast<const std::byte*>(plan.model->operandValues.data()) + at.offset;
  }
  if (operand.lifetime == Lifetime::CONSTANT_REFERENCE) {
    return reinterpret_cast<const std::byte*>(plan.mappings[at.poolIndex].data()) + at.offset;
  }
  return nullptr;
}

ops::Tensor tensorOf(const Operand& operand, ExecutionPlan* plan) {
  ops::Tensor tensor;
  tensor.type = operand.type;
  tensor.dims = operand.dimensions;
  tensor.scale = operand.scale;
  tensor.zeroPoint = operand.zeroPoint;
  tensor.channelQuant = std::get_if<SymmPerChannelQuantParams>(&operand.extraParams);
  tensor.omitted = operand.lifetime == Lifetime::NO_VALUE;
  if (const std::byte* bytes = constantBytes(*plan, operand)) {
    // Memory that another process can write is no place for indices: between the check and the use
    // they could change.
    const bool isShared = operand.lifetime == Lifetime::CONSTANT_REFERENCE;
    if (!isAlignedFor(operand.type, bytes) || (isShared && mayBeIndices(operand.type))) {
      auto copy = std::make_unique<std::byte[]>(operand.location.length);
      std::memcpy(copy.get(), bytes, operand.location.length);
      bytes = copy.get();
      plan->copies.push_back(std::move(copy));
    }
    // Kernels do not write to inputs.
    tensor.data = const_cast<std::byte*>(bytes);
  }
  return tensor;
}

// How long the longest chain of references from the subgraph is; above the limit, any number above
// it. `known` has 0 for what has not been looked at. The references are free of cycles.
size_t nestingOf(const Model& model, const Subgraph& subgraph, size_t depth,
                 std::vector<size_t>* known) {
  size_t deepest = 0;
  if (depth > ExecutionPlan::kMaxNesting) return 1;  // too deep already
  for (const Operand& operand : subgraph.operands) {
    if (operand.lifetime != Lifetime::SUBGRAPH) continue;
    size_t& below = (*known)[operand.location.offset];
    if (below == 0) {
      below = nestingOf(model, model.referenced[operand.location.offset], depth + 1, known);
    }
    deepest = std::max(deepest, below);
  }
  return deepest + 1;
}

Status findDefinitions(SubgraphPlan* plan) {
  const std::vector<Operation>& operations = plan->subgraph->operations;
  for (size_t i = 0; i < operations.size(); ++i) {
    const ops::OperationDefinition* definition = ops::definitionOf(operations[i].type);
    if (definition == nullptr) {
      return badData("{}: the CPU device does not have it", operationText(i, operations[i].type));
    }
    plan->definitions.push_back(definition);
  }
  return okStatus();
}

// Whether an execution may leave out the operation's input `position`.
bool mayBeOmitted(const ops::OperationDefinition& definition, size_t position) {
  return std::ranges::any_of(definition.signature.forms, [&](const ops::Form& form) {
    if (form.repeated >= 0) {
      return std::ranges::any_of(form.inputs, &ops::OperandSpec::omittable);
    }
    return position < form.inputs.size() && form.inputs[position].omittable;
  });
}

// Ahead of execution: whether an operand's dimensions are all known, and will be what they are.
class ShapePropagation {
 public:
  struct Inputs {
    bool mayNotCome = false;  // executions may not come to the subgraph at all
    bool areGiven = false;    // none is omitted
  };
  ShapePropagation(SubgraphPlan* plan, Inputs inputs)
      : plan_(*plan),
        operands_(plan->subgraph->operands),
        inputs_(inputs),
        settled_(operands_.size()) {
    for (size_t i = 0; i < settled_.size(); ++i) settled_[i] = isKnown(i);
  }

  // Fills in the dimensions that follow from the inputs' and from constants. BAD_DATA for what
  // every execution would fail with.
  Status run() {
    const std::vector<Operation>& operations = plan_.subgraph->operations;
    for (size_t i = 0; i < operations.size(); ++i) {
      checkWorkLimit();
      if (!mayInfer(i)) continue;
      Status status = infer(i);
      // It will fail again if an execution comes to it.
      if (inputs_.mayNotCome && status.code() == ResultCode::OP_FAILED) continue;
      if (status.code() == ResultCode::OP_FAILED) status = status.withCode(ResultCode::BAD_DATA);
      HALYARD_RETURN_IF_ERROR(std::move(status), "{}", operationText(i, operations[i].type));
    }
    plan_.fixed = std::ranges::all_of(settled_, [](bool settled) { return settled; });
    return okStatus();
  }

  bool settled(size_t operand) const { return settled_[operand]; }

 private:
  bool isKnown(size_t operand) const {
    const ops::Tensor& tensor = plan_.tensors[operand];
    if (tensor.omitted || isExtension(tensor.type)) return tensor.omitted;
    return isScalarType(tensor.type) ||
           (!tensor.dims.empty() && knownByteSize(tensor.type, tensor.dims).has_value());
  }

  bool mayInfer(size_t index) const {
    const ops::OperationDefinition& definition = *plan_.definitions[index];
    if (definition.controlFlow != ops::ControlFlow::NONE) return false;
    const OperandIndexes& inputs = plan_.subgraph->operations[index].inputs;
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (!settled_[inputs[i]]) return false;
      // Whether such an input has a value is seen at execution, and can change the result's shape.
      if (!inputs_.areGiven && operands_[inputs[i]].lifetime == Lifetime::SUBGRAPH_INPUT &&
          mayBeOmitted(definition, i)) {
        return false;
      }
    }
    return true;
  }

  Status infer(size_t index) {
    const Operation& operation = plan_.subgraph->operations[index];
    // Into the memory of an earlier operation's.
    const size_t count = operation.inputs.size() + operation.outputs.size();
    if (tensors_.size() < count) tensors_.resize(count);
    const std::span<ops::Tensor> inputs(tensors_.data(), operation.inputs.size());
    const std::span<ops::Tensor> outputs(tensors_.data() + inputs.size(), operation.outputs.size());
    const auto take = [this](uint32_t operand) -> const ops::Tensor& {
      return plan_.tensors[operand];
    };
    std::ranges::transform(operation.inputs, inputs.begin(), take);
    std::ranges::transform(operation.outputs, outputs.begin(), take);
    ops::OperationContext context(inputs, outputs, nullptr);
    Status status = ops::inferShapes(*plan_.definitions[index], context);
    if (status.code() == ResultCode::INCOMPLETE) return okStatus();
    HALYARD_RETURN_IF_ERROR(std::move(status));
    for (size_t i = 0; i < outputs.size(); ++i) {
      ops::Tensor& tensor = plan_.tensors[operation.outputs[i]];
      if (isScalarType(tensor.type)) continue;
      ops::Tensor merged = tensor;
      HALYARD_RETURN_IF_ERROR(mergeDims(outputs[i].dims, &merged), "output {} (operand #{})", i,
                              operation.outputs[i]);
      // As a declared dimension 0 would stand for unknown; execution will find it again.
      const bool isEmpty = merged.elementCount() == 0;
      if (isEmpty) continue;
      tensor.dims = std::move(merged.dims);
      settled_[operation.outputs[i]] = true;
    }
    plan_.settled[index] = isSettled(operation);
    return okStatus();
  }

  // After inference: whether all shapes are known, and all values that it may have asked for.
  bool isSettled(const Operation& operation) const {
    const auto isData = [&](uint32_t operand) {
      const ops::Tensor& tensor = plan_.tensors[operand];
      return tensor.omitted || tensor.data != nullptr || !mayBeIndices(tensor.type);
    };
    return std::ranges::all_of(operation.inputs, isData) &&
           std::ranges::all_of(operation.outputs,
                               [&](uint32_t operand) { return settled_[operand]; });
  }

  SubgraphPlan& plan_;
  const std::vector<Operand>& operands_;
  const Inputs inputs_;
  std::vector<bool> settled_;
  std::vector<ops::Tensor> tensors_;  // of the operation whose shapes are inferred
};

// Gives the temporaries of known size their places.
void placeTemporaries(const ShapePropagation& shapes, SubgraphPlan* plan) {
  const Subgraph& subgraph = *plan->subgraph;
  std::vector<ArenaTensor> tensors;
  std::vector<uint32_t> operands;
  std::vector<size_t> entryOf(subgraph.operands.size());
  for (size_t step = 0; step < subgraph.operations.size(); ++step) {
    const Operation& operation = subgraph.operations[step];
    for (uint32_t operand : operation.inputs) {
      if (plan->arenaOffset[operand]) tensors[entryOf[operand]].last = step;
    }
    if (plan->isFolded[step]) continue;
    // The values of control flow arrive in blocks of their own.
    if (plan->definitions[step]->controlFlow != ops::ControlFlow::NONE) continue;
    for (uint32_t operand : operation.outputs) {
      if (subgraph.operands[operand].lifetime != Lifetime::TEMPORARY_VARIABLE) continue;
      if (!shapes.settled(operand)) continue;
      entryOf[operand] = tensors.size();
      tensors.push_back({byteSizeOf(plan->tensors[operand]), step, step});
      operands.push_back(operand);
      plan->arenaOffset[operand] = 0;
    }
  }
  if (tensors.size() > kMaxArenaTensors) {
    plan->arenaOffset.assign(subgraph.operands.size(), std::nullopt);
    return;
  }
  const ArenaPlan arena = planArena(tensors, BlockPool::kAlignment);
  for (size_t i = 0; i < operands.size(); ++i) plan->arenaOffset[operands[i]] = arena.offsets[i];
  plan->arenaBytes = arena.bytes;
}

// How many bytes of constants as floats the model may have: those of all that it brings.
uint64_t mostFolded(const Model& model) {
  uint64_t bytes = model.operandValues.size();
  for (const SharedMemoryPtr& pool : model.pools) bytes += pool->size();
  return bytes * sizeof(float);
}

struct PlanOptions {
  ConstantReading reading;
  bool placesTemporaries;
  bool folds;
};

// Up to this size constants are made at once, whoever wants them later: their values may say what
// operations can be computed together.
constexpr size_t kMostFoldedAtOnce = 1024;

Status fold(const PlanOptions& options, ExecutionPlan* whole, SubgraphPlan* plan) {
  HALYARD_ASSIGN_OR_RETURN(FoldedConstants folded, findFolded(plan, mostFolded(*whole->model)));
  const bool isMain = plan == &whole->main;
  const bool isAtOnce = !isMain || options.reading == ConstantReading::ALL;
  ops::InlineServices services;
  std::vector<FoldedConstant> later;
  for (const FoldedConstant& constant : folded.list) {
    if (!isAtOnce && constant.bytes > kMostFoldedAtOnce) {
      later.push_back(constant);
      continue;
    }
    const uint32_t from = plan->subgraph->operations[constant.operation].inputs[0];
    HALYARD_RETURN_IF_ERROR(
        computeFolded(*plan, constant, plan->tensors[from].data, constant.data, services));
  }
  folded.list = std::move(later);
  (isMain ? whole->folded : whole->foldedInReferenced.emplace_back()) = std::move(folded);
  return okStatus();
}

Status planSubgraph(const Subgraph& subgraph, const PlanOptions& options, ExecutionPlan* whole,
                    SubgraphPlan* plan) {
  plan->subgraph = &subgraph;
  HALYARD_RETURN_IF_ERROR(findDefinitions(plan));
  plan->tensors.reserve(subgraph.operands.size());
  for (const Operand& operand : subgraph.operands)
    plan->tensors.push_back(tensorOf(operand, whole));
  plan->consumers = countConsumers(subgraph);
  plan->outputPosition.resize(subgraph.operands.size());
  for (size_t i = 0; i < subgraph.outputIndexes.size(); ++i) {
    plan->outputPosition[subgraph.outputIndexes[i]] = i;
  }
  plan->arenaOffset.resize(subgraph.operands.size());
  plan->settled.resize(subgraph.operations.size());
  plan->isFolded.resize(subgraph.operations.size());
  ShapePropagation shapes(plan, {.mayNotCome = plan != &whole->main});
  HALYARD_RETURN_IF_ERROR(shapes.run());
  if (options.folds) HALYARD_RETURN_IF_ERROR(fold(options, whole, plan));
  if (options.placesTemporaries) placeTemporaries(shapes, plan);
  return okStatus();
}

}  // namespace

Result<ExecutionPlan> ExecutionPlan::make(std::shared_ptr<const Model> model,
                                          ConstantReading reading, bool placesTemporaries,
                                          std::shared_ptr<const KernelPatch> patch) {
  ExecutionPlan plan;
  plan.patch = std::move(patch);
  const PlanOptions options{reading, placesTemporaries, plan.patch == nullptr};
  HALYARD_RETURN_IF_ERROR(checkNesting(*model));
  HALYARD_RETURN_IF_ERROR(mapPools(*model, reading, &plan));
  plan.model = std::move(model);
  HALYARD_RETURN_IF_ERROR(planSubgraph(plan.model->main, options, &plan, &plan.main));
  plan.referenced.resize(plan.model->referenced.size());
  for (size_t i = 0; i < plan.referenced.size(); ++i) {
    HALYARD_RETURN_IF_ERROR(
        planSubgraph(plan.model->referenced[i], options, &plan, &plan.referenced[i]), "subgraph {}",
        i);
  }
  return plan;
}

Result<ExecutionPlan> ExecutionPlan::forInputs(std::shared_ptr<const ExecutionPlan> base,
                                               std::span<const Shape> dims) {
  ExecutionPlan plan;
  plan.model = base->model;
  plan.main = base->main;
  plan.base = std::move(base);
  const Subgraph& subgraph = *plan.main.subgraph;
  if (dims.size() != subgraph.inputIndexes.size()) {
    return badData("dimensions of {} inputs, the model has {}", dims.size(),
                   subgraph.inputIndexes.size());
  }
  for (size_t i = 0; i < dims.size(); ++i) {
    const uint32_t index = subgraph.inputIndexes[i];
    const Operand& operand = subgraph.operands[index];
    HALYARD_ASSIGN_OR_RETURN(Shape given, combineDims(operand, dims[i]), "input {}", i);
    if (!knownByteSize(operand.type, given)) {
      return badData("input {}: {}{}: dimensions are not all known, or too large", i,
                     operandTypeName(operand.type), shapeText(given));
    }
    plan.main.tensors[index].dims = std::move(given);
  }
  HALYARD_RETURN_IF_ERROR(ShapePropagation(&plan.main, {.areGiven = true}).run());
  return plan;
}

Status checkNesting(const Model& model) {
  std::vector<size_t> known(model.referenced.size(), 0);
  const size_t nesting = nestingOf(model, model.main, 1, &known);
  if (nesting <= ExecutionPlan::kMaxNesting) return okStatus();
  return badData("subgraphs are nested more than {} deep", ExecutionPlan::kMaxNesting);
}

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

size_t byteSizeOf(const ops::Tensor& tensor) {
  return tensor.elementCount() * elementSize(tensor.type);
}

bool isAlignedFor(OperandType type, const void* address) {
  const uint32_t size = elementSize(type);
  return size == 0 || reinterpret_cast<uintptr_t>(address) % size == 0;
}

Status asFailure(Status status) {
  const ResultCode code = status.code();
  const bool rename = code == ResultCode::BAD_DATA || code == ResultCode::INCOMPLETE;
  return rename ? status.withCode(ResultCode::OP_FAILED) : status;
}

Status mergeDims(const Shape& inferred, ops::Tensor* output) {
  if (isScalarType(output->type)) return okStatus();
  bool agree = output->dims.empty() || output->dims.size() == inferred.size();
  for (size_t d = 0; agree && d < output->dims.size(); ++d) {
    agree = output->dims[d] == 0 || output->dims[d] == inferred[d];
  }
  if (!agree) {
    return opFailed("its dimensions are {}, declared {}", ops::realShapeText(inferred),
                    shapeText(output->dims));
  }
  // The product stays below 2^64: a factor has 32 bits.
  uint64_t bytes = elementSize(output->type);
  for (uint32_t d : inferred) {
    bytes *= d;
    if (bytes > UINT32_MAX) {
      return opFailed("dimensions {} need more than 2^32 - 1 bytes", ops::realShapeText(inferred));
    }
  }
  output->dims = inferred;
  return okStatus();
}

}  // namespace halyard::cpu
