// Every conformance vector in every variant of the HAL, on the CPU device in this process. The
// vectors are those of tests/vectors, and of ../shared/conformance if it exists.
// `halyard conformance` runs the same cases in separate processes and through the API.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <tuple>

#include "conformance/case_source.h"
#include "conformance/hal_target.h"
#include "conformance/runner.h"
#include "cpu/cpu_device.h"
#include "hal/session/client_session.h"
#include "hal/session/session_services.h"
#include "model/validation/validation.h"
#include "test_definitions.h"

namespace halyard {
namespace {

using conformance::CaseResult;
using conformance::Outcome;
using conformance::Variant;
using conformance::VectorCase;

const std::string kOwnFolder = HALYARD_SOURCE_DIR "/tests/vectors";
const std::string kSharedFolder = HALYARD_SOURCE_DIR "/../shared/conformance";

// The level that the case says its model needs; nullopt when it does not say.
std::optional<FeatureLevel> statedLevel(const VectorCase& vectorCase) {
  if (vectorCase.hal == "2.1") return FeatureLevel::FL6;
  if (vectorCase.hal == "2.2") return FeatureLevel::FL7;
  if (const auto version = halVersionFromName(vectorCase.hal)) return featureLevelOf(*version);
  return std::nullopt;
}

// Whether an operation's last input is a constant that may be a default. The level in the file is
// that of the model without trailing defaults, which a runtime leaves out before it asks a driver.
bool mayEndWithDefaults(const Model& model) {
  return std::any_of(model.main.operations.begin(), model.main.operations.end(),
                     [&](const Operation& operation) {
                       if (operation.inputs.empty()) return false;
                       const Operand& last = model.main.operands[operation.inputs.back()];
                       if (last.lifetime != Lifetime::CONSTANT_COPY) return false;
                       const uint8_t* bytes = model.operandValues.data() + last.location.offset;
                       if (last.type == OperandType::BOOL) return *bytes == 0;
                       if (last.type != OperandType::INT32) return false;
                       int32_t value;
                       std::memcpy(&value, bytes, sizeof(value));
                       return value == 1 || value == -1;
                     });
}

// Checks that validation finds the level that the file states.
Status checkLevel(const VectorCase& vectorCase) {
  const auto stated = statedLevel(vectorCase);
  if (vectorCase.expectFailure || !stated || mayEndWithDefaults(vectorCase.model)) {
    return okStatus();
  }
  HALYARD_ASSIGN_OR_RETURN(const FeatureLevel level, validateModel(vectorCase.model));
  if (level == *stated) return okStatus();
  return opFailed("needs {}, but the file says {}", featureLevelName(level),
                  featureLevelName(*stated));
}

// Calls `check` with each case below the folder.
void forEachCase(const std::string& folder,
                 const std::function<void(const std::string& where, const VectorCase&)>& check) {
  if (folder == kSharedFolder && !std::filesystem::exists(folder)) {
    GTEST_SKIP() << "no conformance vectors in " << folder;
  }
  auto files = conformance::findVectorFiles({folder});
  ASSERT_TRUE(files.ok()) << files.status().toString();
  conformance::CaseSource source(std::move(files).value(), {});
  size_t cases = 0;
  while (const auto found = source.next()) {
    ASSERT_TRUE(found->error.ok()) << found->error.toString();
    const auto vectorCase = conformance::parseVectorCase(found->text);
    ASSERT_TRUE(vectorCase.ok()) << vectorCase.status().toString();
    ++cases;
    check(fmt::format("{}:{} {}", found->file, found->line, found->name), *vectorCase);
  }
  EXPECT_GT(cases, 4000u);
}

class ConformanceLevels : public ::testing::TestWithParam<std::string> {};

TEST_P(ConformanceLevels, AreThoseThatTheFilesState) {
  forEachCase(GetParam(), [](const std::string& where, const VectorCase& vectorCase) {
    const Status status = checkLevel(vectorCase);
    EXPECT_TRUE(status.ok()) << where << ": " << status.message();
  });
}

class ConformanceVariants : public ::testing::TestWithParam<std::tuple<std::string, Variant>> {};

TEST_P(ConformanceVariants, AllPass) {
  const std::string& folder = std::get<0>(GetParam());
  const Variant& variant = std::get<1>(GetParam());
  const auto target = conformance::makeHalTarget(hal::ClientSession::ofRuntime(
      cpu::makeCpuDevice(cpu::cpuDeviceInfo(), 3), std::make_shared<hal::SessionServices>()));
  forEachCase(folder, [&](const std::string& where, const VectorCase& vectorCase) {
    const CaseResult result = conformance::runCase(*target, vectorCase, variant);
    EXPECT_EQ(result.outcome, Outcome::PASSED)
        << where << ": " << outcomeName(result.outcome) << ": " << result.reason;
  });
}

std::vector<Variant> variantsOfTheHal() {
  std::vector<Variant> variants;
  for (const conformance::VariantTraits& traits : conformance::allVariants()) {
    if (traits.launch == conformance::Launch::COMPUTE ||
        traits.launch == conformance::Launch::FENCED) {
      variants.push_back(traits.variant);
    }
  }
  return variants;
}

std::string folderName(const std::string& folder) {
  return folder == kOwnFolder ? "own" : "shared";
}

std::string levelsName(const ::testing::TestParamInfo<std::string>& info) {
  return folderName(info.param);
}

std::string variantName(const ::testing::TestParamInfo<std::tuple<std::string, Variant>>& info) {
  const auto& [folder, variant] = info.param;
  std::string name(conformance::traitsOf(variant).name);
  std::replace(name.begin(), name.end(), '-', '_');
  return folderName(folder) + "_" + name;
}

INSTANTIATE_TEST_SUITE_P(All, ConformanceLevels, ::testing::Values(kOwnFolder, kSharedFolder),
                         levelsName);
INSTANTIATE_TEST_SUITE_P(Hal, ConformanceVariants,
                         ::testing::Combine(::testing::Values(kOwnFolder, kSharedFolder),
                                            ::testing::ValuesIn(variantsOfTheHal())),
                         variantName);

}  // namespace
}  // namespace halyard
