#include "tools/halyard/bench/beside.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <utility>

namespace halyard::cli {
namespace {

using Json = nlohmann::json;

constexpr std::pair<const char*, const char*> kRuntimes[] = {{"litert", "LiteRT"},
                                                             {"onnxruntime", "ONNX Runtime"},
                                                             {"openvino", "OpenVINO"},
                                                             {"openvino/onnx", "OpenVINO (ONNX)"}};

// The member whose name is the greatest number.
std::pair<int, const Json*> ofMostThreads(const Json& byThreads) {
  std::pair<int, const Json*> most = {0, nullptr};
  for (const auto& [name, results] : byThreads.items()) {
    int threads = 0;
    std::from_chars(name.data(), name.data() + name.size(), threads);
    if (threads > most.first) most = {threads, &results};
  }
  return most;
}

const Json* findMember(const Json& object, const char* name) {
  if (!object.is_object()) return nullptr;
  const auto found = object.find(name);
  return found == object.end() ? nullptr : &*found;
}

std::optional<double> numberIn(const Json& object, const char* name) {
  const Json* const value = findMember(object, name);
  if (value == nullptr || !value->is_number()) return std::nullopt;
  return value->get<double>();
}

}  // namespace

Result<Beside> Beside::load(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return errnoStatus(ResultCode::BAD_DATA, errno, path + ": cannot be read");
  std::stringstream text;
  text << file.rdbuf();
  HALYARD_ASSIGN_OR_RETURN(Beside beside, parse(text.str()), "{}", path);
  return beside;
}

Result<Beside> Beside::parse(const std::string& text) {
  const Json document = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  const Json* const models = findMember(document, "models");
  if (models == nullptr || !models->is_array()) {
    return badData("is not what bench/peers/run --json writes: there is no list \"models\"");
  }
  Beside beside;
  for (const auto& [runtime, shown] : kRuntimes) {
    for (const Json& model : *models) {
      const Json* const name = findMember(model, "name");
      const Json* const byThreads = findMember(model, "threads");
      if (name == nullptr || !name->is_string() || byThreads == nullptr) continue;
      const auto [threads, results] = ofMostThreads(*byThreads);
      const Json* const result = results == nullptr ? nullptr : findMember(*results, runtime);
      const auto latency = result == nullptr ? std::nullopt : numberIn(*result, "ms");
      if (!latency) continue;
      const std::string called =
          fmt::format("{}, {} thread{}", shown, threads, threads == 1 ? "" : "s");
      beside.latencies_[name->get<std::string>()][called] = *latency;
      if (std::ranges::find(beside.runtimes_, called) == beside.runtimes_.end()) {
        beside.runtimes_.push_back(called);
      }
    }
  }
  if (const Json* const accuracy = findMember(document, "accuracy")) {
    for (const auto& [model, figures] : accuracy->items()) {
      if (const auto top1 = numberIn(figures, "litert")) beside.top1_[model] = *top1;
    }
  }
  return beside;
}

std::optional<double> Beside::latency(const std::string& model, const std::string& runtime) const {
  const auto found = latencies_.find(model);
  if (found == latencies_.end()) return std::nullopt;
  const auto time = found->second.find(runtime);
  return time == found->second.end() ? std::nullopt : std::optional(time->second);
}

std::optional<double> Beside::top1(const std::string& model) const {
  const auto found = top1_.find(model);
  return found == top1_.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace halyard::cli
