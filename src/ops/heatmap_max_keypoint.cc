// HEATMAP_MAX_KEYPOINT: the highest position of each heatmap, refined between its pixels.
#include <algorithm>
#include <array>
#include <cmath>

#include "ops/boxes.h"
#include "ops/conv_geometry.h"
#include "ops/layout.h"
#include "ops/operand_checks.h"
#include "ops/operation.h"

namespace halyard::ops {
namespace {

enum Input : size_t { kHeatmaps, kBoxes, kLayout };

Status readDims(const OperationContext& context, bool* nchw, ImageDims* dims) {
  const Tensor& heatmaps = context.input(kHeatmaps);
  HALYARD_RETURN_IF_ERROR(context.read(kLayout, nchw), "layout");
  HALYARD_RETURN_IF_ERROR(readImageDims("heatmaps", heatmaps.dims, *nchw, dims));
  if (dims->height == dims->width && dims->height >= 2) return okStatus();
  return opFailed("heatmaps {} are {} high and {} wide, expected squares of at least 2",
                  realShapeText(heatmaps.dims), dims->height, dims->width);
}

Status infer(OperationContext& context) {
  bool nchw = false;
  ImageDims dims;
  HALYARD_RETURN_IF_ERROR(checkCoordinates(
      {{&context.input(kBoxes), "boxes"}, {&context.output(1), "output 1 (keypoints)"}}));
  HALYARD_RETURN_IF_ERROR(readDims(context, &nchw, &dims));
  const auto boxes = static_cast<uint32_t>(dims.batch);
  const auto keypoints = static_cast<uint32_t>(dims.channels);
  HALYARD_RETURN_IF_ERROR(checkShape(context.input(kBoxes), {boxes, 4}, "boxes"));
  context.output(0).dims = {boxes, keypoints};
  context.output(1).dims = {boxes, keypoints, 2};
  return okStatus();
}

// One heatmap of an [N,S,S,K] tensor.
struct Heatmap {
  const Tensor* tensor;
  size_t offset;  // of its first pixel
  size_t size;
  size_t stride;  // between pixels

  float at(size_t y, size_t x) const { return realAt(*tensor, offset + (y * size + x) * stride); }
};

struct Pixel {
  size_t y;
  size_t x;
};

// Returns the first maximum in row-major order; NaN never counts.
Pixel highestPixel(const Heatmap& map) {
  Pixel best = {0, 0};
  float highest = map.at(0, 0);
  for (size_t y = 0; y < map.size; ++y) {
    for (size_t x = 0; x < map.size; ++x) {
      const float value = map.at(y, x);
      if (!ranksBefore(value, highest)) continue;
      highest = value;
      best = {y, x};
    }
  }
  return best;
}

struct Peak {
  float deltaX = 0;  // distance from the pixel
  float deltaY = 0;
  float score = 0;
};

// Returns the peak of the parabola through a pixel and its neighbours; the heatmap's edges mirror
// them. If the curvature is too small (by `epsilon`) to determine a peak, it is the pixel itself.
Peak peakAround(const Heatmap& map, Pixel pixel, float epsilon) {
  const auto mirrored = [&](size_t i, int step) {
    if (step < 0) return i == 0 ? 1 : i - 1;
    if (step > 0) return i == map.size - 1 ? i - 1 : i + 1;
    return i;
  };
  const auto g = [&](int dy, int dx) {
    return map.at(mirrored(pixel.y, dy), mirrored(pixel.x, dx));
  };
  const float value = g(0, 0);
  const float bx = -(g(0, 1) - g(0, -1)) / 2;
  const float by = -(g(1, 0) - g(-1, 0)) / 2;
  const float axx = g(0, -1) - 2 * value + g(0, 1);
  const float ayy = g(-1, 0) - 2 * value + g(1, 0);
  const float axy = (g(1, 1) - g(1, -1) - g(-1, 1) + g(-1, -1)) / 4;
  const float determinant = axx * ayy - axy * axy;
  if (std::abs(determinant) < epsilon + epsilon * axx * ayy) return {0, 0, value};
  float dx = (ayy * bx - axy * by) / determinant;
  float dy = (axx * by - axy * bx) / determinant;
  constexpr float kFarthest = 1.5f;
  const float distance = std::max(std::abs(dx), std::abs(dy));
  if (distance > kFarthest) {
    dx *= kFarthest / distance;
    dy *= kFarthest / distance;
  }
  const float score =
      value - bx * dx - by * dy + (axx * dx * dx + 2 * axy * dx * dy + ayy * dy * dy) / 2;
  return {dx, dy, score};
}

// Writes the keypoints of box n.
void locate(const Tensor& heatmaps, const Box& box, size_t n, Tensor& scores, Tensor& keypoints) {
  const size_t size = heatmaps.dims[1];
  const size_t count = heatmaps.dims[3];
  const bool half = heatmaps.type == OperandType::TENSOR_FLOAT16;
  const auto sizeReal = static_cast<float>(size);
  for (size_t k = 0; k < count; ++k) {
    const Heatmap map = {&heatmaps, n * size * size * count + k, size, count};
    const Pixel pixel = highestPixel(map);
    const Peak peak = peakAround(map, pixel, half ? 1e-3f : 1e-5f);
    const float x = (static_cast<float>(pixel.x) + peak.deltaX + 0.5f) / sizeReal;
    const float y = (static_cast<float>(pixel.y) + peak.deltaY + 0.5f) / sizeReal;
    const size_t i = n * count + k;
    setReal(scores, i, peak.score);
    setReal(keypoints, i * 2, box.x1 + x * (box.x2 - box.x1));
    setReal(keypoints, i * 2 + 1, box.y1 + y * (box.y2 - box.y1));
  }
}

Status compute(OperationContext& context) {
  bool nchw = false;
  ImageDims dims;
  HALYARD_RETURN_IF_ERROR(readDims(context, &nchw, &dims));
  std::vector<Box> boxes;
  for (size_t n = 0; n < dims.batch; ++n) {
    boxes.push_back(boxAt(context.input(kBoxes), n));
    HALYARD_RETURN_IF_ERROR(checkCorners(boxes.back(), "box", n));
  }
  const Tensor heatmaps = asNhwc(context, context.input(kHeatmaps), nchw);
  constexpr size_t kPixelsPerRange = 1 << 14;
  const size_t pixels = dims.height * dims.width * dims.channels;
  context.services().parallelFor(
      dims.batch, kPixelsPerRange / pixels + 1, [&](size_t begin, size_t end) {
        for (size_t n = begin; n < end; ++n) {
          locate(heatmaps, boxes[n], n, context.output(0), context.output(1));
        }
      });
  return okStatus();
}

OperationDefinition define() {
  OperationDefinition definition;
  definition.type = OperationType::HEATMAP_MAX_KEYPOINT;
  definition.signature.rows = boxRows();
  definition.signature.forms = {
      {"",
       {typed("heatmaps", kMainColumn, rank(4)), typed("boxes", kCoordinateColumn, rank(2)),
        boolean("NCHW layout")},
       {}}};
  definition.signature.outputs = {typed("scores", kMainColumn, rank(2)),
                                  typed("keypoints", kCoordinateColumn, rank(3))};
  definition.infer = infer;
  definition.reference = compute;
  // The kernel uses another epsilon in half precision, so it must see the type.
  definition.float16AsFloat32 = false;
  definition.precision = Precision::APPROXIMATE;
  return definition;
}

}  // namespace

const OperationDefinition& heatmapMaxKeypoint() {
  return madeOnce([] { return define(); });
}

}  // namespace halyard::ops
