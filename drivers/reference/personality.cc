// Personalities from JSON.
#include "personality.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <sstream>

#include "hal/core/capability_fields.h"
#include "hal/core/field_reader.h"
#include "halyard/driver/nnapi_types.h"

namespace halyard::drivers {
namespace {

using hal::FieldReader;
using hal::readCapabilities;
using hal::wrongValue;
using Json = nlohmann::json;

constexpr double kMaxMilliseconds = 3'600'000;
constexpr double kMaxWrong = 1000;
constexpr std::streamoff kMaxFileBytes = 1 << 20;
constexpr uint64_t kAlways = UINT64_MAX;

template <typename T>
using Names = std::pair<std::string_view, T>;

constexpr Names<FaultPoint> kPoints[] = {
    {"start", FaultPoint::START},
    {"get_supported_operations", FaultPoint::GET_SUPPORTED_OPERATIONS},
    {"prepare", FaultPoint::PREPARE},
    {"execute", FaultPoint::EXECUTE},
    {"release", FaultPoint::RELEASE},
    {"prepare_from_cache", FaultPoint::PREPARE_FROM_CACHE},
    {"save", FaultPoint::SAVE}};
constexpr Names<CompileMode> kModes[] = {{"eager", CompileMode::EAGER},
                                         {"just_in_time", CompileMode::JUST_IN_TIME},
                                         {"multi_stage", CompileMode::MULTI_STAGE}};
constexpr Names<FaultMoment> kMoments[] = {{"before", FaultMoment::BEFORE},
                                           {"after_work", FaultMoment::WORK},
                                           {"after_answer", FaultMoment::ANSWER}};
constexpr Names<FaultAction> kActions[] = {{"fail", FaultAction::FAIL},
                                           {"throw", FaultAction::THROW},
                                           {"crash", FaultAction::CRASH},
                                           {"abort", FaultAction::ABORT},
                                           {"kill", FaultAction::KILL},
                                           {"exit", FaultAction::EXIT},
                                           {"stop", FaultAction::STOP},
                                           {"hang", FaultAction::HANG},
                                           {"wrong_result", FaultAction::WRONG_RESULT}};
// The codes that a driver may answer; OUTPUT_INSUFFICIENT_SIZE would need shapes.
constexpr Names<ResultCode> kCodes[] = {
    {"UNAVAILABLE_DEVICE", ResultCode::UNAVAILABLE_DEVICE},
    {"OP_FAILED", ResultCode::OP_FAILED},
    {"BAD_DATA", ResultCode::BAD_DATA},
    {"MISSED_DEADLINE_TRANSIENT", ResultCode::MISSED_DEADLINE_TRANSIENT},
    {"MISSED_DEADLINE_PERSISTENT", ResultCode::MISSED_DEADLINE_PERSISTENT},
    {"RESOURCE_EXHAUSTED_TRANSIENT", ResultCode::RESOURCE_EXHAUSTED_TRANSIENT},
    {"RESOURCE_EXHAUSTED_PERSISTENT", ResultCode::RESOURCE_EXHAUSTED_PERSISTENT}};
constexpr Names<hal::DeviceType> kTypes[] = {{"other", hal::DeviceType::OTHER},
                                             {"CPU", hal::DeviceType::CPU},
                                             {"GPU", hal::DeviceType::GPU},
                                             {"accelerator", hal::DeviceType::ACCELERATOR}};
constexpr Names<hal::ImportKind> kImports[] = {{"host_pages", hal::ImportKind::HOST_PAGES},
                                               {"dma_buf", hal::ImportKind::DMA_BUF}};
constexpr Names<hal::DeviceStatus> kStatuses[] = {{"available", hal::DeviceStatus::AVAILABLE},
                                                  {"busy", hal::DeviceStatus::BUSY},
                                                  {"offline", hal::DeviceStatus::OFFLINE},
                                                  {"unknown", hal::DeviceStatus::UNKNOWN}};
constexpr Names<HalVersion> kVersions[] = {{"1.0", HalVersion::V1_0},
                                           {"1.1", HalVersion::V1_1},
                                           {"1.2", HalVersion::V1_2},
                                           {"1.3", HalVersion::V1_3}};

// Parses, with an error for a field that an object has twice: the second would replace the first.
Result<Json> parseStrictly(std::string_view text) {
  std::vector<std::set<std::string>> open;
  std::string twice;
  const auto look = [&](int, Json::parse_event_t event, Json& parsed) {
    if (event == Json::parse_event_t::object_start) open.emplace_back();
    if (event == Json::parse_event_t::object_end) open.pop_back();
    if (event == Json::parse_event_t::key &&
        !open.back().insert(parsed.get<std::string>()).second) {
      twice = parsed.get<std::string>();
    }
    return true;
  };
  // The library reports the place of an error only in an exception.
  try {
    Json json = Json::parse(text, look, true, /*ignore_comments=*/true);
    if (!twice.empty()) return badData("field '{}' is there twice", twice);
    return json;
  } catch (const Json::parse_error& error) {
    return badData("is not JSON: {}", error.what());
  }
}

std::optional<OperationType> operationNamed(const std::string& name, const std::string& where,
                                            Status* status) {
  const auto type = operationTypeFromName(name);
  if (!type && status->ok()) *status = badData("{}: there is no operation '{}'", where, name);
  return type;
}

std::optional<OperandType> typeNamed(const std::string& name, const std::string& where,
                                     Status* status) {
  const auto type = operandTypeFromName(name);
  if (!type && status->ok()) *status = badData("{}: there is no operand type '{}'", where, name);
  return type;
}

// A list of names as a set. `parse` as operationNamed.
template <typename T, typename Parse>
void readSet(FieldReader& from, const char* field, Parse parse, Status* status, std::set<T>* to) {
  from.list(field, [&](const Json& value, const std::string& where) {
    if (!value.is_string()) return (void)(*status = wrongValue(where, value, "a name"));
    if (const auto type = parse(value.get<std::string>(), where, status)) to->insert(*type);
  });
}

template <typename T, typename Parse>
void readSet(FieldReader& from, const char* field, Parse parse, Status* status,
             std::optional<std::set<T>>* to) {
  std::set<T> values;
  const bool given = from.has(field);
  readSet(from, field, parse, status, &values);
  if (given) *to = std::move(values);
}

void readSupport(FieldReader& from, Status* status, SupportRule* to) {
  readSet(from, "operations", operationNamed, status, &to->operations);
  readSet(from, "not_operations", operationNamed, status, &to->notOperations);
  readSet(from, "operand_types", typeNamed, status, &to->operandTypes);
  readSet(from, "not_operand_types", typeNamed, status, &to->notOperandTypes);
  readSet(from, "deciding_types", typeNamed, status, &to->decidingTypes);
  from.members("deciding_input",
               [&](const std::string& name, const Json& value, const std::string& where) {
                 const auto operation = operationNamed(name, where, status);
                 if (!operation) return;
                 if (!value.is_number_unsigned() || value.get<uint64_t>() > UINT16_MAX) {
                   *status = wrongValue(where, value, "the number of an input");
                   return;
                 }
                 to->decidingInput[*operation] = value.get<uint32_t>();
               });
}

void readDelay(FieldReader& from, const char* field, Milliseconds* to) {
  double value = to->count();
  from.number(field, 0, kMaxMilliseconds, &value);
  *to = Milliseconds(value);
}

void readDelays(FieldReader& from, Status* status, Delays* to) {
  readDelay(from, "start_ms", &to->start);
  readDelay(from, "get_supported_operations_ms", &to->getSupportedOperations);
  readDelay(from, "prepare_ms", &to->prepare);
  readDelay(from, "execute_ms", &to->execute);
  readDelay(from, "compile_ms", &to->compile);
  readDelay(from, "optimise_ms", &to->optimise);
  readDelay(from, "quick_execute_ms", &to->quickExecute);
  readDelay(from, "load_ms", &to->load);
  readDelay(from, "save_ms", &to->save);
  from.members("operations_ms", [&](const std::string& name, const Json& value,
                                    const std::string& where) {
    const auto operation = operationNamed(name, where, status);
    if (!operation) return;
    const double found = value.is_number() ? value.get<double>() : -1;
    if (!(found >= 0 && found <= kMaxMilliseconds)) {
      *status = wrongValue(where, value, fmt::format("a number from 0 to {}", kMaxMilliseconds));
      return;
    }
    to->operations[*operation] = Milliseconds(found);
  });
}

// Refuses combinations without a meaning.
void checkFault(FieldReader& from, const Fault& fault) {
  const bool answers = fault.action == FaultAction::FAIL || fault.action == FaultAction::THROW;
  if (answers && fault.at == FaultPoint::RELEASE) {
    from.fail("do", "a release has no answer, so it cannot fail");
  }
  if (fault.when == FaultMoment::ANSWER) {
    if (answers || fault.action == FaultAction::HANG) {
      from.fail("do", "comes too late after the answer");
    }
    if (fault.at == FaultPoint::START || fault.at == FaultPoint::RELEASE) {
      from.fail("when", "there is no answer to come after");
    }
  } else if (from.has("delay_ms")) {
    from.fail("delay_ms", "goes with \"when\": \"after_answer\" only");
  }
  if (fault.at == FaultPoint::START && fault.operation) {
    from.fail("operation", "there is no model at the start");
  }
  if (fault.action == FaultAction::WRONG_RESULT &&
      (fault.at != FaultPoint::EXECUTE || fault.when != FaultMoment::WORK)) {
    from.fail("do", "a wrong result needs \"at\": \"execute\" and no \"when\"");
  }
  if (fault.action != FaultAction::FAIL && from.has("status")) {
    from.fail("status", "goes with \"do\": \"fail\" only");
  }
  if (!answers && from.has("text")) from.fail("text", "goes with fail and throw only");
  if (fault.action != FaultAction::EXIT && from.has("exit_status")) {
    from.fail("exit_status", "goes with \"do\": \"exit\" only");
  }
}

Fault readFault(const Json& value, const std::string& where, Status* status) {
  Fault fault;
  FieldReader from(value, where, status);
  for (const char* field : {"at", "do"}) {
    if (!from.has(field)) from.fail(field, "is missing");
  }
  from.choice<FaultPoint>("at", kPoints, &fault.at);
  from.choice<FaultAction>("do", kActions, &fault.action);
  if (fault.action == FaultAction::WRONG_RESULT) fault.when = FaultMoment::WORK;
  from.choice<FaultMoment>("when", kMoments, &fault.when);
  std::string operation;
  from.text("operation", &operation);
  if (!operation.empty()) fault.operation = operationNamed(operation, where + ".operation", status);
  from.whole("nth", 1, kAlways, &fault.nth);
  fault.times = from.has("nth") ? 1 : kAlways;
  from.whole("times", 1, kAlways, &fault.times);
  from.choice<ResultCode>("status", kCodes, &fault.status);
  fault.text = "the personality says so";
  from.text("text", &fault.text);
  uint64_t exitStatus = static_cast<uint64_t>(fault.exitStatus);
  from.whole("exit_status", 0, 255, &exitStatus);
  fault.exitStatus = static_cast<int>(exitStatus);
  readDelay(from, "delay_ms", &fault.delay);
  checkFault(from, fault);
  from.finish();
  return fault;
}

hal::Extension readExtension(const Json& value, const std::string& where, Status* status) {
  hal::Extension extension;
  FieldReader from(value, where, status);
  if (!from.has("name")) from.fail("name", "is missing");
  from.text("name", &extension.name);
  from.list("operand_types", [&](const Json& each, const std::string& place) {
    FieldReader type(each, place, status);
    uint64_t code = 0;
    bool isTensor = true;
    uint64_t bytes = 0;
    for (const char* field : {"type", "byte_size"}) {
      if (!type.has(field)) type.fail(field, "is missing");
    }
    type.whole("type", 0, UINT16_MAX, &code);
    type.flag("is_tensor", &isTensor);
    type.whole("byte_size", 1, UINT32_MAX, &bytes);
    type.finish();
    extension.operandTypes.push_back(
        {static_cast<uint16_t>(code), isTensor, static_cast<uint32_t>(bytes)});
  });
  from.finish();
  return extension;
}

void readInfo(FieldReader& from, Status* status, Personality* to) {
  hal::DeviceInfo& info = to->info;
  from.text("name", &info.name);
  from.text("version", &info.versionString);
  from.choice<hal::DeviceType>("type", kTypes, &info.type);
  from.choice<HalVersion>("hal_version", kVersions, &info.halVersion);
  uint64_t level = static_cast<uint64_t>(info.featureLevel);
  if (info.halVersion < HalVersion::V1_3) {
    if (from.has("feature_level")) {
      from.fail("feature_level", "goes with HAL 1.3 only; an older version decides by itself");
    }
    level = static_cast<uint64_t>(featureLevelOf(info.halVersion));
  }
  from.whole("feature_level", 4, 8, &level);
  info.featureLevel = static_cast<FeatureLevel>(level);
  from.choice<hal::DeviceStatus>("status", kStatuses, &to->status);
  from.list("extensions", [&](const Json& value, const std::string& where) {
    info.extensions.push_back(readExtension(value, where, status));
  });
  uint64_t threads = to->threads;
  from.whole("threads", 0, 1024, &threads);
  to->threads = static_cast<unsigned>(threads);
  from.flag("reports_timing", &to->reportsTiming);
  from.flag("bursts", &info.bursts);
}

void readOwnMemory(FieldReader& from, Status* status, hal::DeviceInfo* to) {
  to->ownMemory = true;
  from.list("imports", [&](const Json& value, const std::string& where) {
    const std::string name = value.is_string() ? value.get<std::string>() : "";
    const auto* const known = std::ranges::find(kImports, name, &Names<hal::ImportKind>::first);
    if (known == std::end(kImports)) {
      *status = wrongValue(where, value, "one of host_pages, dma_buf");
      return;
    }
    to->imports |= importBit(known->second);
  });
}

void readCache(FieldReader& from, Personality* to) {
  hal::DeviceInfo& info = to->info;
  uint64_t modelFiles = 1;
  uint64_t dataFiles = 1;
  from.whole("model_files", 0, 32, &modelFiles);
  from.whole("data_files", 0, 32, &dataFiles);
  info.modelCacheFiles = static_cast<uint32_t>(modelFiles);
  info.dataCacheFiles = static_cast<uint32_t>(dataFiles);
  from.choice<CompileMode>("mode", kModes, &to->cache.mode);
  from.flag("declines", &to->cache.declines);
  from.flag("saves_garbage", &to->cache.savesGarbage);
  from.text("folder", &to->cache.folder);
  if (info.halVersion < HalVersion::V1_2 && modelFiles + dataFiles > 0) {
    from.fail("model_files", "caches came with HAL 1.2");
  }
}

}  // namespace

Result<Personality> parsePersonality(std::string_view text) {
  HALYARD_ASSIGN_OR_RETURN(const Json json, parseStrictly(text));
  Personality personality = defaultPersonality();
  Status status;
  FieldReader from(json, "", &status);
  readInfo(from, &status, &personality);
  from.object("capabilities", [&](FieldReader& inner) {
    readCapabilities(inner, &status, &personality.info.capabilities);
  });
  from.object("supports",
              [&](FieldReader& inner) { readSupport(inner, &status, &personality.support); });
  from.object("delays",
              [&](FieldReader& inner) { readDelays(inner, &status, &personality.delays); });
  from.object("own_memory",
              [&](FieldReader& inner) { readOwnMemory(inner, &status, &personality.info); });
  from.object("cache", [&](FieldReader& inner) { readCache(inner, &personality); });
  from.members(
      "wrong_values", [&](const std::string& name, const Json& value, const std::string& where) {
        const auto operation = operationNamed(name, where, &status);
        if (!operation) return;
        const double found = value.is_number() ? value.get<double>() : 0;
        if (!(std::abs(found) > 0 && std::abs(found) <= kMaxWrong)) {
          status = wrongValue(where, value, fmt::format("a number up to {}, and not 0", kMaxWrong));
          return;
        }
        personality.wrongValues[*operation] = found;
      });
  from.list("faults", [&](const Json& value, const std::string& where) {
    personality.faults.push_back(readFault(value, where, &status));
  });
  from.finish();
  if (!status.ok()) return status;
  return personality;
}

Result<Personality> loadPersonality(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  if (!file || !(text << file.rdbuf())) return badData("personality {} cannot be read", path);
  if (text.tellp() > kMaxFileBytes) {
    return badData("personality {} has more than {} bytes", path, kMaxFileBytes);
  }
  HALYARD_ASSIGN_OR_RETURN(Personality personality, parsePersonality(text.str()), "personality {}",
                           path);
  return personality;
}

}  // namespace halyard::drivers
