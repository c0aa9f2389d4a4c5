// The project's conformance vectors on the driver in this process. Vectors that the device refuses
// are skipped.
#include <gtest/gtest.h>

#include "conformance/case_source.h"
#include "conformance/hal_target.h"
#include "conformance/runner.h"
#include "hal/session/client_session.h"
#include "hal/session/session_services.h"
#include "model/validation/control_flow_sizes.h"
#include "test_definitions.h"
#include "vulkan_driver.h"

namespace halyard::vulkandriver {
namespace {

TEST(VulkanDriverVectors, AllPass) {
  const std::string arguments[] = {"--software"};
  auto driver = makeVulkanDriver(arguments);
  if (!driver.ok()) {
    GTEST_SKIP() << "NO VULKAN DEVICE, NOTHING IS TESTED: " << driver.status().toString();
  }
  const auto target = conformance::makeHalTarget(
      std::make_shared<hal::ClientSession>(*driver, std::make_shared<hal::SessionServices>()));
  auto files = conformance::findVectorFiles({HALYARD_SOURCE_DIR "/tests/vectors"});
  ASSERT_TRUE(files.ok()) << files.status().toString();
  conformance::CaseSource source(std::move(files).value(), {});
  size_t passed = 0;
  size_t skipped = 0;
  while (const auto found = source.next()) {
    ASSERT_TRUE(found->error.ok()) << found->error.toString();
    const auto vectorCase = conformance::parseVectorCase(found->text);
    ASSERT_TRUE(vectorCase.ok()) << vectorCase.status().toString();
    if (!checkBoundarySizes(vectorCase->model).ok()) continue;
    const conformance::CaseResult result =
        conformance::runCase(*target, *vectorCase, conformance::Variant::PLAIN);
    EXPECT_NE(result.outcome, conformance::Outcome::FAILED)
        << found->file << ":" << found->line << " " << found->name << ": " << result.reason;
    if (result.outcome == conformance::Outcome::PASSED) ++passed;
    if (result.outcome == conformance::Outcome::SKIPPED) ++skipped;
  }
  std::cout << passed << " passed, " << skipped << " skipped\n";
  EXPECT_GT(passed, 1000u);
}

}  // namespace
}  // namespace halyard::vulkandriver
