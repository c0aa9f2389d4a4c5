// The driver's description of itself: it is complete, within its limits, and the same at each call.
#include <algorithm>
#include <set>

#include "validation/vts/hal_suite.h"
#include "validation/vts/rules.h"

namespace halyard::validation {
namespace {

constexpr uint32_t kMaxCacheFiles = 32;

Status answered(const DeviceFacts& facts) {
  if (facts.problems.empty()) return okStatus();
  return opFailed("{}", fmt::join(facts.problems, "; "));
}

Status checkFigure(std::string_view what, const hal::PerformanceInfo& info) {
  // NaN fails, too.
  if (info.execTime > 0 && info.powerUsage > 0) return okStatus();
  return opFailed("{}: execution time {} and power usage {}, expected more than 0", what,
                  info.execTime, info.powerUsage);
}

Status checkCapabilities(HalClient& client, HalVersion method) {
  HALYARD_ASSIGN_OR_RETURN(const DeviceFacts facts, client.facts(method));
  HALYARD_RETURN_IF_ERROR(answered(facts));
  if (!facts.newerFigures.empty()) {
    return opFailed("getCapabilities answers {}, which came with a newer version",
                    fmt::join(facts.newerFigures, ", "));
  }
  for (const hal::PerformanceInfo& figure : facts.oldFigures) {
    HALYARD_RETURN_IF_ERROR(checkFigure("performance", figure));
  }
  if (method < HalVersion::V1_2) return okStatus();
  const hal::Capabilities& capabilities = facts.capabilities;
  HALYARD_RETURN_IF_ERROR(
      checkFigure("relaxed scalars", capabilities.relaxedFloat32toFloat16PerformanceScalar));
  HALYARD_RETURN_IF_ERROR(
      checkFigure("relaxed tensors", capabilities.relaxedFloat32toFloat16PerformanceTensor));
  HALYARD_RETURN_IF_ERROR(checkFigure("IF", capabilities.ifPerformance));
  HALYARD_RETURN_IF_ERROR(checkFigure("WHILE", capabilities.whilePerformance));
  const auto& table = capabilities.operandPerformance;
  for (size_t i = 0; i < table.size(); ++i) {
    HALYARD_RETURN_IF_ERROR(checkFigure(operandTypeName(table[i].type), table[i].info));
    if (i > 0 && table[i - 1].type >= table[i].type) {
      return opFailed("the table of operand types does not ascend: {} behind {}",
                      operandTypeName(table[i].type), operandTypeName(table[i - 1].type));
    }
    if (table[i].type == OperandType::MODEL) return opFailed("the table has SUBGRAPH");
    const OperandType last = method < HalVersion::V1_3 ? OperandType::TENSOR_QUANT8_SYMM
                                                       : OperandType::TENSOR_QUANT8_ASYMM_SIGNED;
    if (table[i].type > last && table[i].type < OperandType::OEM_SCALAR) {
      return opFailed("the table has {}, which HAL {} does not", operandTypeName(table[i].type),
                      halVersionName(method));
    }
  }
  return okStatus();
}

bool isSameFigure(const hal::PerformanceInfo& a, const hal::PerformanceInfo& b) {
  return a.execTime == b.execTime && a.powerUsage == b.powerUsage;
}

// The figures of HAL 1.0 and 1.1 agree with the table of HAL 1.2.
CheckResult oldFiguresAgree(HalClient& client) {
  HALYARD_ASSIGN_OR_RETURN(const DeviceFacts newer, client.facts(HalVersion::V1_2));
  HALYARD_RETURN_IF_ERROR(answered(newer));
  const std::pair<const char*, hal::PerformanceInfo> expected[] = {
      {"float32", newer.capabilities.lookup(OperandType::TENSOR_FLOAT32)},
      {"quantized8", newer.capabilities.lookup(OperandType::TENSOR_QUANT8_ASYMM)},
      {"relaxed", newer.capabilities.relaxedFloat32toFloat16PerformanceTensor}};
  for (const HalVersion old : {HalVersion::V1_0, HalVersion::V1_1}) {
    HALYARD_ASSIGN_OR_RETURN(const DeviceFacts facts, client.facts(old));
    HALYARD_RETURN_IF_ERROR(answered(facts));
    for (size_t i = 0; i < facts.oldFigures.size(); ++i) {
      if (isSameFigure(facts.oldFigures[i], expected[i].second)) continue;
      return opFailed("HAL {}: {} is {}/{}, in HAL 1.2 {}/{}", halVersionName(old),
                      expected[i].first, facts.oldFigures[i].execTime,
                      facts.oldFigures[i].powerUsage, expected[i].second.execTime,
                      expected[i].second.powerUsage);
    }
  }
  return okStatus();
}

CheckResult methodsOfItsVersion(HalClient& client) {
  HALYARD_ASSIGN_OR_RETURN(const HalVersion served, client.driversVersion());
  if (served < client.version()) {
    return opFailed("the driver serves HAL {}, its manifest says {}", halVersionName(served),
                    halVersionName(client.version()));
  }
  HALYARD_ASSIGN_OR_RETURN(const std::vector<MethodAnswer> methods, client.methods());
  for (const MethodAnswer& method : methods) {
    if (served < method.since && method.status) {
      return opFailed("{} answers, though the driver serves HAL {}", method.name,
                      halVersionName(served));
    }
    if (served < method.since) continue;
    if (!method.status) return opFailed("{} is not there", method.name);
    HALYARD_RETURN_IF_ERROR(expectCode(method.name, *method.status, {method.expected}));
  }
  return okStatus();
}

Status checkStatus(HalClient& client, HalVersion method) {
  HALYARD_ASSIGN_OR_RETURN(const DeviceFacts facts, client.facts(method));
  if (facts.status == hal::DeviceStatus::AVAILABLE) return okStatus();
  return opFailed("getStatus answers {}, expected AVAILABLE (0)", static_cast<int>(facts.status));
}

Status checkType(HalClient& client, HalVersion method) {
  HALYARD_ASSIGN_OR_RETURN(const DeviceFacts facts, client.facts(method));
  HALYARD_RETURN_IF_ERROR(answered(facts));
  if (facts.type >= 1 && facts.type <= 4) return okStatus();
  return opFailed("getType answers {}, expected 1 to 4", facts.type);
}

Status checkVersionString(HalClient& client, HalVersion method) {
  HALYARD_ASSIGN_OR_RETURN(const DeviceFacts facts, client.facts(method));
  HALYARD_RETURN_IF_ERROR(answered(facts));
  return facts.versionString.empty() ? opFailed("the version string is empty") : okStatus();
}

bool isExtensionName(const std::string& name) {
  return name.find('.') != std::string::npos &&
         name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_.") == std::string::npos;
}

Status checkExtensions(HalClient& client, HalVersion method) {
  HALYARD_ASSIGN_OR_RETURN(const DeviceFacts facts, client.facts(method));
  HALYARD_RETURN_IF_ERROR(answered(facts));
  std::set<std::string> names;
  for (const hal::Extension& extension : facts.extensions) {
    if (!isExtensionName(extension.name)) {
      return opFailed("extension '{}' is not named like vendor.feature", extension.name);
    }
    if (!names.insert(extension.name).second) {
      return opFailed("extension '{}' comes twice", extension.name);
    }
    std::set<uint16_t> types;
    for (const hal::ExtensionOperandType& type : extension.operandTypes) {
      if (!types.insert(type.type).second) {
        return opFailed("extension '{}' has operand type {} twice", extension.name, type.type);
      }
      if (type.byteSize == 0) {
        return opFailed("extension '{}': operand type {} has no bytes", extension.name, type.type);
      }
    }
  }
  return okStatus();
}

Status checkCacheFiles(HalClient& client, HalVersion method) {
  HALYARD_ASSIGN_OR_RETURN(const DeviceFacts facts, client.facts(method));
  HALYARD_RETURN_IF_ERROR(answered(facts));
  if (facts.modelCacheFiles <= kMaxCacheFiles && facts.dataCacheFiles <= kMaxCacheFiles) {
    return okStatus();
  }
  return opFailed("{} model and {} data cache files, at most {} of each are allowed",
                  facts.modelCacheFiles, facts.dataCacheFiles, kMaxCacheFiles);
}

Status checkFeatureLevel(HalClient& client) {
  HALYARD_ASSIGN_OR_RETURN(const DeviceFacts facts, client.facts(HalVersion::V1_3));
  HALYARD_RETURN_IF_ERROR(answered(facts));
  if (facts.featureLevel >= 4 && facts.featureLevel <= 8) return okStatus();
  return opFailed("getFeatureLevel answers {}, expected 4 to 8", facts.featureLevel);
}

// All facts as one text.
std::string textOf(const DeviceFacts& facts) {
  std::string text =
      fmt::format("version '{}', type {}, {} and {} cache files, level {}; ", facts.versionString,
                  facts.type, facts.modelCacheFiles, facts.dataCacheFiles, facts.featureLevel);
  const auto add = [&](const hal::PerformanceInfo& info) {
    text += fmt::format("{}/{} ", info.execTime, info.powerUsage);
  };
  for (const hal::PerformanceInfo& figure : facts.oldFigures) add(figure);
  add(facts.capabilities.relaxedFloat32toFloat16PerformanceScalar);
  add(facts.capabilities.relaxedFloat32toFloat16PerformanceTensor);
  add(facts.capabilities.ifPerformance);
  add(facts.capabilities.whilePerformance);
  for (const hal::OperandPerformance& one : facts.capabilities.operandPerformance) {
    text += operandTypeName(one.type) + " ";
    add(one.info);
  }
  for (const hal::Extension& extension : facts.extensions) text += extension.name + " ";
  return text;
}

// HAL 1.0 and 1.1 do not report all figures. Fixed figures stand in, so that texts can be compared.
Result<std::string> allFacts(HalClient& client) {
  std::string text;
  for (const HalVersion version : servedVersions(client.version())) {
    HALYARD_ASSIGN_OR_RETURN(DeviceFacts facts, client.facts(version));
    if (version < HalVersion::V1_2) facts.capabilities = hal::Capabilities::uniform({1, 1});
    text += fmt::format("HAL {}: {}\n", halVersionName(version), textOf(facts));
  }
  return text;
}

Status sameAgain(HalClient& client) {
  HALYARD_ASSIGN_OR_RETURN(const std::string first, allFacts(client));
  for (int i = 0; i < 3; ++i) {
    HALYARD_ASSIGN_OR_RETURN(const std::string again, allFacts(client));
    if (again != first) return opFailed("it said\n{}and then\n{}", first, again);
  }
  return okStatus();
}

Status sameAfterRestart(Target& target) {
  HALYARD_ASSIGN_OR_RETURN(std::shared_ptr<HalClient> client, HalClient::open(target));
  HALYARD_ASSIGN_OR_RETURN(const std::string first, allFacts(*client));
  client.reset();
  HALYARD_ASSIGN_OR_RETURN(client, HalClient::open(target));
  HALYARD_ASSIGN_OR_RETURN(const std::string again, allFacts(*client));
  if (again != first) return opFailed("it said\n{}and after a restart\n{}", first, again);
  return okStatus();
}

Status checkName(const TargetSpec& target) {
  const std::string& name = target.name;
  if (std::count(name.begin(), name.end(), '-') == 1 && name.front() != '-' && name.back() != '-') {
    return okStatus();
  }
  return badData("the name '{}' is not of the form vendor-name, with one '-'", name);
}

}  // namespace

void listInfoChecks(HalChecks& checks) {
  const HalVersion v10 = HalVersion::V1_0;
  checks.addAlone(v10, "info/name", "the device's name has the form vendor-name", {"ND-001"},
                  [](Target& target) -> CheckResult { return checkName(target.spec()); });
  checks.addForVersions(v10, "info/status", "the device is available", {}, checkStatus);
  checks.add(v10, "info/methods",
             "the methods of the driver's version are there, and no newer ones", {},
             methodsOfItsVersion);
  checks.add(HalVersion::V1_2, "info/old_figures",
             "the figures of HAL 1.0 and 1.1 are those of the table of HAL 1.2", {},
             oldFiguresAgree);
  checks.addForVersions(v10, "info/capabilities",
                        "all figures are above 0, in a table that ascends", {"ND-007"},
                        checkCapabilities);
  checks.addForVersions(HalVersion::V1_2, "info/version_string", "the version string is not empty",
                        {"ND-004"}, checkVersionString);
  checks.addForVersions(HalVersion::V1_2, "info/type", "the type is one of the HAL's", {"ND-006"},
                        checkType);
  checks.addForVersions(HalVersion::V1_2, "info/extensions",
                        "extensions are named like vendor.feature, each once", {"ND-008"},
                        checkExtensions);
  checks.addForVersions(HalVersion::V1_2, "info/cache_files", "at most 32 cache files of each kind",
                        {"ND-009"}, checkCacheFiles);
  checks.add(HalVersion::V1_3, "info/feature_level", "the feature level is 4 to 8", {},
             [](HalClient& client) -> CheckResult { return checkFeatureLevel(client); });
  checks.add(v10, "info/says_the_same_again", "what it says of itself does not change", {"ND-010"},
             [](HalClient& client) -> CheckResult { return sameAgain(client); });
  checks.addAlone(v10, "info/says_the_same_after_a_restart",
                  "what it says of itself is the same after a restart", {"ND-010"},
                  [](Target& target) -> CheckResult { return sameAfterRestart(target); });
}

}  // namespace halyard::validation
