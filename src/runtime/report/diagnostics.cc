#include "runtime/report/diagnostics.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <type_traits>
#include <variant>
#include <vector>

#include "base/process_generation.h"

namespace halyard::runtime {
namespace {

// The registrations of the process, the last one first. An earlier one stays, because another
// thread may still run its callbacks.
struct Registration {
  DiagnosticCallbacks callbacks;
  const Registration* before = nullptr;
};
constinit std::atomic<const Registration*> lastRegistration = nullptr;

class ArchitectureWriter {
 public:
  explicit ArchitectureWriter(const Model& model) : model_(model) {}

  Digest run() {
    addSubgraph(model_.main);
    hash_.addNumber(model_.referenced.size());
    for (const Subgraph& subgraph : model_.referenced) addSubgraph(subgraph);
    return hash_.finish();
  }

 private:
  template <typename List>
  void addNumbers(const List& numbers) {
    hash_.addNumber(numbers.size());
    for (const uint32_t number : numbers) hash_.addNumber(number);
  }
  // The type of an operand or operation, in the form that it has in every process.
  template <typename Type>
  void addType(Type type) {
    const auto code = static_cast<uint32_t>(type);
    if (!isExtension(type)) {
      hash_.addText("").addNumber(code);
      return;
    }
    const auto& names = model_.extensionNameToPrefix;
    const auto name = std::ranges::find(names, code >> 16, &ExtensionNameAndPrefix::prefix);
    hash_.addText(name == names.end() ? "?" : name->name).addNumber(code & 0xFFFF);
  }
  void addBytes(const void* data, size_t size) { hash_.addNumber(size).add(data, size); }

  void addOperand(const Operand& operand) {
    addType(operand.type);
    addNumbers(operand.dimensions);
    addBytes(&operand.scale, sizeof operand.scale);
    hash_.addNumber(static_cast<uint32_t>(operand.zeroPoint));
    hash_.addNumber(static_cast<uint64_t>(operand.lifetime));
    hash_.addNumber(operand.extraParams.index());
    if (const auto* scales = std::get_if<SymmPerChannelQuantParams>(&operand.extraParams)) {
      hash_.addNumber(scales->channelDim);
      addBytes(scales->scales.data(), scales->scales.size() * sizeof(float));
    } else if (const auto* data = std::get_if<std::vector<uint8_t>>(&operand.extraParams)) {
      addBytes(data->data(), data->size());
    }
  }
  void addSubgraph(const Subgraph& subgraph) {
    hash_.addNumber(subgraph.operands.size());
    for (const Operand& operand : subgraph.operands) addOperand(operand);
    hash_.addNumber(subgraph.operations.size());
    for (const Operation& operation : subgraph.operations) {
      addType(operation.type);
      addNumbers(operation.inputs);
      addNumbers(operation.outputs);
    }
    addNumbers(subgraph.inputIndexes);
    addNumbers(subgraph.outputIndexes);
  }

  const Model& model_;
  Sha256 hash_;
};

DataClass dataClassOf(OperandType type) {
  switch (type) {
    case OperandType::TENSOR_FLOAT32:
      return DataClass::FLOAT32;
    case OperandType::TENSOR_FLOAT16:
      return DataClass::FLOAT16;
    case OperandType::TENSOR_QUANT8_ASYMM:
    case OperandType::TENSOR_QUANT8_ASYMM_SIGNED:
    case OperandType::TENSOR_QUANT8_SYMM:
    case OperandType::TENSOR_QUANT8_SYMM_PER_CHANNEL:
    case OperandType::TENSOR_QUANT16_ASYMM:
    case OperandType::TENSOR_QUANT16_SYMM:
      return DataClass::QUANT;
    default:
      return DataClass::OTHER;
  }
}

}  // namespace

void setDiagnosticCallbacks(DiagnosticCallbacks callbacks) {
  auto fresh = std::make_unique<Registration>();
  fresh->callbacks = std::move(callbacks);
  fresh->before = lastRegistration.load(std::memory_order_acquire);
  while (!lastRegistration.compare_exchange_weak(fresh->before, fresh.get(),
                                                 std::memory_order_acq_rel)) {
  }
  (void)fresh.release();
}

const DiagnosticCallbacks* diagnosticCallbacks() {
  const Registration* const last = lastRegistration.load(std::memory_order_acquire);
  return last == nullptr ? nullptr : &last->callbacks;
}

Digest architectureHash(const Model& model) { return ArchitectureWriter(model).run(); }

DataClass dataClassOf(const Subgraph& subgraph, std::span<const uint32_t> operands) {
  DataClass result = DataClass::OTHER;
  for (const uint32_t operand : operands) {
    const DataClass found = dataClassOf(subgraph.operands[operand].type);
    if (found == DataClass::OTHER || found == result) continue;
    result = result == DataClass::OTHER ? found : DataClass::MIXED;
  }
  return result;
}

std::string deviceIds(std::span<const Device* const> devices) {
  std::vector<std::string> ids;
  for (const Device* device : devices) {
    ids.push_back(fmt::format("{}={}", device->name(), device->info().versionString));
  }
  std::ranges::sort(ids);
  return fmt::format("{}", fmt::join(ids, ","));
}

int32_t sessionId() {
  static constinit PerProcess<int32_t> id;
  return id.get([] {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    Sha256 hash;
    hash.addNumber(static_cast<uint64_t>(now.count())).addNumber(static_cast<uint64_t>(::getpid()));
    const Digest digest = hash.finish();
    const uint32_t number = uint32_t{digest[0]} | uint32_t{digest[1]} << 8 |
                            uint32_t{digest[2]} << 16 | (uint32_t{digest[3]} & 0x7F) << 24;
    return std::make_unique<int32_t>(static_cast<int32_t>(number));
  });
}

}  // namespace halyard::runtime
