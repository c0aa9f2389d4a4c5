// The blocked matrix product. Columns are rearranged into strips once, and rows are processed in
// tiles that fit the caches. Micro kernels for the processor do the arithmetic.
#include "ops/gemm.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <new>
#include <vector>

#include "base/work_limit.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#if defined(__clang__)
#define HALYARD_GEMM_UNROLL _Pragma("clang loop unroll(full)")
#else
#define HALYARD_GEMM_UNROLL _Pragma("GCC unroll 8")
#endif

namespace halyard::ops {
namespace {

template <typename T>
struct GemmKernels {
  using Sum = typename GemmSum<T>::Type;
  using Micro = void (*)(const T* left, size_t leftStride, const T* right, size_t units, Sum* sums,
                         size_t sumsStride, bool accumulate);

  size_t lanes;       // columns in one vector; a strip has two vectors, the last may have one
  size_t maxRows;     // rows of a micro kernel: 4 or 8
  Micro micro[4][2];  // by log2 of the rows (the last: maxRows), and vectors - 1
  Sum (*dot)(const T* a, const T* b, size_t depth);
};

// The sums are unsigned vectors, so that overflow wraps as in the instructions.
#define HALYARD_GEMM_VECTORS(bytes)                              \
  inline constexpr size_t kVectorBytes = bytes;                  \
  using FloatVector = float __attribute__((vector_size(bytes))); \
  using IntVector = uint32_t __attribute__((vector_size(bytes)));

namespace baseline {
#define HALYARD_GEMM_TARGET
HALYARD_GEMM_VECTORS(16)
inline constexpr int kMaxRows = 4;
HALYARD_ALWAYS_INLINE void addPairProducts(IntVector& sum, const IntVector& a, const IntVector& b) {
#if defined(__x86_64__)
  sum += (IntVector)_mm_madd_epi16((__m128i)a, (__m128i)b);
#else
  for (size_t lane = 0; lane < 4; ++lane) {
    const auto low = [](uint32_t pair) { return static_cast<int16_t>(pair & 0xffff); };
    const auto high = [](uint32_t pair) { return static_cast<int16_t>(pair >> 16); };
    sum[lane] += static_cast<uint32_t>(low(a[lane]) * low(b[lane]));
    sum[lane] += static_cast<uint32_t>(high(a[lane]) * high(b[lane]));
  }
#endif
}
#include "ops/gemm_kernels.inc"
#undef HALYARD_GEMM_TARGET
}  // namespace baseline

#if defined(__x86_64__)
namespace avx2 {
#define HALYARD_GEMM_TARGET HALYARD_TARGET_AVX2
HALYARD_GEMM_VECTORS(32)
inline constexpr int kMaxRows = 4;
HALYARD_GEMM_TARGET HALYARD_ALWAYS_INLINE void addPairProducts(IntVector& sum, const IntVector& a,
                                                               const IntVector& b) {
  sum += (IntVector)_mm256_madd_epi16((__m256i)a, (__m256i)b);
}
#include "ops/gemm_kernels.inc"
#undef HALYARD_GEMM_TARGET
}  // namespace avx2

namespace avx512 {
#define HALYARD_GEMM_TARGET HALYARD_TARGET_AVX512
HALYARD_GEMM_VECTORS(64)
inline constexpr int kMaxRows = 8;
HALYARD_GEMM_TARGET HALYARD_ALWAYS_INLINE void addPairProducts(IntVector& sum, const IntVector& a,
                                                               const IntVector& b) {
  sum = (IntVector)_mm512_dpwssd_epi32((__m512i)sum, (__m512i)a, (__m512i)b);
}
#include "ops/gemm_kernels.inc"
#undef HALYARD_GEMM_TARGET
}  // namespace avx512
#endif

template <typename T>
const GemmKernels<T>& kernelsFor(SimdLevel level) {
#if defined(__x86_64__)
  if (level >= SimdLevel::AVX512) return avx512::kKernels<T>;
  if (level >= SimdLevel::AVX2) return avx2::kKernels<T>;
#endif
  (void)level;
  return baseline::kKernels<T>;
}

constexpr size_t roundUp(size_t value, size_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}
constexpr size_t divideUp(size_t value, size_t by) { return (value + by - 1) / by; }

// The sizes suit a first-level cache of 32 KiB and a second-level cache of at least 512 KiB.
constexpr size_t kDepthBlockUnits = 256;       // a strip's block of 32 columns is then 32 KiB
constexpr size_t kLeftTileBytes = 256 * 1024;  // rearranged rows of one tile
constexpr size_t kMaxTileRows = 128;
constexpr size_t kChunkColumns = 256;  // columns whose sums are kept at a time
constexpr size_t kPackedBytes = 16 * 1024 * 1024;
constexpr size_t kMinRowsToPack = 4;  // with fewer, each column is used too little
constexpr size_t kMaxDepthToPack = size_t{1} << 18;
constexpr size_t kWorkPerRange = 1 << 20;  // multiplications worth waking a thread for
constexpr size_t kWantedTasks = 8;

template <typename T>
class Product {
 public:
  Product(KernelServices& services, const GemmProblem<T>& problem, const GemmKernels<T>& kernels)
      : services_(services),
        problem_(problem),
        kernels_(kernels),
        units_(gemmRowStride<T>(problem.depth) / kPerUnit),
        stripColumns_(2 * kernels.lanes) {
    const size_t rowBytes = std::max<size_t>(gemmRowStride<T>(problem.depth) * sizeof(T), 1);
    tileRows_ = std::clamp(kLeftTileBytes / rowBytes / 8 * 8, size_t{8}, kMaxTileRows);
  }

  void runPacked();
  void runDots();

 private:
  using Sum = typename GemmSum<T>::Type;
  static constexpr size_t kPerUnit = 4 / sizeof(T);

  // Columns [begin, end), rearranged strip after strip. A strip holds unit after unit of depth, and
  // each unit holds the strip's columns side by side.
  struct PackedBlock {
    T* data;
    size_t begin;
    size_t end;
  };
  size_t stripWidth(size_t columns) const {
    return columns <= kernels_.lanes ? kernels_.lanes : stripColumns_;
  }
  void packStrip(const PackedBlock& block, size_t strip, T* rows) const;
  void pack(const PackedBlock& block) const;
  void multiplyBlock(const PackedBlock& block) const;
  // Adds up a tile's rows times columns [begin, end) of the block; `begin` is the start of a strip.
  void multiplyChunk(const T* left, size_t rows, const PackedBlock& block, size_t begin, size_t end,
                     Sum* sums, size_t sumsStride) const;
  const T* leftRows(size_t begin, size_t end, T* buffer) const;

  KernelServices& services_;
  const GemmProblem<T>& problem_;
  const GemmKernels<T>& kernels_;
  size_t units_;
  size_t stripColumns_;
  size_t tileRows_;
};

template <typename T>
const T* Product<T>::leftRows(size_t begin, size_t end, T* buffer) const {
  const T* rows = problem_.left(begin, end, buffer);
  const size_t stride = gemmRowStride<T>(problem_.depth);
  if (rows == buffer && stride != problem_.depth) {
    for (size_t row = 0; row < end - begin; ++row) buffer[row * stride + problem_.depth] = 0;
  }
  return rows;
}

template <typename T>
void Product<T>::packStrip(const PackedBlock& block, size_t strip, T* rows) const {
  const size_t first = block.begin + strip * stripColumns_;
  const size_t columns = std::min(block.end - first, stripColumns_);
  const size_t width = stripWidth(columns);
  const size_t stride = units_ * kPerUnit;
  T* packed = block.data + strip * stripColumns_ * stride;
  if (columns < width) std::fill(packed, packed + width * stride, T{0});
  const T* sources[64];
  for (size_t c = 0; c < columns; ++c) {
    T* buffer = rows + c * stride;
    sources[c] = problem_.right(first + c, buffer);
    if (stride != problem_.depth) buffer[problem_.depth] = 0;
  }
  constexpr size_t kUnitsAtATime = 64;  // keeps the written part in the first-level cache
  for (size_t begin = 0; begin < units_; begin += kUnitsAtATime) {
    const size_t end = std::min(begin + kUnitsAtATime, units_);
    for (size_t c = 0; c < columns; ++c) {
      const T* source = sources[c];
      for (size_t unit = begin; unit < end; ++unit) {
        std::memcpy(packed + (unit * width + c) * kPerUnit, source + unit * kPerUnit, 4);
      }
    }
  }
}

template <typename T>
void Product<T>::pack(const PackedBlock& block) const {
  const size_t strips = divideUp(block.end - block.begin, stripColumns_);
  const size_t stripValues = stripColumns_ * units_ * kPerUnit;
  services_.parallelFor(strips, divideUp(kWorkPerRange / 4, stripValues),
                        [&](size_t begin, size_t end) {
                          const auto rows = std::make_unique_for_overwrite<T[]>(stripValues);
                          for (size_t s = begin; s < end; ++s) packStrip(block, s, rows.get());
                        });
}

template <typename T>
void Product<T>::multiplyChunk(const T* left, size_t rows, const PackedBlock& block, size_t begin,
                               size_t end, Sum* sums, size_t sumsStride) const {
  const size_t stride = units_ * kPerUnit;
  for (size_t unit = 0; unit < units_; unit += kDepthBlockUnits) {
    const size_t units = std::min(kDepthBlockUnits, units_ - unit);
    for (size_t column = begin; column < end; column += stripColumns_) {
      const size_t width = stripWidth(block.end - column);
      const T* right = block.data + (column - block.begin) * stride + unit * width * kPerUnit;
      for (size_t row = 0; row < rows;) {
        size_t log = 0;
        while (log < 3 && (size_t{2} << log) <= std::min(rows - row, kernels_.maxRows)) ++log;
        kernels_.micro[log][width > kernels_.lanes](
            left + row * stride + unit * kPerUnit, stride, right, units,
            sums + row * sumsStride + column - begin, sumsStride, unit != 0);
        row += size_t{1} << log;
      }
    }
  }
}

template <typename T>
void Product<T>::multiplyBlock(const PackedBlock& block) const {
  const size_t columns = block.end - block.begin;
  const size_t rowTiles = divideUp(problem_.rows, tileRows_);
  // If there are few tiles of rows, the columns are split too, to use several threads.
  const size_t wantedGroups = divideUp(kWantedTasks, rowTiles);
  const size_t groupColumns =
      roundUp(std::max(divideUp(columns, wantedGroups), size_t{64}), stripColumns_);
  const size_t groups = divideUp(columns, groupColumns);
  const size_t work = std::min(tileRows_, problem_.rows) * std::min(groupColumns, columns) *
                      std::max(problem_.depth, size_t{1});
  services_.parallelFor(
      rowTiles * groups, divideUp(kWorkPerRange, work), [&](size_t taskBegin, size_t taskEnd) {
        const auto buffer = std::make_unique_for_overwrite<T[]>(tileRows_ * units_ * kPerUnit);
        const auto sums = std::make_unique_for_overwrite<Sum[]>(tileRows_ * kChunkColumns);
        for (size_t task = taskBegin; task < taskEnd; ++task) {
          const size_t rowBegin = task / groups * tileRows_;
          const size_t rowEnd = std::min(rowBegin + tileRows_, problem_.rows);
          const size_t first = block.begin + task % groups * groupColumns;
          const size_t last = std::min(first + groupColumns, block.end);
          const T* left = leftRows(rowBegin, rowEnd, buffer.get());
          for (size_t column = first; column < last; column += kChunkColumns) {
            checkWorkLimit();
            const size_t columnEnd = std::min(column + kChunkColumns, last);
            const size_t stride = roundUp(columnEnd - column, kernels_.lanes);
            multiplyChunk(left, rowEnd - rowBegin, block, column, columnEnd, sums.get(), stride);
            problem_.store({rowBegin, rowEnd, column, columnEnd, sums.get(), stride});
          }
        }
      });
}

template <typename T>
void Product<T>::runPacked() {
  const size_t columnBytes = std::max<size_t>(units_ * 4, 1);
  const size_t blockColumns =
      std::max(kPackedBytes / columnBytes / stripColumns_, size_t{1}) * stripColumns_;
  const size_t allocated = std::min(roundUp(problem_.columns, stripColumns_), blockColumns);
  T* data = static_cast<T*>(services_.scratch(allocated * columnBytes));
  for (size_t begin = 0; begin < problem_.columns; begin += blockColumns) {
    const PackedBlock block{data, begin, std::min(begin + blockColumns, problem_.columns)};
    pack(block);
    multiplyBlock(block);
  }
}

template <typename T>
void Product<T>::runDots() {
  const size_t stride = units_ * kPerUnit;
  const auto rowBuffer = std::make_unique_for_overwrite<T[]>(stride);
  for (size_t row = 0; row < problem_.rows; ++row) {
    const T* left = leftRows(row, row + 1, rowBuffer.get());
    services_.parallelFor(
        problem_.columns, divideUp(kWorkPerRange / 4, std::max(problem_.depth, size_t{1})),
        [&](size_t columnBegin, size_t columnEnd) {
          const auto buffer = std::make_unique_for_overwrite<T[]>(stride);
          Sum sums[kChunkColumns];
          for (size_t first = columnBegin; first < columnEnd; first += kChunkColumns) {
            const size_t last = std::min(first + kChunkColumns, columnEnd);
            for (size_t column = first; column < last; ++column) {
              const T* right = problem_.right(column, buffer.get());
              sums[column - first] = kernels_.dot(left, right, problem_.depth);
            }
            problem_.store({row, row + 1, first, last, sums, last - first});
          }
        });
  }
}

// Forwards loops, or runs them in the calling thread. Owns the scratch memory, so that it can be
// released after each of many products.
class ProductServices : public KernelServices {
 public:
  explicit ProductServices(KernelServices* loops) : loops_(loops) {}
  void parallelFor(size_t count, size_t grain,
                   const std::function<void(size_t, size_t)>& body) override {
    if (loops_ != nullptr) {
      loops_->parallelFor(count, grain, body);
    } else if (count > 0) {
      body(0, count);
    }
  }
  void* scratch(size_t bytes) override {
    blocks_.emplace_back(static_cast<std::byte*>(::operator new(bytes, kAlignment)));
    return blocks_.back().get();
  }
  void clear() { blocks_.clear(); }

 private:
  static constexpr std::align_val_t kAlignment{64};
  struct Free {
    void operator()(std::byte* block) const { ::operator delete(block, kAlignment); }
  };
  KernelServices* loops_;
  std::vector<std::unique_ptr<std::byte, Free>> blocks_;
};

}  // namespace

template <typename T>
void gemm(KernelServices& services, const GemmProblem<T>& problem, SimdLevel level) {
  Product<T> product(services, problem, kernelsFor<T>(level));
  // Without depth there is nothing to pack, and an empty dot product is 0.
  if (problem.rows < kMinRowsToPack || problem.depth == 0 || problem.depth > kMaxDepthToPack) {
    product.runDots();
  } else {
    product.runPacked();
  }
}

template <typename T>
void gemmEach(KernelServices& services, size_t count, size_t work,
              const std::function<GemmProblem<T>(size_t)>& problemAt) {
  if (count == 1) {
    gemm(services, problemAt(0));
    return;
  }
  if (work >= kWorkPerRange * kWantedTasks) {
    ProductServices each(&services);
    for (size_t i = 0; i < count; ++i, each.clear()) gemm(each, problemAt(i));
    return;
  }
  services.parallelFor(count, divideUp(kWorkPerRange, std::max(work, size_t{1})),
                       [&](size_t begin, size_t end) {
                         ProductServices each(nullptr);
                         for (size_t i = begin; i < end; ++i, each.clear()) {
                           gemm(each, problemAt(i));
                         }
                       });
}

template void gemm<float>(KernelServices&, const GemmProblem<float>&, SimdLevel);
template void gemm<int16_t>(KernelServices&, const GemmProblem<int16_t>&, SimdLevel);
template void gemmEach<float>(KernelServices&, size_t, size_t,
                              const std::function<GemmProblem<float>(size_t)>&);
template void gemmEach<int16_t>(KernelServices&, size_t, size_t,
                                const std::function<GemmProblem<int16_t>(size_t)>&);

}  // namespace halyard::ops
