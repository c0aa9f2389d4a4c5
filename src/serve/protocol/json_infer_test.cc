// Tests of the JSON form of inference, with hostile bodies.
#include "serve/protocol/json_infer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <tuple>

namespace halyard::serve {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Result<InferRequest> parsed(const std::string& body,
                            std::optional<size_t> jsonLength = std::nullopt) {
  return parseJsonInfer(body, jsonLength, Clock::now());
}

template <typename T>
std::vector<T> valuesOf(const InputTensor& input) {
  std::vector<T> values(input.bytes.size() / sizeof(T));
  std::memcpy(values.data(), input.bytes.data(), values.size() * sizeof(T));
  return values;
}

std::string withInput(const std::string& fields) {
  return R"({"inputs":[{"name":"x",)" + fields + "}]}";
}

TEST(JsonInfer, FlatAndNestedArraysAreTheSame) {
  for (const char* data : {"[1,2,3,4.5]", "[[1,2],[3,4.5]]", "[[[1],[2]],[[3],[4.5]]]"}) {
    const auto request =
        parsed(withInput(R"("shape":[2,2],"datatype":"FP32","data":)" + std::string(data)));
    ASSERT_TRUE(request.ok()) << request.status().toString();
    ASSERT_EQ(request->inputs.size(), 1u);
    EXPECT_EQ(request->inputs[0].name, "x");
    EXPECT_THAT(request->inputs[0].shape, ElementsAre(2, 2));
    EXPECT_THAT(valuesOf<float>(request->inputs[0]), ElementsAre(1, 2, 3, 4.5));
  }
}

TEST(JsonInfer, EveryDatatypeHasItsElements) {
  const auto bytes = [](const std::string& datatype, const std::string& data) {
    auto request =
        parsed(withInput(R"("shape":[2],"datatype":")" + datatype + R"(","data":)" + data));
    EXPECT_TRUE(request.ok()) << datatype << request.status().toString();
    return request.ok() ? std::move(request->inputs[0]) : InputTensor();
  };
  EXPECT_THAT(valuesOf<int8_t>(bytes("INT8", "[-128,127]")), ElementsAre(-128, 127));
  EXPECT_THAT(valuesOf<uint8_t>(bytes("UINT8", "[0,255]")), ElementsAre(0, 255));
  EXPECT_THAT(valuesOf<int64_t>(bytes("INT64", "[-9223372036854775808,9223372036854775807]")),
              ElementsAre(INT64_MIN, INT64_MAX));
  EXPECT_THAT(valuesOf<uint64_t>(bytes("UINT64", "[0,18446744073709551615]")),
              ElementsAre(0, UINT64_MAX));
  EXPECT_THAT(valuesOf<uint8_t>(bytes("BOOL", "[true,0]")), ElementsAre(1, 0));
  EXPECT_THAT(valuesOf<double>(bytes("FP64", "[1e300,-1]")), ElementsAre(1e300, -1));
  EXPECT_EQ(bytes("BYTES", R"(["ab","c"])").bytes.size(), 11u);
}

TEST(JsonInfer, BinaryTensorsFollowTheJson) {
  const std::string json =
      R"({"id":"7","parameters":{"binary_data_output":true,"priority":3,"timeout":1000},"inputs":[)"
      R"({"name":"a","shape":[2],"datatype":"INT8","parameters":{"binary_data_size":2}},)"
      R"({"name":"b","shape":[1],"datatype":"FP32","data":[5]},)"
      R"({"name":"c","shape":[1],"datatype":"INT8","parameters":{"binary_data_size":1}}],)"
      R"("outputs":[{"name":"y","parameters":{"binary_data":false,"classification":2}}]})";
  const std::string body = json + "\x01\x02\x03";
  const auto request = parsed(body, json.size());
  ASSERT_TRUE(request.ok()) << request.status().toString();
  EXPECT_EQ(request->id, "7");
  EXPECT_TRUE(request->binaryOutputs);
  EXPECT_EQ(request->priority, 3u);
  EXPECT_TRUE(request->deadline.has_value());
  EXPECT_THAT(valuesOf<int8_t>(request->inputs[0]), ElementsAre(1, 2));
  EXPECT_THAT(valuesOf<float>(request->inputs[1]), ElementsAre(5));
  EXPECT_THAT(valuesOf<int8_t>(request->inputs[2]), ElementsAre(3));
  EXPECT_EQ(request->outputs[0].binary, false);
  EXPECT_EQ(request->outputs[0].classes, 2u);
}

// The body, and a part of the error.
using BodyFault = std::tuple<std::string, std::string>;
class JsonInferFault : public ::testing::TestWithParam<BodyFault> {};

TEST_P(JsonInferFault, IsExplained) {
  const auto& [body, expected] = GetParam();
  const auto request = parsed(body);
  ASSERT_FALSE(request.ok()) << body;
  EXPECT_EQ(request.status().code(), ResultCode::BAD_DATA);
  EXPECT_THAT(request.status().message(), HasSubstr(expected)) << body;
}

INSTANTIATE_TEST_SUITE_P(
    Bodies, JsonInferFault,
    ::testing::Values(
        BodyFault{"", "the body is no JSON"}, BodyFault{"{", "the body is no JSON"},
        BodyFault{"[]", "the body is a JSON array, expected an object"},
        BodyFault{"{}", "there is no 'inputs'"},
        BodyFault{R"({"inputs":3})", "'inputs' is a number"},
        BodyFault{R"({"inputs":[3]})", "input #0 is a number, expected an object"},
        BodyFault{R"({"inputs":[{}]})", "input #0: there is no 'name'"},
        BodyFault{R"({"id":3,"inputs":[]})", "'id' is a number, expected a string"},
        BodyFault{R"({"parameters":[],"inputs":[]})",
                  "'parameters' is a array, expected an object"},
        BodyFault{R"({"parameters":{"timeout":-1},"inputs":[]})", "'timeout' is -1"},
        BodyFault{R"({"parameters":{"timeout":"soon"},"inputs":[]})",
                  "'timeout' is not a whole number"},
        BodyFault{R"({"parameters":{"sequence_id":1},"inputs":[]})", "has no sequences"},
        BodyFault{R"({"parameters":{"a":18446744073709551615},"inputs":[]})", "is larger than"},
        BodyFault{R"({"parameters":{"a":null},"inputs":[]})", "the parameter 'a' is a null"},
        BodyFault{withInput(R"("shape":[1],"data":[1])"), "input 'x': there is no 'datatype'"},
        BodyFault{withInput(R"("datatype":"FP31","shape":[1],"data":[1])"), "'FP31' is unknown"},
        BodyFault{withInput(R"("datatype":"FP32","data":[1])"), "there is no 'shape'"},
        BodyFault{withInput(R"("datatype":"FP32","shape":[-1],"data":[1])"),
                  "that is no dimension"},
        BodyFault{withInput(R"("datatype":"FP32","shape":[1.5],"data":[1])"),
                  "that is no dimension"},
        BodyFault{withInput(R"("datatype":"FP32","shape":[9999999999,9999999999],"data":[1])"),
                  "is too large"},
        BodyFault{withInput(R"("datatype":"FP32","shape":[4294967296,4294967296,1,1],"data":[1])"),
                  "the shape [4294967296,4294967296,1,1] is too large"},
        BodyFault{
            withInput(
                R"("datatype":"FP32","shape":[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1],"data":[1])"),
            "17 dimensions, expected at most 16"},
        BodyFault{withInput(R"("datatype":"FP32","shape":[1])"), "expected one of 'data'"},
        BodyFault{withInput(R"("datatype":"FP32","shape":[2],"data":[1])"),
                  "'data' has 1 elements, its shape has 2"},
        BodyFault{withInput(R"("datatype":"FP32","shape":[1],"data":[1,2])"),
                  "more than the 1 elements"},
        BodyFault{withInput(R"("datatype":"FP32","shape":[1],"data":["a"])"),
                  R"(element 0 is "a", expected a number of FP32)"},
        BodyFault{withInput(R"("datatype":"FP32","shape":[1],"data":[1e39])"),
                  "expected a number of FP32"},
        BodyFault{withInput(R"("datatype":"INT8","shape":[1],"data":[128])"), "element 0 is 128"},
        BodyFault{withInput(R"("datatype":"UINT8","shape":[1],"data":[-1])"), "element 0 is -1"},
        BodyFault{withInput(R"("datatype":"INT32","shape":[1],"data":[1.5])"), "element 0 is 1.5"},
        BodyFault{withInput(R"("datatype":"BOOL","shape":[1],"data":[2])"), "expected true, false"},
        BodyFault{withInput(R"("datatype":"BYTES","shape":[1],"data":[2])"), "expected a string"},
        BodyFault{withInput(R"("datatype":"FP16","shape":[1],"data":[2])"),
                  "send it as a binary tensor"},
        BodyFault{withInput(R"("datatype":"FP32","shape":[1],"data":7)"),
                  "'data' is 7, expected an array"},
        BodyFault{withInput(R"("datatype":"INT8","shape":[1],"parameters":{"binary_data_size":1})"),
                  "only 0 bytes follow the JSON"},
        BodyFault{R"({"inputs":[],"outputs":[{}]})", "requested output #0: there is no 'name'"},
        BodyFault{R"({"inputs":[],"outputs":[{"name":"y","parameters":{"classification":-2}}]})",
                  "output 'y': the parameter 'classification' is -2"}));

TEST(JsonInfer, DeepNestingIsRefused) {
  const std::string deep(100'000, '[');
  EXPECT_THAT(
      parsed(withInput(R"("datatype":"FP32","shape":[1],"data":)" + deep)).status().message(),
      HasSubstr("nested deeper"));
}

TEST(JsonInfer, LengthsMustFit) {
  EXPECT_THAT(parsed("{}", 3).status().message(), HasSubstr("but the body has 2 bytes"));
  EXPECT_THAT(parsed(R"({"inputs":[]}abc)", 13).status().message(),
              HasSubstr("3 bytes follow the JSON that belong to no input"));
}

InferAnswer answerWith(Datatype datatype, std::vector<int64_t> shape, std::string bytes) {
  InferAnswer answer;
  answer.version = "1";
  answer.outputs.push_back({"y\"", datatype, std::move(shape), std::move(bytes)});
  return answer;
}

TEST(JsonInfer, AnswersAreJsonOrBinary) {
  InferRequest request;
  request.model = "m";
  request.id = "9";
  const InferAnswer answer = answerWith(Datatype::INT8, {1, 2}, "\x01\xff");
  const auto json = writeJsonInfer(request, answer);
  ASSERT_TRUE(json.ok());
  EXPECT_EQ(json->body,
            R"({"model_name":"m","model_version":"1","id":"9","outputs":[{"name":"y\"",)"
            R"("datatype":"INT8","shape":[1,2],"data":[1,-1]}]})");
  EXPECT_FALSE(json->jsonLength.has_value());
  request.binaryOutputs = true;
  const auto binary = writeJsonInfer(request, answer);
  ASSERT_TRUE(binary.ok());
  ASSERT_TRUE(binary->jsonLength.has_value());
  EXPECT_THAT(binary->body, HasSubstr(R"("parameters":{"binary_data_size":2})"));
  EXPECT_EQ(binary->body.substr(*binary->jsonLength), "\x01\xff");
}

TEST(JsonInfer, ValuesWithoutAFormInJsonAreRefused) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  std::string bytes(sizeof(nan), '\0');
  std::memcpy(bytes.data(), &nan, sizeof(nan));
  EXPECT_THAT(writeJsonInfer({}, answerWith(Datatype::FP32, {1}, bytes)).status().message(),
              HasSubstr("ask for a binary tensor"));
  EXPECT_THAT(writeJsonInfer({}, answerWith(Datatype::FP16, {1}, "ab")).status().message(),
              HasSubstr("FP16 has no form in JSON"));
}

TEST(JsonInfer, ErrorsAreValidJson) {
  EXPECT_EQ(errorJson("a \"b\""), R"({"error":"a \"b\""})");
  EXPECT_THAT(errorJson("\xff"), HasSubstr("error"));
}

}  // namespace
}  // namespace halyard::serve
