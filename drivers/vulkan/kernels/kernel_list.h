// The kernels of the device: one line for each operation in kernel_list.cc.
// Thread safety: pure functions. Ownership: none.
#pragma once

#include "kernels/recording.h"

namespace halyard::vulkandriver {

// Null for an operation that the device does not have.
Kernel kernelOf(OperationType type);

Status recordBinary(const Site& site, Recording& recording);
Status recordRnnStep(const Site& site, Recording& recording);
Status recordRnnSequence(const Site& site, Recording& recording);
Status recordBidirectionalRnn(const Site& site, Recording& recording);
Status recordLstmStep(const Site& site, Recording& recording);
Status recordLstmSequence(const Site& site, Recording& recording);
Status recordBidirectionalLstm(const Site& site, Recording& recording);
Status recordQuantizedLstm(const Site& site, Recording& recording);
Status recordQuantizedLstmSequence(const Site& site, Recording& recording);
Status recordQuantized16BitLstm(const Site& site, Recording& recording);
Status recordSvdf(const Site& site, Recording& recording);
Status recordUnary(const Site& site, Recording& recording);
Status recordSameOrder(const Site& site, Recording& recording);
Status recordTranspose(const Site& site, Recording& recording);
Status recordSlice(const Site& site, Recording& recording);
Status recordPad(const Site& site, Recording& recording);
Status recordConcatenation(const Site& site, Recording& recording);
Status recordSplit(const Site& site, Recording& recording);
Status recordDepthSpace(const Site& site, Recording& recording);
Status recordBatchToSpace(const Site& site, Recording& recording);
Status recordChannelShuffle(const Site& site, Recording& recording);
Status recordTile(const Site& site, Recording& recording);
Status recordConv(const Site& site, Recording& recording);
Status recordDepthwise(const Site& site, Recording& recording);
Status recordFullyConnected(const Site& site, Recording& recording);
Status recordPool(const Site& site, Recording& recording);
Status recordReduction(const Site& site, Recording& recording);
Status recordLine(const Site& site, Recording& recording);
Status recordTransposedConv(const Site& site, Recording& recording);
Status recordMatmul(const Site& site, Recording& recording);
Status recordReverse(const Site& site, Recording& recording);
Status recordPack(const Site& site, Recording& recording);
Status recordStridedSlice(const Site& site, Recording& recording);
Status recordSpaceToBatch(const Site& site, Recording& recording);
Status recordMirrorPad(const Site& site, Recording& recording);
Status recordFill(const Site& site, Recording& recording);
Status recordRank(const Site& site, Recording& recording);
Status recordInstanceNormalization(const Site& site, Recording& recording);
Status recordResponseNormalization(const Site& site, Recording& recording);
Status recordSelect(const Site& site, Recording& recording);
Status recordGather(const Site& site, Recording& recording);
Status recordEmbedding(const Site& site, Recording& recording);
Status recordBroadcastSelect(const Site& site, Recording& recording);
Status recordGatherNd(const Site& site, Recording& recording);
Status recordShape(const Site& site, Recording& recording);
Status recordDilate(const Site& site, Recording& recording);
Status recordUpdateSlice(const Site& site, Recording& recording);
Status recordRealPart(const Site& site, Recording& recording);
Status recordImaginaryPart(const Site& site, Recording& recording);
Status recordCumulativeSum(const Site& site, Recording& recording);
Status recordRounding(const Site& site, Recording& recording);
Status recordGreatest(const Site& site, Recording& recording);
Status recordHashtableLookup(const Site& site, Recording& recording);
Status recordBoxTransform(const Site& site, Recording& recording);
Status recordRegionAlignment(const Site& site, Recording& recording);
Status recordRegionPooling(const Site& site, Recording& recording);
Status recordKeypoints(const Site& site, Recording& recording);
Status recordResize(const Site& site, Recording& recording);

}  // namespace halyard::vulkandriver
