// Asks devices which operations they support.
#include "runtime/partition/support.h"

#include <unistd.h>

#include <algorithm>
#include <system_error>
#include <thread>

#include "base/first_time.h"
#include "base/log.h"
#include "ops/operation.h"
#include "runtime/partition/step_model.h"

namespace halyard::runtime {
namespace {

bool isOfOtherProcess(const Device& device) { return device.hal().processId() != ::getpid(); }

Result<hal::SupportedOperations> getSupportedOperations(const Device& device, uint32_t /*subgraph*/,
                                                        const ValidModel& asModel) {
  return device.hal().getSupportedOperations(asModel);
}

}  // namespace

bool hasVendorOperations(const Model& model) {
  const auto inSubgraph = [](const Subgraph& subgraph) {
    return std::ranges::any_of(subgraph.operations, [](const Operation& operation) {
      return isExtension(operation.type) || operation.type == OperationType::OEM_OPERATION;
    });
  };
  return inSubgraph(model.main) || std::ranges::any_of(model.referenced, inSubgraph);
}

std::vector<uint32_t> subgraphsOf(const Model& model, uint32_t subgraph, uint32_t operation) {
  std::vector<uint32_t> result;
  const Subgraph& owner = subgraphAt(model, subgraph);
  const Operation& op = owner.operations[operation];
  const ops::OperationDefinition* definition = ops::definitionOf(op.type);
  if (definition == nullptr || definition->controlFlow == ops::ControlFlow::NONE) return result;
  for (const uint32_t input : op.inputs) {
    const Operand& operand = owner.operands[input];
    if (operand.lifetime == Lifetime::SUBGRAPH) result.push_back(operand.location.offset);
  }
  return result;
}

SupportTable::SupportTable(ValidModel model, std::vector<const Device*> devices, Ask ask)
    : model_(std::move(model)),
      devices_(std::move(devices)),
      ask_(ask ? std::move(ask) : Ask(getSupportedOperations)),
      cpu_(static_cast<size_t>(std::find_if(devices_.begin(), devices_.end(),
                                            [](const Device* device) { return device->isCpu(); }) -
                               devices_.begin())),
      maskedDevice_(devices_.size()) {
  for (size_t i = 0; i < devices_.size(); ++i) {
    if (!devices_[i]->quarantine()->isSet()) continue;
    maskedDevice_[i] = fmt::format("is not used any more in this process: {}",
                                   devices_[i]->quarantine()->reason());
  }
}

const ValidModel& SupportTable::asModel(uint32_t subgraph) {
  const auto known = models_.find(subgraph);
  if (known != models_.end()) return known->second;
  return models_.emplace(subgraph, subgraphAsModel(model_, subgraph)).first->second;
}

SupportTable::Answers SupportTable::answersOfDevices(uint32_t subgraph) {
  const ValidModel& model = asModel(subgraph);
  const size_t count = model->main.operations.size();
  Answers answers(devices_.size());
  const auto askDevice = [&](const Device& device) -> Result<hal::SupportedOperations> {
    HALYARD_ASSIGN_OR_RETURN(hal::SupportedOperations supported, ask_(device, subgraph, model),
                             "device {}", device.name());
    if (supported.size() == count) return supported;
    return opFailed("device {} answered for {} operations of {}", device.name(), supported.size(),
                    count);
  };
  const auto askOne = [&](size_t i) {
    Result<hal::SupportedOperations> supported = askDevice(*devices_[i]);
    answers[i].operations.resize(count);
    if (supported.ok()) answers[i].operations = std::move(*supported);
    answers[i].asked = supported.takeStatus();
  };
  // Drivers in other processes are asked at the same time.
  std::vector<std::jthread> threads;
  for (size_t i = 0; i < devices_.size(); ++i) {
    const bool last = i + 1 == devices_.size();
    if (!maskedDevice_[i].empty()) {
      answers[i].operations.resize(count);
      continue;
    }
    if (last || !isOfOtherProcess(*devices_[i])) {
      askOne(i);
      continue;
    }
    try {
      threads.emplace_back([&askOne, i] { askOne(i); });
    } catch (const std::system_error&) {
      askOne(i);
    }
  }
  threads.clear();
  // If no device could be asked, the compilation reports that itself.
  bool othersGoOn = false;
  for (size_t i = 0; i < devices_.size(); ++i) {
    othersGoOn = othersGoOn || (answers[i].asked.ok() && maskedDevice_[i].empty());
  }
  for (const Answer& answer : answers) {
    const std::string cause = answer.asked.ok() ? "" : answer.asked.toString();
    if (cause.empty() || !othersGoOn || !firstTime(cause)) continue;
    logWarning("{}: it supports nothing, then", cause);
  }
  return answers;
}

SupportTable::Answers& SupportTable::answersFor(uint32_t subgraph) {
  const auto it = answers_.find(subgraph);
  if (it != answers_.end()) return it->second;
  return answers_.emplace(subgraph, answersOfDevices(subgraph)).first->second;
}

bool SupportTable::takes(uint32_t subgraph, uint32_t operation, size_t device) {
  return answersFor(subgraph)[device].operations[operation].supported;
}

bool SupportTable::takesAll(uint32_t subgraph, size_t device) {
  return hal::supportsAll(answersFor(subgraph)[device].operations);
}

std::vector<std::optional<double>> SupportTable::costs(uint32_t subgraph, size_t device) {
  std::vector<std::optional<double>> costs;
  for (const hal::OperationSupport& each : answersFor(subgraph)[device].operations) {
    costs.push_back(each.cost);
  }
  return costs;
}

const Status& SupportTable::askStatus(uint32_t subgraph, size_t device) {
  return answersFor(subgraph)[device].asked;
}

std::string SupportTable::reason(uint32_t subgraph, uint32_t operation, size_t device) {
  const Answer& answer = answersFor(subgraph)[device];
  const hal::OperationSupport& own = answer.operations[operation];
  if (own.supported) return {};
  if (!maskedDevice_[device].empty()) return maskedDevice_[device];
  if (!answer.asked.ok()) {
    return fmt::format("could not be asked what it supports: {}", answer.asked.toString());
  }
  return own.reason.empty() ? "its driver does not support it, and gives no reason" : own.reason;
}

void SupportTable::mask(uint32_t subgraph, std::span<const uint32_t> operations, size_t device,
                        const Status& cause) {
  Answer& answer = answersFor(subgraph)[device];
  for (const uint32_t operation : operations) {
    answer.operations[operation] = hal::OperationSupport::no(fmt::format(
        "failed to prepare it, though it had said that it supports it: {}", cause.toString()));
  }
}

void SupportTable::maskDevice(size_t device, const Status& cause) {
  maskedDevice_[device] = fmt::format("is left out, as it failed to prepare: {}", cause.toString());
  for (auto& [subgraph, answers] : answers_) {
    for (hal::OperationSupport& each : answers[device].operations) each.supported = false;
  }
}

}  // namespace halyard::runtime
