#include "kernels/moves.h"

#include <algorithm>
#include <cstdlib>
#include <optional>

namespace halyard::vulkandriver {
namespace {

constexpr size_t kMostLoops = 8;
// As in shaders/move.comp, in OPTION beside the kind.
constexpr int32_t kQuick = 4;
constexpr int32_t kLoops = 8;   // times their number
constexpr ptrdiff_t kSide = 4;  // of a block

// The same loops without those of one element. Loops that continue each other are one.
std::vector<ops::CopyLoop> joined(const std::vector<ops::CopyLoop>& loops) {
  std::vector<ops::CopyLoop> joint;
  for (const ops::CopyLoop& loop : loops) {
    if (loop.count == 1) continue;
    const auto count = static_cast<ptrdiff_t>(loop.count);
    if (!joint.empty() && joint.back().from == loop.from * count &&
        joint.back().to == loop.to * count) {
      joint.back() = {joint.back().count * loop.count, loop.from, loop.to};
    } else {
      joint.push_back(loop);
    }
  }
  return joint;
}

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

// The lines of the blocks of a move whose neighbours in source and target are in different loops.
struct BlockLines {
  ptrdiff_t from;
  ptrdiff_t to;
};

// Changes the move to one of blocks, if all places and distances allow it.
std::optional<BlockLines> intoBlocks(Move& move) {
  const auto isMultiple = [](auto value) { return value % kSide == 0; };
  const auto row = std::ranges::find(move.loops, 1, &ops::CopyLoop::from);
  const auto column = std::ranges::find(move.loops, 1, &ops::CopyLoop::to);
  if (move.kind != MoveKind::COPY || row == column) return std::nullopt;
  if (row == move.loops.end() || column == move.loops.end()) return std::nullopt;
  bool isTaken = isMultiple(move.sourceFirst) && isMultiple(move.targetFirst) &&
                 isMultiple(row->count) && isMultiple(column->count);
  for (auto loop = move.loops.begin(); loop != move.loops.end(); ++loop) {
    isTaken = isTaken && (loop == row || isMultiple(loop->from)) &&
              (loop == column || isMultiple(loop->to));
  }
  if (!isTaken) return std::nullopt;
  const BlockLines lines = {column->from / kSide, row->to / kSide};
  for (auto loop = move.loops.begin(); loop != move.loops.end(); ++loop) {
    const bool isOfBlock = loop == row || loop == column;
    // Steps of blocks in fours are those of elements in elements.
    if (isOfBlock) {
      loop->count /= kSide;
    } else {
      loop->from /= kSide;
      loop->to /= kSide;
    }
  }
  move.sourceFirst /= kSide;
  move.targetFirst /= kSide;
  move.kind = MoveKind::BLOCKS;
  return lines;
}

}  // namespace

Status addMove(const Move& given, Recording& recording) {
  Move move = given;
  move.loops = joined(given.loops);
  if (move.loops.size() > kMostLoops) {
    return badData("{} loops, at most {}", move.loops.size(), kMostLoops);
  }
  if (given.elementBytes != 1 && given.elementBytes != 2 && given.elementBytes != 4) {
    return badData("elements of {} bytes, expected 1, 2 or 4", given.elementBytes);
  }
  const size_t unit = hasUnit(move, 16) ? 16 : hasUnit(move, 4) ? 4 : move.elementBytes;
  move = withUnit(move, unit);
  const std::optional<BlockLines> lines =
      unit == given.elementBytes ? intoBlocks(move) : std::nullopt;
  std::vector<Parameter> parameters;
  const auto append = [&parameters](auto... values) {
    (parameters.emplace_back(static_cast<int32_t>(values)), ...);
  };
  parameters = {move.source, move.target};
  append(move.sourceFirst, move.targetFirst);
  size_t count = 1;
  for (auto loop = move.loops.rbegin(); loop != move.loops.rend(); ++loop) {
    count *= loop->count;
    append(loop->count, loop->from, loop->to, 0);
  }
  parameters.push_back(move.value);
  append(lines ? lines->from : 0, lines ? lines->to : 0, 0);
  const int32_t option = static_cast<int32_t>(move.kind) | (count < kMostItems ? kQuick : 0) |
                         static_cast<int32_t>(move.loops.size()) * kLoops;
  recording.add({Shader::MOVE,
                 {static_cast<int32_t>(move.elementBytes), 0, 0, option},
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
