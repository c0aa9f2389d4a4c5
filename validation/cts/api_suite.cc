#include "validation/cts/api_suite.h"

#include "validation/cts/api_world.h"

namespace halyard::validation {

Result<std::vector<Check>> listApi(const TargetSpec& /*target*/, const Plan& plan) {
  ApiChecks checks(plan.full);
  listIntrospectionChecks(checks);
  listMisuseChecks(checks);
  listDimensionChecks(checks);
  listUnspecifiedChecks(checks);
  listDefaultArgumentChecks(checks);
  listExecutionChecks(checks);
  listModelChecks(checks);
  listOperationChecks(checks);
  listMemoryChecks(checks);
  listCompilationChecks(checks);
  return checks.take();
}

}  // namespace halyard::validation
