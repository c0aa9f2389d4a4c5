// Measures the cost of shadow verification for an application:
//
//   shadow_bench MODEL.tflite DEVICE [INTERVAL] [SECONDS]
//
// It executes the model on the device in turns of SECONDS (1). One turn verifies nothing, the next
// one verifies every INTERVAL-th execution (100). It prints the mean time of an execution in each
// turn. The mean over all executions includes the copies, and the load on the processor. Drivers
// are found as in any application (HALYARD_DRIVER_FILES).
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "client/session.h"
#include "import/tflite/importer.h"
#include "measure/device_choice.h"
#include "measure/model_runs.h"

namespace {

using Clock = std::chrono::steady_clock;
using namespace halyard;  // NOLINT(google-build-using-namespace)

constexpr int kRounds = 12;
constexpr unsigned kAtOnce = 20;

using ImportedPtr = std::shared_ptr<const import::ImportedModel>;

void check(const Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "shadow_bench: %s\n", status.toString().c_str());
  std::exit(1);
}

std::unique_ptr<client::Session> sessionFor(const ImportedPtr& imported, const std::string& device,
                                            const std::string& interval) {
  ::setenv("HALYARD_SHADOW", interval.c_str(), 1);
  const auto devices = measure::devicesOf({device});
  check(devices.status());
  auto session = client::Session::create(std::shared_ptr<const Model>(imported, &imported->model));
  check(session.status());
  check((*session)->compileFor(*devices));
  return std::move(*session);
}

// Mean milliseconds of an execution, over all executions in a given time.
double meanOf(const client::Session& session, const import::ImportedModel& imported,
              double seconds) {
  const auto start = Clock::now();
  double passed = 0;
  unsigned executions = 0;
  do {
    check(measure::runOften(session, imported, kAtOnce));
    executions += kAtOnce;
    passed = std::chrono::duration<double>(Clock::now() - start).count();
  } while (passed < seconds);
  return passed * 1000 / executions;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return (values[values.size() / 2] + values[(values.size() - 1) / 2]) / 2;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3 || argc > 5) {
    std::fprintf(stderr, "shadow_bench MODEL.tflite DEVICE [INTERVAL] [SECONDS]\n");
    return 2;
  }
  const std::string interval = argc > 3 ? argv[3] : "100";
  const double seconds = argc > 4 ? std::atof(argv[4]) : 1;
  auto read = import::importTfliteFile(argv[1]);
  check(read.status());
  const auto imported = std::make_shared<const import::ImportedModel>(std::move(*read));
  const auto without = sessionFor(imported, argv[2], "0");
  const auto with = sessionFor(imported, argv[2], interval);
  check(measure::runOften(*without, *imported, kAtOnce));
  check(measure::runOften(*with, *imported, kAtOnce));
  std::vector<double> off;
  std::vector<double> on;
  std::vector<double> shares;
  for (int round = 0; round < kRounds; ++round) {
    off.push_back(meanOf(*without, *imported, seconds));
    on.push_back(meanOf(*with, *imported, seconds));
    shares.push_back(on.back() / off.back() - 1);
  }
  const auto report = with->report();
  check(report.status());
  const auto json = nlohmann::json::parse(*report, nullptr, false);
  std::printf("nothing verified %.4f ms, every %s-th %.4f ms: %+.2f %% (median of %d rounds)\n",
              median(off), interval.c_str(), median(on), 100 * median(shares), kRounds);
  std::printf("%s\n",
              json.is_object() ? json.value("shadow", nlohmann::json()).dump().c_str() : "");
  return 0;
}
