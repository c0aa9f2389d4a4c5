// Measures the Vulkan driver, in this process, on the first device of Vulkan:
//
//   vulkan_bench                share of the device's peak that each kernel reaches
//   vulkan_bench --only TEXT    the same for kernels with TEXT in their names
//   vulkan_bench MODEL...       time of each model
//
// The peaks are measured in the same run: a loop of multiplications with additions in registers,
// and a copy of a long buffer. A kernel is compared with the peak that it comes nearer to. Its
// bytes are those of its operands, each once. They may stay in the caches, and the share of the
// copy's rate then exceeds 100 %. The time is the best of some, without transfers of arguments.
//
// A model is a .tflite file or a built-in one, as for cpu_bench. For each model: the milliseconds
// of preparing, the median and the best of the executions, and the time of processors for each,
// which other processes disturb less. Devices that compute on the processor count.
#include <time.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "bench/bench_models.h"
#include "bench/kernel_cases.h"
#include "device/command_list.h"
#include "plan/model_recording.h"
#include "plan/recording_time.h"
#include "vulkan_driver.h"

namespace {

using namespace halyard;  // NOLINT(google-build-using-namespace)
using bench::LayerCase;
using bench::MoveCase;
using ops::testing::TestOperand;
using vulkandriver::CommandList;
using vulkandriver::DeviceBuffer;
using vulkandriver::Dispatch;
using vulkandriver::Parameter;
using vulkandriver::Place;
using vulkandriver::Recording;
using vulkandriver::VulkanDevice;
using Clock = std::chrono::steady_clock;
using DevicePtr = std::shared_ptr<VulkanDevice>;

double milliseconds(Clock::time_point since) {
  return std::chrono::duration<double, std::milli>(Clock::now() - since).count();
}

double processorMilliseconds() {
  timespec time = {};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_nsec) * 1e-6;
}

double median(std::vector<double>& values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

Status measure(hal::Device& device, const std::string& name) {
  constexpr double kBudget = 2000;
  HALYARD_ASSIGN_OR_RETURN(const auto found, bench::findModel(name));
  HALYARD_ASSIGN_OR_RETURN(const ValidModel model, validated(*found));
  const Clock::time_point begin = Clock::now();
  HALYARD_ASSIGN_OR_RETURN(const auto prepared, device.prepareModel(model, {}));
  bench::Buffers buffers(*model);
  std::vector<double> times;
  std::vector<double> processor;
  double first = 0;
  const Clock::time_point start = Clock::now();
  while (times.size() < 5 || milliseconds(start) < kBudget) {
    const Clock::time_point one = Clock::now();
    const double before = processorMilliseconds();
    const auto result = prepared->executeSynchronously(buffers.request, {});
    HALYARD_RETURN_IF_ERROR(Status(result.status));
    if (first == 0) first = milliseconds(begin);
    times.push_back(milliseconds(one));
    processor.push_back(processorMilliseconds() - before);
  }
  const double middle = median(times);
  std::printf("%-60s first %7.0f  median %8.3f  best %8.3f  processors %8.3f ms\n", name.c_str(),
              first, middle, times.front(), *std::min_element(processor.begin(), processor.end()));
  return okStatus();
}

// Short runs with pauses: a busy machine lets a process that has waited run at once.
constexpr int kRounds = 40;
constexpr int kPeakRounds = 150;
constexpr auto kPause = std::chrono::milliseconds(5);

// The seconds of the recorded dispatches alone. Their repetition takes longer than one run by
// exactly them: submission and transfers are the same.
Result<double> timeOfDispatches(const DevicePtr& device, const std::shared_ptr<const Model>& model,
                                const Recording& once, int rounds = kRounds) {
  constexpr double kLongEnough = 2e6;
  constexpr int kMostRepetitions = 1024;
  HALYARD_ASSIGN_OR_RETURN(const double single, bestTime(device, model, once, rounds, kPause));
  const std::vector<Dispatch> dispatches(once.dispatches().begin(), once.dispatches().end());
  for (int repetitions = 1;; repetitions *= 4) {
    Recording repeated = once;
    for (int i = 0; i < repetitions; ++i) {
      for (const Dispatch& dispatch : dispatches) repeated.add(dispatch);
    }
    HALYARD_ASSIGN_OR_RETURN(const double time, bestTime(device, model, repeated, rounds, kPause));
    if (time - single > kLongEnough || repetitions == kMostRepetitions) {
      return (time - single) / repetitions * 1e-9;
    }
  }
}

// One operation. The first `variables` inputs are the model's, the others are constants.
struct Kernel {
  std::string name;
  OperationType operation;
  std::vector<TestOperand> inputs;
  std::vector<TestOperand> outputs;
  size_t variables = 1;
};

uint32_t addOperand(Model& model, const ops::Tensor& tensor, Lifetime lifetime) {
  Operand operand;
  operand.type = tensor.type;
  operand.dimensions = tensor.dims;
  operand.scale = tensor.scale;
  operand.zeroPoint = tensor.zeroPoint;
  operand.lifetime = lifetime;
  const auto index = static_cast<uint32_t>(model.main.operands.size());
  model.main.operands.push_back(std::move(operand));
  return index;
}

std::shared_ptr<const Model> modelOf(const Kernel& kernel) {
  Model model;
  Operation operation = {kernel.operation, {}, {}};
  for (const TestOperand& input : kernel.inputs) {
    const bool isVariable = operation.inputs.size() < kernel.variables;
    const Lifetime lifetime = input.tensor.omitted ? Lifetime::NO_VALUE
                              : isVariable         ? Lifetime::SUBGRAPH_INPUT
                                                   : Lifetime::CONSTANT_COPY;
    const uint32_t index = addOperand(model, input.tensor, lifetime);
    if (lifetime == Lifetime::SUBGRAPH_INPUT) model.main.inputIndexes.push_back(index);
    if (lifetime == Lifetime::CONSTANT_COPY) {
      model.main.operands[index].location =
          appendConstant(model, input.bytes.data(), input.bytes.size());
    }
    operation.inputs.push_back(index);
  }
  for (const TestOperand& output : kernel.outputs) {
    operation.outputs.push_back(addOperand(model, output.tensor, Lifetime::SUBGRAPH_OUTPUT));
  }
  model.main.outputIndexes.assign(operation.outputs.begin(), operation.outputs.end());
  model.main.operations = {std::move(operation)};
  return std::make_shared<const Model>(std::move(model));
}

Result<double> timeOfKernel(const DevicePtr& device, const Kernel& kernel) {
  const std::shared_ptr<const Model> model = modelOf(kernel);
  Recording recording(model->main.operands.size(), device->forms());
  for (const Status& answer : recordModel(*model, device->mostBytes(), recording)) {
    HALYARD_RETURN_IF_ERROR(Status(answer));
  }
  return timeOfDispatches(device, model, recording);
}

// For each second.
struct Peaks {
  double operations;  // a multiplication with its addition counts as two
  double bytes;       // read or written
};

// The seconds for a byte that a copy by the device reads or writes.
Result<double> timeOfByte(const DevicePtr& device) {
  constexpr uint64_t kBytes = 64 << 20;
  HALYARD_ASSIGN_OR_RETURN(const auto from, DeviceBuffer::local(device, kBytes));
  HALYARD_ASSIGN_OR_RETURN(const auto to, DeviceBuffer::local(device, kBytes));
  double best = 0;
  for (int round = 0; round <= kPeakRounds; ++round) {
    HALYARD_ASSIGN_OR_RETURN(const auto commands, CommandList::begin(device));
    commands->copy({from.get(), 0}, {to.get(), 0}, kBytes);
    std::this_thread::sleep_for(kPause);
    const Clock::time_point start = Clock::now();
    HALYARD_RETURN_IF_ERROR(commands->runOnce());
    const double time = milliseconds(start) * 1e-3;
    best = round < 2 ? time : std::min(best, time);
  }
  return best / (2 * kBytes);
}

Result<Peaks> measurePeaks(const DevicePtr& device) {
  constexpr uint32_t kItems = 1 << 16;
  // So many that starting a work group takes no part of the time: 2 rounds measured a quarter of
  // the peak of a software device.
  constexpr int32_t kLoopRounds = 32;
  constexpr double kOperations = 2.0 * 256 * kItems * kLoopRounds;
  // The loop needs memory for a result, which this model has.
  const TestOperand tensor = bench::bytes(OperandType::TENSOR_FLOAT32, {1}, 0, 0);
  const auto model = modelOf({"loop", OperationType::RELU, {tensor}, {tensor}});
  Recording loop(model->main.operands.size(), device->forms());
  loop.add({vulkandriver::Shader::ARITHMETIC,
            {},
            {Place{model->main.outputIndexes[0]}, kLoopRounds, Parameter::real(0.25f)},
            kItems});
  HALYARD_ASSIGN_OR_RETURN(const double time, timeOfDispatches(device, model, loop, kPeakRounds));
  HALYARD_ASSIGN_OR_RETURN(const double byte, timeOfByte(device));
  return Peaks{kOperations / time, 1 / byte};
}

void print(const DevicePtr& device, Kernel kernel, const Peaks& peaks) {
  const Status computed =
      ops::testing::runOperation(kernel.operation, kernel.inputs, kernel.outputs);
  std::printf("%-40s", kernel.name.c_str());
  const auto time = computed.ok() ? timeOfKernel(device, kernel) : Result<double>(computed);
  if (!time.ok()) return (void)std::printf(" %s\n", time.status().message().c_str());
  double bytes = 0;
  std::vector<ops::Tensor> tensors[2];
  for (const auto* operands : {&kernel.inputs, &kernel.outputs}) {
    for (const TestOperand& operand : *operands) {
      bytes += static_cast<double>(operand.bytes.size());
      tensors[operands == &kernel.outputs ? 1 : 0].push_back(operand.tensor);
    }
  }
  const auto work = ops::definitionOf(kernel.operation)->work;
  const double operations = work != nullptr ? 2 * work(tensors[0], tensors[1]) : 0;
  const double ofOperations = operations / *time / peaks.operations;
  const double ofBytes = bytes / *time / peaks.bytes;
  std::printf(" %9.1f us  %7.1f GFLOP/s  %6.1f GB/s  %4.0f %% of the %s\n", *time * 1e6,
              operations / *time * 1e-9, bytes / *time * 1e-9,
              100 * std::max(ofOperations, ofBytes), ofOperations > ofBytes ? "FLOP/s" : "copy");
  std::fflush(stdout);
}

std::string nameOf(const LayerCase& layer, OperandType type) {
  return fmt::format("{} {}^2 s{} {} -> {} {}", layer.name, layer.size, layer.stride, layer.depth,
                     layer.channels, type == OperandType::TENSOR_FLOAT32 ? "f32" : "u8");
}

std::vector<Kernel> kernels() {
  using enum OperandType;
  std::vector<Kernel> all;
  for (const OperandType type : {TENSOR_FLOAT32, TENSOR_QUANT8_ASYMM}) {
    for (const LayerCase& layer : bench::layerCases()) {
      all.push_back({nameOf(layer, type),
                     layer.operation,
                     bench::layerInputs(layer, type),
                     {TestOperand::output(type, 300.0f, 100)},
                     layer.hasConstantFilter ? 1u : 2u});
    }
  }
  for (const OperandType type : {TENSOR_FLOAT32, TENSOR_QUANT8_ASYMM_SIGNED}) {
    all.push_back(
        {fmt::format("matmul x 12, 128 x 64 x 128 {}", type == TENSOR_FLOAT32 ? "f32" : "s8"),
         OperationType::BATCH_MATMUL,
         bench::matmulInputs(type, {128, 64, 128}, true),
         {TestOperand::output(type, 300.0f, 10)},
         2});
  }
  for (const uint32_t cells : {128u, 512u}) {
    all.push_back({fmt::format("lstm {} cells, 32 steps", cells),
                   OperationType::UNIDIRECTIONAL_SEQUENCE_LSTM,
                   bench::lstmInputs(cells, 32, /*isFull=*/false),
                   {TestOperand::output(TENSOR_FLOAT32)}});
  }
  for (MoveCase& move : bench::moveCases()) {
    Kernel kernel = {
        move.name, move.operation, std::move(move.inputs), {move.output}, move.variables};
    if (move.second) kernel.outputs.push_back(*move.second);
    all.push_back(std::move(kernel));
  }
  return all;
}

int benchKernels(std::string_view text) {
  const auto device = VulkanDevice::open({.software = true});
  const auto peaks = device.ok() ? measurePeaks(*device) : Result<Peaks>(device.status());
  if (!peaks.ok()) {
    std::fprintf(stderr, "%s\n", peaks.status().toString().c_str());
    return 1;
  }
  std::printf("%s: %.1f GFLOP/s in registers, %.1f GB/s in a copy\n", (*device)->name().c_str(),
              peaks->operations * 1e-9, peaks->bytes * 1e-9);
  for (Kernel& kernel : kernels()) {
    if (kernel.name.find(text) != std::string::npos) print(*device, std::move(kernel), *peaks);
  }
  return 0;
}

int benchModels(int count, char** names) {
  const std::string arguments[] = {"--software"};
  const auto device = vulkandriver::makeVulkanDriver(arguments);
  if (!device.ok()) {
    std::fprintf(stderr, "%s\n", device.status().toString().c_str());
    return 1;
  }
  for (int i = 0; i < count; ++i) {
    const Status status = measure(**device, names[i]);
    if (!status.ok()) std::fprintf(stderr, "%s: %s\n", names[i], status.toString().c_str());
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 1) return benchKernels("");
  if (argc == 3 && std::string_view(argv[1]) == "--only") return benchKernels(argv[2]);
  return benchModels(argc - 1, argv + 1);
}
