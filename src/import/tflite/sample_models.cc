// The sample models.
#include "import/tflite/sample_models.h"

#include <flatbuffers/flexbuffers.h>

#include "base/float16.h"

namespace halyard::import {
namespace {

using flatbuffers::FlatBufferBuilder;
using Act = tfl::ActivationFunctionType;
using Op = tfl::BuiltinOperator;
using Opt = tfl::BuiltinOptions;
using Pad = tfl::Padding;
using Type = tfl::TensorType;

auto conv(Pad padding, int strideWidth, int strideHeight, Act activation, int dilation = 1) {
  return [=](FlatBufferBuilder& b) {
    return tfl::CreateConv2DOptions(b, padding, strideWidth, strideHeight, activation, dilation,
                                    dilation);
  };
}

auto depthwise(Pad padding, int multiplier) {
  return [=](FlatBufferBuilder& b) {
    return tfl::CreateDepthwiseConv2DOptions(b, padding, 1, 1, multiplier);
  };
}

auto dense(Act activation = Act::NONE, bool keepDims = false) {
  return [=](FlatBufferBuilder& b) {
    return tfl::CreateFullyConnectedOptions(
        b, activation, tfl::FullyConnectedOptionsWeightsFormat::DEFAULT, keepDims);
  };
}

auto pool(Pad padding, int stride, int window) {
  return [=](FlatBufferBuilder& b) {
    return tfl::CreatePool2DOptions(b, padding, stride, stride, window, window);
  };
}

std::vector<float> ramp(size_t count, float step) {
  std::vector<float> values;
  for (size_t i = 0; i < count; ++i) values.push_back(static_cast<float>(i) * step - 1.0f);
  return values;
}

std::vector<uint8_t> bytesRamp(size_t count, int first) {
  std::vector<uint8_t> values;
  for (size_t i = 0; i < count; ++i)
    values.push_back(static_cast<uint8_t>(first + static_cast<int>(i)));
  return values;
}

// A constant with one scale per index of `dimension`.
int32_t perChannelConstant(ModelWriter& w, const char* name, std::vector<int32_t> shape,
                           std::vector<uint8_t> data, std::vector<float> scales,
                           int32_t dimension) {
  TensorSpec spec;
  spec.name = name;
  spec.type = Type::INT8;
  spec.shape = std::move(shape);
  spec.data = std::move(data);
  spec.zeroPoints.assign(scales.size(), 0);
  spec.scales = std::move(scales);
  spec.quantizedDimension = dimension;
  return w.tensor(std::move(spec));
}

int32_t biasConstant(ModelWriter& w, const std::vector<int32_t>& values,
                     std::vector<float> scales) {
  const int32_t index = w.intConstant("bias", values);
  w.tensors.back().zeroPoints.assign(scales.size(), 0);
  w.tensors.back().scales = std::move(scales);
  return index;
}

}  // namespace

ModelWriter floatConvolution() {
  ModelWriter w;
  const int32_t x = w.floats("image", {1, 4, 4, 2});
  const int32_t f = w.floatConstant("filter", {3, 3, 3, 2}, ramp(54, 0.05f));
  const int32_t y = w.floats("features", {1, 4, 2, 3});
  w.node(Op::CONV_2D, {x, f}, {y}, Opt::Conv2DOptions, conv(Pad::SAME, 2, 1, Act::RELU6));
  w.inputs = {x};
  w.outputs = {y};
  return w;
}

ModelWriter dilatedConvolution() {
  ModelWriter w;
  const int32_t x = w.floats("image", {1, 4, 4, 1});
  const int32_t f = w.floatConstant("filter", {1, 2, 2, 1}, {1, 1, 1, 1});
  const int32_t b = w.floatConstant("bias", {1}, {0.5f});
  const int32_t y = w.floats("features", {1, 2, 2, 1});
  w.node(Op::CONV_2D, {x, f, b}, {y}, Opt::Conv2DOptions, conv(Pad::VALID, 1, 1, Act::NONE, 2));
  w.inputs = {x};
  w.outputs = {y};
  return w;
}

ModelWriter perChannelConvolutions() {
  ModelWriter w;
  const int32_t x = w.quantised("image", Type::INT8, {1, 3, 3, 2}, 0.5f, -3);
  const int32_t f = perChannelConstant(w, "filter", {2, 1, 1, 2}, bytesOf<int8_t>({1, -2, 3, 4}),
                                       {0.25f, 0.5f}, 0);
  const int32_t b = biasConstant(w, {4, -8}, {0.125f, 0.25f});
  const int32_t h = w.quantised("hidden", Type::INT8, {1, 3, 3, 2}, 1.0f, 5);
  const int32_t f2 = perChannelConstant(w, "depthwise/filter", {1, 3, 3, 2}, bytesRamp(18, -9),
                                        {0.125f, 0.0625f}, 3);
  const int32_t b2 = biasConstant(w, {1, 2}, {0.125f, 0.0625f});
  const int32_t y = w.quantised("features", Type::INT8, {1, 1, 1, 2}, 2.0f, 0);
  w.node(Op::CONV_2D, {x, f, b}, {h}, Opt::Conv2DOptions, conv(Pad::VALID, 1, 1, Act::NONE));
  w.node(Op::DEPTHWISE_CONV_2D, {h, f2, b2}, {y}, Opt::DepthwiseConv2DOptions,
         depthwise(Pad::VALID, 1));
  w.inputs = {x};
  w.outputs = {y};
  return w;
}

ModelWriter uint8Convolutions() {
  ModelWriter w;
  const int32_t x = w.quantised("image", Type::UINT8, {1, 2, 2, 1}, 0.5f, 128);
  const int32_t f =
      w.quantisedConstant("filter", Type::UINT8, {2, 1, 1, 1}, {130, 120}, 0.25f, 125);
  const int32_t b = biasConstant(w, {8, -8}, {0.125f});
  const int32_t h = w.quantised("hidden", Type::UINT8, {1, 2, 2, 2}, 1.0f, 100);
  const int32_t f2 = w.quantisedConstant("depthwise/filter", Type::UINT8, {1, 2, 2, 4},
                                         bytesRamp(16, 120), 0.5f, 128);
  const int32_t y = w.quantised("features", Type::UINT8, {1, 2, 2, 4}, 1.5f, 90);
  w.node(Op::CONV_2D, {x, f, b}, {h}, Opt::Conv2DOptions, conv(Pad::SAME, 1, 1, Act::RELU));
  w.node(Op::DEPTHWISE_CONV_2D, {h, f2}, {y}, Opt::DepthwiseConv2DOptions, depthwise(Pad::SAME, 2));
  w.inputs = {x};
  w.outputs = {y};
  return w;
}

ModelWriter denseFloat() {
  ModelWriter w;
  const int32_t x = w.floats("x", {2, 3});
  const int32_t f = w.floatConstant("weights", {2, 3}, {1, 2, 3, -1, -2, -3});
  const int32_t b = w.floatConstant("bias", {2}, {10, 20});
  const int32_t y = w.floats("y", {2, 2});
  w.node(Op::FULLY_CONNECTED, {x, f, b}, {y}, Opt::FullyConnectedOptions, dense(Act::RELU));
  w.inputs = {x};
  w.outputs = {y};
  return w;
}

ModelWriter denseKeepDims() {
  ModelWriter w;
  const int32_t x = w.floats("x", {2, 1, 3});
  const int32_t f = w.floatConstant("weights", {2, 3}, {1, 2, 3, -1, -2, -3});
  const int32_t y = w.floats("y", {2, 1, 2});
  w.node(Op::FULLY_CONNECTED, {x, f}, {y}, Opt::FullyConnectedOptions, dense(Act::NONE, true));
  w.inputs = {x};
  w.outputs = {y};
  return w;
}

ModelWriter denseFromVector() {
  ModelWriter w;
  const int32_t x = w.floats("x", {3});
  const int32_t f = w.floatConstant("weights", {2, 3}, {1, 2, 3, -1, -2, -3});
  const int32_t b = w.floatConstant("bias", {2}, {10, 20});
  const int32_t y = w.floats("y", {1, 2});
  w.node(Op::FULLY_CONNECTED, {x, f, b}, {y}, Opt::FullyConnectedOptions, dense());
  w.inputs = {x};
  w.outputs = {y};
  return w;
}

ModelWriter denseInt8() {
  ModelWriter w;
  const int32_t x = w.quantised("x", Type::INT8, {1, 3}, 0.5f, 1);
  const int32_t f = w.quantisedConstant("weights", Type::INT8, {2, 3},
                                        bytesOf<int8_t>({1, 2, 3, -1, -2, -3}), 0.25f, 0);
  const int32_t b = biasConstant(w, {8, 16}, {0.125f});
  const int32_t y = w.quantised("y", Type::INT8, {1, 2}, 0.5f, -2);
  w.node(Op::FULLY_CONNECTED, {x, f, b}, {y}, Opt::FullyConnectedOptions, dense());
  w.inputs = {x};
  w.outputs = {y};
  return w;
}

ModelWriter densePerChannel() {
  ModelWriter w;
  const int32_t x = w.quantised("x", Type::INT8, {1, 3}, 0.5f, 1);
  const int32_t f = perChannelConstant(w, "weights", {2, 3}, bytesOf<int8_t>({1, 2, 3, -1, -2, -3}),
                                       {0.25f, 0.5f}, 0);
  const int32_t b = biasConstant(w, {8, 16}, {0.125f, 0.25f});
  const int32_t y = w.quantised("y", Type::INT8, {1, 2}, 0.5f, -2);
  w.node(Op::FULLY_CONNECTED, {x, f, b}, {y}, Opt::FullyConnectedOptions, dense(Act::RELU));
  w.inputs = {x};
  w.outputs = {y};
  return w;
}

ModelWriter uint8Arithmetic() {
  ModelWriter w;
  const int32_t a = w.quantised("a", Type::UINT8, {1, 2, 2, 1}, 0.5f, 100);
  const int32_t b = w.quantised("b", Type::UINT8, {1, 2, 2, 1}, 0.25f, 50);
  const int32_t sum = w.quantised("sum", Type::UINT8, {1, 2, 2, 1}, 0.75f, 10);
  const int32_t difference = w.quantised("difference", Type::UINT8, {1, 2, 2, 1}, 1.0f, 128);
  const int32_t factor = w.quantisedConstant("factor", Type::UINT8, {}, {3}, 0.5f, 1);
  const int32_t product = w.quantised("product", Type::UINT8, {1, 2, 2, 1}, 1.25f, 120);
  w.node(Op::ADD, {a, b}, {sum}, Opt::AddOptions,
         [](FlatBufferBuilder& f) { return tfl::CreateAddOptions(f, Act::RELU); });
  w.node(Op::SUB, {sum, a}, {difference}, Opt::SubOptions,
         [](FlatBufferBuilder& f) { return tfl::CreateSubOptions(f); });
  w.node(Op::MUL, {difference, factor}, {product}, Opt::MulOptions,
         [](FlatBufferBuilder& f) { return tfl::CreateMulOptions(f); });
  w.inputs = {a, b};
  w.outputs = {product, sum};
  return w;
}

ModelWriter floatActivations() {
  ModelWriter w;
  const int32_t x = w.floats("x", {2, 3});
  const int32_t one = w.floatConstant("one", {}, {1});
  w.inputs = {x};
  int32_t last = w.floats("shifted", {2, 3});
  w.node(Op::ADD, {x, one}, {last});
  for (Op op : {Op::RELU, Op::RELU_N1_TO_1, Op::RELU6, Op::LOGISTIC}) {
    const int32_t next = w.floats(tfl::EnumNameBuiltinOperator(op), {2, 3});
    w.node(op, {last}, {next});
    last = next;
  }
  const int32_t y = w.floats("probabilities", {2, 3});
  w.node(Op::SOFTMAX, {last}, {y}, Opt::SoftmaxOptions,
         [](FlatBufferBuilder& b) { return tfl::CreateSoftmaxOptions(b, 1.5f); });
  w.outputs = {y};
  return w;
}

ModelWriter int8Activations() {
  ModelWriter w;
  const int32_t x = w.quantised("x", Type::INT8, {1, 4}, 0.5f, 0);
  const int32_t relu = w.quantised("relu", Type::INT8, {1, 4}, 0.25f, -128);
  const int32_t relu6 = w.quantised("relu6", Type::INT8, {1, 4}, 0.25f, -128);
  const int32_t sigmoid = w.quantised("sigmoid", Type::INT8, {1, 4}, 1.0f / 256, -128);
  const int32_t y = w.quantised("probabilities", Type::INT8, {1, 4}, 1.0f / 256, -128);
  w.node(Op::RELU, {x}, {relu});
  w.node(Op::RELU6, {relu}, {relu6});
  w.node(Op::LOGISTIC, {relu6}, {sigmoid});
  w.node(Op::SOFTMAX, {sigmoid}, {y}, Opt::SoftmaxOptions,
         [](FlatBufferBuilder& b) { return tfl::CreateSoftmaxOptions(b, 1.0f); });
  w.inputs = {x};
  w.outputs = {y};
  return w;
}

ModelWriter spatialOperators() {
  ModelWriter w;
  const int32_t x = w.floats("image", {1, 4, 4, 1});
  const int32_t average = w.floats("average", {1, 2, 2, 1});
  const int32_t maximum = w.floats("maximum", {1, 2, 2, 1});
  TensorSpec spec;
  spec.name = "paddings";
  spec.type = Type::INT64;
  spec.shape = {4, 2};
  spec.data = bytesOf<int64_t>({0, 0, 1, 0, 0, 1, 0, 0});
  const int32_t paddings = w.tensor(std::move(spec));
  const int32_t padded = w.floats("padded", {1, 3, 3, 1});
  const int32_t size = w.intConstant("size", {6, 5});
  const int32_t y = w.floats("resized", {1, 6, 5, 1});
  w.node(Op::AVERAGE_POOL_2D, {x}, {average}, Opt::Pool2DOptions, pool(Pad::VALID, 2, 2));
  w.node(Op::MAX_POOL_2D, {average}, {maximum}, Opt::Pool2DOptions, pool(Pad::SAME, 1, 2));
  w.node(Op::PAD, {maximum, paddings}, {padded});
  w.node(Op::RESIZE_BILINEAR, {padded, size}, {y}, Opt::ResizeBilinearOptions,
         [](FlatBufferBuilder& b) { return tfl::CreateResizeBilinearOptions(b, false, true); });
  w.inputs = {x};
  w.outputs = {y};
  return w;
}

ModelWriter shapeOperators() {
  ModelWriter w;
  const int32_t x = w.floats("x", {1, 2, 3});
  const int32_t target = w.intConstant("target", {-1, 1, 2});
  const int32_t a = w.floats("reshaped", {3, 1, 2});
  const int32_t b = w.floats("squeezed", {3, 2});
  const int32_t axis = w.intConstant("axis", {-1});
  const int32_t c = w.floats("expanded", {3, 2, 1});
  const int32_t order = w.intConstant("order", {2, 0, 1});
  const int32_t d = w.floats("transposed", {1, 3, 2});
  const int32_t e = w.floats("again", {1, 2, 3});
  const int32_t f = w.floats("joined", {1, 4, 3});
  const int32_t axes = w.intConstant("axes", {1, -1});
  const int32_t y = w.floats("mean", {1, 1, 1});
  w.node(Op::RESHAPE, {x, target}, {a});
  w.node(Op::SQUEEZE, {a}, {b}, Opt::SqueezeOptions, [](FlatBufferBuilder& builder) {
    const std::vector<int32_t> dims = {1};
    return tfl::CreateSqueezeOptionsDirect(builder, &dims);
  });
  w.node(Op::EXPAND_DIMS, {b, axis}, {c});
  w.node(Op::TRANSPOSE, {c, order}, {d});
  w.node(Op::RESHAPE, {d}, {e}, Opt::ReshapeOptions, [](FlatBufferBuilder& builder) {
    const std::vector<int32_t> dims = {1, 2, 3};
    return tfl::CreateReshapeOptionsDirect(builder, &dims);
  });
  w.node(Op::CONCATENATION, {e, x}, {f}, Opt::ConcatenationOptions,
         [](FlatBufferBuilder& builder) { return tfl::CreateConcatenationOptions(builder, -2); });
  w.node(Op::MEAN, {f, axes}, {y}, Opt::ReducerOptions,
         [](FlatBufferBuilder& builder) { return tfl::CreateReducerOptions(builder, true); });
  w.inputs = {x};
  w.outputs = {y};
  return w;
}

ModelWriter requantisedMean() {
  ModelWriter w;
  const int32_t x = w.quantised("x", Type::INT8, {1, 2, 2, 1}, 1.0f, 0);
  const int32_t axes = w.intConstant("axes", {1, 2});
  const int32_t y = w.quantised("mean", Type::INT8, {1, 1}, 0.25f, 10);
  w.node(Op::MEAN, {x, axes}, {y});
  w.inputs = {x};
  w.outputs = {y};
  return w;
}

ModelWriter quantisationChain() {
  ModelWriter w;
  const int32_t x = w.floats("x", {2, 2});
  const int32_t a = w.quantised("int8", Type::INT8, {2, 2}, 0.5f, -10);
  const int32_t b = w.quantised("uint8", Type::UINT8, {2, 2}, 0.5f, 118);
  const int32_t y = w.floats("y", {2, 2});
  w.node(Op::QUANTIZE, {x}, {a});
  w.node(Op::QUANTIZE, {a}, {b});
  w.node(Op::DEQUANTIZE, {b}, {y});
  w.inputs = {x};
  w.outputs = {y, b};
  return w;
}

ModelWriter foldedWeights() {
  ModelWriter w;
  const int32_t x = w.floats("x", {1, 2});
  TensorSpec spec;
  spec.name = "half";
  spec.type = Type::FLOAT16;
  spec.shape = {2, 2};
  std::vector<uint16_t> halves;
  for (float value : {1.0f, -2.0f, 0.5f, 4.0f}) halves.push_back(toFloat16(value).bits);
  spec.data = bytesOf(halves);
  const int32_t half = w.tensor(std::move(spec));
  const int32_t f = w.floats("weights", {2, 2});
  const int32_t small =
      perChannelConstant(w, "small", {2}, bytesOf<int8_t>({4, -4}), {0.25f, 0.5f}, 0);
  const int32_t b = w.floats("bias", {2});
  const int32_t y = w.floats("y", {1, 2});
  w.node(Op::DEQUANTIZE, {half}, {f});
  w.node(Op::DEQUANTIZE, {small}, {b});
  w.node(Op::FULLY_CONNECTED, {x, f, b}, {y}, Opt::FullyConnectedOptions, dense());
  w.inputs = {x};
  w.outputs = {y};
  return w;
}

ModelWriter detection() {
  ModelWriter w;
  const int32_t boxes = w.quantised("boxes", Type::UINT8, {1, 3, 4}, 0.125f, 128);
  const int32_t scores = w.quantised("scores", Type::UINT8, {1, 3, 3}, 1.0f / 256, 0);
  const int32_t anchors =
      w.quantisedConstant("anchors", Type::UINT8, {3, 4},
                          {50, 50, 20, 20, 50, 50, 20, 22, 150, 150, 40, 40}, 0.005f, 0);
  const int32_t out[] = {w.floats("detected boxes", {}), w.floats("detected classes", {}),
                         w.floats("detected scores", {}), w.floats("count", {})};
  NodeSpec& node = w.node(Op::CUSTOM, {boxes, scores, anchors}, {out[0], out[1], out[2], out[3]});
  node.customName = "TFLite_Detection_PostProcess";
  flexbuffers::Builder b;
  b.Map([&]() {
    b.Int("max_detections", 2);
    b.Int("max_classes_per_detection", 1);
    b.Int("detections_per_class", 100);
    b.Bool("use_regular_nms", false);
    b.Float("nms_score_threshold", 0.25f);
    b.Float("nms_iou_threshold", 0.5f);
    b.Int("num_classes", 2);
    b.Float("y_scale", 10.0f);
    b.Float("x_scale", 10.0f);
    b.Float("h_scale", 5.0f);
    b.Float("w_scale", 5.0f);
  });
  b.Finish();
  node.customOptions = b.GetBuffer();
  w.inputs = {boxes, scores};
  w.outputs = {out[0], out[1], out[2], out[3]};
  return w;
}

ModelWriter transposedByMediaPipe() {
  ModelWriter w = floatSpatial();
  NodeSpec& node = w.nodes[0];
  node.op = Op::CUSTOM;
  node.customName = "Convolution2DTransposeBias";
  node.customOptions = bytesOf({1, 2, 2});
  node.optionsType = Opt::NONE;
  node.options = {};
  node.inputs = {node.inputs[2], node.inputs[1], node.inputs[3]};
  return w;
}

std::vector<Sample> sampleModels() {
  std::vector<Sample> samples = {{"float_convolution", floatConvolution()},
                                 {"dilated_convolution", dilatedConvolution()},
                                 {"per_channel_convolutions", perChannelConvolutions()},
                                 {"uint8_convolutions", uint8Convolutions()},
                                 {"dense_float", denseFloat()},
                                 {"dense_keep_dims", denseKeepDims()},
                                 {"dense_from_vector", denseFromVector()},
                                 {"dense_int8", denseInt8()},
                                 {"dense_per_channel", densePerChannel()},
                                 {"uint8_arithmetic", uint8Arithmetic()},
                                 {"float_activations", floatActivations()},
                                 {"int8_activations", int8Activations()},
                                 {"spatial_operators", spatialOperators()},
                                 {"shape_operators", shapeOperators()},
                                 {"requantised_mean", requantisedMean()},
                                 {"quantisation_chain", quantisationChain()},
                                 {"folded_weights", foldedWeights()},
                                 {"detection", detection()}};
  for (Sample& sample : sampleOperators()) samples.push_back(std::move(sample));
  for (Sample& sample : sampleSubgraphs()) samples.push_back(std::move(sample));
  return samples;
}

}  // namespace halyard::import
