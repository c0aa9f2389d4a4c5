// Reads label files and ranks scores.
#include "measure/labels.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <numeric>

#include "media/file_bytes.h"
#include "report/printable.h"

namespace halyard::measure {
namespace {

constexpr size_t kMaxLabelFileBytes = size_t{1} << 20;

std::string_view trimmed(std::string_view text) {
  const auto blank = [](char c) { return c == ' ' || c == '\t' || c == '\r'; };
  while (!text.empty() && blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && blank(text.back())) text.remove_suffix(1);
  return text;
}

bool isBackground(std::string_view label) {
  constexpr std::string_view kName = "background";
  return label.size() == kName.size() &&
         std::equal(label.begin(), label.end(), kName.begin(), [](char a, char b) {
           return std::tolower(static_cast<unsigned char>(a)) == b;
         });
}

}  // namespace

Labels Labels::parse(std::string_view text) {
  Labels labels;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    labels.names_.push_back(report::printable(trimmed(text.substr(0, end))));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  while (!labels.names_.empty() && labels.names_.back().empty()) labels.names_.pop_back();
  return labels;
}

Result<Labels> Labels::load(const std::string& path) {
  HALYARD_ASSIGN_OR_RETURN(const std::vector<uint8_t> bytes,
                           media::readFileBytes(path, kMaxLabelFileBytes), "labels");
  Labels labels = parse({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  if (labels.empty()) return badData("labels: {} has none", path);
  return labels;
}

std::string Labels::alignTo(size_t classCount) {
  shift_ = 0;
  if (names_.empty() || names_.size() == classCount) return {};
  if (names_.size() == classCount + 1 && isBackground(names_[0])) {
    shift_ = 1;
    return fmt::format(
        "the first of {} labels is \"{}\", which the model's {} classes lack: labels shifted by "
        "one",
        names_.size(), names_[0], classCount);
  }
  return fmt::format("{} labels for {} classes: they may not belong together", names_.size(),
                     classCount);
}

std::string Labels::nameOf(size_t classIndex) const {
  const size_t index = classIndex + shift_;
  if (index < classIndex || index >= names_.size() || names_[index].empty()) {
    return fmt::format("class {}", classIndex);
  }
  return names_[index];
}

std::vector<ScoredClass> topClasses(std::span<const float> scores, size_t count) {
  std::vector<size_t> order(scores.size());
  std::iota(order.begin(), order.end(), size_t{0});
  // NaN counts as the lowest value, because the comparison must be a strict weak order.
  const auto key = [&](size_t i) { return std::isnan(scores[i]) ? -HUGE_VALF : scores[i]; };
  const auto better = [&](size_t a, size_t b) {
    const float left = key(a);
    const float right = key(b);
    return left != right ? left > right : a < b;
  };
  count = std::min(count, order.size());
  std::partial_sort(order.begin(), order.begin() + static_cast<ptrdiff_t>(count), order.end(),
                    better);
  std::vector<ScoredClass> top;
  for (size_t i = 0; i < count; ++i) top.push_back({order[i], scores[order[i]]});
  return top;
}

std::vector<float> softmaxOf(std::span<const float> scores) {
  if (scores.empty()) return {};
  const float highest = *std::max_element(scores.begin(), scores.end());
  double sum = 0;
  for (const float score : scores) sum += std::exp(static_cast<double>(score) - highest);
  std::vector<float> result;
  for (const float score : scores) {
    result.push_back(static_cast<float>(std::exp(static_cast<double>(score) - highest) / sum));
  }
  return result;
}

}  // namespace halyard::measure
