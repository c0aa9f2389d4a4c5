#include "serve/frigate/detector.h"

#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/log.h"
#include "serve/frigate/real_values.h"
#include "serve/protocol/waiter.h"

namespace halyard::serve {
namespace {

using nlohmann::json;

constexpr size_t kMostClients = 1024;
constexpr size_t kMaxHeaderRank = 8;

json parsed(std::string_view text) {
  return json::parse(text.begin(), text.end(), nullptr, /*allow_exceptions=*/false);
}

std::string textField(const json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

bool isTrue(const json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_boolean() && found->get<bool>();
}

// The name of the served model for a file of Frigate.
std::string modelOf(const std::string& file) {
  return std::filesystem::path(file).filename().replace_extension().string();
}

// Converts a picture to the type of the model's input.
Status convertPicture(const std::string& dtype, std::string_view bytes, InputTensor& input) {
  const std::span from(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
  const bool isFloat = dtype == "float32";
  if (!isFloat && dtype != "uint8")
    return badData("the dtype is '{}', expected uint8 or float32", dtype);
  if (isFloat == (input.datatype == Datatype::FP32) && input.datatype != Datatype::INT8) {
    input.bytes = from;
    return okStatus();
  }
  if (isFloat) {
    return badData("the picture is float32, the model takes {}: set input_dtype to int",
                   datatypeName(input.datatype));
  }
  if (input.datatype == Datatype::INT8) {
    input.own.assign(from.begin(), from.end());
    for (uint8_t& value : input.own) value ^= 0x80;
  } else {
    input.own.resize(from.size() * sizeof(float));
    for (size_t i = 0; i < from.size(); ++i) {
      const float value = static_cast<float>(from[i]) / 255;
      std::memcpy(input.own.data() + i * sizeof(value), &value, sizeof(value));
    }
  }
  input.bytes = input.own;
  return okStatus();
}

// The size of a picture [1,H,W,3] or [1,3,H,W].
InputSize sizeOf(const std::vector<int64_t>& shape) {
  if (shape.size() != 4) return {};
  const bool isChannelsFirst = shape[1] == 3 && shape[3] != 3;
  const size_t height = isChannelsFirst ? 2 : 1;
  return {static_cast<float>(shape[height]), static_cast<float>(shape[height + 1])};
}

// D-FINE takes the height and the width of the picture as a second input.
Status fillSize(InputSize size, InputTensor& input) {
  if (input.datatype != Datatype::INT64 && input.datatype != Datatype::INT32) {
    return badData("input '{}' is {}, expected INT64", input.name, datatypeName(input.datatype));
  }
  for (const float extent : {size.height, size.width}) {
    const auto value = static_cast<int64_t>(extent);
    const auto* const begin = reinterpret_cast<const uint8_t*>(&value);
    input.own.insert(input.own.end(), begin, begin + datatypeSize(input.datatype));
  }
  input.bytes = input.own;
  return okStatus();
}

// The input of the rank of a picture, and for D-FINE its size.
Status addInputs(const std::vector<TensorInfo>& infos, const std::vector<int64_t>& shape,
                 const std::string& dtype, std::string_view bytes, InferRequest& request) {
  if (shape.size() != 4) return badData("the picture has {} dimensions", shape.size());
  for (const TensorInfo& info : infos) {
    InputTensor& input = request.inputs.emplace_back();
    input.name = info.name;
    input.datatype = info.datatype;
    if (info.shape.size() == shape.size()) {
      input.shape = shape;
      HALYARD_RETURN_IF_ERROR(convertPicture(dtype, bytes, input));
    } else {
      input.shape = {1, 2};
      HALYARD_RETURN_IF_ERROR(fillSize(sizeOf(shape), input));
    }
  }
  return okStatus();
}

Result<std::vector<int64_t>> shapeOf(const json& header) {
  const auto found = header.find("shape");
  if (found == header.end() || !found->is_array() || found->size() > kMaxHeaderRank) {
    return badData("the header has no 'shape'");
  }
  std::vector<int64_t> shape;
  for (const json& extent : *found) {
    if (!extent.is_number_unsigned() || extent.get<uint64_t>() > INT32_MAX) {
      return badData("'shape' has an element that is no dimension");
    }
    shape.push_back(extent.get<int64_t>());
  }
  return shape;
}

std::string bytesOf(const Detections& detections) {
  return {reinterpret_cast<const char*>(detections.data()), sizeof(Detections)};
}

}  // namespace

std::vector<std::string> Detector::answer(const std::string& client,
                                          const std::vector<std::string_view>& frames) {
  const json header = frames.empty() ? json() : parsed(frames[0]);
  if (header.is_object() && isTrue(header, "model_request")) {
    return {answerQuery(client, textField(header, "model_name"))};
  }
  if (header.is_object() && isTrue(header, "model_data") && frames.size() == 2) {
    return {answerModel(client, textField(header, "model_name"), frames[1])};
  }
  const Result<Detections> found =
      frames.size() == 2 ? detect(client, frames[0], frames[1])
                         : Result<Detections>(badData("{} frames, expected 2", frames.size()));
  if (!found.ok()) logWarning("frigate: {}", found.status().message());
  return {bytesOf(found.ok() ? *found : Detections())};
}

std::string Detector::answerQuery(const std::string& client, const std::string& file) {
  const std::string name = modelOf(file);
  const Repository::Found found = service_.repository().find(name, "");
  if (found.model) {
    if (models_.size() >= kMostClients) models_.clear();
    models_[client] = name;
  }
  return json({{"model_available", found.model != nullptr},
               {"model_loaded", found.model != nullptr}})
      .dump();
}

// Writes a temporary file, which becomes the model's file only after it is loaded.
Status Detector::install(const std::string& name, std::string_view bytes) const {
  if (modelFolder_.empty()) {
    return badData("this server takes no models, they need --model-control explicit");
  }
  if (!isPlainName(name)) return badData("'{}' is no name of a model", name);
  const std::string temporary = modelFolder_ + "/" + name + ".tflite.part";
  std::ofstream file(temporary, std::ios::binary | std::ios::trunc);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  file.close();
  if (!file) {
    std::error_code ignored;
    std::filesystem::remove(temporary, ignored);
    return opFailed("{} cannot be written", temporary);
  }
  const Outcome installed = service_.repository().install(name, temporary);
  return installed.ok() ? okStatus() : badData("{}", installed.text());
}

std::string Detector::answerModel(const std::string& client, const std::string& file,
                                  std::string_view bytes) {
  const std::string name = modelOf(file);
  const Status installed = install(name, bytes);
  if (installed.ok()) models_[client] = name;
  if (!installed.ok()) logWarning("frigate: model '{}': {}", name, installed.message());
  return json({{"model_saved", installed.ok()}, {"model_loaded", installed.ok()}}).dump();
}

Result<Detections> Detector::detect(const std::string& client, std::string_view header,
                                    std::string_view bytes) {
  const json fields = parsed(header);
  if (!fields.is_object()) return badData("the header is no JSON object");
  InferRequest request;
  const auto chosen = models_.find(client);
  if (chosen != models_.end()) {
    request.model = chosen->second;
  } else {
    // Peers before the query of models serve one model.
    const auto models = service_.repository().ready();
    if (models.size() != 1) {
      return badData("the client has named no model, and {} are served", models.size());
    }
    request.model = models[0]->name();
  }
  const Repository::Found found = service_.repository().find(request.model, "");
  if (!found.model) return badData("{}", found.outcome.text());
  HALYARD_ASSIGN_OR_RETURN(const std::vector<int64_t> shape, shapeOf(fields));
  const InputSize size = sizeOf(shape);
  HALYARD_RETURN_IF_ERROR(
      addInputs(found.model->inputs(), shape, textField(fields, "dtype"), bytes, request),
      "model '{}'", request.model);
  Waiter waiter;
  service_.infer(request, Clock::now(),
                 [&waiter](InferAnswer answer) { waiter.give(std::move(answer)); });
  InferAnswer answer = waiter.wait();
  if (!answer.outcome.ok()) return badData("{}", answer.outcome.text());
  for (size_t i = 0; i < answer.outputs.size(); ++i) {
    HALYARD_RETURN_IF_ERROR(makeReal(found.model->outputs()[i], answer.outputs[i]));
  }
  return decodeDetections(textField(fields, "model_type"), answer.outputs, size);
}

}  // namespace halyard::serve
