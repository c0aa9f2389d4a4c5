#include "measure/model_figures.h"

#include <halyard/halyard.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <thread>
#include <vector>

#include "client/cache_folder.h"
#include "client/session.h"
#include "client/status.h"
#include "measure/accuracy.h"
#include "measure/device_choice.h"
#include "measure/model_source.h"
#include "report/statistics.h"

namespace halyard::measure {
namespace {

using Json = nlohmann::json;
using Clock = std::chrono::steady_clock;
using ImportedPtr = std::shared_ptr<const import::ImportedModel>;

constexpr int kLoads = 5;
constexpr double kMostLoadSeconds = 5;
constexpr size_t kHistogramSteps = 32;
constexpr unsigned kTracedRuns = 20;

double milliseconds(Clock::time_point since) {
  return std::chrono::duration<double, std::milli>(Clock::now() - since).count();
}

Clock::time_point after(double seconds) {
  return Clock::now() +
         std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

// The peak memory of a process in bytes, as the kernel counts it. 0 if it cannot be read.
double peakMemory(int64_t pid) {
  std::ifstream status(fmt::format("/proc/{}/status", pid));
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmHWM:")) return std::strtod(line.c_str() + 6, nullptr) * 1024;
  }
  return 0;
}

// A folder that its owner deletes.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string pattern =
        (std::filesystem::temp_directory_path() / "halyard_bench_XXXXXX").string();
    if (::mkdtemp(pattern.data()) != nullptr) path_ = pattern;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

class Measurement {
 public:
  Measurement(std::string model, const BenchOptions& options, const MachinePeaks& peaks)
      : name_(std::move(model)), options_(options), peaks_(peaks) {}

  Result<Json> run(const std::string& device) {
    HALYARD_ASSIGN_OR_RETURN(const auto devices, devicesOf({device}));
    device_ = devices[0];
    HALYARD_ASSIGN_OR_RETURN(import::ImportOptions options, importOptionsFor(devices));
    options.allowFloat16 = options_.allowFloat16;
    const auto start = Clock::now();
    HALYARD_ASSIGN_OR_RETURN(imported_, loadBenchModel(name_, options));
    importMs_ = milliseconds(start);
    HALYARD_ASSIGN_OR_RETURN(inputs_, randomInputs(*imported_), "{}", name_);
    result_ = {{"model", benchModelName(name_)},
               {"operations", imported_->model.main.operations.size()},
               {"mode", computeModeName(options_.mode)},
               {"allow_fp16", imported_->model.relaxComputationFloat32toFloat16}};
    HALYARD_RETURN_IF_ERROR(loadOnce(), "{}", name_);
    HALYARD_RETURN_IF_ERROR(measureLatency(), "{}", name_);
    HALYARD_RETURN_IF_ERROR(measureThroughput(), "{}", name_);
    HALYARD_RETURN_IF_ERROR(readMemory());
    HALYARD_RETURN_IF_ERROR(measureLoading(), "{}", name_);
    if (options_.operations) HALYARD_RETURN_IF_ERROR(measureOperations(), "{}", name_);
    if (options_.accuracy) {
      HALYARD_ASSIGN_OR_RETURN(result_["accuracy"],
                               measureAccuracy(*imported_, *session_, options_), "{}", name_);
    }
    return std::move(result_);
  }

 private:
  Result<std::unique_ptr<client::Session>> compiled(const std::string& cacheFolder) const {
    HALYARD_ASSIGN_OR_RETURN(
        std::unique_ptr<client::Session> session,
        client::Session::create(std::shared_ptr<const Model>(imported_, &imported_->model)));
    if (!cacheFolder.empty()) {
      HALYARD_RETURN_IF_ERROR(client::makeCacheFolder(cacheFolder));
      // The folder is used for this model only, so the token may be zero.
      session->setCaching({cacheFolder, {}});
    }
    if (options_.preference) session->setPreference(*options_.preference);
    HALYARD_RETURN_IF_ERROR(session->compile(device_));
    return session;
  }

  Status loadOnce() {
    HALYARD_ASSIGN_OR_RETURN(session_, compiled(""));
    HALYARD_ASSIGN_OR_RETURN(run_, RepeatedRun::create(*session_, inputs_, options_.mode));
    return run_->compute();
  }

  Status measureLatency() {
    for (const auto end = after(options_.warmUp); Clock::now() < end;) {
      HALYARD_RETURN_IF_ERROR(run_->compute());
    }
    std::vector<double> times;
    for (const auto end = after(options_.seconds); times.empty() || Clock::now() < end;) {
      const auto start = Clock::now();
      HALYARD_RETURN_IF_ERROR(run_->compute());
      times.push_back(milliseconds(start));
    }
    const report::Summary summary = report::summaryOf(times);
    const report::Histogram histogram = report::histogramOf(times, kHistogramSteps);
    result_["latency_ms"] = {
        {"count", summary.count},
        {"least", summary.least},
        {"median", summary.median},
        {"mean", summary.mean},
        {"p90", summary.p90},
        {"p99", summary.p99},
        {"most", summary.most},
        {"histogram",
         {{"start", histogram.start}, {"step", histogram.step}, {"counts", histogram.counts}}}};
    return okStatus();
  }

  // One thread per processor, each with an execution of its own.
  Status measureThroughput() {
    const unsigned threads = std::max(1u, peaks_.processors);
    std::vector<std::unique_ptr<RepeatedRun>> runs;
    for (unsigned i = 0; i < threads; ++i) {
      HALYARD_ASSIGN_OR_RETURN(runs.emplace_back(),
                               RepeatedRun::create(*session_, inputs_, options_.mode));
      HALYARD_RETURN_IF_ERROR(runs.back()->compute());
    }
    std::vector<Status> statuses(threads);
    std::vector<size_t> counts(threads);
    const auto start = Clock::now();
    const auto end = after(options_.seconds / 2);
    {
      std::vector<std::jthread> running;
      for (unsigned i = 0; i < threads; ++i) {
        running.emplace_back([&, i] {
          while (statuses[i].ok() && Clock::now() < end) {
            statuses[i] = runs[i]->compute();
            ++counts[i];
          }
        });
      }
    }
    const double seconds = milliseconds(start) / 1e3;
    size_t count = 0;
    for (unsigned i = 0; i < threads; ++i) {
      HALYARD_RETURN_IF_ERROR(statuses[i]);
      count += counts[i];
    }
    result_["throughput"] = {{"threads", threads},
                             {"per_second", static_cast<double>(count) / seconds}};
    return okStatus();
  }

  Status readMemory() {
    HALYARD_ASSIGN_OR_RETURN(const int64_t pid, client::driverProcessId(device_));
    const bool apart = pid != 0 && pid != ::getpid();
    result_["peak_memory_bytes"] = {{"application", peakMemory(::getpid())},
                                    {"driver", apart ? peakMemory(pid) : 0}};
    return okStatus();
  }

  // Cold: with an empty cache, or without a cache. Warm: with the files that the cold load has
  // written.
  Status measureLoading() {
    std::vector<double> cold;
    std::vector<double> coldFirst;
    std::vector<double> warm;
    std::vector<double> warmFirst;
    const auto end = after(kMostLoadSeconds);
    for (int i = 0; i < kLoads && (i == 0 || Clock::now() < end); ++i) {
      const TemporaryFolder folder;
      const std::string cache = options_.cache ? folder.path() + "/cache" : "";
      HALYARD_RETURN_IF_ERROR(load(cache, &cold, &coldFirst), "cold");
      if (options_.cache) HALYARD_RETURN_IF_ERROR(load(cache, &warm, &warmFirst), "warm");
    }
    result_["load_ms"] = {{"import", importMs_},
                          {"cold_compile", report::medianOf(cold)},
                          {"cold_first", report::medianOf(coldFirst)}};
    if (options_.cache) {
      result_["load_ms"]["warm_compile"] = report::medianOf(warm);
      result_["load_ms"]["warm_first"] = report::medianOf(warmFirst);
    }
    return okStatus();
  }

  Status load(const std::string& cache, std::vector<double>* compile,
              std::vector<double>* first) const {
    const auto start = Clock::now();
    HALYARD_ASSIGN_OR_RETURN(const std::unique_ptr<client::Session> session, compiled(cache));
    compile->push_back(milliseconds(start));
    HALYARD_ASSIGN_OR_RETURN(const auto run, RepeatedRun::create(*session, inputs_, options_.mode));
    const auto execution = Clock::now();
    HALYARD_RETURN_IF_ERROR(run->compute());
    first->push_back(milliseconds(execution));
    return okStatus();
  }

  Status measureOperations() {
    const int code = halyard_traceStart(0);
    // The trace may already run because of HALYARD_TRACE. That is not an error.
    if (code != ANEURALNETWORKS_NO_ERROR) return okStatus();
    auto profile = tracedProfile();
    (void)halyard_traceStop();
    HALYARD_RETURN_IF_ERROR(profile.status());
    const Json document = Json::parse(*profile, nullptr, /*allow_exceptions=*/false);
    if (!document.is_object()) return opFailed("the runtime's profile is no JSON");
    double floors = 0;
    Json operations = Json::array();
    for (const Json& each : document.at("operations")) {
      Json operation = operationFigures(each);
      floors += operation.value("floor_us", 0.0);
      operations.push_back(std::move(operation));
    }
    const double median = result_["latency_ms"]["median"];
    result_["operation_times"] = std::move(operations);
    result_["efficiency"] = {{"floor_ms", floors / 1e3}, {"share", floors / 1e3 / median}};
    return okStatus();
  }

  Result<std::string> tracedProfile() const {
    HALYARD_ASSIGN_OR_RETURN(const std::unique_ptr<client::Session> session, compiled(""));
    HALYARD_ASSIGN_OR_RETURN(const auto run, RepeatedRun::create(*session, inputs_));
    for (unsigned i = 0; i < kTracedRuns; ++i) HALYARD_RETURN_IF_ERROR(run->compute());
    return session->profile();
  }

  // The figures of an operation of halyard_compilationProfile, with the least time that the machine
  // allows.
  Json operationFigures(const Json& profile) const {
    Json result;
    const size_t index = profile.at("index");
    for (const char* field : {"index", "type", "device", "flop", "bytes"}) {
      result[field] = profile.at(field);
    }
    const auto numberOf = [&](const char* field) {
      return profile.at(field).is_number() ? profile.at(field).get<double>() : 0.0;
    };
    const double flop = numberOf("flop");
    const double bytes = numberOf("bytes");
    const auto& operations = imported_->model.main.operations;
    if (index >= operations.size()) return result;
    const Operand& output = imported_->model.main.operands[operations[index].outputs[0]];
    if (peaks_.processors > 0) {
      const bool is8Bit = !isExtension(output.type) && elementSize(output.type) == 1;
      result["floor_us"] = floorNs(peaks_, flop, bytes, is8Bit) / 1e3;
    }
    result["output"] = operandText(output);
    const double median = numberOf("median_ns") / 1e3;
    result["median_us"] = median > 0 ? Json(median) : Json();
    if (median > 0 && result.contains("floor_us")) {
      result["share_of_peak"] = result["floor_us"].get<double>() / median;
    }
    return result;
  }

  const std::string name_;
  const BenchOptions& options_;
  const MachinePeaks& peaks_;
  const ANeuralNetworksDevice* device_ = nullptr;
  double importMs_ = 0;
  ImportedPtr imported_;
  std::vector<std::vector<uint8_t>> inputs_;
  std::unique_ptr<client::Session> session_;
  std::unique_ptr<RepeatedRun> run_;
  Json result_;
};

}  // namespace

Result<Json> measureModel(const std::string& model, const std::string& device,
                          const BenchOptions& options, const MachinePeaks& peaks) {
  HALYARD_ASSIGN_OR_RETURN(Json result, Measurement(model, options, peaks).run(device));
  result["device"] = device;
  return result;
}

}  // namespace halyard::measure
