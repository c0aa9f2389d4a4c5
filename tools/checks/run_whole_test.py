"""Tests of run_whole.py: forbidden output, and the summary of a failed program's output."""
import unittest

import run_whole


class SummaryTest(unittest.TestCase):
    def test_failed_assertions_and_names_are_kept(self):
        output = "\n".join(["[ RUN      ] A.Passes", "[       OK ] A.Passes (0 ms)", "[ RUN      ] A.Fails",
                            "a_test.cc:3: Failure", "Expected: 1", "[  FAILED  ] A.Fails (1 ms)"])
        text = run_whole.summary(output)
        self.assertIn("a_test.cc:3: Failure\nExpected: 1", text)
        self.assertIn("[  FAILED  ] A.Fails", text)
        self.assertNotIn("A.Passes", text)

    def test_a_program_that_died_names_its_last_test(self):
        output = "\n".join(["[ RUN      ] A.Dies"] + [f"halyard: line {i}" for i in range(50)])
        text = run_whole.summary(output)
        self.assertIn("[ RUN      ] A.Dies", text)
        self.assertIn("line 49", text)
        self.assertNotIn("line 3\n", text)


class RunTest(unittest.TestCase):
    def test_a_forbidden_output_fails(self):
        for expression, lost in (("VUID-", 1), ("other", 0)):
            job = ("sh", ["sh", "-c", "echo VUID-1"], ".", (), 1, (expression,))
            self.assertEqual(run_whole.run(job, {})[1], lost)


if __name__ == "__main__":
    unittest.main()
