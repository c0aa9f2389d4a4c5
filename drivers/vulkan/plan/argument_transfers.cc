#include "plan/argument_transfers.h"

#include <cstring>

#include "halyard/driver/deadline.h"
#include "plan/vulkan_memory.h"

namespace halyard::vulkandriver {
namespace {

// A value of the word for faults, as in shaders/boxes.comp. All others stand for an index.
constexpr uint32_t kWrongBox = 2;

// The buffer of an argument in the device's memory; null for all others.
Result<const DeviceBuffer*> ownBuffer(const hal::MappedArgument& argument, uint64_t bytes) {
  if (argument.deviceMemory == nullptr) return nullptr;
  // The session passes only memory of this device.
  const auto* const memory = static_cast<const VulkanMemory*>(argument.deviceMemory);
  if (memory->buffer().bytes() < bytes) {
    return badData("memory of {} bytes, expected {}", memory->buffer().bytes(), bytes);
  }
  return &memory->buffer();
}

}  // namespace

Result<std::unique_ptr<ArgumentTransfers>> ArgumentTransfers::create(
    std::shared_ptr<VulkanDevice> device, DeviceBuffer& memory, ArgumentPlaces places) {
  auto made = std::make_unique<ArgumentTransfers>(device, memory, std::move(places));
  if (memory.mapped() == nullptr) {
    HALYARD_ASSIGN_OR_RETURN(
        made->staging_,
        // The word for faults follows the arguments.
        DeviceBuffer::staging(std::move(device), made->places_.end + sizeof(uint32_t)));
  }
  return made;
}

// Copies of the device go with the first and the last submission.
Status ArgumentTransfers::submit(const ModelCommands& model) {
  for (size_t i = 0; i < model.lists.size(); ++i) {
    if (i > 0) HALYARD_RETURN_IF_ERROR(hal::checkMayContinue(model.options));
    std::vector<VkCommandBuffer> together;
    if (i == 0 && before_ != nullptr) together.push_back(before_->handle());
    together.push_back(model.lists[i]);
    const bool isLast = i + 1 == model.lists.size();
    if (isLast && after_ != nullptr) together.push_back(after_->handle());
    HALYARD_RETURN_IF_ERROR(device_->submit(together, model.priority, model.options.deadline));
  }
  return okStatus();
}

Status ArgumentTransfers::runMapped(const ModelCommands& model, const hal::MappedRequest& request,
                                    uint64_t& copied) {
  for (size_t i = 0; i < places_.inputs.size(); ++i) {
    const ArgumentPlace& place = places_.inputs[i];
    const hal::MappedArgument& input = request.inputs()[i];
    HALYARD_ASSIGN_OR_RETURN(const DeviceBuffer* const own, ownBuffer(input, place.bytes));
    const void* const from = own != nullptr ? own->mapped() : input.data;
    if (from == nullptr) return opFailed("input {} is omitted", i);
    std::memcpy(memory_.mapped() + place.offset, from, place.bytes);
    if (own == nullptr) copied += place.bytes;
  }
  // An execution that was ended may have left it.
  if (places_.fault) std::memset(memory_.mapped() + *places_.fault, 0, sizeof(uint32_t));
  HALYARD_RETURN_IF_ERROR(submit(model));
  if (places_.fault) HALYARD_RETURN_IF_ERROR(checkFault(memory_.mapped() + *places_.fault));
  for (size_t i = 0; i < places_.outputs.size(); ++i) {
    const ArgumentPlace& place = places_.outputs[i];
    const hal::MappedArgument& output = request.outputs()[i];
    HALYARD_ASSIGN_OR_RETURN(const DeviceBuffer* const own, ownBuffer(output, place.bytes));
    void* const to = own != nullptr ? own->mapped() : output.data;
    if (to == nullptr) continue;  // the client leaves it out
    std::memcpy(to, memory_.mapped() + place.offset, place.bytes);
    if (own == nullptr) copied += place.bytes;
  }
  return okStatus();
}

Status ArgumentTransfers::checkFault(const uint8_t* word) const {
  uint32_t value = 0;
  std::memcpy(&value, word, sizeof value);
  if (value == 0) return okStatus();
  if (value == kWrongBox) {
    return opFailed("the corners of a box are not in order, or outside of the feature map");
  }
  return opFailed("an index is outside of its tensor");
}

Result<ArgumentTransfers::End> ArgumentTransfers::endOf(
    const hal::MappedArgument& argument, const ArgumentPlace& place,
    const std::vector<ImportedPages>& imports) const {
  HALYARD_ASSIGN_OR_RETURN(const DeviceBuffer* const own, ownBuffer(argument, place.bytes));
  if (own != nullptr) return End{own, 0, false};
  if (argument.data == nullptr || place.bytes == 0) return End{};
  const auto* const data = static_cast<const uint8_t*>(argument.data);
  for (const ImportedPages& pages : imports) {
    const auto offset = static_cast<uint64_t>(data - pages.first);
    if (data >= pages.first && offset + place.bytes <= pages.buffer->bytes()) {
      return End{pages.buffer.get(), offset, false};
    }
  }
  return End{staging_.get(), place.offset, true};
}

Status ArgumentTransfers::record(const std::vector<End>& inputs, const std::vector<End>& outputs) {
  std::vector<Key> key;
  for (const auto* ends : {&inputs, &outputs}) {
    for (const End& end : *ends) {
      key.push_back({end.buffer != nullptr ? end.buffer->id() : 0, end.offset});
    }
  }
  if (before_ != nullptr && key == recorded_) return okStatus();
  recorded_.clear();
  HALYARD_ASSIGN_OR_RETURN(auto before, CommandList::begin(device_));
  HALYARD_ASSIGN_OR_RETURN(auto after, CommandList::begin(device_));
  before->barrier();
  for (size_t i = 0; i < inputs.size(); ++i) {
    const ArgumentPlace& place = places_.inputs[i];
    if (place.bytes == 0) continue;
    before->copy({inputs[i].buffer, inputs[i].offset}, {&memory_, place.offset}, place.bytes);
  }
  const BufferPlace stagedFault = {staging_.get(), places_.end};
  if (places_.fault) {
    before->copy(stagedFault, {&memory_, *places_.fault}, sizeof(uint32_t));
  }
  before->barrier();
  HALYARD_RETURN_IF_ERROR(before->end());
  after->barrier();
  if (places_.fault) {
    after->copy({&memory_, *places_.fault}, stagedFault, sizeof(uint32_t));
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i].buffer == nullptr || places_.outputs[i].bytes == 0) continue;
    const ArgumentPlace& place = places_.outputs[i];
    after->copy({&memory_, place.offset}, {outputs[i].buffer, outputs[i].offset}, place.bytes);
  }
  after->barrier();
  HALYARD_RETURN_IF_ERROR(after->end());
  before_ = std::move(before);
  after_ = std::move(after);
  recorded_ = std::move(key);
  return okStatus();
}

Status ArgumentTransfers::run(const ModelCommands& model, const hal::MappedRequest& request,
                              const std::vector<ImportedPages>& imports, uint64_t& copied) {
  if (staging_ == nullptr) return runMapped(model, request, copied);
  std::vector<End> inputs;
  for (size_t i = 0; i < places_.inputs.size(); ++i) {
    const ArgumentPlace& place = places_.inputs[i];
    const hal::MappedArgument& input = request.inputs()[i];
    HALYARD_ASSIGN_OR_RETURN(const End end, endOf(input, place, imports));
    if (end.buffer == nullptr && place.bytes != 0) return opFailed("input {} is omitted", i);
    if (end.isStaged) {
      std::memcpy(staging_->mapped() + end.offset, input.data, place.bytes);
    }
    if (input.deviceMemory == nullptr) copied += place.bytes;
    inputs.push_back(end);
  }
  std::vector<End> outputs;
  for (size_t i = 0; i < places_.outputs.size(); ++i) {
    HALYARD_ASSIGN_OR_RETURN(outputs.emplace_back(),
                             endOf(request.outputs()[i], places_.outputs[i], imports));
  }
  HALYARD_RETURN_IF_ERROR(record(inputs, outputs));
  // Beyond the arguments, and a multiple of 4 like all places.
  uint8_t* const fault = staging_->mapped() + places_.end;
  std::memset(fault, 0, sizeof(uint32_t));
  HALYARD_RETURN_IF_ERROR(submit(model));
  HALYARD_RETURN_IF_ERROR(checkFault(fault));
  for (size_t i = 0; i < outputs.size(); ++i) {
    const ArgumentPlace& place = places_.outputs[i];
    const hal::MappedArgument& output = request.outputs()[i];
    if (outputs[i].isStaged) {
      std::memcpy(output.data, staging_->mapped() + place.offset, place.bytes);
    }
    if (output.data != nullptr) copied += place.bytes;
  }
  return okStatus();
}

}  // namespace halyard::vulkandriver
