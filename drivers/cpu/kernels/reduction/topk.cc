// The largest elements of rows. Of equal elements the later ones come first in the result. A row is
// read from its end, so that these are found first. Whole blocks without a larger element than the
// least of those found so far are skipped.
#include <algorithm>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "kernels/makers.h"
#include "ops/elementwise.h"
#include "ops/simd.h"

namespace halyard::cpudriver {
namespace {

constexpr size_t kBlock = 64;

// Elements are compared as they were when they were read: others may write to the input's memory.
template <typename T>
struct Found {
  T value;
  int32_t index;
};

// Larger ones first, of equal ones the later; NaNs are equal to each other and come last.
template <typename T>
bool comesBefore(const Found<T>& a, const Found<T>& b) {
  if constexpr (std::is_floating_point_v<T>) {
    const bool aIsNumber = a.value == a.value;
    const bool bIsNumber = b.value == b.value;
    if (aIsNumber != bIsNumber) return aIsNumber;
    if (!aIsNumber) return a.index > b.index;
  }
  return a.value != b.value ? a.value > b.value : a.index > b.index;
}

// Makes `*end` less by the whole blocks before it whose elements are all at most `least`.
template <typename T>
HALYARD_ALWAYS_INLINE void skipBlocks(const T* row, T least, size_t* end) {
  using Flag = std::conditional_t<sizeof(T) == 1, uint8_t, uint32_t>;
  size_t at = *end;
  for (; at >= kBlock; at -= kBlock) {
    const T* const block = row + at - kBlock;
    Flag isLarger = 0;
    // Negated: a NaN counts as larger, and so does every element if `least` is NaN.
    for (size_t i = 0; i < kBlock; ++i) isLarger |= static_cast<Flag>(!(block[i] <= least));
    if (isLarger != 0) break;
  }
  *end = at;
}

// Fills `best` with as many elements of a row, in order. Until the end it is a heap with the last
// of those found so far on top.
template <typename T>
void selectFromRow(const T* row, size_t length, std::vector<Found<T>>* best) {
  size_t end = length;
  for (Found<T>& found : *best) {
    --end;
    found = {row[end], static_cast<int32_t>(end)};
  }
  std::make_heap(best->begin(), best->end(), comesBefore<T>);
  while (end > 0) {
    ops::runBest<&skipBlocks<T>, const T*, T, size_t*>(row, best->front().value, &end);
    const size_t blockBegin = end > kBlock ? end - kBlock : 0;
    while (end > blockBegin) {
      --end;
      const Found<T> found = {row[end], static_cast<int32_t>(end)};
      if (!comesBefore(found, best->front())) continue;
      std::pop_heap(best->begin(), best->end(), comesBefore<T>);
      best->back() = found;
      std::push_heap(best->begin(), best->end(), comesBefore<T>);
    }
  }
  std::sort_heap(best->begin(), best->end(), comesBefore<T>);
}

template <typename T>
class TopkKernel final : public Kernel {
 public:
  // Of `rows` rows of `length` elements the first `k` each.
  TopkKernel(size_t rows, size_t length, size_t k) : rows_(rows), length_(length), k_(k) {}

  Status run(const KernelOperands& operands, ops::KernelServices& services) const override {
    const auto* const input = operands.input<T>(0);
    auto* const values = operands.output<T>(0);
    auto* const indices = operands.output<int32_t>(1);
    services.parallelFor(rows_, ops::kElementGrain / length_ + 1, [&](size_t begin, size_t end) {
      std::vector<Found<T>> best(k_);
      for (size_t row = begin; row < end; ++row) {
        selectFromRow(input + row * length_, length_, &best);
        for (size_t i = 0; i < k_; ++i) {
          values[row * k_ + i] = best[i].value;
          indices[row * k_ + i] = best[i].index;
        }
      }
    });
    return okStatus();
  }

 private:
  const size_t rows_;
  const size_t length_;
  const size_t k_;
};

}  // namespace

std::unique_ptr<Kernel> makeTopk(const KernelSite& site) {
  const ops::Tensor& input = site.inputs[0];
  const size_t length = input.dims.back();
  const size_t rows = input.elementCount() / length;
  const size_t k = site.outputs[0].dims.back();
  switch (input.type) {
    case OperandType::TENSOR_FLOAT32:
      return std::make_unique<TopkKernel<float>>(rows, length, k);
    case OperandType::TENSOR_INT32:
      return std::make_unique<TopkKernel<int32_t>>(rows, length, k);
    case OperandType::TENSOR_QUANT8_ASYMM:
      return std::make_unique<TopkKernel<uint8_t>>(rows, length, k);
    case OperandType::TENSOR_QUANT8_ASYMM_SIGNED:
      return std::make_unique<TopkKernel<int8_t>>(rows, length, k);
    default:
      return nullptr;
  }
}

}  // namespace halyard::cpudriver
