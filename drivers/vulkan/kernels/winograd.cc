#include "kernels/winograd.h"

#include <algorithm>
#include <array>

#include "kernels/packed_filter.h"
#include "kernels/product.h"

namespace halyard::vulkandriver {
namespace {

// As in shaders/winograd.comp.
constexpr int32_t kSpread = 0;
constexpr int32_t kCollect = 1;
constexpr size_t kSide = 4;  // of a tile's results
constexpr size_t kCells = 6;
constexpr size_t kGroups = kCells * kCells;

// A tile of values begins this many floats later. So neighbours are in different sets of the
// caches.
constexpr size_t kGap = 16;

struct Tiles {
  size_t rows;
  size_t columns;
  size_t count;  // of all images
};

Tiles tilesOf(const WindowPlan& plan) {
  const size_t rows = (plan.output.height + kSide - 1) / kSide;
  const size_t columns = (plan.output.width + kSide - 1) / kSide;
  return {rows, columns, plan.output.batch * rows * columns};
}

size_t channelsOfTile(const WindowPlan& plan) { return kGroups * plan.input.channels + kGap; }

bool isTaken(const Site& site, const WindowPlan& plan) {
  const ops::Tensor& filter = site.input(1);
  if (filter.type != OperandType::TENSOR_FLOAT32 || plan.nchw) return false;
  if (filter.data == nullptr || site.input(2).data == nullptr) return false;
  for (const ops::WindowAxis& axis : {plan.window.height, plan.window.width}) {
    if (axis.filter != 3 || axis.stride != 1 || axis.dilation != 1) return false;
  }
  const size_t inputs = plan.input.channels;
  const size_t results = plan.output.channels;
  if (plan.resultsOfGroup != results || inputs % 4 != 0 || results % kPackedChannels != 0) {
    return false;
  }
  // Fewer tiles or channels do not pay for the transformations.
  constexpr size_t kEnoughTiles = 16;
  constexpr size_t kEnoughChannels = 64;
  const size_t tiles = tilesOf(plan).count;
  return tiles >= kEnoughTiles && std::min(inputs, results) >= kEnoughChannels &&
         tiles * std::max(inputs, results) / 4 < kMostItems;
}

// G g G' of each pair of channels: [36][results][inputs].
std::vector<float> transformedFilter(const float* filter, size_t results, size_t inputs) {
  constexpr double kG[kCells][3] = {{1.0 / 4, 0, 0},
                                    {-1.0 / 6, -1.0 / 6, -1.0 / 6},
                                    {-1.0 / 6, 1.0 / 6, -1.0 / 6},
                                    {1.0 / 24, 1.0 / 12, 1.0 / 6},
                                    {1.0 / 24, -1.0 / 12, 1.0 / 6},
                                    {0, 0, 1}};
  std::vector<float> transformed(kGroups * results * inputs);
  for (size_t k = 0; k < results; ++k) {
    for (size_t c = 0; c < inputs; ++c) {
      std::array<std::array<double, 3>, kCells> lines = {};
      for (size_t y = 0; y < kCells; ++y) {
        for (size_t v = 0; v < 3; ++v) {
          for (size_t u = 0; u < 3; ++u) {
            lines[y][u] += kG[y][v] * double{filter[((k * 3 + v) * 3 + u) * inputs + c]};
          }
        }
      }
      for (size_t i = 0; i < kGroups; ++i) {
        double sum = 0;
        for (size_t u = 0; u < 3; ++u) sum += lines[i / kCells][u] * kG[i % kCells][u];
        transformed[(i * results + k) * inputs + c] = static_cast<float>(sum);
      }
    }
  }
  return transformed;
}

// The grouped convolution between the transformations, with tiles as positions.
WindowPlan planOfGroups(const WindowPlan& plan, size_t tiles) {
  const auto width = static_cast<int64_t>(tiles);
  WindowPlan groups;
  groups.window = {{1, 1, 1, 1, 0, 1}, {width, 1, 1, 1, 0, width}};
  groups.input = {1, 1, tiles, channelsOfTile(plan)};
  groups.output = {1, 1, tiles, kGroups * plan.output.channels};
  groups.inputsOfGroup = plan.input.channels;
  groups.resultsOfGroup = plan.output.channels;
  return groups;
}

std::vector<Parameter> parametersOf(Place source, Parameter bias, Place target, size_t tileFours,
                                    const Tiles& tiles, const ops::ImageDims& image) {
  const auto word = [](size_t value) { return static_cast<int32_t>(value); };
  return {source,
          bias,
          target,
          word(tileFours),
          word(image.channels / 4),
          word(tiles.columns),
          word(tiles.rows),
          0,
          word(image.height),
          word(image.width)};
}

}  // namespace

Result<bool> addWinograd(const Site& site, const WindowPlan& plan, Recording& recording) {
  if (!isTaken(site, plan)) return false;
  const Tiles tiles = tilesOf(plan);
  const WindowPlan groups = planOfGroups(plan, tiles.count);
  const size_t inputs = plan.input.channels;
  const size_t results = plan.output.channels;
  const FilterShape shape = {groups.output.channels, 1, inputs};
  const size_t filterBytes = packedFilterBytes(OperandType::TENSOR_FLOAT32, shape);
  const size_t valueBytes = tiles.count * groups.input.channels * sizeof(float);
  const size_t sumBytes = tiles.count * groups.output.channels * sizeof(float);
  constexpr size_t kParameters = 1024;  // of the dispatches, with their alignment
  const size_t constants = filterBytes + packedBiasBytes(shape) + kParameters;
  if (!recording.takeSpare(constants, valueBytes + sumBytes)) return false;

  const Place values = recording.scratch(valueBytes);
  const Place sums = recording.scratch(sumBytes);
  std::vector<Parameter> spread =
      parametersOf(site.in(0), 0, values, groups.input.channels / 4, tiles, plan.input);
  for (const int64_t padding : {plan.window.height.padBefore, plan.window.width.padBefore}) {
    spread.emplace_back(static_cast<int32_t>(padding));
  }
  recording.add({Shader::WINOGRAD,
                 {kSpread, 0, 0, 0},
                 std::move(spread),
                 static_cast<uint32_t>(tiles.count * inputs / 4)});
  const auto* const filter = rawValues(site.input(1)).as<float>();
  const Place weights = recording.constant(filterBytes, [=](std::span<uint8_t> to) {
    const std::vector<float> transformed = transformedFilter(filter, results, inputs);
    packFilter({OperandType::TENSOR_FLOAT32, transformed.data(), 0}, shape, to);
  });
  addGroups(groups, {values, weights, recording.zeros(packedBiasBytes(shape)), sums}, recording);
  const RawValues bias = rawValues(site.input(2));
  const Place addends = recording.constant(
      results * sizeof(float), [=](std::span<uint8_t> to) { packBias(bias, results, to); });
  std::vector<Parameter> collect =
      parametersOf(sums, addends, site.out(0), groups.output.channels / 4, tiles, plan.output);
  collect.insert(collect.end(), {0, 0});
  recording.add({Shader::WINOGRAD,
                 {kCollect, 0, 0, static_cast<int32_t>(plan.activation)},
                 std::move(collect),
                 static_cast<uint32_t>(tiles.count * results / 4)});
  return true;
}

}  // namespace halyard::vulkandriver
