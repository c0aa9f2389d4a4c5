#include "plan/vulkan_model.h"

#include <algorithm>
#include <cstring>

#include "cpu/arena_plan.h"
#include "halyard/driver/constants.h"
#include "halyard/driver/mapped_request.h"

namespace halyard::vulkandriver {
namespace {

constexpr size_t kAlignment = 64;
constexpr uint32_t kMostGroups = 65535;  // in one direction, on every device

size_t aligned(size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

uint64_t nanosecondsSince(hal::TimePoint start) {
  return static_cast<uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(hal::Clock::now() - start).count());
}

bool isTemporary(const Operand& operand) {
  return operand.lifetime == Lifetime::TEMPORARY_VARIABLE;
}

}  // namespace

Result<std::shared_ptr<hal::PreparedModel>> VulkanModel::create(
    std::shared_ptr<VulkanDevice> device, std::shared_ptr<const Model> model,
    const Recording& recording) {
  auto made = std::make_shared<VulkanModel>(std::move(device), std::move(model));
  made->place(recording);
  HALYARD_RETURN_IF_ERROR(made->allocate());
  HALYARD_RETURN_IF_ERROR(made->upload(recording));
  HALYARD_RETURN_IF_ERROR(made->makeDescriptors());
  HALYARD_RETURN_IF_ERROR(made->record(recording));
  return std::shared_ptr<hal::PreparedModel>(std::move(made));
}

VulkanModel::~VulkanModel() {
  if (isLost_) return;
  const VolkDeviceTable& vk = device_->table();
  vk.vkDestroyCommandPool(device_->handle(), commandPool_, nullptr);
  vk.vkDestroyDescriptorPool(device_->handle(), descriptors_, nullptr);
  vk.vkDestroyBufferView(device_->handle(), texels_, nullptr);
  vk.vkDestroyBuffer(device_->handle(), buffer_, nullptr);
  vk.vkFreeMemory(device_->handle(), memory_, nullptr);
}

size_t VulkanModel::bytesOf(uint32_t operand) const {
  const Operand& described = model_->main.operands[operand];
  return knownByteSize(described.type, described.dimensions).value_or(0);
}

void VulkanModel::place(const Recording& recording) {
  const Subgraph& main = model_->main;
  const auto operands = static_cast<uint32_t>(main.operands.size());
  offsets_.assign(operands + recording.constants().size(), 0);
  const auto append = [this](size_t bytes) {
    const size_t offset = bytes_;
    bytes_ += aligned(bytes);
    return offset;
  };
  for (uint32_t i = 0; i < operands; ++i) {
    if (isTemporary(main.operands[i])) continue;
    if (!isConstant(main.operands[i]) || recording.uses(i)) offsets_[i] = append(bytesOf(i));
  }
  for (size_t i = 0; i < recording.constants().size(); ++i) {
    offsets_[operands + i] = append(recording.constants()[i].bytes);
  }
  for (const Dispatch& dispatch : recording.dispatches()) {
    parameters_.push_back(append(dispatch.parameters.size() * sizeof(int32_t)));
  }
  cpu::LifetimePlanner planner(operands);
  for (size_t step = 0; step < main.operations.size(); ++step) {
    for (const uint32_t output : main.operations[step].outputs) {
      if (isTemporary(main.operands[output])) planner.write(output, bytesOf(output), step);
    }
    for (const uint32_t input : main.operations[step].inputs) planner.extend(input, step);
  }
  const cpu::OperandPlaces places = planner.place(kAlignment);
  for (uint32_t i = 0; i < operands; ++i) {
    if (places.offsets[i]) offsets_[i] = bytes_ + *places.offsets[i];
  }
  // No memory is empty.
  bytes_ += aligned(std::max<size_t>(places.bytes, 1));
}

Status VulkanModel::allocate() {
  if (bytes_ > device_->mostBytes()) {
    return makeStatus(ResultCode::OUT_OF_MEMORY, "the model needs {} bytes, the device has {}",
                      bytes_, device_->mostBytes());
  }
  const VolkDeviceTable& vk = device_->table();
  VkBufferCreateInfo buffer = {};
  buffer.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO;
  buffer.size = bytes_;
  buffer.usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_STORAGE_TEXEL_BUFFER_BIT;
  HALYARD_RETURN_IF_ERROR(vulkanStatus(
      vk.vkCreateBuffer(device_->handle(), &buffer, nullptr, &buffer_), "making a buffer"));
  VkMemoryRequirements needs;
  vk.vkGetBufferMemoryRequirements(device_->handle(), buffer_, &needs);
  VkMemoryAllocateInfo info = {};
  info.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO;
  info.allocationSize = needs.size;
  HALYARD_ASSIGN_OR_RETURN(info.memoryTypeIndex, device_->mappableMemoryType(needs.memoryTypeBits));
  HALYARD_RETURN_IF_ERROR(vulkanStatus(
      vk.vkAllocateMemory(device_->handle(), &info, nullptr, &memory_), "allocating memory"));
  HALYARD_RETURN_IF_ERROR(vulkanStatus(
      vk.vkBindBufferMemory(device_->handle(), buffer_, memory_, 0), "binding memory"));
  void* data = nullptr;
  HALYARD_RETURN_IF_ERROR(vulkanStatus(
      vk.vkMapMemory(device_->handle(), memory_, 0, VK_WHOLE_SIZE, 0, &data), "mapping memory"));
  mapped_ = static_cast<uint8_t*>(data);
  // Nothing of another model is left in it.
  std::memset(mapped_, 0, bytes_);
  return okStatus();
}

Status VulkanModel::upload(const Recording& recording) {
  const std::vector<Operand>& operands = model_->main.operands;
  for (uint32_t i = 0; i < operands.size(); ++i) {
    if (!isConstant(operands[i]) || !recording.uses(i)) continue;
    HALYARD_ASSIGN_OR_RETURN(const std::span<const uint8_t> bytes,
                             constantData(*model_, operands[i]));
    std::ranges::copy(bytes, mapped_ + offsets_[i]);
  }
  for (size_t i = 0; i < recording.constants().size(); ++i) {
    const AddedConstant& constant = recording.constants()[i];
    if (constant.write) constant.write({mapped_ + offsets_[operands.size() + i], constant.bytes});
  }
  for (size_t i = 0; i < recording.dispatches().size(); ++i) {
    uint8_t* to = mapped_ + parameters_[i];
    for (const Parameter& parameter : recording.dispatches()[i].parameters) {
      const int32_t value =
          parameter.isPlace ? static_cast<int32_t>(offsets_[static_cast<size_t>(parameter.value)])
                            : parameter.value;
      std::memcpy(to, &value, sizeof value);
      to += sizeof value;
    }
  }
  return okStatus();
}

Status VulkanModel::makeDescriptors() {
  const VolkDeviceTable& vk = device_->table();
  const VkDescriptorPoolSize sizes[] = {{VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1},
                                        {VK_DESCRIPTOR_TYPE_STORAGE_TEXEL_BUFFER, 1}};
  VkDescriptorPoolCreateInfo pool = {};
  pool.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO;
  pool.maxSets = 1;
  pool.poolSizeCount = 2;
  pool.pPoolSizes = sizes;
  HALYARD_RETURN_IF_ERROR(
      vulkanStatus(vk.vkCreateDescriptorPool(device_->handle(), &pool, nullptr, &descriptors_),
                   "making a pool of descriptors"));
  const VkDescriptorSetLayout layout = device_->setLayout();
  VkDescriptorSetAllocateInfo info = {};
  info.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO;
  info.descriptorPool = descriptors_;
  info.descriptorSetCount = 1;
  info.pSetLayouts = &layout;
  HALYARD_RETURN_IF_ERROR(vulkanStatus(vk.vkAllocateDescriptorSets(device_->handle(), &info, &set_),
                                       "making descriptors"));
  const VkDescriptorBufferInfo buffer = {buffer_, 0, VK_WHOLE_SIZE};
  VkWriteDescriptorSet write = {};
  write.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET;
  write.dstSet = set_;
  write.descriptorCount = 1;
  write.descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
  write.pBufferInfo = &buffer;
  vk.vkUpdateDescriptorSets(device_->handle(), 1, &write, 0, nullptr);
  if (!device_->readsTexels()) return okStatus();
  VkBufferViewCreateInfo view = {};
  view.sType = VK_STRUCTURE_TYPE_BUFFER_VIEW_CREATE_INFO;
  view.buffer = buffer_;
  view.format = VK_FORMAT_R32G32B32A32_UINT;
  view.range = VK_WHOLE_SIZE;
  HALYARD_RETURN_IF_ERROR(vulkanStatus(
      vk.vkCreateBufferView(device_->handle(), &view, nullptr, &texels_), "making a view"));
  write.dstBinding = 1;
  write.descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_TEXEL_BUFFER;
  write.pTexelBufferView = &texels_;
  vk.vkUpdateDescriptorSets(device_->handle(), 1, &write, 0, nullptr);
  return okStatus();
}

Status VulkanModel::record(const Recording& recording) {
  const VolkDeviceTable& vk = device_->table();
  VkCommandPoolCreateInfo pool = {};
  pool.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO;
  pool.queueFamilyIndex = device_->queueFamily();
  HALYARD_RETURN_IF_ERROR(
      vulkanStatus(vk.vkCreateCommandPool(device_->handle(), &pool, nullptr, &commandPool_),
                   "making a pool of commands"));
  VkCommandBufferAllocateInfo info = {};
  info.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO;
  info.commandPool = commandPool_;
  info.commandBufferCount = 1;
  HALYARD_RETURN_IF_ERROR(vulkanStatus(
      vk.vkAllocateCommandBuffers(device_->handle(), &info, &commands_), "making commands"));
  VkCommandBufferBeginInfo begin = {};
  begin.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO;
  HALYARD_RETURN_IF_ERROR(
      vulkanStatus(vk.vkBeginCommandBuffer(commands_, &begin), "recording commands"));
  vk.vkCmdBindDescriptorSets(commands_, VK_PIPELINE_BIND_POINT_COMPUTE, device_->pipelineLayout(),
                             0, 1, &set_, 0, nullptr);
  VkMemoryBarrier barrier = {};
  barrier.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER;
  barrier.srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT;
  barrier.dstAccessMask = VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT;
  for (size_t i = 0; i < recording.dispatches().size(); ++i) {
    const Dispatch& dispatch = recording.dispatches()[i];
    HALYARD_ASSIGN_OR_RETURN(const VkPipeline pipeline,
                             device_->pipeline(dispatch.shader, dispatch.variant));
    vk.vkCmdBindPipeline(commands_, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline);
    const DispatchConstants constants = {static_cast<uint32_t>(parameters_[i] / sizeof(int32_t)),
                                         dispatch.count};
    vk.vkCmdPushConstants(commands_, device_->pipelineLayout(), VK_SHADER_STAGE_COMPUTE_BIT, 0,
                          sizeof constants, &constants);
    const uint32_t groups = (dispatch.count + kGroupSize - 1) / kGroupSize;
    const uint32_t rows = (groups + kMostGroups - 1) / kMostGroups;
    vk.vkCmdDispatch(commands_, (groups + rows - 1) / rows, rows, 1);
    vk.vkCmdPipelineBarrier(commands_, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT,
                            VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, 0, 1, &barrier, 0, nullptr, 0,
                            nullptr);
  }
  barrier.dstAccessMask = VK_ACCESS_HOST_READ_BIT;
  vk.vkCmdPipelineBarrier(commands_, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT,
                          VK_PIPELINE_STAGE_HOST_BIT, 0, 1, &barrier, 0, nullptr, 0, nullptr);
  return vulkanStatus(vk.vkEndCommandBuffer(commands_), "recording commands");
}

hal::ExecutionResult VulkanModel::executeSynchronously(const hal::Request& request,
                                                       const hal::ExecuteOptions& options) {
  const hal::TimePoint called = hal::Clock::now();
  if (options.deadline && called >= *options.deadline) {
    return {makeStatus(ResultCode::MISSED_DEADLINE_PERSISTENT, "the deadline has passed"), {}, {}};
  }
  if (Status status = hal::validateRequest(*model_, request, true); !status.ok()) {
    return {std::move(status), {}, {}};
  }
  Result<hal::MappedRequest> mapped = hal::MappedRequest::map(*model_, request);
  if (!mapped.ok()) return {mapped.takeStatus(), {}, {}};
  const Subgraph& main = model_->main;
  std::vector<Shape> shapes;
  for (const uint32_t output : main.outputIndexes) {
    shapes.push_back(main.operands[output].dimensions);
  }
  hal::ExecutionResult result = hal::resultFor(*model_, *mapped, shapes);
  if (!result.status.ok()) return result;

  const std::lock_guard lock(mutex_);
  if (isLost_) return {makeStatus(ResultCode::DEAD_OBJECT, "the device is lost"), {}, {}};
  for (size_t i = 0; i < main.inputIndexes.size(); ++i) {
    const hal::MappedArgument& input = mapped->inputs()[i];
    if (input.data == nullptr) return {opFailed("input {} is omitted", i), {}, {}};
    const size_t bytes = bytesOf(main.inputIndexes[i]);
    std::memcpy(mapped_ + offsets_[main.inputIndexes[i]], input.data, bytes);
    result.copiedBytes += bytes;
  }
  const hal::TimePoint started = hal::Clock::now();
  if (Status status = device_->submit(commands_); !status.ok()) {
    isLost_ = status.code() == ResultCode::DEAD_OBJECT;
    return {std::move(status), {}, {}};
  }
  const uint64_t onDevice = nanosecondsSince(started);
  for (size_t i = 0; i < main.outputIndexes.size(); ++i) {
    const hal::MappedArgument& output = mapped->outputs()[i];
    if (output.data == nullptr) continue;  // the client leaves it out
    const size_t bytes = bytesOf(main.outputIndexes[i]);
    std::memcpy(output.data, mapped_ + offsets_[main.outputIndexes[i]], bytes);
    result.copiedBytes += bytes;
  }
  if (options.measureTiming) {
    result.timing.timeOnDevice = onDevice;
    result.timing.timeInDriver = nanosecondsSince(called);
  }
  return result;
}

}  // namespace halyard::vulkandriver
