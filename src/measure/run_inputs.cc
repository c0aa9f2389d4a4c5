// Collects the inputs of an execution.
#include "measure/run_inputs.h"

#include <algorithm>
#include <cstring>
#include <random>

#include "base/float16.h"
#include "measure/port_arrays.h"
#include "measure/tensor_values.h"
#include "media/npy.h"
#include "report/printable.h"

namespace halyard::measure {
namespace {

using import::ModelPort;

// The input with this name. Otherwise the input with this number.
Result<size_t> findPort(std::span<const ModelPort> ports, const std::string& name) {
  const auto it = std::find_if(ports.begin(), ports.end(),
                               [&](const ModelPort& port) { return port.name == name; });
  if (it != ports.end()) return static_cast<size_t>(it - ports.begin());
  for (size_t i = 0; i < ports.size(); ++i) {
    if (name == std::to_string(i)) return i;
  }
  std::vector<std::string> known;
  for (const ModelPort& port : ports) known.push_back(portText(port));
  return badData("no input '{}'; the model has {}", name, fmt::join(known, ", "));
}

Result<PreparedInput> fromArray(const ModelPort& port, const std::string& path) {
  HALYARD_ASSIGN_OR_RETURN(const media::NpyArray array, media::loadNpy(path));
  HALYARD_ASSIGN_OR_RETURN(PortValue value, fromPortArray(port, array), "{}", path);
  PreparedInput input;
  input.dimensions = std::move(value.dims);
  input.bytes = std::move(value.bytes);
  input.how = report::printable(path);
  return input;
}

Result<size_t> findImagePort(std::span<const ModelPort> ports,
                             std::span<const std::optional<PreparedInput>> given) {
  std::optional<size_t> found;
  for (size_t i = 0; i < ports.size(); ++i) {
    if (given[i] || !imageGeometry(ports[i].type, ports[i].dims)) continue;
    if (found) {
      return badData("both input {} and input {} could take the picture: give one as --input",
                     portText(ports[*found]), portText(ports[i]));
    }
    found = i;
  }
  if (found) return *found;
  std::vector<std::string> shapes;
  for (const ModelPort& port : ports) shapes.push_back(portText(port));
  return badData("no input left with the shape of a picture ([1,H,W,3] or [1,H,W,1]); inputs: {}",
                 fmt::join(shapes, ", "));
}

Result<PreparedInput> fromImage(const ModelPort& port, const InputOptions& options,
                                media::Image* original) {
  const ImageGeometry geometry = *imageGeometry(port.type, port.dims);
  HALYARD_ASSIGN_OR_RETURN(*original, media::loadImage(options.image, 3));
  HALYARD_ASSIGN_OR_RETURN(media::Image picture,
                           media::loadImage(options.image, geometry.channels));
  const uint32_t width = geometry.width != 0 ? geometry.width : picture.width;
  const uint32_t height = geometry.height != 0 ? geometry.height : picture.height;
  PreparedInput input;
  input.how = fmt::format("{} ({} x {}{})", report::printable(options.image), picture.width,
                          picture.height, geometry.channels == 1 ? ", as grey" : "");
  if (width != picture.width || height != picture.height) {
    HALYARD_ASSIGN_OR_RETURN(picture, media::resizeImage(picture, width, height));
    input.how += fmt::format(" resized to {} x {}", width, height);
  }
  HALYARD_ASSIGN_OR_RETURN(
      ImageTensor tensor,
      imageToTensor(picture, {port.type, port.scale, port.zeroPoint}, options.pixels));
  input.bytes = std::move(tensor.bytes);
  input.how += ", " + tensor.how;
  input.dimensions = port.dims;
  // The last three dimensions are rows, columns and channels. For a grey [1,H,W], the last two are
  // rows and columns.
  const bool bare = port.dims.size() == 3 && port.dims.back() != geometry.channels;
  const size_t rows = port.dims.size() - (bare ? 2 : 3);
  if (rows == 1) input.dimensions[0] = 1;
  input.dimensions[rows] = height;
  input.dimensions[rows + 1] = width;
  return input;
}

void appendRandom(std::vector<uint8_t>* bytes, OperandType type, uint64_t random) {
  // The upper 24 bits times 2^-23 give [0,2). Minus 1 gives [-1,1).
  const float real = static_cast<float>(random >> 40) * 0x1p-23f - 1.0f;
  switch (type) {
    case OperandType::FLOAT32:
    case OperandType::TENSOR_FLOAT32:
      return appendElement(bytes, real);
    case OperandType::FLOAT16:
    case OperandType::TENSOR_FLOAT16:
      return appendElement(bytes, toFloat16(real));
    case OperandType::INT32:
    case OperandType::UINT32:
    case OperandType::TENSOR_INT32:
      return appendElement(bytes, static_cast<int32_t>(random >> 63));
    case OperandType::BOOL:
    case OperandType::TENSOR_BOOL8:
      return appendElement(bytes, static_cast<uint8_t>(random >> 63));
    case OperandType::TENSOR_QUANT16_SYMM:
    case OperandType::TENSOR_QUANT16_ASYMM:
      return appendElement(bytes, static_cast<uint16_t>(random >> 48));
    default:
      return appendElement(bytes, static_cast<uint8_t>(random >> 56));
  }
}

Result<PreparedInput> randomInput(const ModelPort& port, std::mt19937_64& random) {
  if (npyTypeOf(port.type).empty()) {
    return badData("input {}: no random values for this type", portText(port));
  }
  if (port.dims.empty() && !isScalarType(port.type)) {
    return badData("input {}: the model does not say how many dimensions it has", portText(port));
  }
  PreparedInput input;
  input.dimensions = port.dims;
  for (uint32_t& extent : input.dimensions) extent = std::max(extent, 1u);
  uint64_t count = 1;
  for (const uint32_t extent : input.dimensions) count *= extent;
  for (uint64_t i = 0; i < count; ++i) appendRandom(&input.bytes, port.type, random());
  input.how = "random values";
  return input;
}

}  // namespace

std::string portText(const ModelPort& port) {
  return fmt::format("\"{}\" {}{}{}", report::printable(port.name), operandTypeName(port.type),
                     isScalarType(port.type) ? "" : shapeText(port.dims), formText(port));
}

std::string_view formText(const ModelPort& port) {
  switch (port.form) {
    case import::ElementForm::INT64:
      return " (INT64 in the file)";
    case import::ElementForm::COMPLEX64:
      return " (COMPLEX64 in the file)";
    case import::ElementForm::SAME:
    case import::ElementForm::WHOLE:
      break;
  }
  return "";
}

Result<PreparedInputs> prepareInputs(std::span<const ModelPort> ports,
                                     const InputOptions& options) {
  PreparedInputs result;
  std::vector<std::optional<PreparedInput>> given(ports.size());
  for (const auto& [name, path] : options.arrays) {
    HALYARD_ASSIGN_OR_RETURN(const size_t index, findPort(ports, name));
    if (given[index]) return badData("input {} is given twice", portText(ports[index]));
    HALYARD_ASSIGN_OR_RETURN(given[index], fromArray(ports[index], path), "input {}",
                             portText(ports[index]));
  }
  if (!options.image.empty()) {
    HALYARD_ASSIGN_OR_RETURN(const size_t index, findImagePort(ports, given));
    media::Image original;
    HALYARD_ASSIGN_OR_RETURN(given[index], fromImage(ports[index], options, &original), "input {}",
                             portText(ports[index]));
    result.picture = std::move(original);
  }
  std::mt19937_64 random(options.randomSeed.value_or(0));
  std::vector<std::string> missing;
  for (size_t i = 0; i < ports.size(); ++i) {
    if (given[i]) continue;
    if (options.randomSeed) {
      HALYARD_ASSIGN_OR_RETURN(given[i], randomInput(ports[i], random));
    } else {
      missing.push_back(portText(ports[i]));
    }
  }
  if (!missing.empty()) {
    return badData("no value for input {}: give --input NAME=FILE.npy, --image or --random-inputs",
                   fmt::join(missing, ", "));
  }
  for (auto& input : given) result.inputs.push_back(std::move(*input));
  return result;
}

}  // namespace halyard::measure
