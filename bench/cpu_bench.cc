// Measures the CPU driver's kernels and models:
//
//   cpu_bench                     share of the machine's peak that each kernel reaches, one thread
//   cpu_bench --only TEXT         the same for kernels with TEXT in their names
//   cpu_bench --levels            8 bit kernels for each instruction set, against the peak of each
//   cpu_bench MODEL...            time of each model, driver and reference device, 1 and 2 threads
//   cpu_bench --steps [--relaxed] MODEL...
//                                 time of the driver alone, by step; with float16 allowed
//   cpu_bench --relaxed MODEL...  time of the driver with float32, and with float16 allowed; the
//                                 distance of the results, for random inputs
//   cpu_bench --clients MODEL...  executions per second of one client and of eight at once, 2
//                                 threads
//
// A model is a .tflite file or a built-in one. v1, v2, v1-u8, v2-u8, v1-s8 and v2-s8 are MobileNet
// for images of 224 x 224, with random weights; lstm is an acoustic model. All run in this process.
// The time of a kernel is the best of many, because it is compared with the machine's limit.
// Register loops measure that limit in the same run. Times of models are medians, with the best in
// brackets.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <new>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "bench/bench_models.h"
#include "bench/kernel_cases.h"
#include "compiled_model.h"
#include "cpu/cpu_device.h"
#include "cpu_driver.h"
#include "kernel_list.h"
#include "kernels/huge_pages.h"
#include "measure/register_loops.h"
#include "ops/simd.h"
#include "ops/testing/test_operand.h"
#include "run_services.h"

namespace {

using namespace halyard;  // NOLINT(google-build-using-namespace)
using bench::Buffers;
using bench::bytes;
using bench::findModel;
using bench::LayerCase;
using bench::MoveCase;
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

// Products per second of one thread, from the best of many times.
double peakOf(const measure::RegisterLoop& loop) { return loop.products / timeOf(loop.run).best; }

// The best times of one operation on one thread, in seconds.
struct BothTimes {
  double own = 0;  // 0: the driver has no kernel
  double reference = 0;
  double products = 0;
};

// Places operands as the driver places temporaries: in huge pages, at different offsets in a page.
class Places {
 public:
  std::byte* copyOf(const std::vector<uint8_t>& bytes) {
    constexpr size_t kApart = 256;
    const size_t offset = places_.size() * kApart;
    const size_t length = offset + bytes.size();
    const size_t huge = (length + cpudriver::kHugePage - 1) / cpudriver::kHugePage;
    places_.push_back(
        cpudriver::mapPages(huge * cpudriver::kHugePage, huge * cpudriver::kHugePage));
    if (places_.back() == nullptr) throw std::bad_alloc();
    return std::copy_n(reinterpret_cast<const std::byte*>(bytes.data()), bytes.size(),
                       places_.back().get() + offset) -
           bytes.size();
  }

 private:
  std::vector<std::shared_ptr<std::byte>> places_;
};

// The first `variables` inputs are not constants. Only the driver's kernel also runs the operations
// in `fused`.
Result<BothTimes> timeOperation(OperationType type, std::vector<TestOperand>& inputs,
                                std::vector<TestOperand>& outputs, size_t variables,
                                ops::SimdLevel level = ops::newestSimdLevel(),
                                const cpudriver::Fused& fused = {}) {
  HALYARD_RETURN_IF_ERROR(ops::testing::runOperation(type, inputs, outputs));
  const ops::OperationDefinition& definition = *ops::definitionOf(type);
  std::vector<ops::Tensor> ins;
  std::vector<ops::Tensor> outs;
  std::vector<void*> data;
  std::vector<uint32_t> inputIndexes;
  std::vector<uint32_t> outputIndexes;
  Places places;
  for (TestOperand& input : inputs) {
    ins.push_back(input.tensor);
    const bool isConstant = data.size() >= variables && !input.tensor.omitted;
    if (isConstant) ins.back().data = input.bytes.data();
    inputIndexes.push_back(static_cast<uint32_t>(data.size()));
    data.push_back(places.copyOf(input.bytes));
  }
  for (TestOperand& output : outputs) {
    outs.push_back(output.tensor);
    outputIndexes.push_back(static_cast<uint32_t>(data.size()));
    data.push_back(places.copyOf(output.bytes));
  }
  BothTimes times;
  cpudriver::RunServices services(nullptr);
  const auto kernel = cpudriver::makeKernel(
      definition, {.inputs = ins, .outputs = outs, .level = level, .fused = fused});
  if (kernel != nullptr) {
    times.own = timeOf([&] {
                  (void)kernel->run({data.data(), inputIndexes, outputIndexes}, services);
                  services.reset();
                }).best;
  }
  for (size_t i = 0; i < variables; ++i) ins[i].data = data[inputIndexes[i]];
  for (size_t i = 0; i < outs.size(); ++i) outs[i].data = data[outputIndexes[i]];
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

// Times one kernel on one thread: the driver's for instruction set `level`, and optionally the
// reference kernel.
void benchLayer(const LayerCase& layer, OperandType type, double peak,
                ops::SimdLevel level = ops::newestSimdLevel(), bool withReference = true) {
  const bool isFloat = type == OperandType::TENSOR_FLOAT32;
  std::vector<TestOperand> inputs = bench::layerInputs(layer, type);
  std::vector<TestOperand> outputs = {TestOperand::output(type, 300.0f, 100)};
  const size_t variables = layer.hasConstantFilter ? 1 : 2;
  const auto times = timeOperation(layer.operation, inputs, outputs, variables, level);
  std::printf("%-16s %4u^2 s%u %4u -> %4u %s", layer.name, layer.size, layer.stride, layer.depth,
              layer.channels, isFloat ? "f32" : "u8 ");
  if (!withReference && times.ok()) {
    printRate(times->own, times->products, peak);
    return (void)std::printf("\n");
  }
  printBoth(times, times.ok() ? times->products : 0, peak);
}

// Steps of a cell with as many hidden values as inputs, for one sequence. `isFull`: with peepholes,
// projection and layer normalisation.
void benchLstm(uint32_t cells, uint32_t steps, bool isFull, double peak) {
  const OperandType type = OperandType::TENSOR_FLOAT32;
  std::vector<TestOperand> inputs = bench::lstmInputs(cells, steps, isFull);
  std::vector<TestOperand> outputs = {TestOperand::output(type)};
  const auto times = timeOperation(OperationType::UNIDIRECTIONAL_SEQUENCE_LSTM, inputs, outputs, 1);
  std::printf("%-16s %4u cells, %4u steps     ", isFull ? "lstm, all parts" : "lstm", cells, steps);
  printBoth(times, (isFull ? 9.0 : 8.0) * cells * cells * steps, peak);
}

// The layer of a keyword spotter.
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

// A batch of 12 matrices, as in attention: rows x depth times depth x columns.
void benchMatmul(OperandType type, uint32_t rows, uint32_t depth, uint32_t columns,
                 bool isTransposed, double peak) {
  std::vector<TestOperand> inputs = bench::matmulInputs(type, {rows, depth, columns}, isTransposed);
  std::vector<TestOperand> outputs = {TestOperand::output(type, 300.0f, 10)};
  const auto times = timeOperation(OperationType::BATCH_MATMUL, inputs, outputs, 2);
  std::printf("%-16s %4u x %4u x %4u %s%s   ", "matmul x 12", rows, depth, columns,
              type == OperandType::TENSOR_FLOAT32 ? "f32" : "s8 ", isTransposed ? " adj" : "    ");
  printBoth(times, times.ok() ? times->products : 0, peak);
}

// A dynamically quantised layer: a convolution of 1 x 1, which first rounds each pixel to bytes. It
// is compared with the peak of products of bytes. The reference kernel does not round.
void benchRounded(uint32_t size, uint32_t depth, uint32_t channels, double peak) {
  const OperandType type = OperandType::TENSOR_FLOAT32;
  std::vector<TestOperand> inputs = {bytes(type, {1, size, size, depth}, 0, 0),
                                     bytes(type, {channels, 1, 1, depth}, 0, 0),
                                     bytes(type, {channels}, 0, 0)};
  // Float weights that quantised weights represent.
  auto* const weights = reinterpret_cast<float*>(inputs[1].bytes.data());
  for (size_t i = 0; i < size_t{channels} * depth; ++i) {
    weights[i] = static_cast<float>(i * 7919 % 255) - 127.0f;
  }
  for (const int32_t scalar : {1, 1, 1, 0}) inputs.push_back(TestOperand::int32(scalar));
  std::vector<TestOperand> outputs = {TestOperand::output(type)};
  cpudriver::Fused fused;
  fused.rounding = {{.least = -128, .greatest = 127, .smallestRange = 1e-6f}, depth};
  const auto times =
      timeOperation(OperationType::CONV_2D, inputs, outputs, 1, ops::newestSimdLevel(), fused);
  std::printf("%-16s %4u^2 s1 %4u -> %4u    ", "rounded 1x1", size, depth, channels);
  printBoth(times, times.ok() ? times->products : 0, peak);
}

void benchMove(MoveCase move) {
  std::vector<TestOperand> outputs = {move.output};
  if (move.second) outputs.push_back(*move.second);
  const auto times = timeOperation(move.operation, move.inputs, outputs, move.variables);
  double moved = static_cast<double>(outputs[0].bytes.size());
  for (size_t i = 0; i < move.variables; ++i) {
    moved += static_cast<double>(move.inputs[i].bytes.size());
  }
  // The copy reads half of the bytes, and writes half.
  const std::vector<std::byte> from(static_cast<size_t>(moved / 2));
  std::vector<std::byte> to(from.size());
  const double copy = timeOf([&] { std::memcpy(to.data(), from.data(), from.size()); }).best;
  std::printf("%-16s %9.0f KiB              ", move.name, moved / 1024);
  printBoth(times, moved, moved / copy);
}

Times timeModel(hal::Device& device, const std::shared_ptr<const Model>& model,
                const Buffers& buffers) {
  const auto prepared = device.prepareModel(validated(model).value(), {});
  if (!prepared.ok()) return {};
  const auto execution = (*prepared)->createReusableExecution(buffers.request);
  if (!execution.ok()) return {};
  return timeOf([&] { (void)(*execution)->compute({}); }, 0.5);
}

// Seconds by step.
using StepTimes = std::vector<double>;

// Medians of `models`, which differ only in their threads and take turns.
std::vector<StepTimes> timeSteps(std::span<const std::unique_ptr<cpudriver::CompiledModel>> models,
                                 Buffers& buffers) {
  constexpr size_t kRuns = 101;
  std::vector<StepTimes> medians(models.size());
  std::vector<std::vector<StepTimes>> all(models.size());  // by model, by step, by run
  for (size_t run = 0; run < kRuns; ++run) {
    for (size_t m = 0; m < models.size(); ++m) {
      // The first run finds cold caches and sleeping threads.
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

// The products of an operation that multiplies with constants; 0 for other operations.
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

// A copy that allows float16 or not.
std::shared_ptr<const Model> relaxedModel(const Model& model, bool isRelaxed) {
  auto copy = std::make_shared<Model>(model);
  copy->relaxComputationFloat32toFloat16 = isRelaxed;
  return copy;
}

int benchModels(int count, char** paths, bool steps, bool relaxed) {
  const std::string one[] = {"--threads=1"};
  const std::string two[] = {"--threads=2"};
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
    const auto model = relaxed ? relaxedModel(**found, true) : *found;
    std::printf("%-36s", std::filesystem::path(paths[i]).filename().c_str());
    std::vector<hal::Device*> devices = {driver1->get(), driver2->get()};
    if (!steps) devices.insert(devices.end(), {reference1.get(), reference2.get()});
    for (hal::Device* device : devices) {
      const Times times = timeModel(*device, model, Buffers(*model));
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
  constexpr const char* kNames[] = {"baseline",     "AVX2", "AVX-VNNI", "AVX-512",
                                    "AVX-512 FP16", "AMX",  "NEON dot", "NEON FP16"};
  for (const ops::SimdLevel level : ops::kSimdLevels) {
    if (!ops::hasSimdLevel(level)) continue;
    const double peak = peakOf(measure::byteLoop(level));
    std::printf("%s: peak %.1f G products/s\n", kNames[static_cast<int>(level)], peak * 1e-9);
    for (const LayerCase& layer : bench::layerCases()) {
      benchLayer(layer, OperandType::TENSOR_QUANT8_ASYMM, peak, level, /*withReference=*/false);
    }
  }
  return 0;
}

// The largest difference of float32 results, relative to the range of its output. Not a number if a
// result is none.
double distance(const Model& model, const Buffers& wanted, const Buffers& found) {
  double most = 0;
  for (size_t i = 0; i < wanted.outputs.size(); ++i) {
    const Operand& operand = model.main.operands[model.main.outputIndexes[i]];
    if (operand.type != OperandType::TENSOR_FLOAT32) continue;
    const auto* const right = static_cast<const float*>(wanted.outputs[i].data);
    const auto* const other = static_cast<const float*>(found.outputs[i].data);
    const size_t count = wanted.outputs[i].length / sizeof(float);
    const auto [low, high] = std::minmax_element(right, right + count);
    for (size_t k = 0; k < count; ++k) {
      const double apart = std::abs(static_cast<double>(other[k]) - right[k]) / (*high - *low);
      if (!(apart <= most)) most = apart;
    }
  }
  return most;
}

int benchRelaxed(int count, char** paths) {
  std::printf("%-36s %18s %18s | %18s %18s   ms, distance of results\n", "model", "float32, 1",
              "2 threads", "float16 allowed, 1", "2 threads");
  for (int i = 0; i < count; ++i) {
    const auto found = findModel(paths[i]);
    if (!found.ok()) {
      std::printf("%s\n", found.status().toString().c_str());
      continue;
    }
    std::printf("%-36s", std::filesystem::path(paths[i]).filename().c_str());
    Buffers results[2] = {Buffers(**found), Buffers(**found)};
    std::mt19937 random(1);
    std::uniform_real_distribution<float> uniform(-1, 1);
    for (size_t input = 0; input < results[0].inputs.size(); ++input) {
      const Operand& operand = (*found)->main.operands[(*found)->main.inputIndexes[input]];
      if (operand.type != OperandType::TENSOR_FLOAT32) continue;
      auto* const values =
          const_cast<float*>(static_cast<const float*>(results[0].inputs[input].data));
      std::generate_n(values, results[0].inputs[input].length / sizeof(float),
                      [&] { return uniform(random); });
      std::memcpy(const_cast<void*>(results[1].inputs[input].data), values,
                  results[0].inputs[input].length);
    }
    for (const bool isRelaxed : {false, true}) {
      const auto model = relaxedModel(**found, isRelaxed);
      if (isRelaxed) std::printf(" |");
      for (const char* threads : {"--threads=1", "--threads=2"}) {
        const std::string arguments[] = {threads};
        const auto driver = cpudriver::makeCpuDriver(arguments);
        const Times times = timeModel(**driver, model, results[isRelaxed ? 1 : 0]);
        std::printf(" %8.4f (%7.4f)", times.median * 1e3, times.best * 1e3);
        std::fflush(stdout);
      }
    }
    std::printf("   %.1e\n", distance(**found, results[0], results[1]));
  }
  return 0;
}

// The rate of `clients` threads over a fixed time, each with its own request.
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
  const std::string arguments[] = {"--threads=2"};
  const auto driver = cpudriver::makeCpuDriver(arguments);
  for (int i = 0; i < count; ++i) {
    const auto model = findModel(paths[i]);
    if (!model.ok()) {
      std::printf("%s\n", model.status().toString().c_str());
      continue;
    }
    const auto prepared = (*driver)->prepareModel(validated(*model).value(), {});
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
  const double floats = peakOf(measure::floatLoop(ops::simdLevel()));
  const double quant8 = peakOf(measure::byteLoop(ops::newestSimdLevel()));
  std::printf("peak: %.1f G products/s float32, %.1f 8 bit\n", floats * 1e-9, quant8 * 1e-9);
  std::printf("%-39s  %30s  %30s\n", "", "driver", "reference");
  for (const OperandType type : {OperandType::TENSOR_FLOAT32, OperandType::TENSOR_QUANT8_ASYMM}) {
    const double peak = type == OperandType::TENSOR_FLOAT32 ? floats : quant8;
    for (const LayerCase& layer : bench::layerCases()) {
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
  if (isWanted("rounded 1x1")) {
    benchRounded(14, 64, 64, quant8);
    benchRounded(14, 512, 512, quant8);
  }
  std::printf("bytes that are read and written, and share of a copy's rate:\n");
  for (MoveCase& move : bench::moveCases()) {
    if (isWanted(move.name)) benchMove(std::move(move));
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1 && std::strcmp(argv[1], "--levels") == 0) return benchLevels();
  if (argc > 2 && std::strcmp(argv[1], "--only") == 0) return benchKernels(argv[2]);
  if (argc > 1 && std::strcmp(argv[1], "--relaxed") == 0) return benchRelaxed(argc - 2, argv + 2);
  if (argc > 1 && std::strcmp(argv[1], "--clients") == 0) return benchClients(argc - 2, argv + 2);
  if (argc > 1) {
    const bool steps = std::strcmp(argv[1], "--steps") == 0;
    const bool relaxed = steps && argc > 2 && std::strcmp(argv[2], "--relaxed") == 0;
    const int first = 1 + (steps ? 1 : 0) + (relaxed ? 1 : 0);
    return benchModels(argc - first, argv + first, steps, relaxed);
  }
  return benchKernels("");
}
