// Full connections: the batch's rows times the weights.
#include "kernels/conv_site.h"
#include "kernels/makers.h"
#include "kernels/matrix_layer.h"
#include "kernels/small_copy.h"

namespace halyard::cpudriver {
namespace {

class FullyConnectedKernel final : public Kernel {
 public:
  FullyConnectedKernel(size_t rows, std::unique_ptr<MatrixLayer> layer) : layer_(std::move(layer)) {
    const size_t depth = layer_->depthBytes();
    const size_t stride = rows > 1 ? rowStride(*layer_) : shortestRowStride(*layer_);
    source_.rows = rows;
    source_.stride = stride;
    source_.isDirect = stride == depth;
    source_.gather = [depth, stride](const std::byte* input, size_t begin, size_t end,
                                     std::byte* to) {
      for (size_t row = begin; row < end; ++row, to += stride) {
        copySmall(to, input + row * depth, depth);
        std::memset(to + depth, 0, stride - depth);
      }
    };
  }

  Status run(const KernelOperands& operands, ops::KernelServices& services) const override {
    runMatrixLayer(*layer_, source_, operands.input<std::byte>(0), operands.output<std::byte>(0),
                   services);
    return okStatus();
  }

 private:
  const std::unique_ptr<MatrixLayer> layer_;
  RowSource source_;
};

}  // namespace

std::unique_ptr<Kernel> makeFullyConnected(const KernelSite& site) {
  if (!hasConstantWeights(site) || !site.isConstant(3)) return nullptr;
  const ops::OperationContext context(site.inputs, {}, nullptr);
  ops::FuseCode activation;
  if (!ops::readFuseCode(context, 3, &activation).ok()) return nullptr;
  const size_t columns = site.outputs[0].dims[1];
  auto layer = makeMatrixLayer(site, columns, activation);
  if (layer == nullptr) return nullptr;
  return std::make_unique<FullyConnectedKernel>(site.outputs[0].dims[0], std::move(layer));
}

}  // namespace halyard::cpudriver
