"""Writes a Markdown page for each public header. Names of declarations become links."""
from __future__ import annotations

import pathlib
import re

from headers import Declaration, Header, Member, read_header

C_HEADERS = ["android/NeuralNetworks.h", "android/NeuralNetworksTypes.h",
             "android/NeuralNetworksExtensions.h", "android/NeuralNetworksSupportLibraryImpl.h",
             "android/NeuralNetworksExperimentalFeatures.h", "android/NeuralNetworksOEM.h",
             "android/hardware_buffer.h", "android/sharedmem.h", "android/rect.h", "halyard/halyard.h",
             "halyard/hardware_buffer.h", "halyard/tflite_extension.h"]
# Headers without declarations of their own, and lists for the preprocessor.
NOT_SHOWN = {"driver.h", "export.h", "nnapi_types.h"}
TAG = re.compile(r"^@(param|return)s?\b\s*", re.M)
WORD = re.compile(r"`[^`]+`|<[\w/]+\.h>|\b[\w/]+\.(?:h|cc|md|inc)\b|\b[A-Za-z_]\w*(?:::\w+)*(?:\(\))?")
HEADING = re.compile(r"^(?! )[^\n]{1,60}[^\n.:;,]$")
NUMBERED = re.compile(r"^(\d+(?:(?:,| to) \d+)*): ")


def driver_headers(root: pathlib.Path) -> list[str]:
    folder = root / "include/halyard/driver"
    return [f"halyard/driver/{path.name}" for path in sorted(folder.glob("*.h"))
            if path.name not in NOT_SHOWN]


def page_of(name: str) -> str:
    """The page of a header, in the folder reference of the site."""
    return name.replace("/", "_").removesuffix(".h") + ".md"


def anchor(name: str) -> str:
    return re.sub(r"\W+", "-", name.lower()).strip("-")


class Pages:
    """The pages of all headers. Each knows the names of the others."""

    def __init__(self, root: pathlib.Path) -> None:
        self.headers = [read_header(root, name) for name in C_HEADERS + driver_headers(root)]
        self.links: dict[str, str] = {}
        for header in self.headers:
            for section in header.sections:
                for each in section.declarations:
                    self.learn(header, each)

    def learn(self, header: Header, declaration: Declaration) -> None:
        target = f"{page_of(header.name)}#{anchor(declaration.name)}"
        if declaration.name != "constants":
            self.links.setdefault(declaration.name, target)
        if declaration.kind == "enumeration":
            for member in declaration.members:
                if re.match(r"[A-Z]+_", member.name):
                    self.links.setdefault(member.name, f"{page_of(header.name)}#{anchor(member.name)}")

    def write(self, folder: pathlib.Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        for header in self.headers:
            (folder / page_of(header.name)).write_text(self.page(header))

    # Text.

    def linked(self, text: str, own: str = "") -> str:
        """Text of a comment as Markdown: names as links or code, other characters as they are."""
        pieces = []
        last = 0
        for match in WORD.finditer(text):
            pieces.append(escaped(text[last:match.start()]))
            pieces.append(self.word(match.group(), own))
            last = match.end()
        return "".join([*pieces, escaped(text[last:])])

    def word(self, word: str, own: str) -> str:
        name = word.strip("`").removesuffix("()")
        for full in ("ANEURALNETWORKS_" + name, name.partition("::")[0]):
            if full in self.links:
                name = full
                break
        if name in self.links and name != own and ("`" in word or not is_plain(name)):
            return f"[`{word.strip('`')}`]({self.links[name]})"
        if "`" in word:
            return word
        return f"`{word}`" if word.startswith("<") or "_" in word or "::" in word or ".h" in word else word

    def prose(self, comment: str, own: str = "") -> str:
        """A comment as Markdown: paragraphs, lists, code, and the descriptions of parameters."""
        parts = TAG.split(comment)
        text = [self.paragraphs(parts[0], own)]
        parameters, returned = [], ""
        for tag, content in zip(parts[1::2], parts[2::2]):
            description, _, behind = content.partition("\n\n")
            words = " ".join(description.split())
            if tag == "param":
                name, _, rest = words.partition(" ")
                parameters.append(f"| `{name}` | {self.linked(rest, own).replace('|', chr(92) + '|')} |")
            else:
                returned = f"**Returns** {self.linked(words, own)}"
            if behind.strip():
                text.append(self.paragraphs(behind, own))
        if parameters:
            table = "\n".join(["| parameter | meaning |", "|---|---|", *parameters])
            text.insert(1, table)
        if returned:
            text.insert(2 if parameters else 1, returned)
        return "\n\n".join(part for part in text if part)

    def paragraphs(self, text: str, own: str) -> str:
        blocks = [block for block in re.split(r"\n[ \t]*\n", text.strip("\n")) if block.strip()]
        result = []
        for position, block in enumerate(blocks):
            behind = blocks[position + 1] if position + 1 < len(blocks) else ""
            if HEADING.match(block) and behind.startswith("  "):
                result.append(f"**{escaped(block)}**")
            else:
                result.append(self.block(block, own))
        return "\n\n".join(result)

    def block(self, block: str, own: str) -> str:
        lines = block.split("\n")
        indent = min(len(line) - len(line.lstrip()) for line in lines if line.strip())
        lines = [line[indent:] for line in lines]
        if indent >= 4 or (indent == 2 and not re.match(r"[A-Z0-9]", lines[0])) or "   " in lines[0].strip():
            return "```text\n" + "\n".join(lines) + "\n```"
        items: list[list[str]] = [[]]
        for line in lines:
            if NUMBERED.match(line.strip()) or re.match(r"\d+\. ", line.strip()):
                items.append([])
            elif items[-1] and len(items) > 1 and not line.startswith(" "):
                items.append(["", line.strip()])
                continue
            items[-1].append(line.strip())
        result = []
        for item in items:
            joined = " ".join(part for part in item if part)
            number = NUMBERED.match(joined)
            if number:
                result.append(f"- **{number.group(1)}** {self.linked(joined[number.end():], own)}")
            elif joined:
                listed = re.match(r"\d+\. ", joined) is not None
                result.append(self.linked(joined, own) if listed else "\n" + self.linked(joined, own) + "\n")
        return "\n".join(result).strip("\n")

    # Pages.

    def page(self, header: Header) -> str:
        language = "cpp" if "/driver/" in header.name else "c"
        out = [f"# {header.name.rsplit('/', 1)[-1]}", f"`#include <{header.name}>`",
               self.paragraphs(header.introduction, "")]
        if "/driver/" in header.name:
            out.append("Drivers include `<halyard/driver/driver.h>`, which has all headers for drivers.")
        single = len(header.sections) == 1
        before = ""
        for section in header.sections:
            if section.title and not single:
                out.append(f"## {section.title}")
            for declaration in section.declarations:
                if declaration.name != before:
                    title = "Constants" if declaration.name == "constants" else declaration.name
                    mark = "" if declaration.name == "constants" else \
                        f' {{#{anchor(declaration.name)} data-toc-label="{short(declaration.name)}"}}'
                    level = "###" if section.title and not single else "##"
                    out.append(f"{level} {escaped(title)}{mark}")
                before = declaration.name
                out.append(f"```{language}\n{wrapped(declaration)}\n```")
                out.append(self.prose(declaration.comment, declaration.name))
                out.append(self.members(declaration))
        return "\n\n".join(part for part in out if part) + "\n"

    def members(self, declaration: Declaration) -> str:
        members = [each for each in declaration.members if is_shown(each)]
        if not members:
            return ""
        if declaration.kind == "enumeration":
            plain = all("\n" not in each.comment.strip() or "\n\n" not in each.comment for each in members)
            if plain:
                return self.table(members)
            return "\n\n".join(f"#### {escaped(each.name)} {{#{anchor(each.name)}}}\n\n"
                               f"Code {each.value}.\n\n{self.prose(each.comment, each.name)}"
                               for each in members)
        rows = ["| member | meaning |", "|---|---|"]
        for each in members:
            code = " ".join(each.text.split()).replace("|", "\\|")
            comment = " ".join(self.linked(each.comment, declaration.name).split()).replace("|", "\\|")
            rows.append(f"| `{code}` | {comment} |")
        return "\n".join(rows)

    def table(self, members: list[Member]) -> str:
        rows = ["| constant | value | meaning |", "|---|---|---|"]
        for each in members:
            comment = " ".join(self.linked(each.comment, each.name).split()).replace("|", "\\|")
            rows.append(f'| <span id="{anchor(each.name)}">`{each.name}`</span> | {each.value} | {comment} |')
        return "\n".join(rows)


def short(name: str) -> str:
    """A name for the table of contents, without the prefix that all names have."""
    return re.sub(r"^(?:SL_)?ANeuralNetworks_?(?=\w)", "", name)


def wrapped(declaration: Declaration) -> str:
    """The source of a declaration. A long function has a line for each parameter."""
    line = re.sub(r"\(\s+", "(", " ".join(declaration.text.split()))
    if declaration.kind != "function" or declaration.text.startswith("template"):
        return declaration.text
    if len(line) <= 76:
        return line
    opening = line.index("(", line.index(declaration.name))
    depth, start, parameters = 0, opening + 1, []
    for position in range(opening + 1, len(line)):
        depth += {"(": 1, "<": 1, ")": -1, ">": -1}.get(line[position], 0)
        if depth < 0 or (depth == 0 and line[position] == ","):
            parameters.append(line[start:position].strip())
            start = position + 1
        if depth < 0:
            break
    return line[:opening] + "(\n    " + ",\n    ".join(parameters) + line[start - 1:]


def is_plain(name: str) -> bool:
    """Whether a name may also be an ordinary word, such as Status."""
    return re.fullmatch(r"[A-Z]?[a-z]+", name) is not None


def is_shown(member: Member) -> bool:
    """Destructors and defaulted members without a comment say nothing to a reader."""
    silent = "~" in member.text or "= default" in member.text or "= delete" in member.text
    return not (silent and not member.comment) and not member.text.startswith("friend ")


def escaped(text: str) -> str:
    return re.sub(r"([*_\[\]<>`\\|#])", r"\\\1", text)
