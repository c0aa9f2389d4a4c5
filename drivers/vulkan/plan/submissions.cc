#include "plan/submissions.h"

namespace halyard::vulkandriver {

std::vector<size_t> submissionEnds(const Subgraph& subgraph, const Recording& recording,
                                   const std::optional<DeviceSpeed>& speed) {
  const size_t all = recording.dispatches().size();
  std::vector<size_t> ends;
  const std::span<const size_t> begins = recording.operationBegins();
  double time = 0;
  for (size_t i = 0; speed && i < begins.size(); ++i) {
    const size_t end = i + 1 < begins.size() ? begins[i + 1] : all;
    if (end == begins[i]) continue;
    const double share = predictedTime(subgraph, subgraph.operations[i], *speed) /
                         static_cast<double>(end - begins[i]);
    for (size_t dispatch = begins[i]; dispatch < end; ++dispatch) {
      time += share;
      if (time < kLongestSubmission) continue;
      ends.push_back(dispatch + 1);
      time = 0;
    }
  }
  if (ends.empty() || ends.back() < all) ends.push_back(all);
  return ends;
}

}  // namespace halyard::vulkandriver
