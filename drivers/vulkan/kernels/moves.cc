#include "kernels/moves.h"

namespace halyard::vulkandriver {
namespace {

constexpr size_t kLoops = 8;

}  // namespace

Status addMove(const Move& move, Recording& recording) {
  if (move.loops.size() > kLoops) return badData("{} loops, at most {}", move.loops.size(), kLoops);
  if (move.elementBytes != 1 && move.elementBytes != 2 && move.elementBytes != 4) {
    return badData("elements of {} bytes, expected 1, 2 or 4", move.elementBytes);
  }
  std::vector<Parameter> parameters = {move.source, move.target,
                                       static_cast<int32_t>(move.sourceFirst),
                                       static_cast<int32_t>(move.targetFirst)};
  size_t count = 1;
  for (size_t i = 0; i < kLoops; ++i) {
    const ops::CopyLoop loop =
        i < move.loops.size() ? move.loops[move.loops.size() - 1 - i] : ops::CopyLoop{1, 0, 0};
    count *= loop.count;
    for (const ptrdiff_t value : {static_cast<ptrdiff_t>(loop.count), loop.from, loop.to}) {
      parameters.emplace_back(static_cast<int32_t>(value));
    }
  }
  parameters.push_back(move.value);
  recording.add({Shader::MOVE,
                 {static_cast<int32_t>(move.elementBytes), 0, 0, static_cast<int32_t>(move.kind)},
                 std::move(parameters),
                 static_cast<uint32_t>(count)});
  return okStatus();
}

Move moveOf(const Site& site, size_t input, size_t output, std::vector<ops::CopyLoop> loops) {
  return {site.in(input),
          site.out(output),
          0,
          0,
          std::move(loops),
          elementSize(site.output(output).type)};
}

}  // namespace halyard::vulkandriver
