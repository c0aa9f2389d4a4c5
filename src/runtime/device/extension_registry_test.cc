// Tests of the prefixes of extensions.
#include "runtime/device/extension_registry.h"

#include <gtest/gtest.h>

#include <set>

namespace halyard::runtime {
namespace {

TEST(ExtensionRegistry, OursHasItsPrefixAlways) {
  ExtensionRegistry registry;
  EXPECT_EQ(registry.nameOf(kTfliteExtensionPrefix), kTfliteExtension);
  EXPECT_EQ(*registry.prefixOf("com.acme.first"), 1);
  EXPECT_EQ(*registry.prefixOf(std::string(kTfliteExtension)), kTfliteExtensionPrefix);
  EXPECT_EQ(*registry.prefixOf("com.acme.second"), 2);
}

TEST(ExtensionRegistry, GivesEveryPrefixOnce) {
  ExtensionRegistry registry;
  std::set<uint16_t> given = {kTfliteExtensionPrefix};
  for (int i = 1; i < UINT16_MAX; ++i) {
    const std::string name = "com.acme.n" + std::to_string(i);
    const auto prefix = registry.prefixOf(name);
    ASSERT_TRUE(prefix.ok()) << prefix.status().toString();
    ASSERT_TRUE(given.insert(*prefix).second) << *prefix;
    ASSERT_EQ(registry.nameOf(*prefix), name);
    if (i % 5000 != 1) continue;
    ASSERT_EQ(*registry.prefixOf(name), *prefix);
    ASSERT_EQ(*registry.prefixOf(std::string(kTfliteExtension)), kTfliteExtensionPrefix);
  }
  EXPECT_EQ(given.size(), size_t{UINT16_MAX});
  EXPECT_EQ(registry.prefixOf("com.acme.surplus").status().message(),
            "all 65535 extension prefixes are in use");
}

}  // namespace
}  // namespace halyard::runtime
