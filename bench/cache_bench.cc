// What caching gains: the time from a model to a compilation that can be executed, cold and warm:
//
//   cache_bench [--check] [--rounds N] [MODEL.tflite...]
//
// without models: those beside the source tree if they are there, else the project's own. Each is
// compiled through the C API by the reference driver in its process, as it is and with a compile
// time of two seconds: without a cache, cold (an empty folder) and warm, the best of some rounds
// each. The warm figure has everything in it: the digest of the model, opening the files, and the
// driver's verification of what is in them.
//
// With --check, the exit status is 0 only if warm was never slower than cold, within a tenth and a
// millisecond, and with the compile time of two seconds took at most 5 % of it.
#include <stdlib.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "import/tflite/importer.h"
#include "tools/halyard/api_session.h"
#include "tools/halyard/device_choice.h"

namespace {

using namespace halyard;       // NOLINT(google-build-using-namespace)
using namespace halyard::cli;  // NOLINT(google-build-using-namespace)
namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr double kMostOfSlow = 0.05;
constexpr const char* kFast = "bench-fast";
constexpr const char* kSlow = "bench-slow";

struct Outcome {
  double milliseconds = 0;
  std::string state;
  std::string reason;
  double megabytes = 0;  // read or written
};

Result<Outcome> compileOnce(const std::shared_ptr<const Model>& model,
                            const ANeuralNetworksDevice* device, const std::string& folder) {
  HALYARD_ASSIGN_OR_RETURN(const std::unique_ptr<ApiSession> session, ApiSession::create(model));
  if (!folder.empty()) session->setCaching({folder, {1}});
  const Clock::time_point start = Clock::now();
  HALYARD_RETURN_IF_ERROR(session->compile(device));
  Outcome outcome;
  outcome.milliseconds = std::chrono::duration<double, std::milli>(Clock::now() - start).count();
  HALYARD_ASSIGN_OR_RETURN(const std::string report, session->report());
  const auto json = nlohmann::json::parse(report);
  const auto& cache = json.at("partitions").at(0).at("cache");
  outcome.state = cache.at("state").get<std::string>();
  outcome.reason = cache.at("reason").get<std::string>();
  outcome.megabytes =
      (cache.at("bytes_read").get<double>() + cache.at("bytes_written").get<double>()) / 1e6;
  return outcome;
}

// What else the machine does only adds to a time.
double bestOf(const std::vector<double>& values) { return *std::ranges::min_element(values); }

struct Line {
  double none = 0;  // ms
  double cold = 0;
  double warm = 0;
  double megabytes = 0;
  std::string state;  // of the last warm start
  std::string reason;
};

Result<Line> measure(const std::shared_ptr<const Model>& model, const ANeuralNetworksDevice* device,
                     const std::string& folder, int rounds) {
  Line line;
  std::vector<double> none;
  std::vector<double> cold;
  std::vector<double> warm;
  for (int i = 0; i < rounds; ++i) {
    HALYARD_ASSIGN_OR_RETURN(const Outcome uncached, compileOnce(model, device, ""));
    none.push_back(uncached.milliseconds);
    fs::remove_all(folder);
    fs::create_directory(folder);
    HALYARD_ASSIGN_OR_RETURN(const Outcome first, compileOnce(model, device, folder));
    if (first.state != "miss") return opFailed("not cached: {}", first.reason);
    cold.push_back(first.milliseconds);
    HALYARD_ASSIGN_OR_RETURN(const Outcome again, compileOnce(model, device, folder));
    warm.push_back(again.milliseconds);
    line.state = again.state;
    line.reason = again.reason;
    line.megabytes = again.megabytes;
  }
  line.none = bestOf(none);
  line.cold = bestOf(cold);
  line.warm = bestOf(warm);
  return line;
}

std::vector<fs::path> standardModels() {
  const fs::path source = HALYARD_SOURCE_DIR;
  std::vector<fs::path> models;
  for (const fs::path& folder : {source.parent_path() / "shared/models", source / "models"}) {
    std::error_code absent;
    for (const auto& entry : fs::directory_iterator(folder, absent)) {
      if (entry.path().extension() == ".tflite") models.push_back(entry.path());
    }
    if (!models.empty()) break;
  }
  std::ranges::sort(models);
  return models;
}

// Two drivers, known to the library by its first call.
void makeDrivers(const fs::path& folder) {
  std::string manifests;
  for (const auto& [name, fields] :
       {std::pair(kFast, ""), std::pair(kSlow, R"(, "delays": {"compile_ms": 2000})")}) {
    const fs::path personality = folder / (std::string(name) + "_personality.json");
    std::ofstream(personality) << R"({"cache": {"model_files": 1, "data_files": 1})" << fields
                               << "}";
    const fs::path manifest = folder / (std::string(name) + ".json");
    std::ofstream(manifest) << R"({"name": ")" << name
                            << R"(", "version": "1", "hal_version": "1.3", "executable": ")"
                            << HALYARD_REFERENCE_DRIVER << R"(", "arguments": ["--personality", ")"
                            << personality.string() << R"("]})";
    manifests += (manifests.empty() ? "" : ":") + manifest.string();
  }
  ::setenv("HALYARD_DRIVER_FILES", manifests.c_str(), 1);
  ::setenv("XDG_STATE_HOME", (folder / "state").c_str(), 1);
}

// Whether the line is as it should be.
bool print(const std::string& model, const char* device, const Line& line) {
  const bool isSlow = device == kSlow;
  const bool good =
      line.warm <= line.cold * 1.1 + 1 && (!isSlow || line.warm <= line.cold * kMostOfSlow);
  std::printf("%-34s %-10s %9.2f %9.2f %9.2f %6.1f %% %8.2f  %s%s%s%s\n", model.c_str(), device,
              line.none, line.cold, line.warm, 100 * line.warm / line.cold, line.megabytes,
              line.state.c_str(), line.reason.empty() ? "" : ", ", line.reason.c_str(),
              good ? "" : "  <-- too slow");
  std::fflush(stdout);
  return good;
}

int run(const std::vector<fs::path>& models, int rounds, bool check, const fs::path& folder) {
  makeDrivers(folder);
  const auto devices = listApiDevices();
  if (!devices.ok()) {
    std::fprintf(stderr, "%s\n", devices.status().toString().c_str());
    return 1;
  }
  std::printf("%-34s %-10s %9s %9s %9s %8s %8s  %s\n", "MODEL", "DEVICE", "NONE ms", "COLD ms",
              "WARM ms", "OF COLD", "MB", "WARM START");
  bool good = true;
  bool any = false;
  for (const fs::path& path : models) {
    auto imported = import::importTfliteFile(path.string());
    if (!imported.ok()) continue;  // one of them is for that
    const auto shared = std::make_shared<const import::ImportedModel>(std::move(*imported));
    for (const ApiDevice& device : *devices) {
      const char* const name = device.name == kFast   ? kFast
                               : device.name == kSlow ? kSlow
                                                      : nullptr;
      if (name == nullptr) continue;
      const auto line = measure(std::shared_ptr<const Model>(shared, &shared->model), device.handle,
                                folder / "cache", name == kSlow ? 1 : rounds);
      if (!line.ok()) {
        std::printf("%-34s %-10s %s\n", path.stem().c_str(), name,
                    line.status().toString().c_str());
        good = false;
        continue;
      }
      any = true;
      if (!print(path.stem().string(), name, *line)) good = false;
    }
  }
  return !check || (good && any) ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  bool check = false;
  int rounds = 5;
  std::vector<fs::path> models;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--check") {
      check = true;
    } else if (word == "--rounds" && i + 1 < argc) {
      rounds = std::max(1, std::atoi(argv[++i]));
    } else if (word[0] == '-') {
      std::fprintf(stderr, "usage: cache_bench [--check] [--rounds N] [MODEL.tflite...]\n");
      return 2;
    } else {
      models.emplace_back(word);
    }
  }
  std::string folder = (fs::temp_directory_path() / "cache_bench_XXXXXX").string();
  if (::mkdtemp(folder.data()) == nullptr) {
    std::perror("cache_bench: temporary folder");
    return 1;
  }
  const int status = run(models.empty() ? standardModels() : models, rounds, check, folder);
  std::error_code ignored;
  fs::remove_all(folder, ignored);
  return status;
}
