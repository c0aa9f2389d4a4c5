// The list: an operation's definition, and who makes kernels for it.
#include "kernel_list.h"

#include "kernels/makers.h"

namespace halyard::ops {
// That of an operation is found by the function that ops.inc names for it.
#define HALYARD_OPERATION(code, name, definition) const OperationDefinition& definition();
#include "ops/ops.inc"
#undef HALYARD_OPERATION
}  // namespace halyard::ops

namespace halyard::cpudriver {
namespace {

struct Entry {
  const ops::OperationDefinition& (*definition)();
  KernelMaker make;
};

constexpr Entry kEntries[] = {
    {ops::add, makeAddition},
    {ops::conv2d, makeConv},
    {ops::depthwiseConv2d, makeDepthwiseConv},
    {ops::fullyConnected, makeFullyConnected},
    {ops::mul, makeMultiplication},
    {ops::sub, makeSubtraction},
};

}  // namespace

std::unique_ptr<Kernel> makeKernel(const ops::OperationDefinition& definition,
                                   const KernelSite& site) {
  for (const Entry& entry : kEntries) {
    if (&entry.definition() == &definition) return entry.make(site);
  }
  return nullptr;
}

}  // namespace halyard::cpudriver
