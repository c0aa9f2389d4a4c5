// Tests of one served model: validation, batches, the queue, deadlines and the end.
#include "serve/scheduling/served_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <thread>

#include "base/temporary_folder_for_test.h"
#include "serve/models_for_test.h"
#include "serve/protocol/waiter.h"

namespace halyard::serve {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class ServedModelTest : public ::testing::Test {
 protected:
  std::shared_ptr<ServedModel> load(const import::ModelWriter& writer,
                                    const ModelSettings& settings) {
    const std::string file = folder_.path() + "/m.tflite";
    writeFile(file, writer.bytes());
    auto model = ServedModel::load({"m", "1", file, ""}, settings);
    EXPECT_TRUE(model.ok()) << model.status().toString();
    return model.ok() ? *model : nullptr;
  }

  static InferAnswer infer(ServedModel& model, const InferRequest& request) {
    Waiter waiter;
    model.submit(request, Clock::now(),
                 [&](InferAnswer answer) { waiter.give(std::move(answer)); });
    return waiter.wait();
  }

  const TemporaryFolder folder_{"served"};
};

ModelSettings batchesOf(uint32_t most, std::chrono::microseconds delay = {}) {
  ModelSettings settings;
  settings.maxBatch = most;
  settings.queueDelay = delay;
  return settings;
}

TEST_F(ServedModelTest, ComputesWithoutBatches) {
  const auto model = load(additionModel(), {});
  ASSERT_TRUE(model);
  EXPECT_THAT(model->inputs()[0].shape, ElementsAre(1, 3));
  const InferRequest request = requestFor("m", {1, 2, 3});
  const InferAnswer answer = infer(*model, request);
  ASSERT_TRUE(answer.outcome.ok()) << answer.outcome.text();
  EXPECT_THAT(floatsOf(answer.outputs[0]), ElementsAre(11, 22, 33));
  EXPECT_THAT(answer.outputs[0].shape, ElementsAre(1, 3));
  EXPECT_EQ(model->statistics().success.count, 1u);
}

TEST_F(ServedModelTest, AllowsFloat16OnRequest) {
  ModelSettings settings = batchesOf(2);
  EXPECT_THAT(*load(additionModel(), settings)->report(), HasSubstr("\"allow_fp16\": false"));
  settings.allowFloat16 = true;
  EXPECT_THAT(*load(additionModel(), settings)->report(), HasSubstr("\"allow_fp16\": true"));
}

TEST_F(ServedModelTest, ComputesBatchesOfEverySize) {
  const auto model = load(additionModel(), batchesOf(5));
  ASSERT_TRUE(model);
  EXPECT_EQ(model->maxBatch(), 5u);
  EXPECT_EQ(model->batchRefusal(), "");
  EXPECT_THAT(model->inputs()[0].shape, ElementsAre(-1, 3));
  for (size_t rows = 1; rows <= 5; ++rows) {
    std::vector<float> values;
    for (size_t i = 0; i < rows * 3; ++i) values.push_back(static_cast<float>(i));
    const InferRequest request = requestFor("m", values);
    const InferAnswer answer = infer(*model, request);
    ASSERT_TRUE(answer.outcome.ok()) << answer.outcome.text();
    const std::vector<float> results = floatsOf(answer.outputs[0]);
    ASSERT_EQ(results.size(), values.size());
    for (size_t i = 0; i < values.size(); ++i) {
      EXPECT_EQ(results[i], values[i] + static_cast<float>(10 * (i % 3 + 1)));
    }
  }
}

TEST_F(ServedModelTest, DependentElementsAreNotBatched) {
  const auto model = load(mixingModel(), batchesOf(4));
  ASSERT_TRUE(model);
  EXPECT_EQ(model->maxBatch(), 0u);
  EXPECT_THAT(model->batchRefusal(), HasSubstr("differs from the same alone"));
  const InferRequest request = requestFor("m", {1, 2, 3});
  EXPECT_THAT(floatsOf(infer(*model, request).outputs[0]), ElementsAre(2, 4, 6));
}

// An index outside of its own request must not pick from another one.
TEST_F(ServedModelTest, ABadIndexFailsOnlyItsOwnRequest) {
  const auto model = load(pickingModel(), batchesOf(2, std::chrono::seconds(20)));
  ASSERT_TRUE(model);
  ASSERT_EQ(model->maxBatch(), 2u);
  const auto requestAt = [](float value, int32_t at) {
    InferRequest request = requestFor("m", {value, value, value});
    InputTensor& index = request.inputs.emplace_back();
    index.name = "index";
    index.datatype = Datatype::INT32;
    index.shape = {1, 1};
    index.own = import::bytesOf<int32_t>({at});
    index.bytes = index.own;
    return request;
  };
  for (const int32_t outside : {-1, 3, 4}) {
    for (const size_t bad : {0, 1}) {
      std::vector<InferRequest> requests;
      for (size_t i = 0; i < 2; ++i) {
        requests.push_back(requestAt(static_cast<float>(i + 1), i == bad ? outside : 2));
      }
      std::vector<Waiter> waiters(2);
      for (size_t i = 0; i < 2; ++i) {
        model->submit(requests[i], Clock::now(),
                      [&waiters, i](InferAnswer answer) { waiters[i].give(std::move(answer)); });
      }
      const InferAnswer refused = waiters[bad].wait();
      EXPECT_FALSE(refused.outcome.ok()) << outside;
      EXPECT_THAT(refused.outcome.text(), HasSubstr("of indices is -"));
      const size_t good = 1 - bad;
      const InferAnswer answer = waiters[good].wait();
      ASSERT_TRUE(answer.outcome.ok()) << answer.outcome.text();
      EXPECT_THAT(floatsOf(answer.outputs[0]), ElementsAre(static_cast<float>(good + 1)));
    }
  }
}

TEST_F(ServedModelTest, ARequestWhoseClientHasGoneIsNotComputed) {
  const auto model = load(additionModel(), batchesOf(2, std::chrono::hours(1)));
  ASSERT_TRUE(model);
  InferRequest abandoned = requestFor("m", {1, 2, 3});
  abandoned.isAbandoned = [] { return true; };
  Waiter waiter;
  model->submit(abandoned, Clock::now(),
                [&](InferAnswer answer) { waiter.give(std::move(answer)); });
  InferRequest other = requestFor("m", {4, 5, 6});
  other.isAbandoned = [] { return false; };
  EXPECT_THAT(floatsOf(infer(*model, other).outputs[0]), ElementsAre(14, 25, 36));
  const InferAnswer answer = waiter.wait();
  EXPECT_EQ(answer.outcome.fault(), Fault::CANCELLED);
  EXPECT_THAT(answer.outcome.text(), HasSubstr("the client has gone"));
  EXPECT_EQ(model->statistics().inferences, 1u);
}

TEST_F(ServedModelTest, RequestsAreJoined) {
  const auto model = load(additionModel(), batchesOf(4, std::chrono::seconds(20)));
  ASSERT_TRUE(model);
  std::vector<InferRequest> requests;
  for (int i = 0; i < 4; ++i) requests.push_back(requestFor("m", {float(i), 0, 0}));
  std::vector<Waiter> waiters(4);
  for (size_t i = 0; i < 4; ++i) {
    model->submit(requests[i], Clock::now(),
                  [&waiters, i](InferAnswer answer) { waiters[i].give(std::move(answer)); });
  }
  for (size_t i = 0; i < 4; ++i) {
    const InferAnswer answer = waiters[i].wait();
    ASSERT_TRUE(answer.outcome.ok());
    EXPECT_THAT(floatsOf(answer.outputs[0]), ElementsAre(10 + float(i), 20, 30));
  }
  EXPECT_EQ(model->statistics().executions, 1u);
  EXPECT_EQ(model->statistics().inferences, 4u);
}

TEST_F(ServedModelTest, AFullQueueRefuses) {
  ModelSettings settings = batchesOf(8, std::chrono::seconds(20));
  settings.queueLimit = 2;
  const auto model = load(additionModel(), settings);
  ASSERT_TRUE(model);
  const InferRequest request = requestFor("m", {1, 2, 3});
  std::atomic<int> answered = 0;
  for (int i = 0; i < 2; ++i) {
    model->submit(request, Clock::now(), [&](const InferAnswer& answer) {
      EXPECT_TRUE(answer.outcome.ok()) << answer.outcome.text();
      ++answered;
    });
  }
  const InferAnswer refused = infer(*model, request);
  EXPECT_EQ(refused.outcome.fault(), Fault::OVERLOADED);
  EXPECT_THAT(refused.outcome.text(), HasSubstr("the queue has its 2 requests"));
  EXPECT_EQ(answered, 0);
  model->stop();
  EXPECT_EQ(answered, 2) << "a stop answers the waiting requests at once";
  EXPECT_EQ(infer(*model, request).outcome.fault(), Fault::UNAVAILABLE);
}

// A request that waits only for others of its batch is computed before its deadline.
TEST_F(ServedModelTest, ADeadlineEndsTheWaitForABatch) {
  const auto model = load(additionModel(), batchesOf(8, std::chrono::hours(1)));
  ASSERT_TRUE(model);
  InferRequest request = requestFor("m", {1, 2, 3});
  request.deadline = Clock::now() + std::chrono::seconds(1);
  const InferAnswer answer = infer(*model, request);
  ASSERT_TRUE(answer.outcome.ok()) << answer.outcome.text();
  EXPECT_THAT(floatsOf(answer.outputs[0]), ElementsAre(11, 22, 33));
  EXPECT_GE(Clock::now(), *request.deadline - std::chrono::milliseconds(500)) << "no wait";
}

TEST_F(ServedModelTest, ADeadlineEndsTheWaitForAnInstance) {
  const auto model = load(additionModel(), {});
  ASSERT_TRUE(model);
  // An answer that is not taken keeps the instance.
  const InferRequest first = requestFor("m", {1, 2, 3});
  std::promise<void> isRunning;
  std::promise<void> mayEnd;
  std::thread busy([&] {
    model->submit(first, Clock::now(), [&](const InferAnswer&) {
      isRunning.set_value();
      mayEnd.get_future().wait();
    });
  });
  isRunning.get_future().wait();
  InferRequest second = requestFor("m", {1, 2, 3});
  second.deadline = Clock::now() + std::chrono::milliseconds(20);
  const InferAnswer answer = infer(*model, second);
  EXPECT_EQ(answer.outcome.fault(), Fault::LATE);
  EXPECT_THAT(answer.outcome.text(), HasSubstr("the deadline passed after"));
  mayEnd.set_value();
  busy.join();
}

TEST_F(ServedModelTest, ALateRequestIsNotComputedOnAnIdleInstance) {
  const auto model = load(additionModel(), {});
  ASSERT_TRUE(model);
  InferRequest request = requestFor("m", {1, 2, 3});
  request.deadline = Clock::now();
  EXPECT_EQ(infer(*model, request).outcome.fault(), Fault::LATE);
  EXPECT_EQ(model->statistics().executions, 0u);
}

// Requests of higher priority that come later do not prolong the delay of the first one.
TEST_F(ServedModelTest, TheDelayCountsFromTheOldestRequest) {
  const auto model = load(additionModel(), batchesOf(64, std::chrono::milliseconds(400)));
  ASSERT_TRUE(model);
  std::vector<InferRequest> requests;
  for (uint32_t i = 0; i < 5; ++i) {
    requests.push_back(requestFor("m", {1, 2, 3}));
    requests.back().priority = 100 - i;
  }
  std::promise<Clock::time_point> answered;
  const Clock::time_point start = Clock::now();
  std::atomic<bool> isFirst = true;
  for (const InferRequest& request : requests) {
    model->submit(request, Clock::now(), [&](const InferAnswer&) {
      if (isFirst.exchange(false)) answered.set_value(Clock::now());
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
  }
  EXPECT_LT(answered.get_future().get() - start, std::chrono::milliseconds(1000));
  model->stop();
}

TEST_F(ServedModelTest, ADeadlineReachesTheDevice) {
  ModelSettings settings;
  settings.instances.front().devices = {"nnapi-reference"};
  const auto model = load(additionModel(), settings);
  ASSERT_TRUE(model);
  InferRequest request = requestFor("m", {1, 2, 3});
  request.deadline = Clock::now() + std::chrono::seconds(60);
  EXPECT_THAT(floatsOf(infer(*model, request).outputs[0]), ElementsAre(11, 22, 33));
  request.deadline = Clock::now() - std::chrono::seconds(1);
  EXPECT_EQ(infer(*model, request).outcome.fault(), Fault::LATE);
}

TEST_F(ServedModelTest, ManyThreadsGetTheirOwnAnswers) {
  ModelSettings settings = batchesOf(8);
  settings.instances.front().count = 2;
  const auto model = load(additionModel(), settings);
  ASSERT_TRUE(model);
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 100; ++i) {
        const auto value = static_cast<float>(t * 1000 + i);
        const InferRequest request = requestFor("m", {value, 0, 0});
        const InferAnswer answer = infer(*model, request);
        if (!answer.outcome.ok() || floatsOf(answer.outputs[0])[0] != value + 10) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(model->statistics().success.count, 800u);
}

// Each case changes a valid request.
TEST_F(ServedModelTest, FaultyRequestsAreExplained) {
  const auto model = load(additionModel(), batchesOf(4));
  ASSERT_TRUE(model);
  const auto refusalOf = [&](const std::function<void(InferRequest&)>& change) {
    InferRequest request = requestFor("m", {1, 2, 3});
    change(request);
    const InferAnswer answer = infer(*model, request);
    EXPECT_EQ(answer.outcome.fault(), Fault::INVALID);
    EXPECT_THAT(answer.outcome.text(), HasSubstr("model 'm' version 1: "));
    return answer.outcome.text();
  };
  EXPECT_THAT(refusalOf([](InferRequest& r) { r.inputs.clear(); }),
              HasSubstr("input 'x' is missing, expected 'x', found no input"));
  EXPECT_THAT(refusalOf([](InferRequest& r) { r.inputs[0].name = "y"; }),
              HasSubstr("input 'x' is missing, expected 'x', found 'y'"));
  EXPECT_THAT(refusalOf([](InferRequest& r) {
                r.inputs.push_back(std::move(requestFor("m", {1, 2, 3}).inputs[0]));
              }),
              HasSubstr("an input is given twice"));
  EXPECT_THAT(refusalOf([](InferRequest& r) {
                r.inputs.push_back(std::move(requestFor("m", {1, 2, 3}).inputs[0]));
                r.inputs[1].name = "z";
              }),
              HasSubstr("there is no input 'z', the model has 'x'"));
  EXPECT_THAT(refusalOf([](InferRequest& r) { r.inputs[0].datatype = Datatype::INT32; }),
              HasSubstr("input 'x': the datatype is INT32, expected FP32"));
  EXPECT_THAT(refusalOf([](InferRequest& r) { r.inputs[0].shape = {3}; }),
              HasSubstr("the shape is [3], expected [-1,3]"));
  EXPECT_THAT(refusalOf([](InferRequest& r) {
                r.inputs[0].shape = {1, 4};
              }),
              HasSubstr("the shape is [1,4], expected [-1,3]"));
  EXPECT_THAT(refusalOf([](InferRequest& r) {
                r.inputs[0].shape = {0, 3};
              }),
              HasSubstr("is a batch of 0, expected 1 to 4"));
  EXPECT_THAT(refusalOf([](InferRequest& r) {
                r.inputs[0].shape = {INT64_MAX, 3};
              }),
              HasSubstr("expected 1 to 4"));
  EXPECT_THAT(refusalOf([](InferRequest& r) {
                r.inputs[0].shape = {2, 3};
              }),
              HasSubstr("12 bytes, expected 24 for FP32 [2,3]"));
  EXPECT_THAT(refusalOf([](InferRequest& r) {
                r.outputs.push_back({"q", {}, 0, {}});
              }),
              HasSubstr("there is no output 'q', the model has 'y'"));
  EXPECT_THAT(refusalOf([](InferRequest& r) {
                r.outputs = {{"y", {}, 0, {}}, {"y", {}, 0, {}}};
              }),
              HasSubstr("output 'y' is requested twice"));
}

TEST_F(ServedModelTest, ClassesTakeThePlaceOfValues) {
  ModelSettings settings = batchesOf(2);
  settings.labels = {"cat", "dog"};
  const auto model = load(additionModel(), settings);
  ASSERT_TRUE(model);
  InferRequest request = requestFor("m", {0, 50, 0, 0, 0, 0});
  request.outputs.push_back({"y", {}, 2, {}});
  const InferAnswer answer = infer(*model, request);
  ASSERT_TRUE(answer.outcome.ok()) << answer.outcome.text();
  EXPECT_EQ(answer.outputs[0].datatype, Datatype::BYTES);
  EXPECT_THAT(answer.outputs[0].shape, ElementsAre(2, 2));
  EXPECT_THAT(answer.outputs[0].bytes, HasSubstr("70.000000:1:dog"));
  EXPECT_THAT(answer.outputs[0].bytes, HasSubstr("30.000000:2"));
}

TEST_F(ServedModelTest, AFileThatIsNoModelIsExplained) {
  const std::string file = folder_.path() + "/bad.tflite";
  writeText(file, "no model");
  const auto model = ServedModel::load({"m", "1", file, ""}, batchesOf(4));
  ASSERT_FALSE(model.ok());
  EXPECT_THAT(model.status().message(), HasSubstr("model 'm' version 1: " + file));
}

}  // namespace
}  // namespace halyard::serve
