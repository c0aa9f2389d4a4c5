// Products of batches of matrices.
#include "kernels/makers.h"
#include "kernels/matrix/matmul.h"

namespace halyard::cpudriver {

std::unique_ptr<Kernel> makeBatchMatmul(const KernelSite& site) {
  const ops::OperationContext context(site.inputs, {}, nullptr);
  bool adjointLeft = false;
  bool adjointRight = false;
  if (!context.read(2, &adjointLeft).ok() || !context.read(3, &adjointRight).ok()) return nullptr;
  const Shape& left = site.inputs[0].dims;
  const Shape& output = site.outputs[0].dims;
  MatmulSizes sizes;
  for (size_t d = 0; d + 2 < output.size(); ++d) sizes.batch *= output[d];
  sizes.rows = output[output.size() - 2];
  sizes.columns = output[output.size() - 1];
  sizes.depth = left[left.size() - (adjointLeft ? 2 : 1)];
  sizes.isLeftTransposed = adjointLeft;
  sizes.isRightTransposed = adjointRight;
  return makeMatmul(site, sizes, 0, ops::FuseCode::NONE);
}

}  // namespace halyard::cpudriver
