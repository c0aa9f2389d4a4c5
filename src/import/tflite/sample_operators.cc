// Sample models of single operators.
#include "base/float16.h"
#include "import/tflite/sample_models.h"

namespace halyard::import {
namespace {

using flatbuffers::FlatBufferBuilder;
using Act = tfl::ActivationFunctionType;
using Op = tfl::BuiltinOperator;
using Opt = tfl::BuiltinOptions;
using Pad = tfl::Padding;
using Type = tfl::TensorType;

// Adds operators whose outputs are outputs of the model.
struct Bench {
  ModelWriter w;

  int32_t result(int32_t tensor) {
    w.outputs.push_back(tensor);
    return tensor;
  }
  int32_t floats(std::vector<int32_t> shape) { return result(w.floats("y", std::move(shape))); }
  int32_t typed(Type type, std::vector<int32_t> shape) {
    const int32_t y = floats(std::move(shape));
    w.tensors.back().type = type;
    return y;
  }
  int32_t int8(std::vector<int32_t> shape, float scale, int64_t zeroPoint) {
    return result(w.quantised("y", Type::INT8, std::move(shape), scale, zeroPoint));
  }
  int32_t constant(const std::vector<int32_t>& values) { return w.intConstant("list", values); }
};

auto reduce(bool keep) {
  return [keep](FlatBufferBuilder& b) { return tfl::CreateReducerOptions(b, keep); };
}

std::vector<uint8_t> waveBytes(size_t count, int factor, int modulus, int middle) {
  std::vector<uint8_t> bytes;
  for (size_t i = 0; i < count; ++i) {
    bytes.push_back(static_cast<uint8_t>(static_cast<int>(i) * factor % modulus - middle));
  }
  return bytes;
}

std::vector<float> wave(size_t count, float step) {
  std::vector<float> values;
  for (size_t i = 0; i < count; ++i) {
    values.push_back(static_cast<float>(static_cast<int>(i * 7 % 11) - 5) * step);
  }
  return values;
}

void markVariable(ModelWriter& w, int32_t tensor) {
  w.tensors[static_cast<size_t>(tensor)].isVariable = true;
}

auto sequenceLstm(bool timeMajor) {
  return [timeMajor](FlatBufferBuilder& b) {
    return tfl::CreateUnidirectionalSequenceLSTMOptions(b, Act::TANH, 10, 0, timeMajor);
  };
}

}  // namespace

ModelWriter floatFunctions() {
  Bench b;
  const int32_t x = b.w.floats("x", {2, 3});
  b.w.inputs = {x};
  const int32_t absolute = b.floats({2, 3});
  b.w.node(Op::ABS, {x}, {absolute});
  for (Op op : {Op::EXP, Op::NEG, Op::SIN, Op::FLOOR, Op::CEIL, Op::SQUARE, Op::TANH, Op::ELU,
                Op::HARD_SWISH}) {
    b.w.node(op, {x}, {b.floats({2, 3})});
  }
  b.w.node(Op::LEAKY_RELU, {x}, {b.floats({2, 3})}, Opt::LeakyReluOptions,
           [](FlatBufferBuilder& f) { return tfl::CreateLeakyReluOptions(f, 0.25f); });
  const int32_t slopes = b.w.floatConstant("slopes", {3}, {0.5f, -1, 2});
  b.w.node(Op::PRELU, {x, slopes}, {b.floats({2, 3})});
  const int32_t quarter = b.w.floatConstant("quarter", {1}, {0.25f});
  const int32_t positive = b.w.floats("positive", {2, 3});
  b.w.node(Op::ADD, {absolute, quarter}, {positive});
  for (Op op : {Op::LOG, Op::SQRT, Op::RSQRT}) b.w.node(op, {positive}, {b.floats({2, 3})});
  return b.w;
}

ModelWriter int8Functions() {
  Bench b;
  const int32_t x = b.w.quantised("x", Type::INT8, {2, 3}, 0.03125f, -8);
  b.w.inputs = {x};
  b.w.node(Op::EXP, {x}, {b.int8({2, 3}, 0.25f, -128)});
  b.w.node(Op::TANH, {x}, {b.int8({2, 3}, 1.0f / 128, 0)});
  b.w.node(Op::ELU, {x}, {b.int8({2, 3}, 0.03125f, -90)});
  b.w.node(Op::HARD_SWISH, {x}, {b.int8({2, 3}, 0.03125f, -100)});
  b.w.node(Op::LEAKY_RELU, {x}, {b.int8({2, 3}, 0.03125f, -90)}, Opt::LeakyReluOptions,
           [](FlatBufferBuilder& f) { return tfl::CreateLeakyReluOptions(f, 0.25f); });
  const int32_t slopes = b.w.quantisedConstant("slopes", Type::INT8, {1, 3},
                                               bytesOf<int8_t>({10, 64, -64}), 1.0f / 64, 0);
  b.w.node(Op::PRELU, {x, slopes}, {b.int8({2, 3}, 0.0625f, 0)});
  return b.w;
}

ModelWriter floatPairs() {
  Bench b;
  const int32_t x = b.w.floats("x", {2, 3});
  b.w.inputs = {x};
  const int32_t c = b.w.floatConstant("c", {3}, {0.75f, -2, 0.5f});
  for (Op op : {Op::DIV, Op::FLOOR_DIV, Op::SQUARED_DIFFERENCE, Op::MAXIMUM, Op::MINIMUM}) {
    b.w.node(op, {x, c}, {b.floats({2, 3})});
  }
  const int32_t exponents = b.w.floatConstant("exponents", {3}, {2, 3, 2});
  b.w.node(Op::POW, {x, exponents}, {b.floats({2, 3})});
  return b.w;
}

ModelWriter comparisons() {
  Bench b;
  const int32_t x = b.w.floats("x", {2, 3});
  b.w.inputs = {x};
  const int32_t c = b.w.floatConstant("c", {2, 3}, {-1, 0, -0.5f, 0.25f, 1.25f, 1.5f});
  std::vector<int32_t> truths;
  for (Op op :
       {Op::EQUAL, Op::NOT_EQUAL, Op::GREATER, Op::GREATER_EQUAL, Op::LESS, Op::LESS_EQUAL}) {
    truths.push_back(b.typed(Type::BOOL, {2, 3}));
    b.w.node(op, {x, c}, {truths.back()});
  }
  b.w.node(Op::LOGICAL_AND, {truths[3], truths[5]}, {b.typed(Type::BOOL, {2, 3})});
  b.w.node(Op::LOGICAL_OR, {truths[0], truths[2]}, {b.typed(Type::BOOL, {2, 3})});
  b.w.node(Op::LOGICAL_NOT, {truths[2]}, {b.typed(Type::BOOL, {2, 3})});
  b.w.node(Op::SELECT, {truths[2], x, c}, {b.floats({2, 3})});
  b.w.node(Op::SELECT_V2, {truths[4], x, c}, {b.floats({2, 3})});
  const int32_t axis = b.constant({1});
  b.w.node(Op::REDUCE_ANY, {truths[2], axis}, {b.typed(Type::BOOL, {2, 1})}, Opt::ReducerOptions,
           reduce(true));
  b.w.node(Op::REDUCE_ALL, {truths[3], axis}, {b.typed(Type::BOOL, {2})}, Opt::ReducerOptions,
           reduce(false));
  return b.w;
}

ModelWriter reductions() {
  Bench b;
  const int32_t x = b.w.floats("x", {2, 3, 4});
  b.w.inputs = {x};
  const int32_t axes = b.constant({-1, 0});
  for (Op op : {Op::SUM, Op::REDUCE_MAX, Op::REDUCE_MIN}) {
    b.w.node(op, {x, axes}, {b.floats({3})}, Opt::ReducerOptions, reduce(false));
  }
  const int32_t axis = b.constant({1});
  b.w.node(Op::REDUCE_PROD, {x, axis}, {b.floats({2, 1, 4})}, Opt::ReducerOptions, reduce(true));
  b.w.node(Op::ARG_MAX, {x, axis}, {b.typed(Type::INT32, {2, 4})}, Opt::ArgMaxOptions,
           [](FlatBufferBuilder& f) { return tfl::CreateArgMaxOptions(f, Type::INT32); });
  b.w.node(Op::ARG_MIN, {x, axis}, {b.typed(Type::INT32, {2, 4})}, Opt::ArgMinOptions,
           [](FlatBufferBuilder& f) { return tfl::CreateArgMinOptions(f, Type::INT32); });
  const int32_t two = b.constant({2});
  b.w.tensors.back().shape = {};
  const int32_t values = b.floats({2, 3, 2});
  const int32_t indices = b.typed(Type::INT32, {2, 3, 2});
  b.w.node(Op::TOPK_V2, {x, two}, {values, indices});
  const int32_t image = b.w.floats("image", {1, 2, 3, 4});
  b.w.node(Op::RESHAPE, {x, b.constant({1, 2, 3, 4})}, {image});
  b.w.node(Op::L2_NORMALIZATION, {image}, {b.floats({1, 2, 3, 4})});
  b.w.node(Op::LOCAL_RESPONSE_NORMALIZATION, {image}, {b.floats({1, 2, 3, 4})},
           Opt::LocalResponseNormalizationOptions, [](FlatBufferBuilder& f) {
             return tfl::CreateLocalResponseNormalizationOptions(f, 1, 2, 0.5f, 0.75f);
           });
  b.w.node(Op::LOG_SOFTMAX, {x}, {b.floats({2, 3, 4})});
  return b.w;
}

ModelWriter int8Reductions() {
  Bench b;
  const int32_t x = b.w.quantised("x", Type::INT8, {2, 3}, 0.0625f, -4);
  b.w.inputs = {x};
  const int32_t axis = b.constant({1});
  b.w.node(Op::SUM, {x, axis}, {b.int8({2}, 0.25f, 5)}, Opt::ReducerOptions, reduce(false));
  b.w.node(Op::REDUCE_MAX, {x, axis}, {b.int8({2}, 0.0625f, -4)}, Opt::ReducerOptions,
           reduce(false));
  b.w.node(Op::ARG_MAX, {x, axis}, {b.typed(Type::INT32, {2})}, Opt::ArgMaxOptions,
           [](FlatBufferBuilder& f) { return tfl::CreateArgMaxOptions(f, Type::INT32); });
  b.w.node(Op::LOG_SOFTMAX, {x}, {b.int8({2, 3}, 16.0f / 256, 127)});
  return b.w;
}

ModelWriter movements() {
  Bench b;
  const int32_t x = b.w.floats("x", {2, 3, 4});
  b.w.inputs = {x};
  const int32_t slice = b.floats({2, 2, 1});
  b.w.node(Op::SLICE, {x, b.constant({0, 1, 2}), b.constant({2, -1, 1})}, {slice});
  const int32_t stridedSlice = b.floats({2, 3});
  b.w.node(Op::STRIDED_SLICE,
           {x, b.constant({-1, 0, 9}), b.constant({0, 3, 0}), b.constant({1, 2, -1})},
           {stridedSlice}, Opt::StridedSliceOptions, [](FlatBufferBuilder& f) {
             return tfl::CreateStridedSliceOptions(f, 0, 0, 0, 0, /*shrink*/ 1);
           });
  const int32_t last = b.constant({2});
  b.w.tensors.back().shape = {};
  const int32_t halves[] = {b.floats({2, 3, 2}), b.floats({2, 3, 2})};
  b.w.node(Op::SPLIT, {last, x}, {halves[0], halves[1]}, Opt::SplitOptions,
           [](FlatBufferBuilder& f) { return tfl::CreateSplitOptions(f, 2); });
  const int32_t parts[] = {b.floats({2, 3, 1}), b.floats({2, 3, 3})};
  b.w.node(Op::SPLIT_V, {x, b.constant({1, -1}), last}, {parts[0], parts[1]}, Opt::SplitVOptions,
           [](FlatBufferBuilder& f) { return tfl::CreateSplitVOptions(f, 2); });
  const int32_t rows[] = {b.floats({2, 4}), b.floats({2, 4}), b.floats({2, 4})};
  b.w.node(Op::UNPACK, {x}, {rows[0], rows[1], rows[2]}, Opt::UnpackOptions,
           [](FlatBufferBuilder& f) { return tfl::CreateUnpackOptions(f, 3, 1); });
  b.w.node(Op::PACK, {rows[2], rows[0]}, {b.floats({2, 4, 2})}, Opt::PackOptions,
           [](FlatBufferBuilder& f) { return tfl::CreatePackOptions(f, 2, -1); });
  const int32_t tile = b.floats({2, 6, 4});
  b.w.node(Op::TILE, {x, b.constant({1, 2, 1})}, {tile});
  const int32_t gather = b.floats({2, 2, 4});
  b.w.node(Op::GATHER, {x, b.constant({2, 0})}, {gather}, Opt::GatherOptions,
           [](FlatBufferBuilder& f) { return tfl::CreateGatherOptions(f, 1); });
  const int32_t embeddingLookup = b.floats({3, 3, 4});
  b.w.node(Op::EMBEDDING_LOOKUP, {b.constant({1, 0, 1}), x}, {embeddingLookup});
  const int32_t reverseV2 = b.floats({2, 3, 4});
  b.w.node(Op::REVERSE_V2, {x, b.constant({1})}, {reverseV2});
  const int32_t paddings = b.constant({0, 0, 1, 2, 1, 0});
  b.w.tensors.back().shape = {3, 2};
  const int32_t value = b.w.floatConstant("value", {}, {-7.5f});
  b.w.node(Op::PADV2, {x, paddings, value}, {b.floats({2, 6, 5})});
  b.w.node(Op::MIRROR_PAD, {x, paddings}, {b.floats({2, 6, 5})}, Opt::MirrorPadOptions,
           [](FlatBufferBuilder& f) {
             return tfl::CreateMirrorPadOptions(f, tfl::MirrorPadMode::REFLECT);
           });
  return b.w;
}

ModelWriter int8Blocks() {
  Bench b;
  const int32_t x = b.w.quantised("x", Type::INT8, {1, 4, 4, 2}, 0.5f, 3);
  b.w.inputs = {x};
  const auto like = [&b](std::vector<int32_t> shape) { return b.int8(std::move(shape), 0.5f, 3); };
  const int32_t deep = like({1, 2, 2, 8});
  b.w.node(Op::SPACE_TO_DEPTH, {x}, {deep}, Opt::SpaceToDepthOptions,
           [](FlatBufferBuilder& f) { return tfl::CreateSpaceToDepthOptions(f, 2); });
  b.w.node(Op::DEPTH_TO_SPACE, {deep}, {like({1, 4, 4, 2})}, Opt::DepthToSpaceOptions,
           [](FlatBufferBuilder& f) { return tfl::CreateDepthToSpaceOptions(f, 2); });
  const int32_t block = b.constant({2, 2});
  const int32_t borders = b.constant({1, 1, 0, 2});
  b.w.tensors.back().shape = {2, 2};
  const int32_t batches = like({4, 3, 3, 2});
  b.w.node(Op::SPACE_TO_BATCH_ND, {x, block, borders}, {batches});
  b.w.node(Op::BATCH_TO_SPACE_ND, {batches, block, borders}, {like({1, 4, 4, 2})});
  const int32_t none = b.constant({0, 0, 0, 0});
  b.w.tensors.back().shape = {2, 2};
  b.w.node(Op::BATCH_TO_SPACE_ND, {batches, block, none}, {like({1, 6, 6, 2})});
  const int32_t paddings = b.constant({0, 0, 1, 0, 0, 1, 0, 0});
  b.w.tensors.back().shape = {4, 2};
  const int32_t value = b.w.quantisedConstant("value", Type::INT8, {1}, {0x9c}, 0.5f, 3);
  b.w.tensors.back().shape = {};
  b.w.node(Op::PADV2, {x, paddings, value}, {like({1, 5, 5, 2})});
  const int32_t resizeNearestNeighbor = like({1, 3, 7, 2});
  b.w.node(Op::RESIZE_NEAREST_NEIGHBOR, {x, b.constant({3, 7})}, {resizeNearestNeighbor});
  return b.w;
}

ModelWriter floatSpatial() {
  Bench b;
  const int32_t x = b.w.floats("x", {1, 3, 3, 2});
  b.w.inputs = {x};
  const int32_t f = b.w.floatConstant("filter", {3, 3, 3, 2}, wave(54, 0.25f));
  const int32_t bias = b.w.floatConstant("bias", {3}, {1, -1, 0.5f});
  const int32_t spread = b.floats({1, 6, 6, 3});
  b.w.node(Op::TRANSPOSE_CONV, {b.constant({1, 6, 6, 3}), f, x, bias}, {spread},
           Opt::TransposeConvOptions, [](FlatBufferBuilder& fb) {
             return tfl::CreateTransposeConvOptions(fb, Pad::SAME, 2, 2);
           });
  b.w.node(
      Op::L2_POOL_2D, {x}, {b.floats({1, 2, 2, 2})}, Opt::Pool2DOptions,
      [](FlatBufferBuilder& fb) { return tfl::CreatePool2DOptions(fb, Pad::VALID, 1, 1, 2, 2); });
  const int32_t resized = b.floats({1, 2, 5, 2});
  b.w.node(Op::RESIZE_NEAREST_NEIGHBOR, {x, b.constant({2, 5})}, {resized},
           Opt::ResizeNearestNeighborOptions, [](FlatBufferBuilder& fb) {
             return tfl::CreateResizeNearestNeighborOptions(fb, false, true);
           });
  return b.w;
}

ModelWriter castsAndProducts() {
  Bench b;
  const int32_t x = b.w.floats("x", {2, 3});
  b.w.inputs = {x};
  const int32_t integers = b.typed(Type::INT32, {2, 3});
  b.w.node(Op::CAST, {x}, {integers});
  b.w.node(Op::CAST, {integers}, {b.floats({2, 3})});
  const int32_t filled = b.floats({2, 3});
  const int32_t value = b.w.floatConstant("value", {}, {1.5f});
  b.w.node(Op::FILL, {b.constant({2, 3}), value}, {filled});
  b.w.node(Op::BATCH_MATMUL, {x, filled}, {b.floats({2, 2})}, Opt::BatchMatMulOptions,
           [](FlatBufferBuilder& f) { return tfl::CreateBatchMatMulOptions(f, false, true); });
  return b.w;
}

ModelWriter floatLstm() {
  Bench b;
  const int32_t x = b.w.floats("x", {2, 3, 4});
  b.w.inputs = {x};
  std::vector<int32_t> in = {x};
  for (int gate = 0; gate < 4; ++gate) {
    in.push_back(b.w.floatConstant("w", {2, 4}, wave(8, 0.0625f * static_cast<float>(gate + 1))));
  }
  for (int gate = 0; gate < 4; ++gate) {
    in.push_back(b.w.floatConstant("r", {2, 2}, wave(4, 0.125f * static_cast<float>(gate - 2))));
  }
  in.insert(in.end(), 3, -1);
  for (float bias : {0.5f, 1.0f, -0.25f, 0.125f}) {
    in.push_back(b.w.floatConstant("bias", {2}, {bias, -bias}));
  }
  in.insert(in.end(), 2, -1);
  for (int state = 0; state < 2; ++state) {
    in.push_back(b.w.floats("state", {2, 2}));
    markVariable(b.w, in.back());
  }
  in.insert(in.end(), 4, -1);
  b.w.node(Op::UNIDIRECTIONAL_SEQUENCE_LSTM, in, {b.floats({2, 3, 2})},
           Opt::UnidirectionalSequenceLSTMOptions, sequenceLstm(false));
  return b.w;
}

ModelWriter int8Lstm() {
  Bench b;
  const float scale = 1.0f / 64;
  const int32_t x = b.w.quantised("x", Type::INT8, {2, 3, 4}, 1.0f / 32, 4);
  b.w.inputs = {x};
  std::vector<int32_t> in = {x};
  for (int gate = 0; gate < 4; ++gate) {
    in.push_back(
        b.w.quantisedConstant("w", Type::INT8, {2, 4}, waveBytes(8, 37 + gate, 101, 50), scale, 0));
  }
  for (int gate = 0; gate < 4; ++gate) {
    in.push_back(
        b.w.quantisedConstant("r", Type::INT8, {2, 2}, waveBytes(4, 29 + gate, 91, 45), scale, 0));
  }
  in.insert(in.end(), 3, -1);
  for (int32_t bias : {500, 900, -300, 200}) {
    in.push_back(b.constant({bias, -bias}));
    b.w.tensors.back().scales = {scale / 32};
    b.w.tensors.back().zeroPoints = {0};
  }
  in.insert(in.end(), 2, -1);
  in.push_back(b.w.quantised("hidden", Type::INT8, {2, 2}, 1.0f / 128, -5));
  markVariable(b.w, in.back());
  in.push_back(b.w.quantised("cell", Type::INT16, {2, 2}, 1.0f / 2048, 0));
  markVariable(b.w, in.back());
  in.insert(in.end(), 4, -1);
  std::vector<int32_t> intermediates;
  for (int gate = 0; gate < 4; ++gate) intermediates.push_back(b.w.floats("gate", {0}));
  intermediates.push_back(b.w.quantised("inner", Type::INT8, {0}, 1.0f / 128, -5));
  b.w.node(Op::UNIDIRECTIONAL_SEQUENCE_LSTM, in, {b.int8({2, 3, 2}, 1.0f / 128, -5)},
           Opt::UnidirectionalSequenceLSTMOptions, sequenceLstm(false))
      .intermediates = intermediates;
  return b.w;
}

ModelWriter int8LstmOfOneSequence() {
  ModelWriter w = int8Lstm();
  for (size_t tensor : {0, 13, 14, 20}) w.tensors[tensor].shape[0] = 1;
  return w;
}

ModelWriter int8LstmTimeMajor() {
  ModelWriter w = int8Lstm();
  w.tensors[0].shape = {3, 2, 4};
  w.tensors[20].shape = {3, 2, 2};
  w.nodes[0].options = [](flatbuffers::FlatBufferBuilder& b) {
    return tfl::CreateUnidirectionalSequenceLSTMOptions(b, tfl::ActivationFunctionType::TANH, 10, 0,
                                                        true)
        .Union();
  };
  return w;
}

ModelWriter dynamicRange() {
  Bench b;
  const int32_t image = b.w.floats("image", {2, 3, 3, 2});
  b.w.inputs = {image};
  // The scale keeps the values of a regular image away from the middle of two steps.
  const int32_t x = b.w.floats("x", {2, 3, 3, 2});
  b.w.node(Op::MUL, {image, b.w.floatConstant("factors", {2}, {0.77f, 1.31f})}, {x});
  const int32_t f = b.w.quantisedConstant("filter", Type::INT8, {2, 3, 3, 2},
                                          waveBytes(36, 41, 201, 100), 0.01f, 0);
  const int32_t f1 = b.w.quantisedConstant("pointwise", Type::INT8, {2, 1, 1, 2},
                                           waveBytes(4, 77, 201, 100), 0.02f, 0);
  const int32_t d =
      b.w.quantisedConstant("weights", Type::INT8, {2, 18}, waveBytes(36, 59, 201, 100), 0.01f, 0);
  const auto conv = [](FlatBufferBuilder& fb) {
    return tfl::CreateConv2DOptions(fb, Pad::SAME, 1, 1);
  };
  const int32_t zeros = b.w.floatConstant("bias", {2}, {0, 0});
  b.w.node(Op::CONV_2D, {x, f, zeros}, {b.floats({2, 3, 3, 2})}, Opt::Conv2DOptions, conv);
  b.w.node(Op::CONV_2D, {x, f1, zeros}, {b.floats({2, 3, 3, 2})}, Opt::Conv2DOptions, conv);
  b.w.node(Op::FULLY_CONNECTED, {x, d, zeros}, {b.floats({2, 2})}, Opt::FullyConnectedOptions,
           [](FlatBufferBuilder& fb) { return tfl::CreateFullyConnectedOptions(fb); });
  return b.w;
}

ModelWriter byteWeights() {
  Bench b;
  const int32_t x = b.w.inputs.emplace_back(b.w.floats("x", {4, 24}));
  const auto dense = [&](int32_t input, int32_t weights, int32_t units, int32_t y) {
    const int32_t bias = b.w.floatConstant("bias", {units}, std::vector<float>(units, 0.5f));
    b.w.node(Op::FULLY_CONNECTED, {input, weights, bias}, {y}, Opt::FullyConnectedOptions,
             [](FlatBufferBuilder& fb) { return tfl::CreateFullyConnectedOptions(fb); });
  };
  const int32_t one =
      b.w.quantisedConstant("one", Type::INT8, {24, 24}, waveBytes(576, 41, 201, 100), 0.01f, 3);
  const int32_t between = b.w.floats("between", {4, 24});
  dense(x, one, 24, between);
  dense(between, one, 24, b.floats({4, 24}));
  const int32_t channels = b.w.quantisedConstant("channels", Type::INT8, {40, 24},
                                                 waveBytes(960, 77, 201, 100), 0.01f, 0);
  TensorSpec& spec = b.w.tensors.back();
  for (int i = 1; i < 40; ++i) spec.scales.push_back(0.01f + 0.001f * static_cast<float>(i));
  spec.zeroPoints.assign(40, 0);
  const int32_t wide = b.w.floats("wide", {4, 40});
  dense(between, channels, 40, wide);
  const int32_t table =
      b.w.quantisedConstant("table", Type::UINT8, {4, 40}, waveBytes(160, 59, 201, 0), 0.02f, 100);
  const int32_t real = b.w.floats("real", {4, 40});
  b.w.node(Op::DEQUANTIZE, {table}, {real});
  b.w.node(Op::MUL, {wide, real}, {b.floats({4, 40})});
  std::vector<uint16_t> bits;
  for (int i = 0; i < 192; ++i) bits.push_back(toFloat16(0.01f * static_cast<float>(i - 90)).bits);
  const int32_t halves = b.w.floats("halves", {8, 24});
  b.w.tensors.back().type = Type::FLOAT16;
  b.w.tensors.back().data = bytesOf(bits);
  const int32_t small = b.w.floats("small", {8, 24});
  b.w.node(Op::DEQUANTIZE, {halves}, {small});
  dense(between, small, 8, b.floats({4, 8}));
  const int32_t nibbles =
      b.w.quantisedConstant("nibbles", Type::INT4, {16, 24}, waveBytes(192, 53, 256, 0), 0.05f, 0);
  dense(between, nibbles, 16, b.floats({4, 16}));
  return b.w;
}

ModelWriter openShapes() {
  Bench b;
  const int32_t x = b.w.floats("x", {1, 2, 3});
  b.w.tensors.back().shapeSignature = {-1, 2, 3};
  b.w.inputs = {x};
  const auto wide = [&](std::vector<int32_t> shape) {
    const int32_t index = b.w.floats("wide", std::move(shape));
    b.w.tensors.back().type = Type::INT64;
    return index;
  };
  const int32_t shape = wide({3});
  b.w.node(Op::SHAPE, {x}, {shape});
  const int32_t batch = wide({});
  b.w.node(Op::STRIDED_SLICE, {shape, b.constant({0}), b.constant({1}), b.constant({1})}, {batch},
           Opt::StridedSliceOptions,
           [](FlatBufferBuilder& f) { return tfl::CreateStridedSliceOptions(f, 0, 0, 0, 0, 1); });
  const int32_t six = wide({});
  b.w.tensors.back().data = bytesOf<int64_t>({6});
  const int32_t target = wide({2});
  b.w.node(Op::PACK, {batch, six}, {target}, Opt::PackOptions,
           [](FlatBufferBuilder& f) { return tfl::CreatePackOptions(f, 2, 0); });
  const int32_t flat = b.floats({1, 6});
  b.w.tensors.back().shapeSignature = {-1, 6};
  b.w.node(Op::RESHAPE, {x, target}, {flat});
  const int32_t best = b.typed(Type::INT64, {1});
  b.w.tensors.back().shapeSignature = {-1};
  b.w.node(Op::ARG_MAX, {flat, b.constant({1})}, {best}, Opt::ArgMaxOptions,
           [](FlatBufferBuilder& f) { return tfl::CreateArgMaxOptions(f, Type::INT64); });
  return b.w;
}

ModelWriter extensionOperators() {
  Bench b;
  const int32_t x = b.w.floats("x", {2, 3});
  const int32_t q = b.w.quantised("q", Type::INT8, {2, 3}, 0.05f, 4);
  b.w.inputs = {x, q};
  const int32_t indices = b.w.intConstant("indices", {1, 2, 0, 0});
  b.w.tensors.back().shape = {2, 2};
  b.w.node(Op::GATHER_ND, {x, indices}, {b.floats({2})});
  b.w.node(Op::MUL, {q, q}, {b.int8({2, 3}, 0.001f, -7)});
  const int32_t bins = b.typed(Type::COMPLEX64, {2, 3});
  b.w.node(Op::RFFT2D, {x, b.constant({2, 4})}, {bins});
  for (const Op op : {Op::COMPLEX_ABS, Op::REAL, Op::IMAG}) {
    b.w.node(op, {bins}, {b.floats({2, 3})});
  }
  return b.w;
}

ModelWriter placedIntegers() {
  Bench b;
  const int32_t x = b.w.floats("x", {2, 3});
  b.w.tensors.back().type = Type::INT32;
  b.w.inputs = {x};
  const auto ints = [&b](std::vector<int32_t> shape) {
    return b.typed(Type::INT32, std::move(shape));
  };
  const auto scalar = [&b](int32_t value) {
    const int32_t index = b.constant({value});
    b.w.tensors.back().shape = {};
    return index;
  };
  const int32_t order = b.constant({1, 0});
  b.w.node(Op::TRANSPOSE, {x, order}, {ints({3, 2})});
  const int32_t pads = b.constant({1, 0, 0, 1});
  b.w.tensors.back().shape = {2, 2};
  const int32_t seven = scalar(7);
  b.w.node(Op::PADV2, {x, pads, seven}, {ints({3, 4})});
  const int32_t column = b.constant({5, 6});
  b.w.tensors.back().shape = {2, 1};
  b.w.node(Op::CONCATENATION, {x, column}, {ints({2, 4})}, Opt::ConcatenationOptions,
           [](FlatBufferBuilder& f) { return tfl::CreateConcatenationOptions(f, 1); });
  const int32_t rows = b.constant({0});
  b.w.node(Op::SUM, {x, rows}, {ints({3})}, Opt::ReducerOptions, reduce(false));
  const int32_t depth = scalar(4);
  const int32_t on = scalar(1);
  const int32_t off = scalar(0);
  b.w.node(Op::ONE_HOT, {x, depth, on, off}, {ints({2, 3, 4})}, Opt::OneHotOptions,
           [](FlatBufferBuilder& f) { return tfl::CreateOneHotOptions(f, -1); });
  const int32_t places = b.constant({2, 0});
  b.w.tensors.back().shape = {2, 1};
  const int32_t scattered = b.constant({4, 3});
  b.w.node(Op::SCATTER_ND, {places, x, scattered}, {ints({4, 3})});
  const int32_t two = scalar(2);
  b.w.node(Op::UNSORTED_SEGMENT_MAX, {x, order, two}, {ints({2, 3})});
  const int32_t segments = b.constant({0, 0});
  b.w.node(Op::SEGMENT_SUM, {x, segments}, {ints({1, 3})});
  const int32_t picks = b.constant({2, 0});
  b.w.tensors.back().shape = {2, 1};
  b.w.node(Op::GATHER, {x, picks}, {ints({2, 1})}, Opt::GatherOptions,
           [](FlatBufferBuilder& f) { return tfl::CreateGatherOptions(f, 1, 1); });
  const int32_t isLarge = b.typed(Type::BOOL, {2, 3});
  const int32_t limits = b.constant({1, 2, 3});
  b.w.node(Op::GREATER, {x, limits}, {isLarge});
  const int32_t other = scalar(-1);
  b.w.node(Op::SELECT_V2, {isLarge, x, other}, {ints({2, 3})});
  const int32_t flat = b.constant({6});
  b.w.node(Op::RESHAPE, {isLarge, flat}, {b.typed(Type::BOOL, {6})});
  return b.w;
}

ModelWriter newerFunctions() {
  Bench b;
  const int32_t x = b.w.floats("x", {2, 3});
  b.w.inputs = {x};
  for (const Op op : {Op::GELU, Op::COS, Op::ROUND, Op::SIGN, Op::RELU_0_TO_1}) {
    b.w.node(op, {x}, {b.floats({2, 3})});
  }
  b.w.node(Op::ATAN2, {x, x}, {b.floats({2, 3})});
  const int32_t axis = b.constant({1});
  b.w.tensors.back().shape = {};
  b.w.node(Op::CUMSUM, {x, axis}, {b.floats({2, 3})}, Opt::CumsumOptions,
           [](FlatBufferBuilder& f) { return tfl::CreateCumsumOptions(f, true, true); });
  b.w.node(Op::BUCKETIZE, {x}, {b.typed(Type::INT32, {2, 3})}, Opt::BucketizeOptions,
           [](FlatBufferBuilder& f) {
             const std::vector<float> limits = {-1, 0, 2};
             return tfl::CreateBucketizeOptionsDirect(f, &limits);
           });
  b.w.node(Op::FAKE_QUANT, {x}, {b.floats({2, 3})}, Opt::FakeQuantOptions,
           [](FlatBufferBuilder& f) { return tfl::CreateFakeQuantOptions(f, -1, 1, 8); });
  const int32_t lengths = b.constant({2, 3});
  b.w.node(Op::REVERSE_SEQUENCE, {x, lengths}, {b.floats({2, 3})}, Opt::ReverseSequenceOptions,
           [](FlatBufferBuilder& f) { return tfl::CreateReverseSequenceOptions(f, 1, 0); });
  b.w.node(Op::MATRIX_DIAG, {x}, {b.floats({2, 3, 3})});
  const int32_t diagonal = b.w.floatConstant("diagonal", {2}, {8, 9});
  b.w.node(Op::MATRIX_SET_DIAG, {x, diagonal}, {b.floats({2, 3})});
  const int32_t shape = b.constant({2, 2, 3});
  b.w.node(Op::BROADCAST_TO, {x, shape}, {b.floats({2, 2, 3})});
  const int32_t part = b.w.floatConstant("part", {1, 2}, {8, 9});
  const int32_t begin = b.constant({1, 0});
  b.w.node(Op::DYNAMIC_UPDATE_SLICE, {x, part, begin}, {b.floats({2, 3})});
  const int32_t weights = b.w.floatConstant("weights", {1, 3}, {1, 2, 3});
  const int32_t recurrent = b.w.floatConstant("recurrent", {1, 1}, {0.5f});
  const int32_t bias = b.w.floatConstant("bias", {1}, {0.25f});
  const int32_t state = b.w.floats("state", {2, 1});
  markVariable(b.w, state);
  b.w.node(Op::RNN, {x, weights, recurrent, bias, state}, {b.floats({2, 1})}, Opt::RNNOptions,
           [](FlatBufferBuilder& f) { return tfl::CreateRNNOptions(f, Act::TANH); });
  return b.w;
}

std::vector<Sample> sampleOperators() {
  return {{"float_functions", floatFunctions()},
          {"int8_functions", int8Functions()},
          {"float_pairs", floatPairs()},
          {"comparisons", comparisons()},
          {"reductions", reductions()},
          {"int8_reductions", int8Reductions()},
          {"movements", movements()},
          {"int8_blocks", int8Blocks()},
          {"float_spatial", floatSpatial()},
          {"transposed_by_mediapipe", transposedByMediaPipe()},
          {"casts_and_products", castsAndProducts()},
          {"float_lstm", floatLstm()},
          {"int8_lstm", int8Lstm()},
          {"dynamic_range", dynamicRange()},
          {"byte_weights", byteWeights()},
          {"open_shapes", openShapes()},
          {"extension_operators", extensionOperators()},
          {"placed_integers", placedIntegers()},
          {"newer_functions", newerFunctions()}};
}

}  // namespace halyard::import
