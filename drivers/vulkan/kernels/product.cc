#include "kernels/product.h"

#include <algorithm>
#include <cstring>

#include "kernels/packed_filter.h"
#include "ops/multiply_accumulate.h"

namespace halyard::vulkandriver {
namespace {

// As in shaders/product.comp.
constexpr int32_t kTile = 0;
constexpr int32_t kSingle = 1;
constexpr int32_t kWiden = 2;
constexpr int32_t kFlat = 4;  // in OPTION
constexpr int32_t kOdd = 8;
constexpr int32_t kWhole = 16;
constexpr int32_t kPositions = 32;  // times the positions of a tile
constexpr int32_t kWide = 256;
constexpr int32_t kTensor = 512;
constexpr int32_t kRows = 1024;

// Fewer positions leave most of a tile empty.
constexpr size_t kFewPositions = 6;
// So many products of bytes have an exact sum as float32.
constexpr size_t kExactFours = 64;

// The image with channels that are a multiple of 4 or 16.
struct WideImage {
  Place place;
  size_t fours;  // of a position
};

template <typename... Values>
void append(std::vector<Parameter>& parameters, Values... values) {
  (parameters.emplace_back(static_cast<int32_t>(values)), ...);
}

size_t positionsOf(const ops::ImageDims& dims) { return dims.batch * dims.height * dims.width; }

bool isFlat(const WindowPlan& plan) {
  const auto keeps = [](const ops::WindowAxis& axis) {
    return axis.filter == 1 && axis.stride == 1 && axis.padBefore == 0 && axis.input == axis.output;
  };
  return keeps(plan.window.height) && keeps(plan.window.width);
}

// Sixteen bytes at a time take half of the time of four, unless most of them are behind the depth.
size_t runOf(const WindowPlan& plan, ElementKind kind) {
  const size_t depth = plan.inputsOfGroup;
  if (isReal(kind)) return 4;
  if (depth % 16 == 0) return 16;
  const bool isGrouped = plan.resultsOfGroup != plan.output.channels;
  const size_t wide = (depth + 15) / 16 * 16;
  constexpr size_t kEnoughChannels = 32;  // that read the widened image
  return !isGrouped && plan.output.channels >= kEnoughChannels && wide * 3 <= depth * 4 ? 16 : 4;
}

FilterShape shapeOf(const WindowPlan& plan, ElementKind kind) {
  return {plan.output.channels,
          static_cast<size_t>(plan.window.height.filter * plan.window.width.filter),
          plan.inputsOfGroup, runOf(plan, kind)};
}

bool isTaken(const Site& site, const WindowPlan& plan, ElementKind kind) {
  const ops::Tensor& filter = site.input(1);
  const ops::Tensor& bias = site.input(2);
  if (kind == ElementKind::INT32 || plan.nchw) return false;
  if (filter.data == nullptr || bias.data == nullptr || filter.elementCount() == 0) return false;
  const size_t groups = plan.output.channels / plan.resultsOfGroup;
  if (groups > 1 && (plan.resultsOfGroup % kPackedChannels != 0 || plan.inputsOfGroup % 4 != 0)) {
    return false;
  }
  const FilterShape shape = shapeOf(plan, kind);
  const size_t channels = plan.input.channels;
  const size_t widenedFours =
      channels % shape.run == 0 ? 0 : positionsOf(plan.input) * (channels / 4 + 4);
  if (std::max({widenedFours, positionsOf(plan.output),
                kFewPositions * shape.blocks() * kPackedChannels}) >= kMostItems) {
    return false;
  }
  return isReal(kind) || sumsFit(filter, bias, shape);
}

WideImage widened(const Site& site, const WindowPlan& plan, ElementKind kind, size_t run,
                  Recording& recording) {
  const size_t channels = plan.input.channels;
  const size_t fours = (channels + run - 1) / run * run / 4;
  if (channels % run == 0) return {site.in(0), fours};
  const size_t items = positionsOf(plan.input) * fours;
  const Place wide = recording.scratch(items * 4 * elementSize(site.input(0).type));
  std::vector<Parameter> parameters = {site.in(0), 0, 0, wide};
  append(parameters, positionsOf(plan.input), channels, fours, 0);
  recording.add({Shader::PRODUCT,
                 {kWiden, static_cast<int32_t>(kind), 0, channels % 4 != 0 ? kOdd : 0},
                 std::move(parameters),
                 static_cast<uint32_t>(items)});
  return {wide, fours};
}

// A tap's worth of values in the padding.
Place valuesOutside(const Site& site, size_t fours, Recording& recording) {
  const auto zero = static_cast<uint8_t>(site.input(0).zeroPoint);  // 0 for reals
  return recording.constant(
      std::vector<uint8_t>(fours * 4 * elementSize(site.input(0).type), zero));
}

struct Tiles {
  size_t positions;  // of a tile
  size_t items;
};

// The largest tiles that keep the device busy, and do not compute much behind the last position.
Tiles tilesOf(size_t positions, const FilterShape& shape, size_t lanes) {
  const size_t busy = lanes == kSoftwareLanes ? 128 : 8192;
  const auto covered = [&](size_t tile) {
    return (positions + lanes * tile - 1) / (lanes * tile) * lanes * tile;
  };
  for (const size_t tile : {4, 2, 1}) {
    const size_t items = covered(tile) / tile * shape.blocks();
    if (tile == 1 || (items >= busy && covered(tile) * 4 <= covered(1) * 5)) return {tile, items};
  }
  return {};
}

}  // namespace

Place addMultipliers(const Site& site, size_t channels, Recording& recording) {
  const ops::Tensor& filter = site.input(1);
  const bool isPerChannel = filter.type == OperandType::TENSOR_QUANT8_SYMM_PER_CHANNEL;
  const size_t scales = isPerChannel ? filter.channelQuant->scales.size() : channels;
  std::vector<uint8_t> bytes(channels * sizeof(float));
  for (size_t c = 0; c < std::min(channels, scales); ++c) {
    const float multiplier = ops::quantizedSumMultiplier(
        site.input(0).scale, isPerChannel ? filter.channelQuant->scales[c] : filter.scale,
        site.output(0).scale);
    std::memcpy(bytes.data() + c * sizeof(float), &multiplier, sizeof(float));
  }
  return recording.constant(std::move(bytes));
}

Result<bool> addProduct(const Site& site, const WindowPlan& plan, Recording& recording) {
  HALYARD_ASSIGN_OR_RETURN(const ElementKind kind, elementKind(site.input(0).type));
  if (!isTaken(site, plan, kind)) return false;
  HALYARD_ASSIGN_OR_RETURN(const ElementKind filterKind, elementKind(site.input(1).type));
  const RawValues filter = rawValues(site.input(1));
  const RawValues bias = rawValues(site.input(2));
  const FilterShape shape = shapeOf(plan, kind);
  const Place weights =
      recording.constant(packedFilterBytes(filter.type, shape),
                         [filter, shape](std::span<uint8_t> to) { packFilter(filter, shape, to); });
  const int32_t zeroPoint = site.input(0).zeroPoint;
  const Place addends = recording.constant(packedBiasBytes(shape), [=](std::span<uint8_t> to) {
    if (isReal(kind)) {
      packBias(bias, shape.channels, to);
    } else {
      packAddends(filter, bias, shape, zeroPoint, to);
    }
  });
  const WideImage wide = widened(site, plan, kind, shape.run, recording);
  const bool flat = isFlat(plan);
  const auto& [height, width] = plan.window;
  const size_t fours = shape.fours();
  const size_t blocksOfGroup = plan.resultsOfGroup == plan.output.channels
                                   ? shape.blocks()
                                   : plan.resultsOfGroup / kPackedChannels;
  std::vector<Parameter> parameters = {wide.place, weights, addends, site.out(0)};
  append(parameters, positionsOf(plan.output), plan.output.channels, shape.blocks(), fours);
  const size_t row = plan.input.width * wide.fours;
  append(parameters, plan.input.height * row, row, wide.fours, fours);
  append(parameters, height.output, width.output, blocksOfGroup, shape.taps);
  append(parameters, height.input, width.input, height.padBefore, width.padBefore);
  append(parameters, height.stride, width.stride, height.dilation, width.dilation);
  const size_t chunkTaps = isReal(kind) ? shape.taps : std::max<size_t>(kExactFours / fours, 1);
  append(parameters, width.filter, chunkTaps, isReal(kind) ? fours : kExactFours);
  parameters.push_back(flat ? Parameter(0) : valuesOutside(site, fours, recording));
  if (!isReal(kind)) {
    const auto range = ops::activationRange(plan.activation, site.output(0));
    parameters.emplace_back(addMultipliers(site, shape.blocks() * kPackedChannels, recording));
    append(parameters, filter.zeroPoint, site.output(0).zeroPoint, 0);
    append(parameters, range.min, range.max);
  }
  const bool isTile = !flat || positionsOf(plan.output) > kFewPositions ||
                      plan.resultsOfGroup != plan.output.channels;
  const bool isWhole = isReal(kind) || fours * shape.taps <= kExactFours;
  Tiles tiles = {0, positionsOf(plan.output) * shape.blocks() * kPackedChannels};
  if (isTile) tiles = tilesOf(positionsOf(plan.output), shape, recording.lanes());
  const int32_t option = static_cast<int32_t>(plan.activation) | (flat ? kFlat : 0) |
                         (plan.output.channels % 4 != 0 ? kOdd : 0) | (isWhole ? kWhole : 0) |
                         (shape.run == 16 ? kWide : 0) |
                         static_cast<int32_t>(tiles.positions) * kPositions;
  recording.add({Shader::PRODUCT,
                 {isTile ? kTile : kSingle, static_cast<int32_t>(kind),
                  static_cast<int32_t>(filterKind), option},
                 std::move(parameters),
                 static_cast<uint32_t>(tiles.items)});
  return true;
}

Result<bool> addMatrixProduct(const Site& site, const MatrixProduct& product,
                              Recording& recording) {
  const auto& [batch, rows, columns, depth, isRightTransposed] = product;
  HALYARD_ASSIGN_OR_RETURN(const ElementKind kind, elementKind(site.input(0).type));
  if (!isReal(kind) || depth % 4 != 0) return false;
  const FilterShape shape = {columns, 1, depth};
  const Tiles tiles = tilesOf(rows, shape, recording.lanes());
  if (std::max(batch * tiles.items, batch * rows) >= kMostItems) return false;
  const size_t fours = shape.fours();
  std::vector<Parameter> parameters = {site.in(0), site.in(1),
                                       recording.scratch(packedBiasBytes(shape)), site.out(0)};
  append(parameters, rows, columns, shape.blocks(), fours);
  append(parameters, 0, 0, fours, 0);
  append(parameters, 1, 1, shape.blocks(), 1);
  append(parameters, 1, 1, 0, 0);
  append(parameters, 1, 1, 1, 1);
  append(parameters, 1, 1, fours, 0);
  append(parameters, 0, 0, 0, 0);
  append(parameters, 0, 0, 0, 0);
  append(parameters, tiles.items / recording.lanes(), rows * fours, depth * columns, 0);
  const int32_t option = kFlat | kWhole | kTensor | (isRightTransposed ? kRows : 0) |
                         (columns % 4 != 0 ? kOdd : 0) |
                         static_cast<int32_t>(tiles.positions) * kPositions;
  recording.add({Shader::PRODUCT,
                 {kTile, static_cast<int32_t>(kind), static_cast<int32_t>(kind), option},
                 std::move(parameters),
                 static_cast<uint32_t>(batch * tiles.items)});
  return true;
}

}  // namespace halyard::vulkandriver
