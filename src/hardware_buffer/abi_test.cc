// Checks the exports of the built libandroid.so: exactly the functions of public_symbols.txt, each
// with its version. The headers declare the same functions. layout_test.c checks values and
// layouts.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <sstream>
#include <string>

#include "test_definitions.h"

namespace halyard {
namespace {

using SymbolSet = std::set<std::string>;  // "NODE symbol"

std::string readFile(const std::string& path) {
  std::ifstream stream(path);
  EXPECT_TRUE(stream.is_open()) << "cannot read " << path;
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

SymbolSet listed() {
  SymbolSet symbols;
  std::istringstream lines(readFile(HALYARD_SYMBOL_LIST));
  for (std::string line; std::getline(lines, line);) symbols.insert(line);
  return symbols;
}

TEST(LibandroidAbi, ExportsTheListAndNothingElse) {
  FILE* const nm =
      ::popen("nm -D --defined-only --with-symbol-versions '" HALYARD_LIBRARY_PATH "'", "re");
  ASSERT_NE(nm, nullptr);
  SymbolSet exported;
  char line[1000];
  while (std::fgets(line, sizeof line, nm) != nullptr) {
    std::istringstream words(line);
    std::string address, type, name;
    ASSERT_TRUE(words >> address >> type >> name) << line;
    if (type == "A") continue;  // the symbol that the linker defines for a node
    const size_t at = name.find("@@");
    exported.insert(type == "T" && at != std::string::npos
                        ? name.substr(at + 2) + " " + name.substr(0, at)
                        : "(unexpected) " + type + " " + name);
  }
  EXPECT_EQ(::pclose(nm), 0);
  EXPECT_EQ(exported, listed());
}

TEST(LibandroidAbi, HeadersDeclareTheListAndNothingElse) {
  SymbolSet declared;
  const std::pair<const char*, const char*> headers[] = {
      {"LIBANDROID ", "android/hardware_buffer.h"},
      {"LIBANDROID ", "android/sharedmem.h"},
      {"HALYARD_0 ", "halyard/hardware_buffer.h"}};
  for (const auto& [node, header] : headers) {
    std::string code = readFile(HALYARD_SOURCE_DIR "/include/" + std::string(header));
    code = std::regex_replace(code, std::regex(R"(/\*[^*]*\*+([^/*][^*]*\*+)*/|//[^\n]*|#[^\n]*)"),
                              "");
    const std::regex function(R"((\w+)\()");
    for (std::sregex_iterator it(code.begin(), code.end(), function), end; it != end; ++it) {
      EXPECT_TRUE(declared.insert(node + it->str(1)).second) << it->str(1);
    }
  }
  EXPECT_EQ(declared, listed());
}

TEST(LibandroidAbi, HasItsSoname) {
  void* const library = ::dlopen("libandroid.so.0", RTLD_NOW | RTLD_NOLOAD);
  ASSERT_NE(library, nullptr) << ::dlerror();
  for (const std::string& symbol : listed()) {
    const size_t space = symbol.find(' ');
    EXPECT_NE(::dlvsym(library, symbol.substr(space + 1).c_str(), symbol.substr(0, space).c_str()),
              nullptr)
        << symbol;
  }
  ::dlclose(library);
}

}  // namespace
}  // namespace halyard
