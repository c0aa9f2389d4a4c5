#include "tools/halyard/bench/own_process.h"

#include "base/process_pool.h"

namespace halyard::cli {

using Json = nlohmann::json;

Result<Json> inOwnProcess(std::chrono::milliseconds limit,
                          const std::function<Result<Json>()>& work) {
  ProcessPoolOptions options;
  options.startLimit = limit;
  // The greeting of the process carries the result; no job follows.
  HALYARD_ASSIGN_OR_RETURN(
      const std::unique_ptr<ProcessPool> pool,
      ProcessPool::create(options, [&]() -> Result<ProcessWorker> {
        HALYARD_ASSIGN_OR_RETURN(const Json result, work());
        return ProcessWorker{result.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace),
                             [](std::string_view) { return std::string(); }};
      }));
  Json result = Json::parse(pool->greeting(), nullptr, /*allow_exceptions=*/false);
  if (result.is_discarded()) return opFailed("a measuring process has answered no JSON");
  return result;
}

}  // namespace halyard::cli
