#include "tools/halyard/cache_choice.h"

#include <gmock/gmock.h>

#include "base/testing/command_for_test.h"

namespace halyard::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const std::string kCachedModel = HALYARD_SOURCE_DIR "/models/fashion_mnist_float.tflite";

class CacheChoiceTest : public CommandTest {
 protected:
  // Sets a variable for the duration of the test; null unsets it.
  class Variable {
   public:
    Variable(const char* name, const char* value) : name_(name) {
      if (const char* before = std::getenv(name)) before_ = before;
      set(value);
    }
    ~Variable() { set(before_ ? before_->c_str() : nullptr); }
    Variable(const Variable&) = delete;
    Variable& operator=(const Variable&) = delete;

   private:
    void set(const char* value) {
      if (value == nullptr) {
        ::unsetenv(name_);
      } else {
        ::setenv(name_, value, 1);
      }
    }
    const char* const name_;
    std::optional<std::string> before_;
  };
};

TEST_F(CacheChoiceTest, TheDefaultFolderFollowsTheEnvironment) {
  const Variable cache("XDG_CACHE_HOME", "/var/c");
  const Variable home("HOME", "/home/x");
  EXPECT_EQ(*defaultCacheFolder(), "/var/c/halyard/compilations");
  const Variable relative("XDG_CACHE_HOME", "c");
  EXPECT_EQ(*defaultCacheFolder(), "/home/x/.cache/halyard/compilations");
  const Variable homeless("HOME", nullptr);
  EXPECT_THAT(defaultCacheFolder().status().message(), HasSubstr("XDG_CACHE_HOME"));
}

TEST_F(CacheChoiceTest, TheTokenIsTheModels) {
  const Variable quiet("HALYARD_LOG", "quiet");
  CacheOptions options;
  options.folder = folder_ + "/cache";
  const auto choice = chooseCache(options, kCachedModel);
  ASSERT_TRUE(choice.has_value());
  EXPECT_EQ(choice->folder, options.folder);
  std::filesystem::copy_file(kCachedModel, folder_ + "/copy");
  EXPECT_EQ(chooseCache(options, folder_ + "/copy")->token, choice->token);
  std::ofstream(folder_ + "/copy", std::ios::app) << "x";
  EXPECT_NE(chooseCache(options, folder_ + "/copy")->token, choice->token);
  EXPECT_FALSE(chooseCache(options, folder_ + "/none").has_value());
  options.off = true;
  EXPECT_FALSE(chooseCache(options, kCachedModel).has_value());
  CacheOptions optIn;
  optIn.byDefault = false;
  EXPECT_FALSE(chooseCache(optIn, kCachedModel).has_value());
}

TEST_F(CacheChoiceTest, RunSaysWhatBecameOfIt) {
  const std::string model = "run " + kCachedModel + " --random-inputs 1 --device cpu ";
  const CommandOutcome cached = halyard(model);
  EXPECT_EQ(cached.exitStatus, 0) << cached.errors;
  EXPECT_THAT(cached.output, HasSubstr("\ncache   off, the runtime's own device"));
  const CommandOutcome uncached = halyard(model + "--no-cache");
  EXPECT_THAT(uncached.output, HasSubstr("\ncache   off, the application has asked for none"));
  std::ofstream(folder_ + "/file") << "x";
  const CommandOutcome impossible = halyard(model + "--cache " + folder_ + "/file");
  EXPECT_EQ(impossible.exitStatus, 0);
  EXPECT_THAT(impossible.errors, HasSubstr("the compilation is not cached"));
  EXPECT_EQ(halyard(model + "--no-cache --cache x").exitStatus, 2);
  const CommandOutcome explained =
      halyard("explain " + kCachedModel + " --device cpu --cache " + folder_ + "/explained");
  EXPECT_THAT(explained.output, HasSubstr("cache of partitions:\n  #0: off, the runtime's own"));
}

TEST_F(CacheChoiceTest, TheSecondRunIsAHit) {
  std::ofstream(folder_ + "/personality.json")
      << R"({"cache": {"model_files": 1, "data_files": 1}, "delays": {"compile_ms": 20}})";
  std::ofstream(folder_ + "/manifest.json")
      << R"({"name": "test-cached", "version": "1", "hal_version": "1.3", "executable": ")"
      << HALYARD_BINARY_DIR << R"(/bin/halyard-driver-reference", "arguments": ["--personality", ")"
      << std::filesystem::absolute(folder_).string() << R"(/personality.json"]})";
  const Variable driver("HALYARD_DRIVER_FILES", (folder_ + "/manifest.json").c_str());
  const Variable state("XDG_STATE_HOME", std::filesystem::absolute(folder_).c_str());
  const std::string model = "run " + kCachedModel +
                            " --random-inputs 1 --device test-cached --cache " + folder_ + "/cache";
  const CommandOutcome first = halyard(model);
  EXPECT_EQ(first.exitStatus, 0) << first.errors;
  EXPECT_THAT(first.output, HasSubstr("\ncache   miss, "));
  EXPECT_THAT(halyard(model).output, HasSubstr("\ncache   hit, "));
}

TEST_F(CacheChoiceTest, TheCpuDriverIsNotCached) {
  const Variable driver("HALYARD_DRIVER_FILES",
                        HALYARD_BINARY_DIR "/share/halyard/drivers.d/cpu.json");
  const std::string model = "run " + kCachedModel +
                            " --random-inputs 1 --device halyard-cpu --cache " + folder_ +
                            "/cache --preference sustained-speed";
  for (int i = 0; i < 2; ++i) {
    const CommandOutcome outcome = halyard(model);
    EXPECT_EQ(outcome.exitStatus, 0) << outcome.errors;
    EXPECT_THAT(outcome.output, HasSubstr("\ncache   off, the driver needs no files"));
  }
  EXPECT_THAT(halyard(model + "x").errors, HasSubstr("--preference"));
}

}  // namespace
}  // namespace halyard::cli
