// CachedPreparationTest: compilations of one small model on a device that records its calls.
// Thread safety: one thread at a time. Ownership: the fixture owns its folder and devices.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "runtime/compile/compilation.h"
#include "runtime/execute/execution.h"
#include "runtime/testing/caching_device_for_test.h"

namespace halyard::runtime::testing {

class CachedPreparationTest : public CachingDeviceTest {
 protected:
  // out = in + weights, built as an application builds it.
  std::unique_ptr<ModelBuilder> newModel() {
    if (manager_ == nullptr) start();
    auto builder = std::make_unique<ModelBuilder>(manager_->extensions());
    using enum OperandType;
    const std::vector<uint32_t> in = {0};
    const std::vector<uint32_t> out = {3};
    EXPECT_TRUE(builder->addOperand(TENSOR_FLOAT32, shape_, 0, 0).ok());
    EXPECT_TRUE(builder->addOperand(TENSOR_FLOAT32, {2}, 0, 0).ok());
    EXPECT_TRUE(builder->addOperand(INT32, {}, 0, 0).ok());
    EXPECT_TRUE(builder->addOperand(TENSOR_FLOAT32, shape_, 0, 0).ok());
    const int32_t none = 0;
    EXPECT_TRUE(builder->setOperandValue(1, weights_.data(), 8).ok());
    EXPECT_TRUE(builder->setOperandValue(2, &none, sizeof(none)).ok());
    EXPECT_TRUE(
        builder->addOperation(OperationType::ADD, std::vector<uint32_t>{0, 1, 2}, out).ok());
    EXPECT_TRUE(builder->identifyInputsAndOutputs(in, out).ok());
    EXPECT_TRUE(builder->finish().ok());
    return builder;
  }

  std::unique_ptr<Compilation> newCompilation(const ModelBuilder& model) {
    auto compilation = Compilation::create(model, {&manager_->devices()[0]}, true);
    EXPECT_TRUE(compilation.ok());
    return std::move(compilation).value();
  }

  // Makes one compilation, checks that it computes correctly, and returns its cache record.
  CacheRecord compile(bool withCache = true) {
    const auto model = newModel();
    const auto compilation = newCompilation(*model);
    EXPECT_TRUE(compilation->setPreference(preference_).ok());
    EXPECT_TRUE(compilation->setPriority(priority_).ok());
    if (withCache) {
      EXPECT_TRUE(compilation->setCaching(cacheFolder(), token_).ok());
    }
    return finish(*compilation);
  }

  CacheRecord finish(Compilation& compilation) {
    const Status status = compilation.finish();
    EXPECT_TRUE(status.ok()) << status.toString();
    if (!status.ok()) return {};
    Execution execution(compilation);
    float in[2] = {10, 20};
    float out[2] = {};
    EXPECT_TRUE(execution.setArgument(Execution::Direction::INPUT, 0, nullptr, in, 8).ok());
    EXPECT_TRUE(execution.setArgument(Execution::Direction::OUTPUT, 0, nullptr, out, 8).ok());
    EXPECT_TRUE(execution.compute().ok());
    EXPECT_EQ(out[0], 10 + weights_[0]);
    EXPECT_EQ(out[1], 20 + weights_[1]);
    return compilation.report()->partitions().at(0).cache;
  }

  std::string cacheFolder() const { return subfolder_.empty() ? folder_ : folder_ + subfolder_; }
  std::string subfolder_;
  Shape shape_ = {2};
  std::vector<float> weights_ = {1, 2};
  int32_t preference_ = 1;
  int32_t priority_ = 100;
};

}  // namespace halyard::runtime::testing
