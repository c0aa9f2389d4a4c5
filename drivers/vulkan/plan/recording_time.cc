#include "plan/recording_time.h"

#include <algorithm>
#include <thread>

#include "halyard/driver/device.h"
#include "plan/vulkan_model.h"

namespace halyard::vulkandriver {

Result<double> bestTime(const std::shared_ptr<VulkanDevice>& device,
                        const std::shared_ptr<const Model>& model, const Recording& recording,
                        int rounds, std::chrono::milliseconds pause) {
  HALYARD_ASSIGN_OR_RETURN(const auto prepared, VulkanModel::create(device, model, recording));
  std::vector<std::vector<uint8_t>> memories;
  hal::Request request;
  const auto addArguments = [&](const std::vector<uint32_t>& operands,
                                std::vector<hal::RequestArgument>& arguments) {
    for (const uint32_t i : operands) {
      const Operand& operand = model->main.operands[i];
      memories.emplace_back(knownByteSize(operand.type, operand.dimensions).value_or(0));
      hal::RequestArgument argument;
      argument.kind = hal::RequestArgument::Kind::POINTER;
      argument.pointer = memories.back().data();
      argument.length = static_cast<uint32_t>(memories.back().size());
      arguments.push_back(std::move(argument));
    }
  };
  addArguments(model->main.inputIndexes, request.inputs);
  addArguments(model->main.outputIndexes, request.outputs);
  constexpr auto kBudget = std::chrono::seconds(1);
  const auto end = hal::Clock::now() + kBudget;
  double best = 0;
  for (int round = 0; round <= rounds; ++round) {
    std::this_thread::sleep_for(pause);
    hal::ExecuteOptions options;
    options.measureTiming = true;
    const hal::ExecutionResult result = prepared->executeSynchronously(request, options);
    HALYARD_RETURN_IF_ERROR(Status(result.status));
    const auto time = static_cast<double>(result.timing.timeOnDevice.value_or(0));
    best = round < 2 ? time : std::min(best, time);
    if (round >= 2 && hal::Clock::now() > end) break;
  }
  return best;
}

}  // namespace halyard::vulkandriver
