#include "serve/scheduling/tensor_copy.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <vector>

#include "base/float16.h"

namespace halyard::serve {
namespace {

template <typename T>
T valueAt(std::span<const uint8_t> bytes, size_t i) {
  T value = {};
  std::memcpy(&value, bytes.data() + i * sizeof(T), sizeof(T));
  return value;
}

template <typename T>
std::vector<double> valuesOf(std::span<const uint8_t> bytes) {
  std::vector<double> values(bytes.size() / sizeof(T));
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(valueAt<T>(bytes, i));
  return values;
}

Result<std::vector<double>> numbersOf(Datatype datatype, std::span<const uint8_t> bytes) {
  switch (datatype) {
    case Datatype::UINT8:
      return valuesOf<uint8_t>(bytes);
    case Datatype::UINT16:
      return valuesOf<uint16_t>(bytes);
    case Datatype::UINT32:
      return valuesOf<uint32_t>(bytes);
    case Datatype::INT8:
      return valuesOf<int8_t>(bytes);
    case Datatype::INT16:
      return valuesOf<int16_t>(bytes);
    case Datatype::INT32:
      return valuesOf<int32_t>(bytes);
    case Datatype::INT64:
      return valuesOf<int64_t>(bytes);
    case Datatype::FP32:
      return valuesOf<float>(bytes);
    case Datatype::FP16: {
      std::vector<double> values(bytes.size() / sizeof(uint16_t));
      for (size_t i = 0; i < values.size(); ++i) {
        values[i] = static_cast<double>(toFloat(Float16{valueAt<uint16_t>(bytes, i)}));
      }
      return values;
    }
    default:
      return badData("a classification of {} is not possible", datatypeName(datatype));
  }
}

void appendText(const std::string& text, std::string& to) {
  const auto length = static_cast<uint32_t>(text.size());
  to.append(reinterpret_cast<const char*>(&length), sizeof(length));
  to += text;
}

}  // namespace

size_t storedSize(Datatype datatype) {
  return datatype == Datatype::INT64 ? sizeof(int32_t) : datatypeSize(datatype);
}

void copyIn(Datatype datatype, std::span<const uint8_t> from, std::span<uint8_t> to) {
  if (datatype != Datatype::INT64) {
    if (!from.empty()) std::memcpy(to.data(), from.data(), from.size());
    return;
  }
  for (size_t i = 0; i < from.size() / sizeof(int64_t); ++i) {
    const auto narrow = static_cast<int32_t>(valueAt<int64_t>(from, i));
    std::memcpy(to.data() + i * sizeof(narrow), &narrow, sizeof(narrow));
  }
}

Status checkNarrow(Datatype datatype, std::span<const uint8_t> bytes) {
  if (datatype != Datatype::INT64) return okStatus();
  for (size_t i = 0; i < bytes.size() / sizeof(int64_t); ++i) {
    const auto value = valueAt<int64_t>(bytes, i);
    if (value < INT32_MIN || value > INT32_MAX) {
      return badData("element {} is {}, which needs more than the 32 bits of NNAPI's integers", i,
                     value);
    }
  }
  return okStatus();
}

void copyOut(Datatype datatype, std::span<const uint8_t> from, std::string& to) {
  if (datatype != Datatype::INT64) {
    to.append(reinterpret_cast<const char*>(from.data()), from.size());
    return;
  }
  for (size_t i = 0; i < from.size() / sizeof(int32_t); ++i) {
    const int64_t wide = valueAt<int32_t>(from, i);
    to.append(reinterpret_cast<const char*>(&wide), sizeof(wide));
  }
}

Status classify(OutputTensor& output, uint32_t classes, std::span<const std::string> labels,
                bool batches) {
  const std::span bytes(reinterpret_cast<const uint8_t*>(output.bytes.data()), output.bytes.size());
  HALYARD_ASSIGN_OR_RETURN(const std::vector<double> values, numbersOf(output.datatype, bytes),
                           "output '{}'", output.name);
  const size_t rows = batches && !output.shape.empty() ? static_cast<size_t>(output.shape[0]) : 1;
  const size_t each = rows == 0 ? 0 : values.size() / rows;
  const size_t kept = std::min<size_t>(classes, each);
  std::string texts;
  std::vector<size_t> order(each);
  for (size_t row = 0; row < rows; ++row) {
    const double* const scores = values.data() + row * each;
    std::iota(order.begin(), order.end(), size_t{0});
    // The total order also holds for a NaN, which comes last.
    std::partial_sort(order.begin(), order.begin() + static_cast<ptrdiff_t>(kept), order.end(),
                      [scores](size_t a, size_t b) {
                        const bool aIsNan = scores[a] != scores[a];
                        const bool bIsNan = scores[b] != scores[b];
                        if (aIsNan || bIsNan) return aIsNan == bIsNan ? a < b : bIsNan;
                        return scores[a] != scores[b] ? scores[a] > scores[b] : a < b;
                      });
    for (size_t i = 0; i < kept; ++i) {
      std::string text = fmt::format("{:f}:{}", scores[order[i]], order[i]);
      if (order[i] < labels.size()) text += ":" + labels[order[i]];
      appendText(text, texts);
    }
  }
  output.datatype = Datatype::BYTES;
  output.shape = batches ? std::vector<int64_t>{static_cast<int64_t>(rows), int64_t(kept)}
                         : std::vector<int64_t>{int64_t(kept)};
  output.bytes = std::move(texts);
  return okStatus();
}

}  // namespace halyard::serve
