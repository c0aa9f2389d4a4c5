#include "runtime/report/report_json.h"

#include <nlohmann/json.hpp>

#include "halyard/driver/model.h"

namespace halyard::runtime {
namespace {

using Json = nlohmann::json;

Json describe(const OperationReport& operation) {
  Json others = Json::array();
  for (const OperationReport::RejectedDevice& other : operation.others) {
    others.push_back({{"device", other.device}, {"reason", other.reason}});
  }
  return {{"index", operation.index},
          {"type", operationTypeName(operation.type)},
          {"device", operation.device},
          {"partition", operation.partition},
          {"interpreted", operation.interpreted},
          {"others", std::move(others)}};
}

Json describe(const CacheRecord& cache) {
  return {{"state", cacheStateName(cache.state)},
          {"reason", cache.reason},
          {"bytes_read", cache.bytesRead},
          {"bytes_written", cache.bytesWritten},
          {"key_ns", cache.keyNs},
          {"open_ns", cache.openNs},
          {"load_ns", cache.loadNs},
          {"compile_ns", cache.compileNs},
          {"save_ns", cache.saveNs}};
}

Json describe(const PartitionReport& partition) {
  Json mean;
  Json last;
  Json copiedMean;
  Json copiedLast;
  if (partition.executions > 0) {
    mean = partition.measuredTotal / static_cast<double>(partition.executions);
    last = partition.measuredLast;
    copiedMean =
        static_cast<double>(partition.copiedTotal) / static_cast<double>(partition.executions);
    copiedLast = partition.copiedLast;
  }
  return {{"device", partition.device},
          {"operations", partition.operations},
          {"within", partition.within},
          {"operation_count", partition.operationCount},
          {"predicted_ns",
           {{"compute", partition.predicted.compute}, {"boundary", partition.predicted.boundary}}},
          {"sizes_unknown", partition.sizesUnknown},
          {"bytes_in", partition.bytesIn},
          {"bytes_out", partition.bytesOut},
          {"executions", partition.executions},
          {"measured_mean_ns", mean},
          {"measured_last_ns", last},
          {"copied_bytes_mean", copiedMean},
          {"copied_bytes_last", copiedLast},
          {"cache", describe(partition.cache)}};
}

Json describe(const ReportEvent& event) {
  return {{"kind", reportEventKindName(event.kind)},
          {"device", event.device},
          {"target", event.target},
          {"partition", event.partition},
          {"operations", event.operations},
          {"cause", event.cause},
          {"count", event.count},
          {"unix_ns", event.unixNanoseconds}};
}

Json describe(const ShadowReport& shadow) {
  Json skipped = Json::array();
  for (const auto& [reason, count] : shadow.skipped) {
    skipped.push_back({{"reason", reason}, {"count", count}});
  }
  return {{"interval", shadow.interval},
          {"off", shadow.off},
          {"verified", shadow.verified},
          {"failed", shadow.failed},
          {"skipped", std::move(skipped)},
          {"largest_absolute_error", shadow.largestAbsolute},
          {"largest_relative_error", shadow.largestRelative}};
}

template <typename T>
Json list(const std::vector<T>& entries) {
  Json result = Json::array();
  for (const T& entry : entries) result.push_back(describe(entry));
  return result;
}

}  // namespace

std::string reportJson(const Report& report) {
  const Json document = {{"allow_fp16", report.relaxed()},
                         {"operations", list(report.operations())},
                         {"partitions", list(report.partitions())},
                         {"events", list(report.events())},
                         {"shadow", describe(report.shadow())}};
  return document.dump(2, ' ', false, Json::error_handler_t::replace);
}

}  // namespace halyard::runtime
