// Tests of the server's command line.
#include "serve/server_options.h"

#include <gtest/gtest.h>

namespace halyard::serve {
namespace {

ServerOptions parsed(const std::string& line) {
  CLI::App app;
  ServerOptions options;
  addServerOptions(app, options);
  app.parse(line);
  return options;
}

TEST(ServerOptions, AllowsFloat16OnRequest) {
  EXPECT_FALSE(parsed("models").defaults.allowFloat16);
  EXPECT_TRUE(parsed("models --allow-fp16").defaults.allowFloat16);
  EXPECT_THROW(parsed("models --allow-fp16=perhaps"), CLI::ParseError);
}

}  // namespace
}  // namespace halyard::serve
