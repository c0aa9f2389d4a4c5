"""Reads C and C++ headers: their sections, declarations and comments. Nothing is compiled.

tree-sitter parses a header without its includes. Lines that only C++ sees, attributes and
HALYARD_EXPORT are blanked before, at the same length, so that positions are those of the file.
"""
from __future__ import annotations

import dataclasses
import pathlib
import re
from typing import Iterator, Optional

import tree_sitter
import tree_sitter_cpp

PARSER = tree_sitter.Parser(tree_sitter.Language(tree_sitter_cpp.language()))
ONLY_CPP = re.compile(r"^#ifdef __cplusplus\n.*?^#endif[^\n]*$|^#pragma[^\n]*$|\bHALYARD_EXPORT\b|"
                      r"\[\[[\w:]+\]\]", re.S | re.M)
SECTION = re.compile(r"^/\* -+ (.+?) -+ \*/$")
CONTAINERS = {"preproc_ifdef", "preproc_if", "linkage_specification", "declaration_list",
              "namespace_definition", "preproc_else"}
DECLARATIONS = {"declaration", "type_definition", "function_definition", "struct_specifier",
                "class_specifier", "enum_specifier", "alias_declaration", "template_declaration",
                "preproc_def", "preproc_function_def"}
MEMBERS = {"field_declaration", "enumerator", "function_definition", "declaration", "alias_declaration",
           "type_definition", "template_declaration", "friend_declaration"}
Node = tree_sitter.Node


class HeaderError(Exception):
    """A header that cannot be read. The text names the file, the line and the reason."""


@dataclasses.dataclass
class Member:
    """A field, a constant of an enumeration, or a member of a class."""
    name: str
    text: str
    comment: str
    value: str = ""


@dataclasses.dataclass
class Declaration:
    """A function, a type or a macro. `text` is its source without bodies of functions."""
    kind: str
    name: str
    text: str
    comment: str
    line: int
    members: list[Member] = dataclasses.field(default_factory=list)


@dataclasses.dataclass
class Section:
    title: str
    declarations: list[Declaration]


@dataclasses.dataclass
class Header:
    name: str
    introduction: str
    sections: list[Section]


def comment_text(raw: str) -> str:
    """The text of a comment without its marks. Indentation within the text stays."""
    lines = []
    for line in raw.strip().split("\n"):
        line = re.sub(r"\s*\*/$", "", line.strip())
        line = re.sub(r"^(/\*+|//[/!]?|\*(?= |$))", "", line)
        if re.match(r" *NOLINT", line):
            continue
        lines.append(line[1:] if line.startswith(" ") else line)
    return "\n".join(lines).strip("\n")


class Reader:
    """Collects the declarations of one header."""

    def __init__(self, name: str, source: str, plain_comments: bool) -> None:
        self.name = name
        # In C headers only /** */ documents. Headers for drivers use //.
        self.plain_comments = plain_comments
        blanked = ONLY_CPP.sub(lambda m: re.sub(r"[^\n]", " ", m.group()), source)
        self.bytes = blanked.encode()
        self.root = PARSER.parse(self.bytes).root_node

    def source(self, start: int, end: int) -> str:
        return self.bytes[start:end].decode()

    def flat(self, node: Node) -> Iterator[Node]:
        """The comments and declarations of a node, through namespaces and conditions."""
        for child in node.children:
            if child.type in CONTAINERS:
                yield from self.flat(child)
            elif child.is_named:
                yield child

    def documents(self, node: Node) -> bool:
        text = self.source(node.start_byte, node.end_byte)
        return text.startswith("/**") or (self.plain_comments and text.startswith("//"))

    def commented(self, nodes: list[Node]) -> Iterator[tuple[Node, str]]:
        """Each node that is no comment, with the comment directly before it or behind it."""
        pending: list[Node] = []
        for position, node in enumerate(nodes):
            if node.type == "comment":
                if pending and pending[-1].end_point[0] + 1 != node.start_point[0]:
                    pending = []
                before = nodes[position - 1] if position else None
                trailing = before is not None and before.end_point[0] == node.start_point[0]
                pending = [] if trailing else [*pending, node]
                continue
            comment = ""
            if pending and pending[-1].end_point[0] + 1 == node.start_point[0]:
                texts = [self.source(n.start_byte, n.end_byte) for n in pending if self.documents(n)]
                comment = "\n".join(comment_text(text) for text in texts)
            yield node, comment or self.trailing(nodes, position)
            pending = []

    def trailing(self, nodes: list[Node], position: int) -> str:
        """The comment behind a node, on its last line."""
        if position + 1 == len(nodes) or not self.plain_comments:
            return ""
        node, behind = nodes[position], nodes[position + 1]
        if behind.type != "comment" or behind.start_point[0] != node.end_point[0]:
            return ""
        return comment_text(self.source(behind.start_byte, behind.end_byte))

    def read(self) -> Header:
        nodes = list(self.flat(self.root))
        introduction = []
        sections = [Section("", [])]
        first = True
        for node, comment in self.commented(nodes):
            for line in self.titles_before(node, nodes):
                sections.append(Section(line, []))
            if first:
                introduction = self.introduction(nodes)
                first = False
            if node.type in DECLARATIONS:
                declaration = self.declaration(node, comment)
                if declaration:
                    sections[-1].declarations.append(declaration)
        kept = [each for each in sections if each.declarations]
        if not kept:
            raise HeaderError(f"{self.name}: no declaration was found, expected at least one")
        return Header(self.name, "\n".join(introduction), kept)

    def titles_before(self, node: Node, nodes: list[Node]) -> list[str]:
        """The titles of sections between the last declaration and the node."""
        position = nodes.index(node)
        titles: list[str] = []
        while position and nodes[position - 1].type == "comment":
            position -= 1
            match = SECTION.match(self.source(nodes[position].start_byte, nodes[position].end_byte))
            if match:
                titles.insert(0, match.group(1))
        return titles

    def introduction(self, nodes: list[Node]) -> list[str]:
        """The comments at the head of the file, before its first line of code."""
        texts = []
        last = -1
        for node in nodes:
            if node.type != "comment":
                break
            if last >= 0 and node.start_point[0] > last + 1:
                texts.append("")
            texts.append(comment_text(self.source(node.start_byte, node.end_byte)))
            last = node.end_point[0]
        return [text for text in texts if "SPDX-License-Identifier" not in text]

    def declaration(self, node: Node, comment: str) -> Optional[Declaration]:
        inner = node
        if node.type == "template_declaration":
            inner = next((c for c in node.named_children if c.type in DECLARATIONS), node)
        name = self.name_of(inner)
        if not name or name.endswith("_H_") or name.endswith("_DECLARED"):
            return None
        body = self.body_of(inner)
        kind = self.kind_of(inner, body)
        if inner.type.endswith("_specifier") and body is None:
            return None  # a type that another header defines
        if kind in ("macro", "function") and inner.type != "declaration" and not comment:
            return None  # a definition without a comment is no part of the interface
        members = self.members_of(body, inner) if body is not None else []
        text = self.text_of(node, inner, body)
        return Declaration(kind, name, text, comment, node.start_point[0] + 1, members)

    def kind_of(self, node: Node, body: Optional[Node]) -> str:
        if node.type.startswith("preproc"):
            return "macro"
        if body is not None:
            return "enumeration" if body.type == "enumerator_list" else "structure"
        head = self.source(node.start_byte, node.end_byte).partition("=")[0]
        if node.type in ("function_definition", "declaration") and "(" in head:
            return "function"
        return "type"

    def name_of(self, node: Node) -> str:
        named = node.child_by_field_name("name")
        if named is not None:
            return self.source(named.start_byte, named.end_byte)
        if node.type == "enum_specifier":
            return "constants"
        declarator = node.child_by_field_name("declarator")
        while declarator is not None and declarator.child_by_field_name("declarator") is not None:
            declarator = declarator.child_by_field_name("declarator")
        if declarator is not None:
            text = self.source(declarator.start_byte, declarator.end_byte)
            found = re.findall(r"[A-Za-z_][\w:]*", text)
            return found[-1] if found else ""
        kind = node.child_by_field_name("type")
        return self.name_of(kind) if kind is not None and kind.child_by_field_name("body") else ""

    def body_of(self, node: Node) -> Optional[Node]:
        if node.type == "function_definition":
            return None
        body = node.child_by_field_name("body")
        kind = node.child_by_field_name("type")
        return body if body is not None or kind is None else kind.child_by_field_name("body")

    def members_of(self, body: Node, owner: Node) -> list[Member]:
        is_class = owner.type == "class_specifier"
        visible = not is_class
        members = []
        for node, comment in self.commented([c for c in body.children if c.is_named]):
            if node.type == "access_specifier":
                visible = "public" in self.source(node.start_byte, node.end_byte)
            if not visible or node.type not in MEMBERS:
                continue
            text = self.text_of(node, node, self.body_of(node))
            value = node.child_by_field_name("value")
            macro = re.fullmatch(r"[A-Z_]+\((\w+)\);", text)
            name = macro.group(1) if macro else self.name_of(node) or text
            members.append(Member(name, text, comment,
                                  self.source(value.start_byte, value.end_byte) if value else ""))
        return members

    def text_of(self, node: Node, inner: Node, body: Optional[Node]) -> str:
        """The source of a declaration, without its body."""
        if body is not None:
            head = self.source(node.start_byte, body.start_byte).strip()
            behind = self.source(body.end_byte, node.end_byte).strip()
            return re.sub(r" +", " ", f"{head} {{ ... }} {behind}".strip())
        end = node.end_byte
        if inner.type == "function_definition":
            for child in inner.children:
                if child.type in ("compound_statement", "field_initializer_list"):
                    end = min(end, child.start_byte)
        text = self.source(node.start_byte, end).strip()
        if inner.type == "function_definition" and not text.endswith(";"):
            text += ";"
        indent = node.start_point[1]
        return "\n".join(line[indent:] if line[:indent].isspace() else line for line in text.split("\n"))


def read_header(root: pathlib.Path, name: str) -> Header:
    """Reads the header `name`, a path under root/include."""
    path = root / "include" / name
    if not path.is_file():
        raise HeaderError(f"{path}: no such header; tools/site/layout.py names it")
    return Reader(name, path.read_text(), plain_comments="/driver/" in name).read()
