// Operations in which elements choose other elements.
#include "kernels/broadcast_steps.h"
#include "kernels/kernel_list.h"
#include "ops/axis.h"
#include "ops/elementwise.h"
#include "ops/requantize.h"

namespace halyard::vulkandriver {
namespace {

// As in shaders/choice.comp.
constexpr int32_t kSelect = 0;
constexpr int32_t kGather = 1;
constexpr int32_t kBroadcastSelect = 2;
constexpr int32_t kGatherNd = 3;
constexpr int32_t kLookup = 4;

// The bytes of `output` for those of an input.
std::vector<uint8_t> tableOf(const ops::Tensor& input, const ops::Tensor& output) {
  const auto table = ops::requantizeTable(input, output);
  return {table.begin(), table.end()};
}

void add(const Site& site, int32_t function, std::vector<Parameter> parameters,
         Recording& recording) {
  const ops::Tensor& output = site.output(0);
  recording.add({Shader::CHOICE,
                 {function, static_cast<int32_t>(elementSize(output.type)), 0, 0},
                 std::move(parameters),
                 static_cast<uint32_t>(output.elementCount())});
}

// Rows of input `values` at the positions in input `positions`.
void addGather(const Site& site, size_t values, size_t positions, const ops::AxisView& view,
               Recording& recording) {
  const auto count = static_cast<int32_t>(site.input(positions).elementCount());
  add(site, kGather,
      {site.in(values), site.in(positions), site.out(0), static_cast<int32_t>(view.extent),
       static_cast<int32_t>(view.inner), count, recording.faultWord()},
      recording);
}

}  // namespace

Status recordSelect(const Site& site, Recording& recording) {
  std::vector<Parameter> parameters = {site.in(0), site.in(1), site.in(2), site.out(0)};
  const ops::Tensor& output = site.output(0);
  if (isQuant8Asymm(output.type)) {
    parameters.emplace_back(recording.constant(tableOf(site.input(1), output)));
    parameters.emplace_back(recording.constant(tableOf(site.input(2), output)));
  }
  add(site, kSelect, std::move(parameters), recording);
  return okStatus();
}

Status recordGather(const Site& site, Recording& recording) {
  int32_t axis = 0;
  HALYARD_RETURN_IF_ERROR(site.context.read(1, &axis));
  size_t resolved = 0;
  HALYARD_RETURN_IF_ERROR(ops::resolveAxis(axis, site.input(0).rank(), &resolved));
  addGather(site, 0, 2, ops::axisView(site.input(0).dims, resolved), recording);
  return okStatus();
}

Status recordBroadcastSelect(const Site& site, Recording& recording) {
  constexpr size_t kAxes = 6;
  const Shape& dims = site.output(0).dims;
  if (dims.size() > kAxes) return badData("rank {}, at most {}", dims.size(), kAxes);
  std::vector<Parameter> parameters = {site.in(0), site.in(1), site.in(2), site.out(0)};
  for (size_t axis = 0; axis < kAxes; ++axis) {
    parameters.emplace_back(axis < dims.size() ? static_cast<int32_t>(dims[dims.size() - 1 - axis])
                                               : 1);
    for (const size_t i : {0, 1, 2}) parameters.emplace_back(stepOf(site.input(i).dims, axis));
  }
  add(site, kBroadcastSelect, std::move(parameters), recording);
  return okStatus();
}

Status recordGatherNd(const Site& site, Recording& recording) {
  const Shape& dims = site.input(0).dims;
  const size_t names = site.input(1).dims.back();
  size_t inner = 1;
  for (size_t d = names; d < dims.size(); ++d) inner *= dims[d];
  std::vector<Parameter> parameters = {site.in(0),
                                       site.in(1),
                                       site.out(0),
                                       static_cast<int32_t>(names),
                                       static_cast<int32_t>(inner),
                                       recording.faultWord()};
  for (size_t d = 0; d < names; ++d) parameters.emplace_back(static_cast<int32_t>(dims[d]));
  add(site, kGatherNd, std::move(parameters), recording);
  return okStatus();
}

Status recordEmbedding(const Site& site, Recording& recording) {
  addGather(site, 1, 0, ops::axisView(site.input(1).dims, 0), recording);
  return okStatus();
}

Status recordHashtableLookup(const Site& site, Recording& recording) {
  const auto view = ops::axisView(site.input(2).dims, 0);
  add(site, kLookup,
      {site.in(0), site.in(1), site.in(2), site.out(0), site.out(1),
       static_cast<int32_t>(view.extent), static_cast<int32_t>(view.inner)},
      recording);
  return okStatus();
}

}  // namespace halyard::vulkandriver
