// The project's conformance vectors on the driver in this process, which needs no other one:
// aarch64's run so under an emulator.
#include <gtest/gtest.h>

#include "conformance/case_source.h"
#include "conformance/hal_target.h"
#include "conformance/runner.h"
#include "cpu_driver.h"
#include "hal/session/client_session.h"
#include "hal/session/session_services.h"
#include "model/validation/control_flow_sizes.h"
#include "test_definitions.h"

namespace halyard::cpudriver {
namespace {

// Runs all vectors. `relaxes`: float32 may be computed as float16 in all of them.
void expectAllPass(bool relaxes) {
  const std::string arguments[] = {"--threads=2"};
  auto driver = makeCpuDriver(arguments);
  ASSERT_TRUE(driver.ok()) << driver.status().toString();
  const auto target = conformance::makeHalTarget(
      std::make_shared<hal::ClientSession>(*driver, std::make_shared<hal::SessionServices>()));
  auto files = conformance::findVectorFiles({HALYARD_SOURCE_DIR "/tests/vectors"});
  ASSERT_TRUE(files.ok()) << files.status().toString();
  conformance::CaseSource source(std::move(files).value(), {});
  size_t cases = 0;
  while (const auto found = source.next()) {
    ASSERT_TRUE(found->error.ok()) << found->error.toString();
    auto vectorCase = conformance::parseVectorCase(found->text);
    ASSERT_TRUE(vectorCase.ok()) << vectorCase.status().toString();
    if (relaxes) vectorCase->model.relaxComputationFloat32toFloat16 = true;
    // Control flow of unknown sizes is for no driver.
    if (!checkBoundarySizes(vectorCase->model).ok()) continue;
    ++cases;
    const conformance::CaseResult result =
        conformance::runCase(*target, *vectorCase, conformance::Variant::PLAIN);
    EXPECT_EQ(result.outcome, conformance::Outcome::PASSED)
        << found->file << ":" << found->line << " " << found->name << ": " << result.reason;
  }
  EXPECT_GT(cases, 4000u);
}

TEST(CpuDriverVectors, AllPass) { expectAllPass(false); }
TEST(CpuDriverVectors, AllPassRelaxed) { expectAllPass(true); }

}  // namespace
}  // namespace halyard::cpudriver
