// Operations on boxes whose results have a known number.
#include "kernels/kernel_list.h"
#include "ops/conv_geometry.h"
#include "ops/requantize.h"

namespace halyard::vulkandriver {
namespace {

// As in shaders/boxes.comp.
enum Function : int32_t { kTransform, kAlignBins, kPoolingBins, kAlign, kPooling, kKeypoints };

int32_t word(size_t value) { return static_cast<int32_t>(value); }

// `tensor`: the input with the operation's type.
Status add(const Site& site, size_t tensor, Function function, bool nchw,
           std::vector<Parameter> parameters, size_t count, Recording& recording) {
  HALYARD_ASSIGN_OR_RETURN(const ElementKind kind, elementKind(site.input(tensor).type));
  recording.add({Shader::BOXES,
                 {function, static_cast<int32_t>(kind), 0, nchw ? 1 : 0},
                 std::move(parameters),
                 static_cast<uint32_t>(count)});
  return okStatus();
}

// Zero point, lowest and highest number, and scale.
std::vector<Parameter> rangeOf(const ops::Tensor& tensor) {
  if (!isQuant8Asymm(tensor.type)) return {0, 0, 0, Parameter::real(1)};
  const auto range = ops::quantizedRange(tensor.type);
  return {tensor.zeroPoint, range.min, range.max, Parameter::real(tensor.scale)};
}

// One axis of the bins of regions.
struct BinAxis {
  size_t cells = 0;
  size_t bins = 0;
  int32_t samples = 0;
  size_t words = 0;  // of a bin

  std::vector<Parameter> parameters() const {
    return {word(cells), word(bins), word(words), samples};
  }
};

struct Regions {
  bool nchw = false;
  ops::ImageDims features;
  BinAxis rows;
  BinAxis columns;
  float heightRatio = 1;
  float widthRatio = 1;
};

constexpr size_t kHeightRatio = 5;
constexpr size_t kWidthRatio = 6;
constexpr size_t kSamples = 7;

Status readRegions(const Site& site, bool isAlign, Regions* regions) {
  const ops::OperationContext& context = site.context;
  HALYARD_RETURN_IF_ERROR(context.read(kHeightRatio, &regions->heightRatio), "height ratio");
  HALYARD_RETURN_IF_ERROR(context.read(kWidthRatio, &regions->widthRatio), "width ratio");
  if (isAlign) {
    HALYARD_RETURN_IF_ERROR(context.read(kSamples, &regions->rows.samples), "sampling points");
    HALYARD_RETURN_IF_ERROR(context.read(kSamples + 1, &regions->columns.samples),
                            "sampling points");
  }
  HALYARD_RETURN_IF_ERROR(context.read(isAlign ? kSamples + 2 : kSamples, &regions->nchw));
  HALYARD_RETURN_IF_ERROR(
      ops::readImageDims("feature map", site.input(0).dims, regions->nchw, &regions->features));
  ops::ImageDims output;
  HALYARD_RETURN_IF_ERROR(
      ops::readImageDims("output", site.output(0).dims, regions->nchw, &output));
  regions->rows.cells = regions->features.height;
  regions->rows.bins = output.height;
  regions->columns.cells = regions->features.width;
  regions->columns.bins = output.width;
  // Begin and end, or a number and as many cells with weights as there may be.
  for (BinAxis* axis : {&regions->rows, &regions->columns}) {
    axis->words = isAlign ? 1 + 2 * axis->cells : 2;
  }
  return okStatus();
}

// The bins of each region are the same for all channels. A dispatch of their own makes them.
Status addRegions(const Site& site, bool isAlign, Recording& recording) {
  Regions regions;
  HALYARD_RETURN_IF_ERROR(readRegions(site, isAlign, &regions));
  const size_t count = site.input(1).dims[0];
  const BinAxis& rows = regions.rows;
  const BinAxis& columns = regions.columns;
  const uint64_t words = uint64_t{count} * (rows.bins * rows.words + columns.bins * columns.words);
  if (words > INT32_MAX / sizeof(int32_t)) {
    return badData("{} regions with {} x {} bins need more than 2 GiB", count, rows.bins,
                   columns.bins);
  }
  // At most so many cells meet one bin.
  HALYARD_RETURN_IF_ERROR(
      checkRounds(uint64_t{rows.cells / rows.bins + 2} * (columns.cells / columns.bins + 3)));
  const Place bins = recording.scratch(words * sizeof(int32_t));
  std::vector<Parameter> making = {site.in(1),
                                   site.in(2),
                                   bins,
                                   recording.faultWord(),
                                   word(regions.features.batch),
                                   Parameter::real(regions.heightRatio),
                                   Parameter::real(regions.widthRatio)};
  for (const BinAxis* axis : {&rows, &columns}) {
    const std::vector<Parameter> parameters = axis->parameters();
    making.insert(making.end(), parameters.begin(), parameters.end());
  }
  HALYARD_RETURN_IF_ERROR(add(site, 0, isAlign ? kAlignBins : kPoolingBins, regions.nchw,
                              std::move(making), count * (rows.bins + columns.bins), recording));
  std::vector<Parameter> parameters = {site.in(0),
                                       site.in(2),
                                       bins,
                                       site.out(0),
                                       word(rows.cells),
                                       word(columns.cells),
                                       word(regions.features.channels),
                                       word(rows.bins),
                                       word(columns.bins),
                                       word(rows.words),
                                       word(columns.words),
                                       word(regions.features.batch),
                                       site.input(0).zeroPoint,
                                       Parameter::real(site.input(0).scale)};
  const std::vector<Parameter> range = rangeOf(site.output(0));
  parameters.insert(parameters.end(), range.begin(), range.end());
  return add(site, 0, isAlign ? kAlign : kPooling, regions.nchw, std::move(parameters),
             site.output(0).elementCount(), recording);
}

}  // namespace

Status recordBoxTransform(const Site& site, Recording& recording) {
  const Shape& deltas = site.input(1).dims;
  const size_t classes = deltas[1] / 4;
  return add(site, 1, kTransform, false,
             {site.in(0), site.in(1), site.in(2), site.in(3), site.out(0), recording.faultWord(),
              word(classes), word(site.input(3).dims[0]), site.input(1).zeroPoint,
              Parameter::real(site.input(1).scale)},
             deltas[0] * classes, recording);
}

Status recordRegionAlignment(const Site& site, Recording& recording) {
  return addRegions(site, true, recording);
}

Status recordRegionPooling(const Site& site, Recording& recording) {
  return addRegions(site, false, recording);
}

Status recordKeypoints(const Site& site, Recording& recording) {
  bool nchw = false;
  ops::ImageDims dims;
  HALYARD_RETURN_IF_ERROR(site.context.read(2, &nchw));
  HALYARD_RETURN_IF_ERROR(ops::readImageDims("heatmaps", site.input(0).dims, nchw, &dims));
  HALYARD_RETURN_IF_ERROR(checkRounds(uint64_t{dims.height} * dims.width));
  std::vector<Parameter> parameters = {site.in(0),
                                       site.in(1),
                                       site.out(0),
                                       site.out(1),
                                       recording.faultWord(),
                                       word(dims.height),
                                       word(dims.channels),
                                       site.input(0).zeroPoint,
                                       Parameter::real(site.input(0).scale)};
  const std::vector<Parameter> range = rangeOf(site.output(0));
  parameters.insert(parameters.end(), range.begin(), range.end());
  return add(site, 0, kKeypoints, nchw, std::move(parameters), dims.batch * dims.channels,
             recording);
}

}  // namespace halyard::vulkandriver
