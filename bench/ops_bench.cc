// Speed of the reference kernels that dominate image networks, on one thread. "FLOPS" counts a
// multiplication and an addition as two. For MobileNetV2 the figure is the time of all its layers.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "base/float16.h"
#include "ops/testing/test_operand.h"

namespace halyard::ops {
namespace {

using testing::InlineServices;
using testing::TestOperand;

enum class Precision { FLOAT, QUANT8, SIGNED_PER_CHANNEL };

constexpr int32_t kPaddingSame = 1;
constexpr float kInputScale = 0.02f;
constexpr float kFilterScale = 0.01f;

size_t countOf(const Shape& dims) {
  size_t count = 1;
  for (uint32_t d : dims) count *= d;
  return count;
}

TestOperand randomTensor(OperandType type, const Shape& dims, float scale, int32_t zeroPoint) {
  std::minstd_rand random(1);
  if (type == OperandType::TENSOR_FLOAT32) {
    std::uniform_real_distribution<float> real(-1, 1);
    std::vector<float> values(countOf(dims));
    for (float& value : values) value = real(random);
    return TestOperand::of<float>(type, dims, values);
  }
  if (type == OperandType::TENSOR_FLOAT16) {
    std::uniform_real_distribution<float> real(-1, 1);
    std::vector<Float16> values(countOf(dims));
    for (Float16& value : values) value = toFloat16(real(random));
    return TestOperand::of<Float16>(type, dims, values);
  }
  std::vector<uint8_t> values(countOf(dims));
  for (uint8_t& value : values) value = static_cast<uint8_t>(random());
  return TestOperand::of<uint8_t>(type, dims, values, scale, zeroPoint);
}

// An operation with its operands, ready for repeated runs.
class Runnable {
 public:
  // `filterQuant` belongs to input 1 and must outlive this object; null without it.
  Runnable(OperationType type, std::vector<TestOperand> inputs, TestOperand output,
           const SymmPerChannelQuantParams* filterQuant = nullptr)
      : definition_(*definitionOf(type)), operands_(std::move(inputs)), result_(std::move(output)) {
    for (TestOperand& operand : operands_) {
      inputs_.push_back(operand.tensor);
      inputs_.back().data = operand.bytes.data();
    }
    if (filterQuant != nullptr) inputs_[1].channelQuant = filterQuant;
    outputs_.push_back(result_.tensor);
    OperationContext context(inputs_, outputs_, nullptr);
    status_ = inferShapes(definition_, context);
    if (!status_.ok()) return;
    result_.bytes.resize(outputCount() * elementSize(outputs_[0].type));
    outputs_[0].data = result_.bytes.data();
  }
  Status run() {
    if (!status_.ok()) return status_;
    InlineServices services;
    OperationContext context(inputs_, outputs_, &services);
    return runReference(definition_, context);
  }
  size_t outputCount() const { return outputs_[0].elementCount(); }

 private:
  const OperationDefinition& definition_;
  std::vector<TestOperand> operands_;
  TestOperand result_;
  std::vector<Tensor> inputs_;
  std::vector<Tensor> outputs_;
  Status status_;
};

struct Layer {
  OperationType type;
  Precision precision;
  uint32_t size;  // height and width
  uint32_t channelsIn;
  uint32_t channelsOut;
  uint32_t filter;
  int32_t stride;
};

// A convolution with all its operands. It owns the per-channel scales.
struct ConvolutionRun {
  SymmPerChannelQuantParams quant;
  std::unique_ptr<Runnable> runnable;
  double multiplications = 0;
};

std::unique_ptr<ConvolutionRun> makeConvolution(const Layer& layer) {
  const bool depthwise = layer.type == OperationType::DEPTHWISE_CONV_2D;
  const bool isFloat = layer.precision == Precision::FLOAT;
  const bool perChannel = layer.precision == Precision::SIGNED_PER_CHANNEL;
  const OperandType type = isFloat      ? OperandType::TENSOR_FLOAT32
                           : perChannel ? OperandType::TENSOR_QUANT8_ASYMM_SIGNED
                                        : OperandType::TENSOR_QUANT8_ASYMM;
  const OperandType filterType = perChannel ? OperandType::TENSOR_QUANT8_SYMM_PER_CHANNEL : type;
  const Shape filterDims =
      depthwise ? Shape{1, layer.filter, layer.filter, layer.channelsOut}
                : Shape{layer.channelsOut, layer.filter, layer.filter, layer.channelsIn};
  auto run = std::make_unique<ConvolutionRun>();
  run->quant = {std::vector<float>(layer.channelsOut, kFilterScale), depthwise ? 3u : 0u};
  const int32_t zeroPoint = perChannel ? 3 : 128;
  std::vector<TestOperand> inputs = {
      randomTensor(type, {1, layer.size, layer.size, layer.channelsIn}, isFloat ? 0 : kInputScale,
                   isFloat ? 0 : zeroPoint),
      randomTensor(filterType, filterDims, isFloat || perChannel ? 0 : kFilterScale,
                   isFloat || perChannel ? 0 : 120),
      isFloat ? randomTensor(type, {layer.channelsOut}, 0, 0)
              : TestOperand::of<int32_t>(OperandType::TENSOR_INT32, {layer.channelsOut},
                                         std::vector<int32_t>(layer.channelsOut, 100),
                                         perChannel ? 0 : kInputScale * kFilterScale),
      TestOperand::int32(kPaddingSame),
      TestOperand::int32(layer.stride),
      TestOperand::int32(layer.stride)};
  if (depthwise) inputs.push_back(TestOperand::int32(1));
  inputs.push_back(TestOperand::int32(3));  // RELU6
  TestOperand output = TestOperand::output(type, isFloat ? 0 : 0.05f, isFloat ? 0 : zeroPoint);
  run->runnable = std::make_unique<Runnable>(layer.type, std::move(inputs), std::move(output),
                                             perChannel ? &run->quant : nullptr);
  run->multiplications = static_cast<double>(run->runnable->outputCount()) * layer.filter *
                         layer.filter * (depthwise ? 1 : layer.channelsIn);
  return run;
}

void reportFlops(benchmark::State& state, double multiplications) {
  state.counters["FLOPS"] =
      benchmark::Counter(2 * multiplications, benchmark::Counter::kIsIterationInvariantRate,
                         benchmark::Counter::kIs1000);
}

void runConvolution(benchmark::State& state, const Layer& layer) {
  const auto run = makeConvolution(layer);
  for (auto _ : state) {
    const Status status = run->runnable->run();
    if (!status.ok()) return state.SkipWithError(status.toString().c_str());
  }
  reportFlops(state, run->multiplications);
}

// The layers of MobileNetV2 1.0 at 224 pixels, without its ten additions.
std::vector<Layer> mobileNetV2(Precision precision) {
  struct Stage {
    uint32_t expansion;
    uint32_t channels;
    uint32_t repeats;
    int32_t stride;
  };
  constexpr Stage kStages[] = {{1, 16, 1, 1}, {6, 24, 2, 2},  {6, 32, 3, 2}, {6, 64, 4, 2},
                               {6, 96, 3, 1}, {6, 160, 3, 2}, {6, 320, 1, 1}};
  const auto conv = OperationType::CONV_2D;
  std::vector<Layer> layers = {{conv, precision, 224, 3, 32, 3, 2}};
  uint32_t size = 112;
  uint32_t channels = 32;
  for (const Stage& stage : kStages) {
    for (uint32_t r = 0; r < stage.repeats; ++r) {
      const uint32_t wide = channels * stage.expansion;
      const int32_t stride = r == 0 ? stage.stride : 1;
      if (stage.expansion != 1) layers.push_back({conv, precision, size, channels, wide, 1, 1});
      layers.push_back({OperationType::DEPTHWISE_CONV_2D, precision, size, wide, wide, 3, stride});
      size /= static_cast<uint32_t>(stride);
      layers.push_back({conv, precision, size, wide, stage.channels, 1, 1});
      channels = stage.channels;
    }
  }
  layers.push_back({conv, precision, 7, 320, 1280, 1, 1});
  layers.push_back({conv, precision, 1, 1280, 1001, 1, 1});
  return layers;
}

void runMobileNetV2(benchmark::State& state, Precision precision) {
  std::vector<std::unique_ptr<ConvolutionRun>> runs;
  double multiplications = 0;
  for (const Layer& layer : mobileNetV2(precision)) {
    runs.push_back(makeConvolution(layer));
    multiplications += runs.back()->multiplications;
  }
  for (auto _ : state) {
    for (const auto& run : runs) {
      const Status status = run->runnable->run();
      if (!status.ok()) return state.SkipWithError(status.toString().c_str());
    }
  }
  reportFlops(state, multiplications);
}

void runFullyConnected(benchmark::State& state, Precision precision, uint32_t batch, uint32_t depth,
                       uint32_t units) {
  const bool isFloat = precision == Precision::FLOAT;
  const OperandType type = isFloat ? OperandType::TENSOR_FLOAT32 : OperandType::TENSOR_QUANT8_ASYMM;
  const float inputScale = isFloat ? 0 : kInputScale;
  const float filterScale = isFloat ? 0 : kFilterScale;
  Runnable run(
      OperationType::FULLY_CONNECTED,
      {randomTensor(type, {batch, depth}, inputScale, isFloat ? 0 : 128),
       randomTensor(type, {units, depth}, filterScale, isFloat ? 0 : 120),
       isFloat ? randomTensor(type, {units}, 0, 0)
               : TestOperand::of<int32_t>(OperandType::TENSOR_INT32, {units},
                                          std::vector<int32_t>(units, 7), inputScale * filterScale),
       TestOperand::int32(0)},
      TestOperand::output(type, isFloat ? 0 : 0.1f, isFloat ? 0 : 128));
  for (auto _ : state) {
    const Status status = run.run();
    if (!status.ok()) return state.SkipWithError(status.toString().c_str());
  }
  reportFlops(state, 1.0 * batch * depth * units);
}

void runPool(benchmark::State& state, OperationType pooling, Precision precision, uint32_t size,
             uint32_t channels, int32_t filter, int32_t stride) {
  const bool isFloat = precision == Precision::FLOAT;
  const OperandType type = isFloat ? OperandType::TENSOR_FLOAT32 : OperandType::TENSOR_QUANT8_ASYMM;
  const float scale = isFloat ? 0 : kInputScale;
  const int32_t zeroPoint = isFloat ? 0 : 128;
  std::vector<TestOperand> inputs = {
      randomTensor(type, {1, size, size, channels}, scale, zeroPoint)};
  for (int32_t scalar : {2, stride, stride, filter, filter, 0}) {
    inputs.push_back(TestOperand::int32(scalar));
  }
  Runnable run(pooling, std::move(inputs), TestOperand::output(type, scale, zeroPoint));
  for (auto _ : state) {
    const Status status = run.run();
    if (!status.ok()) return state.SkipWithError(status.toString().c_str());
  }
  state.SetItemsProcessed(static_cast<int64_t>(state.iterations()) *
                          static_cast<int64_t>(run.outputCount()) * filter * filter);
}

void runResize(benchmark::State& state, Precision precision, uint32_t from, int32_t to,
               uint32_t channels) {
  const bool isFloat = precision == Precision::FLOAT;
  const OperandType type = isFloat ? OperandType::TENSOR_FLOAT32 : OperandType::TENSOR_QUANT8_ASYMM;
  const float scale = isFloat ? 0 : kInputScale;
  Runnable run(OperationType::RESIZE_BILINEAR,
               {randomTensor(type, {1, from, from, channels}, scale, 0), TestOperand::int32(to),
                TestOperand::int32(to)},
               TestOperand::output(type, scale, 0));
  for (auto _ : state) {
    const Status status = run.run();
    if (!status.ok()) return state.SkipWithError(status.toString().c_str());
  }
  state.SetItemsProcessed(static_cast<int64_t>(state.iterations()) *
                          static_cast<int64_t>(run.outputCount()));
}

// Almost no arithmetic: the conversion of float16 or the speed of memory dominates.
void runElementwise(benchmark::State& state, OperandType type) {
  Runnable run(OperationType::RELU6, {randomTensor(type, {1, 112, 112, 96}, 0, 0)},
               TestOperand::output(type));
  for (auto _ : state) {
    const Status status = run.run();
    if (!status.ok()) return state.SkipWithError(status.toString().c_str());
  }
  state.SetItemsProcessed(static_cast<int64_t>(state.iterations()) *
                          static_cast<int64_t>(run.outputCount()));
}

void registerAll() {
  struct NamedPrecision {
    const char* name;
    Precision precision;
  };
  const auto conv = OperationType::CONV_2D;
  const auto depthwise = OperationType::DEPTHWISE_CONV_2D;
  for (const auto& [name, p] :
       {NamedPrecision{"float32", Precision::FLOAT}, NamedPrecision{"quant8", Precision::QUANT8},
        NamedPrecision{"signed_per_channel", Precision::SIGNED_PER_CHANNEL}}) {
    const std::string suffix = std::string("/") + name;
    const auto add = [&](const std::string& title, const Layer& layer) {
      benchmark::RegisterBenchmark((title + suffix).c_str(), runConvolution, layer)
          ->Unit(benchmark::kMicrosecond);
    };
    add("CONV_2D/1x1/56x56x128->128", {conv, p, 56, 128, 128, 1, 1});
    add("CONV_2D/1x1/112x112x32->16", {conv, p, 112, 32, 16, 1, 1});
    add("CONV_2D/1x1/7x7x320->1280", {conv, p, 7, 320, 1280, 1, 1});
    add("CONV_2D/3x3/28x28x128->128", {conv, p, 28, 128, 128, 3, 1});
    add("CONV_2D/3x3/14x14x512->512", {conv, p, 14, 512, 512, 3, 1});
    add("CONV_2D/3x3/224x224x3->32,stride2", {conv, p, 224, 3, 32, 3, 2});
    add("DEPTHWISE_CONV_2D/3x3/112x112x32", {depthwise, p, 112, 32, 32, 3, 1});
    add("DEPTHWISE_CONV_2D/3x3/14x14x576", {depthwise, p, 14, 576, 576, 3, 1});
    benchmark::RegisterBenchmark(("MobileNetV2" + suffix).c_str(), runMobileNetV2, p)
        ->Unit(benchmark::kMillisecond);
  }
  for (const auto& [name, p] :
       {NamedPrecision{"float32", Precision::FLOAT}, NamedPrecision{"quant8", Precision::QUANT8}}) {
    const std::string suffix = std::string("/") + name;
    const auto add = [&](const std::string& title, auto function, auto... arguments) {
      benchmark::RegisterBenchmark((title + suffix).c_str(), function, arguments...)
          ->Unit(benchmark::kMicrosecond);
    };
    add("FULLY_CONNECTED/1x1280->1001", runFullyConnected, p, 1u, 1280u, 1001u);
    add("FULLY_CONNECTED/32x1280->1001", runFullyConnected, p, 32u, 1280u, 1001u);
    add("AVERAGE_POOL_2D/7x7/7x7x1280", runPool, OperationType::AVERAGE_POOL_2D, p, 7u, 1280u, 7,
        1);
    add("MAX_POOL_2D/2x2/112x112x64", runPool, OperationType::MAX_POOL_2D, p, 112u, 64u, 2, 2);
    add("RESIZE_BILINEAR/33->257x21", runResize, p, 33u, 257, 21u);
  }
  for (OperandType type : {OperandType::TENSOR_FLOAT32, OperandType::TENSOR_FLOAT16}) {
    benchmark::RegisterBenchmark(("RELU6/112x112x96/" + operandTypeName(type)).c_str(),
                                 runElementwise, type)
        ->Unit(benchmark::kMicrosecond);
  }
}

}  // namespace
}  // namespace halyard::ops

int main(int argc, char** argv) {
  halyard::ops::registerAll();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
