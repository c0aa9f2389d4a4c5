// Small cases for tests, as lines of a vector file.
// Thread safety: pure functions.
// Ownership: results own their data.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "base/temporary_folder_for_test.h"
#include "conformance/base64.h"
#include "conformance/vectors.h"

namespace halyard::conformance::testing {

inline std::string base64Of(const void* data, size_t size) {
  return encodeBase64({static_cast<const uint8_t*>(data), size});
}

inline std::string base64Of(const std::vector<float>& values) {
  return base64Of(values.data(), values.size() * sizeof(float));
}

// [n] = a + b, an ADD of float32; `b` is a constant. `fields` are inserted before the model, each
// with a comma: R"("expect_failure":true,)".
inline std::string addLine(std::string_view name, const std::vector<float>& a,
                           const std::vector<float>& b, const std::vector<float>& expected,
                           std::string_view fields = "") {
  const auto tensor = [&](std::string_view lifetime, const std::vector<float>& values) {
    return fmt::format(R"({{"type":"TENSOR_FLOAT32","dims":[{}],"lifetime":"{}","data":"{}"}})",
                       values.size(), lifetime, base64Of(values));
  };
  return fmt::format(
      R"({{"name":"{}",{}"main":{{"operands":[{},{},)"
      R"({{"type":"INT32","dims":[],"lifetime":"CONSTANT_COPY","data":"AAAAAA=="}},{}],)"
      R"("operations":[{{"type":"ADD","inputs":[0,1,2],"outputs":[3]}}],)"
      R"("inputs":[0],"outputs":[3]}},"referenced":[]}})",
      name, fields, tensor("SUBGRAPH_INPUT", a), tensor("CONSTANT_COPY", b),
      tensor("SUBGRAPH_OUTPUT", expected));
}

inline VectorCase parsed(const std::string& line) {
  auto vectorCase = parseVectorCase(line);
  EXPECT_TRUE(vectorCase.ok()) << vectorCase.status().toString();
  return std::move(vectorCase).value();
}

// A folder for vector files.
class TemporaryFolder : public halyard::TemporaryFolder {
 public:
  using halyard::TemporaryFolder::TemporaryFolder;

  // Writes a file of these lines, compressed if its name ends in .gz, and returns its path.
  std::string write(const std::string& name, const std::vector<std::string>& lines) const {
    const std::string file = path() + "/" + name;
    std::filesystem::create_directories(std::filesystem::path(file).parent_path());
    std::string text;
    for (const std::string& line : lines) text += line + "\n";
    if (name.ends_with(".gz")) {
      gzFile archive = gzopen(file.c_str(), "wb");
      gzwrite(archive, text.data(), static_cast<unsigned>(text.size()));
      gzclose(archive);
    } else {
      std::ofstream(file, std::ios::binary) << text;
    }
    return file;
  }
};

}  // namespace halyard::conformance::testing
