#include "testing/saved_compilation_input.h"

#include <algorithm>
#include <new>
#include <vector>

#include "saved_compilation.h"
#include "testing/cached_models.h"

namespace halyard::cpudriver::fuzz {
namespace {

// What is larger takes time and memory only.
constexpr uint64_t kMostBytes = uint64_t{16} << 20;
constexpr uint64_t kMostProducts = uint64_t{1} << 24;

struct Files {
  std::vector<uint8_t> model;
  std::vector<uint8_t> data;
};

Files save(OperandType type, bool tuned) {
  const auto model = testing::ModelForTest(type).model();
  PackingRecorder recorder;
  const auto compiled = CompiledModel::compile(model, {}, &recorder, tuned);
  if (!compiled.ok() || *compiled == nullptr) std::abort();
  if (tuned && !(*compiled)->choose(testing::lastWays(**compiled)).ok()) std::abort();
  auto content = packCompilation(*model, **compiled, recorder, {});
  if (!content.ok()) std::abort();
  return {std::move(content->model[0]), std::move(content->data[0])};
}

// One edit: another byte, one more, one less, or the end.
void edit(std::span<const uint8_t> four, Files* files) {
  const size_t where = four[0] | (four[1] & 0x7f) << 8;
  std::vector<uint8_t>& bytes = (four[1] & 0x80) != 0 ? files->data : files->model;
  if (bytes.empty()) return;
  const auto at = bytes.begin() + static_cast<ptrdiff_t>(where % bytes.size());
  switch (four[2] % 4) {
    case 0:
      *at = four[3];
      break;
    case 1:
      *at ^= four[3];
      break;
    case 2:
      bytes.insert(at, four[3]);
      break;
    default:
      bytes.erase(at, four[3] % 2 == 0 ? at + 1 : bytes.end());
  }
}

Files filesOf(std::span<const uint8_t> bytes) {
  if (bytes[0] % 2 == 0) {
    if (bytes.size() < 3) return {};
    const auto rest = bytes.subspan(3);
    const size_t size = std::min<size_t>(bytes[1] | bytes[2] << 8, rest.size());
    return {{rest.begin(), rest.begin() + static_cast<ptrdiff_t>(size)},
            {rest.begin() + static_cast<ptrdiff_t>(size), rest.end()}};
  }
  static const Files saved[] = {
      save(OperandType::TENSOR_FLOAT32, false), save(OperandType::TENSOR_QUANT8_ASYMM, false),
      save(OperandType::TENSOR_FLOAT32, true), save(OperandType::TENSOR_QUANT8_ASYMM, true)};
  Files files = saved[(bytes[0] >> 1 & 1) | (bytes[0] >> 5 & 2)];
  for (bytes = bytes.subspan(1); bytes.size() >= 4; bytes = bytes.subspan(4)) edit(bytes, &files);
  return files;
}

bool isSmall(const Model& model) {
  uint64_t bytes = 0;
  for (const Operand& operand : model.main.operands) {
    bytes += knownByteSize(operand.type, operand.dimensions).value_or(0);
  }
  uint64_t products = 1;
  for (const Operand& operand : model.main.operands) {
    products = std::max<uint64_t>(products, knownElementCount(operand.dimensions).value_or(1));
  }
  return bytes <= kMostBytes && products * model.main.operations.size() <= kMostProducts;
}

void runOnce(CompiledModel& compiled, const Model& model) {
  std::vector<std::vector<uint8_t>> memory;
  const auto argumentsFor = [&](const std::vector<uint32_t>& operands, bool areInputs) {
    std::vector<cpu::Argument> arguments;
    for (size_t i = 0; i < operands.size(); ++i) {
      const ops::Tensor& tensor = areInputs ? compiled.input(i) : compiled.output(i);
      memory.emplace_back(cpu::byteSizeOf(tensor) + 1, uint8_t{1});
      arguments.push_back({memory.back().data(), memory.back().size(), tensor.dims, false});
    }
    return arguments;
  };
  const auto inputs = argumentsFor(model.main.inputIndexes, true);
  const auto outputs = argumentsFor(model.main.outputIndexes, false);
  hal::ExecuteOptions options;
  options.deadline = hal::Clock::now() + std::chrono::milliseconds(200);
  if (compiled.takes(inputs, outputs)) (void)compiled.run(inputs, outputs, options);
}

}  // namespace

void runSavedCompilationInput(std::span<const uint8_t> bytes) {
  if (bytes.empty()) return;
  const auto files = std::make_shared<const Files>(filesOf(bytes));
  auto saved = unpackCompilation(files->model, files->data, files);
  if (!saved.ok()) {
    if (saved.status().code() != ResultCode::OP_FAILED) std::abort();
    return;
  }
  if (!isSmall(*saved->model)) return;
  PackingReplay replay(std::move(saved->pieces));
  try {
    const bool wasTuned = !saved->choices.empty();
    auto compiled = CompiledModel::compile(saved->model, {}, &replay, wasTuned);
    if (!compiled.ok() || *compiled == nullptr || !replay.isConsistent()) return;
    if (wasTuned && !(*compiled)->choose(saved->choices).ok()) return;
    runOnce(**compiled, *saved->model);
  } catch (const std::bad_alloc&) {
    // The session around a driver makes an error of it.
  }
}

}  // namespace halyard::cpudriver::fuzz
