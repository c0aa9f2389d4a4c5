#include "cpu/constant_folding.h"

#include <sys/mman.h>

#include <cerrno>

#include "base/float16.h"
#include "base/work_limit.h"
#include "cpu/block_pool.h"
#include "cpu/execution_plan.h"
#include "ops/elementwise.h"

namespace halyard::cpu {
namespace {

bool isFolded(const SubgraphPlan& plan, size_t index) {
  const Operation& operation = plan.subgraph->operations[index];
  if (operation.inputs.size() != 1 || operation.outputs.size() != 1) return false;
  const uint32_t made = operation.outputs[0];
  const ops::Tensor& tensor = plan.tensors[made];
  const ops::Tensor& from = plan.tensors[operation.inputs[0]];
  return from.data != nullptr && plan.settled[index] &&
         tensor.type == OperandType::TENSOR_FLOAT32 &&
         plan.subgraph->operands[made].lifetime == Lifetime::TEMPORARY_VARIABLE &&
         isFoldable(plan.definitions[index]->type, from.type);
}

Result<Mapping> reserve(size_t bytes) {
  void* const memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) {
    return errnoStatus(ResultCode::UNMAPPABLE, errno,
                       fmt::format("{} bytes for constants as floats", bytes));
  }
  return Mapping(memory, bytes, 0, bytes);
}

}  // namespace

bool isFoldable(OperationType type, OperandType from) {
  return type ==
         (from == OperandType::TENSOR_FLOAT16 ? OperationType::CAST : OperationType::DEQUANTIZE);
}

Result<FoldedConstants> findFolded(SubgraphPlan* plan, uint64_t mostBytes) {
  constexpr size_t kAlignment = BlockPool::kAlignment;
  FoldedConstants found;
  size_t end = 0;
  for (size_t i = 0; i < plan->subgraph->operations.size(); ++i) {
    if (!isFolded(*plan, i)) continue;
    const size_t bytes = byteSizeOf(plan->tensors[plan->subgraph->operations[i].outputs[0]]);
    if (bytes == 0 || bytes > mostBytes || end > mostBytes - bytes) continue;
    found.list.push_back({i, nullptr, bytes});
    end += (bytes + kAlignment - 1) / kAlignment * kAlignment;
  }
  if (found.list.empty()) return found;
  HALYARD_ASSIGN_OR_RETURN(found.memory, reserve(end));
  auto* next = reinterpret_cast<std::byte*>(found.memory.data());
  for (FoldedConstant& folded : found.list) {
    folded.data = next;
    next += (folded.bytes + kAlignment - 1) / kAlignment * kAlignment;
    plan->tensors[plan->subgraph->operations[folded.operation].outputs[0]].data = folded.data;
    plan->isFolded[folded.operation] = true;
  }
  return found;
}

Status computeFolded(const SubgraphPlan& plan, const FoldedConstant& folded, const void* from,
                     void* to, ops::KernelServices& services) {
  checkWorkLimit();
  const Operation& operation = plan.subgraph->operations[folded.operation];
  ops::Tensor input = plan.tensors[operation.inputs[0]];
  ops::Tensor output = plan.tensors[operation.outputs[0]];
  input.data = const_cast<void*>(from);  // kernels do not write to inputs
  output.data = to;
  ops::OperationContext context({&input, 1}, {&output, 1}, &services);
  if (input.type == OperandType::TENSOR_FLOAT16) {
    ops::applyUnary<Float16, float>(context, [](Float16 half) { return toFloat(half); });
    return okStatus();
  }
  HALYARD_RETURN_IF_ERROR(ops::runReference(*plan.definitions[folded.operation], context), "{}",
                          operationText(folded.operation, operation.type));
  return okStatus();
}

}  // namespace halyard::cpu
