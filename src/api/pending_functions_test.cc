// The functions that this version names but does not have yet: each answers OP_FAILED with a text.
// The list below is the whole of them; it can only shrink.
#include <android/NeuralNetworksExtensions.h>

#include <functional>
#include <iostream>

#include "api/test_model.h"

namespace halyard::api::testing {
namespace {

TEST(PendingFunctions, AnswerOpFailedWithAText) {
  const auto model = addModel({1}, {1}, {1});
  ASSERT_NN_OK(ANeuralNetworksModel_finish(model.get()));
  ANeuralNetworksCompilation* fresh = nullptr;
  ASSERT_NN_OK(ANeuralNetworksCompilation_create(model.get(), &fresh));
  const Handle<ANeuralNetworksCompilation> freshOwner(fresh);
  const auto compilation = compileFor(model.get(), deviceNamed(kCpuDevice));
  const auto execution = newExecution(compilation.get());
  const uint8_t token[32] = {};

  const std::vector<std::pair<const char*, std::function<int()>>> pending = {
      {"ANeuralNetworksCompilation_addExtensionAttribute",
       [&] {
         return ANeuralNetworksCompilation_addExtensionAttribute(fresh, "a.b", 0, nullptr, 0);
       }},
      {"ANeuralNetworksCompilation_setCaching",
       [&] { return ANeuralNetworksCompilation_setCaching(fresh, "/tmp", token); }},
      {"ANeuralNetworksExecution_addExtensionAttribute",
       [&] {
         return ANeuralNetworksExecution_addExtensionAttribute(execution.get(), "a.b", 0, nullptr,
                                                               0);
       }},
  };
  for (const auto& [name, call] : pending) {
    EXPECT_EQ(call(), ANEURALNETWORKS_OP_FAILED) << name << " has come to exist: drop it here";
    EXPECT_THAT(
        std::string(halyard_lastErrorText()),
        ::testing::StartsWith(std::string(name) + ": this version of Halyard does not have"));
    std::cout << "pending: " << halyard_lastErrorText() << "\n";
  }
  EXPECT_LE(pending.size(), 3u) << "the list may only shrink";
}

}  // namespace
}  // namespace halyard::api::testing
