"""Tests of structure.py: every way of naming an operation counts."""
import unittest

import structure

MENTIONS = structure.Mentions([("ADD", "add"), ("CONV_2D", "conv2d"), ("IF", "branch")])


class MentionsTest(unittest.TestCase):
    def test_every_way_counts(self):
        for code in ("case OperationType::ADD:", "type == ANEURALNETWORKS_CONV_2D",
                     "operation = HALYARD_TFLITE_ADD;", "&ops::conv2d", "{ops::branch, makeIf}",
                     "const OperationDefinition& add();", 'operationNamed("CONV_2D")',
                     "HALYARD_OPERATION(3, CONV_2D, conv2d)", "ENTRY(IF, 1)"):
            self.assertEqual(MENTIONS.count(code), 1, code)
        self.assertEqual(MENTIONS.count("f(OperationType::ADD, OperationType::IF);"), 2)

    def test_other_words_do_not_count(self):
        for code in ("add(a, b);", "OperationType::ADDED", "ops::addAll()", "std::add()",
                     "RETURN_IF_ERROR(check(a, \"IF performance\"));", "enum { ADD };"):
            self.assertEqual(MENTIONS.count(code), 0, code)

    def test_a_files_own_operation_does_not_count(self):
        code = ("definition.type = OperationType::ADD;\n"
                "const OperationDefinition& add() { return kAdd; }\n")
        self.assertEqual(MENTIONS.count(code), 0)
        self.assertEqual(MENTIONS.count(code + "if (type == OperationType::CONV_2D) return;"), 1)


class TreeTest(unittest.TestCase):
    def test_the_lists_are_read(self):
        operations = structure.named_operations()
        self.assertIn(("CONV_2D", "conv2d"), operations)
        self.assertIn(("GATHER_ND", "gatherNd"), operations)
        self.assertGreater(len(operations), 100)

    def test_every_mention_has_a_reason(self):
        for name, (count, reason) in structure.MENTIONS.items():
            self.assertGreater(count, 0, name)
            self.assertTrue(reason, name)


if __name__ == "__main__":
    unittest.main()
