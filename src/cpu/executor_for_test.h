// Executors of test models, and their arguments.
// Thread safety: pure functions. Ownership: an Argument refers to the values that it is made of.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <utility>
#include <vector>

#include "cpu/executor.h"
#include "cpu/model_for_test.h"
#include "model/validation/validation.h"

namespace halyard::cpu::testing {

template <typename T>
Argument argumentOf(std::vector<T>& values, Shape dims = {}) {
  return {values.data(), values.size() * sizeof(T), std::move(dims), false};
}

inline Result<std::shared_ptr<Executor>> tryExecutorFor(const TestModel& test,
                                                        ThreadPool* threads = nullptr) {
  const auto model = test.share();
  HALYARD_RETURN_IF_ERROR(validateModel(*model).takeStatus());
  return Executor::create(model, threads);
}

inline std::shared_ptr<Executor> executorFor(const TestModel& test, ThreadPool* threads = nullptr) {
  auto executor = tryExecutorFor(test, threads);
  EXPECT_TRUE(executor.ok()) << executor.status().toString();
  return executor.ok() ? *executor : nullptr;
}

}  // namespace halyard::cpu::testing
