#include "kernels/moves.h"

#include <algorithm>
#include <cstdlib>

namespace halyard::vulkandriver {
namespace {

constexpr size_t kLoops = 8;

// Whether all of a move's distances in bytes are multiples of `unit`, and elements are neighbours.
bool hasUnit(const Move& move, size_t unit) {
  const size_t elements = unit / move.elementBytes;
  const auto isMultiple = [&](size_t value) { return value % elements == 0; };
  if (elements <= 1) return elements == 1;
  if (move.kind == MoveKind::TABLE && unit != 4) return false;
  if (move.loops.empty() || !isMultiple(move.loops.back().count)) return false;
  const ops::CopyLoop& last = move.loops.back();
  if (last.to != 1 || (last.from != 1 && move.kind != MoveKind::FILL)) return false;
  if (!isMultiple(move.sourceFirst) || !isMultiple(move.targetFirst)) return false;
  return std::all_of(move.loops.begin(), move.loops.end() - 1, [&](const ops::CopyLoop& loop) {
    return isMultiple(static_cast<size_t>(std::abs(loop.from))) &&
           isMultiple(static_cast<size_t>(std::abs(loop.to)));
  });
}

// The same move with larger elements.
Move withUnit(Move move, size_t unit) {
  const auto elements = static_cast<ptrdiff_t>(unit / move.elementBytes);
  if (elements == 1) return move;
  if (move.kind == MoveKind::FILL) {
    // The value, repeated in a word.
    const uint32_t bits = static_cast<uint32_t>(move.value.value);
    const uint32_t ones = move.elementBytes == 1   ? 0x01010101
                          : move.elementBytes == 2 ? 0x00010001
                                                   : 1;
    const uint32_t mask = move.elementBytes == 4 ? ~0u : (1u << (8 * move.elementBytes)) - 1;
    move.value = static_cast<int32_t>((bits & mask) * ones);
  }
  for (size_t i = 0; i < move.loops.size(); ++i) {
    ops::CopyLoop& loop = move.loops[i];
    if (i + 1 == move.loops.size()) {
      loop.count /= static_cast<size_t>(elements);
    } else {
      loop.from /= elements;
      loop.to /= elements;
    }
  }
  move.sourceFirst /= static_cast<size_t>(elements);
  move.targetFirst /= static_cast<size_t>(elements);
  move.elementBytes = static_cast<uint32_t>(unit);
  return move;
}

}  // namespace

Status addMove(const Move& given, Recording& recording) {
  if (given.loops.size() > kLoops) {
    return badData("{} loops, at most {}", given.loops.size(), kLoops);
  }
  if (given.elementBytes != 1 && given.elementBytes != 2 && given.elementBytes != 4) {
    return badData("elements of {} bytes, expected 1, 2 or 4", given.elementBytes);
  }
  const size_t unit = hasUnit(given, 16) ? 16 : hasUnit(given, 4) ? 4 : given.elementBytes;
  const Move move = withUnit(given, unit);
  std::vector<Parameter> parameters = {move.source, move.target,
                                       static_cast<int32_t>(move.sourceFirst),
                                       static_cast<int32_t>(move.targetFirst)};
  size_t count = 1;
  for (size_t i = 0; i < kLoops; ++i) {
    const ops::CopyLoop loop =
        i < move.loops.size() ? move.loops[move.loops.size() - 1 - i] : ops::CopyLoop{1, 0, 0};
    count *= loop.count;
    for (const ptrdiff_t value :
         {static_cast<ptrdiff_t>(loop.count), loop.from, loop.to, ptrdiff_t{0}}) {
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
