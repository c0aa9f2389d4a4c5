#include "runtime/cache/cache_key.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <functional>
#include <set>
#include <string_view>

#include "cpu/cpu_device.h"
#include "cpu/model_for_test.h"
#include "halyard/driver/unique_fd.h"
#include "runtime/partition/plan.h"

namespace halyard::runtime {
namespace {

using cpu::testing::TestModel;
using ::testing::HasSubstr;

constexpr uint32_t kExtensionPrefix = 7 << 16;

SharedMemoryPtr poolOf(const std::vector<float>& values) {
  auto pool = SharedMemory::create(values.size() * sizeof(float), "weights");
  EXPECT_TRUE(pool.ok());
  const auto mapping = (*pool)->map();
  EXPECT_TRUE(mapping.ok());
  std::memcpy(mapping->data(), values.data(), mapping->size());
  return *pool;
}

// All inputs of a key. A test changes one of them.
struct Ingredients {
  Ingredients() {
    const uint32_t in = model.input({2, 3});
    const uint32_t middle = model.temporary({2, 3});
    const uint32_t out = model.output({2, 3});
    const uint32_t small =
        model.constant<float>(OperandType::TENSOR_FLOAT32, {3}, {1.0f, 2.0f, 3.0f});
    model.model().pools.push_back(poolOf({4, 5, 6, 7}));
    const uint32_t large = model.poolConstant(OperandType::TENSOR_FLOAT32, {3}, {0, 4, 12});
    model.add(in, small, middle);
    model.add(middle, large, out);
    device.name = "acme-npu";
    device.versionString = "1.0";
    device.modelCacheFiles = 1;
    application[5] = 9;
  }

  Result<hal::Token> key() {
    ConstantDigests constants;
    return key(constants);
  }
  Result<hal::Token> key(ConstantDigests& constants) { return cacheKey(parts(), constants); }
  CacheKeyParts parts() {
    CacheKeyParts parts;
    parts.application = application;
    parts.subgraph = subgraph;
    parts.operations = operations;
    parts.model = &model.model();
    parts.device = &device;
    parts.preference = preference;
    parts.priority = priority;
    parts.attributes = &attributes;
    parts.processor = processor;
    return parts;
  }

  Operand& operand(size_t index) { return model.model().main.operands[index]; }

  TestModel model;
  hal::Token application = {};
  uint32_t subgraph = kMainSubgraph;
  std::vector<uint32_t> operations;
  hal::DeviceInfo device = cpu::cpuDeviceInfo();
  hal::ExecutionPreference preference = hal::ExecutionPreference::FAST_SINGLE_ANSWER;
  hal::Priority priority = hal::Priority::MEDIUM;
  hal::ExtensionAttributes attributes;
  std::string processor = "x";
};

hal::Token keyAfter(const std::function<void(Ingredients&)>& change) {
  Ingredients ingredients;
  change(ingredients);
  const Result<hal::Token> key = ingredients.key();
  EXPECT_TRUE(key.ok()) << key.status().toString();
  return key.ok() ? *key : hal::Token{};
}

TEST(CacheKey, IsStable) {
  Ingredients ingredients;
  ConstantDigests constants;
  const hal::Token first = keyAfter([](Ingredients&) {});
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(keyAfter([](Ingredients&) {}), first);  // equal models in other memory
    EXPECT_EQ(*ingredients.key(constants), first);    // the same model
  }
}

TEST(CacheKey, AnyIngredientChangesIt) {
  using Change = std::function<void(Ingredients&)>;
  const std::vector<std::pair<const char*, Change>> changes = {
      {"application's token", [](Ingredients& i) { i.application[31] = 1; }},
      {"device name", [](Ingredients& i) { i.device.name = "acme-np"; }},
      {"driver version", [](Ingredients& i) { i.device.versionString = "1.1"; }},
      // NNAPI digests these texts without a separator, so it gets the same bytes for both.
      {"border of name and version",
       [](Ingredients& i) {
         i.device.name = "acme-npu1";
         i.device.versionString = ".0";
       }},
      {"HAL version", [](Ingredients& i) { i.device.halVersion = HalVersion::V1_2; }},
      {"feature level", [](Ingredients& i) { i.device.featureLevel = FeatureLevel::FL5; }},
      {"number of files", [](Ingredients& i) { i.device.dataCacheFiles = 1; }},
      {"preference",
       [](Ingredients& i) { i.preference = hal::ExecutionPreference::SUSTAINED_SPEED; }},
      {"priority", [](Ingredients& i) { i.priority = hal::Priority::HIGH; }},
      {"processor", [](Ingredients& i) { i.processor = "y"; }},
      {"partition", [](Ingredients& i) { i.operations = {0}; }},
      {"another partition",
       [](Ingredients& i) {
         i.operations = {0, 1};
       }},
      {"partition of a referenced model",
       [](Ingredients& i) {
         i.operations = {0};
         i.subgraph = 0;
       }},
      {"of another referenced model",
       [](Ingredients& i) {
         i.operations = {0};
         i.subgraph = 1;
       }},
      {"small weight", [](Ingredients& i) { i.model.model().operandValues[0] ^= 1; }},
      {"large weight",
       [](Ingredients& i) {
         i.model.model().pools[0] = poolOf({4, 5, 6.5f, 7});
       }},
      {"place of a weight", [](Ingredients& i) { i.operand(4).location.offset = 0; }},
      {"shape of an input",
       [](Ingredients& i) {
         i.operand(0).dimensions = {3, 2};
       }},
      {"rank",
       [](Ingredients& i) {
         i.operand(0).dimensions = {2, 3, 1};
       }},
      {"unknown dimension",
       [](Ingredients& i) {
         i.operand(0).dimensions = {2, 0};
       }},
      {"type", [](Ingredients& i) { i.operand(1).type = OperandType::TENSOR_FLOAT16; }},
      {"scale", [](Ingredients& i) { i.operand(1).scale = 0.5f; }},
      {"zero point", [](Ingredients& i) { i.operand(1).zeroPoint = 1; }},
      {"scales of channels",
       [](Ingredients& i) {
         i.operand(1).extraParams = SymmPerChannelQuantParams{{1, 2}, 0};
       }},
      {"dimension of channels",
       [](Ingredients& i) {
         i.operand(1).extraParams = SymmPerChannelQuantParams{{1, 2}, 1};
       }},
      {"data of an extension's operand",
       [](Ingredients& i) { i.operand(1).extraParams = std::vector<uint8_t>{1}; }},
      {"operation",
       [](Ingredients& i) { i.model.model().main.operations[0].type = OperationType::MUL; }},
      {"inputs of an operation",
       [](Ingredients& i) {
         std::swap(i.model.model().main.operations[0].inputs[0],
                   i.model.model().main.operations[0].inputs[1]);
       }},
      {"relaxed", [](Ingredients& i) { i.model.model().relaxComputationFloat32toFloat16 = true; }},
      {"output", [](Ingredients& i) { i.model.model().main.outputIndexes = {1}; }},
      {"referenced model",
       [](Ingredients& i) { i.model.model().referenced.push_back(i.model.model().main); }},
      {"attribute",
       [](Ingredients& i) {
         i.attributes = {{{kExtensionPrefix | 1, {5}}}, {{"acme.speed", 7}}};
       }},
      {"value of an attribute",
       [](Ingredients& i) {
         i.attributes = {{{kExtensionPrefix | 1, {6}}}, {{"acme.speed", 7}}};
       }},
      {"name of an attribute",
       [](Ingredients& i) {
         i.attributes = {{{kExtensionPrefix | 1, {5}}}, {{"acme.power", 7}}};
       }},
      {"extension's type",
       [](Ingredients& i) {
         i.operand(1).type = static_cast<OperandType>(kExtensionPrefix | 3);
         i.model.model().extensionNameToPrefix = {{"acme.types", 7}};
       }},
  };
  std::set<hal::Token> keys = {keyAfter([](Ingredients&) {})};
  for (const auto& [what, change] : changes) {
    EXPECT_TRUE(keys.insert(keyAfter(change)).second) << what;
  }
}

TEST(CacheKey, WhereThingsAreKeptChangesNothing) {
  const hal::Token key = keyAfter([](Ingredients&) {});
  // The constant lies at another offset of another pool.
  EXPECT_EQ(keyAfter([](Ingredients& i) {
              i.model.model().pools[0] = poolOf({0, 0, 5, 6, 7});
              i.operand(4).location.offset = 8;
            }),
            key);
  // The constant lies in the model.
  EXPECT_EQ(keyAfter([](Ingredients& i) {
              const float values[] = {5, 6, 7};
              i.operand(4).location = appendConstant(i.model.model(), values, sizeof(values));
              i.operand(4).lifetime = Lifetime::CONSTANT_COPY;
            }),
            key);
}

TEST(CacheKey, TheNumberOfAnExtensionChangesNothing) {
  const auto withPrefix = [](uint16_t prefix) {
    return keyAfter([prefix](Ingredients& i) {
      const uint32_t high = uint32_t{prefix} << 16;
      i.operand(1).type = static_cast<OperandType>(high | 3);
      i.model.model().extensionNameToPrefix = {{"acme.types", prefix}};
      i.attributes = {{{high | 1, {5}}}, {{"acme.types", prefix}}};
    });
  };
  EXPECT_EQ(withPrefix(1), withPrefix(2));
}

TEST(CacheKey, AttributesAreSorted) {
  const auto withOrder = [](bool reversed) {
    return keyAfter([reversed](Ingredients& i) {
      i.attributes = {{{kExtensionPrefix | 1, {5}}, {kExtensionPrefix | 2, {6}}},
                      {{"acme.speed", 7}}};
      if (reversed) std::swap(i.attributes.attributes[0], i.attributes.attributes[1]);
    });
  };
  EXPECT_EQ(withOrder(false), withOrder(true));
}

TEST(CacheKey, MemoryOfAFileIsReadWithoutMappingIt) {
  // A memfd that any process can shrink.
  const float values[] = {4, 5, 6, 7};
  const UniqueFd fd(::memfd_create("file", MFD_CLOEXEC));
  ASSERT_EQ(::write(fd.get(), values, sizeof(values)), static_cast<ssize_t>(sizeof(values)));
  const auto withFile = [&](Ingredients& i) {
    auto pool = SharedMemory::fromFd(sizeof(values), PROT_READ, fd.get(), 0);
    ASSERT_TRUE(pool.ok());
    i.model.model().pools[0] = *pool;
  };
  EXPECT_EQ(keyAfter(withFile), keyAfter([](Ingredients&) {}));

  Ingredients shortened;
  withFile(shortened);
  ASSERT_EQ(::ftruncate(fd.get(), 5), 0);
  const Result<hal::Token> key = shortened.key();
  ASSERT_FALSE(key.ok());
  EXPECT_THAT(key.status().message(), HasSubstr("operand #4"));
}

TEST(CacheKey, AConstantIsReadOnce) {
  Ingredients ingredients;
  ConstantDigests constants;
  const hal::Token before = *ingredients.key(constants);
  const auto mapping = ingredients.model.model().pools[0]->map();
  mapping->data()[4] ^= 1;  // an application must not do this
  EXPECT_EQ(*ingredients.key(constants), before);
  EXPECT_NE(*ingredients.key(), before);
}

TEST(CacheKey, TheProcessorIsKnown) { EXPECT_FALSE(processorText().empty()); }

}  // namespace
}  // namespace halyard::runtime
