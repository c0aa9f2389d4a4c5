#include "hal/manifest/sandbox_settings.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "hal/core/json_fields.h"

namespace halyard::hal {
namespace {

using Json = nlohmann::json;
namespace fs = std::filesystem;

constexpr size_t kMaxReasonBytes = 500;
constexpr size_t kMaxPaths = 64;
constexpr uint64_t kLeastMemory = uint64_t{64} << 20;
constexpr uint64_t kLeastFile = uint64_t{1} << 20;
constexpr uint64_t kLeastThreads = 16;

Result<std::string> plainText(const Json& value, const std::string& field, size_t limit) {
  HALYARD_RETURN_IF_ERROR(checkKind(value, value.is_string(), field, "a string"));
  auto text = value.get<std::string>();
  if (text.find_first_not_of(' ') == std::string::npos)
    return badData("field '{}' is empty", field);
  if (text.size() > limit) return badData("field '{}' has more than {} bytes", field, limit);
  if (std::any_of(text.begin(), text.end(),
                  [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; })) {
    return badData("field '{}' has control characters", field);
  }
  return text;
}

Result<std::vector<std::string>> parsePaths(const Json& list, const std::string& field,
                                            const fs::path& folder) {
  HALYARD_RETURN_IF_ERROR(checkKind(list, list.is_array(), field, "a list of paths"));
  if (list.size() > kMaxPaths)
    return badData("field '{}' has more than {} paths", field, kMaxPaths);
  std::vector<std::string> paths;
  for (const Json& entry : list) {
    HALYARD_ASSIGN_OR_RETURN(const std::string text, plainText(entry, field, 4000));
    fs::path path = (folder / text).lexically_normal();
    if (!path.has_filename()) path = path.parent_path();  // a folder with '/' at its end
    if (!path.is_absolute()) return badData("field '{}': '{}' is no absolute path", field, text);
    if (path == path.root_path()) {
      return badData("field '{}': '{}' is everything; switch landlock off, with a reason, instead",
                     field, text);
    }
    paths.push_back(path.string());
  }
  return paths;
}

Status parseOff(const Json& object, SandboxSettings& settings) {
  HALYARD_RETURN_IF_ERROR(checkKind(object, object.is_object(), "off", "an object"));
  for (const auto& [measure, reason] : object.items()) {
    if (std::find(kMeasures.begin(), kMeasures.end(), measure) == kMeasures.end()) {
      return badData("field 'off': '{}' is none of {}", measure, fmt::join(kMeasures, ", "));
    }
    HALYARD_ASSIGN_OR_RETURN(settings.off[measure],
                             plainText(reason, "off." + measure, kMaxReasonBytes));
  }
  return okStatus();
}

Status parseLimits(const Json& object, SandboxSettings& settings) {
  HALYARD_RETURN_IF_ERROR(checkKind(object, object.is_object(), "limits", "an object"));
  constexpr uint64_t kMost = uint64_t{1} << 62;
  for (const auto& [field, value] : object.items()) {
    const std::string name = "limits." + field;
    if (field == "memory_bytes") {
      HALYARD_ASSIGN_OR_RETURN(settings.memoryBytes, numberField(value, name, kLeastMemory, kMost));
    } else if (field == "file_bytes") {
      HALYARD_ASSIGN_OR_RETURN(settings.fileBytes, numberField(value, name, kLeastFile, kMost));
    } else if (field == "threads") {
      HALYARD_ASSIGN_OR_RETURN(const uint64_t threads,
                               numberField(value, name, kLeastThreads, 1'000'000));
      settings.threads = static_cast<uint32_t>(threads);
    } else {
      return badData("field '{}' is unknown", name);
    }
  }
  return okStatus();
}

}  // namespace

Result<SandboxSettings> parseSandbox(const Json& object, const fs::path& folder) {
  HALYARD_RETURN_IF_ERROR(checkKind(object, object.is_object(), "sandbox", "an object"));
  SandboxSettings settings;
  for (const auto& [field, value] : object.items()) {
    if (field == "off") {
      HALYARD_RETURN_IF_ERROR(parseOff(value, settings), "sandbox");
    } else if (field == "readable") {
      HALYARD_ASSIGN_OR_RETURN(settings.readable, parsePaths(value, field, folder), "sandbox");
    } else if (field == "writable") {
      HALYARD_ASSIGN_OR_RETURN(settings.writable, parsePaths(value, field, folder), "sandbox");
    } else if (field == "limits") {
      HALYARD_RETURN_IF_ERROR(parseLimits(value, settings), "sandbox");
    } else {
      return badData("sandbox: field '{}' is unknown", field);
    }
  }
  return settings;
}

Json sandboxJson(const SandboxSettings& settings) {
  Json limits = {{"file_bytes", settings.fileBytes}, {"threads", settings.threads}};
  if (settings.memoryBytes != 0) limits["memory_bytes"] = settings.memoryBytes;
  Json off = Json::object();
  for (const auto& [measure, reason] : settings.off) off[measure] = reason;
  return {{"off", off},
          {"readable", settings.readable},
          {"writable", settings.writable},
          {"limits", limits}};
}

std::string sandboxText(const SandboxSettings& settings) {
  if (settings == SandboxSettings()) return {};
  return sandboxJson(settings).dump(-1, ' ', true, Json::error_handler_t::replace);
}

Result<SandboxSettings> sandboxFromText(std::string_view text) {
  if (text.empty()) return SandboxSettings();
  const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded()) return badData("is not valid JSON");
  return parseSandbox(json, {});
}

}  // namespace halyard::hal
