// The table of operations and of the makers of their kernels.
#include "kernel_list.h"

#include <algorithm>
#include <iterator>

#include "kernels/elementwise/half.h"
#include "kernels/makers.h"

namespace halyard::cpudriver {
namespace {

// The operations that a maker can fuse. Other makers are not asked. kQuantised: it also takes
// weights as the model stores them. All makers do that with kRounding.
enum Fusable : unsigned {
  kNothing = 0,
  kActivation = 1,
  kPadding = 2,
  kAddend = 4,
  kRounding = 8,
  kChain = 16,
  kQuantised = 32
};

struct Entry {
  OperationType type;
  KernelMaker make;
  unsigned fusable = kNothing;
};

constexpr Entry kEntries[] = {
    {OperationType::ADD, makeAddition, kActivation},
    {OperationType::AVERAGE_POOL_2D, makeAveragePool},
    {OperationType::BATCH_MATMUL, makeBatchMatmul},
    {OperationType::BIDIRECTIONAL_SEQUENCE_LSTM, makeBidirectionalLstm, kQuantised},
    {OperationType::BIDIRECTIONAL_SEQUENCE_RNN, makeBidirectionalRnn, kQuantised},
    {OperationType::CONCATENATION, makeConcatenation},
    {OperationType::CONV_2D, makeConv, kActivation | kPadding | kAddend | kRounding | kChain},
    {OperationType::DEPTHWISE_CONV_2D, makeDepthwiseConv, kActivation | kPadding | kChain},
    {OperationType::DEQUANTIZE, makeDequantization},
    {OperationType::DIV, makeDivision},
    {OperationType::FLOOR, makeFloor},
    {OperationType::FULLY_CONNECTED, makeFullyConnected,
     kActivation | kAddend | kRounding | kQuantised},
    {OperationType::GELU, makeGelu},
    {OperationType::GROUPED_CONV_2D, makeGroupedConv},
    {OperationType::HARD_SWISH, makeHardSwish},
    {OperationType::INSTANCE_NORMALIZATION, makeInstanceNormalization},
    {OperationType::L2_NORMALIZATION, makeL2Normalization},
    {OperationType::LOGISTIC, makeLogistic},
    {OperationType::LSTM, makeLstm, kQuantised},
    {OperationType::MAXIMUM, makeMaximum},
    {OperationType::MAX_POOL_2D, makeMaxPool},
    {OperationType::MEAN, makeMean},
    {OperationType::MINIMUM, makeMinimum},
    {OperationType::MUL, makeMultiplication, kActivation},
    {OperationType::PRELU, makePrelu},
    {OperationType::QUANTIZE, makeQuantization},
    {OperationType::QUANTIZED_16BIT_LSTM, makeByteLstm},
    {OperationType::QUANTIZED_LSTM, makeQuantizedLstm},
    {OperationType::QUANTIZED_SEQUENCE_LSTM, makeQuantizedLstmSequence},
    {OperationType::REDUCE_MAX, makeReduceMax},
    {OperationType::REDUCE_MIN, makeReduceMin},
    {OperationType::REDUCE_SUM, makeReduceSum},
    {OperationType::RELU, makeRelu},
    {OperationType::RELU1, makeRelu1},
    {OperationType::RELU6, makeRelu6},
    {OperationType::RESIZE_BILINEAR, makeResizeBilinear},
    {OperationType::RNN, makeRnn, kQuantised},
    {OperationType::SOFTMAX, makeSoftmax},
    {OperationType::SUB, makeSubtraction, kActivation},
    {OperationType::SVDF, makeSvdf},
    {OperationType::TANH, makeTanh},
    {OperationType::TOPK_V2, makeTopk},
    {OperationType::TRANSPOSE_CONV_2D, makeTransposedConv},
    {OperationType::UNIDIRECTIONAL_SEQUENCE_LSTM, makeLstmSequence, kQuantised},
    {OperationType::UNIDIRECTIONAL_SEQUENCE_RNN, makeRnnSequence, kQuantised},
};

// Null: the operation has no maker.
const Entry* entryOf(const ops::OperationDefinition& definition) {
  const auto* const found = std::ranges::find(kEntries, definition.type, &Entry::type);
  return found == std::end(kEntries) ? nullptr : found;
}

unsigned neededFor(const Fused& fused) {
  const unsigned rounding = fused.rounding ? kRounding : kNothing;
  // The maker fuses all operations around the last convolution.
  if (!fused.between.empty()) return kChain | rounding;
  return (fused.activation ? kActivation : kNothing) | (fused.hasPadding() ? kPadding : kNothing) |
         (fused.addsInput ? kAddend : kNothing) | rounding;
}

}  // namespace

std::unique_ptr<Kernel> makeKernel(const ops::OperationDefinition& definition,
                                   const KernelSite& site) {
  const Entry* const entry = entryOf(definition);
  if (entry == nullptr || (neededFor(site.fused) & ~entry->fusable) != 0) return nullptr;
  KernelSite known = site;
  known.definition = &definition;
  if (!hasHalves(known)) return entry->make(known);
  return definition.float16AsFloat32 ? makeHalfKernel(known, entry->make) : nullptr;
}

bool takesQuantised(const ops::OperationDefinition& definition, const Fused& fused) {
  const Entry* const entry = entryOf(definition);
  if (entry == nullptr || !fused.between.empty()) return false;
  return fused.rounding || (entry->fusable & kQuantised) != 0;
}

}  // namespace halyard::cpudriver
