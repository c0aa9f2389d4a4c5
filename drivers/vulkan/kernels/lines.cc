// Functions of the elements along some axes.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "kernels/channels.h"
#include "kernels/kernel_list.h"
#include "ops/axis.h"
#include "ops/axis_lines.h"
#include "ops/data_movement.h"
#include "ops/reduction.h"
#include "ops/requantize.h"

namespace halyard::vulkandriver {
namespace {

constexpr size_t kAxes = 4;

// As in shaders/lines.comp and shaders/long_lines.comp.
constexpr int32_t kMean = 1;
constexpr int32_t kMaximum = 2;
constexpr int32_t kSoftmax = 20;
constexpr int32_t kLogSoftmax = 21;
constexpr int32_t kOneAxis = 1;  // in OPTION
constexpr int32_t kGreatest = 22;
constexpr int32_t kInstance = 23;

int32_t linesFunction(OperationType type) {
  switch (type) {
    case OperationType::REDUCE_SUM:
      return 0;
    case OperationType::MEAN:
      return 1;
    case OperationType::REDUCE_MAX:
      return 2;
    case OperationType::REDUCE_MIN:
      return 3;
    case OperationType::REDUCE_ALL:
      return 4;
    case OperationType::REDUCE_ANY:
      return 5;
    case OperationType::REDUCE_PROD:
      return 6;
    case OperationType::ARGMAX:
      return 10;
    case OperationType::ARGMIN:
      return 11;
    case OperationType::SOFTMAX:
      return 20;
    case OperationType::LOG_SOFTMAX:
      return 21;
    case OperationType::INSTANCE_NORMALIZATION:
      return kInstance;
    case OperationType::LOCAL_RESPONSE_NORMALIZATION:
      return 24;
    case OperationType::CUMSUM:
      return 30;
    case OperationType::ROUND_TO_DYNAMIC_RANGE:
      return 31;
    default:
      return 22;  // L2_NORMALIZATION
  }
}

struct Axis {
  size_t extent;
  size_t step;
};

struct LinesPlan {
  std::vector<Axis> kept;     // outermost first; they choose the line
  std::vector<Axis> reduced;  // outermost first
  float beta = 1;
  std::vector<Parameter> more = {};  // of the function
  uint64_t rounds = 1;               // of loops, for each element of a line
};

size_t countOf(const std::vector<Axis>& axes) {
  size_t count = 1;
  for (const Axis& axis : axes) count *= axis.extent;
  return count;
}

Status append(const std::vector<Axis>& axes, std::vector<Parameter>& parameters) {
  if (axes.size() > kAxes) return badData("{} groups of axes, at most {}", axes.size(), kAxes);
  for (size_t i = 0; i < kAxes; ++i) {
    const Axis axis = i < axes.size() ? axes[axes.size() - 1 - i] : Axis{1, 0};
    parameters.emplace_back(static_cast<int32_t>(axis.extent));
    parameters.emplace_back(static_cast<int32_t>(axis.step));
  }
  return okStatus();
}

// exp(-beta * scale * d) for every distance d of two bytes, as the reference kernel has it.
std::vector<uint8_t> exponentialTable(float beta, float scale) {
  std::vector<uint8_t> bytes(256 * sizeof(double));
  const double rate = -static_cast<double>(beta) * static_cast<double>(scale);
  for (size_t d = 0; d < 256; ++d) {
    const double value = std::exp(rate * static_cast<double>(d));
    std::memcpy(bytes.data() + d * sizeof value, &value, sizeof value);
  }
  return bytes;
}

Status addLines(const Site& site, const LinesPlan& plan, Recording& recording) {
  HALYARD_ASSIGN_OR_RETURN(const ElementKind kind, elementKind(site.input(0).type));
  HALYARD_RETURN_IF_ERROR(checkRounds(plan.rounds * countOf(plan.reduced)));
  std::vector<Parameter> parameters = {site.in(0), site.out(0),
                                       static_cast<int32_t>(countOf(plan.reduced))};
  HALYARD_RETURN_IF_ERROR(append(plan.kept, parameters));
  HALYARD_RETURN_IF_ERROR(append(plan.reduced, parameters));
  const bool isBytes = kind == ElementKind::UINT8 || kind == ElementKind::INT8;
  const auto range =
      isBytes ? ops::quantizedRange(site.output(0).type) : ops::ClampRange<int32_t>{0, 1};
  parameters.insert(parameters.end(),
                    {Parameter::real(plan.beta), site.input(0).zeroPoint, site.output(0).zeroPoint,
                     range.min, range.max, Parameter::real(site.output(0).scale)});
  if (isBytes && site.type == OperationType::SOFTMAX) {
    parameters.emplace_back(recording.constant(exponentialTable(plan.beta, site.input(0).scale)));
  }
  parameters.insert(parameters.end(), plan.more.begin(), plan.more.end());
  recording.add({Shader::LINES,
                 {linesFunction(site.type), static_cast<int32_t>(kind), 0,
                  plan.reduced.size() == 1 ? kOneAxis : 0},
                 std::move(parameters),
                 static_cast<uint32_t>(countOf(plan.kept))});
  return okStatus();
}

// Long lines, with a work group for each.
void addLongLines(const Site& site, ElementKind kind, int32_t function, size_t extent,
                  std::vector<Parameter> parameters, Recording& recording) {
  const size_t lines = site.input(0).elementCount() / extent;
  recording.add({Shader::LONG_LINES,
                 {function, static_cast<int32_t>(kind), 0, 0},
                 std::move(parameters),
                 static_cast<uint32_t>(lines * kGroupSize)});
}

Status addSoftmax(const Site& site, ElementKind kind, size_t extent, float beta,
                  Recording& recording) {
  // Three loops of each lane, and one over its neighbours. One lane adds all bytes.
  HALYARD_RETURN_IF_ERROR(
      checkRounds((isReal(kind) ? 0 : extent) + 3 * (extent / kGroupSize + 1) + 2 * kGroupSize));
  const auto range = ops::quantizedRange(site.output(0).type);
  std::vector<Parameter> parameters = {site.in(0),
                                       site.out(0),
                                       static_cast<int32_t>(extent),
                                       Parameter::real(beta),
                                       site.output(0).zeroPoint,
                                       range.min,
                                       range.max,
                                       Parameter::real(site.output(0).scale)};
  if (!isReal(kind)) {
    parameters.emplace_back(recording.constant(exponentialTable(beta, site.input(0).scale)));
  }
  addLongLines(site, kind, linesFunction(site.type), extent, std::move(parameters), recording);
  return okStatus();
}

// A mean or a maximum of whole axes, as a pool with one window for each channel.
Result<bool> addAsPool(const Site& site, const std::vector<ops::DimGroup>& groups,
                       Recording& recording) {
  constexpr size_t kMostSummands = 4096;  // more need the sum of lines.comp in double precision
  const int32_t function = linesFunction(site.type);
  if (function != kMean && function != kMaximum) return false;
  if (groups.size() < 2 || groups.size() > 3) return false;
  const auto isReduced = [&](size_t i) { return groups[i].outputStride == 0; };
  const size_t reduced = groups.size() - 2;
  if (!isReduced(reduced) || isReduced(reduced + 1)) return false;
  const size_t extent = groups[reduced].extent;
  if (extent > kMostSummands) return false;
  const size_t batch = reduced == 0 ? 1 : groups[0].extent;
  const size_t channels = groups[reduced + 1].extent;
  WindowPlan plan;
  plan.function = function == kMean ? WindowFunction::AVERAGE : WindowFunction::MAXIMUM;
  const auto cells = static_cast<int64_t>(extent);
  plan.window = {{1, 1, 1, 1, 0, 1}, {cells, cells, 1, 1, 0, 1}};
  plan.input = {batch, 1, extent, channels};
  plan.output = {batch, 1, 1, channels};
  return addChannels(site, plan, recording);
}

}  // namespace

Status recordReduction(const Site& site, Recording& recording) {
  std::vector<ops::DimGroup> groups;
  HALYARD_RETURN_IF_ERROR(ops::planReduction(site.context, &groups));
  HALYARD_ASSIGN_OR_RETURN(const bool isPool, addAsPool(site, groups, recording));
  if (isPool) return okStatus();
  LinesPlan plan;
  size_t step = site.input(0).elementCount();
  for (const ops::DimGroup& group : groups) {
    step /= group.extent;
    (group.outputStride == 0 ? plan.reduced : plan.kept).push_back({group.extent, step});
  }
  return addLines(site, plan, recording);
}

Status recordLine(const Site& site, Recording& recording) {
  const Shape& dims = site.input(0).dims;
  size_t axis = 0;
  LinesPlan plan;
  const int32_t function = linesFunction(site.type);
  const bool hasBeta = function == kSoftmax || function == kLogSoftmax;
  if (hasBeta) HALYARD_RETURN_IF_ERROR(site.context.read(1, &plan.beta));
  HALYARD_RETURN_IF_ERROR(ops::readOptionalAxis(site.context, hasBeta ? 2 : 1, &axis));
  const auto view = ops::axisView(dims, axis);
  constexpr size_t kLong = 32;
  // A software device runs a work group in turns. It is better off with a line per work item.
  const size_t mostLines = recording.forms().lanes == kSoftwareLanes ? kSoftwareLanes : SIZE_MAX;
  if (hasBeta && view.inner == 1 && view.extent >= kLong && view.outer <= mostLines) {
    HALYARD_ASSIGN_OR_RETURN(const ElementKind kind, elementKind(site.input(0).type));
    if (isReal(kind) || function == kSoftmax) {
      return addSoftmax(site, kind, view.extent, plan.beta, recording);
    }
  }
  plan.kept = {{view.outer, view.extent * view.inner}, {view.inner, 1}};
  plan.reduced = {{view.extent, view.inner}};
  if (function >= kSoftmax) plan.rounds = hasBeta ? 3 : 2;
  return addLines(site, plan, recording);
}

Status recordCumulativeSum(const Site& site, Recording& recording) {
  LinesPlan plan;
  int32_t axis = 0;
  HALYARD_RETURN_IF_ERROR(site.context.read(1, &axis));
  size_t resolved = 0;
  HALYARD_RETURN_IF_ERROR(ops::resolveAxis(axis, site.input(0).rank(), &resolved));
  for (const size_t i : {2, 3}) {
    bool flag = false;
    HALYARD_RETURN_IF_ERROR(site.context.read(i, &flag));
    plan.more.emplace_back(flag ? 1 : 0);
  }
  const auto view = ops::axisView(site.input(0).dims, resolved);
  plan.kept = {{view.outer, view.extent * view.inner}, {view.inner, 1}};
  plan.reduced = {{view.extent, view.inner}};
  return addLines(site, plan, recording);
}

Status recordGreatest(const Site& site, Recording& recording) {
  constexpr size_t kMostDispatches = 256;
  HALYARD_ASSIGN_OR_RETURN(const ElementKind kind, elementKind(site.input(0).type));
  const size_t extent = site.input(0).dims.back();
  const size_t wanted = site.output(0).dims.back();
  // A search compares all elements of a lane, and then those of all lanes.
  const size_t rounds = extent / kGroupSize + kGroupSize + 4;
  HALYARD_RETURN_IF_ERROR(checkRounds(rounds));
  const size_t once = kMostRounds / rounds;
  if (wanted / once > kMostDispatches) {
    return badData("the {} greatest of {} elements take too many comparisons", wanted, extent);
  }
  for (size_t first = 0; first < wanted; first += once) {
    addLongLines(site, kind, kGreatest, extent,
                 {site.in(0), site.out(0), static_cast<int32_t>(extent),
                  static_cast<int32_t>(wanted), site.out(1), static_cast<int32_t>(first),
                  static_cast<int32_t>(std::min(wanted, first + once))},
                 recording);
  }
  return okStatus();
}

Status recordRounding(const Site& site, Recording& recording) {
  int32_t axis = 0;
  HALYARD_RETURN_IF_ERROR(site.context.read(1, &axis));
  const auto view = ops::axisView(site.input(0).dims, static_cast<size_t>(axis));
  const size_t row = view.extent * view.inner;
  LinesPlan plan;
  plan.kept = {{view.outer, row}};
  plan.reduced = {{row, 1}};
  plan.rounds = 2;
  return addLines(site, plan, recording);
}

namespace {

Status addLongInstances(const Site& site, const LinesPlan& plan, Recording& recording) {
  HALYARD_ASSIGN_OR_RETURN(const ElementKind kind, elementKind(site.input(0).type));
  const size_t pixels = plan.reduced[0].extent;
  HALYARD_RETURN_IF_ERROR(checkRounds(plan.rounds * (pixels / kGroupSize + 1) + 2 * kGroupSize));
  std::vector<Parameter> parameters = {site.in(0), site.out(0)};
  for (const size_t number :
       {pixels, plan.kept[1].extent, plan.kept[0].step, plan.kept[1].step, plan.reduced[0].step}) {
    parameters.emplace_back(static_cast<int32_t>(number));
  }
  parameters.insert(parameters.end(), plan.more.begin(), plan.more.end());
  addLongLines(site, kind, kInstance, pixels, std::move(parameters), recording);
  return okStatus();
}

}  // namespace

Status recordInstanceNormalization(const Site& site, Recording& recording) {
  LinesPlan plan;
  for (const size_t i : {1, 2, 3}) {
    float value = 0;
    HALYARD_RETURN_IF_ERROR(site.context.read(i, &value));
    plan.more.emplace_back(Parameter::real(value));
  }
  bool nchw = false;
  HALYARD_RETURN_IF_ERROR(site.context.read(4, &nchw));
  const Shape& dims = site.input(0).dims;
  const auto [batch, height, width, channels] = ops::imageAxes(nchw);
  const size_t pixels = size_t{dims[height]} * dims[width];
  const size_t step = nchw ? 1 : dims[channels];
  plan.kept = {{dims[batch], pixels * dims[channels]}, {dims[channels], nchw ? pixels : 1}};
  plan.reduced = {{pixels, step}};
  plan.rounds = 3;
  constexpr size_t kLong = 256;
  if (pixels >= kLong) return addLongInstances(site, plan, recording);
  return addLines(site, plan, recording);
}

Status recordResponseNormalization(const Site& site, Recording& recording) {
  LinesPlan plan;
  int32_t radius = 0;
  HALYARD_RETURN_IF_ERROR(site.context.read(1, &radius));
  size_t axis = 0;
  HALYARD_RETURN_IF_ERROR(ops::readOptionalAxis(site.context, 5, &axis));
  const auto view = ops::axisView(site.input(0).dims, axis);
  // Sums of positions stay in 32 bits.
  radius = std::min(radius, static_cast<int32_t>(view.extent));
  plan.more.emplace_back(radius);
  plan.rounds = 2 + std::min<uint64_t>(2 * static_cast<uint64_t>(radius), view.extent);
  for (const size_t i : {2, 3, 4}) {
    float value = 0;
    HALYARD_RETURN_IF_ERROR(site.context.read(i, &value));
    plan.more.emplace_back(Parameter::real(value));
  }
  plan.kept = {{view.outer, view.extent * view.inner}, {view.inner, 1}};
  plan.reduced = {{view.extent, view.inner}};
  return addLines(site, plan, recording);
}

}  // namespace halyard::vulkandriver
