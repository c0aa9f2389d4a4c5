// SPDX-License-Identifier: Apache-2.0
//
// Checks the binary interface of the built libneuralnetworks.so. It exports exactly the functions
// listed in public_symbols.txt, each with its symbol version. The headers declare the same
// functions. abi_layout_test.c checks values and layouts.
//
// Compile definitions:
//   HALYARD_LIBRARY_PATH  the library,
//   HALYARD_INCLUDE_DIR   the directory that contains android/NeuralNetworks.h,
//   HALYARD_SYMBOL_LIST   public_symbols.txt: one "NODE symbol" per line,
//   HALYARD_NM            optional: the nm of binutils.

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <stdio.h>

#include <algorithm>
#include <cctype>
#include <fstream>
#include <iterator>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "test_definitions.h"

#ifndef HALYARD_NM
#define HALYARD_NM "nm"
#endif

namespace halyard {
namespace {

constexpr char kPublicNode[] = "LIBNEURALNETWORKS";
constexpr char kPlatformNode[] = "LIBNEURALNETWORKS_PLATFORM";
constexpr char kSupportLibraryNode[] = "LIBNEURALNETWORKS_SUPPORT_LIBRARY";

bool isNode(const std::string& name) {
  return name == kPublicNode || name == kPlatformNode || name == kSupportLibraryNode;
}

// "NODE symbol", so that a difference between two sets has the form of lines of public_symbols.txt.
using SymbolSet = std::set<std::string>;

std::string readFile(const std::string& path) {
  std::ifstream stream(path);
  EXPECT_TRUE(stream.is_open()) << "cannot read " << path;
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

// The listed symbols as pairs of node and name. Reports lines with another form than "NODE symbol".
std::vector<std::pair<std::string, std::string>> listedSymbols() {
  std::istringstream stream(readFile(HALYARD_SYMBOL_LIST));
  std::vector<std::pair<std::string, std::string>> symbols;
  std::string line;
  while (std::getline(stream, line)) {
    std::istringstream words(line);
    std::string node;
    std::string name;
    std::string excess;
    const bool twoWords = (words >> node >> name) && !(words >> excess);
    EXPECT_TRUE(twoWords && isNode(node))
        << HALYARD_SYMBOL_LIST << ": not a \"NODE symbol\" line: \"" << line << "\"";
    if (twoWords) symbols.emplace_back(node, name);
  }
  return symbols;
}

SymbolSet listedSymbolSet() {
  SymbolSet symbols;
  for (const auto& [node, name] : listedSymbols()) symbols.insert(node + " " + name);
  return symbols;
}

std::string shellQuoted(const std::string& text) {
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

// The standard output of a shell command. The command must succeed.
std::string outputOf(const std::string& command) {
  FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) {
    ADD_FAILURE() << "cannot run " << command;
    return {};
  }
  std::string output;
  char buffer[4096];
  size_t length = 0;
  while ((length = fread(buffer, 1, sizeof(buffer), pipe)) > 0) output.append(buffer, length);
  EXPECT_EQ(pclose(pipe), 0) << command;
  return output;
}

// Reads lines of `nm -D --with-symbol-versions`: "ADDRESS TYPE NAME@@NODE". "@@" means the default
// version. Symbols with another version or without one get a form that no list contains.
SymbolSet parseNm(const std::string& output) {
  SymbolSet symbols;
  std::istringstream stream(output);
  std::string line;
  while (std::getline(stream, line)) {
    std::istringstream words(line);
    std::string address;
    std::string type;
    std::string versioned;
    if (!(words >> address >> type >> versioned)) {
      ADD_FAILURE() << "unexpected line of nm: \"" << line << "\"";
      continue;
    }
    const size_t at = versioned.find('@');
    const std::string name = versioned.substr(0, at);
    // The linker defines an absolute symbol for each version node.
    if (type == "A" && isNode(name)) continue;
    if (type != "T") {
      symbols.insert("(type " + type + ") " + versioned);
    } else if (at == std::string::npos) {
      symbols.insert("(no version) " + name);
    } else if (versioned.compare(at, 2, "@@") != 0) {
      symbols.insert("(not the default version) " + versioned);
    } else {
      symbols.insert(versioned.substr(at + 2) + " " + name);
    }
  }
  return symbols;
}

// C source without comments and preprocessor lines. It does not parse string literals, because
// headers have them only in preprocessor lines.
std::string stripped(const std::string& source) {
  std::string code;
  for (size_t i = 0; i < source.size();) {
    if (source.compare(i, 2, "/*") == 0) {
      const size_t end = source.find("*/", i + 2);
      i = end == std::string::npos ? source.size() : end + 2;
      code += ' ';
    } else if (source.compare(i, 2, "//") == 0) {
      i = std::min(source.find('\n', i), source.size());
    } else {
      code += source[i++];
    }
  }
  std::istringstream stream(code);
  std::string result;
  std::string line;
  while (std::getline(stream, line)) {
    const size_t first = line.find_first_not_of(" \t");
    if (first == std::string::npos || line[first] != '#') result += line + '\n';
  }
  return result;
}

// The names before a parenthesis. In our headers each of them is a function. The exceptions are
// "void" before the name of a function pointer's type, and the macro for the members of a table.
std::vector<std::string> declaredFunctions(const std::string& code) {
  const auto isWord = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_';
  };
  std::vector<std::string> names;
  for (size_t open = code.find('('); open != std::string::npos; open = code.find('(', open + 1)) {
    size_t end = open;
    while (end > 0 && std::isspace(static_cast<unsigned char>(code[end - 1]))) --end;
    size_t begin = end;
    while (begin > 0 && isWord(code[begin - 1])) --begin;
    const std::string name = code.substr(begin, end - begin);
    if (!name.empty() && name != "void" && name != "HALYARD_SL_FUNCTION") names.push_back(name);
  }
  return names;
}

SymbolSet declaredIn(const std::string& header, const std::string& node) {
  SymbolSet symbols;
  for (const std::string& name :
       declaredFunctions(stripped(readFile(HALYARD_INCLUDE_DIR "/android/" + header)))) {
    EXPECT_TRUE(symbols.insert(node + " " + name).second) << header << " declares twice: " << name;
  }
  return symbols;
}

std::string missingFrom(const SymbolSet& set, const SymbolSet& wanted) {
  std::string lines;
  for (const std::string& symbol : wanted) {
    if (set.count(symbol) == 0) lines += "  " + symbol + "\n";
  }
  return lines;
}

TEST(AbiTest, ListHasEachFunctionOnce) {
  const auto symbols = listedSymbols();
  std::set<std::string> names;
  int publicCount = 0;
  for (const auto& [node, name] : symbols) {
    EXPECT_TRUE(names.insert(name).second) << "listed twice: " << name;
    if (node == kPublicNode) ++publicCount;
  }
  EXPECT_EQ(publicCount, 69);
  EXPECT_EQ(symbols.size(), 109u);
}

TEST(AbiTest, LibraryExportsTheListAndNothingElse) {
  const SymbolSet listed = listedSymbolSet();
  const SymbolSet exported = parseNm(outputOf(
      HALYARD_NM " -D --defined-only --with-symbol-versions " + shellQuoted(HALYARD_LIBRARY_PATH)));
  EXPECT_EQ(missingFrom(exported, listed), "") << "listed, but not exported";
  EXPECT_EQ(missingFrom(listed, exported), "") << "exported, but not listed";
}

TEST(AbiTest, LibraryLoadsAndYieldsEachFunction) {
  const auto close = [](void* handle) { dlclose(handle); };
  const std::unique_ptr<void, decltype(close)> library(
      dlopen(HALYARD_LIBRARY_PATH, RTLD_NOW | RTLD_LOCAL), close);
  ASSERT_NE(library, nullptr) << dlerror();
  for (const auto& [node, name] : listedSymbols()) {
    void* function = dlsym(library.get(), name.c_str());
    EXPECT_NE(function, nullptr) << name;
    EXPECT_EQ(dlvsym(library.get(), name.c_str(), node.c_str()), function) << name << "@" << node;
  }
}

TEST(AbiTest, HeadersDeclareTheListAndNothingElse) {
  SymbolSet declared = declaredIn("NeuralNetworks.h", kPublicNode);
  declared.merge(declaredIn("NeuralNetworksExtensions.h", kPlatformNode));
  declared.merge(declaredIn("NeuralNetworksSupportLibraryImpl.h", kSupportLibraryNode));
  const SymbolSet listed = listedSymbolSet();
  EXPECT_EQ(missingFrom(declared, listed), "") << "listed, but not declared";
  EXPECT_EQ(missingFrom(listed, declared), "") << "declared, but not listed";
}

TEST(AbiTest, OtherHeadersDeclareNoFunction) {
  for (const char* header :
       {"NeuralNetworksTypes.h", "NeuralNetworksOEM.h", "NeuralNetworksExperimentalFeatures.h"}) {
    EXPECT_EQ(missingFrom({}, declaredIn(header, header)), "");
  }
}

// Tests the parsers themselves. Without this, the checks above could pass because they read
// nothing.
TEST(AbiTest, NmParserTellsSymbolsApart) {
  EXPECT_EQ(parseNm("0000000000000000 A LIBNEURALNETWORKS\n"
                    "0000000000000000 A LIBNEURALNETWORKS_PLATFORM@@LIBNEURALNETWORKS_PLATFORM\n"
                    "0000000000001100 T one@@LIBNEURALNETWORKS\n"
                    "0000000000001110 T two@LIBNEURALNETWORKS\n"
                    "0000000000001120 T three\n"
                    "0000000000001130 D four@@LIBNEURALNETWORKS\n"),
            (SymbolSet{"LIBNEURALNETWORKS one", "(not the default version) two@LIBNEURALNETWORKS",
                       "(no version) three", "(type D) four@@LIBNEURALNETWORKS"}));
}

TEST(AbiTest, HeaderParserSkipsCommentsAndDirectives) {
  EXPECT_EQ(declaredFunctions(stripped("// int a(void);\n/* int b(void);\n int c(void); */\n"
                                       "#pragma GCC visibility push(default)\n  # if defined(d)\n"
                                       "int e(int x);  // f()\nconst char*\ng (\n    void);\n"
                                       "typedef void (*Callback)(int x);\n")),
            (std::vector<std::string>{"e", "g"}));
}

}  // namespace
}  // namespace halyard
