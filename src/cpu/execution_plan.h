// ExecutionPlan: what can be known of a model's executions before the first one.
// Thread safety: immutable once made.
// Ownership: shares the model; owns the mappings of its pools and copies of constants.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "base/shared_memory.h"
#include "base/status.h"
#include "model/model.h"
#include "ops/operation.h"

namespace halyard::cpu {

struct ExecutionPlan {
  // As Executor::create.
  static Result<ExecutionPlan> make(std::shared_ptr<const Model> model);

  std::shared_ptr<const Model> model;
  // By operation of the main subgraph.
  std::vector<const ops::OperationDefinition*> definitions;
  // By operand of the main subgraph. Tensors have the declared dimensions; data for constants only.
  std::vector<ops::Tensor> tensors;
  std::vector<uint32_t> consumers;
  std::vector<std::optional<size_t>> outputPosition;  // in the list of main outputs

  std::vector<Mapping> mappings;
  std::vector<std::unique_ptr<std::byte[]>> copies;
};

// Bytes of a tensor or scalar with real dimensions. The dimensions have been checked to fit.
size_t byteSizeOf(const ops::Tensor& tensor);
// Whether data at `address` can be used as elements of `type`.
bool isAlignedFor(OperandType type, const void* address);
// "[2,0,3]": real dimensions, where 0 is a size and not unknown.
std::string realShapeText(const Shape& dims);

}  // namespace halyard::cpu
