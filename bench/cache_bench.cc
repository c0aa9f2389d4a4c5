// Measures the gain of caching: the time from a model to an executable compilation, cold and warm:
//
//   cache_bench [--check] [--stages] [--rounds N] [--device NAME] [MODEL.tflite...]
//
// Without models it takes those beside the source tree if they exist, else the project's own. The
// reference driver compiles each model through the C API in a process of its own. It does so at its
// normal speed, and with a compile time of two seconds. The figures are for no cache, cold (an
// empty folder) and warm, each the best of some rounds. The CPU driver, which has no cache, is
// measured beside it. The warm figure includes the digest of the model, the opening of the files,
// and the driver's verification of their content. --stages adds the stages of the best cold and the
// best warm start.
//
// With --check, the exit status is 0 only if two conditions hold. Warm is never slower than cold,
// within a tenth and a millisecond. A start from the cache never takes more than the device's
// limit, which is a fraction of the cold start.
#include <stdlib.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "client/session.h"
#include "client/status.h"
#include "import/tflite/importer.h"
#include "measure/device_choice.h"

namespace {

using namespace halyard;  // NOLINT(google-build-using-namespace)
namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

struct Subject {
  const char* device;
  double limit;         // the greatest allowed ratio of warm to cold
  const char* persona;  // of the reference driver; null: the CPU driver
  bool isSlow = false;  // one round is enough

  bool caches() const { return persona != nullptr; }
};
constexpr Subject kSubjects[] = {
    {"halyard-cpu", 1.1, nullptr},
    {"bench-fast", 1.1, ""},
    {"bench-slow", 0.05, R"(, "delays": {"compile_ms": 2000})", true},
};

struct Outcome {
  double milliseconds = 0;
  std::string state;
  std::string reason;
  double megabytes = 0;  // read or written
  std::string stages;
};

std::string stagesOf(double total, const nlohmann::json& cache) {
  std::string text;
  double rest = total;
  for (const char* stage : {"key", "open", "load", "compile", "save"}) {
    const double ms = cache.at(std::string(stage) + "_ns").get<double>() / 1e6;
    rest -= ms;
    if (ms > 0) text += fmt::format("{} {:.2f}, ", stage, ms);
  }
  return text + fmt::format("rest {:.2f}", rest);
}

Result<Outcome> compileOnce(const std::shared_ptr<const Model>& model,
                            const ANeuralNetworksDevice* device, const std::string& folder) {
  HALYARD_ASSIGN_OR_RETURN(const std::unique_ptr<client::Session> session,
                           client::Session::create(model));
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
  outcome.stages = stagesOf(outcome.milliseconds, cache);
  return outcome;
}

// Other load on the machine only adds to a time, so the least time counts.
void keepBest(const Outcome& next, Outcome* best) {
  if (best->milliseconds == 0 || next.milliseconds < best->milliseconds) *best = next;
}

struct Line {
  Outcome none;
  Outcome cold;
  Outcome warm;
};

Result<Line> measure(const std::shared_ptr<const Model>& model, const ANeuralNetworksDevice* device,
                     const Subject& subject, const std::string& folder, int rounds) {
  const auto compile = [&](const std::string& cache) { return compileOnce(model, device, cache); };
  Line line;
  for (int i = 0; i < rounds; ++i) {
    HALYARD_ASSIGN_OR_RETURN(const Outcome uncached, compile(""));
    keepBest(uncached, &line.none);
    fs::remove_all(folder);
    fs::create_directory(folder);
    HALYARD_ASSIGN_OR_RETURN(const Outcome first, compile(folder));
    if (first.state != (subject.caches() ? "miss" : "off")) {
      return opFailed("{}: {}", first.state, first.reason);
    }
    keepBest(first, &line.cold);
    HALYARD_ASSIGN_OR_RETURN(const Outcome again, compile(folder));
    keepBest(again, &line.warm);
  }
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

// Makes the drivers known to the library before its first call.
void makeDrivers(const fs::path& folder) {
  std::string manifests;
  for (const Subject& subject : kSubjects) {
    nlohmann::json manifest = {{"name", subject.device}, {"version", "1"}, {"hal_version", "1.3"}};
    if (!subject.caches()) {
      manifest["executable"] = HALYARD_CPU_DRIVER;
    } else {
      const fs::path personality = folder / (std::string(subject.device) + "_personality.json");
      std::ofstream(personality) << R"({"cache": {"model_files": 1, "data_files": 1})"
                                 << subject.persona << "}";
      manifest["executable"] = HALYARD_REFERENCE_DRIVER;
      manifest["arguments"] = {"--personality", personality.string()};
    }
    const fs::path path = folder / (std::string(subject.device) + ".json");
    std::ofstream(path) << manifest.dump();
    manifests += (manifests.empty() ? "" : ":") + path.string();
  }
  ::setenv("HALYARD_DRIVER_FILES", manifests.c_str(), 1);
  ::setenv("XDG_STATE_HOME", (folder / "state").c_str(), 1);
}

// Whether the line meets the goals. A driver without a cache must be as fast as without files.
bool print(const std::string& model, const Subject& subject, const Line& line, bool stages) {
  const double cold = line.cold.milliseconds;
  const double warm = line.warm.milliseconds;
  const bool isHit = line.warm.state == "hit";
  const double most =
      isHit ? std::min(cold * 1.1 + 1, cold * subject.limit) : line.none.milliseconds * 1.1 + 1;
  const bool good = warm <= most && isHit == subject.caches();
  std::printf("%-34s %-13s %9.2f %9.2f %9.2f %6.1f %% %8.2f  %s%s%s%s\n", model.c_str(),
              subject.device, line.none.milliseconds, cold, warm, 100 * warm / cold,
              line.warm.megabytes, line.warm.state.c_str(), line.warm.reason.empty() ? "" : ", ",
              line.warm.reason.c_str(), good ? "" : "  <-- too slow, or no hit");
  if (stages) {
    std::printf("    none: %s\n    cold: %s\n    warm: %s\n", line.none.stages.c_str(),
                line.cold.stages.c_str(), line.warm.stages.c_str());
  }
  std::fflush(stdout);
  return good;
}

struct Wishes {
  bool check = false;
  bool stages = false;
  int rounds = 5;
  std::string device;  // empty: all
  std::vector<fs::path> models;
};

int run(const Wishes& wishes, const fs::path& folder) {
  makeDrivers(folder);
  const auto devices = client::allDevices();
  if (!devices.ok()) {
    std::fprintf(stderr, "%s\n", devices.status().toString().c_str());
    return 1;
  }
  std::printf("%-34s %-13s %9s %9s %9s %8s %8s  %s\n", "MODEL", "DEVICE", "NONE ms", "COLD ms",
              "WARM ms", "OF COLD", "MB", "WARM START");
  bool good = true;
  bool any = false;
  for (const fs::path& path : wishes.models) {
    auto imported = import::importTfliteFile(path.string());
    if (!imported.ok()) continue;  // one of the files is damaged on purpose
    const auto shared = std::make_shared<const import::ImportedModel>(std::move(*imported));
    for (const Subject& subject : kSubjects) {
      if (!wishes.device.empty() && wishes.device != subject.device) continue;
      const auto device = std::ranges::find(*devices, subject.device, &client::Device::name);
      if (device == devices->end()) continue;
      const auto line =
          measure(std::shared_ptr<const Model>(shared, &shared->model), device->handle, subject,
                  folder / "cache", subject.isSlow ? 1 : wishes.rounds);
      if (!line.ok()) {
        std::printf("%-34s %-13s %s\n", path.stem().c_str(), subject.device,
                    line.status().toString().c_str());
        good = false;
        continue;
      }
      any = true;
      if (!print(path.stem().string(), subject, *line, wishes.stages)) good = false;
    }
  }
  return !wishes.check || (good && any) ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  Wishes wishes;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--check") {
      wishes.check = true;
    } else if (word == "--stages") {
      wishes.stages = true;
    } else if (word == "--rounds" && i + 1 < argc) {
      wishes.rounds = std::max(1, std::atoi(argv[++i]));
    } else if (word == "--device" && i + 1 < argc) {
      wishes.device = argv[++i];
    } else if (word[0] == '-') {
      std::fprintf(stderr,
                   "usage: cache_bench [--check] [--stages] [--rounds N] [--device NAME] "
                   "[MODEL.tflite...]\n");
      return 2;
    } else {
      wishes.models.emplace_back(word);
    }
  }
  if (wishes.models.empty()) wishes.models = standardModels();
  std::string folder = (fs::temp_directory_path() / "cache_bench_XXXXXX").string();
  if (::mkdtemp(folder.data()) == nullptr) {
    std::perror("cache_bench: temporary folder");
    return 1;
  }
  const int status = run(wishes, folder);
  std::error_code ignored;
  fs::remove_all(folder, ignored);
  return status;
}
