#include "runtime/compile/memory_descriptor.h"

#include <algorithm>

#include "base/verbose_log.h"
#include "model/shape_agreement.h"
#include "runtime/partition/plan_roles.h"

namespace halyard::runtime {

Status MemoryDescriptor::checkKind(const Operand& operand) const {
  const Operand& known = description_.operand;
  if (roles_.empty() ||
      (operand.type == known.type && operand.scale == known.scale &&
       operand.zeroPoint == known.zeroPoint && operand.extraParams == known.extraParams)) {
    return okStatus();
  }
  return badData("{}; the roles so far are for {}", operandText(operand), operandText(known));
}

Status MemoryDescriptor::addRole(const Compilation& compilation, bool isInput, uint32_t index,
                                 float frequency) {
  if (finished_) return badState("the memory descriptor is finished");
  HALYARD_RETURN_IF_ERROR(compilation.checkValid().withCode(ResultCode::BAD_DATA));
  const Subgraph& main = compilation.model().main;
  const std::vector<uint32_t>& list = isInput ? main.inputIndexes : main.outputIndexes;
  const std::string_view what = isInput ? "input" : "output";
  if (index >= list.size()) return badData("{} {} of a model with {}", what, index, list.size());
  const MemoryRole role = {compilation.id(), isInput, index};
  if (description_.roles.contains(role)) {
    return badData("{} {} of this compilation is a role already", what, index);
  }
  const Operand& operand = main.operands[list[index]];
  HALYARD_RETURN_IF_ERROR(checkKind(operand), "{} {}", what, index);
  std::optional<hal::ExtensionOperandType> extension;
  if (isExtension(operand.type)) {
    HALYARD_ASSIGN_OR_RETURN(extension, compilation.extensions().operandType(operand.type), "{} {}",
                             what, index);
  }
  if ((extension ? !extension->isTensor : isScalarType(operand.type)) &&
      !description_.dimensions.empty()) {
    return badData("{} {} is a scalar; the memory has dimensions {}", what, index,
                   shapeText(description_.dimensions));
  }
  std::optional<Shape> combined = combineShapes(description_.dimensions, operand.dimensions);
  if (!combined) {
    return badData("{} {} has dimensions {}; the memory has {}", what, index,
                   shapeText(operand.dimensions), shapeText(description_.dimensions));
  }
  if (!(frequency > 0.0f && frequency <= 1.0f)) {
    return badData("frequency {}, expected more than 0 and at most 1", frequency);
  }
  if (roles_.empty()) description_.operand = operand;
  description_.extension = extension;
  description_.dimensions = std::move(*combined);
  description_.operand.dimensions = description_.dimensions;
  description_.roles.insert(role);
  roles_.push_back({&compilation, role, frequency});
  return okStatus();
}

Status MemoryDescriptor::setDimensions(const Shape& dimensions) {
  if (finished_) return badState("the memory descriptor is finished");
  if (!dimensions.empty() && !roles_.empty() && description_.isScalar()) {
    return badData("dimensions {} for a scalar", shapeText(dimensions));
  }
  std::optional<Shape> combined = combineShapes(description_.dimensions, dimensions);
  if (!combined) {
    return badData("dimensions {}; the memory has {}", shapeText(dimensions),
                   shapeText(description_.dimensions));
  }
  description_.dimensions = std::move(*combined);
  description_.operand.dimensions = description_.dimensions;
  return okStatus();
}

Status MemoryDescriptor::finish() {
  if (finished_) return badState("the memory descriptor is finished already");
  if (roles_.empty()) return badData("a memory descriptor without roles");
  finished_ = true;
  return okStatus();
}

Result<std::unique_ptr<Memory>> MemoryDescriptor::createMemory() const {
  if (!finished_) return badState("the memory descriptor is not finished");
  PreparedModels users;
  Result<std::shared_ptr<hal::Buffer>> buffer = allocateOnDevice(&users);
  if (buffer.ok()) {
    return std::make_unique<Memory>(
        std::make_shared<DescribedMemory>(description_, std::move(*buffer), users));
  }
  // A model that can never be computed is on no device, so any memory is suitable.
  const bool chosen = std::ranges::any_of(roles_, [](const Role& role) {
    return role.compilation->hasExplicitDevices() && role.compilation->plan().whyNever.ok();
  });
  const std::optional<uint32_t> size = description_.bytes(description_.dimensions);
  if (chosen || !size) return buffer.takeStatus();
  vlog(VlogTag::MEMORY, "memory descriptor: shared memory of {} bytes, as no device takes it: {}",
       *size, buffer.status().toString());
  HALYARD_ASSIGN_OR_RETURN(SharedMemoryPtr pool, SharedMemory::create(*size, "halyard memory"));
  return std::make_unique<Memory>(std::make_shared<DescribedMemory>(description_, std::move(pool)));
}

Result<std::shared_ptr<hal::Buffer>> MemoryDescriptor::allocateOnDevice(
    PreparedModels* users) const {
  PreparedModels models;
  std::vector<hal::BufferRole> inputs;
  std::vector<hal::BufferRole> outputs;
  const Device* only = nullptr;
  for (const Role& role : roles_) {
    const Compilation& compilation = *role.compilation;
    for (const StepRole& step :
         rolesOf(compilation.model(), compilation.plan(), role.role.isInput, role.role.index)) {
      const PreparedStepPtr by = compilation.runner().recovery().current(step.step);
      if (only == nullptr) only = by->device;
      if (by->device != only) {
        return opFailed("the memory's roles are on devices {} and {}", only->name(),
                        by->device->name());
      }
      const auto it = std::ranges::find(models, by->prepared);
      const auto index = static_cast<uint32_t>(it - models.begin());
      if (it == models.end()) models.push_back(by->prepared);
      (step.isInput ? inputs : outputs).push_back({index, step.index, role.frequency});
    }
  }
  if (only == nullptr) return opFailed("no device computes with the memory in any of its roles");
  const Device& device = *only;
  if (device.isCpu() && !knownByteSize(description_.operand.type, description_.dimensions)) {
    return opFailed("device {} takes no memory whose size is open: {}", device.name(),
                    operandText(description_.operand));
  }
  auto buffer = device.hal().allocate(description_.dimensions, models, inputs, outputs);
  if (!buffer.ok()) {
    Status status = buffer.takeStatus();
    if (status.code() == ResultCode::UNAVAILABLE_DEVICE) {
      status = status.withCode(ResultCode::OP_FAILED);
    }
    status.annotate(fmt::format("device {}", device.name()));
    return status;
  }
  if (*buffer == nullptr || (*buffer)->token() == 0) {
    return opFailed("device {} answered without a buffer", device.name());
  }
  *users = std::move(models);
  return std::shared_ptr<hal::Buffer>(std::move(*buffer));
}

}  // namespace halyard::runtime
