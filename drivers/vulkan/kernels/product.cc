#include "kernels/product.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "kernels/moves.h"
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
constexpr int32_t kRows = 512;
constexpr int32_t kRaw = 1024;
constexpr int32_t kTransposed = 2048;
constexpr int32_t kFilterZero = 4096;

// The tile of a work group in shaders/matrices.comp, and the fours of a tap that it takes at once.
constexpr size_t kMatrixPositions = 64;
constexpr size_t kMatrixChannels = 32;
constexpr size_t kMatrixFours = 8;
constexpr size_t kByteMatrixFours = 16;

// Fewer positions leave most of a tile empty.
constexpr size_t kFewPositions = 6;
// So many products of bytes have an exact sum as float32.
constexpr size_t kExactFours = 64;
// So many float16 values are added before their sum continues as float32.
constexpr size_t kHalfFours = 8;

template <typename... Values>
void append(std::vector<Parameter>& parameters, Values... values) {
  (parameters.emplace_back(static_cast<int32_t>(values)), ...);
}

size_t quotientUp(int64_t a, int64_t b) { return static_cast<size_t>((a + b - 1) / b); }

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

// The work of one operation.
struct Product {
  ElementKind kind;
  ElementKind filterKind;
  FilterShape shape;   // of one filter
  size_t filters = 1;  // one for each image
  bool isTransposed = false;
  bool isFlat = false;
  bool isRows = false;  // the filter is no constant
  bool isRaw = false;   // the bias is none, or the addends of bytes may leave 32 bits
  Shader form = Shader::PRODUCT;
  size_t parts = 1;     // filters, or phases of a transposed convolution
  ops::ImageDims grid;  // positions of all filters, or of a phase
  size_t taps = 1;      // of a result

  size_t positionsOfPart() const { return positionsOf(grid) / (isTransposed ? 1 : parts); }
};

// Whether cooperative matrices compute most of their products for results, and not for padding.
bool fillsMatrices(const WindowPlan& plan, const Product& product) {
  if (product.isTransposed || product.isRows || product.isRaw) return false;
  if (plan.resultsOfGroup != plan.output.channels) return false;
  const size_t part = isReal(product.kind) ? kMatrixFours : kByteMatrixFours;
  const size_t fours = product.shape.fours();
  return product.positionsOfPart() >= kMatrixPositions &&
         product.shape.channels >= kMatrixChannels &&
         (fours + part - 1) / part * part * 3 <= fours * 4;
}

// The form of the shader that suits the device.
Shader formOf(const WindowPlan& plan, const Product& product, const Recording& recording) {
  const ShaderForms& forms = recording.forms();
  const bool isFilling = fillsMatrices(plan, product);
  if (isReal(product.kind)) {
    const bool mayBeHalf = product.kind == ElementKind::FLOAT16 || recording.isRelaxed();
    if (!mayBeHalf) return Shader::PRODUCT;
    if (forms.matrices.isThere() && isFilling) return Shader::MATRICES;
    return forms.halves ? Shader::PRODUCT_OF_HALVES : Shader::PRODUCT;
  }
  if (product.shape.run != 16 || product.isRaw) return Shader::PRODUCT;
  if (forms.byteMatrices.isThere() && isFilling) return Shader::BYTE_MATRICES;
  return forms.dots ? Shader::PRODUCT_OF_DOTS : Shader::PRODUCT;
}

bool usesMatrices(const Product& product) {
  return product.form == Shader::MATRICES || product.form == Shader::BYTE_MATRICES;
}
// Bytes become signed before they are multiplied.
bool usesSignedBytes(const Product& product) {
  return product.form == Shader::PRODUCT_OF_DOTS || product.form == Shader::BYTE_MATRICES;
}

Product productOf(const Site& site, const WindowPlan& plan, const Recording& recording,
                  ElementKind kind) {
  const auto& [height, width] = plan.window;
  Product product;
  product.kind = kind;
  product.shape = {plan.output.channels, static_cast<size_t>(height.filter * width.filter),
                   plan.inputsOfGroup, runOf(plan, kind)};
  product.filters = plan.filter.batch != 0 ? plan.input.batch : 1;
  product.isTransposed = plan.function == WindowFunction::TRANSPOSED;
  product.isFlat = !product.isTransposed && isFlat(plan);
  product.isRows = site.input(1).data == nullptr || plan.filter.batch != 0;
  const bool isConstant = plan.hasBias && site.input(2).data != nullptr && !product.isRows;
  product.isRaw = product.isTransposed || !isConstant ||
                  (!isReal(kind) && !sumsFit(site.input(2), product.shape));
  product.parts = product.filters;
  product.grid = plan.output;
  product.taps = product.shape.taps;
  if (product.isTransposed) {
    product.parts = static_cast<size_t>(std::min(height.stride, height.output) *
                                        std::min(width.stride, width.output));
    product.grid.height = quotientUp(height.output, height.stride);
    product.grid.width = quotientUp(width.output, width.stride);
    product.taps =
        quotientUp(height.filter, height.stride) * quotientUp(width.filter, width.stride);
  }
  product.form = formOf(plan, product, recording);
  return product;
}

struct Tiles {
  size_t positions;  // of a tile
  size_t items;      // of a part
};

// The largest tiles that keep the device busy, and do not compute much behind the last position.
Tiles tilesOf(const Product& product, size_t lanes) {
  const size_t busy = lanes == kSoftwareLanes ? 128 : 8192;
  const size_t positions = product.positionsOfPart();
  if (usesMatrices(product)) {
    const size_t rows = (positions + kMatrixPositions - 1) / kMatrixPositions;
    const size_t columns = (product.shape.channels + kMatrixChannels - 1) / kMatrixChannels;
    return {1, rows * columns * kGroupSize};
  }
  const auto covered = [&](size_t tile) {
    return (positions + lanes * tile - 1) / (lanes * tile) * lanes * tile;
  };
  for (const size_t tile : {4, 2, 1}) {
    const size_t items = covered(tile) / tile * product.shape.blocks();
    const bool isBusy = items * product.parts >= busy;
    if (tile == 1 || (isBusy && covered(tile) * 4 <= covered(1) * 5)) return {tile, items};
  }
  return {};
}

bool isTaken(const Site& site, const WindowPlan& plan, const Product& product, const Tiles& tiles) {
  const ops::Tensor& filter = site.input(1);
  if (product.kind == ElementKind::INT32 || filter.elementCount() == 0) return false;
  const FilterShape& shape = product.shape;
  const size_t groups = plan.output.channels / plan.resultsOfGroup;
  if (groups > 1 && (plan.resultsOfGroup % kPackedChannels != 0 || plan.inputsOfGroup % 4 != 0)) {
    return false;
  }
  const auto widenedFours = [&](size_t positions, size_t channels) {
    return channels % shape.run == 0 ? 0 : positions * (channels / 4 + 4);
  };
  if (product.isTransposed) {
    for (const ops::WindowAxis& axis : {plan.window.height, plan.window.width}) {
      const int64_t sum = axis.stride + axis.filter + axis.padBefore;
      if (sum > std::numeric_limits<int32_t>::max()) return false;
    }
    if (product.parts * tiles.items >= kMostItems) return false;
  }
  return std::max({widenedFours(positionsOf(plan.input), plan.input.channels),
                   widenedFours(product.filters * shape.channels * shape.taps, shape.depth),
                   positionsOf(product.grid), product.filters * tiles.items,
                   kFewPositions * shape.blocks() * kPackedChannels}) < kMostItems;
}

// A tap's worth of values in the padding.
Place valuesOutside(const Site& site, size_t fours, Recording& recording) {
  const auto zero = static_cast<uint8_t>(site.input(0).zeroPoint);  // 0 for reals
  return recording.constant(
      std::vector<uint8_t>(fours * 4 * elementSize(site.input(0).type), zero));
}

// A filter that is no constant, as [filters][channels][taps][depth].
Result<Place> filterRows(const Site& site, const WindowPlan& plan, const Product& product,
                         Recording& recording) {
  const ops::Tensor& filter = site.input(1);
  const FilterShape& shape = product.shape;
  HALYARD_ASSIGN_OR_RETURN(const ElementKind kind, elementKind(filter.type));
  Rows rows = {site.in(1), kind, product.filters * shape.channels * shape.taps, shape.depth};
  if (plan.filter.channel != 1) {
    // A matrix [depth][channels].
    Move move = moveOf(site, 1, 0, {});
    move.target = recording.scratch(filter.elementCount() * move.elementBytes);
    const auto depth = static_cast<ptrdiff_t>(shape.depth);
    const auto whole = static_cast<ptrdiff_t>(shape.channels) * depth;
    move.loops = {{product.filters, plan.filter.batch, whole},
                  {shape.channels, plan.filter.result, depth},
                  {shape.depth, plan.filter.channel, 1}};
    HALYARD_RETURN_IF_ERROR(addMove(move, recording));
    rows.place = move.target;
  }
  return widened(rows, filter, shape.run, recording);
}

Place packedFilter(const Site& site, const Product& product, Recording& recording) {
  const RawValues filter = rawValues(site.input(1));
  const FilterShape shape = product.shape;
  const bool halves = product.form == Shader::PRODUCT_OF_HALVES || product.form == Shader::MATRICES;
  return recording.constant(packedFilterBytes(filter.type, shape, halves),
                            [=](std::span<uint8_t> to) { packFilter(filter, shape, to, halves); });
}

// The number by which unsigned bytes become signed ones.
int32_t signedShift(const Product& product, ElementKind kind) {
  return usesSignedBytes(product) && kind == ElementKind::UINT8 ? 128 : 0;
}

Place addendsOf(const Site& site, const WindowPlan& plan, const Product& product,
                Recording& recording) {
  const FilterShape& shape = product.shape;
  if (!plan.hasBias) return recording.zeros(packedBiasBytes(shape));
  if (product.isRaw) return site.in(2);
  const RawValues filter = rawValues(site.input(1));
  const RawValues bias = rawValues(site.input(2));
  const ElementKind kind = product.kind;
  const int32_t zeroPoint = site.input(0).zeroPoint - signedShift(product, kind);
  return recording.constant(packedBiasBytes(shape), [=](std::span<uint8_t> to) {
    if (isReal(kind)) {
      packBias(bias, shape.channels, to);
    } else {
      packAddends(filter, bias, shape, zeroPoint, to);
    }
  });
}

}  // namespace

Place widened(const Rows& rows, const ops::Tensor& tensor, size_t run, Recording& recording) {
  if (rows.channels % run == 0) return rows.place;
  const size_t fours = (rows.channels + run - 1) / run * run / 4;
  const size_t items = rows.positions * fours;
  const Place wide = recording.scratch(items * 4 * elementSize(tensor.type));
  // Channels of this value add nothing to a sum.
  const int32_t nothing = tensor.zeroPoint;
  std::vector<Parameter> parameters = {rows.place, 0, nothing, wide};
  append(parameters, rows.positions, rows.channels, fours, 0);
  recording.add({Shader::PRODUCT,
                 {kWiden, static_cast<int32_t>(rows.kind), 0, rows.channels % 4 != 0 ? kOdd : 0},
                 std::move(parameters),
                 static_cast<uint32_t>(items)});
  return wide;
}

Result<Place> addMultipliers(const Site& site, size_t channels, Recording& recording) {
  const ops::Tensor& filter = site.input(1);
  const bool isPerChannel = filter.type == OperandType::TENSOR_QUANT8_SYMM_PER_CHANNEL;
  if (isPerChannel && filter.channelQuant == nullptr) return badData("the filter has no scales");
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

namespace {

// The most fours whose products have one short sum.
size_t chunkFours(const Product& product) {
  if (product.form == Shader::PRODUCT_OF_HALVES) return kHalfFours;
  const bool isExact = isReal(product.kind) || usesSignedBytes(product);
  return isExact ? product.shape.fours() * product.shape.taps : kExactFours;
}

// From the extents to the chunks.
void appendGeometry(const WindowPlan& plan, const Product& product,
                    std::vector<Parameter>& parameters) {
  const FilterShape& shape = product.shape;
  const auto& [height, width] = plan.window;
  const size_t fours = shape.fours();
  const bool isGrouped = plan.resultsOfGroup != plan.output.channels;
  // A position of a grouped image has the channels of all groups.
  const size_t step = isGrouped ? plan.input.channels / 4 : fours;
  const size_t row = plan.input.width * step;
  append(parameters, product.positionsOfPart(), shape.channels, shape.blocks(), fours);
  append(parameters, plan.input.height * row, row, step, fours);
  append(parameters, product.grid.height, product.grid.width,
         isGrouped ? plan.resultsOfGroup / kPackedChannels : shape.blocks(), shape.taps);
  append(parameters, height.input, width.input, height.padBefore, width.padBefore);
  append(parameters, height.stride, width.stride);
  if (product.isTransposed) {
    append(parameters, -1, -1);
  } else {
    append(parameters, height.dilation, width.dilation);
  }
  const size_t chunk = chunkFours(product);
  append(parameters, width.filter, std::max<size_t>(chunk / fours, 1), chunk);
}

int32_t optionOf(const WindowPlan& plan, const Product& product, int32_t filterZeroPoint) {
  const FilterShape& shape = product.shape;
  const bool isWhole = shape.fours() * product.taps <= chunkFours(product);
  return static_cast<int32_t>(plan.activation) | (product.isFlat ? kFlat : 0) |
         (plan.output.channels % 4 != 0 ? kOdd : 0) | (isWhole ? kWhole : 0) |
         (shape.run == 16 ? kWide : 0) | (product.isRows ? kRows : 0) | (product.isRaw ? kRaw : 0) |
         (product.isTransposed ? kTransposed : 0) |
         (usesSignedBytes(product) && filterZeroPoint != 0 ? kFilterZero : 0);
}

// Of bytes.
struct Quantisation {
  Parameter multipliers = 0;
  int32_t filterZeroPoint = 0;
  int32_t resultZeroPoint = 0;
  int32_t imageZeroPoint = 0;
  int32_t low = 0;
  int32_t high = 0;
};

// FUNCTION of the shader.
int32_t functionOf(const Product& product, bool isTile, const ShaderForms& forms) {
  if (!usesMatrices(product)) return isTile ? kTile : kSingle;
  const MatrixSize& size = product.form == Shader::MATRICES ? forms.matrices : forms.byteMatrices;
  return static_cast<int32_t>(size.rows | size.columns << 8 | size.depth << 16 |
                              size.subgroups << 24);
}

// `outside`: values in the padding.
void addDispatch(const WindowPlan& plan, const Product& product, const ProductPlaces& places,
                 Parameter outside, const Quantisation& bytes, Recording& recording) {
  const FilterShape& shape = product.shape;
  const size_t positions = positionsOf(plan.output);
  const bool isTile = !product.isFlat || positions > kFewPositions || product.parts > 1 ||
                      plan.resultsOfGroup != plan.output.channels;
  Tiles tiles = {0, positions * shape.blocks() * kPackedChannels};
  if (isTile) tiles = tilesOf(product, recording.forms().lanes);
  std::vector<Parameter> parameters = {places.image, places.filter, places.addends, places.result};
  appendGeometry(plan, product, parameters);
  parameters.insert(parameters.end(), {outside, bytes.multipliers});
  append(parameters, bytes.filterZeroPoint, bytes.resultZeroPoint, bytes.imageZeroPoint);
  append(parameters, bytes.low, bytes.high, 0, 0);
  append(parameters, tiles.items / recording.forms().lanes);
  if (product.isTransposed) {
    append(parameters, plan.output.height, plan.output.width, 0);
  } else {
    append(parameters, product.positionsOfPart() * shape.fours(),
           shape.channels * shape.taps * shape.fours(), 0);
  }
  recording.add({product.form,
                 {functionOf(product, isTile, recording.forms()),
                  static_cast<int32_t>(product.kind), static_cast<int32_t>(product.filterKind),
                  optionOf(plan, product, bytes.filterZeroPoint) |
                      static_cast<int32_t>(tiles.positions) * kPositions},
                 std::move(parameters),
                 static_cast<uint32_t>(product.parts * tiles.items)});
}

}  // namespace

void addGroups(const WindowPlan& plan, const ProductPlaces& places, Recording& recording) {
  Product product;
  product.kind = ElementKind::FLOAT32;
  product.filterKind = product.kind;
  product.shape = {plan.output.channels, 1, plan.inputsOfGroup};
  product.isFlat = true;
  product.grid = plan.output;
  addDispatch(plan, product, places, 0, {}, recording);
}

Result<bool> takesMatrices(const Site& site, const WindowPlan& plan, const Recording& recording) {
  HALYARD_ASSIGN_OR_RETURN(const ElementKind kind, elementKind(site.input(0).type));
  return usesMatrices(productOf(site, plan, recording, kind));
}

Result<bool> addProduct(const Site& site, const WindowPlan& plan, Recording& recording) {
  HALYARD_ASSIGN_OR_RETURN(const ElementKind kind, elementKind(site.input(0).type));
  Product product = productOf(site, plan, recording, kind);
  if (!isTaken(site, plan, product, tilesOf(product, recording.forms().lanes))) return false;
  HALYARD_ASSIGN_OR_RETURN(product.filterKind, elementKind(site.input(1).type));
  const FilterShape& shape = product.shape;
  Rows image = {{}, kind, positionsOf(plan.input), plan.input.channels};
  HALYARD_ASSIGN_OR_RETURN(image.place, orderedInput(site, plan, recording));
  const Place wide = widened(image, site.input(0), shape.run, recording);
  Place filter = {};
  if (product.isRows) {
    HALYARD_ASSIGN_OR_RETURN(filter, filterRows(site, plan, product, recording));
  } else {
    filter = packedFilter(site, product, recording);
  }
  const Place result = orderedOutput(site, plan, recording);
  Quantisation quantisation;
  if (!isReal(kind)) {
    const auto range = ops::activationRange(plan.activation, site.output(0));
    HALYARD_ASSIGN_OR_RETURN(const Place multipliers,
                             addMultipliers(site, shape.blocks() * kPackedChannels, recording));
    quantisation = {multipliers,
                    ops::filterZeroPoint(site.input(1)) - signedShift(product, product.filterKind),
                    site.output(0).zeroPoint,
                    site.input(0).zeroPoint,
                    range.min,
                    range.max};
  }
  const Parameter outside =
      product.isFlat ? Parameter(0) : Parameter(valuesOutside(site, shape.fours(), recording));
  addDispatch(plan, product, {wide, filter, addendsOf(site, plan, product, recording), result},
              outside, quantisation, recording);
  HALYARD_RETURN_IF_ERROR(finishOutput(site, plan, result, recording));
  return true;
}

}  // namespace halyard::vulkandriver
