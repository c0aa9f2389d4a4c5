// Every misuse of the C API, function by function. It uses the device if the device takes the
// model.
#include <cstdio>
#include <map>

#include "validation/cts/api_world.h"
#include "validation/misuse/table.h"

namespace halyard::validation {
namespace {

using misuse::Misuse;

// Reports all rows that fail, not only the first.
CheckResult tryAllMisuses(const ApiWorld& world, const std::vector<Misuse>& rows) {
  std::vector<std::string> found;
  for (const Misuse& row : rows) {
    // The log shows the row if the check's process ends.
    fmt::print(stderr, "misuse {}\n", row.name);
    const Status status = misuse::tryMisuse(row, world.device());
    if (!status.ok()) found.push_back(std::string(status.message()));
  }
  if (found.empty()) return CheckResult::passed(fmt::format("{} misuses", rows.size()));
  return opFailed("{} of {} misuses: {}", found.size(), rows.size(), fmt::join(found, "\n"));
}

CheckResult freesNothing(ApiWorld&) {
  ANeuralNetworksModel_free(nullptr);
  ANeuralNetworksCompilation_free(nullptr);
  ANeuralNetworksExecution_free(nullptr);
  ANeuralNetworksBurst_free(nullptr);
  ANeuralNetworksEvent_free(nullptr);
  ANeuralNetworksMemory_free(nullptr);
  ANeuralNetworksMemoryDesc_free(nullptr);
  return CheckResult::passed();
}

}  // namespace

void listMisuseChecks(ApiChecks& checks) {
  std::map<std::string, std::vector<Misuse>> functions;
  for (Misuse& row : misuse::allMisuses()) functions[row.function()].push_back(std::move(row));
  for (auto& [function, rows] : functions) {
    std::string what = fmt::format("{} refuses each of {} misuses, and leaves all as it was",
                                   function, rows.size());
    checks.addAny("misuse/" + function, std::move(what),
                  [rows = std::move(rows)](ApiWorld& world) { return tryAllMisuses(world, rows); });
  }
  checks.addAny("misuse/free", "functions that free ignore NULL", freesNothing);
}

}  // namespace halyard::validation
