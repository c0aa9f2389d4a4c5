// Tests of reading cases: fields, files, and invalid texts of all kinds.
#include "conformance/vectors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>
#include <zlib.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include "conformance/base64.h"

namespace halyard::conformance {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// relu(x + [1,2]); the second term is in a pool.
constexpr std::string_view kCase =
    R"({"name":"add_then_relu","hal":"1.0","relaxed":true,)"
    R"("expect_failure":false,"multinomial_tolerance":0.5,"main":{"operands":[)"
    R"({"type":"TENSOR_FLOAT32","dims":[2],"lifetime":"SUBGRAPH_INPUT","data":"AACAPwAAAEA="},)"
    R"({"type":"TENSOR_FLOAT32","dims":[2],"lifetime":"CONSTANT_REFERENCE","data":"AACAPwAAAEA="},)"
    R"({"type":"INT32","dims":[],"lifetime":"CONSTANT_COPY","data":"AwAAAA=="},)"
    R"({"type":"TENSOR_FLOAT32","dims":[2],"lifetime":"TEMPORARY_VARIABLE"},)"
    R"({"type":"TENSOR_FLOAT32","dims":[2],"lifetime":"SUBGRAPH_OUTPUT","data":"AAAAQAAAgEA="}],)"
    R"("operations":[{"type":"ADD","inputs":[0,1,2],"outputs":[3]},)"
    R"({"type":"RELU","inputs":[3],"outputs":[4]}],"inputs":[0],"outputs":[4]},"referenced":[]})";

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

std::string fileText(std::string_view suffix) {
  return (std::filesystem::temp_directory_path() /
          fmt::format("halyard_vectors_test_{}_{}", ::getpid(), suffix))
      .string();
}

// A file that the object removes at its end.
class TemporaryFile {
 public:
  TemporaryFile(std::string_view suffix, std::string_view text, bool compressed = true)
      : path_(fileText(suffix)) {
    if (compressed) {
      gzFile file = gzopen(path_.c_str(), "wb");
      EXPECT_EQ(gzwrite(file, text.data(), static_cast<unsigned>(text.size())),
                static_cast<int>(text.size()));
      gzclose(file);
    } else {
      std::ofstream(path_, std::ios::binary) << text;
    }
  }
  ~TemporaryFile() { std::filesystem::remove(path_); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

TEST(Base64, Decodes) {
  const auto text = [](std::string_view encoded) -> std::string {
    const auto bytes = decodeBase64(encoded);
    return bytes ? std::string(bytes->begin(), bytes->end()) : "refused";
  };
  // RFC 4648 section 10.
  EXPECT_EQ(text(""), "");
  EXPECT_EQ(text("Zg=="), "f");
  EXPECT_EQ(text("Zm8="), "fo");
  EXPECT_EQ(text("Zm9v"), "foo");
  EXPECT_EQ(text("Zm9vYg=="), "foob");
  EXPECT_EQ(text("Zm9vYmE="), "fooba");
  EXPECT_EQ(text("Zm9vYmFy"), "foobar");
  EXPECT_EQ(text("+/+/"), "\xfb\xff\xbf");
  for (std::string_view bad : {"Z", "Zg", "Zg=", "Zg=a", "====", "A===", "Zh==", "Zm9=", "Zm9v\n",
                               "Zm-v", "Zm 9", "=Zm9", "Zg==Zg=="}) {
    EXPECT_EQ(text(bad), "refused") << bad;
  }
}

TEST(ParseVectorCase, ReadsEveryField) {
  const auto result = parseVectorCase(kCase);
  ASSERT_TRUE(result.ok()) << result.status().toString();
  const VectorCase& c = *result;
  EXPECT_EQ(c.name, "add_then_relu");
  EXPECT_EQ(c.hal, "1.0");
  EXPECT_TRUE(c.relaxed);
  EXPECT_TRUE(c.model.relaxComputationFloat32toFloat16);
  EXPECT_FALSE(c.expectFailure);
  EXPECT_EQ(c.multinomialTolerance, 0.5);
  const Subgraph& main = c.model.main;
  ASSERT_EQ(main.operands.size(), 5u);
  EXPECT_EQ(main.operands[0].type, OperandType::TENSOR_FLOAT32);
  EXPECT_THAT(main.operands[0].dimensions, ElementsAre(2));
  EXPECT_EQ(main.operands[3].lifetime, Lifetime::TEMPORARY_VARIABLE);
  ASSERT_EQ(main.operations.size(), 2u);
  EXPECT_EQ(main.operations[1].type, OperationType::RELU);
  EXPECT_THAT(main.operations[0].inputs, ElementsAre(0, 1, 2));
  EXPECT_THAT(main.operations[0].outputs, ElementsAre(3));
  EXPECT_THAT(main.inputIndexes, ElementsAre(0));
  EXPECT_THAT(main.outputIndexes, ElementsAre(4));

  EXPECT_EQ(main.operands[2].lifetime, Lifetime::CONSTANT_COPY);
  EXPECT_EQ(main.operands[2].location.length, 4u);
  EXPECT_EQ(c.model.operandValues[main.operands[2].location.offset], 3);
  EXPECT_EQ(main.operands[1].lifetime, Lifetime::CONSTANT_REFERENCE);
  EXPECT_EQ(main.operands[1].location.length, 8u);
  ASSERT_EQ(c.model.pools.size(), 1u);
  const auto mapping = c.model.pools[0]->map();
  ASSERT_TRUE(mapping.ok());
  float terms[2];
  std::memcpy(terms, mapping->data() + main.operands[1].location.offset, sizeof(terms));
  EXPECT_THAT(terms, ElementsAre(1.0f, 2.0f));

  ASSERT_EQ(c.inputs.size(), 1u);
  EXPECT_EQ(c.inputs[0].bytes.size(), 8u);
  EXPECT_FALSE(c.inputs[0].omitted);
  ASSERT_EQ(c.outputs.size(), 1u);
  EXPECT_EQ(c.outputs[0].bytes.size(), 8u);
  EXPECT_THAT(c.outputs[0].dims, ElementsAre(2));
  EXPECT_FALSE(c.outputs[0].ignored);
}

TEST(ParseVectorCase, ReadsQuantisationAndFlags) {
  std::string text(kCase);
  text = replaced(text, R"("TENSOR_FLOAT32","dims":[2],"lifetime":"TEMPORARY_VARIABLE")",
                  R"("TENSOR_QUANT8_ASYMM_SIGNED","dims":[2],"lifetime":"TEMPORARY_VARIABLE",)"
                  R"("scale":0.5,"zero_point":-128)");
  text = replaced(text, R"("dims":[2],"lifetime":"CONSTANT_REFERENCE")",
                  R"("dims":[2],"lifetime":"CONSTANT_REFERENCE","channel_quant":{"dim":1,)"
                  R"("scales":[1,0.25]})");
  text = replaced(text, R"("lifetime":"SUBGRAPH_OUTPUT")",
                  R"("lifetime":"SUBGRAPH_OUTPUT","ignored":true)");
  text = replaced(text, R"("hal":"1.0")", R"("hal":null)");
  const auto result = parseVectorCase(text);
  ASSERT_TRUE(result.ok()) << result.status().toString();
  const std::vector<Operand>& operands = result->model.main.operands;
  EXPECT_EQ(operands[3].scale, 0.5f);
  EXPECT_EQ(operands[3].zeroPoint, -128);
  const auto* channels = std::get_if<SymmPerChannelQuantParams>(&operands[1].extraParams);
  ASSERT_NE(channels, nullptr);
  EXPECT_EQ(channels->channelDim, 1u);
  EXPECT_THAT(channels->scales, ElementsAre(1.0f, 0.25f));
  EXPECT_TRUE(result->outputs[0].ignored);
  EXPECT_EQ(result->hal, "");
}

TEST(ParseVectorCase, OmittedInputsAndEmptyOutputs) {
  std::string text(kCase);
  text = replaced(text, R"("lifetime":"SUBGRAPH_INPUT","data":"AACAPwAAAEA=")",
                  R"("lifetime":"SUBGRAPH_INPUT","data":"")");
  text = replaced(text, R"([2],"lifetime":"SUBGRAPH_OUTPUT","data":"AAAAQAAAgEA=")",
                  R"([0,2],"lifetime":"SUBGRAPH_OUTPUT","data":"")");
  const auto result = parseVectorCase(text);
  ASSERT_TRUE(result.ok()) << result.status().toString();
  EXPECT_TRUE(result->inputs[0].omitted);
  EXPECT_THAT(result->outputs[0].dims, ElementsAre(0, 2));
}

TEST(ParseVectorCase, ReferencedSubgraphs) {
  const std::string text = replaced(
      replaced(std::string(kCase), R"({"type":"INT32","dims":[],"lifetime":"CONSTANT_COPY")",
               R"({"type":"SUBGRAPH","dims":[],"lifetime":"SUBGRAPH")"),
      R"("referenced":[])",
      R"("referenced":[{"operands":[{"type":"TENSOR_BOOL8","dims":[1],"lifetime":"CONSTANT_COPY",)"
      R"("data":"AQ=="}],"operations":[],"inputs":[],"outputs":[7]}])");
  const auto result = parseVectorCase(text);
  ASSERT_TRUE(result.ok()) << result.status().toString();
  EXPECT_EQ(result->model.main.operands[2].type, OperandType::MODEL);
  EXPECT_EQ(result->model.main.operands[2].location.offset, 3u);
  ASSERT_EQ(result->model.referenced.size(), 1u);
  EXPECT_EQ(result->model.referenced[0].operands[0].location.length, 1u);
  EXPECT_THAT(result->model.referenced[0].outputIndexes, ElementsAre(7));
}

struct BadText {
  std::string_view from;
  std::string_view to;
  std::string_view message;
};

TEST(ParseVectorCase, RefusesWhatIsWrongAndSaysWhere) {
  const BadText kBad[] = {
      {R"("name":"add_then_relu",)", "", "'name' is missing"},
      {R"("name":"add_then_relu")", R"("name":3)", "'name' is 3, expected string"},
      {R"("hal":"1.0")", R"("hal":"1.7")", "'hal' is '1.7'"},
      {R"("hal":"1.0")", R"("hal":1.0)", "'hal' is 1.0, expected string"},
      {R"("relaxed":true)", R"("relaxed":1)", "'relaxed' is 1, expected a boolean"},
      {"0.5", "-0.5", "'multinomial_tolerance' is -0.5"},
      {"0.5", "1e300", "'multinomial_tolerance': is 1e+300, beyond"},
      {R"("main":{)", R"("main":[{)", "not JSON"},
      {R"("referenced":[])", R"("referenced":{})", "'referenced' is {}, expected array"},
      {R"("referenced":[])", R"("referenced":[5])", "referenced[0]: is 5, expected object"},
      {R"("type":"INT32")", R"("type":"INT33")", "main: operand #2: 'type' is 'INT33'"},
      {R"("dims":[],)", "", "operand #2: 'dims' is missing"},
      {R"("dims":[])", R"("dims":[1,-1])", "operand #2: 'dims'[1]: is -1"},
      {R"("dims":[])", R"("dims":[1.5])", "'dims'[0]: is 1.5"},
      {R"("dims":[])", R"("dims":[4294967296])", "'dims'[0]: is 4294967296"},
      {R"("dims":[])", R"("dims":"none")", R"('dims' is "none", expected array)"},
      {R"("CONSTANT_COPY")", R"("FOREVER")", "'lifetime' is 'FOREVER'"},
      {R"("data":"AwAAAA==")", R"("data":"AwAAAA")", "operand #2: 'data' is not base64"},
      {R"(,"data":"AwAAAA==")", "", "operand #2: 'data' is missing"},
      {R"("data":"AwAAAA==")", R"("scale":"x","data":"AwAAAA==")", R"('scale': is "x")"},
      {R"("data":"AwAAAA==")", R"("scale":-1e39,"data":"AwAAAA==")", "'scale': is -1e+39"},
      {R"("data":"AwAAAA==")", R"("zero_point":2147483648,"data":"AwAAAA==")", "'zero_point' is"},
      {R"("data":"AwAAAA==")", R"("zero_point":-2147483649,"data":"AwAAAA==")", "'zero_point' is"},
      {R"("data":"AwAAAA==")", R"("zero_point":18446744073709551615,"data":"")", "'zero_point' is"},
      {R"("data":"AwAAAA==")", R"("zero_point":1.5,"data":"AwAAAA==")", "'zero_point' is 1.5"},
      {R"("data":"AwAAAA==")", R"("channel_quant":[],"data":"")", "'channel_quant' is []"},
      {R"("data":"AwAAAA==")", R"("channel_quant":{"scales":[]},"data":"")", "'dim' is missing"},
      {R"("data":"AwAAAA==")", R"("channel_quant":{"dim":0,"scales":[null]},"data":"")",
       "'scales'[0]: is null, expected a number"},
      {R"("data":"AwAAAA==")", R"("ignored":0,"data":"AwAAAA==")", "'ignored' is 0"},
      {R"("CONSTANT_COPY","data":"AwAAAA==")", R"("SUBGRAPH","data":"Aw==")",
       "operand #2: 'data' of a SUBGRAPH has 1 bytes"},
      {R"("type":"RELU")", R"("type":"RELU2")", "main: operation #1: 'type' is 'RELU2'"},
      {R"("type":"RELU",)", "", "operation #1: 'type' is missing"},
      {R"("inputs":[3])", R"("inputs":[null])", "operation #1: 'inputs'[0]: is null"},
      {R"({"type":"RELU","inputs":[3],"outputs":[4]})", "true", "operation #1: is true"},
      {R"("inputs":[0],"outputs":[4]})", R"("inputs":[5],"outputs":[4]})", "input is operand #5"},
      {R"("inputs":[0],"outputs":[4]})", R"("inputs":[0],"outputs":[4294967295]})",
       "output is operand #4294967295"},
      {R"("data":"AAAAQAAAgEA=")", R"("data":"AAAAQA==")",
       "operand #4: 'data' has 4 bytes, expected 8"},
      {R"([2],"lifetime":"SUBGRAPH_OUTPUT")", R"([65536,65536],"lifetime":"SUBGRAPH_OUTPUT")",
       "more than 2^32 - 1 bytes"},
      {R"("data":"AACAPwAAAEA="})", R"("data":"AACAPwAAAEAAAAAA"})", "operand #0: 'data' has 12"},
  };
  for (const BadText& bad : kBad) {
    const auto result = parseVectorCase(replaced(std::string(kCase), bad.from, bad.to));
    ASSERT_FALSE(result.ok()) << bad.to;
    EXPECT_EQ(result.status().code(), ResultCode::BAD_DATA);
    EXPECT_THAT(result.status().message(), HasSubstr(std::string(bad.message))) << bad.to;
  }
  for (std::string_view text :
       {"", "{", "nul", "[]", "3", "\"\"", "\xff\xfe", "{\"name\":\"\xff\"}"}) {
    EXPECT_FALSE(parseVectorCase(text).ok()) << text;
  }
  EXPECT_FALSE(parseVectorCase(std::string(100000, '[')).ok());
}

// Reads every prefix, and every text with a single changed byte. The sanitizers detect harm.
TEST(ParseVectorCase, DamagedTextsAreHarmless) {
  const std::string text(kCase);
  for (size_t length = 0; length < text.size(); ++length) {
    EXPECT_FALSE(parseVectorCase(std::string_view(text).substr(0, length)).ok());
  }
  size_t accepted = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    for (char c : {'\0', '"', '9', '}', '\xff'}) {
      std::string damaged = text;
      damaged[i] = c;
      accepted += parseVectorCase(damaged).ok() ? 1 : 0;
    }
  }
  EXPECT_LT(accepted, text.size() * 5 / 2);
}

TEST(VectorFile, GivesTheCasesInOrderAndNamesFileAndLine) {
  const std::string second = replaced(std::string(kCase), "add_then_relu", "second");
  const TemporaryFile file("cases.jsonl.gz", std::string(kCase) + "\n\n{\"name\":5}\n" + second);
  auto reader = VectorFile::open(file.path());
  ASSERT_TRUE(reader.ok()) << reader.status().toString();
  auto next = reader->next();
  ASSERT_TRUE(next.ok() && next->has_value());
  EXPECT_EQ((*next)->name, "add_then_relu");
  next = reader->next();
  ASSERT_FALSE(next.ok());
  EXPECT_EQ(next.status().message(), file.path() + " line 3: 'name' is 5, expected string");
  next = reader->next();
  ASSERT_TRUE(next.ok() && next->has_value());
  EXPECT_EQ((*next)->name, "second");
  for (int i = 0; i < 2; ++i) {
    next = reader->next();
    ASSERT_TRUE(next.ok());
    EXPECT_FALSE(next->has_value());
  }
}

TEST(VectorFile, LongLinesCrossTheBuffer) {
  const std::string name(200000, 'n');
  const TemporaryFile file("long.jsonl.gz",
                           replaced(std::string(kCase), "add_then_relu", name) + "\n");
  auto reader = VectorFile::open(file.path());
  ASSERT_TRUE(reader.ok());
  auto next = reader->next();
  ASSERT_TRUE(next.ok() && next->has_value());
  EXPECT_EQ((*next)->name, name);
}

TEST(VectorFile, RefusesMissingAndDamagedFiles) {
  const auto missing = VectorFile::open("/nowhere/at/all.jsonl.gz");
  EXPECT_THAT(missing.status().message(), HasSubstr("/nowhere/at/all.jsonl.gz: No such file"));

  std::string lines;
  for (int i = 0; i < 200; ++i)
    lines += replaced(std::string(kCase), "relu", std::to_string(i * i * i)) + "\n";
  const TemporaryFile whole("whole.jsonl.gz", lines);
  std::ifstream stream(whole.path(), std::ios::binary);
  std::string bytes((std::istreambuf_iterator<char>(stream)), {});
  const auto countCases = [](const std::string& path) -> Result<size_t> {
    HALYARD_ASSIGN_OR_RETURN(VectorFile file, VectorFile::open(path));
    for (size_t count = 0;; ++count) {
      HALYARD_ASSIGN_OR_RETURN(const auto next, file.next());
      if (!next) return count;
    }
  };
  EXPECT_EQ(*countCases(whole.path()), 200u);
  const TemporaryFile truncated("truncated.jsonl.gz", bytes.substr(0, bytes.size() / 2), false);
  EXPECT_THAT(countCases(truncated.path()).status().message(), HasSubstr("truncated.jsonl.gz"));
  bytes[bytes.size() / 2] = static_cast<char>(~bytes[bytes.size() / 2]);
  const TemporaryFile forged("forged.jsonl.gz", bytes, false);
  EXPECT_FALSE(countCases(forged.path()).ok());
}

TEST(WithOutputShapes, ForgetsDimensionsOrRank) {
  auto parsed = parseVectorCase(kCase);
  ASSERT_TRUE(parsed.ok());
  const auto outputDims = [&](OutputShapes shapes) {
    return withOutputShapes(*parsed, shapes).main.operands[4].dimensions;
  };
  EXPECT_THAT(outputDims(OutputShapes::KNOWN), ElementsAre(2));
  EXPECT_THAT(outputDims(OutputShapes::UNKNOWN_DIMENSIONS), ElementsAre(0));
  EXPECT_THAT(outputDims(OutputShapes::UNKNOWN_RANK), ElementsAre());
  EXPECT_THAT(parsed->model.main.operands[4].dimensions, ElementsAre(2));
}

}  // namespace
}  // namespace halyard::conformance
