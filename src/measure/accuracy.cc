#include "measure/accuracy.h"

#include <algorithm>

#include "measure/labels.h"
#include "measure/repeated_run.h"
#include "measure/test_pictures.h"

namespace halyard::measure {
namespace {

using Json = nlohmann::json;

constexpr size_t kTop = 5;

Result<Json> classify(const TestPictures& pictures, const TensorType& scored,
                      const client::Session& session, size_t most) {
  const size_t count = most == 0 ? pictures.size() : std::min(most, pictures.size());
  std::unique_ptr<RepeatedRun> run;
  size_t known = 0;
  size_t first = 0;
  size_t amongFive = 0;
  for (size_t n = 0; n < count; ++n) {
    const size_t i = pictures.pick(n, count);
    const auto right = pictures.classOf(i);
    if (!right) continue;
    ++known;
    HALYARD_ASSIGN_OR_RETURN(std::vector<uint8_t> input, pictures.input(i));
    if (run == nullptr) {
      HALYARD_ASSIGN_OR_RETURN(run, RepeatedRun::create(session, {std::move(input)}));
    } else {
      std::ranges::copy(input, run->input(0).begin());
    }
    HALYARD_RETURN_IF_ERROR(run->compute());
    HALYARD_ASSIGN_OR_RETURN(const client::Output output, run->output(0));
    HALYARD_ASSIGN_OR_RETURN(const std::vector<float> scores, realValues(scored, output.bytes));
    const std::vector<ScoredClass> best = topClasses(scores, kTop);
    first += best[0].index == *right;
    amongFive +=
        std::ranges::any_of(best, [&](const ScoredClass& each) { return each.index == *right; });
  }
  if (known == 0) return badData("{}: the class of no picture is known", pictures.name());
  const auto share = [&](size_t part) {
    return static_cast<double>(part) / static_cast<double>(known);
  };
  return Json{{"data", pictures.name()},
              {"images", known},
              {"top_1", share(first)},
              {"top_5", share(amongFive)}};
}

}  // namespace

Result<Json> measureAccuracy(const import::ImportedModel& imported, const client::Session& session,
                             const BenchOptions& options) {
  if (!scoredClasses(imported)) return Json();
  HALYARD_ASSIGN_OR_RETURN(const std::unique_ptr<TestPictures> pictures,
                           TestPictures::open(imported, options.data, options.labels));
  if (pictures == nullptr) return Json();
  const import::ModelPort& output = imported.outputs[0];
  return classify(*pictures, {output.type, output.scale, output.zeroPoint}, session,
                  options.images);
}

}  // namespace halyard::measure
