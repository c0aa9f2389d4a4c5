#include "adapted_run.h"

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "cpu/subgraph_run.h"
#include "ops/operand_checks.h"

namespace halyard::cpudriver {
namespace {

using Arguments = std::vector<cpu::Argument>;

// Whether what the request says of an output can be what the plan makes of it.
Status checkOutput(const ops::Tensor& planned, const cpu::Argument& given, size_t i) {
  ops::Tensor merged = planned;
  merged.dims = given.dims;
  HALYARD_RETURN_IF_ERROR(cpu::mergeDims(planned.dims, &merged), "output {}", i);
  return okStatus();
}

// Aligned copies of arguments, with the originals.
class Copies {
 public:
  // With `reads`, with the argument's content.
  void make(const ops::Tensor& tensor, bool reads, cpu::Argument* argument) {
    const size_t bytes = cpu::byteSizeOf(tensor);
    auto& memory = memory_.emplace_back(
        std::make_unique<std::max_align_t[]>(bytes / sizeof(std::max_align_t) + 1));
    if (reads) cpu::copyInChunks(memory.get(), argument->data, bytes);
    argument->data = memory.get();
    argument->length = bytes;
    // The copy belongs to this run alone.
    argument->shared = false;
  }

 private:
  std::vector<std::unique_ptr<std::max_align_t[]>> memory_;
};

}  // namespace

hal::ExecutionResult runAdapted(CompiledModel& compiled, const Model& model,
                                const hal::MappedRequest& mapped,
                                const hal::ExecuteOptions& options) {
  Arguments inputs = mapped.inputs();
  Arguments outputs = mapped.outputs();
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].data != nullptr) continue;
    return {opFailed("input {} is omitted, and the model cannot do without it", i), {}, {}};
  }
  std::vector<Shape> shapes;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const ops::Tensor& planned = compiled.output(i);
    if (Status status = checkOutput(planned, outputs[i], i); !status.ok()) {
      return {std::move(status), {}, {}};
    }
    shapes.push_back(planned.dims);
  }
  hal::ExecutionResult answer = hal::resultFor(model, mapped, shapes);
  if (!answer.status.ok()) return answer;
  try {
    Copies copies;
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (cpu::isAlignedFor(compiled.input(i).type, inputs[i].data)) continue;
      copies.make(compiled.input(i), /*reads=*/true, &inputs[i]);
    }
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (cpu::isAlignedFor(compiled.output(i).type, outputs[i].data)) continue;
      copies.make(compiled.output(i), /*reads=*/false, &outputs[i]);
    }
    // An argument that is still refused has dimensions that contradict the model's.
    if (!compiled.takes(inputs, outputs)) {
      return {badData("the arguments are not what the model says"), {}, {}};
    }
    hal::ExecutionResult result = compiled.run(inputs, outputs, options);
    if (!result.status.ok()) return result;
    for (size_t i = 0; i < outputs.size(); ++i) {
      void* const to = mapped.outputs()[i].data;
      if (to == outputs[i].data) continue;
      cpu::copyInChunks(to, outputs[i].data, outputs[i].length);
    }
  } catch (const std::bad_alloc&) {
    return {Status(ResultCode::OUT_OF_MEMORY, "the CPU driver ran out of memory"), {}, {}};
  }
  return answer;
}

}  // namespace halyard::cpudriver
