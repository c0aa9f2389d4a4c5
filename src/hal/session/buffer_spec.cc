#include "hal/session/buffer_spec.h"

#include "hal/session/session_prepared_model.h"

namespace halyard::hal {
namespace {

class SpecBuilder {
 public:
  SpecBuilder(const SessionState& session, const Shape& dimensions,
              std::span<const std::shared_ptr<PreparedModel>> preparedModels)
      : session_(session), preparedModels_(preparedModels) {
    spec_.dimensions = dimensions;
  }

  Status add(const BufferRole& role, bool isInput) {
    if (role.modelIndex >= preparedModels_.size()) {
      return badData("prepared model {} of {}", role.modelIndex, preparedModels_.size());
    }
    const PreparedModel* const given = preparedModels_[role.modelIndex].get();
    if (given == nullptr) return badData("prepared model {} is null", role.modelIndex);
    const auto* const prepared = dynamic_cast<const SessionPreparedModel*>(given);
    if (prepared == nullptr || &prepared->session() != &session_) {
      return badData("prepared model {} is not of this device and client", role.modelIndex);
    }
    const Subgraph& main = prepared->model().main;
    const std::vector<uint32_t>& list = isInput ? main.inputIndexes : main.outputIndexes;
    if (role.ioIndex >= list.size()) {
      return badData("index {}; prepared model {} has {} of them", role.ioIndex, role.modelIndex,
                     list.size());
    }
    if (!(role.frequency > 0.0f && role.frequency <= 1.0f)) {
      return badData("frequency {}, expected more than 0 and at most 1", role.frequency);
    }
    if (!spec_.uses.insert({prepared->id(), isInput, role.ioIndex}).second) {
      return badData("prepared model {}, index {}, is named twice", role.modelIndex, role.ioIndex);
    }
    spec_.driverRoles.push_back({prepared->ofDriver(), isInput, role.ioIndex});
    return merge(main.operands[list[role.ioIndex]]);
  }

  Result<BufferSpec> finish() {
    if (spec_.isScalar() && !spec_.dimensions.empty()) {
      return badData("dimensions {} for a scalar, {}", shapeText(spec_.dimensions),
                     operandTypeName(spec_.type));
    }
    HALYARD_RETURN_IF_ERROR(checkSizeFits(spec_.type, spec_.dimensions));
    if (isExtension(spec_.type) || elementSize(spec_.type) == 0) {
      return opFailed("the size of {} is not known here", operandTypeName(spec_.type));
    }
    return std::move(spec_);
  }

 private:
  Status merge(const Operand& operand) {
    if (first_ == nullptr) {
      first_ = &operand;
      spec_.type = operand.type;
    }
    const bool sameParams = isExtension(operand.type) || operand.extraParams == first_->extraParams;
    if (operand.type != first_->type || operand.scale != first_->scale ||
        operand.zeroPoint != first_->zeroPoint || !sameParams) {
      return badData("{} and {} are operands of different kinds{}", operandText(*first_),
                     operandText(operand), sameParams ? "" : ", by their extra parameters");
    }
    std::optional<Shape> combined = combineShapes(spec_.dimensions, operand.dimensions);
    if (!combined) {
      return badData("dimensions {} contradict the {} known so far", shapeText(operand.dimensions),
                     shapeText(spec_.dimensions));
    }
    spec_.dimensions = std::move(*combined);
    return okStatus();
  }

  const SessionState& session_;
  const std::span<const std::shared_ptr<PreparedModel>> preparedModels_;
  const Operand* first_ = nullptr;
  BufferSpec spec_;
};

}  // namespace

MemoryOrder BufferSpec::order(size_t bytes) const {
  MemoryOrder order{bytes, type, dimensions, {}};
  for (const DriverRole& role : driverRoles) {
    std::shared_ptr<PreparedModel> preparedModel = role.preparedModel.lock();
    if (preparedModel == nullptr) continue;
    order.roles.push_back({std::move(preparedModel), role.isInput, role.index});
  }
  return order;
}

Result<BufferSpec> makeBufferSpec(const SessionState& session, const Shape& dimensions,
                                  std::span<const std::shared_ptr<PreparedModel>> preparedModels,
                                  std::span<const BufferRole> inputRoles,
                                  std::span<const BufferRole> outputRoles) {
  if (preparedModels.empty()) return badData("a buffer for no prepared model");
  if (inputRoles.empty() && outputRoles.empty()) return badData("a buffer without roles");
  for (size_t i = 0; i < preparedModels.size(); ++i) {
    if (preparedModels[i] == nullptr) return badData("prepared model {} is null", i);
  }
  SpecBuilder builder(session, dimensions, preparedModels);
  for (size_t i = 0; i < inputRoles.size(); ++i) {
    HALYARD_RETURN_IF_ERROR(builder.add(inputRoles[i], true), "input role {}", i);
  }
  for (size_t i = 0; i < outputRoles.size(); ++i) {
    HALYARD_RETURN_IF_ERROR(builder.add(outputRoles[i], false), "output role {}", i);
  }
  return builder.finish();
}

}  // namespace halyard::hal
