#include "serve/access/clients.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/temporary_folder_for_test.h"
#include "serve/models_for_test.h"

namespace halyard::serve {
namespace {

using ::testing::HasSubstr;

class ClientsTest : public ::testing::Test {
 protected:
  Status read(Clients& clients, const std::string& text) {
    writeText(folder_.path() + "/tokens", text);
    return clients.readTokens(folder_.path() + "/tokens");
  }
  const TemporaryFolder folder_{"tokens"};
};

TEST_F(ClientsTest, WithoutTokensAllAreWelcome) {
  Clients clients({});
  Clients::Ticket ticket;
  EXPECT_TRUE(clients.admit("", "127.0.0.1", ticket).ok());
  EXPECT_TRUE(clients.check("").ok());
}

TEST_F(ClientsTest, TokensAreNeeded) {
  Clients clients({});
  ASSERT_TRUE(read(clients, "# comment\n\nalice 0123456789abcdef\n").ok());
  Clients::Ticket ticket;
  EXPECT_TRUE(clients.admit("Bearer 0123456789abcdef", "a", ticket).ok());
  EXPECT_TRUE(clients.admit("bearer 0123456789abcdef", "a", ticket).ok());
  for (const char* wrong : {"", "Bearer ", "Bearer", "Bearer 0123456789abcdeF", "0123456789abcdef",
                            "Basic 0123456789abcdef"}) {
    EXPECT_EQ(clients.check(wrong).fault(), Fault::UNAUTHENTICATED) << wrong;
  }
}

TEST_F(ClientsTest, FaultyTokensAreExplained) {
  Clients clients({});
  EXPECT_THAT(read(clients, "alice\n").message(), HasSubstr(":1: expected NAME TOKEN"));
  EXPECT_THAT(read(clients, "\nalice short\n").message(),
              HasSubstr(":2: the token of alice has 5"));
  EXPECT_THAT(read(clients, "").message(), HasSubstr("has no token"));
  EXPECT_THAT(clients.readTokens("/none/tokens").message(), HasSubstr("cannot be read"));
}

TEST_F(ClientsTest, RequestsInFlightAreLimitedByClient) {
  Clients clients({0, 1});
  Clients::Ticket first;
  Clients::Ticket second;
  EXPECT_TRUE(clients.admit("", "a", first).ok());
  EXPECT_EQ(clients.admit("", "a", second).fault(), Fault::OVERLOADED);
  EXPECT_TRUE(clients.admit("", "b", second).ok());
  first.reset();
  EXPECT_TRUE(clients.admit("", "a", first).ok());
}

TEST_F(ClientsTest, TheRateIsLimited) {
  Clients clients({0.001, 0});
  Clients::Ticket ticket;
  EXPECT_TRUE(clients.admit("", "a", ticket).ok());
  const Outcome refused = clients.admit("", "a", ticket);
  EXPECT_EQ(refused.fault(), Fault::OVERLOADED);
  EXPECT_GT(refused.retryAfter().count(), 1000);
}

}  // namespace
}  // namespace halyard::serve
