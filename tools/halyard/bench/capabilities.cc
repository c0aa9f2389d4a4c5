#include "tools/halyard/bench/capabilities.h"

#include <halyard/halyard.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>
#include <optional>
#include <vector>

#include "client/status.h"
#include "halyard/driver/nnapi_types.h"
#include "measure/device_choice.h"
#include "measure/model_source.h"
#include "measure/repeated_run.h"
#include "report/numbers.h"
#include "report/statistics.h"
#include "tools/halyard/bench/machine.h"
#include "tools/halyard/terminal.h"
#include "tools/halyard/text_table.h"

namespace halyard::cli {
namespace {

using Json = nlohmann::json;
using workloads::Figure;
using workloads::Workload;
using Clock = std::chrono::steady_clock;

constexpr const char* kReference = "nnapi-reference";
constexpr double kLongestRound = 0.1;  // seconds
constexpr int kFewestRounds = 5;

// One workload on one device, ready to run.
class Runner {
 public:
  static Result<std::unique_ptr<Runner>> create(const import::ImportedModel& imported,
                                                const std::string& device) {
    HALYARD_ASSIGN_OR_RETURN(const auto devices, measure::devicesOf({device}));
    std::unique_ptr<Runner> runner(new Runner());
    runner->device_ = devices[0];
    HALYARD_ASSIGN_OR_RETURN(
        runner->session_, client::Session::create(std::make_shared<const Model>(imported.model)));
    HALYARD_RETURN_IF_ERROR(runner->session_->compile(devices[0]));
    HALYARD_ASSIGN_OR_RETURN(std::vector<std::vector<uint8_t>> inputs,
                             measure::randomInputs(imported));
    HALYARD_ASSIGN_OR_RETURN(runner->run_,
                             measure::RepeatedRun::create(*runner->session_, std::move(inputs)));
    HALYARD_RETURN_IF_ERROR(runner->run_->compute());
    return runner;
  }

  struct Round {
    double ms = 0;      // median of an execution
    double energy = 0;  // joules, or seconds of processor time, for an execution
  };
  // Executes for `seconds`, at least three times, after one execution that does not count.
  Result<Round> round(double seconds, bool measuresEnergy) const {
    HALYARD_RETURN_IF_ERROR(run_->compute());
    const double before = measuresEnergy ? energyUsed().value_or(0) : processors();
    std::vector<double> times;
    const auto begin = Clock::now();
    while (times.size() < 3 || Clock::now() - begin < std::chrono::duration<double>(seconds)) {
      const auto start = Clock::now();
      HALYARD_RETURN_IF_ERROR(run_->compute());
      times.push_back(std::chrono::duration<double, std::milli>(Clock::now() - start).count());
    }
    const double used = (measuresEnergy ? energyUsed().value_or(0) : processors()) - before;
    return Round{report::medianOf(times), used / static_cast<double>(times.size())};
  }

 private:
  Runner() = default;

  // Processor seconds of this process and the driver's process.
  double processors() const {
    double seconds = processorTime(::getpid()).value_or(0);
    const Result<int64_t> pid = client::driverProcessId(device_);
    if (pid.ok() && *pid != 0 && *pid != ::getpid()) seconds += processorTime(*pid).value_or(0);
    return seconds;
  }

  const ANeuralNetworksDevice* device_ = nullptr;
  std::unique_ptr<client::Session> session_;
  std::unique_ptr<measure::RepeatedRun> run_;
};

Result<WorkloadFigures> measure(const Workload& workload, const std::string& device, double seconds,
                                bool measuresEnergy) {
  HALYARD_ASSIGN_OR_RETURN(const auto imported,
                           measure::loadBenchModel(std::string(workload.name)));
  HALYARD_ASSIGN_OR_RETURN(const auto ours, Runner::create(*imported, device));
  HALYARD_ASSIGN_OR_RETURN(const auto reference, Runner::create(*imported, kReference));
  std::vector<double> times;
  std::vector<double> referenceTimes;
  std::vector<double> timeRatios;
  std::vector<double> energyRatios;
  const double length = std::min(kLongestRound, seconds / kFewestRounds);
  const int rounds = std::max(kFewestRounds, static_cast<int>(seconds / length));
  for (int i = 0; i < rounds; ++i) {
    HALYARD_ASSIGN_OR_RETURN(const Runner::Round on, ours->round(length, measuresEnergy));
    HALYARD_ASSIGN_OR_RETURN(const Runner::Round beside, reference->round(length, measuresEnergy));
    times.push_back(on.ms);
    referenceTimes.push_back(beside.ms);
    timeRatios.push_back(on.ms / beside.ms);
    // A counter that has wrapped around gives no figure.
    if (on.energy > 0 && beside.energy > 0) energyRatios.push_back(on.energy / beside.energy);
  }
  const double execTime = report::medianOf(timeRatios);
  return WorkloadFigures{std::string(workload.name),
                         workload.figure,
                         report::medianOf(times),
                         report::medianOf(referenceTimes),
                         execTime,
                         energyRatios.empty() ? execTime : report::medianOf(energyRatios)};
}

// Keeps three digits: further digits change from run to run.
double rounded(double value) {
  const double unit = std::pow(10.0, 2 - std::floor(std::log10(value)));
  return std::round(value * unit) / unit;
}

// {"exec_time", "power_usage"} of the workloads for this figure; nullopt when there are no such
// workloads.
std::optional<Json> meanOf(std::span<const WorkloadFigures> measured, Figure figure) {
  double time = 0;
  double power = 0;
  int count = 0;
  for (const WorkloadFigures& each : measured) {
    if (each.figure != figure) continue;
    time += std::log(each.execTime);
    power += std::log(each.powerUsage);
    ++count;
  }
  if (count == 0) return std::nullopt;
  return Json{{"exec_time", rounded(std::exp(time / count))},
              {"power_usage", rounded(std::exp(power / count))}};
}

std::vector<OperandType> typesOf(Figure figure) {
  switch (figure) {
    case Figure::FLOAT32:
      return {OperandType::FLOAT32, OperandType::TENSOR_FLOAT32};
    case Figure::FLOAT16:
      return {OperandType::FLOAT16, OperandType::TENSOR_FLOAT16};
    case Figure::QUANT8:
      return {OperandType::TENSOR_QUANT8_ASYMM};
    case Figure::QUANT8_SIGNED:
      return {OperandType::TENSOR_QUANT8_ASYMM_SIGNED, OperandType::TENSOR_QUANT8_SYMM_PER_CHANNEL,
              OperandType::TENSOR_QUANT8_SYMM};
    case Figure::QUANT16:
      return {OperandType::TENSOR_QUANT16_SYMM};
    default:
      return {};
  }
}

}  // namespace

Json capabilitiesFrom(std::span<const WorkloadFigures> measured) {
  Json types = Json::object();
  for (const Figure figure :
       {Figure::FLOAT32, Figure::FLOAT16, Figure::QUANT8, Figure::QUANT8_SIGNED, Figure::QUANT16}) {
    const std::optional<Json> mean = meanOf(measured, figure);
    if (!mean) continue;
    for (const OperandType type : typesOf(figure)) types[operandTypeName(type)] = *mean;
  }
  Json capabilities = {{"default", {{"exec_time", 1}, {"power_usage", 1}}},
                       {"operand_types", std::move(types)}};
  const std::pair<const char*, Figure> fields[] = {{"relaxed_scalar", Figure::RELAXED},
                                                   {"relaxed_tensor", Figure::RELAXED},
                                                   {"if", Figure::BRANCH},
                                                   {"while", Figure::LOOP}};
  for (const auto& [field, figure] : fields) {
    if (const std::optional<Json> mean = meanOf(measured, figure)) capabilities[field] = *mean;
  }
  return capabilities;
}

Result<Json> measureCapabilities(const std::string& device, double seconds,
                                 const std::vector<std::string>& names) {
  if (device == kReference) return badData("{} is what others are measured against", device);
  const bool measuresEnergy = energyUsed().has_value();
  std::vector<WorkloadFigures> measured;
  Json list = Json::array();
  for (const Workload& workload : workloads::referenceWorkloads()) {
    if (!names.empty() && std::ranges::find(names, workload.name) == names.end()) continue;
    Json entry = {{"name", workload.name}, {"what", workload.what}};
    const auto figures = measure(workload, device, seconds, measuresEnergy);
    if (figures.ok()) {
      measured.push_back(*figures);
      entry["device_ms"] = figures->deviceMs;
      entry["reference_ms"] = figures->referenceMs;
      entry["exec_time"] = rounded(figures->execTime);
      entry["power_usage"] = rounded(figures->powerUsage);
    } else {
      entry["not_taken"] = figures.status().toString();
    }
    list.push_back(std::move(entry));
  }
  if (measured.empty()) {
    return opFailed("{} takes none of the workloads; the first: {}", device,
                    list[0].value("not_taken", ""));
  }
  return Json{
      {"version", 1},
      {"device", device},
      {"reference", kReference},
      {"halyard", halyard_version()},
      {"date", dateText()},
      {"machine", machineName()},
      {"power", measuresEnergy
                    ? "measured: energy of the processors (RAPL)"
                    : "derived: processor time of the application and the driver, since this "
                      "machine does not measure energy"},
      {"workloads", std::move(list)},
      {"capabilities", capabilitiesFrom(measured)}};
}

std::string capabilitiesText(const Json& document) {
  std::vector<TableRow> rows = {{"WORKLOAD", "DEVICE", "REFERENCE", "TIME", "POWER"}};
  for (const Json& each : document.at("workloads")) {
    const std::string name = each.at("name");
    if (each.contains("not_taken")) {
      rows.push_back({name, printable(each["not_taken"].get<std::string>()), "", "", ""});
      continue;
    }
    rows.push_back({name, report::durationText(each.at("device_ms")),
                    report::durationText(each.at("reference_ms")),
                    report::shortNumber(each.at("exec_time")),
                    report::shortNumber(each.at("power_usage"))});
  }
  std::string text = fmt::format("device  {}, beside {}\npower   {}\n\n",
                                 printable(document.at("device").get<std::string>()), kReference,
                                 document.at("power").get<std::string>());
  text += alignedRows(rows);
  std::vector<TableRow> figures = {{"FIGURE", "TIME", "POWER"}};
  const Json& capabilities = document.at("capabilities");
  const auto add = [&](const std::string& name, const Json& figure) {
    figures.push_back({name, report::shortNumber(figure.at("exec_time")),
                       report::shortNumber(figure.at("power_usage"))});
  };
  for (const auto& [type, figure] : capabilities.at("operand_types").items()) add(type, figure);
  for (const char* field : {"relaxed_scalar", "relaxed_tensor", "if", "while", "default"}) {
    if (capabilities.contains(field)) add(field, capabilities[field]);
  }
  return text + "\n" + alignedRows(figures);
}

}  // namespace halyard::cli
