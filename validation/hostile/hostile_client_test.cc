// Tests that drivers that survive hostile clients pass, and that others are found.
#include "validation/hostile/hostile_client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "test_definitions.h"

namespace halyard::validation {
namespace {

using ::testing::HasSubstr;

class HostileClientTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = ::testing::TempDir() + "hostile-XXXXXX";
    folder_ = ::mkdtemp(pattern.data());
    loop_ = hal::RpcLoop::start().value();
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  hal::Manifest manifest(const std::string& faults) {
    const std::filesystem::path personality = folder_ / "personality.json";
    std::ofstream(personality) << R"({"faults": [)" << faults << "]}";
    hal::Manifest made;
    made.name = "test-driver";
    made.target = HALYARD_REFERENCE_DRIVER;
    made.arguments = {"--personality", personality.string()};
    return made;
  }
  // Attacks until the driver fails, in at most `sessions` sessions.
  Status attack(const hal::Manifest& driver, uint64_t sessions) {
    for (uint64_t i = 0; i < sessions; ++i) {
      Status status = attackDriver(*loop_, driver, hostileInput(1, i));
      if (!status.ok()) return status;
    }
    return okStatus();
  }

  std::filesystem::path folder_;
  std::shared_ptr<hal::RpcLoop> loop_;
};

TEST_F(HostileClientTest, TheReferenceDriverSurvives) {
  const Status status = attack(manifest(""), 40);
  EXPECT_TRUE(status.ok()) << status.toString();
}

TEST_F(HostileClientTest, TheReferenceDriverGoesOnWhateverItHasToClose) {
  const Status status = attackWithDescriptors(manifest(""));
  EXPECT_TRUE(status.ok()) << status.toString();
}

// In these sessions the driver still sends answers when the client is gone. AddressSanitizer checks
// the driver's memory.
TEST_F(HostileClientTest, AnswersAfterTheEnd) {
  for (uint64_t i = 325; i < 350; ++i) {
    const Status status = attackDriver(*loop_, manifest(""), hostileInput(1, i));
    EXPECT_TRUE(status.ok()) << i << ": " << status.toString();
  }
}

TEST_F(HostileClientTest, OneThatCrashesIsFound) {
  const auto driver = manifest(R"({"at": "prepare", "do": "crash"})");
  EXPECT_THAT(attack(driver, 40).toString(), HasSubstr("was killed by signal 11"));
}

TEST_F(HostileClientTest, OneThatEndsOfItselfIsFound) {
  const auto driver = manifest(R"({"at": "execute", "do": "exit", "exit_status": 3})");
  EXPECT_THAT(attack(driver, 400).toString(), HasSubstr("ended with exit status 3"));
}

// The SDK ends a driver that hangs after its client is gone.
TEST_F(HostileClientTest, OneThatHangsIsFound) {
  const auto driver = manifest(R"({"at": "release", "do": "hang"})");
  EXPECT_THAT(attack(driver, 40).toString(), HasSubstr("was killed by signal 14"));
}

TEST_F(HostileClientTest, ADriverThatIsNotThereIsAnError) {
  hal::Manifest driver = manifest("");
  driver.target = "/nowhere/driver";
  EXPECT_THAT(attack(driver, 1).toString(), HasSubstr("/nowhere/driver"));
  driver.kind = hal::Manifest::Kind::SOCKET;
  EXPECT_THAT(attack(driver, 1).toString(), HasSubstr("/nowhere/driver"));
}

}  // namespace
}  // namespace halyard::validation
