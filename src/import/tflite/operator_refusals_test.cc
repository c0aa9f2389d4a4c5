// Tests of the refusals of sequences, mathematics, reductions and movements, with their texts.
#include "import/tflite/refusals_for_test.h"

namespace halyard::import {
namespace {

using Op = tfl::BuiltinOperator;
using Opt = tfl::BuiltinOptions;
using Type = tfl::TensorType;
using Builder = flatbuffers::FlatBufferBuilder;

const Refusal kRefusals[] = {
    {"LstmActivation", floatLstm,
     [](ModelWriter& w) {
       setOptions(w, 0, Opt::UnidirectionalSequenceLSTMOptions, [](Builder& b) {
         return tfl::CreateUnidirectionalSequenceLSTMOptions(
             b, tfl::ActivationFunctionType::RELU_N1_TO_1);
       });
     },
     "operator UNIDIRECTIONAL_SEQUENCE_LSTM of node 0 is not supported: the activation of the cell "
     "is RELU_N1_TO_1"},
    {"LstmDiagonal", floatLstm,
     [](ModelWriter& w) {
       setOptions(w, 0, Opt::UnidirectionalSequenceLSTMOptions, [](Builder& b) {
         return tfl::CreateUnidirectionalSequenceLSTMOptions(b, tfl::ActivationFunctionType::TANH,
                                                             0, 0, false, false, true);
       });
     },
     "operator UNIDIRECTIONAL_SEQUENCE_LSTM of node 0 is not supported: diagonal recurrent "
     "weights"},
    {"LstmInputs", floatLstm, [](ModelWriter& w) { w.nodes[0].inputs.resize(19); },
     "operator UNIDIRECTIONAL_SEQUENCE_LSTM of node 0: has 19 inputs, expected 20 to 24"},
    {"LstmGateMissing", floatLstm, [](ModelWriter& w) { w.nodes[0].inputs[2] = -1; },
     "operator UNIDIRECTIONAL_SEQUENCE_LSTM of node 0 is not supported: "
     "UNIDIRECTIONAL_SEQUENCE_LSTM of NNAPI does not take it: "},
    {"Int8LstmActivation", int8Lstm,
     [](ModelWriter& w) {
       setOptions(w, 0, Opt::UnidirectionalSequenceLSTMOptions,
                  [](Builder& b) { return tfl::CreateUnidirectionalSequenceLSTMOptions(b); });
     },
     "operator UNIDIRECTIONAL_SEQUENCE_LSTM of node 0 is not supported: the activation of an LSTM "
     "of INT8 is not TANH"},
    {"Int8LstmCellState", int8Lstm, [](ModelWriter& w) { w.tensors[14].type = Type::INT32; },
     "operator UNIDIRECTIONAL_SEQUENCE_LSTM of node 0 is not supported: tensor 14 'cell' is INT32, "
     "expected INT16 in an LSTM of INT8"},
    {"Int8LstmCellScale", int8Lstm, [](ModelWriter& w) { w.tensors[14].scales = {0.3f}; },
     "operator UNIDIRECTIONAL_SEQUENCE_LSTM of node 0 is not supported: QUANTIZED_LSTM of NNAPI "
     "does not take it: "},
    {"Int8LstmOutput", int8Lstm, [](ModelWriter& w) { w.tensors[20].scales = {1.0f / 64}; },
     "operator UNIDIRECTIONAL_SEQUENCE_LSTM of node 0 is not supported: the output has scale"},
    {"Intermediate", int8Lstm, [](ModelWriter& w) { w.nodes[0].intermediates[4] = 99; },
     "operator UNIDIRECTIONAL_SEQUENCE_LSTM of node 0: intermediate 4 is tensor 99"},
    {"IntegerDivision", castsAndProducts,
     [](ModelWriter& w) {
       setOptions(w, 1, Opt::DivOptions, [](Builder& b) {
         return tfl::CreateDivOptions(b, tfl::ActivationFunctionType::RELU);
       });
       w.nodes[1].op = Op::DIV;
       w.nodes[1].inputs = {1, 1};
       w.tensors[2].type = Type::INT32;
     },
     "operator DIV of node 1 is not supported: a fused activation of integers"},
    {"SelectBroadcast", comparisons,
     [](ModelWriter& w) {
       w.nodes[9].inputs[2] = w.floatConstant("two", {2}, {1, 2});
     },
     "operator SELECT of node 9 is not supported: SELECT_V2 of NNAPI does not take it: "},
    {"FillWithMany", castsAndProducts,
     [](ModelWriter& w) {
       w.nodes[2].inputs[1] = w.floatConstant("many", {2}, {1, 2});
     },
     "operator FILL of node 2: tensor 7 'many' is no single value"},
    {"TopOfAnotherQuantisation", int8Reductions,
     [](ModelWriter& w) {
       w.nodes[2].op = Op::TOPK_V2;
       w.nodes[2].optionsType = Opt::NONE;
       w.nodes[2].options = nullptr;
       w.nodes[2].outputs.push_back(w.floats("second", {2}));
     },
     "operator TOPK_V2 of node 2 is not supported: the output has scale 0 zero point 0, the input"},
    {"TwoEllipses", movements,
     [](ModelWriter& w) {
       setOptions(w, 1, Opt::StridedSliceOptions,
                  [](Builder& b) { return tfl::CreateStridedSliceOptions(b, 0, 0, 3); });
     },
     "operator STRIDED_SLICE of node 1: two ellipses"},
    {"ShrinkOutside", movements,
     [](ModelWriter& w) {
       w.tensors[static_cast<size_t>(w.nodes[1].inputs[1])].data = bytesOf({2, 0, 9});
     },
     "operator STRIDED_SLICE of node 1: index 2 is out of range of dimension 0 of [2,3,4]"},
    {"SplitCount", movements,
     [](ModelWriter& w) {
       setOptions(w, 2, Opt::SplitOptions,
                  [](Builder& b) { return tfl::CreateSplitOptions(b, 4); });
     },
     "operator SPLIT of node 2: num_splits is 4, it has 2 outputs"},
    {"SplitSizes", movements,
     [](ModelWriter& w) {
       w.tensors[static_cast<size_t>(w.nodes[3].inputs[1])].data = bytesOf({3, 2});
     },
     "operator SPLIT_V of node 3: the sizes are more than dimension 2 of [2,3,4]"},
    {"UnpackCount", movements,
     [](ModelWriter& w) {
       setOptions(w, 4, Opt::UnpackOptions,
                  [](Builder& b) { return tfl::CreateUnpackOptions(b, 3, 0); });
     },
     "operator UNPACK of node 4: 3 parts and 3 outputs, dimension 0 of [2,3,4]"},
    {"GatherBatch", movements,
     [](ModelWriter& w) {
       setOptions(w, 7, Opt::GatherOptions,
                  [](Builder& b) { return tfl::CreateGatherOptions(b, 2, 1); });
     },
     "operator GATHER of node 7 is not supported: batch_dims is 1, the axis 2"},
    {"Crops", int8Blocks,
     [](ModelWriter& w) {
       w.nodes[3].inputs[2] = w.intConstant("crops", {3, 3, 0, 2});
     },
     "operator BATCH_TO_SPACE_ND of node 3: crops 3 and 3 of dimension 1 of [1,6,6,2]"},
    {"OneSpatialDimension", int8Blocks,
     [](ModelWriter& w) {
       w.nodes[3].inputs[2] = w.intConstant("crops", {1, 1});
     },
     "operator BATCH_TO_SPACE_ND of node 3 is not supported: the list of crops has 2 values"},
    {"PadValueScale", int8Blocks,
     [](ModelWriter& w) { w.tensors[static_cast<size_t>(w.nodes[5].inputs[2])].scales = {0.25f}; },
     "operator PADV2 of node 5 is not supported: the value (tensor 10 'value') is not quantised "
     "as"},
    {"TransposeConvShape", floatSpatial,
     [](ModelWriter& w) {
       w.tensors[static_cast<size_t>(w.nodes[0].inputs[0])].data = bytesOf({1, 9, 6, 3});
     },
     "operator TRANSPOSE_CONV of node 0"},
    {"TransposeConvBiasOptions", transposedByMediaPipe,
     [](ModelWriter& w) { w.nodes[0].customOptions.resize(11); },
     "operator Convolution2DTransposeBias of node 0: has options of 11 bytes, expected at least "
     "12"},
    {"TransposeConvBiasPadding", transposedByMediaPipe,
     [](ModelWriter& w) {
       w.nodes[0].customOptions = bytesOf({0, 2, 2});
     },
     "operator Convolution2DTransposeBias of node 0: the padding is 0, expected 1 (SAME) or 2 "
     "(VALID)"},
    {"TransposeConvBiasStride", transposedByMediaPipe,
     [](ModelWriter& w) {
       w.nodes[0].customOptions = bytesOf({1, 2, -1});
     },
     "operator Convolution2DTransposeBias of node 0: strides 2x-1 (width x height), expected at "
     "least 1"},
    {"TransposeConvBiasRank", transposedByMediaPipe,
     [](ModelWriter& w) {
       w.tensors[static_cast<size_t>(w.nodes[0].outputs[0])].shape = {1, 6, 18};
     },
     "operator Convolution2DTransposeBias of node 0: the output (tensor 3 "},
};

INSTANTIATE_TEST_SUITE_P(Newer, Refusals, valuesIn(kRefusals), kName);

}  // namespace
}  // namespace halyard::import
