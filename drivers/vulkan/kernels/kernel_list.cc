#include "kernels/kernel_list.h"

#include <algorithm>

namespace halyard::vulkandriver {
namespace {

struct Entry {
  OperationType type;
  Kernel kernel;
};

constexpr Entry kKernels[] = {
    {OperationType::ADD, recordBinary},
    {OperationType::SUB, recordBinary},
    {OperationType::MUL, recordBinary},
    {OperationType::DIV, recordBinary},
    {OperationType::MAXIMUM, recordBinary},
    {OperationType::MINIMUM, recordBinary},
    {OperationType::PRELU, recordBinary},
    {OperationType::EQUAL, recordBinary},
    {OperationType::NOT_EQUAL, recordBinary},
    {OperationType::LESS, recordBinary},
    {OperationType::LESS_EQUAL, recordBinary},
    {OperationType::GREATER, recordBinary},
    {OperationType::GREATER_EQUAL, recordBinary},
    {OperationType::LOGICAL_AND, recordBinary},
    {OperationType::LOGICAL_OR, recordBinary},
    {OperationType::ABS, recordUnary},
    {OperationType::EXP, recordUnary},
    {OperationType::FLOOR, recordUnary},
    {OperationType::LOG, recordUnary},
    {OperationType::NEG, recordUnary},
    {OperationType::RSQRT, recordUnary},
    {OperationType::SIN, recordUnary},
    {OperationType::SQRT, recordUnary},
    {OperationType::RELU, recordUnary},
    {OperationType::RELU1, recordUnary},
    {OperationType::RELU6, recordUnary},
    {OperationType::TANH, recordUnary},
    {OperationType::LOGISTIC, recordUnary},
    {OperationType::ELU, recordUnary},
    {OperationType::HARD_SWISH, recordUnary},
    {OperationType::LOGICAL_NOT, recordUnary},
    {OperationType::CAST, recordUnary},
    {OperationType::QUANTIZE, recordUnary},
    {OperationType::DEQUANTIZE, recordUnary},
    {OperationType::RESHAPE, recordSameOrder},
    {OperationType::SQUEEZE, recordSameOrder},
    {OperationType::EXPAND_DIMS, recordSameOrder},
    {OperationType::TRANSPOSE, recordTranspose},
    {OperationType::SLICE, recordSlice},
    {OperationType::PAD, recordPad},
    {OperationType::PAD_V2, recordPad},
    {OperationType::CONCATENATION, recordConcatenation},
    {OperationType::SPLIT, recordSplit},
    {OperationType::DEPTH_TO_SPACE, recordDepthSpace},
    {OperationType::SPACE_TO_DEPTH, recordDepthSpace},
    {OperationType::BATCH_TO_SPACE_ND, recordBatchToSpace},
    {OperationType::CHANNEL_SHUFFLE, recordChannelShuffle},
    {OperationType::TILE, recordTile},
    {OperationType::RESIZE_BILINEAR, recordResize},
    {OperationType::RESIZE_NEAREST_NEIGHBOR, recordResize},
    {OperationType::TRANSPOSE_CONV_2D, recordTransposedConv},
    {OperationType::BATCH_MATMUL, recordMatmul},
    {OperationType::REVERSE, recordReverse},
    {OperationType::PACK, recordPack},
    {OperationType::STRIDED_SLICE, recordStridedSlice},
    {OperationType::SPACE_TO_BATCH_ND, recordSpaceToBatch},
    {OperationType::MIRROR_PAD, recordMirrorPad},
    {OperationType::FILL, recordFill},
    {OperationType::RANK, recordRank},
    {OperationType::SELECT, recordSelect},
    {OperationType::GATHER, recordGather},
    {OperationType::EMBEDDING_LOOKUP, recordEmbedding},
    {OperationType::POW, recordBinary},
    {OperationType::REDUCE_PROD, recordReduction},
    {OperationType::INSTANCE_NORMALIZATION, recordInstanceNormalization},
    {OperationType::LOCAL_RESPONSE_NORMALIZATION, recordResponseNormalization},
    {OperationType::MEAN, recordReduction},
    {OperationType::REDUCE_SUM, recordReduction},
    {OperationType::REDUCE_MAX, recordReduction},
    {OperationType::REDUCE_MIN, recordReduction},
    {OperationType::REDUCE_ALL, recordReduction},
    {OperationType::REDUCE_ANY, recordReduction},
    {OperationType::ARGMAX, recordLine},
    {OperationType::ARGMIN, recordLine},
    {OperationType::SOFTMAX, recordLine},
    {OperationType::LOG_SOFTMAX, recordLine},
    {OperationType::L2_NORMALIZATION, recordLine},
    {OperationType::CONV_2D, recordConv},
    {OperationType::GROUPED_CONV_2D, recordConv},
    {OperationType::DEPTHWISE_CONV_2D, recordDepthwise},
    {OperationType::FULLY_CONNECTED, recordFullyConnected},
    {OperationType::AVERAGE_POOL_2D, recordPool},
    {OperationType::MAX_POOL_2D, recordPool},
    {OperationType::L2_POOL_2D, recordPool},
    {OperationType::RNN, recordRnnStep},
    {OperationType::LSTM, recordLstmStep},
    {OperationType::SVDF, recordSvdf},
    {OperationType::UNIDIRECTIONAL_SEQUENCE_RNN, recordRnnSequence},
    {OperationType::UNIDIRECTIONAL_SEQUENCE_LSTM, recordLstmSequence},
    {OperationType::BIDIRECTIONAL_SEQUENCE_RNN, recordBidirectionalRnn},
    {OperationType::BIDIRECTIONAL_SEQUENCE_LSTM, recordBidirectionalLstm},
};

}  // namespace

Kernel kernelOf(OperationType type) {
  const auto* const found = std::ranges::find(kKernels, type, &Entry::type);
  return found == std::end(kKernels) ? nullptr : found->kernel;
}

}  // namespace halyard::vulkandriver
