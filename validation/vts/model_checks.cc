// The HAL's rules for models, V1 to V17, in every version.
#include "validation/vts/hal_suite.h"
#include "validation/vts/model_rows.h"
#include "validation/vts/models.h"
#include "validation/vts/rules.h"

namespace halyard::validation {
namespace {

CheckResult checkRow(HalClient& client, HalVersion method, const ModelRow& row) {
  const ModelEdit edit = row.edit == nullptr ? ModelEdit() : ModelEdit(row.edit);
  if (!row.isRight(method)) return expectModelRefused(client, method, row.model(), edit);
  // The driver decides whether it supports the model. It must prepare a model that it supports.
  return prepareIfSupported(client, method, row.model()).status();
}

Status checkOption(HalClient& client, HalVersion method, int preference, int priority) {
  PrepareCall call;
  call.preference = preference;
  call.priority = priority;
  HALYARD_ASSIGN_OR_RETURN(const Preparation preparation,
                           client.prepare(method, addModel(4), call));
  return expectRefusedAtLaunch(preparation, {Code::INVALID_ARGUMENT});
}

// Every preference and, if the version has priorities, every priority.
CheckResult legalOptions(HalClient& client, HalVersion method) {
  for (const int legal : {0, 1, 2}) {
    PrepareCall call;
    call.preference = legal;
    call.priority = legal;
    HALYARD_ASSIGN_OR_RETURN(const PreparedOrSkip prepared,
                             prepareIfSupported(client, method, addModel(4), call),
                             "preference and priority {}", legal);
    if (prepared.model == nullptr) return CheckResult::skipped(prepared.skip);
  }
  return okStatus();
}

std::string sentence(const ModelRow& row) {
  const std::string end = !row.right ? "refused"
                          : *row.right == HalVersion::V1_0
                              ? "accepted"
                              : fmt::format("accepted from HAL {} on", halVersionName(*row.right));
  return fmt::format("rule {} of models: {} is {}", row.rule, row.name, end);
}

}  // namespace

void listModelChecks(HalChecks& checks) {
  for (const ModelRow& row : modelRows()) {
    checks.addForVersions(
        HalVersion::V1_0, fmt::format("model/{}_{}", row.rule, row.name), sentence(row), {"ND-031"},
        [&row](HalClient& client, HalVersion method) { return checkRow(client, method, row); });
  }
  checks.addForVersions(HalVersion::V1_0, "model/cycle",
                        "operations that read each other's outputs are refused", {"ND-031"},
                        [](HalClient& client, HalVersion method) -> CheckResult {
                          return expectModelRefused(client, method, cyclicModel());
                        });
  checks.addForVersions(HalVersion::V1_1, "model/V16_legal",
                        "each preference and each priority is accepted", {}, legalOptions);
  for (const int wrong : {-1, 3}) {
    checks.addForVersions(HalVersion::V1_1, fmt::format("model/V16_preference_{}", wrong),
                          "a preference that is none is refused", {},
                          [wrong](HalClient& client, HalVersion method) -> CheckResult {
                            return checkOption(client, method, wrong, 1);
                          });
    checks.addForVersions(HalVersion::V1_3, fmt::format("model/V16_priority_{}", wrong),
                          "a priority that is none is refused", {},
                          [wrong](HalClient& client, HalVersion method) -> CheckResult {
                            return checkOption(client, method, 1, wrong);
                          });
  }
}

}  // namespace halyard::validation
