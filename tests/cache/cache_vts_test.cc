// The compilation caching cases of the HAL's test suite (section 10.3), against the reference
// driver of HAL 1.2 and 1.3. The driver runs in this process, over RPC and in a process of its own.
// The models are one of floats and a quantised one.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <atomic>
#include <random>
#include <thread>

#include "cache_driver_for_test.h"
#include "hal/sandbox/sanitizer.h"

namespace halyard::cache_testing {
namespace {

using Parameter = std::tuple<Where, HalVersion, OperandType>;

class CachingVts : public ::testing::TestWithParam<Parameter> {
 protected:
  CachingVts()
      : driver_({std::get<0>(GetParam()), std::get<1>(GetParam()), kModelFiles, 1, "", ""},
                folder_.path() / "state"),
        add_{std::get<2>(GetParam()), OperationType::ADD, 3},
        files_(folder_.path(), "add", kModelFiles, 1) {}

  static constexpr unsigned kModelFiles = 2;

  hal::Device& device() { return driver_.device(); }
  // Prepares `chain` with these files. The model must be correct, whether the files are valid or
  // not.
  void save(const Chain& chain, hal::CacheFiles files) {
    const auto prepared =
        device().prepareModel(validated(chain.model()).value(), with(std::move(files)));
    ASSERT_TRUE(prepared.ok()) << prepared.status().toString();
    EXPECT_TRUE(chain.isComputedBy(**prepared));
  }
  Result<hal::CachedModel> load(const Chain& chain, hal::CacheFiles files) {
    return device().prepareModelFromCache(validated(chain.model()).value(), with(std::move(files)));
  }
  void expectLoads(const Chain& chain, hal::CacheFiles files) {
    const auto cached = load(chain, std::move(files));
    ASSERT_TRUE(cached.ok()) << cached.status().toString();
    EXPECT_TRUE(chain.isComputedBy(*cached->prepared));
  }
  void expectFails(const Chain& chain, hal::CacheFiles files) {
    const auto cached = load(chain, std::move(files));
    EXPECT_EQ(cached.status().code(), ResultCode::OP_FAILED) << cached.status().toString();
  }
  void expectRefused(const Chain& chain, hal::CacheFiles files) {
    const ResultCode code = load(chain, std::move(files)).status().code();
    EXPECT_TRUE(code == ResultCode::OP_FAILED || code == ResultCode::BAD_DATA)
        << resultCodeName(code);
  }

  // Each way to have one file more or less, or one that is not usable.
  static std::vector<std::function<void(hal::CacheFiles&)>> wrongNumbers() {
    const auto extra = [] { return UniqueFd(::memfd_create("test", MFD_CLOEXEC)); };
    return {[extra](hal::CacheFiles& f) { f.modelCache.push_back(extra()); },
            [](hal::CacheFiles& f) { f.modelCache.pop_back(); },
            [extra](hal::CacheFiles& f) { f.dataCache.push_back(extra()); },
            [](hal::CacheFiles& f) { f.dataCache.pop_back(); }};
  }
  static std::vector<std::function<void(hal::CacheFiles&)>> noDescriptors() {
    return {[](hal::CacheFiles& f) { f.modelCache.back().reset(); },
            [](hal::CacheFiles& f) { f.dataCache[0].reset(); }};
  }
  static std::vector<std::function<void(hal::CacheFiles&)>> wrongAccess(int mode) {
    const auto again = [mode](UniqueFd& fd) {
      fd = UniqueFd(::open(fmt::format("/proc/self/fd/{}", fd.get()).c_str(), mode | O_CLOEXEC));
    };
    return {[again](hal::CacheFiles& f) { again(f.modelCache[0]); },
            [again](hal::CacheFiles& f) { again(f.dataCache[0]); }};
  }
  void expectSaveUnspoilt(const std::vector<std::function<void(hal::CacheFiles&)>>& ways) {
    for (size_t i = 0; i < ways.size(); ++i) {
      SCOPED_TRACE(i);
      for (const bool loads : {false, true}) {
        hal::CacheFiles files = files_.open(token_);
        ways[i](files);
        if (loads) {
          expectRefused(add_, std::move(files));
        } else {
          save(add_, std::move(files));
        }
      }
    }
  }
  void expectLoadRefused(const std::vector<std::function<void(hal::CacheFiles&)>>& ways) {
    save(add_, files_.open(token_));
    for (size_t i = 0; i < ways.size(); ++i) {
      SCOPED_TRACE(i);
      hal::CacheFiles files = files_.open(token_);
      ways[i](files);
      expectRefused(add_, std::move(files));
    }
    expectLoads(add_, files_.open(token_));
  }

  TestFolder folder_;
  CacheDriver driver_;
  const Chain add_;
  const FileSet files_;
  const hal::Token token_ = tokenOf(1);
};

TEST_P(CachingVts, CacheSavingAndRetrieval) {
  save(add_, files_.open(token_));
  expectLoads(add_, files_.open(token_));
}

TEST_P(CachingVts, CacheSavingAndRetrievalNonZeroOffset) {
  files_.write(std::vector<std::string>(files_.paths().size(), "xy"));
  save(add_, files_.open(token_, 2));
  expectLoads(add_, files_.open(token_, 1));
}

TEST_P(CachingVts, SaveToCacheInvalidNumCache) { expectSaveUnspoilt(wrongNumbers()); }
TEST_P(CachingVts, SaveToCacheInvalidNumFd) { expectSaveUnspoilt(noDescriptors()); }
TEST_P(CachingVts, SaveToCacheInvalidAccessMode) { expectSaveUnspoilt(wrongAccess(O_RDONLY)); }
TEST_P(CachingVts, PrepareModelFromCacheInvalidNumCache) { expectLoadRefused(wrongNumbers()); }
TEST_P(CachingVts, PrepareModelFromCacheInvalidNumFd) { expectLoadRefused(noDescriptors()); }
TEST_P(CachingVts, PrepareModelFromCacheInvalidAccessMode) {
  expectLoadRefused(wrongAccess(O_WRONLY));
}

constexpr unsigned kLongChain = 100;
constexpr int kRounds = hal::kSanitized ? 10 : 100;

// Overwrites these files repeatedly with the files of the other model.
class Copier {
 public:
  Copier(const FileSet& to, std::vector<std::string> contents)
      : thread_([this, to, contents = std::move(contents)] {
          for (size_t i = 0; !stop_; ++i) {
            writeFile(to.paths()[i % contents.size()], contents[i % contents.size()]);
          }
        }) {}
  ~Copier() {
    stop_ = true;
    thread_.join();
  }
  Copier(const Copier&) = delete;
  Copier& operator=(const Copier&) = delete;

 private:
  std::atomic<bool> stop_ = false;
  std::thread thread_;
};

TEST_P(CachingVts, SaveToCacheTimeOfCheckAndUse) {
  const Chain add{add_.type, OperationType::ADD, kLongChain};
  const Chain mul{add_.type, OperationType::MUL, kLongChain};
  const FileSet other(folder_.path(), "mul", kModelFiles, 1);
  save(mul, other.open(token_));
  for (int round = 0; round < kRounds; ++round) {
    {
      const Copier copier(files_, other.read());
      save(add, files_.open(token_));
    }
    const auto cached = load(add, files_.open(token_));
    if (cached.ok()) {
      ASSERT_TRUE(add.isComputedBy(*cached->prepared)) << round;
    }
  }
}

TEST_P(CachingVts, PrepareFromCacheTimeOfCheckAndUse) {
  const Chain add{add_.type, OperationType::ADD, kLongChain};
  const Chain mul{add_.type, OperationType::MUL, kLongChain};
  const FileSet other(folder_.path(), "mul", kModelFiles, 1);
  save(mul, other.open(tokenOf(2)));
  save(add, files_.open(token_));
  const std::vector<std::string> good = files_.read();
  for (int round = 0; round < kRounds; ++round) {
    files_.write(good);
    const Copier copier(files_, other.read());
    const auto cached = load(add, files_.open(token_));
    if (cached.ok()) {
      ASSERT_TRUE(add.isComputedBy(*cached->prepared)) << round;
    }
  }
}

TEST_P(CachingVts, ReplaceSecuritySensitiveCache) {
  const Chain mul{add_.type, OperationType::MUL, 3};
  const FileSet other(folder_.path(), "mul", kModelFiles, 1);
  save(mul, other.open(token_));
  save(add_, files_.open(token_));
  for (size_t i = 0; i < files_.modelFiles(); ++i) {
    writeFile(files_.paths()[i], readFile(other.paths()[i]));
  }
  expectFails(add_, files_.open(token_));
}

TEST_P(CachingVts, CorruptedModelCache) {
  save(add_, files_.open(token_));
  const std::vector<std::string> good = files_.read();
  for (unsigned seed = 0; seed < 10; ++seed) {
    std::mt19937 random(seed);
    for (size_t file = 0; file < files_.modelFiles(); ++file) {
      std::vector<std::string> bad = good;
      if (bad[file].empty()) continue;
      bad[file][random() % bad[file].size()] ^= static_cast<char>(1u << random() % 8);
      files_.write(bad);
      expectFails(add_, files_.open(token_));
    }
  }
}

TEST_P(CachingVts, WrongLengthModelCache) {
  save(add_, files_.open(token_));
  const std::vector<std::string> good = files_.read();
  for (unsigned seed = 0; seed < 10; ++seed) {
    std::mt19937 random(seed);
    for (size_t file = 0; file < files_.modelFiles(); ++file) {
      std::vector<std::string> bad = good;
      for (auto more = random() % 256 + 1; more > 0; --more) {
        bad[file].push_back(static_cast<char>(random()));
      }
      files_.write(bad);
      expectFails(add_, files_.open(token_));
    }
  }
}

TEST_P(CachingVts, CorruptedAndWrongLengthDataCache) {
  save(add_, files_.open(token_));
  const std::vector<std::string> good = files_.read();
  for (unsigned seed = 0; seed < 10; ++seed) {
    std::mt19937 random(seed);
    std::vector<std::string> bad = good;
    if (seed % 2 == 0) {
      bad.back()[random() % bad.back().size()] ^= 1;
    } else {
      bad.back().append(random() % 256 + 1, 'x');
    }
    files_.write(bad);
    const auto cached = load(add_, files_.open(token_));
    EXPECT_EQ(cached.ok(), cached.ok() && cached->prepared != nullptr);
  }
  files_.write(good);
  expectLoads(add_, files_.open(token_));
}

TEST_P(CachingVts, WrongToken) {
  save(add_, files_.open(token_));
  std::mt19937 random(0);
  for (int round = 0; round < 10; ++round) {
    hal::Token wrong = token_;
    wrong[random() % wrong.size()] ^= static_cast<uint8_t>(1u << random() % 8);
    expectFails(add_, files_.open(wrong));
  }
}

// Not in the suite: the purpose of the cache.
TEST_P(CachingVts, ComesBackAfterARestart) {
  save(add_, files_.open(token_));
  driver_.restart();
  expectLoads(add_, files_.open(token_));
}

std::string nameOfCase(const ::testing::TestParamInfo<Parameter>& each) {
  const bool isFloat = std::get<2>(each.param) == OperandType::TENSOR_FLOAT32;
  return fmt::format("{}_HAL1_{}_{}", nameOf(std::get<0>(each.param)),
                     static_cast<unsigned>(std::get<1>(each.param)) - 1,
                     isFloat ? "float32" : "quant8");
}

const auto kPlaces =
    ::testing::Values(Where::IN_THIS_PROCESS, Where::OVER_RPC, Where::IN_ITS_OWN_PROCESS);
const auto kTypes =
    ::testing::Values(OperandType::TENSOR_FLOAT32, OperandType::TENSOR_QUANT8_ASYMM);

INSTANTIATE_TEST_SUITE_P(Reference, CachingVts,
                         ::testing::Combine(kPlaces,
                                            ::testing::Values(HalVersion::V1_2, HalVersion::V1_3),
                                            kTypes),
                         nameOfCase);

TEST(DecliningDriver, SavesNothingAndSaysSo) {
  for (const Where where : {Where::IN_THIS_PROCESS, Where::OVER_RPC, Where::IN_ITS_OWN_PROCESS}) {
    const TestFolder folder;
    CacheDriver driver({where, HalVersion::V1_3, 1, 1, R"("declines": true)", ""},
                       folder.path() / "state");
    const Chain chain;
    const FileSet files(folder.path(), "a", 1, 1);
    const auto prepared = driver.device().prepareModel(validated(chain.model()).value(),
                                                       with(files.open(tokenOf(1))));
    ASSERT_TRUE(prepared.ok());
    EXPECT_TRUE(chain.isComputedBy(**prepared));
    EXPECT_EQ(
        driver.device()
            .prepareModelFromCache(validated(chain.model()).value(), with(files.open(tokenOf(1))))
            .status()
            .code(),
        ResultCode::OP_FAILED);
  }
}

}  // namespace
}  // namespace halyard::cache_testing
