#include "tflite_delegate/delegate.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/temporary_folder_for_test.h"
#include "halyard/driver/unique_fd.h"
#include "test_definitions.h"
#include "tflite_delegate/testing/host.h"

namespace halyard::tflite {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::Host;

constexpr int32_t kAdd = 0;
constexpr int32_t kDequantize = 6;
constexpr int32_t kFullyConnected = 9;
constexpr int32_t kReshape = 22;
constexpr int32_t kStridedSlice = 45;
constexpr int32_t kMaximum = 55;
constexpr int32_t kShape = 77;
constexpr int32_t kSplitV = 102;
constexpr int32_t kIf = 118;
constexpr int32_t kWhile = 119;
constexpr int32_t kDensify = 124;
constexpr int32_t kRfft2d = 131;
constexpr int32_t kHashtableFind = 137;

struct AddOptions {
  int32_t activation = 0;
  bool powerOfTwo = false;
};
struct FullyConnectedOptions {
  int32_t activation = 0;
  int32_t weightsFormat = 0;
  bool keepsDims = false;
  bool asymmetric = false;
  int32_t biasType = 0;
};

struct ReshapeOptions {
  int32_t shape[8] = {};
  int32_t dimensions = 0;
};

class DelegateTest : public ::testing::Test {
 protected:
  ~DelegateTest() override { destroyDelegate(delegate_); }

  LiteDelegate* make(DelegateOptions options = {}) {
    options.claimsAll = true;
    options.report = report();
    Result<LiteDelegate*> made = createDelegate(options);
    EXPECT_TRUE(made.ok()) << made.status().toString();
    return delegate_ = made.ok() ? *made : nullptr;
  }
  std::string report() const { return folder_.path() + "/report.json"; }
  nlohmann::json readReport() const {
    std::ifstream file(report());
    return nlohmann::json::parse(file);
  }

  // Whether a graph is compiled with float16 allowed, as the report says.
  bool compilesForFloat16(const DelegateOptions& options) {
    const int32_t a = host_.tensor(LiteType::FLOAT32, {2});
    const int32_t b = host_.tensor(LiteType::FLOAT32, {2});
    host_.node(kAdd, {a, a}, {b}, AddOptions{});
    EXPECT_EQ(host_.apply(make(options)), LiteStatus::OK) << host_.errors();
    EXPECT_EQ(host_.allocate(), LiteStatus::OK) << host_.errors();
    host_.freeKernels();
    const nlohmann::json graph = readReport().at("graphs").at(0);
    return graph.at("compilations").at(0).at("report").at("allow_fp16").get<bool>();
  }

  // Before the host: a kernel that outlives the delegate writes the report.
  TemporaryFolder folder_;
  Host host_;
  LiteDelegate* delegate_ = nullptr;
};

TEST_F(DelegateTest, ComputesWhatItTakes) {
  const int32_t a = host_.tensor(LiteType::FLOAT32, {1, 3});
  const int32_t b = host_.tensor(LiteType::FLOAT32, {1, 3});
  const int32_t sum = host_.tensor(LiteType::FLOAT32, {1, 3});
  const int32_t most = host_.tensor(LiteType::FLOAT32, {1, 3});
  host_.node(kAdd, {a, b}, {sum}, AddOptions{1});  // RELU
  host_.node(kMaximum, {sum, a}, {most});
  ASSERT_EQ(host_.apply(make()), LiteStatus::OK) << host_.errors();
  EXPECT_THAT(host_.partitions(), ElementsAre(ElementsAre(0, 1)));
  ASSERT_EQ(host_.allocate(), LiteStatus::OK) << host_.errors();
  for (int i = 0; i < 3; ++i) {
    host_.data<float>(a)[i] = static_cast<float>(i);
    host_.data<float>(b)[i] = -1.5f * static_cast<float>(i) + 1;
  }
  ASSERT_EQ(host_.invoke(), LiteStatus::OK) << host_.errors();
  // RELU(1, 0.5, 0), and the greater of these and 0, 1, 2.
  EXPECT_THAT(std::vector<float>(host_.data<float>(most), host_.data<float>(most) + 3),
              ElementsAre(1, 1, 2));
}

TEST_F(DelegateTest, LeavesUnknownOperatorsWithAReason) {
  std::vector<int32_t> values;
  for (int i = 0; i < 4; ++i) values.push_back(host_.tensor(LiteType::FLOAT32, {2}));
  host_.node(kAdd, {values[0], values[0]}, {values[1]}, AddOptions{});
  host_.node(kHashtableFind, {values[1]}, {values[2]});
  host_.node(kAdd, {values[2], values[2]}, {values[3]}, AddOptions{});
  ASSERT_EQ(host_.apply(make()), LiteStatus::OK) << host_.errors();
  EXPECT_THAT(host_.partitions(), ElementsAre(ElementsAre(0), ElementsAre(2)));
  const nlohmann::json refused = readReport().at("graphs").at(0).at("refused");
  ASSERT_EQ(refused.size(), 1);
  EXPECT_EQ(refused[0].at("node"), 1);
  EXPECT_EQ(refused[0].at("operator"), "HASHTABLE_FIND");
  EXPECT_THAT(refused[0].at("reason").get<std::string>(),
              HasSubstr("operator HASHTABLE_FIND of node 1 is not supported: the importer has no "
                        "conversion"));
}

// The tensors of this host are in no file.
TEST_F(DelegateTest, LeavesCallsOfOtherGraphs) {
  struct TwoGraphs {
    int32_t first = 1;
    int32_t second = 2;
  };
  for (const int32_t call : {kIf, kWhile}) {
    Host host;
    std::vector<int32_t> values;
    for (int i = 0; i < 4; ++i) values.push_back(host.tensor(LiteType::FLOAT32, {2}));
    const int32_t flag = host.tensor(LiteType::BOOL, {1});
    host.node(kAdd, {values[0], values[0]}, {values[1]}, AddOptions{});
    host.node(call, {flag, values[1]}, {values[2]}, TwoGraphs{});
    host.node(kAdd, {values[2], values[2]}, {values[3]}, AddOptions{});
    ASSERT_EQ(host.apply(make()), LiteStatus::OK) << host.errors();
    EXPECT_THAT(host.partitions(), ElementsAre(ElementsAre(0), ElementsAre(2)));
    const nlohmann::json refused = readReport().at("graphs").at(0).at("refused");
    ASSERT_EQ(refused.size(), 1);
    EXPECT_THAT(refused[0].at("reason").get<std::string>(),
                HasSubstr("it calls other graphs, which only the model's file describes"));
    host.freeKernels();
    destroyDelegate(std::exchange(delegate_, nullptr));
  }
}

TEST_F(DelegateTest, MaxPartitionsKeepsTheLargest) {
  std::vector<int32_t> values;
  for (int i = 0; i < 5; ++i) values.push_back(host_.tensor(LiteType::FLOAT32, {2}));
  host_.node(kAdd, {values[0], values[0]}, {values[1]}, AddOptions{});
  host_.node(kHashtableFind, {values[1]}, {values[2]});
  host_.node(kAdd, {values[2], values[2]}, {values[3]}, AddOptions{});
  host_.node(kAdd, {values[3], values[2]}, {values[4]}, AddOptions{});
  DelegateOptions options;
  options.maxPartitions = 1;
  ASSERT_EQ(host_.apply(make(options)), LiteStatus::OK) << host_.errors();
  EXPECT_THAT(host_.partitions(), ElementsAre(ElementsAre(2, 3)));
}

TEST_F(DelegateTest, AllowsFloat16OnlyOnRequest) {
  EXPECT_FALSE(compilesForFloat16(DelegateOptions()));
}

TEST_F(DelegateTest, AllowsFloat16IfItsOptionDoes) {
  DelegateOptions options;
  options.allowFloat16 = true;
  EXPECT_TRUE(compilesForFloat16(options));
}

TEST_F(DelegateTest, AllowsFloat16IfTheInterpreterDoes) {
  host_.allowFloat16();
  EXPECT_TRUE(compilesForFloat16(DelegateOptions()));
}

TEST_F(DelegateTest, SmallPartitionsStayByTheCostModelOrByOption) {
  const int32_t a = host_.tensor(LiteType::FLOAT32, {2});
  const int32_t b = host_.tensor(LiteType::FLOAT32, {2});
  host_.node(kAdd, {a, a}, {b}, AddOptions{});
  DelegateOptions options;
  options.minOperations = 2;
  ASSERT_EQ(host_.apply(make(options)), LiteStatus::OK) << host_.errors();
  EXPECT_TRUE(host_.partitions().empty());
  EXPECT_THAT(readReport().at("graphs").at(0).at("refused").at(0).at("reason").get<std::string>(),
              HasSubstr("min_operations_per_partition"));
}

TEST_F(DelegateTest, CompilesAgainForOtherShapes) {
  const int32_t a = host_.tensor(LiteType::FLOAT32, {1, 2});
  const int32_t b = host_.tensor(LiteType::FLOAT32, {1, 2});
  host_.node(kAdd, {a, a}, {b}, AddOptions{});
  ASSERT_EQ(host_.apply(make()), LiteStatus::OK) << host_.errors();
  for (const int32_t batch : {1, 3, 2, 1}) {
    host_.resize(a, {batch, 2});
    host_.resize(b, {batch, 2});
    ASSERT_EQ(host_.allocate(), LiteStatus::OK) << host_.errors();
    const int32_t last = 2 * batch - 1;
    host_.data<float>(a)[last] = 21;
    ASSERT_EQ(host_.invoke(), LiteStatus::OK) << host_.errors();
    EXPECT_EQ(host_.data<float>(b)[last], 42);
  }
}

TEST_F(DelegateTest, IntegersOf64BitsMustFit) {
  const int32_t a = host_.tensor(LiteType::INT64, {2});
  const int32_t b = host_.tensor(LiteType::INT64, {2});
  host_.node(kMaximum, {a, a}, {b});
  ASSERT_EQ(host_.apply(make()), LiteStatus::OK) << host_.errors();
  ASSERT_EQ(host_.partitions().size(), 1);
  ASSERT_EQ(host_.allocate(), LiteStatus::OK) << host_.errors();
  host_.data<int64_t>(a)[0] = -5;
  host_.data<int64_t>(a)[1] = 7;
  ASSERT_EQ(host_.invoke(), LiteStatus::OK) << host_.errors();
  EXPECT_EQ(host_.data<int64_t>(b)[0], -5);
  EXPECT_EQ(host_.data<int64_t>(b)[1], 7);
  host_.data<int64_t>(a)[1] = int64_t{1} << 40;
  EXPECT_EQ(host_.invoke(), LiteStatus::DELEGATE_ERROR);
  EXPECT_THAT(host_.errors(), HasSubstr("1099511627776"));
}

// Another delegate may take the reader, and want a constant.
TEST_F(DelegateTest, LeavesConstantsThatOthersRead) {
  const uint16_t halves[2] = {0x3c00, 0x4000};
  const int32_t half = host_.constant(LiteType::FLOAT16, {2}, halves);
  const int32_t weights = host_.tensor(LiteType::FLOAT32, {2});
  const int32_t x = host_.tensor(LiteType::FLOAT32, {2});
  const int32_t y = host_.tensor(LiteType::FLOAT32, {2});
  const int32_t z = host_.tensor(LiteType::FLOAT32, {2});
  host_.node(kDequantize, {half}, {weights});
  host_.node(kAdd, {x, weights}, {y}, AddOptions{});
  host_.node(kHashtableFind, {weights}, {z});
  ASSERT_EQ(host_.apply(make()), LiteStatus::OK) << host_.errors();
  EXPECT_THAT(host_.partitions(), ElementsAre(ElementsAre(1)));
  EXPECT_THAT(readReport().at("graphs").at(0).at("refused").at(0).at("reason").get<std::string>(),
              HasSubstr("node 2 HASHTABLE_FIND, which reads it"));
}

// The interpreter computes shapes at its preparation, so that it knows those that follow.
TEST_F(DelegateTest, LeavesShapesThatOthersRead) {
  const int32_t x = host_.tensor(LiteType::FLOAT32, {2});
  const int32_t y = host_.tensor(LiteType::FLOAT32, {2});
  const int32_t shape = host_.tensor(LiteType::INT32, {1});
  host_.tensorAt(shape).allocation = Allocation::PERSISTENT_CONSTANT;
  const int32_t z = host_.tensor(LiteType::FLOAT32, {1});
  host_.node(kAdd, {x, x}, {y}, AddOptions{});
  host_.node(kShape, {y}, {shape}, LiteType::INT32);
  host_.node(kHashtableFind, {shape}, {z});
  ASSERT_EQ(host_.apply(make()), LiteStatus::OK) << host_.errors();
  EXPECT_THAT(host_.partitions(), ElementsAre(ElementsAre(0)));
  EXPECT_THAT(readReport().at("graphs").at(0).at("refused").at(0).at("reason").get<std::string>(),
              HasSubstr("node 2 HASHTABLE_FIND, which reads it"));
}

TEST_F(DelegateTest, ListsWithoutElementsAreNoValues) {
  const int32_t sizeValues[3] = {1, 2, 0};
  const int32_t axisValue[1] = {0};
  const int32_t x = host_.tensor(LiteType::FLOAT32, {3});
  const int32_t sizes = host_.constant(LiteType::INT32, {3}, sizeValues);
  const int32_t axis = host_.constant(LiteType::INT32, {1}, axisValue);
  const int32_t first = host_.tensor(LiteType::FLOAT32, {1});
  const int32_t rest = host_.tensor(LiteType::FLOAT32, {2});
  const int32_t none = host_.tensor(LiteType::FLOAT32, {0});
  const int32_t y = host_.tensor(LiteType::FLOAT32, {2});
  host_.node(kSplitV, {x, sizes, axis}, {first, rest, none}, int32_t{3});
  host_.node(kAdd, {rest, rest}, {y}, AddOptions{});
  ASSERT_EQ(host_.apply(make()), LiteStatus::OK) << host_.errors();
  EXPECT_THAT(host_.partitions(), ElementsAre(ElementsAre(0, 1)));
  ASSERT_EQ(host_.allocate(), LiteStatus::OK) << host_.errors();
  for (int i = 0; i < 3; ++i) host_.data<float>(x)[i] = static_cast<float>(i + 1);
  ASSERT_EQ(host_.invoke(), LiteStatus::OK) << host_.errors();
  EXPECT_FLOAT_EQ(host_.data<float>(first)[0], 1);
  EXPECT_FLOAT_EQ(host_.data<float>(y)[0], 4);
  EXPECT_FLOAT_EQ(host_.data<float>(y)[1], 6);
}

TEST_F(DelegateTest, ComplexNumbersKeepTheirShapes) {
  const int32_t length[2] = {1, 8};
  const int32_t x = host_.tensor(LiteType::FLOAT32, {1, 8});
  const int32_t size = host_.constant(LiteType::INT32, {2}, length);
  const int32_t y = host_.tensor(LiteType::COMPLEX64, {1, 5});
  host_.node(kRfft2d, {x, size}, {y});
  ASSERT_EQ(host_.apply(make()), LiteStatus::OK) << host_.errors();
  ASSERT_EQ(host_.partitions().size(), 1);
  ASSERT_EQ(host_.allocate(), LiteStatus::OK) << host_.errors();
  std::fill_n(host_.data<float>(x), 8, 1.0f);
  ASSERT_EQ(host_.invoke(), LiteStatus::OK) << host_.errors();
  EXPECT_EQ(host_.tensorAt(y).bytes, 5 * 8);
  EXPECT_FLOAT_EQ(host_.data<float>(y)[0], 8);
}

// The file has the size 1 in place of an unknown one.
TEST_F(DelegateTest, LeavesOutputsWhoseSizesDependOnValues) {
  const int32_t ones[1] = {1};
  const int32_t x = host_.tensor(LiteType::FLOAT32, {8});
  const int32_t begin = host_.tensor(LiteType::INT32, {1});
  const int32_t end = host_.tensor(LiteType::INT32, {1});
  const int32_t stride = host_.constant(LiteType::INT32, {1}, ones);
  const int32_t y = host_.tensor(LiteType::FLOAT32, {1});
  host_.setSignature(y, {-1});
  struct {
    int32_t masks[5] = {};
    bool offset = false;
  } slice;
  const int32_t z = host_.tensor(LiteType::FLOAT32, {1});
  host_.setSignature(z, {-1});
  const int32_t before = host_.tensor(LiteType::FLOAT32, {8});
  host_.node(kAdd, {before, before}, {x}, AddOptions{});
  host_.node(kStridedSlice, {x, begin, end, stride}, {y}, slice);
  host_.node(kAdd, {y, y}, {z}, AddOptions{});
  ASSERT_EQ(host_.apply(make()), LiteStatus::OK) << host_.errors();
  EXPECT_THAT(host_.partitions(), ElementsAre(ElementsAre(0)));
}

// The file has a size that need not be that of the execution.
TEST_F(DelegateTest, LeavesReshapesByComputedShapes) {
  const int32_t before = host_.tensor(LiteType::FLOAT32, {6});
  const int32_t x = host_.tensor(LiteType::FLOAT32, {6});
  const int32_t shape = host_.tensor(LiteType::INT32, {2});
  const int32_t y = host_.tensor(LiteType::FLOAT32, {3, 2});
  const int32_t z = host_.tensor(LiteType::FLOAT32, {3, 2});
  host_.node(kAdd, {before, before}, {x}, AddOptions{});
  host_.node(kReshape, {x, shape}, {y}, ReshapeOptions{});
  host_.node(kAdd, {y, y}, {z}, AddOptions{});
  ASSERT_EQ(host_.apply(make()), LiteStatus::OK) << host_.errors();
  EXPECT_THAT(host_.partitions(), ElementsAre(ElementsAre(0)));
}

TEST_F(DelegateTest, ConstantsAreReadWhereTheFileIsMapped) {
  const std::string path = folder_.path() + "/model";
  const std::vector<float> weights = {1, 2, 3, 4};
  {
    std::ofstream file(path, std::ios::binary);
    file << std::string(64, 'x');
    file.write(reinterpret_cast<const char*>(weights.data()), 16);
  }
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  void* const mapped = ::mmap(nullptr, 80, PROT_READ, MAP_SHARED, fd.get(), 0);
  ASSERT_NE(mapped, MAP_FAILED);
  for (const bool isReplaced : {false, true}) {
    Host host;
    if (isReplaced) std::filesystem::remove(path);
    const int32_t x = host.tensor(LiteType::FLOAT32, {1, 2});
    const int32_t w =
        host.constant(LiteType::FLOAT32, {2, 2}, static_cast<const uint8_t*>(mapped) + 64);
    const int32_t y = host.tensor(LiteType::FLOAT32, {1, 2});
    host.node(kFullyConnected, {x, w, kOmittedTensor}, {y}, FullyConnectedOptions{});
    destroyDelegate(delegate_);
    ASSERT_EQ(host.apply(make()), LiteStatus::OK) << host.errors();
    ASSERT_EQ(host.partitions().size(), 1);
    EXPECT_EQ(readReport().at("graphs").at(0).at("constants_mapped"), !isReplaced);
    ASSERT_EQ(host.allocate(), LiteStatus::OK) << host.errors();
    host.data<float>(x)[0] = 1;
    host.data<float>(x)[1] = 10;
    ASSERT_EQ(host.invoke(), LiteStatus::OK) << host.errors();
    EXPECT_EQ(host.data<float>(y)[0], 21);
    EXPECT_EQ(host.data<float>(y)[1], 43);
  }
  ::munmap(mapped, 80);
}

// The mapped file is the sample model branch_and_loop: a WHILE whose body multiplies x by weights.
TEST_F(DelegateTest, GraphsThatANodeCallsAreReadInTheMappedFile) {
  const std::string sample =
      HALYARD_SOURCE_DIR "/src/import/tflite/fuzz_corpus/branch_and_loop.tflite";
  const std::string path = folder_.path() + "/model";
  std::filesystem::copy_file(sample, path);
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  const size_t size = std::filesystem::file_size(path);
  void* const mapped = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, fd.get(), 0);
  ASSERT_NE(mapped, MAP_FAILED);
  const auto* const bytes = static_cast<const uint8_t*>(mapped);
  const float weights[] = {0, 1, 0, 0, 0, 1, 2, 0, 0};
  const auto* const begin = reinterpret_cast<const uint8_t*>(weights);
  const uint8_t* const at = std::search(bytes, bytes + size, begin, begin + sizeof(weights));
  ASSERT_NE(at, bytes + size);
  struct {
    int32_t condition = 3;
    int32_t body = 4;
  } loop;
  enum Case { TAKEN, OPEN, REPLACED };
  for (const Case each : {TAKEN, OPEN, REPLACED}) {
    Host host;
    if (each == REPLACED) std::filesystem::remove(path);
    const int32_t n = host.tensor(LiteType::INT32, {});
    const int32_t x = host.tensor(LiteType::FLOAT32, {2, 3});
    const int32_t w = host.constant(LiteType::FLOAT32, {3, 3}, at);
    const int32_t lastN = host.tensor(LiteType::INT32, {});
    const int32_t y = host.tensor(LiteType::FLOAT32, {2, 3});
    const int32_t sameW = host.tensor(LiteType::FLOAT32, {3, 3});
    host.node(kWhile, {n, x, w}, {lastN, y, sameW}, loop);
    if (each == OPEN) host.setSignature(x, {-1, 3});
    destroyDelegate(delegate_);
    ASSERT_EQ(host.apply(make()), LiteStatus::OK) << host.errors();
    ASSERT_EQ(host.partitions().size(), each == TAKEN ? 1 : 0) << readReport().dump();
    if (each == OPEN) {
      EXPECT_THAT(readReport().dump(), HasSubstr("tensor 1 may get another size"));
    }
    if (each != TAKEN) continue;
    ASSERT_EQ(host.allocate(), LiteStatus::OK) << host.errors();
    EXPECT_EQ(readReport().at("graphs").at(0).at("constants_mapped"), true);
    *host.data<int32_t>(n) = 1;
    for (int i = 0; i < 6; ++i) host.data<float>(x)[i] = static_cast<float>(i);
    ASSERT_EQ(host.invoke(), LiteStatus::OK) << host.errors();
    EXPECT_EQ(*host.data<int32_t>(lastN), 3);
    // Two turns.
    EXPECT_THAT(std::vector<float>(host.data<float>(y), host.data<float>(y) + 6),
                ElementsAre(2, 0, 2, 5, 6, 8));
  }
  ::munmap(mapped, size);
}

TEST_F(DelegateTest, OtherLayoutsAreRefusedInWords) {
  const float values[2] = {};
  const int32_t a = host_.constant(LiteType::FLOAT32, {2}, values);
  const int32_t b = host_.tensor(LiteType::FLOAT32, {2});
  host_.node(kAdd, {a, a}, {b}, AddOptions{});
  host_.tensorAt(a).bytes = 9;
  EXPECT_EQ(host_.apply(make()), LiteStatus::DELEGATE_ERROR);
  EXPECT_THAT(host_.errors(), HasSubstr("other data layouts"));
  EXPECT_THAT(host_.errors(), HasSubstr("tensor 0: it has 9 bytes, its dimensions need 8"));
}

TEST_F(DelegateTest, SparseConstantsBecomeDense) {
  // The rows (0, 7) and (5, 0).
  const float values[2] = {7, 5};
  IntArray* const order = host_.intList({0, 1});
  LiteSparseLevel levels[2] = {{0, 2, nullptr, nullptr},
                               {1, 0, host_.intList({0, 1, 2}), host_.intList({1, 0})}};
  const LiteSparsity sparsity = {order, nullptr, levels, 2};
  const int32_t sparse = host_.constant(LiteType::FLOAT32, {2, 2}, values);
  host_.tensorAt(sparse).sparsity = &sparsity;
  host_.tensorAt(sparse).bytes = sizeof(values);
  const int32_t dense = host_.tensor(LiteType::FLOAT32, {2, 2});
  const int32_t x = host_.tensor(LiteType::FLOAT32, {2, 2});
  const int32_t y = host_.tensor(LiteType::FLOAT32, {2, 2});
  host_.node(kDensify, {sparse}, {dense});
  host_.node(kAdd, {x, dense}, {y}, AddOptions{});
  ASSERT_EQ(host_.apply(make()), LiteStatus::OK) << host_.errors();
  EXPECT_THAT(host_.partitions(), ElementsAre(ElementsAre(0, 1)));
  ASSERT_EQ(host_.allocate(), LiteStatus::OK) << host_.errors();
  std::fill_n(host_.data<float>(x), 4, 1.0f);
  ASSERT_EQ(host_.invoke(), LiteStatus::OK) << host_.errors();
  EXPECT_THAT(std::vector<float>(host_.data<float>(y), host_.data<float>(y) + 4),
              ElementsAre(1, 8, 6, 1));
}

TEST_F(DelegateTest, ASparsityWithoutLevelsIsRefusedInWords) {
  const float values[2] = {7, 5};
  const LiteSparsity sparsity = {nullptr, nullptr, nullptr, 2};
  const int32_t sparse = host_.constant(LiteType::FLOAT32, {2, 2}, values);
  host_.tensorAt(sparse).sparsity = &sparsity;
  host_.node(kDensify, {sparse}, {host_.tensor(LiteType::FLOAT32, {2, 2})});
  EXPECT_EQ(host_.apply(make()), LiteStatus::DELEGATE_ERROR);
  EXPECT_THAT(host_.errors(), HasSubstr("its sparsity has 2 levels and no list of them"));
}

TEST_F(DelegateTest, KernelsOutliveTheDelegate) {
  const int32_t a = host_.tensor(LiteType::FLOAT32, {2});
  const int32_t b = host_.tensor(LiteType::FLOAT32, {2});
  host_.node(kAdd, {a, a}, {b}, AddOptions{});
  ASSERT_EQ(host_.apply(make()), LiteStatus::OK) << host_.errors();
  destroyDelegate(std::exchange(delegate_, nullptr));
  ASSERT_EQ(host_.allocate(), LiteStatus::OK) << host_.errors();
  host_.data<float>(a)[1] = 2;
  ASSERT_EQ(host_.invoke(), LiteStatus::OK) << host_.errors();
  EXPECT_EQ(host_.data<float>(b)[1], 4);
  host_.freeKernels();
  EXPECT_EQ(readReport().at("graphs").at(0).at("compilations").size(), 1);
}

TEST_F(DelegateTest, AGraphWithoutNodesIsNoError) {
  host_.tensor(LiteType::FLOAT32, {2});
  host_.node(kHashtableFind, {0}, {0});
  EXPECT_EQ(host_.apply(make()), LiteStatus::OK) << host_.errors();
  EXPECT_TRUE(host_.partitions().empty());
}

TEST_F(DelegateTest, UnknownDevicesAreNamed) {
  DelegateOptions options;
  options.devices = {"npu7"};
  const Result<LiteDelegate*> made = createDelegate(options);
  ASSERT_FALSE(made.ok());
  EXPECT_THAT(made.status().message(), HasSubstr("npu7"));
}

}  // namespace
}  // namespace halyard::tflite
