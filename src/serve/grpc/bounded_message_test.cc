// Tests of the bound on the memory of a message, with messages that take as much as they can.
#include "serve/grpc/bounded_message.h"

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

namespace halyard::serve {
namespace {

using ::testing::HasSubstr;
using Message = inference::ModelInferRequest;

grpc::ByteBuffer bufferOf(const std::string& bytes) {
  const grpc::Slice slice(bytes);
  return {&slice, 1};
}

std::string repeated(const std::string& bytes, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += bytes;
  return all;
}

// A field of a length below 16384.
std::string field(int number, const std::string& content) {
  std::string bytes(1, static_cast<char>(number << 3 | 2));
  bytes += static_cast<char>(content.size() | 0x80);
  bytes += static_cast<char>(content.size() >> 7);
  return bytes + content;
}

TEST(BoundedMessage, TheMemoryOfHostileMessagesIsBounded) {
  std::string parameters;
  for (int i = 0; i < 2000; ++i) {
    const std::string key = {static_cast<char>('a' + i % 26), static_cast<char>('a' + i / 26 % 26),
                             static_cast<char>('a' + i / 676)};
    parameters += "\x22\x05\x0a\x03" + key;
  }
  const std::map<std::string, std::string> cases = {
      {"an id", field(3, std::string(10'000, 'i'))},
      {"inputs", repeated(std::string("\x2a\0", 2), 1000)},
      {"outputs", repeated(std::string("\x32\0", 2), 1000)},
      {"raw contents", repeated(std::string("\x3a\0", 2), 1000)},
      {"parameters", parameters},
      {"unknown texts", repeated(std::string("\x7a\0", 2), 5000)},
      {"unknown groups", repeated("\x7b\x7c", 5000)},
      {"unknown numbers", repeated(std::string("\x78\0", 2), 5000)},
      {"texts", field(5, field(5, repeated(std::string("\x42\0", 2), 5000)))},
      {"integers", field(5, field(5, field(3, std::string(10'000, 1))))},
      {"a shape", field(5, field(3, std::string(10'000, 1)))},
      {"floats", field(5, field(5, field(6, std::string(10'000, 1))))},
      {"large raw contents", field(7, std::string(16'000, 1))},
  };
  for (const auto& [name, bytes] : cases) {
    grpc::ByteBuffer buffer = bufferOf(bytes);
    const Result<MessageFacts> facts = factsOf(buffer);
    ASSERT_TRUE(facts.ok()) << name << ": " << facts.status().message();
    Message message;
    ASSERT_TRUE(message.ParseFromString(bytes)) << name;
    EXPECT_GE(facts->memory + sizeof(Message), message.SpaceUsedLong()) << name;
  }
}

TEST(BoundedMessage, RawAndRealContentsCountLittle) {
  Message message;
  message.add_raw_input_contents(std::string(1'000'000, 'r'));
  auto& contents = *message.add_inputs()->mutable_contents();
  for (int i = 0; i < 250'000; ++i) contents.add_fp32_contents(1);
  message.set_id("seven");
  grpc::ByteBuffer buffer = bufferOf(message.SerializeAsString());
  const Result<MessageFacts> facts = factsOf(buffer);
  ASSERT_TRUE(facts.ok());
  EXPECT_EQ(facts->id, "seven");
  EXPECT_GE(facts->memory, 6'000'000u);
  EXPECT_LE(facts->memory, 6'020'000u);
}

TEST(BoundedMessage, FaultsAreExplained) {
  const auto refusalOf = [](const std::string& bytes) {
    grpc::ByteBuffer buffer = bufferOf(bytes);
    return factsOf(buffer).status().message();
  };
  EXPECT_THAT(refusalOf("\x3a\x7f"), HasSubstr("the 2 bytes are no ModelInferRequest"));
  EXPECT_THAT(refusalOf("\x2a\x03\x2a\x05\x01"), HasSubstr("no ModelInferRequest"));
  EXPECT_THAT(refusalOf("\x3a\xff\xff\xff\xff\x0f"), HasSubstr("no ModelInferRequest"));
  EXPECT_THAT(refusalOf(std::string("\0", 1)), HasSubstr("no ModelInferRequest"));
  grpc::ByteBuffer buffer = bufferOf(repeated(std::string("\x3a\0", 2), 1025));
  const Result<MessageFacts> facts = factsOf(buffer);
  ASSERT_TRUE(facts.ok());
  MemoryBudget budget(1 << 30);
  MemoryBudget::Share share;
  Message message;
  EXPECT_THAT(parseWithin(budget, *facts, buffer, share, message).text(),
              HasSubstr("0 inputs, 0 outputs and 1025 raw_input_contents, expected at most 1024"));
}

TEST(MemoryBudget, TakesAndGivesBack) {
  MemoryBudget budget(100);
  MemoryBudget::Share first;
  EXPECT_TRUE(budget.take(60, first).ok());
  {
    MemoryBudget::Share second;
    EXPECT_EQ(budget.take(60, second).fault(), Fault::OVERLOADED);
    EXPECT_TRUE(budget.take(40, second).ok());
    budget.add(50, second);
    MemoryBudget::Share third;
    EXPECT_EQ(budget.take(1, third).fault(), Fault::OVERLOADED);
  }
  MemoryBudget::Share fourth;
  EXPECT_TRUE(budget.take(40, fourth).ok());
  EXPECT_EQ(budget.take(101, fourth).fault(), Fault::INVALID);
}

}  // namespace
}  // namespace halyard::serve
