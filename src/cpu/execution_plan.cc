// Makes a plan: definitions, constants, readers of operands, shapes known in advance, the arena.
#include "cpu/execution_plan.h"

#include <algorithm>
#include <cstring>
#include <span>

#include "cpu/arena_plan.h"
#include "cpu/block_pool.h"
#include "cpu/shape_propagation.h"
#include "model/shape_agreement.h"
#include "ops/inline_services.h"
#include "ops/operand_checks.h"

namespace halyard::cpu {
namespace {

// A subgraph with more temporaries allocates them while it runs, because placing takes quadratic
// time.
constexpr size_t kMaxArenaTensors = 4096;

Status mapPools(const Model& model, ConstantReading reading, ExecutionPlan* plan) {
  HALYARD_ASSIGN_OR_RETURN(ConstantPools pools, mapConstantPools(model, reading));
  plan->mappings = std::move(pools.mappings);
  plan->later = std::move(pools.later);
  for (const SharedMemoryPtr& pool : model.pools) plan->accesses.emplace_back(pool, false);
  return okStatus();
}

// Returns the address of the constant's bytes; null for an operand that is no constant.
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
  ops::Tensor tensor = declaredTensor(operand);
  if (const std::byte* bytes = constantBytes(*plan, operand)) {
    // Indices must not lie in memory that another process can write. They could change between
    // check and use.
    const bool isShared = operand.lifetime == Lifetime::CONSTANT_REFERENCE;
    if (!isAlignedFor(operand.type, bytes) || (isShared && mayBeIndices(operand.type))) {
      auto copy = std::make_unique<std::byte[]>(operand.location.length);
      std::memcpy(copy.get(), bytes, operand.location.length);
      bytes = copy.get();
      plan->copies.push_back(std::move(copy));
    }
    // Kernels never write to inputs.
    tensor.data = const_cast<std::byte*>(bytes);
  }
  return tensor;
}

// Returns the length of the longest chain of references from the subgraph. Above the limit, it may
// be any number above it. `known` has 0 for subgraphs that have not been visited. The references
// have no cycles.
size_t nestingOf(const Model& model, const Subgraph& subgraph, size_t depth,
                 std::vector<size_t>* known) {
  size_t deepest = 0;
  if (depth > ExecutionPlan::kMaxNesting) return 1;  // the chain is already too deep
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

// Places the temporaries of known size.
void placeTemporaries(const ShapePropagation& shapes, SubgraphPlan* plan) {
  const Subgraph& subgraph = *plan->subgraph;
  LifetimePlanner planner(subgraph.operands.size());
  for (size_t step = 0; step < subgraph.operations.size(); ++step) {
    const Operation& operation = subgraph.operations[step];
    for (uint32_t operand : operation.inputs) planner.extend(operand, step);
    if (plan->isFolded[step]) continue;
    // The values of control flow come in blocks of their own.
    if (plan->definitions[step]->controlFlow != ops::ControlFlow::NONE) continue;
    for (uint32_t operand : operation.outputs) {
      if (subgraph.operands[operand].lifetime != Lifetime::TEMPORARY_VARIABLE) continue;
      if (!shapes.settled(operand)) continue;
      planner.write(operand, byteSizeOf(plan->tensors[operand]), step);
    }
  }
  if (planner.tensorCount() > kMaxArenaTensors) return;
  OperandPlaces places = planner.place(BlockPool::kAlignment);
  plan->arenaOffset = std::move(places.offsets);
  plan->arenaBytes = places.bytes;
}

// Returns the limit for constants as floats: the size of all bytes that the model has, as floats.
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

// Constants up to this size are always computed at once. Their values may decide which operations
// can be fused.
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
  // An operation that fails here fails again in each execution that reaches it.
  ShapePropagation shapes(plan);
  shapes.run();
  if (options.folds) HALYARD_RETURN_IF_ERROR(fold(options, whole, plan));
  if (options.placesTemporaries || plan != &whole->main) placeTemporaries(shapes, plan);
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
  ShapePropagation shapes(&plan.main, ShapePropagation::Inputs::ALL_GIVEN);
  shapes.run();
  if (shapes.failures().empty()) return plan;
  const auto& [index, reason] = *shapes.failures().begin();
  return badData("{}: {}", operationText(index, subgraph.operations[index].type), reason.message());
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
  std::optional<Shape> combined = combineShapes(declared, given);
  if (!combined) {
    return badData("has dimensions {}, the model says {}", shapeText(given), shapeText(declared));
  }
  return std::move(*combined);
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
  if (!isShapeOf(output->dims, inferred)) {
    return opFailed("its dimensions are {}, declared {}", ops::realShapeText(inferred),
                    shapeText(output->dims));
  }
  // The product stays below 2^64, because each factor has 32 bits.
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
