#include "halyard/driver/capabilities_file.h"

#include <fstream>
#include <sstream>

#include "hal/core/capability_fields.h"
#include "halyard/driver/nnapi_types.h"

namespace halyard::hal {
namespace {

using Json = nlohmann::json;

constexpr double kMaxFigure = 1e30;
constexpr std::streamoff kMaxFileBytes = 1 << 20;

void readFigures(FieldReader& from, PerformanceInfo* to) {
  double time = to->execTime;
  double power = to->powerUsage;
  from.number("exec_time", 0, kMaxFigure, &time);
  from.number("power_usage", 0, kMaxFigure, &power);
  *to = {static_cast<float>(time), static_cast<float>(power)};
}

}  // namespace

void readCapabilities(FieldReader& from, Status* status, Capabilities* to) {
  PerformanceInfo all = to->lookup(OperandType::TENSOR_FLOAT32);
  const auto figures = [&](const char* field, PerformanceInfo* info) {
    from.object(field, [info](FieldReader& inner) { readFigures(inner, info); });
  };
  if (from.has("default")) {
    figures("default", &all);
    *to = Capabilities::uniform(all);
  }
  figures("default", &all);
  figures("relaxed_scalar", &to->relaxedFloat32toFloat16PerformanceScalar);
  figures("relaxed_tensor", &to->relaxedFloat32toFloat16PerformanceTensor);
  figures("if", &to->ifPerformance);
  figures("while", &to->whilePerformance);
  from.members("operand_types",
               [&](const std::string& name, const Json& value, const std::string& where) {
                 const auto type = operandTypeFromName(name);
                 if (!type) {
                   *status = badData("{}: there is no operand type '{}'", where, name);
                   return;
                 }
                 for (OperandPerformance& entry : to->operandPerformance) {
                   if (entry.type != *type) continue;
                   FieldReader inner(value, where, status);
                   readFigures(inner, &entry.info);
                   inner.finish();
                   return;
                 }
                 *status = badData("{}: models have no speed of their own", where);
               });
  if (status->ok()) *status = validateCapabilities(*to).annotate("capabilities");
}

Result<Capabilities> parseCapabilities(std::string_view json) {
  // The library reports the place of an error only by an exception.
  try {
    const Json document = Json::parse(json);
    if (!document.is_object() || !document.contains("capabilities")) {
      return badData("there is no field \"capabilities\"");
    }
    Status status;
    Capabilities capabilities = Capabilities::uniform({1.0f, 1.0f});
    FieldReader from(document["capabilities"], "capabilities", &status);
    if (status.ok()) readCapabilities(from, &status, &capabilities);
    from.finish();
    HALYARD_RETURN_IF_ERROR(status);
    return capabilities;
  } catch (const Json::parse_error& error) {
    return badData("is not JSON: {}", error.what());
  }
}

Result<Capabilities> loadCapabilities(const std::string& path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file) return badData("{}: cannot be read", path);
  if (file.tellg() > kMaxFileBytes)
    return badData("{}: has more than {} bytes", path, kMaxFileBytes);
  file.seekg(0);
  std::stringstream text;
  text << file.rdbuf();
  HALYARD_ASSIGN_OR_RETURN(Capabilities capabilities, parseCapabilities(text.str()), "{}", path);
  return capabilities;
}

}  // namespace halyard::hal
