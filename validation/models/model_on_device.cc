#include "validation/models/model_on_device.h"

#include <algorithm>
#include <chrono>

#include "client/status.h"
#include "measure/tensor_values.h"
#include "report/statistics.h"

namespace halyard::validation {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kTurn{20};

}  // namespace

Status CompiledModel::run(const std::vector<std::vector<uint8_t>>& inputs) {
  if (run_ == nullptr) {
    HALYARD_ASSIGN_OR_RETURN(run_, measure::RepeatedRun::create(*session_, inputs));
  } else {
    for (size_t i = 0; i < inputs.size(); ++i) {
      std::ranges::copy(inputs[i], run_->input(i).begin());
    }
  }
  return run_->compute();
}

Result<std::vector<std::vector<float>>> CompiledModel::compute(
    const import::ImportedModel& model, const std::vector<std::vector<uint8_t>>& inputs) {
  HALYARD_RETURN_IF_ERROR(run(inputs));
  std::vector<std::vector<float>> values;
  for (size_t o = 0; o < run_->outputCount(); ++o) {
    HALYARD_ASSIGN_OR_RETURN(const client::Output output, run_->output(o));
    const import::ModelPort& port = model.outputs[o];
    HALYARD_ASSIGN_OR_RETURN(
        values.emplace_back(),
        measure::realValues({port.type, port.scale, port.zeroPoint}, output.bytes));
  }
  return values;
}

Result<TurnTimes> timeInTurns(CompiledModel& device, CompiledModel& cpu,
                              const std::vector<std::vector<uint8_t>>& inputs, double seconds) {
  // The first execution on each device is not timed. Neither is the first of each turn: caches,
  // clocks and threads then still suit the other device.
  HALYARD_RETURN_IF_ERROR(device.run(inputs));
  HALYARD_RETURN_IF_ERROR(cpu.run(inputs));
  TurnTimes times;
  std::vector<double> ratios;
  const auto turn = [&](CompiledModel& model, std::vector<double>* all) -> Result<double> {
    std::vector<double> own;
    HALYARD_RETURN_IF_ERROR(model.run(inputs));
    for (const auto end = Clock::now() + kTurn; own.empty() || Clock::now() < end;) {
      const auto start = Clock::now();
      HALYARD_RETURN_IF_ERROR(model.run(inputs));
      own.push_back(std::chrono::duration<double, std::milli>(Clock::now() - start).count());
    }
    all->insert(all->end(), own.begin(), own.end());
    return report::medianOf(own);
  };
  const auto end = Clock::now() + std::chrono::duration<double>(seconds);
  while (ratios.empty() || Clock::now() < end) {
    HALYARD_ASSIGN_OR_RETURN(const double fast, turn(device, &times.device));
    HALYARD_ASSIGN_OR_RETURN(const double slow, turn(cpu, &times.cpu));
    ratios.push_back(slow / fast);
  }
  times.timesAsFast = report::medianOf(ratios);
  return times;
}

Result<Support> supportOf(const TargetSpec& target, const std::shared_ptr<const Model>& model) {
  HALYARD_ASSIGN_OR_RETURN(const std::vector<client::Device> devices, client::allDevices());
  Support support;
  for (const client::Device& device : devices) {
    if (device.name == target.name) support.device = device.handle;
  }
  if (support.device == nullptr) {
    return opFailed("the runtime has {} devices, and none is '{}'", devices.size(), target.name);
  }
  support.cpu = devices.back().handle;
  HALYARD_ASSIGN_OR_RETURN(const auto session, client::Session::create(model));
  HALYARD_ASSIGN_OR_RETURN(const std::vector<bool> answers,
                           session->supportedOperations(support.device));
  support.operations = answers.size();
  support.supported = static_cast<size_t>(std::ranges::count(answers, true));
  return support;
}

Result<CompiledModel> compileForDevice(const Support& support,
                                       const std::shared_ptr<const Model>& model) {
  HALYARD_ASSIGN_OR_RETURN(auto session, client::Session::create(model));
  std::vector<const ANeuralNetworksDevice*> devices = {support.device};
  if (support.supported < support.operations) devices.push_back(support.cpu);
  HALYARD_RETURN_IF_ERROR(session->compileFor(devices));
  return CompiledModel(std::move(session));
}

Result<CompiledModel> compileForCpu(const Support& support,
                                    const std::shared_ptr<const Model>& model) {
  HALYARD_ASSIGN_OR_RETURN(auto session, client::Session::create(model));
  HALYARD_RETURN_IF_ERROR(session->compile(support.cpu));
  return CompiledModel(std::move(session));
}

}  // namespace halyard::validation
