// The CPU driver's kernels and models:
//
//   cpu_bench                     share of the machine's peak that each kernel reaches, one thread
//   cpu_bench --only TEXT         the same for kernels with TEXT in their names
//   cpu_bench --levels            8 bit kernels for each instruction set, against the peak of each
//   cpu_bench MODEL...            time of each model, driver and reference device, 1 and 2 threads
//   cpu_bench --steps MODEL...    the driver's alone, and where it goes, step by step
//   cpu_bench --clients MODEL...  executions per second of one client and of eight at once, 2
//   threads
//
// A model is a .tflite file, or one of v1, v2, v1-u8, v2-u8, v1-s8 and v2-s8: MobileNet for images
// of 224 x 224, with random weights; or lstm, an acoustic model. All in this process. Kernels: the
// best time of many, since it is the machine's limit that they are held against, which register
// loops find in the same run. Models: medians, and the best in brackets.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "bench/bench_models.h"
#include "compiled_model.h"
#include "cpu/cpu_device.h"
#include "cpu_driver.h"
#include "kernel_list.h"
#include "ops/simd.h"
#include "ops/testing/test_operand.h"
#include "run_services.h"
#include "tools/halyard/bench/register_loops.h"

namespace {

using namespace halyard;  // NOLINT(google-build-using-namespace)
using bench::Buffers;
using bench::findModel;
using ops::testing::TestOperand;
using Clock = std::chrono::steady_clock;

constexpr double kSecondsEach = 0.15;

double seconds(Clock::duration elapsed) { return std::chrono::duration<double>(elapsed).count(); }

struct Times {
  double median = 0;
  double best = 0;
};

// Times of one call, in seconds.
template <typename F>
Times timeOf(F f, double budget = kSecondsEach) {
  f();
  std::vector<double> times;
  const Clock::time_point begin = Clock::now();
  while (times.size() < 5 || seconds(Clock::now() - begin) < budget) {
    const Clock::time_point start = Clock::now();
    f();
    times.push_back(seconds(Clock::now() - start));
  }
  std::sort(times.begin(), times.end());
  return {times[times.size() / 2], times.front()};
}

// Products per second of one thread, the best of many times.
double peakOf(const cli::RegisterLoop& loop) { return loop.products / timeOf(loop.run).best; }

struct LayerCase {
  const char* name;
  OperationType operation;
  uint32_t size;  // of the image, which is square
  uint32_t filter;
  uint32_t stride;
  uint32_t depth;
  uint32_t channels;
  uint32_t groups = 1;
};

constexpr LayerCase kLayers[] = {
    {"conv 1x1", OperationType::CONV_2D, 56, 1, 1, 128, 128},
    {"conv 1x1", OperationType::CONV_2D, 14, 1, 1, 512, 512},
    {"conv 1x1", OperationType::CONV_2D, 7, 1, 1, 1024, 1024},
    {"conv 1x1", OperationType::CONV_2D, 112, 1, 1, 16, 96},
    {"conv 3x3", OperationType::CONV_2D, 28, 3, 1, 128, 128},
    {"conv 3x3", OperationType::CONV_2D, 224, 3, 2, 3, 32},
    {"depthwise 3x3", OperationType::DEPTHWISE_CONV_2D, 112, 3, 1, 32, 32},
    {"depthwise 3x3", OperationType::DEPTHWISE_CONV_2D, 56, 3, 1, 128, 128},
    {"depthwise 3x3", OperationType::DEPTHWISE_CONV_2D, 56, 3, 2, 128, 128},
    {"depthwise 3x3", OperationType::DEPTHWISE_CONV_2D, 14, 3, 1, 512, 512},
    {"depthwise x 4", OperationType::DEPTHWISE_CONV_2D, 56, 3, 1, 32, 128},
    {"depthwise 1 x 8", OperationType::DEPTHWISE_CONV_2D, 48, 8, 2, 1, 8},
    {"grouped 3x3 / 32", OperationType::GROUPED_CONV_2D, 28, 3, 1, 256, 256, 32},
    {"grouped 1x1 / 3", OperationType::GROUPED_CONV_2D, 28, 1, 1, 240, 240, 3},
    {"transposed 2x2", OperationType::TRANSPOSE_CONV_2D, 28, 2, 2, 128, 64},
    {"transposed 4x4", OperationType::TRANSPOSE_CONV_2D, 28, 4, 2, 64, 64},
    {"full connection", OperationType::FULLY_CONNECTED, 1, 1, 1, 1024, 1001},
    {"full connection", OperationType::FULLY_CONNECTED, 8, 1, 1, 640, 128},
};

TestOperand bytes(OperandType type, const Shape& dims, float scale, int32_t zeroPoint) {
  TestOperand operand = TestOperand::output(type, scale, zeroPoint);
  operand.tensor.dims = dims;
  operand.bytes.resize(operand.tensor.elementCount() * elementSize(type));
  for (size_t i = 0; i < operand.bytes.size(); ++i) {
    operand.bytes[i] = static_cast<uint8_t>(i * 7919 >> 3);
  }
  if (type == OperandType::TENSOR_FLOAT32) {
    auto* const values = reinterpret_cast<float*>(operand.bytes.data());
    for (size_t i = 0; i < operand.bytes.size() / 4; ++i) {
      values[i] = static_cast<float>(i * 7919 % 256) / 256 - 0.5f;
    }
  }
  if (type == OperandType::TENSOR_INT32) {
    std::fill(operand.bytes.begin(), operand.bytes.end(), uint8_t{0});
  }
  return operand;
}

// The best times of one operation on one thread, in seconds.
struct BothTimes {
  double own = 0;  // 0: the driver has no kernel
  double reference = 0;
  double products = 0;
};

// Of the inputs, the first `variables` are no constants.
Result<BothTimes> timeOperation(OperationType type, std::vector<TestOperand>& inputs,
                                std::vector<TestOperand>& outputs, size_t variables,
                                ops::SimdLevel level = ops::simdLevel()) {
  HALYARD_RETURN_IF_ERROR(ops::testing::runOperation(type, inputs, outputs));
  const ops::OperationDefinition& definition = *ops::definitionOf(type);
  std::vector<ops::Tensor> ins;
  std::vector<ops::Tensor> outs;
  std::vector<void*> data;
  std::vector<uint32_t> inputIndexes;
  std::vector<uint32_t> outputIndexes;
  for (TestOperand& input : inputs) {
    ins.push_back(input.tensor);
    const bool isConstant = data.size() >= variables && !input.tensor.omitted;
    if (isConstant) ins.back().data = input.bytes.data();
    inputIndexes.push_back(static_cast<uint32_t>(data.size()));
    data.push_back(input.bytes.data());
  }
  for (TestOperand& output : outputs) {
    outs.push_back(output.tensor);
    outputIndexes.push_back(static_cast<uint32_t>(data.size()));
    data.push_back(output.bytes.data());
  }
  BothTimes times;
  cpudriver::RunServices services(nullptr);
  const auto kernel = cpudriver::makeKernel(definition, {ins, outs, level});
  if (kernel != nullptr) {
    times.own = timeOf([&] {
                  (void)kernel->run({data.data(), inputIndexes, outputIndexes}, services);
                  services.reset();
                }).best;
  }
  for (size_t i = 0; i < variables; ++i) ins[i].data = inputs[i].bytes.data();
  for (size_t i = 0; i < outs.size(); ++i) outs[i].data = outputs[i].bytes.data();
  times.reference = timeOf([&] {
                      ops::OperationContext context(ins, outs, &services);
                      (void)ops::runReference(definition, context);
                      services.reset();
                    }).best;
  if (definition.work != nullptr) times.products = definition.work(ins, outs);
  return times;
}

void printRate(double time, double amount, double peak) {
  if (time == 0) return (void)std::printf("  %30s", "-");
  std::printf("  %9.1f us %7.1f G/s %3.0f %%", time * 1e6, amount / time * 1e-9,
              peak > 0 ? 100 * amount / time / peak : 0);
}

void printBoth(const Result<BothTimes>& times, double amount, double peak) {
  if (!times.ok()) return (void)std::printf("  %s\n", times.status().toString().c_str());
  printRate(times->own, amount, peak);
  printRate(times->reference, amount, peak);
  std::printf("\n");
}

// The operands of a layer behind its tensors.
void appendScalars(const LayerCase& layer, std::vector<TestOperand>* inputs) {
  using enum OperationType;
  const auto int32 = [&](uint32_t value) {
    inputs->push_back(TestOperand::int32(static_cast<int32_t>(value)));
  };
  if (layer.operation == TRANSPOSE_CONV_2D) {
    const auto side = static_cast<int32_t>(layer.size * layer.stride);
    inputs->push_back(TestOperand::of<int32_t>(OperandType::TENSOR_INT32, {4}, {1, side, side, 1}));
  }
  if (layer.operation != FULLY_CONNECTED) {
    int32(1);
    int32(layer.stride);
    int32(layer.stride);
  }
  if (layer.operation == DEPTHWISE_CONV_2D) int32(layer.channels / layer.depth);
  if (layer.operation == GROUPED_CONV_2D) int32(layer.groups);
  int32(3);
  if (layer.operation == GROUPED_CONV_2D || layer.operation == TRANSPOSE_CONV_2D) {
    inputs->push_back(TestOperand::boolean(false));
  }
}

// One kernel on one thread: the driver's, for instruction set `level`, and the reference if wanted.
void benchLayer(const LayerCase& layer, OperandType type, double peak,
                ops::SimdLevel level = ops::simdLevel(), bool withReference = true) {
  const bool isFull = layer.operation == OperationType::FULLY_CONNECTED;
  const bool isDepthwise = layer.operation == OperationType::DEPTHWISE_CONV_2D;
  const bool isFloat = type == OperandType::TENSOR_FLOAT32;
  const OperandType biasType = isFloat ? type : OperandType::TENSOR_INT32;
  const Shape filter =
      isFull        ? Shape{layer.channels, layer.depth}
      : isDepthwise ? Shape{1, layer.filter, layer.filter, layer.channels}
                    : Shape{layer.channels, layer.filter, layer.filter, layer.depth / layer.groups};
  const Shape image =
      isFull ? Shape{layer.size, layer.depth} : Shape{1, layer.size, layer.size, layer.depth};
  std::vector<TestOperand> inputs = {bytes(type, image, 0.5f, 120), bytes(type, filter, 0.25f, 128),
                                     bytes(biasType, {layer.channels}, 0.125f, 0)};
  appendScalars(layer, &inputs);
  std::vector<TestOperand> outputs = {TestOperand::output(type, 300.0f, 100)};
  const auto times = timeOperation(layer.operation, inputs, outputs, 1, level);
  std::printf("%-16s %4u^2 s%u %4u -> %4u %s", layer.name, layer.size, layer.stride, layer.depth,
              layer.channels, isFloat ? "f32" : "u8 ");
  if (!withReference && times.ok()) {
    printRate(times->own, times->products, peak);
    return (void)std::printf("\n");
  }
  printBoth(times, times.ok() ? times->products : 0, peak);
}

// Steps of a cell with as many hidden values as inputs, for one sequence; `isFull`: with peepholes,
// projection and layer normalisation.
void benchLstm(uint32_t cells, uint32_t steps, bool isFull, double peak) {
  const OperandType type = OperandType::TENSOR_FLOAT32;
  std::vector<TestOperand> inputs = {bytes(type, {steps, 1, cells}, 0, 0)};
  const auto add = [&](int count, const Shape& dims, bool isThere = true) {
    for (int i = 0; i < count; ++i) {
      inputs.push_back(isThere ? bytes(type, dims, 0, 0) : TestOperand::omitted(type));
    }
  };
  add(8, {cells, cells});
  add(3, {cells}, isFull);
  add(4, {cells});
  add(1, {cells, cells}, isFull);
  add(1, {cells}, isFull);
  add(2, {1, cells});
  inputs.push_back(TestOperand::int32(4));
  for (int clip = 0; clip < 2; ++clip) inputs.push_back(TestOperand::float32(0));
  inputs.push_back(TestOperand::boolean(true));
  add(4, {cells}, isFull);
  std::vector<TestOperand> outputs = {TestOperand::output(type)};
  const auto times = timeOperation(OperationType::UNIDIRECTIONAL_SEQUENCE_LSTM, inputs, outputs, 1);
  std::printf("%-16s %4u cells, %4u steps     ", isFull ? "lstm, all parts" : "lstm", cells, steps);
  printBoth(times, (isFull ? 9.0 : 8.0) * cells * cells * steps, peak);
}

// As a keyword spotter has it.
void benchSvdf(uint32_t inputs, uint32_t units, uint32_t memory, double peak) {
  const OperandType type = OperandType::TENSOR_FLOAT32;
  std::vector<TestOperand> operands = {bytes(type, {1, inputs}, 0, 0),
                                       bytes(type, {units, inputs}, 0, 0),
                                       bytes(type, {units, memory}, 0, 0),
                                       bytes(type, {units}, 0, 0),
                                       bytes(type, {1, units * memory}, 0, 0),
                                       TestOperand::int32(1),
                                       TestOperand::int32(1)};
  std::vector<TestOperand> outputs(2, TestOperand::output(type));
  const auto times = timeOperation(OperationType::SVDF, operands, outputs, 1);
  std::printf("%-16s %4u -> %4u, memory %4u ", "svdf", inputs, units, memory);
  printBoth(times, static_cast<double>(units) * (inputs + memory), peak);
}

// A batch of 12 matrices, as attention has them: rows x depth times depth x columns.
void benchMatmul(OperandType type, uint32_t rows, uint32_t depth, uint32_t columns,
                 bool isTransposed, double peak) {
  const Shape right = isTransposed ? Shape{12, columns, depth} : Shape{12, depth, columns};
  std::vector<TestOperand> inputs = {bytes(type, {12, rows, depth}, 0.5f, 20),
                                     bytes(type, right, 0.25f, 3), TestOperand::boolean(false),
                                     TestOperand::boolean(isTransposed)};
  std::vector<TestOperand> outputs = {TestOperand::output(type, 300.0f, 10)};
  const auto times = timeOperation(OperationType::BATCH_MATMUL, inputs, outputs, 2);
  std::printf("%-16s %4u x %4u x %4u %s%s   ", "matmul x 12", rows, depth, columns,
              type == OperandType::TENSOR_FLOAT32 ? "f32" : "s8 ", isTransposed ? " adj" : "    ");
  printBoth(times, times.ok() ? times->products : 0, peak);
}

// What moves bytes rather than multiplies, held against a copy of as many.
struct MoveCase {
  const char* name;
  OperationType operation;
  std::vector<TestOperand> inputs;
  TestOperand output;
  size_t variables = 1;
};

std::vector<MoveCase> moveCases() {
  using enum OperandType;
  using enum OperationType;
  const auto f32 = [](const Shape& dims) { return bytes(TENSOR_FLOAT32, dims, 0, 0); };
  const auto u8 = [](const Shape& dims) { return bytes(TENSOR_QUANT8_ASYMM, dims, 0.5f, 120); };
  const auto int32 = [](int32_t value) { return TestOperand::int32(value); };
  const TestOperand outF32 = TestOperand::output(TENSOR_FLOAT32);
  const TestOperand sameU8 = TestOperand::output(TENSOR_QUANT8_ASYMM, 0.5f, 120);
  const TestOperand farU8 = TestOperand::output(TENSOR_QUANT8_ASYMM, 30.0f, 120);
  const TestOperand unitU8 = TestOperand::output(TENSOR_QUANT8_ASYMM, 1.0f / 256, 0);
  const TestOperand axes = TestOperand::of<int32_t>(TENSOR_INT32, {2}, {1, 2});
  const auto ints = [](const std::vector<int32_t>& values) {
    return TestOperand::of<int32_t>(TENSOR_INT32, {static_cast<uint32_t>(values.size())}, values);
  };
  const TestOperand pads = TestOperand::of<int32_t>(TENSOR_INT32, {4, 2}, {0, 0, 1, 1, 1, 1, 0, 0});
  std::vector<int32_t> lines;
  for (int32_t i = 0; i < 1000; ++i) lines.push_back(i * 7 % 1000);
  const TestOperand rows = ints(lines);
  const auto pooled = [&](TestOperand image, int32_t size) {
    return std::vector<TestOperand>{std::move(image), int32(2),    int32(size), int32(size),
                                    int32(size),      int32(size), int32(0)};
  };
  return {
      {"logistic", LOGISTIC, {f32({1, 56, 56, 64})}, outF32},
      {"logistic u8", LOGISTIC, {u8({1, 1917, 91})}, unitU8},
      {"relu6", RELU6, {f32({1, 56, 56, 64})}, outF32},
      {"quantize", QUANTIZE, {f32({1, 224, 224, 3})}, sameU8},
      {"dequantize", DEQUANTIZE, {u8({1, 224, 224, 3})}, outF32},
      {"maximum", MAXIMUM, {f32({1, 56, 56, 64}), f32({1, 56, 56, 64})}, outF32, 2},
      {"add", ADD, {f32({1, 56, 56, 64}), f32({1, 56, 56, 64}), int32(0)}, outF32, 2},
      {"add u8", ADD, {u8({1, 56, 56, 64}), u8({1, 56, 56, 64}), int32(0)}, sameU8, 2},
      {"multiply u8", MUL, {u8({1, 56, 56, 64}), u8({1, 56, 56, 64}), int32(0)}, farU8, 2},
      {"prelu", PRELU, {f32({1, 56, 56, 64}), f32({64})}, outF32},
      {"concatenation",
       CONCATENATION,
       {f32({1, 33, 33, 256}), f32({1, 33, 33, 256}), int32(3)},
       outF32,
       2},
      {"mean 7x7", MEAN, {f32({1, 7, 7, 1280}), axes, int32(1)}, outF32},
      {"average pool 7x7", AVERAGE_POOL_2D, pooled(f32({1, 7, 7, 1280}), 7), outF32},
      {"max pool 2x2", MAX_POOL_2D, pooled(f32({1, 112, 112, 64}), 2), outF32},
      {"max pool 2x2 u8", MAX_POOL_2D, pooled(u8({1, 112, 112, 64}), 2), sameU8},
      {"transpose to NCHW", TRANSPOSE, {f32({1, 56, 56, 64}), ints({0, 3, 1, 2})}, outF32},
      {"transpose to NCHW u8", TRANSPOSE, {u8({1, 56, 56, 64}), ints({0, 3, 1, 2})}, sameU8},
      {"transpose heads", TRANSPOSE, {f32({1, 128, 12, 64}), ints({0, 2, 1, 3})}, outF32},
      {"slice", SLICE, {f32({1, 56, 56, 64}), ints({0, 0, 0, 16}), ints({1, 56, 56, 32})}, outF32},
      {"strided slice",
       STRIDED_SLICE,
       {f32({1, 112, 112, 16}), ints({0, 0, 0, 0}), ints({1, 112, 112, 16}), ints({1, 2, 2, 1}),
        int32(0), int32(0), int32(0)},
       outF32},
      {"split", SPLIT, {f32({1, 56, 56, 64}), int32(3), int32(1)}, outF32},
      {"pad", PAD, {f32({1, 56, 56, 64}), pads}, outF32},
      {"pad u8", PAD, {u8({1, 112, 112, 32}), pads}, sameU8},
      {"space to depth", SPACE_TO_DEPTH, {f32({1, 112, 112, 16}), int32(2)}, outF32},
      {"depth to space u8", DEPTH_TO_SPACE, {u8({1, 112, 112, 12}), int32(2)}, sameU8},
      {"tile", TILE, {f32({1, 28, 28, 64}), ints({1, 2, 2, 1})}, outF32},
      {"gather", GATHER, {f32({1000, 256}), int32(0), rows}, outF32},
      {"resize 33 to 257", RESIZE_BILINEAR, {f32({1, 33, 33, 21}), int32(257), int32(257)}, outF32},
      {"instance norm",
       INSTANCE_NORMALIZATION,
       {f32({1, 56, 56, 64}), TestOperand::float32(1), TestOperand::float32(0),
        TestOperand::float32(1e-3f), TestOperand::boolean(false)},
       outF32},
      {"softmax 1001", SOFTMAX, {f32({8, 1001}), TestOperand::float32(1)}, outF32},
      {"softmax 1001 u8", SOFTMAX, {u8({8, 1001}), TestOperand::float32(1)}, unitU8},
  };
}

void benchMove(MoveCase move) {
  std::vector<TestOperand> outputs = {move.output};
  const auto times = timeOperation(move.operation, move.inputs, outputs, move.variables);
  double moved = static_cast<double>(outputs[0].bytes.size());
  for (size_t i = 0; i < move.variables; ++i) {
    moved += static_cast<double>(move.inputs[i].bytes.size());
  }
  // Half of it is read by a copy, and half written.
  const std::vector<std::byte> from(static_cast<size_t>(moved / 2));
  std::vector<std::byte> to(from.size());
  const double copy = timeOf([&] { std::memcpy(to.data(), from.data(), from.size()); }).best;
  std::printf("%-16s %9.0f KiB              ", move.name, moved / 1024);
  printBoth(times, moved, moved / copy);
}

Times timeModel(hal::Device& device, const std::shared_ptr<const Model>& model) {
  const auto prepared = device.prepareModel(model, {});
  if (!prepared.ok()) return {};
  const Buffers buffers(*model);
  const auto execution = (*prepared)->createReusableExecution(buffers.request);
  if (!execution.ok()) return {};
  return timeOf([&] { (void)(*execution)->compute({}); }, 0.5);
}

// By step, in seconds.
using StepTimes = std::vector<double>;

// Medians of `models`, which are the same but for their threads and take turns.
std::vector<StepTimes> timeSteps(std::span<const std::unique_ptr<cpudriver::CompiledModel>> models,
                                 Buffers& buffers) {
  constexpr size_t kRuns = 101;
  std::vector<StepTimes> medians(models.size());
  std::vector<std::vector<StepTimes>> all(models.size());  // by model, by step, by run
  for (size_t run = 0; run < kRuns; ++run) {
    for (size_t m = 0; m < models.size(); ++m) {
      // The first run finds another's data in the caches, and threads asleep.
      (void)models[m]->run(buffers.inputs, buffers.outputs, {});
      std::vector<std::chrono::nanoseconds> times;
      (void)models[m]->run(buffers.inputs, buffers.outputs, {}, &times);
      all[m].resize(times.size());
      for (size_t i = 0; i < times.size(); ++i) all[m][i].push_back(seconds(times[i]));
    }
  }
  for (size_t m = 0; m < models.size(); ++m) {
    for (StepTimes& times : all[m]) {
      std::ranges::nth_element(times, times.begin() + kRuns / 2);
      medians[m].push_back(times[kRuns / 2]);
    }
  }
  return medians;
}

// Products that an operation takes, if it is of those that multiply with constants; otherwise 0.
double productsOf(const Model& model, const Operation& operation) {
  if (operation.type != OperationType::CONV_2D &&
      operation.type != OperationType::DEPTHWISE_CONV_2D &&
      operation.type != OperationType::FULLY_CONNECTED) {
    return 0;
  }
  const auto count = [&](const Shape& dims) {
    double elements = 1;
    for (const uint32_t extent : dims) elements *= extent;
    return elements;
  };
  const Shape& filter = model.main.operands[operation.inputs[1]].dimensions;
  const bool isDepthwise = operation.type == OperationType::DEPTHWISE_CONV_2D;
  const uint32_t channels = isDepthwise ? filter.back() : filter.front();
  return count(model.main.operands[operation.outputs[0]].dimensions) * count(filter) / channels;
}

void printSteps(const std::shared_ptr<const Model>& model) {
  cpudriver::ThreadShare two(2, ThreadClass::NORMAL, std::chrono::microseconds(50));
  std::vector<std::unique_ptr<cpudriver::CompiledModel>> models;
  for (cpudriver::ThreadShare* threads : {static_cast<cpudriver::ThreadShare*>(nullptr), &two}) {
    auto compiled = cpudriver::CompiledModel::compile(model, {.threads = threads});
    if (!compiled.ok() || *compiled == nullptr) {
      std::printf("  not compiled: the executor runs it\n");
      return;
    }
    models.push_back(std::move(*compiled));
  }
  Buffers buffers(*model);
  const std::vector<StepTimes> medians = timeSteps(models, buffers);
  std::printf("   1 thread  2 threads        G products/s\n");
  for (size_t i = 0; i < medians[0].size(); ++i) {
    const auto facts = models[0]->stepFacts(i);
    const Operation& operation = model->main.operations[facts.operation];
    const double alone = medians[0][i];
    std::printf("  %9.1f  %9.1f us  x %.2f  %6.1f  %s%s ->", alone * 1e6, medians[1][i] * 1e6,
                alone / medians[1][i], productsOf(*model, operation) / alone * 1e-9,
                operationText(facts.operation, operation.type).c_str(),
                facts.isReference ? " (reference)" : "");
    std::printf(" %s\n", operandText(model->main.operands[operation.outputs[0]]).c_str());
  }
}

int benchModels(int count, char** paths, bool steps) {
  const std::string one[] = {"--threads=1", "--no-cache"};
  const std::string two[] = {"--threads=2", "--no-cache"};
  const auto driver1 = cpudriver::makeCpuDriver(one);
  const auto driver2 = cpudriver::makeCpuDriver(two);
  const auto reference1 = cpu::makeCpuDevice(cpu::cpuDeviceInfo(), 1);
  const auto reference2 = cpu::makeCpuDevice(cpu::cpuDeviceInfo(), 2);
  std::printf("%-36s %18s %18s | %18s %18s   ms\n", "model", "driver 1", "2 threads", "reference 1",
              "2 threads");
  for (int i = 0; i < count; ++i) {
    const auto found = findModel(paths[i]);
    if (!found.ok()) {
      std::printf("%s\n", found.status().toString().c_str());
      continue;
    }
    const std::shared_ptr<const Model>& model = *found;
    std::printf("%-36s", std::filesystem::path(paths[i]).filename().c_str());
    std::vector<hal::Device*> devices = {driver1->get(), driver2->get()};
    if (!steps) devices.insert(devices.end(), {reference1.get(), reference2.get()});
    for (hal::Device* device : devices) {
      const Times times = timeModel(*device, model);
      std::printf("%s %8.4f (%7.4f)", device == reference1.get() ? " |" : "", times.median * 1e3,
                  times.best * 1e3);
      std::fflush(stdout);
    }
    std::printf("\n");
    if (steps) printSteps(model);
  }
  return 0;
}

int benchLevels() {
  constexpr const char* kNames[] = {"baseline", "AVX2", "AVX-VNNI", "AVX-512", "NEON dot"};
  for (const ops::SimdLevel level : ops::kSimdLevels) {
    if (!ops::hasSimdLevel(level)) continue;
    const double peak = peakOf(cli::byteLoop(level));
    std::printf("%s: peak %.1f G products/s\n", kNames[static_cast<int>(level)], peak * 1e-9);
    for (const LayerCase& layer : kLayers) {
      benchLayer(layer, OperandType::TENSOR_QUANT8_ASYMM, peak, level, /*withReference=*/false);
    }
  }
  return 0;
}

// Of `clients` threads that each have their own request, for some time.
double executionsPerSecond(hal::PreparedModel& prepared, const Model& model, size_t clients) {
  constexpr auto kTime = std::chrono::seconds(2);
  std::atomic<size_t> executions{0};
  const Clock::time_point end = Clock::now() + kTime;
  std::vector<std::thread> threads;
  for (size_t i = 0; i < clients; ++i) {
    threads.emplace_back([&] {
      const Buffers buffers(model);
      const auto execution = prepared.createReusableExecution(buffers.request);
      while (execution.ok() && Clock::now() < end) {
        (void)(*execution)->compute({});
        executions.fetch_add(1, std::memory_order_relaxed);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  return static_cast<double>(executions) / seconds(kTime);
}

int benchClients(int count, char** paths) {
  const std::string arguments[] = {"--threads=2", "--no-cache"};
  const auto driver = cpudriver::makeCpuDriver(arguments);
  for (int i = 0; i < count; ++i) {
    const auto model = findModel(paths[i]);
    if (!model.ok()) {
      std::printf("%s\n", model.status().toString().c_str());
      continue;
    }
    const auto prepared = (*driver)->prepareModel(*model, {});
    if (!prepared.ok()) continue;
    (void)executionsPerSecond(**prepared, **model, 1);
    const double one = executionsPerSecond(**prepared, **model, 1);
    const double eight = executionsPerSecond(**prepared, **model, 8);
    std::printf("%-36s  1 client %9.1f/s  8 clients %9.1f/s  %5.1f %%\n",
                std::filesystem::path(paths[i]).filename().c_str(), one, eight, 100 * eight / one);
  }
  return 0;
}

int benchKernels(std::string_view text) {
  const auto isWanted = [&](std::string_view name) {
    return name.find(text) != std::string_view::npos;
  };
  const double floats = peakOf(cli::floatLoop(ops::simdLevel()));
  const double quant8 = peakOf(cli::byteLoop(ops::simdLevel()));
  std::printf("peak: %.1f G products/s float32, %.1f 8 bit\n", floats * 1e-9, quant8 * 1e-9);
  std::printf("%-39s  %30s  %30s\n", "", "driver", "reference");
  for (const OperandType type : {OperandType::TENSOR_FLOAT32, OperandType::TENSOR_QUANT8_ASYMM}) {
    const double peak = type == OperandType::TENSOR_FLOAT32 ? floats : quant8;
    for (const LayerCase& layer : kLayers) {
      if (isWanted(layer.name)) benchLayer(layer, type, peak);
    }
  }
  if (isWanted("matmul")) {
    for (const OperandType type :
         {OperandType::TENSOR_FLOAT32, OperandType::TENSOR_QUANT8_ASYMM_SIGNED}) {
      const double peak = type == OperandType::TENSOR_FLOAT32 ? floats : quant8;
      benchMatmul(type, 128, 64, 128, /*isTransposed=*/true, peak);
      benchMatmul(type, 128, 128, 64, /*isTransposed=*/false, peak);
    }
  }
  if (isWanted("lstm")) {
    for (const uint32_t cells : {128u, 512u}) benchLstm(cells, 32, /*isFull=*/false, floats);
    benchLstm(128, 32, /*isFull=*/true, floats);
  }
  if (isWanted("svdf")) benchSvdf(416, 256, 10, floats);
  std::printf("bytes that are read and written, and share of a copy's rate:\n");
  for (MoveCase& move : moveCases()) {
    if (isWanted(move.name)) benchMove(std::move(move));
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1 && std::strcmp(argv[1], "--levels") == 0) return benchLevels();
  if (argc > 2 && std::strcmp(argv[1], "--only") == 0) return benchKernels(argv[2]);
  if (argc > 1 && std::strcmp(argv[1], "--clients") == 0) return benchClients(argc - 2, argv + 2);
  if (argc > 1) {
    const bool steps = std::strcmp(argv[1], "--steps") == 0;
    return benchModels(argc - 1 - (steps ? 1 : 0), argv + 1 + (steps ? 1 : 0), steps);
  }
  return benchKernels("");
}
