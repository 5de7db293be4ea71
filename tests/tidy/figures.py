#!/usr/bin/env python3
"""Figures of the source that say how easy it is to read: tests/tidy/figures.py [FOLDER]...

Without folders: engine, wire, store, cmd and migrations. It reads text and knows no grammar, so a number may be off by one or two;
the same script before and after a change says whether it is better.
"""

import os
import re
import sys

FOLDERS = ["engine", "wire", "store", "cmd", "migrations"]
SHORT_LINES = 30


def sources(folders):
    for folder in folders:
        for path, _, names in os.walk(folder):
            for name in sorted(names):
                if name.endswith((".h", ".cc")):
                    yield os.path.join(path, name)


def without_comments(text):
    text = re.sub(r"//[^\n]*", "", text)
    return re.sub(r'"(\\.|[^"\\\n])*"', '""', text)


def bodies(text):
    """The name and the body of each class and struct, also of those inside of another."""
    for found in re.finditer(r"\b(class|struct)\s+(\w+)(\s+final)?(\s*:[^;{]*)?\s*\{", text):
        depth, at = 1, found.end()
        while depth and at < len(text):
            depth += {"{": 1, "}": -1}.get(text[at], 0)
            at += 1
        yield found[1], found[2], text[found.end() : at - 1]


def without_inner(body):
    """Without what is in braces: inner classes, bodies of functions, initializers."""
    out, depth = [], 0
    for character in body:
        depth -= character == "}"
        if depth == 0:
            out.append(character)
        depth += character == "{"
    return "".join(out)


def judge_class(kind, body):
    """How many public functions it has, and how many members."""
    functions = members = 0
    is_public = kind == "struct"
    for statement in re.split(r";|(?<=\})|(?<=:)(?!:)", without_inner(body)):
        label = re.search(r"\b(public|private|protected)\s*:$", statement.strip())
        if label:
            is_public = label[1] == "public"
            continue
        plain = re.sub(r"<[^<>]*>", "", re.sub(r"<[^<>]*>", "", statement)).strip()
        if not plain or re.match(r"(using|friend|enum|class|struct|template|static_assert)\b", plain):
            continue
        if "(" in plain.split("=")[0]:
            functions += is_public and "= delete" not in plain and "= default" not in plain
        elif re.search(r"\w_?\s*(=|\{|$)", plain) and " " in plain and "static constexpr" not in plain:
            members += 1
    return functions, members


def include_chain(paths):
    """The longest way from a source to a header that includes nothing of ours."""
    includes = {path: re.findall(r'^#include "([^"]+)"', open(path, encoding="utf-8").read(), re.M) for path in paths}
    known = {}

    def longest(path, above):
        if path in above or path not in includes:
            return []
        if path not in known:
            ways = [longest(other, above | {path}) for other in includes[path]]
            known[path] = [path, *max(ways, key=len, default=[])]
        return known[path]

    return max((longest(path, frozenset()) for path in paths), key=len)


def share_of_comments(paths):
    lines = [line.strip() for path in paths for line in open(path, encoding="utf-8")]
    lines = [line for line in lines if line]
    return 100 * sum(line.startswith("//") for line in lines) / max(1, len(lines)), len(lines)


def main():
    paths = list(sources(sys.argv[1:] or FOLDERS))
    headers = [path for path in paths if path.endswith(".h")]
    texts = {path: without_comments(open(path, encoding="utf-8").read()) for path in paths}
    classes = [
        (*judge_class(kind, body), name, path)
        for path in headers
        for kind, name, body in bodies(texts[path])
    ]
    print("classes with the most public functions, and their members")
    for functions, members, name, path in sorted(classes, reverse=True)[:8]:
        print(f"  {functions:4} {members:4}  {name}  {path}")
    print("classes with the most members")
    for functions, members, name, path in sorted(classes, key=lambda row: -row[1])[:8]:
        print(f"  {functions:4} {members:4}  {name}  {path}")
    closures = sum(texts[path].count("std::function<") for path in headers)
    chain = include_chain(paths)
    short = sum(len(open(path, encoding="utf-8").read().splitlines()) < SHORT_LINES for path in paths)
    print(f"std::function in headers      {closures}")
    print(f"longest chain of includes     {len(chain)}: {chain[0]} to {chain[-1]}")
    print(f"files under {SHORT_LINES} lines          {short} of {len(paths)}")
    for name, some in (("headers", headers), ("sources", [path for path in paths if path.endswith(".cc")])):
        share, lines = share_of_comments(some)
        print(f"comment lines of {name}      {share:.1f} % of {lines} that are not empty")
    folders = {}
    for path in paths:
        folders.setdefault(os.path.dirname(path), []).append(path)
    print("fullest folders")
    for folder, files in sorted(folders.items(), key=lambda row: -len(row[1]))[:5]:
        print(f"  {len(files):4}  {folder}")


if __name__ == "__main__":
    main()
