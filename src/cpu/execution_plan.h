// ExecutionPlan: the facts about a model's executions that are known before the first one.
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

struct StepPlan;

// One subgraph of the model. All vectors but the first three are by operand.
struct SubgraphPlan {
  const Subgraph* subgraph = nullptr;
  std::vector<const ops::OperationDefinition*> definitions;  // by operation
  // By operation: inference at execution would give the same result as here. Exceptions: the
  // execution omits inputs of the subgraph, or declares its outputs differently.
  std::vector<bool> settled;
  // By operation: no computation is needed, because its outputs are constants.
  std::vector<bool> isFolded;
  // Only constants have data, including those that folded operations write. The dimensions are the
  // declared ones, or those from shape inference ahead of execution.
  std::vector<ops::Tensor> tensors;
  std::vector<uint32_t> consumers;
  std::vector<std::optional<size_t>> outputPosition;  // in the list of the subgraph's outputs
  // Temporaries of known size have an offset in one block of memory. The others get their own
  // memory when they are written.
  std::vector<std::optional<size_t>> arenaOffset;
  size_t arenaBytes = 0;
  bool fixed = false;  // `tensors` has the dimensions of all operands for any arguments
  // Made by a driver with kernels of its own, for a subgraph that can have them (cpu/step_plan.h).
  // Null: the operations run one by one, with the reference kernels.
  std::shared_ptr<const StepPlan> steps;
};

struct ExecutionPlan {
  // As Executor::create. Without `placesTemporaries`, no values of the main subgraph get places,
  // and arenaOffset and arenaBytes show that. With a patch nothing is folded, because the patch
  // runs the kernels.
  static Result<ExecutionPlan> make(std::shared_ptr<const Model> model,
                                    ConstantReading reading = ConstantReading::ALL,
                                    bool placesTemporaries = true,
                                    std::shared_ptr<const KernelPatch> patch = nullptr);
  // Returns the plan for executions whose inputs have these dimensions, in the order of the model's
  // inputs. These executions give all inputs. `base` is the model's plan with ConstantReading::ALL,
  // and the new plan uses its constants. The plan has no subgraphs except the main one, and no
  // places of temporaries. Returns BAD_DATA for dimensions that are not all known, that contradict
  // the model, or with which every execution would fail.
  static Result<ExecutionPlan> forInputs(std::shared_ptr<const ExecutionPlan> base,
                                         std::span<const Shape> dims);

  // The limit for a chain of subgraphs that refer to each other. The depth of the recursion at run
  // time equals its length.
  static constexpr size_t kMaxNesting = 128;

  // Returns the number of one of the plan's subgraphs for trace::Details::subgraph.
  uint32_t numberOf(const SubgraphPlan& subgraph) const {
    if (&subgraph == &main) return 0;
    return static_cast<uint32_t>(&subgraph - referenced.data()) + 1;
  }

  std::shared_ptr<const Model> model;
  std::shared_ptr<const ExecutionPlan> base;  // for forInputs: has the members after `main`
  SubgraphPlan main;
  std::vector<SubgraphPlan> referenced;  // in the order of Model::referenced

  std::vector<Mapping> mappings;     // mappings of the pools
  std::vector<LaterConstant> later;  // constants whose bytes are not there yet
  FoldedConstants folded;            // of the main subgraph; the list has the missing ones
  std::vector<FoldedConstants> foldedInReferenced;
  std::vector<CpuAccess> accesses;  // accesses to the pools while the plan lives
  std::vector<std::unique_ptr<std::byte[]>> copies;
  std::shared_ptr<const KernelPatch> patch;  // runs the kernels, if set
};

// Returns BAD_DATA when the model's subgraphs are nested deeper than ExecutionPlan::kMaxNesting.
Status checkNesting(const Model& model);
// Returns the size in bytes of a tensor or scalar with real dimensions, which have been checked to
// fit.
size_t byteSizeOf(const ops::Tensor& tensor);
// Combines the dimensions of the model and of the request. Returns BAD_DATA when they contradict
// each other.
Result<Shape> combineDims(const Operand& operand, const Shape& given);
// Returns whether data at `address` can be used as elements of `type`.
bool isAlignedFor(OperandType type, const void* address);
// Converts an operation's error to OP_FAILED for an execution. BAD_DATA is only for models and
// requests, and INCOMPLETE only for inference ahead of execution.
Status asFailure(Status status);
// Merges the inferred dimensions of an output into its known ones. Returns OP_FAILED when they
// contradict each other, or exceed 2^32 - 1 bytes.
Status mergeDims(const Shape& inferred, ops::Tensor* output);

}  // namespace halyard::cpu
