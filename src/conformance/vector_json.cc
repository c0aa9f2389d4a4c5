// Reads one case from its JSON. The text may be hostile, so the code checks every value before its
// use.
#include <algorithm>
#include <cfloat>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>

#include "conformance/base64.h"
#include "conformance/vectors.h"

namespace halyard::conformance {
namespace {

using Json = nlohmann::json;

constexpr std::pair<std::string_view, Lifetime> kLifetimes[] = {
    {"TEMPORARY_VARIABLE", Lifetime::TEMPORARY_VARIABLE},
    {"SUBGRAPH_INPUT", Lifetime::SUBGRAPH_INPUT},
    {"SUBGRAPH_OUTPUT", Lifetime::SUBGRAPH_OUTPUT},
    {"CONSTANT_COPY", Lifetime::CONSTANT_COPY},
    {"CONSTANT_REFERENCE", Lifetime::CONSTANT_REFERENCE},
    {"NO_VALUE", Lifetime::NO_VALUE},
    {"SUBGRAPH", Lifetime::SUBGRAPH},
};

// Returns a value as in the text, short enough for a message.
std::string excerpt(const Json& value) {
  constexpr size_t kLongest = 60;
  // Strings need not be UTF-8 here, so dump() must not fail on other bytes.
  std::string text = value.dump(-1, ' ', true, Json::error_handler_t::replace);
  if (text.size() > kLongest) text = text.substr(0, kLongest) + "...";
  return text;
}

// Returns the member, or nullptr when it is absent.
const Json* find(const Json& object, const char* name) {
  const auto it = object.find(name);
  return it == object.end() ? nullptr : &*it;
}

Result<const Json*> require(const Json& object, const char* name, Json::value_t type) {
  const Json* value = find(object, name);
  if (value == nullptr) return badData("'{}' is missing", name);
  if (value->type() != type) {
    return badData("'{}' is {}, expected {}", name, excerpt(*value), Json(type).type_name());
  }
  return value;
}

Status readBool(const Json& object, const char* name, bool* out) {
  const Json* value = find(object, name);
  if (value == nullptr) return okStatus();
  if (!value->is_boolean()) return badData("'{}' is {}, expected a boolean", name, excerpt(*value));
  *out = value->get<bool>();
  return okStatus();
}

Status readString(const Json& object, const char* name, std::string* out) {
  HALYARD_ASSIGN_OR_RETURN(const Json* value, require(object, name, Json::value_t::string));
  *out = value->get_ref<const std::string&>();
  return okStatus();
}

Result<float> toFloat(const Json& value) {
  if (!value.is_number()) return badData("is {}, expected a number", excerpt(value));
  const auto number = value.get<double>();
  if (!(std::fabs(number) <= FLT_MAX)) {
    return badData("is {}, beyond the range of float32", excerpt(value));
  }
  return static_cast<float>(number);
}

Result<uint32_t> toUint32(const Json& value) {
  // The parser stores every integer that is not negative as unsigned.
  if (!value.is_number_unsigned() || value.get<uint64_t>() > UINT32_MAX) {
    return badData("is {}, expected an integer from 0 to {}", excerpt(value), UINT32_MAX);
  }
  return static_cast<uint32_t>(value.get<uint64_t>());
}

Result<std::vector<uint32_t>> readUint32s(const Json& object, const char* name) {
  HALYARD_ASSIGN_OR_RETURN(const Json* list, require(object, name, Json::value_t::array));
  std::vector<uint32_t> numbers;
  numbers.reserve(list->size());
  for (const Json& value : *list) {
    HALYARD_ASSIGN_OR_RETURN(numbers.emplace_back(), toUint32(value), "'{}'[{}]", name,
                             numbers.size());
  }
  return numbers;
}

Result<std::vector<uint8_t>> readData(const Json& object) {
  HALYARD_ASSIGN_OR_RETURN(const Json* text, require(object, "data", Json::value_t::string));
  auto bytes = decodeBase64(text->get_ref<const std::string&>());
  if (!bytes) return badData("'data' is not base64");
  return *std::move(bytes);
}

Status readQuantization(const Json& json, Operand* operand) {
  if (const Json* scale = find(json, "scale")) {
    HALYARD_ASSIGN_OR_RETURN(operand->scale, toFloat(*scale), "'scale'");
  }
  if (const Json* zeroPoint = find(json, "zero_point")) {
    const bool fits = zeroPoint->is_number_integer() &&
                      (!zeroPoint->is_number_unsigned() ||
                       zeroPoint->get<uint64_t>() <= static_cast<uint64_t>(INT32_MAX)) &&
                      zeroPoint->get<int64_t>() >= INT32_MIN;
    if (!fits) return badData("'zero_point' is {}, expected an int32", excerpt(*zeroPoint));
    operand->zeroPoint = static_cast<int32_t>(zeroPoint->get<int64_t>());
  }
  const Json* channels = find(json, "channel_quant");
  if (channels == nullptr) return okStatus();
  if (!channels->is_object()) {
    return badData("'channel_quant' is {}, expected object", excerpt(*channels));
  }
  SymmPerChannelQuantParams params;
  const Json* dim = find(*channels, "dim");
  if (dim == nullptr) return badData("'channel_quant': 'dim' is missing");
  HALYARD_ASSIGN_OR_RETURN(params.channelDim, toUint32(*dim), "'channel_quant': 'dim'");
  HALYARD_ASSIGN_OR_RETURN(const Json* scales, require(*channels, "scales", Json::value_t::array),
                           "'channel_quant'");
  for (const Json& scale : *scales) {
    HALYARD_ASSIGN_OR_RETURN(const float value, toFloat(scale), "'channel_quant': 'scales'[{}]",
                             params.scales.size());
    params.scales.push_back(value);
  }
  operand->extraParams = std::move(params);
  return okStatus();
}

// An operand of the file: the model's operand, and its bytes and flags.
struct ParsedOperand {
  Operand operand;
  std::vector<uint8_t> bytes;
  bool ignored = false;
};

Result<ParsedOperand> parseOperand(const Json& json) {
  if (!json.is_object()) return badData("is {}, expected object", excerpt(json));
  ParsedOperand parsed;
  std::string type;
  HALYARD_RETURN_IF_ERROR(readString(json, "type", &type));
  // The API's MODEL has another name in the HAL.
  const auto known = operandTypeFromName(type == "SUBGRAPH" ? "MODEL" : type);
  if (!known) return badData("'type' is '{}', which is no operand type", type);
  parsed.operand.type = *known;
  HALYARD_ASSIGN_OR_RETURN(parsed.operand.dimensions, readUint32s(json, "dims"));
  std::string lifetime;
  HALYARD_RETURN_IF_ERROR(readString(json, "lifetime", &lifetime));
  const auto* found = std::find_if(std::begin(kLifetimes), std::end(kLifetimes),
                                   [&](const auto& entry) { return entry.first == lifetime; });
  if (found == std::end(kLifetimes)) {
    return badData("'lifetime' is '{}', which is no lifetime", lifetime);
  }
  parsed.operand.lifetime = found->second;
  HALYARD_RETURN_IF_ERROR(readQuantization(json, &parsed.operand));
  HALYARD_RETURN_IF_ERROR(readBool(json, "ignored", &parsed.ignored));
  if (parsed.operand.lifetime != Lifetime::TEMPORARY_VARIABLE &&
      parsed.operand.lifetime != Lifetime::NO_VALUE) {
    HALYARD_ASSIGN_OR_RETURN(parsed.bytes, readData(json));
  }
  return parsed;
}

Result<Operation> parseOperation(const Json& json) {
  if (!json.is_object()) return badData("is {}, expected object", excerpt(json));
  Operation operation;
  std::string type;
  HALYARD_RETURN_IF_ERROR(readString(json, "type", &type));
  const auto known = operationTypeFromName(type);
  if (!known) return badData("'type' is '{}', which is no operation", type);
  operation.type = *known;
  HALYARD_ASSIGN_OR_RETURN(operation.inputs, readUint32s(json, "inputs"));
  HALYARD_ASSIGN_OR_RETURN(operation.outputs, readUint32s(json, "outputs"));
  return operation;
}

// Collects a model's tables, and the bytes of the constants in a pool.
struct ModelParts {
  Model model;
  std::vector<uint8_t> pool;
};

// Stores the operand's constant according to its lifetime.
Status placeConstant(const std::vector<uint8_t>& bytes, Operand* operand, ModelParts* parts) {
  constexpr size_t kAlignment = 4;
  if (operand->lifetime == Lifetime::CONSTANT_COPY) {
    if (parts->model.operandValues.size() + bytes.size() > UINT32_MAX - kAlignment) {
      return badData("the constants have more than 2^32 bytes");
    }
    operand->location = appendConstant(parts->model, bytes.data(), bytes.size());
  } else if (operand->lifetime == Lifetime::CONSTANT_REFERENCE) {
    const size_t offset = (parts->pool.size() + kAlignment - 1) / kAlignment * kAlignment;
    if (offset + bytes.size() > UINT32_MAX) {
      return badData("the constants in the pool have more than 2^32 bytes");
    }
    operand->location = {0, static_cast<uint32_t>(offset), static_cast<uint32_t>(bytes.size())};
    parts->pool.resize(offset);
    parts->pool.insert(parts->pool.end(), bytes.begin(), bytes.end());
  } else if (operand->lifetime == Lifetime::SUBGRAPH) {
    if (bytes.size() != sizeof(uint32_t)) {
      return badData("'data' of a SUBGRAPH has {} bytes, expected 4", bytes.size());
    }
    std::memcpy(&operand->location.offset, bytes.data(), sizeof(uint32_t));
  }
  return okStatus();
}

// `operands`: receives the operands' data that the model does not have, or null.
Result<Subgraph> parseSubgraph(const Json& json, ModelParts* parts,
                               std::vector<ParsedOperand>* operands) {
  if (!json.is_object()) return badData("is {}, expected object", excerpt(json));
  Subgraph subgraph;
  HALYARD_ASSIGN_OR_RETURN(const Json* list, require(json, "operands", Json::value_t::array));
  for (const Json& entry : *list) {
    const size_t index = subgraph.operands.size();
    HALYARD_ASSIGN_OR_RETURN(ParsedOperand parsed, parseOperand(entry), "operand #{}", index);
    HALYARD_RETURN_IF_ERROR(placeConstant(parsed.bytes, &parsed.operand, parts), "operand #{}",
                            index);
    subgraph.operands.push_back(parsed.operand);
    if (operands) operands->push_back(std::move(parsed));
  }
  HALYARD_ASSIGN_OR_RETURN(list, require(json, "operations", Json::value_t::array));
  for (const Json& entry : *list) {
    HALYARD_ASSIGN_OR_RETURN(Operation operation, parseOperation(entry), "operation #{}",
                             subgraph.operations.size());
    subgraph.operations.push_back(std::move(operation));
  }
  HALYARD_ASSIGN_OR_RETURN(subgraph.inputIndexes, readUint32s(json, "inputs"));
  HALYARD_ASSIGN_OR_RETURN(subgraph.outputIndexes, readUint32s(json, "outputs"));
  return subgraph;
}

// The operand's real dimensions determine its number of bytes.
Status checkByteCount(const ParsedOperand& parsed) {
  // The factors have 32 bits, so the loop stops before the product can wrap.
  uint64_t expected = elementSize(parsed.operand.type);
  for (uint32_t d : parsed.operand.dimensions) {
    expected *= d;
    if (expected > UINT32_MAX) return badData("has more than 2^32 - 1 bytes");
  }
  if (parsed.bytes.size() != expected) {
    return badData("'data' has {} bytes, expected {} for {}", parsed.bytes.size(), expected,
                   operandText(parsed.operand));
  }
  return okStatus();
}

Status bindMainOperands(std::vector<ParsedOperand> operands, VectorCase* out) {
  const Subgraph& main = out->model.main;
  for (uint32_t index : main.inputIndexes) {
    if (index >= operands.size()) return badData("main input is operand #{}, which is not", index);
    const ParsedOperand& parsed = operands[index];
    const bool omitted = parsed.bytes.empty() && !parsed.operand.dimensions.empty();
    if (!omitted && !out->expectFailure) {
      HALYARD_RETURN_IF_ERROR(checkByteCount(parsed), "main: operand #{}", index);
    }
    out->inputs.push_back({parsed.bytes, omitted});
  }
  for (uint32_t index : main.outputIndexes) {
    if (index >= operands.size()) return badData("main output is operand #{}, which is not", index);
    const ParsedOperand& parsed = operands[index];
    if (!out->expectFailure) {
      HALYARD_RETURN_IF_ERROR(checkByteCount(parsed), "main: operand #{}", index);
    }
    out->outputs.push_back({parsed.bytes, parsed.operand.dimensions, parsed.ignored});
  }
  return okStatus();
}

Status readHeader(const Json& json, VectorCase* out) {
  HALYARD_RETURN_IF_ERROR(readString(json, "name", &out->name));
  if (const Json* hal = find(json, "hal"); hal != nullptr && !hal->is_null()) {
    HALYARD_RETURN_IF_ERROR(readString(json, "hal", &out->hal));
    constexpr std::string_view kKnown[] = {"1.0", "1.1", "1.2", "1.3", "2.1", "2.2"};
    if (std::find(std::begin(kKnown), std::end(kKnown), out->hal) == std::end(kKnown)) {
      return badData("'hal' is '{}', which is no version", out->hal);
    }
  }
  HALYARD_RETURN_IF_ERROR(readBool(json, "relaxed", &out->relaxed));
  HALYARD_RETURN_IF_ERROR(readBool(json, "expect_failure", &out->expectFailure));
  if (const Json* tolerance = find(json, "multinomial_tolerance")) {
    HALYARD_ASSIGN_OR_RETURN(const float value, toFloat(*tolerance), "'multinomial_tolerance'");
    if (value < 0) return badData("'multinomial_tolerance' is {}, expected at least 0", value);
    out->multinomialTolerance = value;
  }
  return okStatus();
}

Status placePool(ModelParts* parts) {
  if (parts->pool.empty()) return okStatus();
  HALYARD_ASSIGN_OR_RETURN(SharedMemoryPtr memory,
                           SharedMemory::create(parts->pool.size(), "vector-constants"));
  HALYARD_ASSIGN_OR_RETURN(const Mapping mapping, memory->map());
  std::memcpy(mapping.data(), parts->pool.data(), parts->pool.size());
  parts->model.pools.push_back(std::move(memory));
  return okStatus();
}

// Adds the extensions of the model's operations to its list.
void nameExtension(Model* model) {
  const auto usesIt = [](const Subgraph& subgraph) {
    return std::any_of(subgraph.operations.begin(), subgraph.operations.end(),
                       [](const Operation& each) { return isTfliteOperation(each.type); });
  };
  if (usesIt(model->main) ||
      std::any_of(model->referenced.begin(), model->referenced.end(), usesIt)) {
    model->extensionNameToPrefix = {{std::string(kTfliteExtension), kTfliteExtensionPrefix}};
  }
}

Result<VectorCase> parseCase(const Json& json) {
  VectorCase out;
  HALYARD_RETURN_IF_ERROR(readHeader(json, &out));
  ModelParts parts;
  std::vector<ParsedOperand> operands;
  HALYARD_ASSIGN_OR_RETURN(const Json* main, require(json, "main", Json::value_t::object),
                           "case '{}'", out.name);
  HALYARD_ASSIGN_OR_RETURN(parts.model.main, parseSubgraph(*main, &parts, &operands),
                           "case '{}': main", out.name);
  if (find(json, "referenced") != nullptr) {
    HALYARD_ASSIGN_OR_RETURN(const Json* list, require(json, "referenced", Json::value_t::array),
                             "case '{}'", out.name);
    for (const Json& entry : *list) {
      HALYARD_ASSIGN_OR_RETURN(Subgraph subgraph, parseSubgraph(entry, &parts, nullptr),
                               "case '{}': referenced[{}]", out.name,
                               parts.model.referenced.size());
      parts.model.referenced.push_back(std::move(subgraph));
    }
  }
  HALYARD_RETURN_IF_ERROR(placePool(&parts), "case '{}'", out.name);
  parts.model.relaxComputationFloat32toFloat16 = out.relaxed;
  nameExtension(&parts.model);
  out.model = std::move(parts.model);
  HALYARD_RETURN_IF_ERROR(bindMainOperands(std::move(operands), &out), "case '{}'", out.name);
  return out;
}

}  // namespace

Result<VectorCase> parseVectorCase(std::string_view text) {
  const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded()) return badData("not JSON");
  if (!json.is_object()) return badData("is {}, expected object", excerpt(json));
  return parseCase(json);
}

}  // namespace halyard::conformance
