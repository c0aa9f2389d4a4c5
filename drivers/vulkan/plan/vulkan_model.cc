#include "plan/vulkan_model.h"

#include <algorithm>
#include <cstring>

#include "cpu/arena_plan.h"
#include "cpu/folded_model.h"
#include "halyard/driver/constants.h"
#include "halyard/driver/deadline.h"
#include "halyard/driver/mapped_request.h"
#include "plan/model_recording.h"

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

Result<std::shared_ptr<hal::PreparedModel>> VulkanModel::prepare(
    const std::shared_ptr<VulkanDevice>& device, std::shared_ptr<const Model> model,
    const Sharing& sharing) {
  HALYARD_ASSIGN_OR_RETURN(model, cpu::withFoldedConstants(std::move(model)));
  Recording recording(model->main.operands.size(), device->forms());
  const std::vector<Status> answers = recordModel(*model, device->mostBytes(), recording);
  for (size_t i = 0; i < answers.size(); ++i) {
    HALYARD_RETURN_IF_ERROR(Status(answers[i]), "{}",
                            operationText(i, model->main.operations[i].type));
  }
  return create(device, std::move(model), recording, sharing);
}

Result<std::shared_ptr<hal::PreparedModel>> VulkanModel::create(
    std::shared_ptr<VulkanDevice> device, std::shared_ptr<const Model> model,
    const Recording& recording, const Sharing& sharing) {
  auto made = std::make_shared<VulkanModel>(std::move(device), std::move(model), sharing.priority);
  made->place(recording);
  HALYARD_RETURN_IF_ERROR(made->allocate());
  HALYARD_RETURN_IF_ERROR(made->upload(recording));
  HALYARD_RETURN_IF_ERROR(made->makeDescriptors());
  HALYARD_RETURN_IF_ERROR(made->record(recording, sharing.speed));
  return std::shared_ptr<hal::PreparedModel>(std::move(made));
}

VulkanModel::~VulkanModel() {
  if (device_->isLost()) return;
  const VolkDeviceTable& vk = device_->table();
  vk.vkDestroyDescriptorPool(device_->handle(), descriptors_, nullptr);
  vk.vkDestroyBufferView(device_->handle(), texels_, nullptr);
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
  for (const uint32_t input : main.inputIndexes) offsets_[input] = append(bytesOf(input));
  for (const uint32_t output : main.outputIndexes) offsets_[output] = append(bytesOf(output));
  argumentsEnd_ = bytes_;
  for (uint32_t i = 0; i < operands; ++i) {
    if (isConstant(main.operands[i]) && recording.uses(i)) offsets_[i] = append(bytesOf(i));
  }
  for (size_t i = 0; i < recording.constants().size(); ++i) {
    offsets_[operands + i] = append(recording.constants()[i].bytes);
  }
  for (const Dispatch& dispatch : recording.dispatches()) {
    parameters_.push_back(append(dispatch.parameters.size() * sizeof(int32_t)));
  }
  if (const auto& fault = recording.usedFaultWord()) fault_ = offsets_[fault->index];
  constantsEnd_ = bytes_;
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
  HALYARD_ASSIGN_OR_RETURN(memory_, DeviceBuffer::local(device_, bytes_));
  HALYARD_ASSIGN_OR_RETURN(transfers_,
                           ArgumentTransfers::create(device_, *memory_, argumentPlaces()));
  return okStatus();
}

ArgumentPlaces VulkanModel::argumentPlaces() const {
  ArgumentPlaces places;
  for (const uint32_t input : model_->main.inputIndexes) {
    places.inputs.push_back({offsets_[input], bytesOf(input)});
  }
  for (const uint32_t output : model_->main.outputIndexes) {
    places.outputs.push_back({offsets_[output], bytesOf(output)});
  }
  places.end = argumentsEnd_;
  places.fault = fault_;
  return places;
}

// Nothing of another model is left in the memory.
Status VulkanModel::upload(const Recording& recording) {
  if (memory_->mapped() != nullptr) {
    HALYARD_RETURN_IF_ERROR(memory_->clear(0));
    return fill(recording, memory_->mapped());
  }
  std::vector<uint8_t> first(constantsEnd_);
  HALYARD_RETURN_IF_ERROR(fill(recording, first.data()));
  HALYARD_RETURN_IF_ERROR(memory_->write(first));
  return memory_->clear(constantsEnd_);
}

Status VulkanModel::fill(const Recording& recording, uint8_t* memory) const {
  const std::vector<Operand>& operands = model_->main.operands;
  for (uint32_t i = 0; i < operands.size(); ++i) {
    if (!isConstant(operands[i]) || !recording.uses(i)) continue;
    HALYARD_ASSIGN_OR_RETURN(const std::span<const uint8_t> bytes,
                             constantData(*model_, operands[i]));
    std::ranges::copy(bytes, memory + offsets_[i]);
  }
  for (size_t i = 0; i < recording.constants().size(); ++i) {
    const AddedConstant& constant = recording.constants()[i];
    if (constant.write) constant.write({memory + offsets_[operands.size() + i], constant.bytes});
  }
  for (size_t i = 0; i < recording.dispatches().size(); ++i) {
    uint8_t* to = memory + parameters_[i];
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
  const VkDescriptorBufferInfo buffer = {memory_->handle(), 0, VK_WHOLE_SIZE};
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
  view.buffer = memory_->handle();
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

Status VulkanModel::record(const Recording& recording, const std::optional<DeviceSpeed>& speed) {
  size_t begin = 0;
  for (const size_t end : submissionEnds(model_->main, recording, speed)) {
    HALYARD_RETURN_IF_ERROR(recordPart(recording, begin, end));
    begin = end;
  }
  return okStatus();
}

Status VulkanModel::recordPart(const Recording& recording, size_t begin, size_t end) {
  const VolkDeviceTable& vk = device_->table();
  HALYARD_ASSIGN_OR_RETURN(parts_.emplace_back(), CommandList::begin(device_));
  const VkCommandBuffer commands = commands_.emplace_back(parts_.back()->handle());
  vk.vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE, device_->pipelineLayout(), 0,
                             1, &set_, 0, nullptr);
  VkMemoryBarrier barrier = {};
  barrier.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER;
  barrier.srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT;
  barrier.dstAccessMask = VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT;
  for (size_t i = begin; i < end; ++i) {
    const Dispatch& dispatch = recording.dispatches()[i];
    HALYARD_ASSIGN_OR_RETURN(const VkPipeline pipeline,
                             device_->pipeline(dispatch.shader, dispatch.variant));
    vk.vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline);
    const DispatchConstants constants = {static_cast<uint32_t>(parameters_[i] / sizeof(int32_t)),
                                         dispatch.count};
    vk.vkCmdPushConstants(commands, device_->pipelineLayout(), VK_SHADER_STAGE_COMPUTE_BIT, 0,
                          sizeof constants, &constants);
    const uint32_t groups = (dispatch.count + kGroupSize - 1) / kGroupSize;
    const uint32_t rows = (groups + kMostGroups - 1) / kMostGroups;
    vk.vkCmdDispatch(commands, (groups + rows - 1) / rows, rows, 1);
    vk.vkCmdPipelineBarrier(commands, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT,
                            VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, 0, 1, &barrier, 0, nullptr, 0,
                            nullptr);
  }
  barrier.dstAccessMask = VK_ACCESS_HOST_READ_BIT;
  vk.vkCmdPipelineBarrier(commands, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT,
                          VK_PIPELINE_STAGE_HOST_BIT, 0, 1, &barrier, 0, nullptr, 0, nullptr);
  return parts_.back()->end();
}

// Prepared for an execution that comes again and again: its memory is found and imported once.
class VulkanModel::RecordedRequest final : public hal::ReusableExecution {
 public:
  RecordedRequest(VulkanModel& model, hal::MappedRequest request,
                  std::unique_ptr<ArgumentTransfers> transfers, std::vector<ImportedPages> imports)
      : model_(model),
        request_(std::move(request)),
        imports_(std::move(imports)),
        transfers_(std::move(transfers)) {}

  hal::ExecutionResult compute(const hal::ExecuteOptions& options) override {
    return model_.run(request_, *transfers_, imports_, options);
  }

 private:
  VulkanModel& model_;
  const hal::MappedRequest request_;
  const std::vector<ImportedPages> imports_;
  const std::unique_ptr<ArgumentTransfers> transfers_;
};

std::vector<ImportedPages> VulkanModel::importsOf(const hal::Request& request) const {
  std::vector<ImportedPages> imports;
  const uint64_t alignment = device_->importAlignment();
  // If the processor maps the memory, its one copy is as good.
  if (alignment == 0 || memory_->mapped() != nullptr) return imports;
  for (const hal::RequestPool& pool : request.pools) {
    const auto* const memory = std::get_if<SharedMemoryPtr>(&pool);
    if (memory == nullptr) continue;
    const Result<const Mapping*> mapping = (*memory)->mapped();
    if (!mapping.ok() || (*mapping)->isOnHeap()) continue;
    // A mapping has whole pages.
    const uint64_t bytes = ((*mapping)->size() + alignment - 1) / alignment * alignment;
    auto buffer = DeviceBuffer::imported(device_, {(*mapping)->data(), bytes});
    // The others are staged.
    if (buffer.ok()) imports.push_back({std::move(*buffer), (*mapping)->data()});
  }
  return imports;
}

Result<std::unique_ptr<hal::ReusableExecution>> VulkanModel::createReusableExecution(
    const hal::Request& request) {
  // The accesses to a dma-buf have a beginning and an end for each execution.
  const bool hasDmaBuf = std::ranges::any_of(request.pools, [](const hal::RequestPool& pool) {
    const auto* const memory = std::get_if<SharedMemoryPtr>(&pool);
    return memory != nullptr && (*memory)->isDmaBuf();
  });
  if (hasDmaBuf) return hal::PreparedModel::createReusableExecution(request);
  HALYARD_ASSIGN_OR_RETURN(hal::MappedRequest mapped, hal::MappedRequest::map(*model_, request));
  HALYARD_ASSIGN_OR_RETURN(auto transfers,
                           ArgumentTransfers::create(device_, *memory_, argumentPlaces()));
  return std::unique_ptr<hal::ReusableExecution>(std::make_unique<RecordedRequest>(
      *this, std::move(mapped), std::move(transfers), importsOf(request)));
}

hal::ExecutionResult VulkanModel::executeSynchronously(const hal::Request& request,
                                                       const hal::ExecuteOptions& options) {
  Result<hal::MappedRequest> mapped = hal::MappedRequest::map(*model_, request);
  if (!mapped.ok()) return {mapped.takeStatus(), {}, {}};
  return run(*mapped, *transfers_, {}, options);
}

hal::ExecutionResult VulkanModel::run(const hal::MappedRequest& request,
                                      ArgumentTransfers& transfers,
                                      const std::vector<ImportedPages>& imports,
                                      const hal::ExecuteOptions& options) {
  const hal::TimePoint called = hal::Clock::now();
  if (options.deadline && called >= *options.deadline) {
    return {makeStatus(ResultCode::MISSED_DEADLINE_PERSISTENT, "the deadline has passed"), {}, {}};
  }
  const Subgraph& main = model_->main;
  std::vector<Shape> shapes;
  for (const uint32_t output : main.outputIndexes) {
    shapes.push_back(main.operands[output].dimensions);
  }
  hal::ExecutionResult result = hal::resultFor(*model_, request, shapes);
  if (!result.status.ok()) return result;
  std::unique_lock lock(mutex_, std::defer_lock);
  if (!options.deadline) {
    lock.lock();
  } else if (!lock.try_lock_until(*options.deadline)) {
    return {hal::checkMayContinue(options), {}, {}};
  }
  const hal::TimePoint started = hal::Clock::now();
  Status status =
      transfers.run({commands_, priority_, options}, request, imports, result.copiedBytes);
  if (!status.ok()) return {std::move(status), {}, {}};
  if (options.measureTiming) {
    result.timing.timeOnDevice = nanosecondsSince(started);
    result.timing.timeInDriver = nanosecondsSince(called);
  }
  return result;
}

}  // namespace halyard::vulkandriver
