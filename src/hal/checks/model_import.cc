#include "hal/checks/model_import.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>

#include "hal/checks/operand_sizes.h"
#include "model/validation/validation.h"

namespace halyard::hal {
namespace {

// Constants up to this size become private. They may be parameters such as shapes, permutations and
// paddings, from which kernels compute addresses. Weights only change numbers. They are mostly
// larger, and stay in their place.
constexpr uint32_t kMaxConstantParameterBytes = 512;
constexpr size_t kBlockAlignment = 64;

template <typename Visit>
Status forEachOperand(Model& model, Visit visit) {
  for (Operand& operand : model.main.operands) HALYARD_RETURN_IF_ERROR(visit(operand));
  for (Subgraph& subgraph : model.referenced) {
    for (Operand& operand : subgraph.operands) HALYARD_RETURN_IF_ERROR(visit(operand));
  }
  return okStatus();
}

// Moves constants into the model's own operandValues, or makes their pools mappable. The model is
// not validated yet, so a location out of range stays, and the validation reports it.
class Privatiser {
 public:
  Privatiser(Model& model, const std::vector<ReceivedPool>& pools, Quota::Charge& memory)
      : model_(model), pools_(pools), memory_(memory) {}

  Status run() {
    HALYARD_RETURN_IF_ERROR(
        forEachOperand(model_, [this](Operand& operand) { return privatise(operand); }));
    return replaceShrinkableFiles();
  }

 private:
  struct Range {
    uint64_t begin = UINT64_MAX;
    uint64_t end = 0;
  };

  bool isReference(const Operand& operand) const {
    const DataLocation& at = operand.location;
    return operand.lifetime == Lifetime::CONSTANT_REFERENCE && at.poolIndex < pools_.size() &&
           uint64_t{at.offset} + at.length <= pools_[at.poolIndex].size();
  }
  bool isInShrinkableFile(const Operand& operand) const {
    return isReference(operand) && !pools_[operand.location.poolIndex].mappable();
  }

  static Status tooMuch() {
    return makeStatus(ResultCode::RESOURCE_EXHAUSTED_PERSISTENT,
                      "the model has more than {} bytes of constants that must be copied",
                      kMaxCopiedBytes);
  }

  // Appends space for `size` bytes, aligned as a block.
  Result<uint64_t> append(uint64_t size) {
    uint64_t offset = model_.operandValues.size();
    offset += (kBlockAlignment - offset % kBlockAlignment) % kBlockAlignment;
    if (size > kMaxCopiedBytes || offset > kMaxCopiedBytes - size) return tooMuch();
    HALYARD_RETURN_IF_ERROR(memory_.add(offset + size - model_.operandValues.size()));
    model_.operandValues.resize(static_cast<size_t>(offset + size));
    return offset;
  }

  // Replaces each file that could shrink by the range with constants. The range is copied when a
  // driver maps the pool, at the earliest when it prepares the model.
  Status replaceShrinkableFiles() {
    std::vector<Range> ranges(pools_.size());
    HALYARD_RETURN_IF_ERROR(forEachOperand(model_, [&](Operand& operand) {
      if (!isInShrinkableFile(operand)) return okStatus();
      Range& range = ranges[operand.location.poolIndex];
      range.begin = std::min<uint64_t>(range.begin, operand.location.offset);
      range.end = std::max(range.end, uint64_t{operand.location.offset} + operand.location.length);
      return okStatus();
    }));
    uint64_t all = 0;
    SharedMemoryPtr placeholder;
    for (size_t i = 0; i < pools_.size(); ++i) {
      if (pools_[i].mappable()) continue;
      Range& range = ranges[i];
      if (range.begin < range.end) {
        range.begin -= range.begin % static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
        all += range.end - range.begin;
        if (all > kMaxCopiedBytes) return tooMuch();
        HALYARD_RETURN_IF_ERROR(memory_.add(range.end - range.begin));
        model_.pools[i] = SharedMemory::ofConstants(*pools_[i].memory(), range.begin,
                                                    static_cast<size_t>(range.end - range.begin));
        continue;
      }
      // The pool must not be mapped at all. A placeholder takes its place in the list.
      if (placeholder == nullptr) {
        HALYARD_ASSIGN_OR_RETURN(placeholder, SharedMemory::create(1, "halyard unused pool"));
      }
      model_.pools[i] = placeholder;
    }
    return forEachOperand(model_, [&](Operand& operand) {
      if (!isInShrinkableFile(operand)) return okStatus();
      const Range& range = ranges[operand.location.poolIndex];
      // All constants in the pool may be empty.
      operand.location.offset = range.begin < range.end
                                    ? static_cast<uint32_t>(operand.location.offset - range.begin)
                                    : 0;
      return okStatus();
    });
  }

  Status privatise(Operand& operand) {
    const DataLocation at = operand.location;
    const uint32_t alignment = elementAlignment(operand.type);
    if (operand.lifetime == Lifetime::CONSTANT_COPY) {
      if (at.offset % alignment == 0 || at.poolIndex != 0 ||
          uint64_t{at.offset} + at.length > model_.operandValues.size()) {
        return okStatus();
      }
      HALYARD_ASSIGN_OR_RETURN(const uint64_t offset, append(at.length));
      std::copy_n(model_.operandValues.begin() + at.offset, at.length,
                  model_.operandValues.begin() + static_cast<ptrdiff_t>(offset));
      setCopied(operand, offset);
      return okStatus();
    }
    if (!isReference(operand)) return okStatus();
    const ReceivedPool& pool = pools_[at.poolIndex];
    const bool aligned = (pool.memory()->offset() + at.offset) % alignment == 0;
    if (aligned && at.length > kMaxConstantParameterBytes) return okStatus();
    HALYARD_ASSIGN_OR_RETURN(const uint64_t offset, append(at.length));
    HALYARD_RETURN_IF_ERROR(pool.read(at.offset, {model_.operandValues.data() + offset, at.length}),
                            "memory pool {}", at.poolIndex);
    setCopied(operand, offset);
    return okStatus();
  }

  static void setCopied(Operand& operand, uint64_t offset) {
    operand.lifetime = Lifetime::CONSTANT_COPY;
    operand.location = {0, static_cast<uint32_t>(offset), operand.location.length};
  }

  Model& model_;
  const std::vector<ReceivedPool>& pools_;
  Quota::Charge& memory_;
};

// A model with the charge for its memory.
struct ChargedModel {
  Model model;
  Quota::Charge memory;
  Quota::Charge descriptors;
};

uint64_t tableBytes(const Subgraph& subgraph) {
  uint64_t bytes = (subgraph.inputIndexes.size() + subgraph.outputIndexes.size()) * 4;
  for (const Operand& operand : subgraph.operands) {
    bytes += sizeof operand + operand.dimensions.size() * 4;
  }
  for (const Operation& operation : subgraph.operations) {
    bytes += sizeof operation + (operation.inputs.size() + operation.outputs.size()) * 4;
  }
  return bytes;
}

Status checkConsumers(const Subgraph& subgraph, const std::vector<uint32_t>& stated) {
  const std::vector<uint32_t> counted = countConsumers(subgraph);
  for (size_t i = 0; i < counted.size(); ++i) {
    if (stated[i] != counted[i]) {
      return badData("operand #{} has numberOfConsumers {}, and {} uses", i, stated[i], counted[i]);
    }
  }
  return okStatus();
}

}  // namespace

Status chargeModel(Quota& quota, DecodedModel& decoded, const std::vector<PoolDescription>& pools) {
  uint64_t bytes = decoded.model.operandValues.size() + tableBytes(decoded.model.main);
  for (const Subgraph& subgraph : decoded.model.referenced) bytes += tableBytes(subgraph);
  HALYARD_ASSIGN_OR_RETURN(decoded.memory, quota.charge(Quota::Resource::MEMORY, bytes));
  HALYARD_ASSIGN_OR_RETURN(decoded.descriptors,
                           quota.charge(Quota::Resource::DESCRIPTORS, countDescriptors(pools)));
  return okStatus();
}

Result<ValidModel> importModel(DecodedModel decoded, std::vector<PoolDescription> descriptions,
                               FeatureLevel level) {
  auto charged = std::make_shared<ChargedModel>(ChargedModel{
      std::move(decoded.model), std::move(decoded.memory), std::move(decoded.descriptors)});
  const std::shared_ptr<Model> model(charged, &charged->model);
  HALYARD_ASSIGN_OR_RETURN(const std::vector<ReceivedPool> pools,
                           openPools(std::move(descriptions), level));
  for (const ReceivedPool& pool : pools) {
    if (!pool.readable()) return badData("a memory pool of the model is not readable");
    model->pools.push_back(pool.memory());
  }
  HALYARD_RETURN_IF_ERROR(Privatiser(*model, pools, charged->memory).run());
  HALYARD_ASSIGN_OR_RETURN(ValidModel valid, validatedForLevel(model, level));
  HALYARD_RETURN_IF_ERROR(checkConsumers(model->main, decoded.consumers[0]), "main subgraph");
  for (size_t i = 0; i < model->referenced.size(); ++i) {
    HALYARD_RETURN_IF_ERROR(checkConsumers(model->referenced[i], decoded.consumers[i + 1]),
                            "referenced subgraph #{}", i);
  }
  return valid;
}

}  // namespace halyard::hal
