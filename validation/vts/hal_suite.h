// The area "hal": calls every method of every HAL version directly at the driver, without the
// runtime.
// Thread safety: as Suite.
// Ownership: as Suite.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "conformance/vectors.h"
#include "validation/kit/check.h"
#include "validation/kit/target.h"
#include "validation/vts/hal_client.h"

namespace halyard::validation {

Result<std::vector<Check>> listHal(const TargetSpec& target, const Plan& plan);

// Collects the checks of the suite's parts.
class HalChecks {
 public:
  HalChecks(const TargetSpec& target, const Plan& plan) : target_(target), plan_(plan) {}

  const TargetSpec& target() const { return target_; }
  const Plan& plan() const { return plan_; }
  std::vector<Check> take() { return std::move(checks_); }

  // Adds a check with the client that the checks of a process share. `since`: older drivers do not
  // get the check.
  using WithClient = std::function<CheckResult(HalClient&)>;
  Check& add(HalVersion since, std::string name, std::string what,
             std::vector<std::string> requirements, WithClient run);
  // The same for each served version from `since` on, with names such as NAME@1.2.
  using WithVersion = std::function<CheckResult(HalClient&, HalVersion)>;
  void addForVersions(HalVersion since, const std::string& name, const std::string& what,
                      const std::vector<std::string>& requirements, const WithVersion& run);
  // Adds a check that opens its own client.
  using WithTarget = std::function<CheckResult(Target&)>;
  Check& addAlone(HalVersion since, std::string name, std::string what,
                  std::vector<std::string> requirements, WithTarget run);

 private:
  const TargetSpec& target_;
  const Plan& plan_;
  std::vector<Check> checks_;
  Check dropped_;  // a check that is not added
};

// The parts, one in each file.
void listInfoChecks(HalChecks& checks);
void listModelChecks(HalChecks& checks);
void listPrepareChecks(HalChecks& checks);
void listExecuteChecks(HalChecks& checks);
void listFencedChecks(HalChecks& checks);
void listBurstChecks(HalChecks& checks);
void listCacheChecks(HalChecks& checks);
void listCacheCallChecks(HalChecks& checks);
void listBufferChecks(HalChecks& checks);
void listLifecycleChecks(HalChecks& checks);
// The checks that are made of vectors: mutations of models and requests, and executions.
Status listVectorChecks(HalChecks& checks);

}  // namespace halyard::validation
