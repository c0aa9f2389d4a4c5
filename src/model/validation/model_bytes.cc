// Serialization of models: writes them as bytes and reads them back. The functions here define the
// order of the fields. Numbers have the byte order of the machine.
#include "halyard/driver/model_bytes.h"

#include <bit>
#include <cstring>
#include <map>
#include <tuple>
#include <type_traits>

#include "halyard/driver/constants.h"
#include "model/validation/validation.h"

namespace halyard {
namespace {

// The last byte is the version.
constexpr uint64_t kMagic = 0x01'4c'44'4f'4d'4c'41'48;
constexpr uint32_t kMaxSmallBytes = 512;
constexpr uint64_t kAlignment = 64;
constexpr uint32_t kNoConstant = UINT32_MAX;

enum class ExtraKind : uint8_t { NONE, CHANNEL_QUANT, EXTENSION };

// Returns whether the constant is large and has only numbers that computations use. Such bytes go
// to ModelBytes::values.
bool isPlainNumbers(const Operand& operand) {
  if (operand.location.length <= kMaxSmallBytes) return false;
  switch (operand.type) {
    case OperandType::TENSOR_FLOAT32:
    case OperandType::TENSOR_FLOAT16:
    case OperandType::TENSOR_QUANT8_ASYMM:
    case OperandType::TENSOR_QUANT8_ASYMM_SIGNED:
    case OperandType::TENSOR_QUANT8_SYMM:
    case OperandType::TENSOR_QUANT8_SYMM_PER_CHANNEL:
    case OperandType::TENSOR_QUANT16_SYMM:
    case OperandType::TENSOR_QUANT16_ASYMM:
      return true;
    default:
      return false;
  }
}

class Writer {
 public:
  explicit Writer(const Model& model) : model_(model) {}

  Result<ModelBytes> run() {
    put(kMagic);
    put(static_cast<uint8_t>(model_.relaxComputationFloat32toFloat16 ? 1 : 0));
    put(static_cast<uint32_t>(model_.extensionNameToPrefix.size()));
    for (const ExtensionNameAndPrefix& extension : model_.extensionNameToPrefix) {
      putBytes({reinterpret_cast<const uint8_t*>(extension.name.data()), extension.name.size()});
      put(extension.prefix);
    }
    put(static_cast<uint32_t>(model_.referenced.size()));
    HALYARD_RETURN_IF_ERROR(putSubgraph(model_.main), "main subgraph");
    for (size_t i = 0; i < model_.referenced.size(); ++i) {
      HALYARD_RETURN_IF_ERROR(putSubgraph(model_.referenced[i]), "referenced subgraph #{}", i);
    }
    return std::move(bytes_);
  }

 private:
  // The key of a constant: lifetime, pool, offset, length, and isPlainNumbers. Two operands that
  // share a constant have the same key.
  using Key = std::tuple<Lifetime, uint32_t, uint32_t, uint32_t, bool>;

  template <typename T>
  void put(T value) {
    static_assert(std::is_trivially_copyable_v<T>);
    const size_t at = bytes_.structure.size();
    bytes_.structure.resize(at + sizeof value);
    std::memcpy(bytes_.structure.data() + at, &value, sizeof value);
  }
  void putBytes(std::span<const uint8_t> from) {
    put(static_cast<uint32_t>(from.size()));
    bytes_.structure.insert(bytes_.structure.end(), from.begin(), from.end());
  }
  void putNumbers(std::span<const uint32_t> from) {
    putBytes({reinterpret_cast<const uint8_t*>(from.data()), from.size() * sizeof(uint32_t)});
  }

  Status putSubgraph(const Subgraph& subgraph) {
    put(static_cast<uint32_t>(subgraph.operands.size()));
    for (size_t i = 0; i < subgraph.operands.size(); ++i) {
      HALYARD_RETURN_IF_ERROR(putOperand(subgraph.operands[i]), "operand #{}", i);
    }
    put(static_cast<uint32_t>(subgraph.operations.size()));
    for (const Operation& operation : subgraph.operations) {
      put(static_cast<int32_t>(operation.type));
      putNumbers(operation.inputs);
      putNumbers(operation.outputs);
    }
    putNumbers(subgraph.inputIndexes);
    putNumbers(subgraph.outputIndexes);
    return okStatus();
  }

  Status putOperand(const Operand& operand) {
    put(static_cast<int32_t>(operand.type));
    putNumbers(operand.dimensions);
    put(operand.scale);
    put(operand.zeroPoint);
    // The bytes contain no pools.
    put(static_cast<uint8_t>(isConstant(operand) ? Lifetime::CONSTANT_COPY : operand.lifetime));
    if (const auto* quant = std::get_if<SymmPerChannelQuantParams>(&operand.extraParams)) {
      put(ExtraKind::CHANNEL_QUANT);
      put(quant->channelDim);
      putBytes({reinterpret_cast<const uint8_t*>(quant->scales.data()),
                quant->scales.size() * sizeof(float)});
    } else if (const auto* bytes = std::get_if<std::vector<uint8_t>>(&operand.extraParams)) {
      put(ExtraKind::EXTENSION);
      putBytes(*bytes);
    } else {
      put(ExtraKind::NONE);
    }
    if (operand.lifetime == Lifetime::SUBGRAPH) put(operand.location.offset);
    return isConstant(operand) ? putConstant(operand) : okStatus();
  }

  // Writes the number of an earlier constant, or kNoConstant and the constant itself.
  Status putConstant(const Operand& operand) {
    const DataLocation& at = operand.location;
    const bool plain = isPlainNumbers(operand);
    const auto [known, isNew] =
        constants_.emplace(Key(operand.lifetime, at.poolIndex, at.offset, at.length, plain),
                           static_cast<uint32_t>(constants_.size()));
    put(isNew ? kNoConstant : known->second);
    if (!isNew) return okStatus();
    total_ += at.length + kAlignment;
    if (total_ > UINT32_MAX) return badData("the model has more than 4 GiB of constants");
    put(static_cast<uint8_t>(plain ? 1 : 0));
    put(at.length);
    const bool inPool = operand.lifetime == Lifetime::CONSTANT_REFERENCE && at.length != 0;
    if (at.length == 0) return okStatus();
    const CpuAccess access = inPool && at.poolIndex < model_.pools.size()
                                 ? CpuAccess(model_.pools[at.poolIndex], false)
                                 : CpuAccess();
    HALYARD_ASSIGN_OR_RETURN(const std::span<const uint8_t> from, constantData(model_, operand));
    auto& to = plain ? bytes_.values : bytes_.structure;
    to.insert(to.end(), from.begin(), from.end());
    return okStatus();
  }

  const Model& model_;
  ModelBytes bytes_;
  std::map<Key, uint32_t> constants_;
  uint64_t total_ = 0;
};

class Reader {
 public:
  Reader(std::span<const uint8_t> structure, std::span<const uint8_t> values)
      : structure_(structure), values_(values) {}

  Result<ValidModel> run() {
    HALYARD_RETURN_IF_ERROR(readModel(), "byte {} of a model's {}", at_, structure_.size());
    if (at_ != structure_.size()) {
      return badData("{} bytes behind a model's {}", structure_.size() - at_, at_);
    }
    if (valuesAt_ != values_.size()) {
      return badData("{} bytes of a model's values, expected {}", values_.size(), valuesAt_);
    }
    return validated(std::move(model_));
  }

 private:
  Result<std::span<const uint8_t>> take(size_t size) {
    if (size > structure_.size() - at_) {
      return badData("{} bytes are needed, {} are left", size, structure_.size() - at_);
    }
    const auto taken = structure_.subspan(at_, size);
    at_ += size;
    return taken;
  }
  template <typename T>
  Status get(T* to) {
    HALYARD_ASSIGN_OR_RETURN(const auto from, take(sizeof *to));
    std::memcpy(to, from.data(), sizeof *to);
    return okStatus();
  }
  // Reads a number of elements. Each element takes at least `least` bytes.
  Status getCount(uint32_t least, uint32_t* to) {
    HALYARD_RETURN_IF_ERROR(get(to));
    if (uint64_t{*to} * least > structure_.size() - at_) {
      return badData("{} entries cannot be in {} bytes", *to, structure_.size() - at_);
    }
    return okStatus();
  }
  Result<std::span<const uint8_t>> getBytes() {
    uint32_t size = 0;
    HALYARD_RETURN_IF_ERROR(get(&size));
    return take(size);
  }
  template <typename Container>
  Status getNumbers(Container* to) {
    using T = typename Container::value_type;
    HALYARD_ASSIGN_OR_RETURN(const auto from, getBytes());
    if (from.size() % sizeof(T) != 0) return badData("{} bytes of numbers", from.size());
    to->resize(from.size() / sizeof(T));
    if (!from.empty()) std::memcpy(to->data(), from.data(), from.size());
    return okStatus();
  }

  Status readModel() {
    uint64_t magic = 0;
    HALYARD_RETURN_IF_ERROR(get(&magic));
    if (magic != kMagic) return badData("these are no bytes of a model, or of another version");
    uint8_t relaxed = 0;
    HALYARD_RETURN_IF_ERROR(get(&relaxed));
    model_->relaxComputationFloat32toFloat16 = relaxed != 0;
    uint32_t extensions = 0;
    HALYARD_RETURN_IF_ERROR(getCount(6, &extensions));
    for (uint32_t i = 0; i < extensions; ++i) {
      HALYARD_ASSIGN_OR_RETURN(const auto name, getBytes());
      ExtensionNameAndPrefix extension{std::string(name.begin(), name.end()), 0};
      HALYARD_RETURN_IF_ERROR(get(&extension.prefix));
      model_->extensionNameToPrefix.push_back(std::move(extension));
    }
    uint32_t subgraphs = 0;
    HALYARD_RETURN_IF_ERROR(getCount(16, &subgraphs));
    HALYARD_RETURN_IF_ERROR(readSubgraph(&model_->main));
    model_->referenced.resize(subgraphs);
    for (Subgraph& subgraph : model_->referenced) HALYARD_RETURN_IF_ERROR(readSubgraph(&subgraph));
    return okStatus();
  }

  Status readSubgraph(Subgraph* to) {
    uint32_t operands = 0;
    HALYARD_RETURN_IF_ERROR(getCount(18, &operands));
    to->operands.reserve(operands);
    for (uint32_t i = 0; i < operands; ++i) {
      HALYARD_RETURN_IF_ERROR(readOperand(&to->operands.emplace_back()), "operand #{}", i);
    }
    uint32_t operations = 0;
    HALYARD_RETURN_IF_ERROR(getCount(12, &operations));
    to->operations.reserve(operations);
    for (uint32_t i = 0; i < operations; ++i) {
      Operation& operation = to->operations.emplace_back();
      HALYARD_RETURN_IF_ERROR(get(&operation.type));
      HALYARD_RETURN_IF_ERROR(getNumbers(&operation.inputs));
      HALYARD_RETURN_IF_ERROR(getNumbers(&operation.outputs));
    }
    HALYARD_RETURN_IF_ERROR(getNumbers(&to->inputIndexes));
    return getNumbers(&to->outputIndexes);
  }

  Status readOperand(Operand* to) {
    HALYARD_RETURN_IF_ERROR(get(&to->type));
    HALYARD_RETURN_IF_ERROR(getNumbers(&to->dimensions));
    HALYARD_RETURN_IF_ERROR(get(&to->scale));
    HALYARD_RETURN_IF_ERROR(get(&to->zeroPoint));
    uint8_t lifetime = 0;
    HALYARD_RETURN_IF_ERROR(get(&lifetime));
    if (lifetime > static_cast<uint8_t>(Lifetime::SUBGRAPH) ||
        lifetime == static_cast<uint8_t>(Lifetime::CONSTANT_REFERENCE)) {
      return badData("lifetime {}", lifetime);
    }
    to->lifetime = static_cast<Lifetime>(lifetime);
    HALYARD_RETURN_IF_ERROR(readExtraParams(&to->extraParams));
    if (to->lifetime == Lifetime::SUBGRAPH) return get(&to->location.offset);
    return to->lifetime == Lifetime::CONSTANT_COPY ? readConstant(&to->location) : okStatus();
  }

  Status readExtraParams(ExtraParams* to) {
    ExtraKind kind = ExtraKind::NONE;
    HALYARD_RETURN_IF_ERROR(get(&kind));
    switch (kind) {
      case ExtraKind::NONE:
        return okStatus();
      case ExtraKind::CHANNEL_QUANT: {
        SymmPerChannelQuantParams quant;
        HALYARD_RETURN_IF_ERROR(get(&quant.channelDim));
        HALYARD_RETURN_IF_ERROR(getNumbers(&quant.scales));
        *to = std::move(quant);
        return okStatus();
      }
      case ExtraKind::EXTENSION: {
        HALYARD_ASSIGN_OR_RETURN(const auto from, getBytes());
        *to = std::vector<uint8_t>(from.begin(), from.end());
        return okStatus();
      }
    }
    return badData("extra parameters of kind {}", static_cast<unsigned>(kind));
  }

  Status readConstant(DataLocation* to) {
    uint32_t earlier = 0;
    HALYARD_RETURN_IF_ERROR(get(&earlier));
    if (earlier != kNoConstant) {
      if (earlier >= constants_.size()) {
        return badData("constant {} of {}", earlier, constants_.size());
      }
      *to = constants_[earlier];
      return okStatus();
    }
    uint8_t plain = 0;
    uint32_t length = 0;
    HALYARD_RETURN_IF_ERROR(get(&plain));
    HALYARD_RETURN_IF_ERROR(get(&length));
    std::span<const uint8_t> from;
    if (plain == 0) {
      HALYARD_ASSIGN_OR_RETURN(from, take(length));
    } else {
      if (length > values_.size() - valuesAt_) {
        return badData("a constant of {} bytes, {} are left", length, values_.size() - valuesAt_);
      }
      from = values_.subspan(valuesAt_, length);
      valuesAt_ += length;
    }
    std::vector<uint8_t>& all = model_->operandValues;
    const uint64_t offset = (all.size() + kAlignment - 1) / kAlignment * kAlignment;
    if (offset + length > UINT32_MAX) return badData("more than 4 GiB of constants");
    all.resize(static_cast<size_t>(offset));
    all.insert(all.end(), from.begin(), from.end());
    *to = {0, static_cast<uint32_t>(offset), length};
    constants_.push_back(*to);
    return okStatus();
  }

  const std::span<const uint8_t> structure_;
  const std::span<const uint8_t> values_;
  size_t at_ = 0;
  size_t valuesAt_ = 0;
  std::vector<DataLocation> constants_;
  std::shared_ptr<Model> model_ = std::make_shared<Model>();
};

}  // namespace

Result<ModelBytes> serializeModel(const Model& model) { return Writer(model).run(); }

Result<ValidModel> parseModel(std::span<const uint8_t> structure, std::span<const uint8_t> values) {
  return Reader(structure, values).run();
}

}  // namespace halyard
