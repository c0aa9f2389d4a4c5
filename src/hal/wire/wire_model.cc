#include "hal/wire/wire_model.h"

#include <cstring>

#include "hal/wire/wire_types.h"

namespace halyard::hal {
namespace {

// Far above any real model. Low enough that decoding a hostile message needs at most a few hundred
// MiB.
constexpr uint64_t kMaxOperands = 1'000'000;
constexpr uint64_t kMaxOperations = 1'000'000;
constexpr uint64_t kMaxSubgraphs = 100'000;

kj::ArrayPtr<const uint32_t> arrayOf(std::span<const uint32_t> numbers) {
  return kj::arrayPtr(numbers.data(), numbers.size());
}

unsigned sizeOf(size_t size) { return static_cast<unsigned>(size); }

void encodeOperand(const Operand& from, uint32_t consumers, std::optional<uint32_t> constantPool,
                   wire::Operand::Builder to) {
  to.setType(static_cast<int32_t>(from.type));
  to.setDimensions(arrayOf(from.dimensions));
  to.setNumberOfConsumers(consumers);
  to.setScale(from.scale);
  to.setZeroPoint(from.zeroPoint);
  const bool moved = constantPool && from.lifetime == Lifetime::CONSTANT_COPY;
  to.setLifetime(moved ? wire::OperandLifeTime::CONSTANT_REFERENCE
                       : static_cast<wire::OperandLifeTime>(from.lifetime));
  auto location = to.initLocation();
  location.setPoolIndex(moved ? *constantPool : from.location.poolIndex);
  location.setOffset(from.location.offset);
  location.setLength(from.location.length);
  if (const auto* channel = std::get_if<SymmPerChannelQuantParams>(&from.extraParams)) {
    auto params = to.getExtraParams().initChannelQuant();
    params.setScales(kj::arrayPtr(channel->scales.data(), channel->scales.size()));
    params.setChannelDim(channel->channelDim);
  } else if (const auto* bytes = std::get_if<std::vector<uint8_t>>(&from.extraParams)) {
    to.getExtraParams().setExtension(kj::arrayPtr(bytes->data(), bytes->size()));
  }
}

void encodeSubgraph(const Subgraph& from, std::optional<uint32_t> constantPool,
                    wire::Subgraph::Builder to) {
  const std::vector<uint32_t> consumers = countConsumers(from);
  auto operands = to.initOperands(sizeOf(from.operands.size()));
  for (unsigned i = 0; i < operands.size(); ++i) {
    encodeOperand(from.operands[i], consumers[i], constantPool, operands[i]);
  }
  auto operations = to.initOperations(sizeOf(from.operations.size()));
  for (unsigned i = 0; i < operations.size(); ++i) {
    operations[i].setType(static_cast<int32_t>(from.operations[i].type));
    operations[i].setInputs(arrayOf(from.operations[i].inputs));
    operations[i].setOutputs(arrayOf(from.operations[i].outputs));
  }
  to.setInputIndexes(arrayOf(from.inputIndexes));
  to.setOutputIndexes(arrayOf(from.outputIndexes));
}

Result<ExtraParams> decodeExtraParams(wire::Operand::ExtraParams::Reader from) {
  switch (from.which()) {
    case wire::Operand::ExtraParams::NONE:
      return ExtraParams();
    case wire::Operand::ExtraParams::CHANNEL_QUANT: {
      const auto params = from.getChannelQuant();
      return ExtraParams(SymmPerChannelQuantParams{decodeNumbers<float>(params.getScales()),
                                                   params.getChannelDim()});
    }
    case wire::Operand::ExtraParams::EXTENSION: {
      const auto bytes = from.getExtension();
      return ExtraParams(std::vector<uint8_t>(bytes.begin(), bytes.end()));
    }
  }
  return badData("extra parameters of unknown kind {}", static_cast<unsigned>(from.which()));
}

Status decodeOperand(wire::Operand::Reader from, HalVersion version, Operand& to) {
  to.type = static_cast<OperandType>(from.getType());
  to.dimensions = decodeNumbers(from.getDimensions());
  to.scale = from.getScale();
  to.zeroPoint = from.getZeroPoint();
  const auto lifetime = static_cast<unsigned>(from.getLifetime());
  if (lifetime > static_cast<unsigned>(Lifetime::SUBGRAPH)) {
    return badData("lifetime {} is unknown", lifetime);
  }
  to.lifetime = static_cast<Lifetime>(lifetime);
  const auto location = from.getLocation();
  to.location = {location.getPoolIndex(), location.getOffset(), location.getLength()};
  if (version >= HalVersion::V1_2) {
    HALYARD_ASSIGN_OR_RETURN(to.extraParams, decodeExtraParams(from.getExtraParams()));
  }
  return okStatus();
}

uint64_t wordsOf(std::span<const uint32_t> numbers) { return (numbers.size() + 1) / 2; }

uint64_t wordsOf(const Subgraph& subgraph) {
  // The words of each structure, including the tag of a list of them.
  constexpr uint64_t kSubgraph = 6;
  constexpr uint64_t kOperand = 8;
  constexpr uint64_t kChannels = 2;
  constexpr uint64_t kOperation = 3;
  uint64_t words = kSubgraph + wordsOf(subgraph.inputIndexes) + wordsOf(subgraph.outputIndexes) +
                   kOperand * subgraph.operands.size() + kOperation * subgraph.operations.size();
  for (const Operand& operand : subgraph.operands) {
    words += wordsOf(operand.dimensions);
    if (const auto* channel = std::get_if<SymmPerChannelQuantParams>(&operand.extraParams)) {
      words += kChannels + (channel->scales.size() + 1) / 2;
    } else if (const auto* bytes = std::get_if<std::vector<uint8_t>>(&operand.extraParams)) {
      words += bytes->size() / sizeof(uint64_t) + 1;
    }
  }
  for (const Operation& operation : subgraph.operations) {
    words += wordsOf(operation.inputs) + wordsOf(operation.outputs);
  }
  return words;
}

struct Counts {
  uint64_t operands = 0;
  uint64_t operations = 0;
};

Status decodeSubgraph(wire::Subgraph::Reader from, HalVersion version, Counts& counts, Subgraph& to,
                      std::vector<uint32_t>& consumers) {
  // Each access to a list counts against the message's traversal limit, so there is only one.
  const auto operands = from.getOperands();
  const auto operations = from.getOperations();
  counts.operands += operands.size();
  counts.operations += operations.size();
  if (counts.operands > kMaxOperands || counts.operations > kMaxOperations) {
    return badData("more than {} operands or {} operations", kMaxOperands, kMaxOperations);
  }
  to.operands.reserve(operands.size());
  consumers.reserve(operands.size());
  for (const auto operand : operands) {
    HALYARD_RETURN_IF_ERROR(decodeOperand(operand, version, to.operands.emplace_back()),
                            "operand #{}", to.operands.size() - 1);
    consumers.push_back(operand.getNumberOfConsumers());
  }
  to.operations.reserve(operations.size());
  for (const auto operation : operations) {
    to.operations.push_back({static_cast<OperationType>(operation.getType()),
                             decodeNumbers(operation.getInputs()),
                             decodeNumbers(operation.getOutputs())});
  }
  to.inputIndexes = decodeNumbers<uint32_t>(from.getInputIndexes());
  to.outputIndexes = decodeNumbers<uint32_t>(from.getOutputIndexes());
  return okStatus();
}

}  // namespace

Result<SharedMemoryPtr> shareLargeConstants(const Model& model) {
  if (model.operandValues.size() <= kMaxInlineConstants) return SharedMemoryPtr();
  HALYARD_ASSIGN_OR_RETURN(SharedMemoryPtr memory, SharedMemory::create(model.operandValues.size(),
                                                                        "halyard model constants"));
  HALYARD_ASSIGN_OR_RETURN(const Mapping mapping, memory->map());
  std::memcpy(mapping.data(), model.operandValues.data(), model.operandValues.size());
  return memory;
}

uint64_t estimateWords(const Model& model, const SharedMemoryPtr& constants) {
  // A pool with all fields of hardware buffers, and a name with its prefix.
  constexpr uint64_t kModel = 16;
  constexpr uint64_t kPool = 16;
  constexpr uint64_t kExtension = 16;
  uint64_t words = kModel + kPool * (model.pools.size() + 1) +
                   kExtension * model.extensionNameToPrefix.size() + wordsOf(model.main);
  for (const Subgraph& subgraph : model.referenced) words += wordsOf(subgraph);
  if (constants == nullptr) words += model.operandValues.size() / sizeof(uint64_t) + 1;
  return words;
}

void encodeModel(const Model& model, const SharedMemoryPtr& constants, wire::Model::Builder to) {
  std::optional<uint32_t> constantPool;
  if (constants != nullptr) constantPool = static_cast<uint32_t>(model.pools.size());

  encodeSubgraph(model.main, constantPool, to.initMain());
  auto referenced = to.initReferenced(sizeOf(model.referenced.size()));
  for (unsigned i = 0; i < referenced.size(); ++i) {
    encodeSubgraph(model.referenced[i], constantPool, referenced[i]);
  }
  MemoryEncoder encoder;
  auto pools = to.initPools(sizeOf(model.pools.size() + (constantPool ? 1 : 0)));
  for (unsigned i = 0; i < model.pools.size(); ++i) encoder.encode(model.pools[i], i, pools[i]);
  if (constantPool) {
    encoder.encode(constants, *constantPool, pools[*constantPool]);
  } else {
    to.setOperandValues(kj::arrayPtr(model.operandValues.data(), model.operandValues.size()));
  }
  to.setRelaxComputationFloat32toFloat16(model.relaxComputationFloat32toFloat16);
  auto names = to.initExtensionNameToPrefix(sizeOf(model.extensionNameToPrefix.size()));
  for (unsigned i = 0; i < names.size(); ++i) {
    names[i].setName(model.extensionNameToPrefix[i].name);
    names[i].setPrefix(model.extensionNameToPrefix[i].prefix);
  }
}

Result<DecodedModel> decodeModel(wire::Model::Reader from, HalVersion version) {
  DecodedModel to;
  Counts counts;
  const auto referenced = from.getReferenced();
  const unsigned subgraphs = version >= HalVersion::V1_3 ? referenced.size() : 0;
  if (subgraphs > kMaxSubgraphs) {
    return badData("{} subgraphs; at most {} are taken", subgraphs, kMaxSubgraphs);
  }
  to.consumers.resize(1 + subgraphs);
  to.model.referenced.resize(subgraphs);
  HALYARD_RETURN_IF_ERROR(
      decodeSubgraph(from.getMain(), version, counts, to.model.main, to.consumers[0]),
      "main subgraph");
  for (unsigned i = 0; i < subgraphs; ++i) {
    HALYARD_RETURN_IF_ERROR(
        decodeSubgraph(referenced[i], version, counts, to.model.referenced[i], to.consumers[i + 1]),
        "referenced subgraph #{}", i);
  }
  const auto values = from.getOperandValues();
  to.model.operandValues.assign(values.begin(), values.end());
  if (version >= HalVersion::V1_1) {
    to.model.relaxComputationFloat32toFloat16 = from.getRelaxComputationFloat32toFloat16();
  }
  if (version >= HalVersion::V1_2) {
    for (const auto entry : from.getExtensionNameToPrefix()) {
      to.model.extensionNameToPrefix.push_back({safeText(entry.getName()), entry.getPrefix()});
    }
  }
  return to;
}

}  // namespace halyard::hal
