// ROI_ALIGN and ROI_POOLING: resize each region of interest of a feature map to one size.
#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include "ops/boxes.h"
#include "ops/conv_geometry.h"
#include "ops/layout.h"
#include "ops/operand_checks.h"
#include "ops/operation.h"
#include "ops/simd.h"

namespace halyard::ops {
namespace {

// ROI_ALIGN's sampling points precede the layout, so the layout has another position in each
// operation.
enum Input : size_t {
  kFeatures,
  kRois,
  kBatchIndex,
  kHeight,
  kWidth,
  kHeightRatio,
  kWidthRatio,
  kPoolingLayout,
  kSamplesY = kPoolingLayout,
  kSamplesX,
  kAlignLayout,
};

enum class Method { ALIGN, POOLING };

// The options that determine shapes.
struct Plan {
  bool nchw = false;
  ImageDims features;
  ImageDims output;  // the batch size is the number of regions
};

// The options that affect only values.
struct Sampling {
  float heightRatio = 0;
  float widthRatio = 0;
  int32_t pointsY = 0;
  int32_t pointsX = 0;
};

Status readPositive(const OperationContext& context, size_t i, std::string_view name,
                    size_t* value) {
  int32_t size = 0;
  HALYARD_RETURN_IF_ERROR(context.read(i, &size), "{}", name);
  if (size <= 0) return opFailed("{} is {}, expected more than 0", name, size);
  *value = static_cast<size_t>(size);
  return okStatus();
}

Status makePlan(const OperationContext& context, size_t layout, Plan* plan) {
  const Tensor& features = context.input(kFeatures);
  HALYARD_RETURN_IF_ERROR(context.read(layout, &plan->nchw), "layout");
  HALYARD_RETURN_IF_ERROR(readImageDims("feature map", features.dims, plan->nchw, &plan->features));
  if (plan->features.batch == 0) {
    return opFailed("feature map {} has no batch", realShapeText(features.dims));
  }
  HALYARD_RETURN_IF_ERROR(readPositive(context, kHeight, "output height", &plan->output.height));
  HALYARD_RETURN_IF_ERROR(readPositive(context, kWidth, "output width", &plan->output.width));
  plan->output.channels = plan->features.channels;
  const Tensor& rois = context.input(kRois);
  HALYARD_RETURN_IF_ERROR(checkRank(rois, 2, 2, "RoIs"));
  plan->output.batch = rois.dims[0];
  HALYARD_RETURN_IF_ERROR(checkShape(rois, {rois.dims[0], 4}, "RoIs"));
  return checkShape(context.input(kBatchIndex), {rois.dims[0]}, "batch index");
}

Status readRatio(const OperationContext& context, size_t i, std::string_view name, float* value) {
  HALYARD_RETURN_IF_ERROR(context.read(i, value), "{}", name);
  if (*value > 0 && std::isfinite(*value)) return okStatus();
  return opFailed("{} is {}, expected more than 0 and finite", name, *value);
}

Status readPoints(const OperationContext& context, size_t i, std::string_view name,
                  int32_t* value) {
  HALYARD_RETURN_IF_ERROR(context.read(i, value), "{}", name);
  if (*value >= 0) return okStatus();
  return opFailed("{} is {}, expected 0 or more", name, *value);
}

template <Method method>
Status readSampling(const OperationContext& context, Sampling* sampling) {
  HALYARD_RETURN_IF_ERROR(readRatio(context, kHeightRatio, "height ratio", &sampling->heightRatio));
  HALYARD_RETURN_IF_ERROR(readRatio(context, kWidthRatio, "width ratio", &sampling->widthRatio));
  if (method == Method::POOLING) return okStatus();
  HALYARD_RETURN_IF_ERROR(
      readPoints(context, kSamplesY, "sampling points in height", &sampling->pointsY));
  return readPoints(context, kSamplesX, "sampling points in width", &sampling->pointsX);
}

template <Method method>
constexpr size_t kLayoutOf = method == Method::ALIGN ? kAlignLayout : kPoolingLayout;

template <Method method>
Status infer(OperationContext& context) {
  Plan plan;
  HALYARD_RETURN_IF_ERROR(checkCoordinates({{&context.input(kRois), "RoIs"}}));
  if (method == Method::POOLING) {
    HALYARD_RETURN_IF_ERROR(checkSameQuantization(context.input(0), context.output(0)));
  }
  HALYARD_RETURN_IF_ERROR(makePlan(context, kLayoutOf<method>, &plan));
  Sampling sampling;
  HALYARD_RETURN_IF_ERROR(unlessIncomplete(readSampling<method>(context, &sampling)));
  context.output(0).dims = imageShape(plan.output, plan.nchw);
  return okStatus();
}

// A region in cells of the feature map, which contains it except for rounding errors.
struct Region {
  size_t batch;
  Box box;
};

Status checkRegion(const Box& box, const Box& scaled, const ImageDims& features, size_t i) {
  HALYARD_RETURN_IF_ERROR(checkCorners(box, "RoI", i));
  if (!(box.x1 >= 0 && box.y1 >= 0)) {
    return opFailed("RoI {} begins at ({}, {}), expected no negative coordinate", i, box.x1,
                    box.y1);
  }
  // A rounded ratio of sizes may put the image's edge slightly beyond the map's.
  constexpr float kSlack = 1 + 4 * std::numeric_limits<float>::epsilon();
  if (scaled.x2 <= static_cast<float>(features.width) * kSlack &&
      scaled.y2 <= static_cast<float>(features.height) * kSlack) {
    return okStatus();
  }
  return opFailed("RoI {} ends at ({}, {}) of the feature map, which is {} wide and {} high", i,
                  scaled.x2, scaled.y2, features.width, features.height);
}

Result<std::vector<Region>> readRegions(const OperationContext& context, const Plan& plan,
                                        const Sampling& sampling) {
  std::span<const int32_t> batchIndex;
  HALYARD_RETURN_IF_ERROR(context.readInts(kBatchIndex, &batchIndex), "batch index");
  std::vector<Region> regions;
  for (size_t i = 0; i < plan.output.batch; ++i) {
    const Box box = boxAt(context.input(kRois), i);
    const Box scaled = {box.y1 / sampling.heightRatio, box.x1 / sampling.widthRatio,
                        box.y2 / sampling.heightRatio, box.x2 / sampling.widthRatio};
    HALYARD_RETURN_IF_ERROR(checkRegion(box, scaled, plan.features, i));
    const int32_t batch = batchIndex[i];
    HALYARD_RETURN_IF_ERROR(checkBatchIndex(batch, i, plan.features.batch));
    regions.push_back({static_cast<size_t>(batch), scaled});
  }
  return regions;
}

// A cell on one axis and its weight.
struct Tap {
  size_t cell;
  float weight;
};
using Taps = std::vector<Tap>;

// Regions are at least one cell large. The size is in single precision, as usual, because the next
// higher integer is the number of samples.
double binSize(float first, float last, size_t bins) {
  return static_cast<double>(std::max(last - first, 1.0f) / static_cast<float>(bins));
}

// Computes a bin of a region on one axis, sampled at the middles of equal parts with linear
// interpolation. The mean over the samples becomes a weighted sum of cells. Samples between the
// same two cells are summed in closed form, so their number does not affect the time.
void sampleBin(double begin, double size, int32_t points, size_t cells, Taps& taps) {
  taps.clear();
  const auto add = [&](size_t cell, double weight) {
    if (weight <= 0) return;
    if (!taps.empty() && taps.back().cell == cell) {
      taps.back().weight += static_cast<float>(weight);
    } else {
      taps.push_back({cell, static_cast<float>(weight)});
    }
  };
  const size_t last = cells - 1;
  const double count = points > 0 ? points : std::ceil(size);
  const double step = size / count;
  size_t cell = 0;
  for (double sample = 0; sample < count; ++cell) {
    const double position = begin + (sample + 0.5) * step;
    cell = std::max(cell, static_cast<size_t>(std::min(position, static_cast<double>(last))));
    if (cell == last) {
      add(cell, (count - sample) / count);
      return;
    }
    // The first sample after the next cell's middle.
    const double behind = std::ceil((static_cast<double>(cell + 1) - begin) / step - 0.5);
    const double end = std::clamp(behind, sample + 1, count);
    const double weight = (end - sample) / count;
    const double middle = begin + (sample + end) / 2 * step;
    const double fraction = std::clamp(middle - static_cast<double>(cell), 0.0, 1.0);
    add(cell, weight * (1 - fraction));
    add(cell + 1, weight * fraction);
    sample = end;
  }
}

template <typename X>
struct Bin {
  const X* image;
  size_t width;
  size_t channels;
  std::span<const Tap> rows;
  std::span<const Tap> columns;
};

// The sums go row by row, so that rounding errors grow with the sides of a large bin and not with
// its area.
template <typename X>
HALYARD_ALWAYS_INLINE void weightedSums(const Bin<X>* bin, float* __restrict rowSums,
                                        float* __restrict sums) {
  const size_t channels = bin->channels;
  std::fill_n(sums, channels, 0.0f);
  for (const Tap& row : bin->rows) {
    std::fill_n(rowSums, channels, 0.0f);
    for (const Tap& column : bin->columns) {
      const float weight = column.weight;
      const X* __restrict cell = bin->image + (row.cell * bin->width + column.cell) * channels;
      for (size_t c = 0; c < channels; ++c) rowSums[c] += weight * static_cast<float>(cell[c]);
    }
    const float weight = row.weight;
    for (size_t c = 0; c < channels; ++c) sums[c] += weight * rowSums[c];
  }
}

// The kernel's operands, all channels last.
struct Job {
  const Plan& plan;
  std::span<const Region> regions;
  const Tensor& features;
  Tensor& output;

  template <typename X>
  const X* image(const Region& region) const {
    return features.as<X>() +
           region.batch * plan.features.height * plan.features.width * plan.features.channels;
  }
};

// Calls line(region, i, result) for every line i of every region's output.
template <typename X, typename MakeLine>
void forEachLine(KernelServices& services, const Job& job, const MakeLine& makeLine) {
  const ImageDims& output = job.plan.output;
  const size_t lineSize = output.width * output.channels;
  constexpr size_t kValuesPerRange = 1 << 12;
  services.parallelFor(output.batch * output.height, kValuesPerRange / lineSize + 1,
                       [&](size_t begin, size_t end) {
                         auto line = makeLine();
                         for (size_t i = begin; i < end; ++i) {
                           line(job.regions[i / output.height], i % output.height,
                                job.output.as<X>() + i * lineSize);
                         }
                       });
}

// Stores the channels of one bin from their means in stored units.
void storeMeans(const Job& job, const float* means, float* result) {
  std::copy_n(means, job.plan.output.channels, result);
}
template <typename X>
void storeMeans(const Job& job, const float* means, X* result) {
  const double factor =
      static_cast<double>(job.features.scale) / static_cast<double>(job.output.scale);
  const double zeroPoint = job.features.zeroPoint;
  const ClampRange<int32_t> range = quantizedRange(job.output.type);
  for (size_t c = 0; c < job.plan.output.channels; ++c) {
    const double units = (static_cast<double>(means[c]) - zeroPoint) * factor;
    result[c] = static_cast<X>(quantizeUnits(units, job.output.zeroPoint, range));
  }
}

template <typename X>
void align(KernelServices& services, const Job& job, const Sampling& sampling) {
  const ImageDims& features = job.plan.features;
  const ImageDims& output = job.plan.output;
  forEachLine<X>(services, job, [&] {
    return [&, rows = Taps(), columns = Taps(), sums = std::vector<float>(output.channels),
            rowSums = std::vector<float>(output.channels)](const Region& region, size_t i,
                                                           X* result) mutable {
      const Box& box = region.box;
      const double height = binSize(box.y1, box.y2, output.height);
      const double width = binSize(box.x1, box.x2, output.width);
      sampleBin(static_cast<double>(box.y1) + height * static_cast<double>(i), height,
                sampling.pointsY, features.height, rows);
      for (size_t j = 0; j < output.width; ++j) {
        sampleBin(static_cast<double>(box.x1) + width * static_cast<double>(j), width,
                  sampling.pointsX, features.width, columns);
        const Bin<X> bin = {job.image<X>(region), features.width, features.channels, rows, columns};
        runBest<&weightedSums<X>>(&bin, rowSums.data(), sums.data());
        storeMeans(job, sums.data(), result + j * output.channels);
      }
    };
  });
}

// Cells [begin, end) on one axis; empty when end <= begin.
struct CellRange {
  uint64_t begin;
  uint64_t end;
};

// Returns bin i of `bins` in a region from cell `first` to cell `last`, cut off at the map's end.
// It computes in integers, because rounding sometimes puts an integer bound into the next cell.
CellRange poolingBin(float first, float last, uint64_t i, uint64_t bins, uint64_t cells) {
  const auto begin = static_cast<uint64_t>(std::round(first));
  const uint64_t size = static_cast<uint64_t>(std::round(last)) - begin + 1;
  return {std::min(begin + size * i / bins, cells),
          std::min(begin + (size * (i + 1) + bins - 1) / bins, cells)};
}

template <typename X>
struct Cells {
  const X* image;
  size_t width;
  size_t channels;
  CellRange rows;
  CellRange columns;
};

template <typename X>
HALYARD_ALWAYS_INLINE void maxOfCells(const Cells<X>* cells, X* __restrict result) {
  const size_t channels = cells->channels;
  const auto cell = [&](uint64_t y, uint64_t x) {
    return cells->image + (y * cells->width + x) * channels;
  };
  std::copy_n(cell(cells->rows.begin, cells->columns.begin), channels, result);
  for (uint64_t y = cells->rows.begin; y < cells->rows.end; ++y) {
    for (uint64_t x = cells->columns.begin; x < cells->columns.end; ++x) {
      const X* __restrict values = cell(y, x);
      for (size_t c = 0; c < channels; ++c) {
        result[c] = values[c] > result[c] ? values[c] : result[c];
      }
    }
  }
}

template <typename X>
void pool(KernelServices& services, const Job& job) {
  const ImageDims& features = job.plan.features;
  const ImageDims& output = job.plan.output;
  const auto empty = static_cast<X>(job.output.zeroPoint);
  forEachLine<X>(services, job, [&] {
    return [&](const Region& region, size_t i, X* result) {
      const Box& box = region.box;
      const CellRange rows = poolingBin(box.y1, box.y2, i, output.height, features.height);
      for (size_t j = 0; j < output.width; ++j, result += output.channels) {
        const CellRange columns = poolingBin(box.x1, box.x2, j, output.width, features.width);
        if (rows.begin >= rows.end || columns.begin >= columns.end) {
          std::fill_n(result, output.channels, empty);
          continue;
        }
        const Cells<X> cells = {job.image<X>(region), features.width, features.channels, rows,
                                columns};
        runBest<&maxOfCells<X>>(&cells, result);
      }
    };
  });
}

template <Method method, typename X>
void run(KernelServices& services, const Job& job, const Sampling& sampling) {
  if constexpr (method == Method::ALIGN) {
    align<X>(services, job, sampling);
  } else {
    pool<X>(services, job);
  }
}

template <Method method>
Status compute(OperationContext& context) {
  Plan plan;
  HALYARD_RETURN_IF_ERROR(makePlan(context, kLayoutOf<method>, &plan));
  Sampling sampling;
  HALYARD_RETURN_IF_ERROR(readSampling<method>(context, &sampling));
  HALYARD_ASSIGN_OR_RETURN(const std::vector<Region> regions, readRegions(context, plan, sampling));
  const Tensor features = asNhwc(context, context.input(kFeatures), plan.nchw);
  NhwcOutput result(context, 0, plan.nchw);
  const Job job = {plan, regions, features, result.tensor()};
  switch (features.type) {
    case OperandType::TENSOR_FLOAT32:
      run<method, float>(context.services(), job, sampling);
      break;
    case OperandType::TENSOR_QUANT8_ASYMM:
      run<method, uint8_t>(context.services(), job, sampling);
      break;
    case OperandType::TENSOR_QUANT8_ASYMM_SIGNED:
      run<method, int8_t>(context.services(), job, sampling);
      break;
    default:
      return opFailed("feature map is {}, for which there is no kernel",
                      operandTypeName(features.type));
  }
  result.finish();
  return okStatus();
}

template <Method method>
OperationDefinition define(OperationType type) {
  OperationDefinition definition;
  definition.type = type;
  definition.signature.rows = boxRows();
  std::vector<OperandSpec> inputs = {typed("feature map", kMainColumn, rank(4)),
                                     typed("RoIs", kCoordinateColumn, rank(2)),
                                     fixed("batch index", OperandType::TENSOR_INT32, rank(1)),
                                     int32("output height"),
                                     int32("output width"),
                                     typed("height ratio", kScalarColumn),
                                     typed("width ratio", kScalarColumn)};
  if (method == Method::ALIGN) {
    inputs.push_back(int32("sampling points in height"));
    inputs.push_back(int32("sampling points in width"));
  }
  inputs.push_back(boolean("NCHW layout"));
  definition.signature.forms = {{"", std::move(inputs), {}}};
  definition.signature.outputs = {typed("output", kMainColumn, rank(4))};
  definition.infer = infer<method>;
  definition.reference = compute<method>;
  definition.acceptsZeroSized = true;
  return definition;
}

}  // namespace

const OperationDefinition& roiAlign() {
  return madeOnce([] { return define<Method::ALIGN>(OperationType::ROI_ALIGN); });
}

const OperationDefinition& roiPooling() {
  return madeOnce([] { return define<Method::POOLING>(OperationType::ROI_POOLING); });
}

}  // namespace halyard::ops
