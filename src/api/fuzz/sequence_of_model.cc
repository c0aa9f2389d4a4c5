#include "api/fuzz/sequence_of_model.h"

#include <cmath>
#include <cstring>

namespace halyard::api::fuzz {
namespace {

// The groups and calls of calls.h.
enum Group : uint8_t { kModel, kCompilation, kExecution };
enum : uint8_t { kCreateModel, kAddOperand, kSetValue, kPerChannel = 5, kAddOperation, kIdentify };
enum : uint8_t { kRelax = 8, kFinishModel };
enum : uint8_t { kCreateCompilation, kFinishCompilation = 2 };
enum : uint8_t { kCreateExecution, kSetArgument, kRun = 3, kAskResult, kWait };

constexpr uint8_t kObject = 0;  // the first object of its kind
constexpr uint8_t kYes = 0;     // for ByteSource::oneIn
constexpr uint8_t kNo = 1;

class Writer {
 public:
  void put(std::initializer_list<uint8_t> bytes) { bytes_.insert(bytes_.end(), bytes); }
  void put(std::span<const uint8_t> bytes) {
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  }
  // In the form that ByteSource::number32 reads.
  void number(uint32_t value) {
    put({0xff});
    word(value);
  }
  void word(uint32_t value) {
    uint8_t bytes[4];
    std::memcpy(bytes, &value, 4);
    put(bytes);
  }
  std::vector<uint8_t> take() { return std::move(bytes_); }

 private:
  std::vector<uint8_t> bytes_;
};

void putOperand(Writer& to, const Operand& operand) {
  to.put({kModel, kAddOperand, kObject, static_cast<uint8_t>(operand.type), kNo,
          static_cast<uint8_t>(operand.dimensions.size())});
  for (const uint32_t dim : operand.dimensions) {
    if (dim < 10) {
      to.put({static_cast<uint8_t>(dim)});
    } else {
      to.put({250});
      to.number(dim);
    }
  }
  uint32_t scale = 0;
  std::memcpy(&scale, &operand.scale, 4);
  to.put({255});
  to.word(scale);
  if (operand.zeroPoint >= 0 && operand.zeroPoint < 256) {
    to.put({kNo, static_cast<uint8_t>(operand.zeroPoint)});
  } else {
    to.put({kYes});
    to.number(static_cast<uint32_t>(operand.zeroPoint));
  }
  to.put({kNo});  // not null
}

// False for scales that the input format cannot express.
bool putScales(Writer& to, uint8_t index, const SymmPerChannelQuantParams& params) {
  if (params.scales.size() > 5) return false;
  to.put({kModel, kPerChannel, kObject, index, static_cast<uint8_t>(params.scales.size())});
  for (const float scale : params.scales) {
    const float steps = scale * 64;
    if (steps != std::floor(steps) || steps > 255) return false;
    to.put({kNo, static_cast<uint8_t>(steps)});
  }
  to.put({static_cast<uint8_t>(params.channelDim), kNo});
  return true;
}

void putValue(Writer& to, const Model& model, uint8_t index) {
  const Operand& operand = model.main.operands[index];
  to.put({kModel, kSetValue, kObject, kNo, index, kNo});
  if (operand.lifetime == Lifetime::NO_VALUE) {
    to.put({kYes, kYes});
    return;
  }
  to.put({kNo});
  to.put(std::span(model.operandValues).subspan(operand.location.offset, operand.location.length));
  to.put({kNo});
}

void putIndices(Writer& to, std::span<const uint32_t> indices) {
  to.put({static_cast<uint8_t>(indices.size())});
  for (const uint32_t index : indices) to.put({static_cast<uint8_t>(index)});
}

void putExecution(Writer& to, const Subgraph& graph, std::span<const std::vector<uint8_t>> inputs,
                  uint8_t way) {
  to.put({kExecution, kCreateExecution, kObject});
  const auto put = [&](bool input, size_t i, const std::vector<uint8_t>* value) {
    const auto& list = input ? graph.inputIndexes : graph.outputIndexes;
    to.put({kExecution, kSetArgument, kObject, input ? kYes : kNo, static_cast<uint8_t>(i), kYes});
    const Operand& operand = graph.operands[list[i]];
    for (const uint32_t dim : operand.dimensions) {
      if (dim == 0) to.put({4});
    }
    to.put({kNo});
    if (!input && !knownByteSize(operand.type, operand.dimensions)) {
      to.put({kYes});  // as large as possible
      to.word(1999);
    } else {
      to.put({kNo});
    }
    const bool omitted = input && value->empty();
    to.put({kNo, omitted ? kYes : kNo});
    if (input) to.put(*value);
  };
  for (size_t i = 0; i < graph.inputIndexes.size(); ++i) put(true, i, &inputs[i]);
  for (size_t i = 0; i < graph.outputIndexes.size(); ++i) put(false, i, nullptr);
  to.put({kExecution, kRun, kObject, way});
  if (way == 3) to.put({0, kNo});
  if (way != 0) to.put({kExecution, kWait, kObject, 0});
  to.put({kExecution, kAskResult, kObject, 0, 0});
}

}  // namespace

std::optional<std::vector<uint8_t>> sequenceOf(const Model& model,
                                               std::span<const std::vector<uint8_t>> inputs,
                                               uint8_t way) {
  const Subgraph& graph = model.main;
  if (graph.operands.size() > 200 || !model.referenced.empty() || !model.pools.empty() ||
      !model.extensionNameToPrefix.empty() || graph.inputIndexes.size() > 64) {
    return std::nullopt;
  }
  Writer to;
  to.put({kModel, kCreateModel});
  for (const Operand& operand : graph.operands) {
    if (operand.dimensions.size() > 5) return std::nullopt;
    putOperand(to, operand);
  }
  for (size_t operandIndex = 0; operandIndex < graph.operands.size(); ++operandIndex) {
    const auto i = static_cast<uint8_t>(operandIndex);
    const Operand& operand = graph.operands[i];
    if (const auto* const params = std::get_if<SymmPerChannelQuantParams>(&operand.extraParams)) {
      if (!putScales(to, i, *params)) return std::nullopt;
    }
    const bool constant = operand.lifetime == Lifetime::CONSTANT_COPY;
    if (constant || operand.lifetime == Lifetime::NO_VALUE) putValue(to, model, i);
  }
  for (const Operation& operation : graph.operations) {
    if (operation.inputs.size() > 63 || operation.outputs.size() > 7) return std::nullopt;
    // One byte for an operation of the API. Otherwise 0xff, and four bytes after the operands.
    const bool isBase = isBaseOperation(operation.type);
    to.put({kModel, kAddOperation, kObject,
            isBase ? static_cast<uint8_t>(operation.type) : uint8_t{0xff}});
    putIndices(to, operation.inputs);
    putIndices(to, operation.outputs);
    if (!isBase) to.number(static_cast<uint32_t>(operation.type));
  }
  to.put({kModel, kIdentify, kObject});
  putIndices(to, graph.inputIndexes);
  putIndices(to, graph.outputIndexes);
  if (model.relaxComputationFloat32toFloat16) to.put({kModel, kRelax, kObject, kYes});
  to.put({kModel, kFinishModel, kObject});
  to.put({kCompilation, kCreateCompilation, kObject, kNo, kNo, kNo});
  to.put({kCompilation, kFinishCompilation, kObject});
  putExecution(to, graph, inputs, way);
  return to.take();
}

}  // namespace halyard::api::fuzz
