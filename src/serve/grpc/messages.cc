#include "serve/grpc/messages.h"

#include <cstring>
#include <limits>

#include "serve/protocol/parameters.h"

namespace halyard::serve {
namespace {

constexpr int kMaxShapeRank = 16;

using Contents = inference::InferTensorContents;
using MessageParameters = google::protobuf::Map<std::string, inference::InferParameter>;

Result<Parameters> parametersOf(const MessageParameters& from) {
  Parameters parameters;
  for (const auto& [name, value] : from) {
    switch (value.parameter_choice_case()) {
      case inference::InferParameter::kBoolParam:
        parameters[name] = value.bool_param();
        break;
      case inference::InferParameter::kInt64Param:
        parameters[name] = value.int64_param();
        break;
      case inference::InferParameter::kStringParam:
        parameters[name] = value.string_param();
        break;
      case inference::InferParameter::kDoubleParam:
        parameters[name] = value.double_param();
        break;
      case inference::InferParameter::kUint64Param:
        if (value.uint64_param() > uint64_t{INT64_MAX}) {
          return badData("the parameter '{}' is larger than {}", name, INT64_MAX);
        }
        parameters[name] = static_cast<int64_t>(value.uint64_param());
        break;
      case inference::InferParameter::PARAMETER_CHOICE_NOT_SET:
        return badData("the parameter '{}' has no value", name);
    }
  }
  return parameters;
}

// Appends the values of a field as elements of type T. BAD_DATA for a value beyond its range.
template <typename T, typename Field>
Result<std::vector<uint8_t>> elementsOf(const Field& field) {
  std::vector<uint8_t> bytes(static_cast<size_t>(field.size()) * sizeof(T));
  for (int i = 0; i < field.size(); ++i) {
    const auto value = static_cast<T>(field[i]);
    if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
      if (static_cast<std::decay_t<decltype(field[i])>>(value) != field[i]) {
        return badData("element {} is {}, beyond the range of the datatype", i, field[i]);
      }
    }
    std::memcpy(bytes.data() + static_cast<size_t>(i) * sizeof(T), &value, sizeof(T));
  }
  return bytes;
}

std::vector<uint8_t> textsOf(const google::protobuf::RepeatedPtrField<std::string>& field) {
  std::vector<uint8_t> bytes;
  for (const std::string& text : field) {
    const auto length = static_cast<uint32_t>(text.size());
    const auto* const begin = reinterpret_cast<const uint8_t*>(&length);
    bytes.insert(bytes.end(), begin, begin + sizeof(length));
    bytes.insert(bytes.end(), text.begin(), text.end());
  }
  return bytes;
}

Result<std::vector<uint8_t>> bytesOf(const Contents& contents, Datatype datatype) {
  switch (datatype) {
    case Datatype::BOOL:
      return elementsOf<bool>(contents.bool_contents());
    case Datatype::INT8:
      return elementsOf<int8_t>(contents.int_contents());
    case Datatype::INT16:
      return elementsOf<int16_t>(contents.int_contents());
    case Datatype::INT32:
      return elementsOf<int32_t>(contents.int_contents());
    case Datatype::INT64:
      return elementsOf<int64_t>(contents.int64_contents());
    case Datatype::UINT8:
      return elementsOf<uint8_t>(contents.uint_contents());
    case Datatype::UINT16:
      return elementsOf<uint16_t>(contents.uint_contents());
    case Datatype::UINT32:
      return elementsOf<uint32_t>(contents.uint_contents());
    case Datatype::UINT64:
      return elementsOf<uint64_t>(contents.uint64_contents());
    case Datatype::FP32:
      return elementsOf<float>(contents.fp32_contents());
    case Datatype::FP64:
      return elementsOf<double>(contents.fp64_contents());
    case Datatype::BYTES:
      return textsOf(contents.bytes_contents());
    case Datatype::FP16:
    case Datatype::BF16:
      break;
  }
  return badData("{} has no contents, send it in raw_input_contents", datatypeName(datatype));
}

// The raw contents, in order.
struct RawContents {
  const google::protobuf::RepeatedPtrField<std::string>& all;
  int next = 0;
};

Status readInput(const inference::ModelInferRequest::InferInputTensor& from, RawContents& raw,
                 InputTensor& input) {
  const std::optional<Datatype> datatype = datatypeNamed(from.datatype());
  if (!datatype) return badData("the datatype '{}' is unknown", from.datatype());
  input.datatype = *datatype;
  if (from.shape_size() > kMaxShapeRank) {
    return badData("the shape has {} dimensions, expected at most {}", from.shape_size(),
                   kMaxShapeRank);
  }
  input.shape.assign(from.shape().begin(), from.shape().end());
  HALYARD_ASSIGN_OR_RETURN(const Parameters parameters, parametersOf(from.parameters()));
  HALYARD_ASSIGN_OR_RETURN(input.region, regionPartOf(parameters));
  if (input.region) return okStatus();
  if (raw.all.empty()) {
    HALYARD_ASSIGN_OR_RETURN(input.own, bytesOf(from.contents(), *datatype));
    input.bytes = input.own;
    return okStatus();
  }
  if (from.has_contents()) return badData("both 'contents' and 'raw_input_contents' are given");
  if (raw.next == raw.all.size()) {
    return badData("there are only {} raw_input_contents", raw.all.size());
  }
  const std::string& bytes = raw.all[raw.next++];
  input.bytes = {reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()};
  return okStatus();
}

void fillTensor(const TensorInfo& info, inference::ModelMetadataResponse::TensorMetadata& message) {
  message.set_name(info.name);
  message.set_datatype(std::string(datatypeName(info.datatype)));
  for (const int64_t extent : info.shape) message.add_shape(extent);
}

void fillDuration(const DurationSum& sum, inference::StatisticDuration& message) {
  message.set_count(sum.count);
  message.set_ns(sum.ns);
}

}  // namespace

Result<InferRequest> requestOf(const inference::ModelInferRequest& message,
                               Clock::time_point arrival) {
  InferRequest request;
  request.model = message.model_name();
  request.version = message.model_version();
  request.id = message.id();
  if (message.inputs_size() > kMostTensors || message.outputs_size() > kMostTensors) {
    return badData("{} inputs and {} outputs, expected at most {}", message.inputs_size(),
                   message.outputs_size(), kMostTensors);
  }
  HALYARD_ASSIGN_OR_RETURN(const Parameters parameters, parametersOf(message.parameters()));
  HALYARD_RETURN_IF_ERROR(applyRequestParameters(parameters, arrival, request));
  request.binaryOutputs = true;
  RawContents raw{message.raw_input_contents()};
  request.inputs.resize(static_cast<size_t>(message.inputs_size()));
  for (int i = 0; i < message.inputs_size(); ++i) {
    InputTensor& input = request.inputs[static_cast<size_t>(i)];
    input.name = message.inputs(i).name();
    HALYARD_RETURN_IF_ERROR(readInput(message.inputs(i), raw, input), "input '{}'", input.name);
  }
  if (raw.next != raw.all.size()) {
    return badData("{} raw_input_contents, but {} inputs need them", raw.all.size(), raw.next);
  }
  for (const auto& from : message.outputs()) {
    WantedOutput& output = request.outputs.emplace_back();
    output.name = from.name();
    HALYARD_ASSIGN_OR_RETURN(const Parameters own, parametersOf(from.parameters()), "output '{}'",
                             output.name);
    HALYARD_ASSIGN_OR_RETURN(output.region, regionPartOf(own), "output '{}'", output.name);
    HALYARD_RETURN_IF_ERROR(applyOutputParameters(own, output), "output '{}'", output.name);
  }
  return request;
}

void fillResponse(const InferRequest& request, InferAnswer answer,
                  inference::ModelInferResponse& message) {
  message.set_model_name(request.model);
  message.set_model_version(answer.version);
  message.set_id(request.id);
  for (size_t i = 0; i < answer.outputs.size(); ++i) {
    OutputTensor& output = answer.outputs[i];
    auto& to = *message.add_outputs();
    to.set_name(output.name);
    to.set_datatype(std::string(datatypeName(output.datatype)));
    for (const int64_t extent : output.shape) to.add_shape(extent);
    if (i < request.outputs.size() && request.outputs[i].region) {
      const RegionPart& region = *request.outputs[i].region;
      auto& parameters = *to.mutable_parameters();
      parameters["shared_memory_region"].set_string_param(region.region);
      parameters["shared_memory_byte_size"].set_int64_param(
          static_cast<int64_t>(output.bytes.size()));
      parameters["shared_memory_offset"].set_int64_param(static_cast<int64_t>(region.offset));
    } else {
      message.add_raw_output_contents(std::move(output.bytes));
    }
  }
}

void fillMetadata(const ServedModel& model, const std::vector<std::string>& versions,
                  inference::ModelMetadataResponse& message) {
  message.set_name(model.name());
  for (const std::string& version : versions) message.add_versions(version);
  message.set_platform("halyard_tflite");
  for (const TensorInfo& info : model.inputs()) fillTensor(info, *message.add_inputs());
  for (const TensorInfo& info : model.outputs()) fillTensor(info, *message.add_outputs());
}

void fillStatistics(const ServedModel& model, inference::ModelStatistics& message) {
  const ModelStatistics sums = model.statistics();
  message.set_name(model.name());
  message.set_version(model.version());
  message.set_last_inference(sums.lastInference);
  message.set_inference_count(sums.inferences);
  message.set_execution_count(sums.executions);
  inference::InferStatistics& stats = *message.mutable_inference_stats();
  fillDuration(sums.success, *stats.mutable_success());
  fillDuration(sums.fail, *stats.mutable_fail());
  fillDuration(sums.queue, *stats.mutable_queue());
  fillDuration(sums.input, *stats.mutable_compute_input());
  fillDuration(sums.infer, *stats.mutable_compute_infer());
  fillDuration(sums.output, *stats.mutable_compute_output());
  fillDuration({}, *stats.mutable_cache_hit());
  fillDuration({}, *stats.mutable_cache_miss());
  for (const auto& [size, batch] : sums.batches) {
    auto& to = *message.add_batch_stats();
    to.set_batch_size(size);
    fillDuration(batch.input, *to.mutable_compute_input());
    fillDuration(batch.infer, *to.mutable_compute_infer());
    fillDuration(batch.output, *to.mutable_compute_output());
  }
}

}  // namespace halyard::serve
