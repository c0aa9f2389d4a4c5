// ExecutionPlan: what can be known of a model's executions before the first one.
// Thread safety: immutable once made.
// Ownership: shares the model; owns the mappings of its pools and copies of constants.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "cpu/constant_folding.h"
#include "cpu/constant_pools.h"
#include "cpu/kernel_patch.h"
#include "halyard/driver/model.h"
#include "halyard/driver/shared_memory.h"
#include "halyard/driver/status.h"
#include "ops/operation.h"

namespace halyard::cpu {

// One subgraph of the model. Vectors are by operand but for the first three.
struct SubgraphPlan {
  const Subgraph* subgraph = nullptr;
  std::vector<const ops::OperationDefinition*> definitions;  // by operation
  // By operation: inference at execution would find what it has found here, unless inputs of the
  // subgraph are omitted then, or its outputs declared in another way.
  std::vector<bool> settled;
  // By operation: it is not to be computed, for its outputs are constants.
  std::vector<bool> isFolded;
  // Data for constants only, those among them that folded operations write. The dimensions are the
  // declared ones, or what shape inference makes of them ahead of execution.
  std::vector<ops::Tensor> tensors;
  std::vector<uint32_t> consumers;
  std::vector<std::optional<size_t>> outputPosition;  // in the list of the subgraph's outputs
  // Temporaries whose size is known have a place in one block of memory; the others get memory of
  // their own when they are written.
  std::vector<std::optional<size_t>> arenaOffset;
  size_t arenaBytes = 0;
  bool fixed = false;  // `tensors` has the dimensions of all operands, whatever the arguments
};

struct ExecutionPlan {
  // As Executor::create.
  // `placesTemporaries`: otherwise arenaOffset and arenaBytes stay as of values without places.
  // With a patch nothing is folded: it runs the kernels.
  static Result<ExecutionPlan> make(std::shared_ptr<const Model> model,
                                    ConstantReading reading = ConstantReading::ALL,
                                    bool placesTemporaries = true,
                                    std::shared_ptr<const KernelPatch> patch = nullptr);
  // The plan of executions whose inputs have these dimensions, in the order of the model's inputs;
  // all are given then. `base` is the model's plan, with ConstantReading::ALL: its constants are
  // this plan's. Subgraphs that the main one refers to, and places of temporaries, are not in it.
  // BAD_DATA for dimensions that are not all known, that contradict the model, or with which every
  // execution would fail.
  static Result<ExecutionPlan> forInputs(std::shared_ptr<const ExecutionPlan> base,
                                         std::span<const Shape> dims);

  // A chain of subgraphs that refer to each other is this long at most: it is how deep running it
  // nests.
  static constexpr size_t kMaxNesting = 128;

  std::shared_ptr<const Model> model;
  std::shared_ptr<const ExecutionPlan> base;  // forInputs: has what follows behind `main`
  SubgraphPlan main;
  std::vector<SubgraphPlan> referenced;  // as Model::referenced

  std::vector<Mapping> mappings;     // of the pools
  std::vector<LaterConstant> later;  // whose bytes are not in them yet
  FoldedConstants folded;  // of the main subgraph; the list has those that are not there yet
  std::vector<FoldedConstants> foldedInReferenced;
  std::vector<CpuAccess> accesses;  // of the pools, as long as the plan lives
  std::vector<std::unique_ptr<std::byte[]>> copies;
  std::shared_ptr<const KernelPatch> patch;  // runs the kernels, if there is one
};

// BAD_DATA when the model's subgraphs are nested deeper than ExecutionPlan::kMaxNesting.
Status checkNesting(const Model& model);
// Bytes of a tensor or scalar with real dimensions. The dimensions have been checked to fit.
size_t byteSizeOf(const ops::Tensor& tensor);
// Dimensions by the model and by the request together. BAD_DATA when they contradict each other.
Result<Shape> combineDims(const Operand& operand, const Shape& given);
// Whether data at `address` can be used as elements of `type`.
bool isAlignedFor(OperandType type, const void* address);
// The error of an operation at execution: BAD_DATA is for models and requests, and INCOMPLETE for
// inference ahead of execution; here the operation has failed.
Status asFailure(Status status);
// What a definition says that operation `index` makes of its inputs' dimensions, merged into what
// is known of its outputs' by then. OP_FAILED when they contradict each other, or exceed 2^32 - 1
// bytes.
Status mergeDims(const Shape& inferred, ops::Tensor* output);

}  // namespace halyard::cpu
