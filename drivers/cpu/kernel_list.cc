// The list: an operation's definition, and who makes kernels for it.
#include "kernel_list.h"

#include "kernels/elementwise/half.h"
#include "kernels/makers.h"
#include "operation_definitions.h"

namespace halyard::cpudriver {
namespace {

// What a maker knows to fuse; the others are not asked.
enum Fusable : unsigned {
  kNothing = 0,
  kActivation = 1,
  kPadding = 2,
  kAddend = 4,
  kRounding = 8,
  kPoints = 16
};

struct Entry {
  DefinitionFunction definition;
  KernelMaker make;
  unsigned fusable = kNothing;
};

constexpr Entry kEntries[] = {
    {ops::add, makeAddition, kActivation},
    {ops::averagePool2d, makeAveragePool},
    {ops::batchMatmul, makeBatchMatmul},
    {ops::bidirectionalSequenceLstm, makeBidirectionalLstm},
    {ops::bidirectionalSequenceRnn, makeBidirectionalRnn},
    {ops::concatenation, makeConcatenation},
    {ops::conv2d, makeConv, kActivation | kPadding | kAddend | kRounding},
    {ops::depthwiseConv2d, makeDepthwiseConv, kActivation | kPadding | kPoints},
    {ops::dequantize, makeDequantization},
    {ops::div, makeDivision},
    {ops::floor, makeFloor},
    {ops::fullyConnected, makeFullyConnected, kActivation | kAddend | kRounding},
    {ops::groupedConv2d, makeGroupedConv},
    {ops::hardSwish, makeHardSwish},
    {ops::instanceNormalization, makeInstanceNormalization},
    {ops::l2Normalization, makeL2Normalization},
    {ops::logistic, makeLogistic},
    {ops::lstm, makeLstm},
    {ops::maximum, makeMaximum},
    {ops::maxPool2d, makeMaxPool},
    {ops::mean, makeMean},
    {ops::minimum, makeMinimum},
    {ops::mul, makeMultiplication, kActivation},
    {ops::prelu, makePrelu},
    {ops::quantize, makeQuantization},
    {ops::quantized16bitLstm, makeByteLstm},
    {ops::quantizedLstm, makeQuantizedLstm},
    {ops::quantizedSequenceLstm, makeQuantizedLstmSequence},
    {ops::reduceMax, makeReduceMax},
    {ops::reduceMin, makeReduceMin},
    {ops::reduceSum, makeReduceSum},
    {ops::relu, makeRelu},
    {ops::relu1, makeRelu1},
    {ops::relu6, makeRelu6},
    {ops::resizeBilinear, makeResizeBilinear},
    {ops::rnn, makeRnn},
    {ops::softmax, makeSoftmax},
    {ops::sub, makeSubtraction, kActivation},
    {ops::svdf, makeSvdf},
    {ops::tanh, makeTanh},
    {ops::topkV2, makeTopk},
    {ops::transposeConv2d, makeTransposedConv},
    {ops::unidirectionalSequenceLstm, makeLstmSequence},
    {ops::unidirectionalSequenceRnn, makeRnnSequence},
};

unsigned neededFor(const Fused& fused) {
  // What is about the second convolution, it knows to fuse.
  if (fused.between != nullptr) return kPoints;
  return (fused.activation ? kActivation : kNothing) | (fused.hasPadding() ? kPadding : kNothing) |
         (fused.addsInput ? kAddend : kNothing) | (fused.rounding ? kRounding : kNothing);
}

}  // namespace

std::unique_ptr<Kernel> makeKernel(const ops::OperationDefinition& definition,
                                   const KernelSite& site) {
  for (const Entry& entry : kEntries) {
    if (!isDefinedBy(definition, entry.definition)) continue;
    if ((neededFor(site.fused) & ~entry.fusable) != 0) return nullptr;
    KernelSite known = site;
    known.definition = &definition;
    if (!hasHalves(known)) return entry.make(known);
    return definition.float16AsFloat32 ? makeHalfKernel(known, entry.make) : nullptr;
  }
  return nullptr;
}

}  // namespace halyard::cpudriver
