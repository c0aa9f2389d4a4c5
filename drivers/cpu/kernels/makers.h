// The makers of this driver's kernels; docs/cpu_driver.md describes the purpose of each.
// Thread safety: pure functions.
// Ownership: kernels are the caller's.
#pragma once

#include "kernels/kernel.h"

namespace halyard::cpudriver {

std::unique_ptr<Kernel> makeAddition(const KernelSite& site);
std::unique_ptr<Kernel> makeAveragePool(const KernelSite& site);
std::unique_ptr<Kernel> makeBatchMatmul(const KernelSite& site);
std::unique_ptr<Kernel> makeBidirectionalLstm(const KernelSite& site);
std::unique_ptr<Kernel> makeBidirectionalRnn(const KernelSite& site);
std::unique_ptr<Kernel> makeByteLstm(const KernelSite& site);
std::unique_ptr<Kernel> makeConcatenation(const KernelSite& site);
std::unique_ptr<Kernel> makeConv(const KernelSite& site);
std::unique_ptr<Kernel> makeDepthwiseConv(const KernelSite& site);
std::unique_ptr<Kernel> makeDequantization(const KernelSite& site);
std::unique_ptr<Kernel> makeDivision(const KernelSite& site);
std::unique_ptr<Kernel> makeFloor(const KernelSite& site);
std::unique_ptr<Kernel> makeFullyConnected(const KernelSite& site);
std::unique_ptr<Kernel> makeGelu(const KernelSite& site);
std::unique_ptr<Kernel> makeGroupedConv(const KernelSite& site);
std::unique_ptr<Kernel> makeHardSwish(const KernelSite& site);
std::unique_ptr<Kernel> makeInstanceNormalization(const KernelSite& site);
std::unique_ptr<Kernel> makeL2Normalization(const KernelSite& site);
std::unique_ptr<Kernel> makeLogistic(const KernelSite& site);
std::unique_ptr<Kernel> makeLstm(const KernelSite& site);
std::unique_ptr<Kernel> makeLstmSequence(const KernelSite& site);
std::unique_ptr<Kernel> makeMaximum(const KernelSite& site);
std::unique_ptr<Kernel> makeMaxPool(const KernelSite& site);
std::unique_ptr<Kernel> makeMean(const KernelSite& site);
std::unique_ptr<Kernel> makeMinimum(const KernelSite& site);
std::unique_ptr<Kernel> makeMultiplication(const KernelSite& site);
std::unique_ptr<Kernel> makePrelu(const KernelSite& site);
std::unique_ptr<Kernel> makeQuantization(const KernelSite& site);
std::unique_ptr<Kernel> makeQuantizedLstm(const KernelSite& site);
std::unique_ptr<Kernel> makeQuantizedLstmSequence(const KernelSite& site);
std::unique_ptr<Kernel> makeReduceMax(const KernelSite& site);
std::unique_ptr<Kernel> makeReduceMin(const KernelSite& site);
std::unique_ptr<Kernel> makeReduceSum(const KernelSite& site);
std::unique_ptr<Kernel> makeRelu(const KernelSite& site);
std::unique_ptr<Kernel> makeRelu1(const KernelSite& site);
std::unique_ptr<Kernel> makeRelu6(const KernelSite& site);
std::unique_ptr<Kernel> makeResizeBilinear(const KernelSite& site);
std::unique_ptr<Kernel> makeRnn(const KernelSite& site);
std::unique_ptr<Kernel> makeRnnSequence(const KernelSite& site);
std::unique_ptr<Kernel> makeSoftmax(const KernelSite& site);
std::unique_ptr<Kernel> makeSubtraction(const KernelSite& site);
std::unique_ptr<Kernel> makeSvdf(const KernelSite& site);
std::unique_ptr<Kernel> makeTanh(const KernelSite& site);
std::unique_ptr<Kernel> makeTopk(const KernelSite& site);
std::unique_ptr<Kernel> makeTransposedConv(const KernelSite& site);

}  // namespace halyard::cpudriver
