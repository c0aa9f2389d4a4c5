#include "serve/protocol/json_infer.h"

#include <nlohmann/json.hpp>

#include "serve/protocol/json_object.h"
#include "serve/protocol/json_values.h"
#include "serve/protocol/parameters.h"

namespace halyard::serve {
namespace {

using nlohmann::json;

constexpr size_t kMostTensors = 1024;
constexpr size_t kMaxRank = 16;

// The kind of a JSON value, for errors.
std::string kindOf(const json& value) { return value.type_name(); }

Result<std::string> textField(const json& object, const char* name) {
  const auto found = object.find(name);
  if (found == object.end()) return badData("there is no '{}'", name);
  if (!found->is_string()) return badData("'{}' is a {}, expected a string", name, kindOf(*found));
  return found->get<std::string>();
}

Result<Parameters> parametersOf(const json& object) {
  Parameters parameters;
  const auto found = object.find("parameters");
  if (found == object.end()) return parameters;
  if (!found->is_object()) {
    return badData("'parameters' is a {}, expected an object", kindOf(*found));
  }
  for (const auto& [name, value] : found->items()) {
    if (value.is_boolean()) {
      parameters[name] = value.get<bool>();
    } else if (value.is_number_unsigned() && value.get<uint64_t>() > uint64_t{INT64_MAX}) {
      return badData("the parameter '{}' is larger than {}", name, INT64_MAX);
    } else if (value.is_number_integer()) {
      parameters[name] = value.get<int64_t>();
    } else if (value.is_number_float()) {
      parameters[name] = value.get<double>();
    } else if (value.is_string()) {
      parameters[name] = value.get<std::string>();
    } else {
      return badData("the parameter '{}' is a {}, expected a string, number or boolean", name,
                     kindOf(value));
    }
  }
  return parameters;
}

Result<std::vector<int64_t>> shapeOf(const json& object) {
  const auto found = object.find("shape");
  if (found == object.end()) return badData("there is no 'shape'");
  if (!found->is_array()) return badData("'shape' is a {}, expected an array", kindOf(*found));
  if (found->size() > kMaxRank) {
    return badData("'shape' has {} dimensions, expected at most {}", found->size(), kMaxRank);
  }
  std::vector<int64_t> shape;
  for (const json& extent : *found) {
    if (!extent.is_number_unsigned() || extent.get<uint64_t>() > uint64_t{INT64_MAX}) {
      return badData("'shape' has an element that is no dimension");
    }
    shape.push_back(static_cast<int64_t>(extent.get<uint64_t>()));
  }
  return shape;
}

// The binary tensors behind the JSON, in order.
struct Tail {
  std::string_view left;

  Result<std::span<const uint8_t>> take(uint64_t size) {
    if (size > left.size()) {
      return badData("'binary_data_size' is {}, but only {} bytes follow the JSON", size,
                     left.size());
    }
    const std::string_view part = left.substr(0, size);
    left.remove_prefix(size);
    return std::span(reinterpret_cast<const uint8_t*>(part.data()), part.size());
  }
};

Status readValues(const json& object, Tail& tail, InputTensor& input) {
  HALYARD_ASSIGN_OR_RETURN(const Parameters parameters, parametersOf(object));
  HALYARD_ASSIGN_OR_RETURN(const auto region, regionPartOf(parameters));
  HALYARD_ASSIGN_OR_RETURN(const auto size, countParameter(parameters, "binary_data_size"));
  const auto data = object.find("data");
  const int sources = (region ? 1 : 0) + (size ? 1 : 0) + (data != object.end() ? 1 : 0);
  if (sources != 1) {
    return badData(
        "expected one of 'data', 'binary_data_size' and 'shared_memory_region', found {}", sources);
  }
  if (region) {
    input.region = *region;
    return okStatus();
  }
  if (size) {
    HALYARD_ASSIGN_OR_RETURN(input.bytes, tail.take(*size));
    return okStatus();
  }
  const std::optional<uint64_t> count = elementCount(input.shape);
  if (!count) return badData("the shape {} is too large", shapeText(input.shape));
  HALYARD_ASSIGN_OR_RETURN(input.own, bytesOfJson(*data, input.datatype, *count));
  input.bytes = input.own;
  return okStatus();
}

Status readInput(const json& object, size_t number, Tail& tail, InputTensor& input) {
  if (!object.is_object()) {
    return badData("input #{} is a {}, expected an object", number, kindOf(object));
  }
  HALYARD_ASSIGN_OR_RETURN(input.name, textField(object, "name"), "input #{}", number);
  const auto read = [&]() -> Status {
    HALYARD_ASSIGN_OR_RETURN(const std::string datatype, textField(object, "datatype"));
    const std::optional<Datatype> known = datatypeNamed(datatype);
    if (!known) return badData("the datatype '{}' is unknown", datatype);
    input.datatype = *known;
    HALYARD_ASSIGN_OR_RETURN(input.shape, shapeOf(object));
    return readValues(object, tail, input);
  };
  HALYARD_RETURN_IF_ERROR(read(), "input '{}'", input.name);
  return okStatus();
}

Status readOutput(const json& object, size_t number, WantedOutput& output) {
  if (!object.is_object()) {
    return badData("requested output #{} is a {}, expected an object", number, kindOf(object));
  }
  HALYARD_ASSIGN_OR_RETURN(output.name, textField(object, "name"), "requested output #{}", number);
  HALYARD_ASSIGN_OR_RETURN(const Parameters parameters, parametersOf(object), "output '{}'",
                           output.name);
  HALYARD_ASSIGN_OR_RETURN(output.region, regionPartOf(parameters), "output '{}'", output.name);
  HALYARD_RETURN_IF_ERROR(applyOutputParameters(parameters, output), "output '{}'", output.name);
  return okStatus();
}

// The elements of an array field with a limit on their number.
Result<const json*> arrayField(const json& object, const char* name) {
  const auto found = object.find(name);
  if (found == object.end()) return static_cast<const json*>(nullptr);
  if (!found->is_array()) return badData("'{}' is a {}, expected an array", name, kindOf(*found));
  if (found->size() > kMostTensors) {
    return badData("'{}' has {} elements, expected at most {}", name, found->size(), kMostTensors);
  }
  return &*found;
}

bool isBinary(const InferRequest& request, size_t output) {
  if (output >= request.outputs.size()) return request.binaryOutputs;
  return request.outputs[output].binary.value_or(request.binaryOutputs);
}

const RegionPart* regionOf(const InferRequest& request, size_t output) {
  if (output >= request.outputs.size() || !request.outputs[output].region) return nullptr;
  return &*request.outputs[output].region;
}

}  // namespace

Result<InferRequest> parseJsonInfer(std::string_view body, std::optional<size_t> jsonLength,
                                    Clock::time_point arrival) {
  if (jsonLength && *jsonLength > body.size()) {
    return badData("Inference-Header-Content-Length is {}, but the body has {} bytes", *jsonLength,
                   body.size());
  }
  const size_t end = jsonLength.value_or(body.size());
  Tail tail{body.substr(end)};
  HALYARD_ASSIGN_OR_RETURN(const json parsed, parseJsonObject(body.substr(0, end)));
  InferRequest request;
  if (const auto id = parsed.find("id"); id != parsed.end()) {
    if (!id->is_string()) return badData("'id' is a {}, expected a string", kindOf(*id));
    request.id = id->get<std::string>();
  }
  HALYARD_ASSIGN_OR_RETURN(const Parameters parameters, parametersOf(parsed));
  HALYARD_RETURN_IF_ERROR(applyRequestParameters(parameters, arrival, request));
  HALYARD_ASSIGN_OR_RETURN(const json* const inputs, arrayField(parsed, "inputs"));
  if (inputs == nullptr) return badData("there is no 'inputs'");
  request.inputs.resize(inputs->size());
  for (size_t i = 0; i < inputs->size(); ++i) {
    HALYARD_RETURN_IF_ERROR(readInput((*inputs)[i], i, tail, request.inputs[i]));
  }
  if (!tail.left.empty()) {
    return badData("{} bytes follow the JSON that belong to no input", tail.left.size());
  }
  HALYARD_ASSIGN_OR_RETURN(const json* const outputs, arrayField(parsed, "outputs"));
  if (outputs != nullptr) request.outputs.resize(outputs->size());
  for (size_t i = 0; i < request.outputs.size(); ++i) {
    HALYARD_RETURN_IF_ERROR(readOutput((*outputs)[i], i, request.outputs[i]));
  }
  return request;
}

Result<InferRequest> rawInfer(std::string_view body, std::span<const TensorInfo> inputs) {
  if (inputs.size() != 1) {
    return badData("a request without JSON needs a model with one input, this one has {}",
                   inputs.size());
  }
  const TensorInfo& info = inputs[0];
  InferRequest request;
  request.binaryOutputs = true;
  InputTensor& input = request.inputs.emplace_back();
  input.name = info.name;
  input.datatype = info.datatype;
  input.shape = info.shape;
  input.bytes = {reinterpret_cast<const uint8_t*>(body.data()), body.size()};
  // A batch of one; another variable dimension follows from the size.
  if (!input.shape.empty() && input.shape[0] == -1) input.shape[0] = 1;
  return request;
}

Result<JsonAnswer> writeJsonInfer(const InferRequest& request, const InferAnswer& answer) {
  JsonAnswer written;
  std::string& text = written.body;
  const auto quoted = [](const std::string& raw) {
    return json(raw).dump(-1, ' ', false, json::error_handler_t::replace);
  };
  text = fmt::format(R"({{"model_name":{},"model_version":{})", quoted(request.model),
                     quoted(answer.version));
  if (!request.id.empty()) text += R"(,"id":)" + quoted(request.id);
  text += R"(,"outputs":[)";
  bool hasTail = false;
  for (size_t i = 0; i < answer.outputs.size(); ++i) {
    const OutputTensor& output = answer.outputs[i];
    text +=
        fmt::format(R"({}{{"name":{},"datatype":"{}","shape":{})", i == 0 ? "" : ",",
                    quoted(output.name), datatypeName(output.datatype), shapeText(output.shape));
    if (const RegionPart* const region = regionOf(request, i)) {
      text += fmt::format(
          R"(,"parameters":{{"shared_memory_region":{},"shared_memory_byte_size":{},"shared_memory_offset":{}}})",
          quoted(region->region), output.bytes.size(), region->offset);
    } else if (isBinary(request, i)) {
      text += fmt::format(R"(,"parameters":{{"binary_data_size":{}}})", output.bytes.size());
      hasTail = true;
    } else {
      text += R"(,"data":)";
      const std::span bytes(reinterpret_cast<const uint8_t*>(output.bytes.data()),
                            output.bytes.size());
      HALYARD_RETURN_IF_ERROR(appendJson(output.datatype, bytes, text), "output '{}'", output.name);
    }
    text += '}';
  }
  text += "]}";
  if (!hasTail) return written;
  written.jsonLength = text.size();
  for (size_t i = 0; i < answer.outputs.size(); ++i) {
    if (isBinary(request, i) && regionOf(request, i) == nullptr) text += answer.outputs[i].bytes;
  }
  return written;
}

std::string errorJson(std::string_view text) {
  const json error = {{"error", std::string(text)}};
  return error.dump(-1, ' ', false, json::error_handler_t::replace);
}

}  // namespace halyard::serve
