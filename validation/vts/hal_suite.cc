#include "validation/vts/hal_suite.h"

namespace halyard::validation {

Check& HalChecks::addAlone(HalVersion since, std::string name, std::string what,
                           std::vector<std::string> requirements, WithTarget run) {
  if (target_.halVersion() < since) return dropped_;
  Check check;
  check.name = std::move(name);
  check.what = std::move(what);
  check.requirements = std::move(requirements);
  check.run = std::move(run);
  checks_.push_back(std::move(check));
  return checks_.back();
}

Check& HalChecks::add(HalVersion since, std::string name, std::string what,
                      std::vector<std::string> requirements, WithClient run) {
  return addAlone(since, std::move(name), std::move(what), std::move(requirements),
                  [run = std::move(run)](Target& target) -> CheckResult {
                    HALYARD_ASSIGN_OR_RETURN(const std::shared_ptr<HalClient> client,
                                             sharedClient(target));
                    return run(*client);
                  });
}

void HalChecks::addForVersions(HalVersion since, const std::string& name, const std::string& what,
                               const std::vector<std::string>& requirements,
                               const WithVersion& run) {
  for (const HalVersion version : servedVersions(target_.halVersion())) {
    if (version < since) continue;
    add(version, fmt::format("{}@{}", name, halVersionName(version)),
        fmt::format("{} (HAL {})", what, halVersionName(version)), requirements,
        [run, version](HalClient& client) { return run(client, version); });
  }
}

Result<std::vector<Check>> listHal(const TargetSpec& target, const Plan& plan) {
  HalChecks checks(target, plan);
  listInfoChecks(checks);
  listModelChecks(checks);
  listPrepareChecks(checks);
  listExecuteChecks(checks);
  listFencedChecks(checks);
  listBurstChecks(checks);
  listCacheChecks(checks);
  listCacheCallChecks(checks);
  listBufferChecks(checks);
  listLifecycleChecks(checks);
  HALYARD_RETURN_IF_ERROR(listVectorChecks(checks));
  return checks.take();
}

}  // namespace halyard::validation
