#!/usr/bin/env python3
"""tests/package/sbom_check.py FOLDER: the bill of materials of a release is valid SPDX 2.3, and true.

What the specification's sections 6 to 11 demand of the fields that are used; that whatever is referred to is there, and once; that the
checksums are those of the files; and that the libraries in the archive and the programs' own list are the ones that it names.
"""

import collections
import glob
import hashlib
import json
import os
import re
import subprocess
import sys
import tarfile

import jsonschema

ID = {"type": "string", "pattern": r"^SPDXRef-[a-zA-Z0-9.-]+$"}
TEXT = {"type": "string", "minLength": 1}
LICENSE = {"type": "string", "pattern": r"^(NOASSERTION|NONE|MIT|Apache-2\.0|LicenseRef-[a-zA-Z0-9.-]+)$"}
LENGTHS = {"SHA256": 64, "SHA512": 128}


def closed(required, **optional):
    return {"type": "object", "required": list(required), "additionalProperties": False, "properties": {**required, **optional}}


SCHEMA = closed(
    {
        "spdxVersion": {"const": "SPDX-2.3"},
        "dataLicense": {"const": "CC0-1.0"},
        "SPDXID": {"const": "SPDXRef-DOCUMENT"},
        "name": TEXT,
        "documentNamespace": {"type": "string", "pattern": r"^https://[^#\s]+$"},
        "creationInfo": closed(
            {
                "created": {"type": "string", "pattern": r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$"},
                "creators": {"type": "array", "minItems": 1, "items": {"type": "string", "pattern": "^(Tool|Organization|Person): .+"}},
            },
            comment=TEXT),
        "packages": {"type": "array", "minItems": 50, "items": closed(
            {"SPDXID": ID, "name": TEXT, "downloadLocation": {"type": "string", "pattern": "^(NOASSERTION|NONE|https://.*)$"},
             "versionInfo": TEXT, "filesAnalyzed": {"const": False}, "licenseConcluded": LICENSE, "licenseDeclared": LICENSE,
             "copyrightText": TEXT},
            supplier={"type": "string", "pattern": "^(Organization|Person): .+|^NOASSERTION$"}, packageFileName=TEXT, sourceInfo=TEXT,
            homepage={"type": "string", "pattern": r"^https?://\S+$"}, comment=TEXT, primaryPackagePurpose={"const": "APPLICATION"},
            checksums={"type": "array", "minItems": 1, "items": closed(
                {"algorithm": {"enum": list(LENGTHS)}, "checksumValue": {"type": "string", "pattern": "^[0-9a-f]+$"}})},
            externalRefs={"type": "array", "items": closed(
                {"referenceCategory": {"const": "PACKAGE-MANAGER"}, "referenceType": {"const": "purl"},
                 "referenceLocator": {"type": "string", "pattern": r"^pkg:(deb/debian|npm)/[^\s@]+@[^\s@]+$"}})})},
        "hasExtractedLicensingInfos": {"type": "array", "items": closed(
            {"licenseId": {"type": "string", "pattern": r"^LicenseRef-[a-zA-Z0-9.-]+$"}, "extractedText": {"type": "string", "minLength": 100}},
            name=TEXT)},
        "relationships": {"type": "array", "items": closed(
            {"spdxElementId": ID, "relatedSpdxElement": ID,
             "relationshipType": {"enum": ["DESCRIBES", "CONTAINS", "GENERATED_FROM", "DYNAMIC_LINK", "STATIC_LINK"]}})},
    })

problems = []


def expect(what, holds):
    if not holds:
        problems.append(what)


def twice(values):
    return [value for value, count in collections.Counter(values).items() if count > 1]


def loader_cache():
    said = subprocess.run(["/sbin/ldconfig", "-p"], capture_output=True, text=True, check=True).stdout
    return dict(re.findall(r"^\s+(\S+) .* => (\S+)$", said, re.MULTILINE))


def owner(path):
    """The package of Debian that a library is from."""
    path = os.path.realpath(path)
    for form in (path, path.removeprefix("/usr")):
        said = subprocess.run(["dpkg-query", "-S", form], capture_output=True, text=True).stdout
        if said:
            return said.split(":")[0]
    return f"no package ({path})"


def main():
    folder = sys.argv[1]
    (path,) = glob.glob(os.path.join(folder, "*.spdx.json"))
    with open(path) as file:
        document = json.load(file)
    jsonschema.Draft7Validator.check_schema(SCHEMA)
    for error in jsonschema.Draft7Validator(SCHEMA).iter_errors(document):
        expect(f"{'/'.join(map(str, error.path))}: {error.message[:200]}", False)
    packages = {each["SPDXID"]: each for each in document["packages"]}
    relations = [(each["spdxElementId"], each["relationshipType"], each["relatedSpdxElement"]) for each in document["relationships"]]

    expect(f"twice: {twice(each['SPDXID'] for each in document['packages'])}", len(packages) == len(document["packages"]))
    expect(f"relations twice: {twice(relations)}", not twice(relations))
    for start, kind, end in relations:
        expect(f"{start} {kind} {end}: no such element", end in packages and (start in packages or start == "SPDXRef-DOCUMENT"))
    reached = {end for _, _, end in relations} | {start for start, _, _ in relations}
    expect(f"in no relation: {set(packages) - reached}", not set(packages) - reached)
    licenses = [each["licenseId"] for each in document["hasExtractedLicensingInfos"]]
    used = {each["licenseDeclared"] for each in packages.values() if each["licenseDeclared"].startswith("LicenseRef-")}
    expect(f"licenses: {used ^ set(licenses)}, twice: {twice(licenses)}", used == set(licenses) and not twice(licenses))

    files = {each["packageFileName"]: each for each in packages.values() if "packageFileName" in each}
    made = {name for name in os.listdir(folder) if name != "SHA256SUMS" and not name.endswith(".spdx.json")}
    expect(f"files: {set(files) ^ made}", set(files) == made)
    for name in made & set(files):
        with open(os.path.join(folder, name), "rb") as file:
            expect(f"checksum of {name}", files[name]["checksums"][0]["checksumValue"] == hashlib.sha256(file.read()).hexdigest())
    for each in packages.values():
        for checksum in each.get("checksums", []):
            expect(f"length of {each['name']}'s checksum", len(checksum["checksumValue"]) == LENGTHS[checksum["algorithm"]])

    (archive,) = (name for name in made if "-linux-" in name)
    path_of = loader_cache()
    with tarfile.open(os.path.join(folder, archive)) as tar:
        bundled = {owner(path_of[os.path.basename(name)]) for name in tar.getnames() if "/lib/perennial/" in name}
    named = {packages[end]["name"] for start, kind, end in relations if kind == "CONTAINS" and start == files[archive]["SPDXID"]}
    expect(f"libraries of {archive}: {named - {'perennial'} ^ bundled}", named - {"perennial"} == bundled)
    for name in ("preact", "libcli11-dev", "libarchive-dev", "libstdc++6"):
        expect(f"{name} is not there", name in {each["name"] for each in packages.values()})

    for problem in problems:
        print(f"sbom: {problem}", file=sys.stderr)
    if problems:
        sys.exit(1)
    print(f"release: its bill of materials is valid, and names {len(packages)} packages")


main()
