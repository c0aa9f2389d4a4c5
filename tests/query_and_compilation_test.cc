// A device compiles every model that it reports as supported. The models are random, with one
// operation each. They are legal or violate one rule. Through the C API.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <halyard/halyard.h>

#include <algorithm>
#include <map>
#include <string>

#include "client/canonical_model.h"
#include "client/status.h"
#include "manifests_for_test.h"
#include "ops/bad_models_for_test.h"
#include "ops/each_case_for_test.h"
#include "test_definitions.h"

namespace halyard::ops::testing {
namespace {

struct Counts {
  int notModels = 0;      // refused while they were built
  int computable = 0;     // supported, and compiled
  int refused = 0;        // not supported, nor compiled
  int neverComputed = 0;  // not supported, and compiled to fail
};

bool saysNever(const client::Compilation& compilation) {
  std::string report;
  EXPECT_EQ(compilation.report(report), ANEURALNETWORKS_NO_ERROR);
  return report.find("\"NEVER_COMPUTED\"") != std::string::npos;
}

// The support that the device reports for the model, and the result of its compilation.
void compare(const client::CanonicalModel& model, const client::Device& device, Counts* counts) {
  const Result<std::vector<bool>> supported = model.supportedOperations(device.handle);
  ASSERT_TRUE(supported.ok()) << supported.status().toString();
  const bool takesAll = std::ranges::all_of(*supported, [](bool takes) { return takes; });
  Result<client::Compilation> made = model.createCompilation({&device.handle, 1});
  ASSERT_TRUE(made.ok()) << made.status().toString();
  const Status status = client::toStatus(made->finish());
  const bool never = status.ok() && saysNever(*made);
  if (takesAll) {
    ASSERT_TRUE(status.ok()) << "supported, but " << status.toString();
    ASSERT_FALSE(never) << "supported, but it can never be computed";
    ++counts->computable;
  } else if (never) {
    ++counts->neverComputed;
  } else {
    ASSERT_EQ(status.code(), ResultCode::BAD_DATA) << status.toString();
    ++counts->refused;
  }
}

class QueryAndCompilation : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    static ::halyard::testing::Manifests manifests;
    manifests.add("halyard-cpu", CPU_DRIVER);
    manifests.add("test-plain", REFERENCE_DRIVER,
                  R"({"threads": 1, "extensions": [{"name": "halyard.tflite"}]})");
    manifests.add("test-old", REFERENCE_DRIVER, R"({"threads": 1, "hal_version": "1.1"})", "1.1");
    manifests.use();
    ::setenv("HALYARD_LOG", "quiet", 1);
  }

  void SetUp() override {
    auto devices = client::allDevices();
    ASSERT_TRUE(devices.ok());
    devices_ = *std::move(devices);
    ASSERT_EQ(devices_.size(), 4U);
  }

  // False for models that the API cannot build: those without inputs.
  bool check(const Model& model) {
    if (model.main.inputIndexes.empty()) return false;
    compareOnAll(model);
    return true;
  }

  void compareOnAll(const Model& model) {
    const auto shared = std::make_shared<const Model>(model);
    const auto built = client::CanonicalModel::create(shared);
    if (!built.ok()) {
      ASSERT_EQ(built.status().code(), ResultCode::BAD_DATA) << built.status().toString();
      ++counts_["nothing"].notModels;
      return;
    }
    for (const client::Device& device : devices_) {
      SCOPED_TRACE(device.name);
      ASSERT_NO_FATAL_FAILURE(compare(**built, device, &counts_[device.name]));
    }
  }

  std::vector<client::Device> devices_;
  std::map<std::string, Counts> counts_;
};

TEST_F(QueryAndCompilation, LegalModels) {
  forEachCase(1, 300, [this](const OperationDefinition&, const LegalCase& legal) {
    return check(toModel(legal));
  });
  EXPECT_EQ(counts_["nothing"].notModels, 0);
  for (const char* name : {"nnapi-reference", "halyard-cpu", "test-plain"}) {
    EXPECT_GT(counts_[name].computable, 300) << name;
    EXPECT_EQ(counts_[name].refused + counts_[name].neverComputed, 0) << name;
  }
  EXPECT_GT(counts_["test-old"].refused, 100);  // it supports no results of open sizes
}

TEST_F(QueryAndCompilation, BrokenModels) {
  unsigned number = 0;
  forEachCase(1, 300, [&](const OperationDefinition& definition, const LegalCase& legal) {
    if (toModel(legal).main.inputIndexes.empty()) return false;
    const BadModels bad(definition, legal);
    for (const auto& list :
         {bad.withWrongTypes(), bad.withWrongCounts(), bad.withWrongRanks(),
          bad.withMissingValues(), bad.withWrongQuantization(), bad.withWrongValues()}) {
      for (const BadModel& each : list) {
        // Takes a part of the many models that are wrong in one way.
        if (++number % std::max<size_t>(list.size() / 4, 1) != 0) continue;
        SCOPED_TRACE(each.what);
        (void)check(each.model);
      }
    }
    return true;
  });
  EXPECT_GT(counts_["nothing"].notModels, 300);
  for (const char* name : {"nnapi-reference", "halyard-cpu", "test-plain"}) {
    EXPECT_GT(counts_[name].neverComputed, 200) << name;
  }
}

}  // namespace
}  // namespace halyard::ops::testing
