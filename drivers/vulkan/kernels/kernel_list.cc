#include "kernels/kernel_list.h"

#include <algorithm>

namespace halyard::vulkandriver {
namespace {

struct Entry {
  OperationType type;
  Kernel kernel;
};

using enum OperationType;
constexpr Entry kKernels[] = {
    {ADD, recordBinary},         {SUB, recordBinary},         {MUL, recordBinary},
    {DIV, recordBinary},         {MAXIMUM, recordBinary},     {MINIMUM, recordBinary},
    {PRELU, recordBinary},       {EQUAL, recordBinary},       {NOT_EQUAL, recordBinary},
    {LESS, recordBinary},        {LESS_EQUAL, recordBinary},  {GREATER, recordBinary},
    {GREATER_EQUAL, recordBinary}, {LOGICAL_AND, recordBinary}, {LOGICAL_OR, recordBinary},
    {ABS, recordUnary},          {EXP, recordUnary},          {FLOOR, recordUnary},
    {LOG, recordUnary},          {NEG, recordUnary},          {RSQRT, recordUnary},
    {SIN, recordUnary},          {SQRT, recordUnary},         {RELU, recordUnary},
    {RELU1, recordUnary},        {RELU6, recordUnary},        {TANH, recordUnary},
    {LOGISTIC, recordUnary},     {ELU, recordUnary},          {HARD_SWISH, recordUnary},
    {LOGICAL_NOT, recordUnary},  {CAST, recordUnary},         {QUANTIZE, recordUnary},
    {DEQUANTIZE, recordUnary},
    {RESHAPE, recordSameOrder},
    {SQUEEZE, recordSameOrder},
    {EXPAND_DIMS, recordSameOrder},
    {TRANSPOSE, recordTranspose},
    {SLICE, recordSlice},
    {PAD, recordPad},
    {PAD_V2, recordPad},
    {CONCATENATION, recordConcatenation},
    {SPLIT, recordSplit},
    {DEPTH_TO_SPACE, recordDepthSpace},
    {SPACE_TO_DEPTH, recordDepthSpace},
    {BATCH_TO_SPACE_ND, recordBatchToSpace},
    {CHANNEL_SHUFFLE, recordChannelShuffle},
    {TILE, recordTile},
    {RESIZE_BILINEAR, recordResize},
    {RESIZE_NEAREST_NEIGHBOR, recordResize},
    {TRANSPOSE_CONV_2D, recordTransposedConv},
    {BATCH_MATMUL, recordMatmul},
    {REVERSE, recordReverse},
    {PACK, recordPack},
    {MEAN, recordReduction},
    {REDUCE_SUM, recordReduction},
    {REDUCE_MAX, recordReduction},
    {REDUCE_MIN, recordReduction},
    {REDUCE_ALL, recordReduction},
    {REDUCE_ANY, recordReduction},
    {ARGMAX, recordLine},
    {ARGMIN, recordLine},
    {SOFTMAX, recordLine},
    {LOG_SOFTMAX, recordLine},
    {L2_NORMALIZATION, recordLine},
    {CONV_2D, recordConv},
    {GROUPED_CONV_2D, recordConv},
    {DEPTHWISE_CONV_2D, recordDepthwise},
    {FULLY_CONNECTED, recordFullyConnected},
    {AVERAGE_POOL_2D, recordPool},
    {MAX_POOL_2D, recordPool},
    {L2_POOL_2D, recordPool},
    {RNN, recordRnnStep},
    {LSTM, recordLstmStep},
    {SVDF, recordSvdf},
    {UNIDIRECTIONAL_SEQUENCE_RNN, recordRnnSequence},
    {UNIDIRECTIONAL_SEQUENCE_LSTM, recordLstmSequence},
    {BIDIRECTIONAL_SEQUENCE_RNN, recordBidirectionalRnn},
    {BIDIRECTIONAL_SEQUENCE_LSTM, recordBidirectionalLstm},
};

}  // namespace

Kernel kernelOf(OperationType type) {
  const auto* const found = std::ranges::find(kKernels, type, &Entry::type);
  return found == std::end(kKernels) ? nullptr : found->kernel;
}

}  // namespace halyard::vulkandriver
