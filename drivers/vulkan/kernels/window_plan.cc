#include "kernels/window_plan.h"

#include "kernels/moves.h"

namespace halyard::vulkandriver {
namespace {

Status reorder(Move move, const ops::ImageDims& dims, const ImageSteps& from, const ImageSteps& to,
               Recording& recording) {
  move.loops = {{dims.batch, from.batch, to.batch},
                {dims.height, from.height, to.height},
                {dims.width, from.width, to.width},
                {dims.channels, from.channel, to.channel}};
  return addMove(move, recording);
}

}  // namespace

Result<Place> orderedInput(const Site& site, const WindowPlan& plan, Recording& recording) {
  const ImageSteps steps = plan.inputSteps.value_or(stepsOf(plan.input, plan.nchw));
  if (steps.channel == 1) return site.in(0);
  const ops::Tensor& input = site.input(0);
  Move move = moveOf(site, 0, 0, {});
  move.elementBytes = elementSize(input.type);
  move.target = recording.scratch(input.elementCount() * move.elementBytes);
  HALYARD_RETURN_IF_ERROR(reorder(move, plan.input, steps, stepsOf(plan.input, false), recording));
  return move.target;
}

Place orderedOutput(const Site& site, const WindowPlan& plan, Recording& recording) {
  const ops::Tensor& output = site.output(0);
  if (!plan.nchw) return site.out(0);
  return recording.scratch(output.elementCount() * elementSize(output.type));
}

Status finishOutput(const Site& site, const WindowPlan& plan, Place from, Recording& recording) {
  if (!plan.nchw) return okStatus();
  Move move = moveOf(site, 0, 0, {});
  move.source = from;
  return reorder(move, plan.output, stepsOf(plan.output, false), stepsOf(plan.output, true),
                 recording);
}

}  // namespace halyard::vulkandriver
