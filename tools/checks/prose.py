#!/usr/bin/env python3
"""Checks the English of comments and documents: short sentences, and nouns in place of unclear words.

    tools/checks/prose.py                 lists the findings in all tracked files
    tools/checks/prose.py FILE|FOLDER...  lists the findings in these files

A finding is a sentence of more than 25 words, or a phrase from UNCLEAR.

The check reads comments of C, C++, Cap'n Proto, CMake, Python and shell, docstrings, and Markdown. A
code span, a quoted string, a call and a URL each count as one word. Fenced blocks, indented code and
HTML comments do not count. A list item, a table cell and a label such as "Ownership:" end a sentence.
"""
import argparse
import io
import pathlib
import re
import subprocess
import sys
import tokenize

ROOT = pathlib.Path(__file__).resolve().parents[2]
MAX_WORDS = 25
# Files of other projects, generated pages, and this list of unclear words.
SKIPPED = {"tools/checks/prose.py", "tools/checks/prose_test.py", "docs/operations.md", "docs/command_line.md",
           "src/import/tflite/tflite.fbs"}

VERBS = (r"is|isn't|are|was|were|has|have|had|does|do|did|can|cannot|must|may|might|will|would|could|"
         r"should|it|they|comes|stands|goes|follows|remains|needs|differs|matters|happens|lies|belongs|"
         r"becomes|fails|holds|makes|takes|gives|others?|all|each|every|both|nothing|else")
# Phrase, then what to write in its place. Case does not matter.
UNCLEAR = [
    (r"whoever|whosoever|whom", "the noun: 'the thread', 'the client' ..."),
    (r"nobody|no one|somebody|someone|anybody|anyone|everybody|everyone",
     "the noun: 'the thread', 'the client' ..."),
    (rf"what (?:{VERBS})\b", "the noun: 'the value that ...', 'which field ...'"),
    (r"(?<=^)what(?= )", "the noun: 'the value that ...'"),
    (r"(?:those|ones?|he|they|of|on|to|by|for|with|from|and|or|but|see|sees|say|says|know|knows|is|as|"
     r"asks?|tells?) who", "the noun: 'the client that ...'"),
    (r"(?<=^)who(?= )", "the noun: 'the client that ...'"),
    (r"whatever|whichever|that which|of which there", "'any', 'each', or the noun"),
    (r"none (?:of|but)|there (?:is|are|was|were) none|(?<=^)none (?=[a-z])|(?:if|where|when) none",
     "'no' and the noun"),
    (r"nothing but|anything but|none the less|nonetheless", "'only', or the plain statement"),
    (r"but for|save for|for (?:want|lack) of|in want of", "'except', 'without'"),
    (r"in (?:the |its |their )?stead(?: of)?|in lieu of", "'instead of', 'in place of'"),
    (r"let alone|not to mention|as it were|so to speak|in so many words", "the plain statement"),
    (r"thus|hence|whence|hither|thither|thereby|therein|thereof|thereupon|whereby|wherein|whereof|"
     r"whereas|hereby|herein|hitherto|heretofore|henceforth|forthwith|withal|albeit|lest|ere|unto|"
     r"upon|amid|amidst|amongst|whilst|inasmuch|insofar|notwithstanding|aforesaid|erstwhile|"
     r"likewise|anew|afresh|nought|ought|shall|yonder|oft|betwixt|verily",
     "plain English: 'so', 'by', 'also', 'again', 'must'"),
    (r"for ever|for good|once and for all|by and by", "'forever', 'permanently', 'later'"),
    (r"all the same|in vain|at length|to and fro|to boot", "'still', 'without effect', 'in full'"),
    (r"the like|as such|in the main|at hand|all but|in no wise|by no means",
     "'similar', 'mainly', 'available', 'all except', 'not'"),
    (r"the former|the latter", "the noun again"),
    (r"lets? go of|letting go of|gets? by without|mak(?:es?|ing) do", "'releases', 'works without'"),
    (r"spoilt|spoils?|mend(?:s|ed|ing)?|befalls?|befell|bethinks?|begets?|heeds?|wont|bestow\w*",
     "'damaged', 'repairs', 'happens to'"),
    (r"(?:is|are|was|were) to be", "'must be'"),
    (r"needs be|may well be|has been had|be had", "'must be', 'may be'"),
]
PATTERN = re.compile("|".join(rf"(?P<p{i}>\b(?:{phrase})(?!\w))"
                              for i, (phrase, _) in enumerate(UNCLEAR)), re.I)
ABBREVIATION = re.compile(r"(?:\b(?:e\.g|i\.e|etc|vs|cf|approx|resp|Nr|No|pp?|Fig|Sec)|\.\.|\b[A-Z])\.$")
SENTENCE_END = re.compile(r"[.?!]['\")\]]*(?=\s|$)")
LABEL = re.compile(r"^\s*[^\s:]+(?: [^\s:]+){0,2}:(?=\s)")
WORD = re.compile(r"\S*[A-Za-z0-9]\S*")


class Block:
    """Text that belongs together, such as a paragraph, with the line of each of its pieces."""

    def __init__(self):
        self.text = ""
        self.starts = []  # (offset in text, line number)

    def add(self, line, text):
        if self.text:
            self.text += " "
        self.starts.append((len(self.text), line))
        self.text += text.strip()

    def line_at(self, offset):
        found = self.starts[0][1]
        for start, line in self.starts:
            if start > offset:
                break
            found = line
        return found


def one_word(match):
    """The matched text as a single word of the same length."""
    return "x" * len(match.group())


def plain(text, markdown):
    """`text` at the same length, with code, links and quotations as single words."""
    text = re.sub(r"(`+)(?!`).+?(?<!`)\1(?!`)", one_word, text)
    if markdown:
        text = re.sub(r"<!--.*?-->|<[^<> ][^<>]*>", lambda m: " " * len(m.group()), text)
        link = re.compile(r"(!?)\[([^\[\]]*)\](\([^()\s]*(?:\([^()]*\)[^()]*)?(?: \"[^\"]*\")?\)|\[[^\]]*\])")
        for _ in range(2):  # a badge is an image within a link
            text = link.sub(lambda m: " " * (len(m.group(1)) + 1) + m.group(2) +
                            " " * (len(m.group(3)) + 1), text)
        text = re.sub(r"\*\*|__|(?<!\w)[*_](?=\w)|(?<=[\w.,:?!])[*_](?!\w)",
                      lambda m: " " * len(m.group()), text)
        text = re.sub(r"(?<=[.?!])( +)(?=[.,;:?!])", lambda m: "x" * len(m.group()), text)
    text = re.sub(r"\b[a-z+]+://\S*[\w/]", one_word, text)
    text = re.sub(r"\"[^\"]{1,160}\"", lambda m: '"' + "x" * (len(m.group()) - 2) + '"', text)
    text = re.sub(r"(?<![\w'])'[^' ]{1,40}'(?!\w)", one_word, text)
    return re.sub(r"[\w.:<>~-]*\w\([^()]*\)", one_word, text)


def sentences(text):
    """(offset, text) of each sentence of a plain text."""
    start = 0
    for match in SENTENCE_END.finditer(text):
        if ABBREVIATION.search(text[start:match.start() + 1]) and match.end() < len(text):
            continue
        yield start, text[start:match.end()]
        start = match.end()
    if text[start:].strip():
        yield start, text[start:]


def findings_of(block, markdown):
    text = plain(block.text, markdown)
    for start, sentence in sentences(text):
        label = LABEL.match(sentence)
        if label:
            start, sentence = start + label.end(), sentence[label.end():]
        lead = len(sentence) - len(sentence.lstrip(" \t\"'(-"))
        start, sentence = start + lead, sentence[lead:]
        words = len(WORD.findall(sentence))
        if words > MAX_WORDS:
            shown = block.text[start:start + 50].strip()
            yield block.line_at(start), f"a sentence of {words} words, at most {MAX_WORDS}: {shown}..."
        for match in PATTERN.finditer(sentence):
            if not match.start() and sentence.endswith("?"):
                continue  # a question
            advice = UNCLEAR[int(match.lastgroup[1:])][1]
            yield block.line_at(start + match.start()), f"'{match.group()}': write {advice}"


# Comments of code ---------------------------------------------------------------------------------

C_TOKEN = re.compile(r'R"(?P<raw>[^()\\\s]{0,16})\(.*?\)(?P=raw)"|"(?:\\.|[^"\\\n])*"|'
                     r"(?<![0-9A-Za-z_])'(?:\\.|[^'\\\n])+'|(?P<line>//(?:\\\n|[^\n])*)|"
                     r"(?P<block>/\*.*?\*/)", re.S)
NO_PROSE = re.compile(r"^(?:NOLINT|clang-format (?:on|off)|namespace\b|extern \"C\"|IWYU|SPDX|"
                      r"shellcheck |!|#|=+$|-+$|type: |noqa|pylint:|fmt: )")


def comment_pieces(text):
    """(line, column, text, whether code stands before it) of each line of each C or C++ comment."""
    line, last = 1, 0
    for match in C_TOKEN.finditer(text):
        if match.lastgroup not in ("line", "block"):
            continue
        line += text.count("\n", last, match.start())
        last = match.start()
        begin = text.rfind("\n", 0, match.start()) + 1
        before = text[begin:match.start()]
        column = match.start() - begin
        if match.lastgroup == "line":
            yield line, column, re.sub(r"^/{2,}[!<]*", "", match.group()), bool(before.strip())
            continue
        for number, content in enumerate(match.group()[2:-2].split("\n")):
            content = re.sub(r"^\s*\*+(?= |$)|^[*!<]+", "", content) if number else content.lstrip("*!<")
            yield line + number, column, content, bool(before.strip()) and number == 0


def hash_pieces(text):
    """The same for comments that begin with #."""
    for number, line in enumerate(text.split("\n"), 1):
        match = re.match(r"(\s*)#+(?!\[\[)(.*)", line)
        if match:
            if not (number == 1 and match.group(2).startswith("!")):
                yield number, len(match.group(1)), match.group(2), False
            continue
        match = re.match(r"((?:[^\"'#]|\"(?:\\.|[^\"\\])*\"|'[^']*'|(?<!\s)#)*)\s#\s(.*)", line)
        if match:
            yield number, match.end(1), " " + match.group(2), True


def python_pieces(text):
    """Comments and docstrings of Python."""
    fresh = True  # whether a string here is a statement of its own
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            if not token.string.startswith("#!"):
                before = token.line[:token.start[1]].strip()
                yield token.start[0], token.start[1], token.string.lstrip("#"), bool(before)
        elif token.type == tokenize.STRING and fresh and '"""' in token.string[:5]:
            content = re.sub(r'^\w*"""|"""$', "", token.string)
            for number, line in enumerate(content.split("\n")):
                yield token.start[0] + number, -1 - token.start[0], \
                    " " + line[token.start[1] if number else 0:], False
            fresh = False
        elif token.type in (tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.NL):
            fresh = fresh or token.type != tokenize.NL
        else:
            fresh = False


def comment_blocks(pieces):
    """Paragraphs and list items of comments. Lines that are indented by 4 or more are code."""
    block, last_line, last_column = Block(), -2, -1
    listed = 0  # the indentation of the text of a list item
    for line, column, content, trailing in pieces:
        stripped = content.strip()
        indent = len(content) - len(content.lstrip())
        new = line != last_line + 1 or column != last_column or trailing
        item = re.match(r"(?:[-*•]|\d{1,2}[.)]) +", stripped)
        if new or item or not stripped or (listed and indent < listed and not item):
            if block.text:
                yield block
            block, listed = Block(), 0
        last_line, last_column = line, column
        if item:
            listed = indent + item.end()
            stripped = stripped[item.end():]
        row = not trailing and indent >= 2 and re.match(r"(\S.*?(?:[^\s.?!] {2}| {3}) *)\S", stripped)
        if row:  # of a table, whose first column names something
            if block.text:
                yield block
            block, listed = Block(), indent + row.end() - 1
            stripped = stripped[row.end(1):]
        code = indent >= 4 and not trailing and not (listed and indent < listed + 4)
        if not stripped or NO_PROSE.match(stripped) or code:
            if block.text:
                yield block
            block = Block()
            continue
        block.add(line, stripped)
    if block.text:
        yield block


# Markdown -----------------------------------------------------------------------------------------


def markdown_blocks(text):
    """Paragraphs, headings, list items and table cells."""
    text = re.sub(r"<!--.*?-->", lambda m: re.sub(r"[^\n]", " ", m.group()), text, flags=re.S)
    block, fence, listed, blank = Block(), None, False, True
    for number, line in enumerate(text.split("\n"), 1):
        line = re.sub(r"^(\s*>)+ ?", "", line)
        stripped = line.strip()
        mark = re.match(r"(`{3,}|~{3,})", stripped)
        if fence:
            if mark and mark.group(1).startswith(fence) and stripped == mark.group(1):
                fence = None
            continue
        indent = len(line) - len(line.lstrip())
        item = re.match(r"(?:[-*+]|\d{1,3}[.)])\s+", stripped)
        code = indent >= 4 and blank and not listed
        alone = (not stripped or mark or item or code or stripped.startswith(("|", "#")) or
                 re.fullmatch(r"[-=*_ ]{3,}|\[[^\]]+\]: .*", stripped))
        if alone:
            if block.text:
                yield block
            block = Block()
        if mark:
            fence = mark.group(1)
        elif stripped.startswith("|"):
            if not re.fullmatch(r"[|:\- ]+", stripped):
                for cell in re.split(r"(?<!\\)\|", re.sub(r"`[^`]*`", one_word, stripped)):
                    if cell.strip():
                        block = Block()
                        block.add(number, cell)
                        yield block
                block = Block()
        elif item:
            listed = True
            block.add(number, stripped[item.end():])
        elif stripped.startswith("#"):
            block.add(number, stripped.lstrip("#"))
            yield block
            block = Block()
        elif stripped and not code and not alone:
            listed = listed and (not blank or indent > 0)
            block.add(number, stripped)
        blank = not stripped
    if block.text:
        yield block


# Files --------------------------------------------------------------------------------------------


def kind_of(name, path):
    name = pathlib.PurePath(name).name
    suffix = pathlib.PurePath(name).suffix
    if suffix in (".cc", ".h", ".c", ".inc"):
        return "c"
    if suffix == ".md":
        return "markdown"
    if suffix == ".py":
        return "python"
    if suffix in (".sh", ".cmake", ".capnp") or name == "CMakeLists.txt":
        return "hash"
    if name.endswith(".h.in"):
        return "c"
    if name.endswith((".cmake.in", ".service.in", ".socket", ".pc.in")):
        return "hash"
    if not suffix or name == "run":
        with open(path, "rb") as opened:
            start = opened.read(64).split(b"\n")[0]
        if start.startswith(b"#!"):
            return "python" if b"python" in start else "hash"
    return None


def findings(name, path):
    """(line, text) of each finding in the file."""
    kind = kind_of(name, path)
    if kind is None or name in SKIPPED:
        return []
    text = path.read_text(errors="replace")
    if kind == "markdown":
        blocks = markdown_blocks(text)
    else:
        pieces = {"c": comment_pieces, "python": python_pieces, "hash": hash_pieces}[kind]
        blocks = comment_blocks(pieces(text))
    return [found for block in blocks for found in findings_of(block, kind == "markdown")]


def tracked(*under):
    listing = subprocess.run(["git", "ls-files", "-z", "--", *under], cwd=ROOT, check=True,
                             capture_output=True, text=True)
    return [name for name in listing.stdout.split("\0") if name and (ROOT / name).is_file()
            and "corpus/" not in name and "fuzz_regressions/" not in name]


def list_files(arguments):
    total = 0
    for argument in arguments:
        path = pathlib.Path(argument).resolve()
        names = [path]
        if path.is_dir():
            names = [pathlib.Path(path, name) for name in subprocess.run(
                ["git", "ls-files", "-z"], cwd=path, check=True, capture_output=True,
                text=True).stdout.split("\0") if name and pathlib.Path(path, name).is_file()]
        for name in names:
            known = str(name.relative_to(ROOT)) if name.is_relative_to(ROOT) else name.name
            shown = argument if name == path else str(pathlib.Path(argument, name.relative_to(path)))
            for line, text in findings(known, name):
                print(f"{shown}:{line}: {text}")
                total += 1
    print(f"prose: {total} findings")
    return 1 if total else 0


def check_tree():
    names = tracked()
    total = 0
    for name in names:
        for line, text in findings(name, ROOT / name):
            print(f"{name}:{line}: {text}", file=sys.stderr)
            total += 1
    print(f"prose: {len(names)} files, {total} findings")
    return 1 if total else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("files", nargs="*")
    arguments = parser.parse_args()
    return list_files(arguments.files) if arguments.files else check_tree()


if __name__ == "__main__":
    sys.exit(main())
