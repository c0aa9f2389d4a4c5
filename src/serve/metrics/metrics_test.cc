// Tests of the metrics and of the page, which show the same statistics.
#include "serve/metrics/metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <sstream>

#include "base/temporary_folder_for_test.h"
#include "serve/models_for_test.h"
#include "serve/page/status_page.h"

namespace halyard::serve {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class MetricsTest : public ::testing::Test {
 protected:
  MetricsTest() {
    writeFile(folder_.path() + "/a<b.tflite", additionModel().bytes());
    writeText(folder_.path() + "/bad.tflite", "no model");
    EXPECT_TRUE(service_.repository().loadAll().ok());
    InferRequest request = requestFor("a<b", {1, 2, 3});
    service_.infer(request, Clock::now(),
                   [](const InferAnswer& answer) { EXPECT_TRUE(answer.outcome.ok()); });
    InferRequest faulty = requestFor("a<b", {});
    service_.infer(faulty, Clock::now(),
                   [](const InferAnswer& answer) { EXPECT_FALSE(answer.outcome.ok()); });
  }
  const TemporaryFolder folder_{"metrics"};
  Service service_{ModelFolder(folder_.path()), {}, false};
};

TEST_F(MetricsTest, CountRequestsAndFailures) {
  const std::string text = metricsText(service_, false);
  EXPECT_THAT(text, HasSubstr("# TYPE halyard_inference_requests_total counter\n"));
  EXPECT_THAT(text, HasSubstr("halyard_inference_requests_total{model=\"a<b\",version=\"1\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("version=\"1\",reason=\"invalid\"} 1\n"));
  EXPECT_THAT(
      text, HasSubstr("halyard_request_seconds_bucket{model=\"a<b\",version=\"1\",le=\"+Inf\"} 1"));
  EXPECT_THAT(text, Not(HasSubstr("nv_inference")));
}

// The family of a counter is its name without "_total" in OpenMetrics.
TEST_F(MetricsTest, EveryFamilyHasItsOwnName) {
  std::istringstream lines(metricsText(service_, true));
  std::set<std::string> families;
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("# TYPE ")) continue;
    std::string name = line.substr(7, line.find(' ', 7) - 7);
    if (name.ends_with("_total")) name.resize(name.size() - 6);
    EXPECT_TRUE(families.insert(name).second) << name;
  }
  EXPECT_GT(families.size(), 10u);
}

TEST_F(MetricsTest, MayHaveTheNamesOfTriton) {
  const std::string text = metricsText(service_, true);
  EXPECT_THAT(text, HasSubstr("nv_inference_request_success{model=\"a<b\",version=\"1\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("nv_inference_pending_request_count{"));
  EXPECT_THAT(text, HasSubstr("reason=\"REJECTED\"} 0\n"));
}

TEST_F(MetricsTest, ThePageShowsModelsDevicesAndReasons) {
  const std::string page = statusPage(service_);
  EXPECT_THAT(page, HasSubstr("a&lt;b"));
  EXPECT_THAT(page, HasSubstr("UNAVAILABLE"));
  EXPECT_THAT(page, HasSubstr("is not a TensorFlow Lite model"));
  EXPECT_THAT(page, HasSubstr("nnapi-reference"));
  EXPECT_THAT(page, Not(HasSubstr("<script")));
}

}  // namespace
}  // namespace halyard::serve
