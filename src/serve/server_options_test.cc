// Tests of the server's command line.
#include "serve/server_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace halyard::serve {
namespace {

using ::testing::HasSubstr;

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

TEST(ServerOptions, AnUnknownDeviceIsRefused) {
  ServerOptions options = parsed("models --device cpu --device nosuch");
  const Status status = checkServerOptions(options);
  EXPECT_EQ(status.code(), ResultCode::BAD_DATA);
  EXPECT_THAT(status.message(), HasSubstr("--device: no device 'nosuch'"));
  options = parsed("models --device cpu");
  EXPECT_TRUE(checkServerOptions(options).ok());
}

TEST(ServerOptions, ACertificateNeedsAKey) {
  ServerOptions options = parsed("models --tls-certificate c.pem");
  EXPECT_THAT(checkServerOptions(options).message(), HasSubstr("--tls-key"));
}

}  // namespace
}  // namespace halyard::serve
