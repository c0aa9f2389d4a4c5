#include "serve/http/documents.h"

#include <nlohmann/json.hpp>

#include "serve/protocol/json_object.h"

namespace halyard::serve {
namespace {

using nlohmann::json;
// Answers keep the order of their fields.
using Json = nlohmann::ordered_json;

std::string documentText(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Json tensorsOf(const std::vector<TensorInfo>& infos) {
  Json tensors = Json::array();
  for (const TensorInfo& info : infos) {
    tensors.push_back({{"name", info.name},
                       {"datatype", std::string(datatypeName(info.datatype))},
                       {"shape", info.shape}});
  }
  return tensors;
}

Json durationOf(const DurationSum& sum) { return {{"count", sum.count}, {"ns", sum.ns}}; }

// The tensors as in the configuration: without the batch, with other names of types.
Json configTensorsOf(const std::vector<TensorInfo>& infos, bool batches) {
  Json tensors = Json::array();
  for (const TensorInfo& info : infos) {
    std::vector<int64_t> dims = info.shape;
    if (batches) dims.erase(dims.begin());
    const std::string name(datatypeName(info.datatype));
    tensors.push_back({{"name", info.name},
                       {"data_type", "TYPE_" + (name == "BYTES" ? "STRING" : name)},
                       {"dims", dims}});
  }
  return tensors;
}

Json statisticsOf(const ServedModel& model) {
  const ModelStatistics sums = model.statistics();
  Json batches = Json::array();
  for (const auto& [size, batch] : sums.batches) {
    batches.push_back({{"batch_size", size},
                       {"compute_input", durationOf(batch.input)},
                       {"compute_infer", durationOf(batch.infer)},
                       {"compute_output", durationOf(batch.output)}});
  }
  const Json none = durationOf({});
  return {{"name", model.name()},
          {"version", model.version()},
          {"last_inference", sums.lastInference},
          {"inference_count", sums.inferences},
          {"execution_count", sums.executions},
          {"inference_stats",
           {{"success", durationOf(sums.success)},
            {"fail", durationOf(sums.fail)},
            {"queue", durationOf(sums.queue)},
            {"compute_input", durationOf(sums.input)},
            {"compute_infer", durationOf(sums.infer)},
            {"compute_output", durationOf(sums.output)},
            {"cache_hit", none},
            {"cache_miss", none}}},
          {"batch_stats", batches}};
}

// An empty body is an empty object.
Result<json> objectOf(const std::string& body) {
  if (body.empty()) return json::object();
  return parseJsonObject(body);
}

Result<uint64_t> sizeField(const json& object, const char* name, bool isNeeded) {
  const auto found = object.find(name);
  if (found == object.end() && !isNeeded) return uint64_t{0};
  if (found == object.end() || !found->is_number_unsigned()) {
    return badData("'{}' is missing or no whole number", name);
  }
  return found->get<uint64_t>();
}

}  // namespace

std::string serverMetadataJson(const Service& service) {
  return documentText({{"name", Service::name()},
                       {"version", Service::version()},
                       {"extensions", service.extensions()}});
}

std::string modelMetadataJson(const ServedModel& model, const std::vector<std::string>& versions) {
  return documentText({{"name", model.name()},
                       {"versions", versions},
                       {"platform", "halyard_tflite"},
                       {"inputs", tensorsOf(model.inputs())},
                       {"outputs", tensorsOf(model.outputs())}});
}

std::string modelReadyJson(const std::string& name) {
  return documentText({{"name", name}, {"ready", true}});
}

std::string modelConfigJson(const ServedModel& model) {
  const bool batches = model.maxBatch() != 0;
  Json groups = Json::array();
  for (const InstanceGroup& group : model.settings().instances) {
    groups.push_back({{"kind", "KIND_AUTO"}, {"count", group.count}, {"devices", group.devices}});
  }
  Json config = {{"name", model.name()},
                 {"platform", "halyard_tflite"},
                 {"backend", "halyard"},
                 {"max_batch_size", model.maxBatch()},
                 {"input", configTensorsOf(model.inputs(), batches)},
                 {"output", configTensorsOf(model.outputs(), batches)},
                 {"instance_group", groups}};
  if (batches) {
    config["dynamic_batching"] = {
        {"max_queue_delay_microseconds", model.settings().queueDelay.count()}};
  }
  return documentText(config);
}

std::string statisticsJson(const std::vector<std::shared_ptr<ServedModel>>& models) {
  Json all = Json::array();
  for (const auto& model : models) all.push_back(statisticsOf(*model));
  return documentText({{"model_stats", all}});
}

std::string indexJson(const std::vector<IndexEntry>& index) {
  Json all = Json::array();
  for (const IndexEntry& entry : index) {
    Json each = {{"name", entry.name}};
    if (!entry.version.empty()) each["version"] = entry.version;
    each["state"] = entry.state;
    each["reason"] = entry.reason;
    all.push_back(each);
  }
  return documentText(all);
}

std::string regionsJson(const std::vector<RegionInfo>& regions) {
  Json all = Json::array();
  for (const RegionInfo& region : regions) {
    all.push_back({{"name", region.name},
                   {"key", region.key},
                   {"offset", region.offset},
                   {"byte_size", region.size}});
  }
  return documentText(all);
}

Result<bool> readyOnlyOf(const std::string& body) {
  HALYARD_ASSIGN_OR_RETURN(const json object, objectOf(body));
  const auto ready = object.find("ready");
  if (ready == object.end()) return false;
  if (!ready->is_boolean())
    return badData("'ready' is a {}, expected a boolean", ready->type_name());
  return ready->get<bool>();
}

Result<RegionInfo> regionOf(const std::string& name, const std::string& body) {
  HALYARD_ASSIGN_OR_RETURN(const json object, objectOf(body));
  const auto key = object.find("key");
  if (key == object.end() || !key->is_string()) return badData("'key' is missing or no string");
  RegionInfo region{name, key->get<std::string>(), 0, 0};
  HALYARD_ASSIGN_OR_RETURN(region.offset, sizeField(object, "offset", false));
  HALYARD_ASSIGN_OR_RETURN(region.size, sizeField(object, "byte_size", true));
  return region;
}

Status checkLoadBody(const std::string& body) {
  HALYARD_ASSIGN_OR_RETURN(const json object, objectOf(body));
  const auto parameters = object.find("parameters");
  if (parameters == object.end() || parameters->empty()) return okStatus();
  return badData("this server takes no parameters of a load; it reads the model's folder");
}

}  // namespace halyard::serve
